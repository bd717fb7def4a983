// SPDX-License-Identifier: BSD-2-Clause
/*
 * Dumps by somebody who means harm.
 */
#include "forger.h"

#include <errno.h>
#include <zstd.h>

/* ---- anchors that no state makes ------------------------------------------------------------- */

/* Loads an anchor of which records were changed. Returns whether it was refused. */
static bool is_refused(const struct state *from,
		       int (*put)(void *context, const void *record, size_t length))
{
	struct forger *forger = forger_new();
	struct result result;

	put_plain(forger, BLOCK_SEGMENT, "", 0);
	put_rows(forger);
	assert_int_equal(checkpoint_save(from, 1, put, forger), 0);
	put_records(forger, BLOCK_ANCHOR);
	result = read_forged(forger);
	state_fini(&result.pipeline.state);
	assert_int_equal(result.err, 0);
	return result.account.refused && !result.account.anchors_used;
}

static int all_twice(void *context, const void *record, size_t length)
{
	(void)length;
	pack(context, record);
	pack(context, record);
	return 0;
}

static int process_twice(void *context, const void *record, size_t length)
{
	(void)length;
	pack(context, record);
	if (((const struct ms_event *)record)->type == MS_CHECKPOINT_PROCESS)
		pack(context, record);
	return 0;
}

static struct ms_checkpoint_allocation changed; /* what the next function writes of one */

static int put_changed(void *context, const void *record, size_t length)
{
	(void)length;
	if (((const struct ms_event *)record)->type != MS_CHECKPOINT_ALLOCATION) {
		pack(context, record);
		return 0;
	}
	changed.event = *(const struct ms_event *)record;
	pack(context, &changed);
	changed.addr += 0x100;
	pack(context, &changed);
	changed.addr -= 0x100;
	return 0;
}

static int no_state(void *context, const void *record, size_t length)
{
	(void)length;
	if (((const struct ms_event *)record)->type != MS_CHECKPOINT_STATE)
		pack(context, record);
	return 0;
}

static void test_anchors_that_contradict_themselves(void **state)
{
	struct pipeline live = { 0 };
	union record record = record_alloc("cuMemCreate", 0x77, 4096);

	(void)state;
	pipeline_feed(&live, &record, record.event.size);
	live.state.allocations = 5;
	assert_false(is_refused(&live.state, delta_record_of));
	assert_true(is_refused(&live.state, all_twice));
	assert_true(is_refused(&live.state, process_twice));
	assert_true(is_refused(&live.state, no_state));
	changed = (struct ms_checkpoint_allocation){ .addr = 0x77,
						     .id = 1,
						     .row = record_row("cuMemCreate"),
						     .driver_row = MS_NO_ROW,
						     .space = MS_SPACE_PHYSICAL,
						     .key = MS_KEY_HANDLE,
						     .owner = 1 };
	assert_true(is_refused(&live.state, put_changed)); /* two with one id */
	changed.key = MS_KEY_POINTER;
	assert_false(is_refused(&live.state, put_changed)); /* they are found by their addresses */
	changed.id = 6;
	assert_true(is_refused(&live.state, put_changed)); /* one that is still to come */
	changed.id = 1;
	changed.role = MS_CHECKPOINT_RELEASED;
	assert_true(is_refused(&live.state, put_changed));
	state_fini(&live.state);
}

/* ---- more than a file of its length can say -------------------------------------------------- */

static void test_payloads_that_expand_too_much(void **state)
{
	static uint8_t zeros[BLOCK_MAX_BYTES], stored[BLOCK_MAX_BYTES];
	struct forger *forger = begun_forger();
	size_t bytes = ZSTD_compress(stored, sizeof(stored), zeros, sizeof(zeros), 1);
	struct block_coder *coder = block_coder_new();
	struct block_header header;
	struct result result;
	size_t length = sizeof(zeros);
	const void *encoded;

	(void)state;
	assert_false(ZSTD_isError(bytes));
	assert_true(bytes * BLOCK_MAX_EXPANSION < sizeof(zeros));
	put_stored(forger, 77, BLOCK_ZSTD, stored, bytes, sizeof(zeros));
	result = read_forged(forger);
	assert_int_equal(result.account.damaged_places, 1);
	state_fini(&result.pipeline.state);
	/* What is written is long enough, and comes back. */
	assert_non_null(coder);
	encoded = block_encode(coder, &header, zeros, &length, 1);
	assert_int_equal(header.codec, BLOCK_ZSTD);
	assert_int_equal(header.stored_bytes, sizeof(zeros) / BLOCK_MAX_EXPANSION);
	memcpy(stored, encoded, header.stored_bytes);
	assert_memory_equal(block_decode(coder, &header, stored), zeros, sizeof(zeros));
	block_coder_free(coder);
}

#define PIDS 90000

static void test_states_that_take_too_much_memory(void **state)
{
	struct forger *forger = begun_forger();
	struct result result;
	uint32_t pid;

	(void)state;
	for (pid = 1; pid < PIDS; pid++) {
		union record record = record_of(pid, 0, record_process(MS_TYPE_ATTACH, "x", 0));

		if (forger->pack.bytes + DELTA_MAX(record.event.size) > BLOCK_MAX_BYTES)
			put_records(forger, BLOCK_EVENTS);
		pack(forger, &record);
	}
	put_records(forger, BLOCK_EVENTS);
	assert_true(sizeof(struct process) * PIDS >
		    REPLAY_BYTES + REPLAY_BYTES_PER_BYTE * forger->bytes.length);
	result = read_forged(forger);
	assert_int_equal(result.err, -E2BIG);
	state_fini(&result.pipeline.state);
}

/* One pid, thousands of times: it is no slower than as many pids. */
static void test_a_pid_that_comes_back(void **state)
{
	struct pipeline pipeline = { 0 };
	uint64_t start, count = 20000;

	(void)state;
	for (start = 0; start < count; start++) {
		union record record =
			record_of(7, start * MS_START_NS, record_process(MS_TYPE_ATTACH, "x", 0));

		pipeline_feed(&pipeline, &record, record.event.size);
	}
	assert_int_equal(pipeline.state.processes_count, count);
	assert_int_equal(pipeline.state.by_identity.count, count);
	state_fini(&pipeline.state);
}

/* What looks like a large block every few bytes does not hide the next that is one. */
static void test_headers_without_end(void **state)
{
	struct forger *forger = begun_forger();
	struct block_header fake = { .magic = "MSCP",
				     .major = BLOCK_MAJOR,
				     .stored_bytes = BLOCK_MAX_BYTES };
	const struct state nothing = { 0 };
	struct result result;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++)
		string_append(&forger->bytes, (const char *)&fake, 16);
	for (i = 0; i < 100; i++)
		put_segment(forger, &nothing);
	put_alloc(forger, 0x1000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.damaged_places, 1);
	assert_int_equal(result.account.events, 1);
	state_fini(&result.pipeline.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anchors_that_contradict_themselves),
		cmocka_unit_test(test_payloads_that_expand_too_much),
		cmocka_unit_test(test_states_that_take_too_much_memory),
		cmocka_unit_test(test_a_pid_that_comes_back),
		cmocka_unit_test(test_headers_without_end),
	};

	return unit_run("hostile dumps", tests);
}
