// SPDX-License-Identifier: BSD-2-Clause
/*
 * Dumps by newer versions, which must be readable as far as they are known, and files in which
 * blocks come again or another recording follows.
 */
#include "forger.h"

/* ---- newer versions -------------------------------------------------------------------------- */

static void test_blocks_that_are_not_known(void **state)
{
	struct forger *forger = begun_forger();
	struct result result;

	(void)state;
	forger->next.minor = 7;
	put_plain(forger, 77, "anything", 8);
	put_alloc(forger, 0x1000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.unknown_blocks, 1);
	assert_int_equal(result.account.refused, 0);
	assert_live(&result, 1);
}

static void test_records_that_are_not_known(void **state)
{
	static union {
		struct ms_event event;
		uint64_t words[8000];
	} longest;
	union record account;
	struct forger *forger = begun_forger();
	struct result result;

	(void)state;
	put_alloc(forger, 0x1000);
	longest.event.type = MS_TYPES_COUNT;
	longest.event.size = sizeof(longest);
	pack(forger, &longest);
	longest.event.type = 255;
	longest.event.size = 37;
	pack(forger, &longest);
	account = record_account(255, 2, 1);
	pack(forger, &account);
	put_alloc(forger, 0x2000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.unknown_records, 3);
	assert_int_equal(result.account.events, 2);
	assert_int_equal(result.account.refused, 0);
	assert_live(&result, 2);
}

static void test_records_that_say_more(void **state)
{
	struct forger *forger = begun_forger();
	struct {
		struct ms_call call;
		uint64_t more[3];
	} longer = { .call = record_alloc("cuMemAlloc_v2", 0x1000, 100).call, .more = { 1, 2, 3 } };
	struct result result;

	(void)state;
	longer.call.duration_ns = 3; /* of which it says 1 and 2 */
	longer.call.event.size = sizeof(longer);
	pack(forger, &longer);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.events, 1);
	assert_live(&result, 1);
}

static void test_functions_that_are_not_known(void **state)
{
	static const char rows[] = "driver\0cuMemAlloc_v3000\0driver\0cuMemAlloc_v2";
	struct forger *forger = begun_forger();
	union record record = record_alloc("cuMemAlloc_v2", 0x1000, 100);
	struct result result;

	(void)state;
	put_plain(forger, BLOCK_ROWS, rows, sizeof(rows));
	record.call.row = 0;
	pack(forger, &record);
	record.call.row = 1;
	pack(forger, &record);
	record.call.row = 2;
	pack(forger, &record);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.unknown_calls, 2);
	assert_int_equal(result.account.events, 1);
	assert_live(&result, 1);
}

static void test_launches_by_functions_that_are_not_known(void **state)
{
	static const char rows[] = "driver\0cuMemAlloc_v3000\0driver\0cuLaunchKernel";
	struct forger *forger = begun_forger();
	union record record = record_launch_sample("cuLaunchKernel", 0, 100);
	struct result result;

	(void)state;
	put_plain(forger, BLOCK_ROWS, rows, sizeof(rows));
	record.launch_sample.row = 0;
	pack(forger, &record);
	record.launch_sample.row = 1;
	pack(forger, &record);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.unknown_calls, 1);
	assert_int_equal(result.account.events, 1);
	state_fini(&result.pipeline.state);
}

/* Appends to every record of an anchor, and puts unknown ones between them. */
static int delta_longer(void *context, const void *record, size_t length)
{
	union {
		struct ms_event event;
		struct ms_checkpoint_calls calls;
		uint8_t bytes[1024];
		uint64_t words[128];
	} longer = { 0 };

	memcpy(&longer, record, length);
	/* Those that end with a text cannot become longer. */
	if (longer.event.type != MS_CHECKPOINT_NAME && longer.event.type != MS_CHECKPOINT_KERNEL &&
	    longer.event.type != MS_CHECKPOINT_GPU_NAME)
		longer.event.size += 16;
	pack(context, &longer);
	if (longer.event.type == MS_CHECKPOINT_STATE || longer.event.type == MS_CHECKPOINT_END)
		return 0;
	longer.event.type = MS_CHECKPOINT_TYPES_END;
	pack(context, &longer);
	longer.event.type = MS_CHECKPOINT_CALLS;
	longer.event.size = sizeof(longer.calls);
	longer.calls.op = 1000;
	pack(context, &longer);
	return 0;
}

static void test_anchors_that_say_more(void **state)
{
	struct forger *forger = forger_new();
	struct pipeline live = { 0 };
	struct result result;
	uint64_t addr;

	(void)state;
	for (addr = 0x1000; addr <= 0x3000; addr += 0x1000) {
		union record record = record_alloc("cuMemAlloc_v2", addr, 100);

		pipeline_feed(&live, &record, record.event.size);
	}
	put_plain(forger, BLOCK_SEGMENT, "", 0);
	put_rows(forger);
	assert_int_equal(checkpoint_save(&live.state, 1, delta_longer, forger), 0);
	put_records(forger, BLOCK_ANCHOR);
	result = read_forged(forger);
	assert_int_equal(result.account.anchors_used, 1);
	assert_int_equal(result.account.refused, 0);
	assert_true(result.account.unknown_records >= 8);
	dump_assert_same_state(&live.state, &result.pipeline.state);
	assert_live(&result, 3);
	state_fini(&live.state);
}

static void test_a_newer_major_version(void **state)
{
	struct forger *forger = begun_forger();
	struct result result;

	(void)state;
	forger->next.major = BLOCK_MAJOR + 1;
	put_plain(forger, BLOCK_EVENTS, "whatever", 8);
	result = read_forged(forger);
	assert_int_equal(result.account.newer_blocks, 1);
	assert_live(&result, 0);
	/* It must be meant: the byte alone is damage. */
	forger = begun_forger();
	put_plain(forger, BLOCK_EVENTS, "whatever", 8);
	forger->bytes.bytes[4] ^= 2;
	result = read_forged(forger);
	assert_int_equal(result.account.newer_blocks, 0);
	assert_int_equal(result.account.damaged_places, 1);
	state_fini(&result.pipeline.state);
}

/* ---- several recordings ---------------------------------------------------------------------- */

static void test_blocks_that_come_again(void **state)
{
	struct forger *forger = begun_forger();
	struct result result;

	(void)state;
	put_alloc(forger, 0x1000);
	put_records(forger, BLOCK_EVENTS);
	forger->next.sequence--;
	put_alloc(forger, 0x2000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.repeated_blocks, 1);
	assert_live(&result, 1);
}

static void test_one_recording_after_another(void **state)
{
	struct forger *forger = begun_forger();
	const struct state nothing = { 0 };
	struct result result;

	(void)state;
	put_alloc(forger, 0x1000);
	put_records(forger, BLOCK_EVENTS);
	forger->next.recording = 2;
	forger->next.sequence = 0;
	put_alloc(forger, 0x2000); /* before its first anchor */
	put_records(forger, BLOCK_EVENTS);
	put_segment(forger, &nothing);
	put_alloc(forger, 0x3000);
	put_records(forger, BLOCK_EVENTS);
	result = read_forged(forger);
	assert_int_equal(result.account.recordings, 2);
	assert_int_equal(result.account.unanchored, 1);
	assert_int_equal(result.account.missing_blocks + result.account.repeated_blocks, 0);
	assert_live(&result, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_that_are_not_known),
		cmocka_unit_test(test_records_that_are_not_known),
		cmocka_unit_test(test_records_that_say_more),
		cmocka_unit_test(test_functions_that_are_not_known),
		cmocka_unit_test(test_launches_by_functions_that_are_not_known),
		cmocka_unit_test(test_anchors_that_say_more),
		cmocka_unit_test(test_a_newer_major_version),
		cmocka_unit_test(test_blocks_that_come_again),
		cmocka_unit_test(test_one_recording_after_another),
	};

	return unit_run("newer dumps", tests);
}
