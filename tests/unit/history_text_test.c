// SPDX-License-Identifier: BSD-2-Clause
/*
 * The history as people read it: what it says of itself beside the numbers.
 */
#include <string.h>

#include "history/reader.h"
#include "render/document_text.h"
#include "render/history.h"
#include "unit.h"

/* Of that usage, as text; free it. */
static struct string written(const struct history_usage *usage, enum history_by by, bool events)
{
	const struct document_text_options plain = { .width = 400 };
	const struct history_query query = { .by = by };
	const struct history_view view = {
		.query = &query, .usage = usage, .top = 20, .only_events = events
	};
	struct document_text text;
	struct string out = { 0 };

	document_text_init(&text, &out, view.top, &plain);
	history_append_text(&text.document, &view);
	document_text_fini(&text);
	string_append_char(&out, '\0');
	assert_false(out.failed);
	return out;
}

static void check(const struct history_usage *usage, enum history_by by, const char *text,
		  bool is_there)
{
	struct string out = written(usage, by, false);
	char *at;

	/* Wherever the lines end. */
	for (at = out.bytes; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
	if (!strstr(out.bytes, text) == is_there)
		print_message("%s %s in: %s\n", text, is_there ? "is not" : "is", out.bytes);
	assert_int_equal(strstr(out.bytes, text) != NULL, is_there);
	string_fini(&out);
}

/* NVML is asked at times, and the ledger knows each moment. */
static void what_samples_miss(void **unused)
{
	struct history_row row = {
		.name = "GPU-1", .peak_bytes = 5000, .used_known = true, .used_peak_bytes = 4999
	};
	const struct history_usage usage = {
		.to_s = 10, .observed_ms = 10000, .rows = &row, .rows_count = 1
	};

	(void)unused;
	check(&usage, HISTORY_BY_DEVICE, "a peak in between is not in it", true);
	row.used_peak_bytes = 5000;
	check(&usage, HISTORY_BY_DEVICE, "a peak in between is not in it", false);
	row.used_peak_bytes = 0;
	row.used_known = false;
	check(&usage, HISTORY_BY_DEVICE, "a peak in between is not in it", false);
}

/* No agent, no knowledge: that is not the same as nobody. */
static void when_there_was_no_agent(void **unused)
{
	struct history_usage usage = { .from_s = 1000, .to_s = 2000 };
	struct string out;

	(void)unused;
	check(&usage, HISTORY_BY_PROCESS, "nothing is known of this time", true);
	check(&usage, HISTORY_BY_PROCESS, "No process", false);
	check(&usage, HISTORY_BY_PROCESS, "The agent was there for", false);
	out = written(&usage, HISTORY_BY_PROCESS, true);
	assert_null(strstr(out.bytes, "did not run out"));
	string_fini(&out);
	/* A part of it. */
	usage.observed_ms = 500000;
	check(&usage, HISTORY_BY_PROCESS, "The agent was there for 8m20s", true);
	check(&usage, HISTORY_BY_PROCESS, "held memory of a device while it was there", true);
	out = written(&usage, HISTORY_BY_PROCESS, true);
	assert_null(strstr(out.bytes, "did not run out"));
	string_fini(&out);
	usage.observed_ms = 1000000;
	check(&usage, HISTORY_BY_PROCESS, "held memory of a device in this time", true);
	check(&usage, HISTORY_BY_PROCESS, "nothing is known", false);
	out = written(&usage, HISTORY_BY_PROCESS, true);
	assert_non_null(strstr(out.bytes, "did not run out"));
	string_fini(&out);
}

static void what_is_a_sum_of_peaks(void **unused)
{
	struct history_row row = { .name = "a", .peak_bytes = 4096, .peak_is_sum = true };
	const struct history_usage usage = {
		.to_s = 10, .observed_ms = 10000, .rows = &row, .rows_count = 1
	};

	(void)unused;
	check(&usage, HISTORY_BY_CONTAINER, "<= 4 KiB", true);
	check(&usage, HISTORY_BY_CONTAINER, "A peak with <= is a sum of peaks", true);
	row.peak_is_sum = false;
	check(&usage, HISTORY_BY_CONTAINER, "<=", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_samples_miss),
		cmocka_unit_test(when_there_was_no_agent),
		cmocka_unit_test(what_is_a_sum_of_peaks),
	};

	return unit_run("history_text", tests);
}
