// SPDX-License-Identifier: BSD-2-Clause
/*
 * Everything that allocates, with every single allocation failing once: nothing may crash, leak or
 * be half done, and nothing may be missing without an error that says so.
 *
 * Filters are left out: without memory, regcomp() of glibc up to 2.41 frees twice (CVE-2025-8058).
 */
#include "example.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "elf_image.h"
#include "dumps.h"
#include "failing.h"
#include "render/json.h"
#include "render/text.h"
#include "elf/elf_dynamic.h"
#include "elf/elf_symbols.h"

/* Runs `attempt` with the first allocation failing, the second, and so on, until none does. */
static void with_each_failure(void (*attempt)(long nth))
{
	long nth;

	for (nth = 0; nth < FAILING_ATTEMPTS; nth++) {
		attempt(nth);
		if (!stop_failing()) {
			assert_true(nth > 0);
			return;
		}
	}
	fail_msg("it never succeeds");
}

/* ---- base ------------------------------------------------------------------------------------ */

static void grow_a_map(long nth)
{
	struct map map = { 0 };
	uint64_t key, failed = 0;

	until_failure = nth;
	for (key = 0; key < 200; key++) {
		int err = map_set(&map, key, key);

		assert_true(!err || err == -ENOMEM);
		assert_int_equal(map_get(&map, key) == NULL, err != 0);
		failed += err != 0;
		assert_int_equal(map.count, key + 1 - failed);
	}
	assert_int_equal(failed, until_failure < 0);
	map_fini(&map);
}

static void test_maps(void **state)
{
	(void)state;
	with_each_failure(grow_a_map);
}

static void grow_an_array(long nth)
{
	size_t capacity = 0, before, i;
	char *items = NULL;

	until_failure = nth;
	for (i = 1; i < 200; i++) {
		before = capacity;
		if (!memory_grow(&items, &capacity, i, 1)) {
			items[i - 1] = 1;
			continue;
		}
		assert_int_equal(capacity, before);
		assert_int_equal(memory_grow(&items, &capacity, i, 1), 0);
		assert_true(i == 1 || items[i - 2] == 1);
		items[i - 1] = 1;
	}
	free(items);
}

static void test_arrays(void **state)
{
	(void)state;
	with_each_failure(grow_an_array);
}

static void grow_a_string(long nth)
{
	struct string string = { 0 };
	int i;

	until_failure = nth;
	for (i = 0; i < 100; i++) {
		string_append_text(&string, "text");
		string_append_u64(&string, 12345);
		string_append_format(&string, "%d", 6);
		string_pad(&string, string.length + 3);
	}
	assert_int_equal(string.failed, until_failure < 0);
	assert_int_equal(string.length == 1300, !string.failed);
	string_clear(&string);
	assert_false(string.failed);
	string_append_text(&string, "again");
	assert_int_equal(string.length, 5);
	string_fini(&string);
}

static void test_strings(void **state)
{
	(void)state;
	with_each_failure(grow_a_string);
}

static void intern_names(long nth)
{
	struct string_table table = { 0 };
	char text[16];
	int i, length, failed = 0;

	until_failure = nth;
	for (i = 0; i < 200; i++) {
		length = snprintf(text, sizeof(text), "name %d", i);
		failed += !string_intern(&table, text, length);
		assert_int_equal(table.count, i + 1 - failed);
	}
	assert_int_equal(failed, until_failure < 0);
	for (i = 0; i < 200; i++) {
		length = snprintf(text, sizeof(text), "name %d", i);
		assert_string_equal(string_intern(&table, text, length), text);
	}
	assert_int_equal(table.count, 200);
	string_table_fini(&table);
}

static void test_interned_names(void **state)
{
	(void)state;
	with_each_failure(intern_names);
}

/* ---- model ----------------------------------------------------------------------------------- */

static void grow_a_ledger(long nth)
{
	struct ledger ledger = { 0 };
	struct allocation removed;
	uint64_t i, failed = 0;

	until_failure = nth;
	for (i = 1; i <= 200; i++) {
		const struct allocation allocation = { .addr = i * 512, .id = i };
		int err = ledger_insert(&ledger, &allocation);

		assert_true(!err || err == -ENOMEM);
		assert_int_equal(ledger_find(&ledger, i * 512) == NULL, err != 0);
		failed += err != 0;
		assert_int_equal(ledger.count, i - failed);
	}
	assert_int_equal(failed, until_failure < 0);
	for (i = 1; i <= 200; i++)
		failed -= !ledger_remove(&ledger, i * 512, &removed);
	assert_int_equal(failed, 0);
	assert_int_equal(ledger.count, 0);
	ledger_fini(&ledger);
}

static void test_ledgers(void **state)
{
	(void)state;
	with_each_failure(grow_a_ledger);
}

/* Without memory for an index, it is searched from end to end. */
static void index_a_ledger(long nth)
{
	const struct allocation *found;
	struct ledger ledger = { 0 };
	uint64_t i, last = 0;

	until_failure = nth;
	for (i = 1; i <= 100; i++) {
		const struct allocation allocation = { .addr = i * 512, .size_bytes = 512 };

		if (ledger_insert(&ledger, &allocation))
			continue;
		last = i * 512;
		found = ledger_containing(&ledger, last + 511);
		assert_int_equal(found ? found->addr : 0, last);
		assert_null(ledger_containing(&ledger, last + 512));
	}
	for (i = 0; i < ledger.count; i++) {
		found = ledger_containing(&ledger, ledger.entries[i].addr + 256);
		assert_ptr_equal(found, &ledger.entries[i]);
	}
	ledger_fini(&ledger);
}

static void test_ledgers_that_are_looked_into(void **state)
{
	(void)state;
	with_each_failure(index_a_ledger);
}

/* What the totals say is live is what the ledger holds. */
static void assert_consistent(const struct state *state)
{
	size_t i, j, key, space;

	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];
		uint64_t count[MS_SPACES_COUNT] = { 0 }, bytes[MS_SPACES_COUNT] = { 0 };

		for (key = 0; key < LEDGERS_COUNT; key++) {
			const struct ledger *ledger = &process->ledgers[key];

			for (j = 0; j < ledger->count; j++) {
				count[ledger->entries[j].space]++;
				bytes[ledger->entries[j].space] += ledger->entries[j].size_bytes;
			}
		}
		for (space = 0; space < MS_SPACES_COUNT; space++) {
			assert_int_equal(process->spaces[space].live_count, count[space]);
			assert_int_equal(process->spaces[space].live_bytes, bytes[space]);
		}
		assert_true(process->kernel_places.count <= process->kernels_count);
	}
}

static void follow_the_example(long nth)
{
	struct pipeline pipeline = { .filter = { .ops = (1u << MS_OPS_COUNT) - 1 } };
	struct summary summary = { 0 };
	struct example example;
	size_t i;

	example_init(&example);
	until_failure = nth;
	for (i = 0; i < example.count; i++) {
		pipeline_feed(&pipeline, &example.records[i], example.records[i].event.size);
		/* An index that there is no memory for is done without. */
		assert_true(pipeline.err == 0 || (pipeline.err == -ENOMEM && until_failure < 0));
		assert_consistent(&pipeline.state);
	}
	pipeline_finish(&pipeline, &summary);
	assert_int_equal(pipeline.refused, 0);
	state_fini(&pipeline.state);
}

static void test_the_state(void **state)
{
	(void)state;
	with_each_failure(follow_the_example);
}

/* ---- output ---------------------------------------------------------------------------------- */

struct text {
	char bytes[65536];
	size_t length;
};

struct format {
	struct sink *(*make)(struct writer *writer);
	void (*free)(struct sink *sink);
	struct text whole; /* what it writes if nothing fails */
};

static struct sink *new_text(struct writer *writer)
{
	const struct text_options options = { .lines = true };

	return text_sink_new(writer, &options);
}

static struct sink *new_json(struct writer *writer)
{
	return json_sink_new(writer, true);
}

static struct format text_format = { .make = new_text, .free = text_sink_free };
static struct format json_format = { .make = new_json, .free = json_sink_free };

/* Runs the example through a sink. Returns the pipeline's error. */
static int render(const struct format *format, long nth, struct text *out)
{
	struct writer writer = { .fd = memfd_create("failure_test", MFD_CLOEXEC), .name = "test" };
	struct pipeline pipeline = { .filter = { .ops = (1u << MS_OPS_COUNT) - 1 } };
	struct example example;
	struct sink *sink;
	ssize_t length;
	int err;

	example_init(&example);
	until_failure = nth;
	sink = format->make(&writer);
	if (sink)
		pipeline_add_sink(&pipeline, sink);
	err = sink ? example_run(&example, &pipeline) : -ENOMEM;
	length = pread(writer.fd, out->bytes, sizeof(out->bytes), 0);
	assert_in_range(length, 0, sizeof(out->bytes) - 1);
	out->length = length;
	state_fini(&pipeline.state);
	format->free(sink);
	writer_close(&writer);
	return err;
}

/* An error, or all of the output; never a part of it that looks like all. */
static void render_with_failure(struct format *format, long nth)
{
	static struct text out;
	int err = render(format, nth, &out);

	if (err)
		assert_int_equal(err, -ENOMEM);
	else if (out.length != format->whole.length ||
		 memcmp(out.bytes, format->whole.bytes, out.length) != 0)
		fail_msg("allocation %ld failed, and something is missing from the output", nth);
}

static void render_text(long nth)
{
	render_with_failure(&text_format, nth);
}

static void test_text(void **state)
{
	(void)state;
	assert_int_equal(render(&text_format, -1, &text_format.whole), 0);
	with_each_failure(render_text);
}

static void render_json(long nth)
{
	render_with_failure(&json_format, nth);
}

static void test_json(void **state)
{
	(void)state;
	assert_int_equal(render(&json_format, -1, &json_format.whole), 0);
	with_each_failure(render_json);
}

/* ---- recordings ------------------------------------------------------------------------------ */

static struct dump recorded;           /* of the example, without a failure */
static struct pipeline recorded_state; /* what is known at its end */

/* Without the process's end, which leaves little of what is known. */
static void init_recorded(struct example *example)
{
	example_init(example);
	example->count--;
}

/* Returns the first error; what was written is whole in any case. */
static int record_example(struct dump *dump, long nth)
{
	const struct dump_writer_options options = { .recording = 1,
						     .write = dump_write_block,
						     .describe = dump_describe,
						     .context = dump };
	struct pipeline live = { 0 };
	struct properties end = { 0 };
	struct dump_writer *writer;
	struct example example;
	int err = 0, step_err;
	size_t i;

	init_recorded(&example);
	/* The dump is the test's own. */
	string_append(&dump->bytes, "", 1);
	string_pad(&dump->bytes, 1 << 20);
	dump->bytes.length = 0;
	for (i = 0; i < example.count / 2; i++)
		pipeline_feed(&live, &example.records[i], example.records[i].event.size);
	until_failure = nth;
	writer = dump_writer_new(&options);
	err = writer ? dump_writer_segment(writer, &live.state, EXAMPLE_SECOND) : -ENOMEM;
	for (i = example.count / 2; writer && i < example.count; i++) {
		step_err = dump_writer_add(writer, &example.records[i]);
		if (!err)
			err = step_err;
	}
	step_err = writer ? dump_writer_end(writer, &end, 2 * EXAMPLE_SECOND) : 0;
	dump_writer_free(writer);
	state_fini(&live.state);
	return err ? err : step_err;
}

/* Without an error, all is there; with one, what is there is whole. */
static void check_recorded(const struct dump *dump, int err)
{
	struct pipeline pipeline = { 0 };
	struct replay *replay = dump_read(&pipeline, dump->bytes.bytes, dump->bytes.length);
	const struct recording_account *account = replay_account(replay);
	struct example example;

	init_recorded(&example);
	assert_int_equal(account->damaged_places + account->refused + pipeline.refused, 0);
	assert_int_equal(account->missing_blocks, 0);
	if (!err) {
		assert_int_equal(account->events, example.count - example.count / 2);
		assert_true(account->has_end);
		assert_int_equal(account->anchors_used, 1);
	} else if (account->blocks) {
		assert_int_equal(account->events, 0);
		assert_int_equal(account->unanchored, example.count - example.count / 2);
	}
	replay_free(replay);
	state_fini(&pipeline.state);
}

static void record_with_failure(long nth)
{
	static struct dump dump;
	long left;
	int err;

	dump.blocks_count = dump.segments_count = 0;
	err = record_example(&dump, nth);
	left = until_failure;
	until_failure = -1;
	assert_true(!err || err == -ENOMEM);
	check_recorded(&dump, err);
	string_fini(&dump.bytes);
	until_failure = left;
}

static void test_writing_recordings(void **state)
{
	(void)state;
	with_each_failure(record_with_failure);
}

/* An error, or all of it. */
static void read_with_failure(long nth)
{
	struct pipeline pipeline = { 0 };
	struct dump_reader *reader;
	struct replay *replay;
	struct dump_item item = { 0 };
	struct example example;
	long left;
	int err;

	init_recorded(&example);
	until_failure = nth;
	reader = dump_reader_of(recorded.bytes.bytes, recorded.bytes.length);
	replay = replay_new(&pipeline, NULL);
	err = reader && replay ? 0 : -ENOMEM;
	while (!err && item.kind != DUMP_END) {
		err = dump_reader_next(reader, &item);
		if (!err)
			err = replay_item(replay, &item);
	}
	assert_true(err == 0 || err == -ENOMEM);
	if (!err) {
		const struct recording_account *account = replay_account(replay);

		assert_int_equal(account->events, example.count - example.count / 2);
		assert_int_equal(account->damaged_places + account->refused, 0);
		assert_non_null(replay_text(replay, "host"));
		left = until_failure;
		until_failure = -1;
		dump_assert_same_state(&pipeline.state, &recorded_state.state);
		until_failure = left;
	}
	assert_consistent(&pipeline.state);
	dump_reader_close(reader);
	replay_free(replay);
	state_fini(&pipeline.state);
}

static void test_reading_recordings(void **state)
{
	(void)state;
	assert_int_equal(record_example(&recorded, -1), 0);
	replay_free(dump_read(&recorded_state, recorded.bytes.bytes, recorded.bytes.length));
	with_each_failure(read_with_failure);
	string_fini(&recorded.bytes);
	state_fini(&recorded_state.state);
}

/* ---- ELF files ------------------------------------------------------------------------------- */

static int count_function(const struct elf_function *function, void *context)
{
	(void)function;
	++*(size_t *)context;
	return 0;
}

static int image_file(void)
{
	struct elf_image image;
	int fd = elf_image_file();

	elf_image_init(&image);
	elf_image_write(&image, fd, image.size);
	return fd;
}

static void read_symbols(long nth)
{
	int fd = image_file(), err;
	size_t count = 0;

	until_failure = nth;
	err = elf_each_function(fd, count_function, &count, NULL);
	assert_int_equal(err == 0, count == 5);
	close(fd);
}

static void test_elf_symbols(void **state)
{
	(void)state;
	with_each_failure(read_symbols);
}

static void read_dynamic(long nth)
{
	struct elf_dynamic dynamic;
	int fd = image_file(), err;

	until_failure = nth;
	err = elf_dynamic_read(fd, &dynamic);
	if (!err) {
		assert_int_equal(dynamic.needed_count, 2);
		assert_non_null(dynamic.rpath);
		assert_non_null(dynamic.runpath);
	}
	elf_dynamic_fini(&dynamic);
	close(fd);
}

static void test_elf_dynamic(void **state)
{
	(void)state;
	with_each_failure(read_dynamic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_interned_names),
		cmocka_unit_test(test_ledgers),
		cmocka_unit_test(test_ledgers_that_are_looked_into),
		cmocka_unit_test(test_the_state),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_writing_recordings),
		cmocka_unit_test(test_reading_recordings),
		cmocka_unit_test(test_elf_symbols),
		cmocka_unit_test(test_elf_dynamic),
	};

	return unit_run("failing allocations", tests);
}
