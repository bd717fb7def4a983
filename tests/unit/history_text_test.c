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
	char *at, *end = out.bytes;

	/* Wherever the lines end, and however wide the columns are. */
	for (at = out.bytes; *at; at++) {
		const char next = *at == '\n' ? ' ' : *at;

		if (next != ' ' || end == out.bytes || end[-1] != ' ')
			*end++ = next;
	}
	*end = '\0';
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
	check(&usage, HISTORY_BY_DEVICE, "Not in it: what a process allocated before", false);
	/* All other columns are of what was seen. */
	check(&usage, HISTORY_BY_DEVICE,
	      "Not in it, but for what is in use: what a process allocated before the agent", true);
	row.used_peak_bytes = 5000;
	check(&usage, HISTORY_BY_DEVICE, "a peak in between is not in it", false);
	row.used_peak_bytes = 0;
	row.used_known = false;
	check(&usage, HISTORY_BY_DEVICE, "a peak in between is not in it", false);
	/* NVML has said nothing of what late processes held. */
	check(&usage, HISTORY_BY_DEVICE, "Not in it: what a process allocated before", true);
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

/* Wherever a number stands that may not be all, and nowhere else. */
static void what_is_not_exact(void **unused)
{
	struct history_row row = { .name = "a",
				   .peak_bytes = 4096,
				   .byte_ms = 36000000000,
				   .inexact = HISTORY_HELD_BEFORE };
	struct history_happening killed = {
		.kind = "killed", .bytes_known = true, .bytes = 8192, .inexact = row.inexact
	};
	struct history_usage usage = {
		.to_s = 10, .observed_ms = 10000, .rows = &row, .rows_count = 1
	};
	struct string out;

	(void)unused;
	check(&usage, HISTORY_BY_USER, " 4 KiB+ 3.43 MiB+ 0.0000+ 0.00+ 0 may have held more ",
	      true);
	check(&usage, HISTORY_BY_USER, "+: and what a process held from before the agent", true);
	check(&usage, HISTORY_BY_USER, "~", false);
	row.peak_is_sum = true;
	check(&usage, HISTORY_BY_USER, "<= 4 KiB+", true);
	row.inexact |= HISTORY_MORE_OR_LESS;
	check(&usage, HISTORY_BY_USER,
	      "<= 4 KiB~ 3.43 MiB~ 0.0000~ 0.00~ 0 may have held more or less ", true);
	check(&usage, HISTORY_BY_USER, "~: a process may have held more or less", true);
	check(&usage, HISTORY_BY_USER, "+", false);
	row.inexact = 0;
	check(&usage, HISTORY_BY_USER, "<= 4 KiB 3.43 MiB 0.0000 0.00 0 ", true);
	check(&usage, HISTORY_BY_USER, "may have held more", false);
	check(&usage, HISTORY_BY_USER, "~", false);
	check(&usage, HISTORY_BY_USER, "+", false);
	/* What was held when a process was killed, and not what was asked for. */
	usage.events = &killed;
	usage.events_count = 1;
	check(&usage, HISTORY_BY_USER, "8 KiB+", true);
	out = written(&usage, HISTORY_BY_USER, true);
	assert_non_null(strstr(out.bytes, "+: and what a process held"));
	string_fini(&out);
	killed.kind = "oom";
	check(&usage, HISTORY_BY_USER, "8 KiB+", false);
	check(&usage, HISTORY_BY_USER, "+: and what a process held", false);
}

/* Who held more and more may be beyond the rows that there is room for. */
static void what_is_not_exact_and_rises(void **unused)
{
	struct history_row rows[21] = { 0 };
	const struct history_usage usage = {
		.to_s = 10, .observed_ms = 10000, .rows = rows, .rows_count = 21
	};
	struct history_row *last = &rows[20];
	struct string out;
	uint64_t i;

	(void)unused;
	for (i = 0; i < 21; i++)
		rows[i].name = "a";
	last->inexact = HISTORY_HELD_BEFORE;
	check(&usage, HISTORY_BY_PROCESS, "+: and what a process held", false);
	for (i = 0; i < RISE_PARTS_LEAST; i++)
		rise_note(&last->rise, i, i + 1, i * RISE_BYTES);
	check(&usage, HISTORY_BY_PROCESS, "+: and what a process held", true);
	/* These are shown with the events alone, too. */
	out = written(&usage, HISTORY_BY_PROCESS, true);
	assert_non_null(strstr(out.bytes, "+: and what a process held"));
	string_fini(&out);
	last->inexact = HISTORY_MORE_OR_LESS;
	check(&usage, HISTORY_BY_PROCESS, "~: a process may have held more or less", true);
	/* As many are shown as have room; the first ones. */
	for (i = 0; i < 20; i++)
		rows[i].rise = last->rise;
	check(&usage, HISTORY_BY_PROCESS, "~: a process may have held more or less", false);
}

static void check_json(struct history_happening *event, const char *text)
{
	const struct history_query query = { 0 };
	const struct history_usage usage = {
		.to_s = 10, .observed_ms = 10000, .events = event, .events_count = 1
	};
	const struct history_view view = { .query = &query, .usage = &usage, .top = 20 };
	struct string out = { 0 };

	history_append_json(&out, &view);
	string_append_char(&out, '\0');
	assert_false(out.failed);
	if (!strstr(out.bytes, text))
		print_message("%s is not in: %s\n", text, out.bytes);
	assert_non_null(strstr(out.bytes, text));
	string_fini(&out);
}

/* Whose records were lost may not be known. */
static void an_event_of_no_process(void **unused)
{
	struct history_happening event = { .kind = "lost", .count = 1 };

	(void)unused;
	check_json(&event, "\"process\":null,\"exact\":null,\"held_before\":null,\"pid\":null,");
	event.pid = 7;
	event.inexact = HISTORY_HELD_BEFORE;
	check_json(&event, "\"process\":null,\"exact\":false,\"held_before\":true,\"pid\":7,");
	event.inexact = 0;
	check_json(&event, "\"exact\":true,\"held_before\":false,");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_samples_miss),
		cmocka_unit_test(when_there_was_no_agent),
		cmocka_unit_test(what_is_a_sum_of_peaks),
		cmocka_unit_test(what_is_not_exact),
		cmocka_unit_test(what_is_not_exact_and_rises),
		cmocka_unit_test(an_event_of_no_process),
	};

	return unit_run("history_text", tests);
}
