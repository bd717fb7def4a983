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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_samples_miss),
	};

	return unit_run("history_text", tests);
}
