// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the sinks make of the example run, compared with tests/golden/. UPDATE_GOLDEN=1 writes those
 * files anew: look at the difference before you commit it.
 */
#include "example.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "golden.h"
#include "json_check.h"
#include "render/field.h"
#include "render/json.h"
#include "render/text.h"

/* So that the first second is 12:34:56 of a day long ago, in UTC. */
#define CLOCK_NS ((12 * 3600 + 34 * 60 + 55) * EXAMPLE_SECOND)

static void run_through(struct sink *sink, uint32_t ops)
{
	struct pipeline pipeline = { .filter = { .ops = ops } };
	struct example example;

	assert_non_null(sink);
	pipeline_add_sink(&pipeline, sink);
	example_init(&example);
	assert_int_equal(example_run(&example, &pipeline), 0);
	assert_int_equal(pipeline.refused, 0);
	state_fini(&pipeline.state);
}

#define EVERY_OP ((1u << MS_OPS_COUNT) - 1)

static void render_text(struct text *out, const struct text_options *options, bool colour)
{
	struct writer writer = { .fd = memfd_create("output_test", 0), .colour = colour };
	struct sink *sink = text_sink_new(&writer, options);

	run_through(sink, EVERY_OP);
	text_sink_free(sink);
	read_all(writer.fd, out);
	assert_int_equal(writer_close(&writer), 0);
}

static void render_json(struct text *out, bool lines)
{
	struct writer writer = { .fd = memfd_create("output_test", 0) };
	struct sink *sink = json_sink_new(&writer, lines);

	json_sink_set_wall(sink, true, CLOCK_NS);
	run_through(sink, EVERY_OP);
	json_sink_free(sink);
	read_all(writer.fd, out);
	assert_int_equal(writer_close(&writer), 0);
}

static int in_utc(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void test_text(void **state)
{
	const struct text_options options = { .lines = true, .clock_ns = CLOCK_NS };
	static struct text out;

	(void)state;
	render_text(&out, &options, false);
	assert_golden(GOLDEN "trace.txt", &out);
}

static void test_text_with_exact_sizes_and_stacks(void **state)
{
	const struct text_options options = {
		.lines = true, .exact = true, .stacks = true, .clock_ns = CLOCK_NS
	};
	static struct text out;

	(void)state;
	render_text(&out, &options, false);
	assert_golden(GOLDEN "trace-exact.txt", &out);
}

static void test_the_text_summary_alone(void **state)
{
	const struct text_options lines = { .lines = true, .clock_ns = CLOCK_NS };
	const struct text_options summary = { .clock_ns = CLOCK_NS };
	static struct text all, out;
	size_t same;

	(void)state;
	render_text(&all, &lines, false);
	render_text(&out, &summary, false);
	assert_true(out.length < all.length);
	/* Only the word for what there was a line for, or was not, is different. */
	assert_non_null(strstr(all.bytes, " shown + "));
	assert_non_null(strstr(out.bytes, " counted + "));
	same = strstr(out.bytes, " counted + ") - out.bytes;
	assert_memory_equal(out.bytes, strstr(all.bytes, " shown + ") - same, same);
}

/* Nothing that a traced program chose can move the cursor or break a line. */
static void test_text_is_printable(void **state)
{
	const struct text_options options = { .lines = true, .clock_ns = CLOCK_NS };
	static struct text out;
	size_t i;

	(void)state;
	render_text(&out, &options, false);
	for (i = 0; i < out.length; i++)
		assert_true(out.bytes[i] == '\n' || (out.bytes[i] >= ' ' && out.bytes[i] <= '~'));
}

static void test_failures_are_red_where_colour_is_wanted(void **state)
{
	const struct text_options options = { .lines = true, .clock_ns = CLOCK_NS };
	static struct text out;
	size_t red = 0;
	char *line;

	(void)state;
	render_text(&out, &options, true);
	line = strtok(out.bytes, "\n");
	assert_memory_equal(line, "\033[2mTIME", 8);
	assert_string_equal(line + strlen(line) - 10, "DETAIL\033[0m");
	for (line = strtok(NULL, "\n"); line; line = strtok(NULL, "\n")) {
		size_t length = strlen(line);
		bool failed =
			strstr(line, "Error") || strstr(line, "error ") || strstr(line, "ERROR");

		if (strncmp(line, "\033[31m", 5) != 0) {
			assert_true(!failed || *line == ' '); /* the summary's are not */
			continue;
		}
		assert_true(failed);
		assert_string_equal(line + length - 4, "\033[0m");
		red++;
	}
	assert_int_equal(red, 4);
}

/* Whether the heading, the first line, has that column. */
static bool has_column(const struct text *out, const char *heading)
{
	char line[256];

	snprintf(line, sizeof(line), "%.*s ", (int)strcspn(out->bytes, "\n"), out->bytes);
	return strstr(line, heading);
}

/* Colours take no room; the summary is as wide as it is. */
static void test_lines_are_no_wider_than_the_terminal(void **state)
{
	static struct text out;
	size_t width;

	(void)state;
	for (width = 20; width <= 160; width++) {
		const struct text_options options = { .lines = true, .width = width };
		char *line;

		render_text(&out, &options, true);
		assert_int_equal(has_column(&out, "ADDRESS "), width >= 132);
		assert_int_equal(has_column(&out, "COMM "), width >= 113);
		assert_int_equal(has_column(&out, "TOOK "), width >= 97);
		assert_int_equal(has_column(&out, "TIME "), width >= 88);
		assert_int_equal(has_column(&out, "PID/TID "), width >= 72);
		for (line = strtok(out.bytes, "\n"); strncmp(line, "process ", 8);
		     line = strtok(NULL, "\n")) {
			const size_t colour = *line == '\033' ? line[2] == '3' ? 9 : 8 : 0;

			assert_true(strlen(line) - colour <= width);
		}
	}
}

static void show_live(struct text *out, uint32_t attached)
{
	const struct text_options options = { .lines = true };
	struct writer writer = { .fd = memfd_create("output_test", 0) };
	struct sink *sink = text_sink_new(&writer, &options);
	struct pipeline pipeline = { .filter = { .ops = EVERY_OP },
				     .sinks = { sink },
				     .sinks_count = 1 };
	union record records[] = { record_process(MS_TYPE_ATTACH, "train", attached),
				   record_alloc("cudaMalloc", 0x1000, 3 << 20) };
	size_t i;

	for (i = 0; i < 2; i++)
		assert_int_equal(pipeline_feed(&pipeline, &records[i], records[i].event.size), 0);
	pipeline_flush(&pipeline);
	text_sink_free(sink);
	state_fini(&pipeline.state);
	read_all(writer.fd, out);
	assert_int_equal(writer_close(&writer), 0);
}

static void test_live_is_besides_what_was_held_before(void **state)
{
	static struct text out;

	(void)state;
	show_live(&out, MS_ATTACH_RUNNING);
	assert_non_null(strstr(out.bytes, "   +3 MiB"));
	show_live(&out, 0);
	assert_non_null(strstr(out.bytes, "    3 MiB"));
	assert_null(strstr(out.bytes, "+3 MiB"));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void test_json_lines_begin_with_a_header(void **state)
{
	const struct json_header header = { .host = "node\"7\"",
					    .kernel = "6.0",
					    .machine = "x86_64",
					    .wall_offset_ns = CLOCK_NS };
	struct writer writer = { .fd = memfd_create("output_test", 0) };
	struct sink *sink = json_sink_new(&writer, true);
	static struct text out;

	(void)state;
	json_sink_begin(sink, &header);
	run_through(sink, EVERY_OP);
	json_sink_free(sink);
	read_all(writer.fd, &out);
	assert_int_equal(writer_close(&writer), 0);
	assert_ptr_equal(strstr(out.bytes,
				"{\"schema\":\"memscope-bpf/event/1\",\"type\":\"header\","
				"\"tool\":\"memscope-bpf " MEMSCOPE_VERSION "\","
				"\"host\":\"node\\\"7\\\"\",\"kernel\":\"6.0\","
				"\"machine\":\"x86_64\","
				"\"wall_offset_ns\":45295000000000}\n"),
			 out.bytes);
	/* The first event's time, and that with the offset. */
	assert_non_null(strstr(out.bytes, "\"ts_ns\":1000000000,\"wall_ns\":45296000000000,"));
}

static void test_json(void **state)
{
	static struct text out;

	(void)state;
	render_json(&out, true);
	assert_golden(GOLDEN "trace.jsonl", &out);
}

static void test_every_json_line_is_an_object(void **state)
{
	static struct text out;
	size_t lines = 0;
	char *line;

	(void)state;
	render_json(&out, true);
	for (line = strtok(out.bytes, "\n"); line; line = strtok(NULL, "\n")) {
		assert_int_equal(*line, '{');
		assert_true(json_check(line, strlen(line)));
		assert_non_null(strstr(line, "{\"schema\":\"memscope-bpf/event/1\",\"type\":"));
		lines++;
	}
	assert_true(lines > 30);
}

static void test_the_json_summary_alone(void **state)
{
	static struct text all, out;

	(void)state;
	render_json(&all, true);
	render_json(&out, false);
	assert_true(out.length < all.length);
	assert_string_equal(out.bytes, all.bytes + all.length - out.length);
	assert_int_equal(strcspn(out.bytes, "\n"), out.length - 1);
	assert_true(json_check(out.bytes, out.length));
}

/* ---- the summary of something else ----------------------------------------------------------- */

/* Feeds the records, and appends the summary as text, terminated. */
static void summarize(const union record *records, size_t count, struct summary *summary,
		      struct string *out)
{
	const struct text_options options = { 0 };
	struct pipeline pipeline = { .filter = { .ops = EVERY_OP } };
	size_t i;

	for (i = 0; i < count; i++) {
		union record record = records[i];

		assert_int_equal(pipeline_feed(&pipeline, &record, record.event.size), 0);
	}
	pipeline.refused = summary->refused;
	assert_int_equal(pipeline_finish(&pipeline, summary), 0);
	text_append_summary(out, summary, &options);
	string_append(out, "", 1);
	state_fini(&pipeline.state);
}

static void test_losses_that_make_totals_inexact_say_so(void **state)
{
	int kind;

	(void)state;
	for (kind = 0; kind < MS_KINDS_COUNT; kind++) {
		struct summary summary = { .end_ns = 1, .captured_ops = ~0u };
		struct string out = { 0 };
		bool matters = kind == MS_OP_ALLOC || kind == MS_OP_FREE || kind == MS_OP_MEMORY ||
			       kind == MS_OP_CONTEXT || kind == MS_KIND_FREE_BEGIN ||
			       kind == MS_KIND_PROCESS || kind == MS_KIND_OBJECT;

		summary.counters.lost[kind] = 1;
		summarize(NULL, 0, &summary, &out);
		assert_int_equal(strstr(out.bytes, "are not exact") != NULL, matters);
		assert_non_null(strstr(out.bytes, "lost: 1"));
		string_fini(&out);
	}
}

static void test_a_run_without_incident_mentions_none(void **state)
{
	struct summary summary = { .end_ns = 1500000000, .captured_ops = ~0u };
	struct string out = { 0 };

	(void)state;
	summarize(NULL, 0, &summary, &out);
	assert_string_equal(out.bytes,
			    "\n0 events seen = 0 counted + 0 filtered + 0 lost, in 1.50 s\n");
	string_fini(&out);
}

static void test_what_was_not_captured_is_told(void **state)
{
	struct summary summary = { .end_ns = 1,
				   .captured_ops = ~(1u << MS_OP_COPY | 1u << MS_OP_LAUNCH) };
	struct string out = { 0 };

	(void)state;
	summarize(NULL, 0, &summary, &out);
	assert_non_null(strstr(out.bytes, "not in the numbers above: copy, launch ("));
	string_fini(&out);
}

static void test_processes_that_were_not_traced_are_told(void **state)
{
	const struct untraced_forks forks = { .parents = { { .pid = 7, .count = 2 } }, .count = 1 };
	struct summary summary = { .end_ns = 1,
				   .captured_ops = ~0u,
				   .missed_processes = 1,
				   .untraced = 3,
				   .forks = &forks };
	struct string out = { 0 };

	(void)state;
	summarize(NULL, 0, &summary, &out);
	assert_non_null(
		strstr(out.bytes,
		       "  not traced: at least 1 process that could not be attached to in time;"
		       " calls may be missing\n"
		       "  not traced: at least 3 descendants that used CUDA (-f traces children,"
		       " too)\n"
		       "  not traced: at least 2 children that were forked with the driver mapped;"
		       " whether they used CUDA is not known (-f traces children, too)\n"));
	string_fini(&out);
}

static void test_refused_records_are_told(void **state)
{
	struct summary summary = { .refused = 3, .captured_ops = ~0u };
	struct string out = { 0 };

	(void)state;
	summarize(NULL, 0, &summary, &out);
	assert_non_null(
		strstr(out.bytes, "  3 records could not be decoded: report this as a bug\n"));
	string_fini(&out);
}

/* The kernel side has counted them when the process turns out not to be asked for. */
static void test_calls_of_others_are_not_seen_but_left_out(void **state)
{
	struct summary summary = { .left_out = 17, .captured_ops = ~0u };
	struct string out = { 0 };

	(void)state;
	summary.counters.seen[MS_OP_ALLOC] = 19;
	summarize(NULL, 0, &summary, &out);
	assert_non_null(strstr(out.bytes, "\n2 events seen = "));
	assert_non_null(strstr(out.bytes, "  left out: 17 calls of processes that were not"));
	string_fini(&out);
}

static void test_one_is_no_plural(void **state)
{
	struct summary summary = { .refused = 1, .captured_ops = ~0u };
	struct string out = { 0 };

	(void)state;
	summary.counters.seen[MS_OP_ALLOC] = summary.counters.abandoned = 1;
	summarize(NULL, 0, &summary, &out);
	assert_non_null(strstr(out.bytes, "\n1 event seen = "));
	assert_non_null(strstr(out.bytes, "  1 call never returned "));
	assert_non_null(strstr(out.bytes, "  1 record could not be decoded"));
	string_fini(&out);
}

static void test_no_rate_without_time(void **state)
{
	const union record copy = record_copy("cudaMemcpy", 4096, MS_DIRECTION_HTOD);
	struct summary summary = { .start_ns = 5, .end_ns = 5 };
	struct string out = { 0 };

	(void)state;
	summarize(&copy, 1, &summary, &out);
	assert_non_null(strstr(out.bytes, "4 KiB             -"));
	assert_null(strstr(out.bytes, "inf"));
	string_fini(&out);
}

/* What no memory can move is a damaged record's claim, and no reason for undefined arithmetic. */
static void test_a_rate_beyond_all_numbers(void **state)
{
	const union record copy = record_copy("cudaMemcpy", UINT64_MAX, MS_DIRECTION_HTOD);
	struct summary summary = { .end_ns = 1, .captured_ops = ~0u };
	struct string out = { 0 };

	(void)state;
	summarize(&copy, 1, &summary, &out);
	assert_non_null(strstr(out.bytes, "EiB/s"));
	assert_int_equal(summary_per_second(&summary, UINT64_MAX), UINT64_MAX);
	assert_int_equal(summary_per_second(&summary, 7), 7000000000);
	string_fini(&out);
}

static void test_many_kernels_are_cut_short(void **state)
{
	union record launches[23];
	struct summary summary = { .end_ns = 1, .captured_ops = ~0u };
	struct string out = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < 23; i++)
		launches[i] = record_launch("cuLaunchKernel", 0xa00 + i);
	summarize(launches, 23, &summary, &out);
	assert_non_null(strstr(out.bytes, "  and 3 kernels more\n"));
	assert_non_null(strstr(out.bytes, "function 0x"));
	string_fini(&out);
}

static void test_json_has_no_number_for_an_unknown_size(void **state)
{
	struct pipeline pipeline = { .filter = { .ops = EVERY_OP } };
	struct summary summary = { .end_ns = 100 };
	struct string out = { 0 };
	struct json json = { .out = &out };
	union record alloc = record_at(
		1, record_without(MS_KNOWN_SIZE, record_alloc("cudaMallocPitch", 0x1000, 0)));

	(void)state;
	pipeline_feed(&pipeline, &alloc, alloc.event.size);
	pipeline_finish(&pipeline, &summary);
	json_open(&json, '{');
	json_summary(&json, &summary);
	json_close(&json, '}');
	assert_true(json_check(out.bytes, out.length));
	string_append(&out, "", 1);
	assert_non_null(strstr(out.bytes, "\"size_bytes\":null,\"space\":\"device\""));
	string_fini(&out);
	state_fini(&pipeline.state);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const char *const op_texts[MS_OPS_COUNT] = {
	[MS_OP_ALLOC] = "\"op\":\"alloc\"",   [MS_OP_FREE] = "\"op\":\"free\"",
	[MS_OP_COPY] = "\"op\":\"copy\"",     [MS_OP_MEMSET] = "\"op\":\"memset\"",
	[MS_OP_LAUNCH] = "\"op\":\"launch\"", [MS_OP_SYNC] = "\"op\":\"sync\"",
	[MS_OP_MEMORY] = "\"op\":\"memory\"", [MS_OP_CONTEXT] = "\"op\":\"context\"",
	[MS_OP_NAME] = "\"op\":\"name\"",
};

/* How many lines have the name with a value; those of an operation that should not are counted. */
static size_t lines_with(struct text *golden, const struct field *field, size_t *misplaced)
{
	char name[64], null[72];
	const char *line;
	size_t count = 0;
	int op;

	snprintf(name, sizeof(name), ",\"%s\":", field->name); /* not in a nested object */
	snprintf(null, sizeof(null), "\"%s\":null", field->name);
	for (line = golden->bytes; *line; line += strcspn(line, "\n") + 1) {
		size_t length = strcspn(line, "\n");
		bool has = memmem(line, length, name, strlen(name));

		if (!memmem(line, length, "\"type\":\"call\"", 13))
			continue;
		for (op = 0; op < MS_OPS_COUNT; op++)
			if (memmem(line, length, op_texts[op], strlen(op_texts[op])))
				*misplaced += has != (field->ops >> op & 1);
		count += has && !memmem(line, length, null, strlen(null));
	}
	return count;
}

static void test_every_field_is_in_a_golden_line(void **state)
{
	static struct text golden;
	size_t i, misplaced = 0;

	(void)state;
	read_golden(GOLDEN "trace.jsonl", &golden);
	for (i = 0; i < fields_count; i++)
		if (fields[i].ops && !lines_with(&golden, &fields[i], &misplaced))
			fail_msg("%s has no value in any line of trace.jsonl", fields[i].name);
	assert_int_equal(misplaced, 0);
}

static void test_every_column_is_in_the_golden_heading(void **state)
{
	static struct text golden;
	size_t i;

	(void)state;
	read_golden(GOLDEN "trace.txt", &golden);
	golden.bytes[strcspn(golden.bytes, "\n")] = '\0';
	for (i = 0; i < fields_count; i++) {
		assert_true(fields[i].ops || fields[i].heading);
		assert_int_equal(!fields[i].heading, !fields[i].width);
		if (fields[i].heading && !strstr(golden.bytes, fields[i].heading))
			fail_msg("%s is no column of trace.txt", fields[i].heading);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_with_exact_sizes_and_stacks),
		cmocka_unit_test(test_the_text_summary_alone),
		cmocka_unit_test(test_text_is_printable),
		cmocka_unit_test(test_failures_are_red_where_colour_is_wanted),
		cmocka_unit_test(test_lines_are_no_wider_than_the_terminal),
		cmocka_unit_test(test_json_lines_begin_with_a_header),
		cmocka_unit_test(test_live_is_besides_what_was_held_before),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_every_json_line_is_an_object),
		cmocka_unit_test(test_the_json_summary_alone),
		cmocka_unit_test(test_losses_that_make_totals_inexact_say_so),
		cmocka_unit_test(test_a_run_without_incident_mentions_none),
		cmocka_unit_test(test_what_was_not_captured_is_told),
		cmocka_unit_test(test_processes_that_were_not_traced_are_told),
		cmocka_unit_test(test_refused_records_are_told),
		cmocka_unit_test(test_calls_of_others_are_not_seen_but_left_out),
		cmocka_unit_test(test_one_is_no_plural),
		cmocka_unit_test(test_no_rate_without_time),
		cmocka_unit_test(test_a_rate_beyond_all_numbers),
		cmocka_unit_test(test_many_kernels_are_cut_short),
		cmocka_unit_test(test_json_has_no_number_for_an_unknown_size),
		cmocka_unit_test(test_every_field_is_in_a_golden_line),
		cmocka_unit_test(test_every_column_is_in_the_golden_heading),
	};

	in_utc(NULL);
	return unit_run("output", tests);
}
