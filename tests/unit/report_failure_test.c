// SPDX-License-Identifier: BSD-2-Clause
/*
 * A report with every single allocation failing once: nothing may crash or leak, and nothing may be
 * missing without an error, or the report itself saying so. And reports of records that make no
 * sense.
 */
#include "example.h"

#include <stdlib.h>

#include "base/log.h"
#include "failing.h"
#include "json_check.h"
#include "report/lanes.h"
#include "render/report_html.h"
#include "render/report_json.h"
#include "render/report_md.h"
#include "render/report_text.h"
#include "report_dump.h"

#define FILES 3

static struct report_dump dump;

/* The example, over three files, with an anchor in the middle of it. */
static void make_dump(void)
{
	struct example example;
	size_t i;

	example_init(&example);
	report_dump_init(&dump, 7, "host");
	for (i = 0; i < example.count; i++) {
		if (i % (example.count / FILES + 1) == 0) {
			dump.files = 1u << i / (example.count / FILES + 1);
			report_dump_segment(&dump, example.records[i].event.ts_ns);
		}
		report_dump_add(&dump, example.records[i]);
	}
	report_dump_end(&dump, example.records[i - 1].event.ts_ns);
}

static int make_report(struct report_reader *reader)
{
	struct dump_set set = { 0 };
	char path[32];
	int err = 0, i;

	for (i = 0; !err && i < FILES; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", dump.fds[i]);
		err = dump_set_add(&set, path);
	}
	if (!err)
		err = report_reader_read(reader, &set);
	dump_set_fini(&set);
	return err;
}

struct outputs {
	struct string md, text, json, html;
};

static void outputs_fini(struct outputs *outputs)
{
	string_fini(&outputs->md);
	string_fini(&outputs->text);
	string_fini(&outputs->json);
	string_fini(&outputs->html);
}

static bool differs(const struct string *one, const struct string *other)
{
	return one->length != other->length || memcmp(one->bytes, other->bytes, one->length) != 0;
}

/* So narrow that tables go on below. */
static const struct document_text_options narrow = { .width = 60 };

/* Returns whether the report is there and says nothing of being incomplete. */
static bool attempt(long nth, struct outputs *outputs)
{
	struct report_reader reader = report_dump_reader();
	struct lanes lanes = { 0 };
	bool complete;
	int err;

	until_failure = nth;
	lanes_init(&lanes);
	reader.sink = &lanes.sink;
	err = make_report(&reader);
	complete = !err && reader.report.count == 1 && !reader.report.recordings[0]->incomplete &&
		   !reader.report.refused;
	if (complete) {
		report_md(&outputs->md, &reader.report, false, true);
		report_text(&outputs->text, &reader.report, true, &narrow);
		report_json(&outputs->json, &reader.report);
		report_html(&outputs->html, &reader.report, &lanes);
		complete = !outputs->md.failed && !outputs->text.failed && !outputs->json.failed &&
			   !outputs->html.failed;
	}
	lanes_fini(&lanes);
	report_reader_fini(&reader);
	return complete;
}

static void test_every_allocation(void **state)
{
	struct outputs whole = { 0 };
	long nth, attempts = 0, complete = 0;

	(void)state;
	log_set_level(LOG_ERROR);
	make_dump();
	assert_true(attempt(-1, &whole));
	for (nth = 0; nth < FAILING_ATTEMPTS; nth += unit_stride(5)) {
		struct outputs outputs = { 0 };
		bool is_complete = attempt(nth, &outputs);
		bool happened = stop_failing();

		if (is_complete && differs(&outputs.md, &whole.md))
			fail_msg("allocation %ld: something is missing, and nothing says so", nth);
		if (is_complete && differs(&outputs.text, &whole.text))
			fail_msg("allocation %ld: the text lacks something", nth);
		if (is_complete && differs(&outputs.json, &whole.json))
			fail_msg("allocation %ld: the JSON lacks something", nth);
		if (is_complete && differs(&outputs.html, &whole.html))
			fail_msg("allocation %ld: the page lacks something", nth);
		complete += is_complete && happened;
		attempts++;
		outputs_fini(&outputs);
		if (!happened)
			break;
	}
	assert_in_range(nth, 100, FAILING_ATTEMPTS - 1);
	/* Nothing that is allocated is of no use. */
	assert_in_range(complete, 0, attempts / 20);
	outputs_fini(&whole);
	report_dump_fini(&dump);
}

/* ---- nonsense -------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252;

static uint64_t below(uint64_t bound)
{
	random_state = unit_random(random_state);
	return (random_state >> 11) % bound;
}

/* Of any magnitude; small numbers come again and again. */
static uint64_t anything(void)
{
	uint64_t wide = below(1ull << 53) << 11 | below(1 << 11);

	return below(4) ? below(8) << 12 : wide >> below(64);
}

static union record any_call(void)
{
	const struct probe *probe = probe_at((uint32_t)below(probe_count()));
	union record record = record_call(probe->symbol);

	if (probe->spec.op == MS_OP_FREE && below(2))
		return record_begin_of(probe->symbol, anything(), anything());
	record.call.addr = anything();
	record.call.size = anything();
	record.call.src = anything();
	record.call.stream = anything();
	record.call.context = anything();
	record.call.duration_ns = anything();
	record.call.device = (int32_t)anything();
	record.call.result = below(8) ? 0 : 2;
	record.call.direction = below(MS_DIRECTIONS_COUNT);
	record.call.flags = below(16) ? 0 : MS_CALL_NESTED | MS_CALL_PART;
	record.call.known = below(4) ? 0x3ff : (uint16_t)below(0x400);
	return record;
}

static union record any_record(void)
{
	union record record;

	switch (below(16)) {
	case 0:
		record = record_exit((uint32_t)anything());
		break;
	case 1:
		record = record_process(MS_TYPE_EXEC, "a", 0);
		break;
	case 2:
		record = record_attach_running();
		break;
	case 3:
		record = record_account((uint16_t)below(MS_OPS_COUNT), anything(), anything());
		break;
	default:
		record = any_call();
		break;
	}
	record = record_of((uint32_t)below(100), MS_START_NS * below(3), record);
	return record_at(below(3) ? 1000000000 + below(1ull << 34) : anything(), record);
}

/* Whatever the records say, the report is one, and no sanitizer has anything to say. */
static void test_nonsense(void **state)
{
	size_t round, i;

	(void)state;
	for (round = 0; round < 30; round += unit_stride(5)) {
		struct report_reader reader = report_dump_reader();
		struct string md = { 0 }, text = { 0 }, json = { 0 }, html = { 0 };
		const struct document_text_options options = { .width = 1 + below(200) };
		struct lanes lanes = { 0 };
		struct pipeline scratch = { 0 };

		lanes_init(&lanes);
		reader.sink = &lanes.sink;
		report_dump_init(&dump, 7, "host");
		report_dump_segment(&dump, 1000000000);
		for (i = 0; i < 600; i++) {
			union record record = any_record();

			/* Only what the recorder's own pipeline takes. */
			pipeline_feed(&scratch, &record, record.event.size);
			if (!scratch.refused)
				report_dump_add(&dump, record);
			scratch.refused = 0;
			if (below(100) == 0)
				report_dump_segment(&dump, anything());
		}
		report_dump_end(&dump, anything());
		if (below(2))
			reader.from = (struct report_time){ .kind = REPORT_TIME_SINCE_BEGIN,
							    .ns = anything() };
		if (below(2))
			reader.until = (struct report_time){ .kind = REPORT_TIME_SINCE_BEGIN,
							     .ns = anything() };
		report_dump_read(&dump, &reader);
		report_md(&md, &reader.report, false, true);
		report_text(&text, &reader.report, true, &options);
		report_json(&json, &reader.report);
		assert_true(json_check(json.bytes, json.length));
		report_html(&html, &reader.report, &lanes);
		assert_false(md.failed || text.failed || json.failed || html.failed);
		string_fini(&md);
		string_fini(&text);
		string_fini(&json);
		string_fini(&html);
		lanes_fini(&lanes);
		state_fini(&scratch.state);
		report_reader_fini(&reader);
		report_dump_fini(&dump);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_allocation),
		cmocka_unit_test(test_nonsense),
	};

	return unit_run("report_failure", tests);
}
