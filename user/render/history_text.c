// SPDX-License-Identifier: BSD-2-Clause
#include "render/history.h"

#include <string.h>

#include "base/clock.h"
#include "render/process_cells.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define GB_HOURS (1e9 * 3600 * 1000) /* in byte milliseconds */

/* clang-format off */
static const struct document_column of_processes[] = {
	{ "Process", DOCUMENT_TEXT }, { "PID", DOCUMENT_NUMBER }, { "User", DOCUMENT_TEXT },
	{ "Peak", DOCUMENT_NUMBER }, { "Mean", DOCUMENT_NUMBER }, { "GB-hours", DOCUMENT_NUMBER },
	{ "Idle-held", DOCUMENT_NUMBER }, { "Launches", DOCUMENT_NUMBER },
	{ "Remarks", DOCUMENT_TEXT }, { NULL, 0 },
};
#define OF_GROUPS(heading) { \
	{ heading, DOCUMENT_TEXT }, { "Processes", DOCUMENT_NUMBER }, { "Peak", DOCUMENT_NUMBER }, \
	{ "Mean", DOCUMENT_NUMBER }, { "GB-hours", DOCUMENT_NUMBER }, \
	{ "Idle-held", DOCUMENT_NUMBER }, { "Launches", DOCUMENT_NUMBER }, \
	{ "Remarks", DOCUMENT_TEXT }, { NULL, 0 }, \
}
static const struct document_column of_pods[] = OF_GROUPS("Pod");
static const struct document_column of_containers[] = OF_GROUPS("Container");
static const struct document_column of_users[] = OF_GROUPS("User");
static const struct document_column of_jobs[] = OF_GROUPS("Job");
static const struct document_column of_devices[] = {
	{ "Device", DOCUMENT_TEXT }, { "Peak", DOCUMENT_NUMBER }, { "Mean", DOCUMENT_NUMBER },
	{ "GB-hours", DOCUMENT_NUMBER }, { "Idle-held", DOCUMENT_NUMBER },
	{ "In use, peak", DOCUMENT_NUMBER }, { "In use, mean", DOCUMENT_NUMBER },
	{ "Remarks", DOCUMENT_TEXT }, { NULL, 0 },
};
static const struct document_column of_events[] = {
	{ "Time", DOCUMENT_VALUE }, { "Event", DOCUMENT_TEXT }, { "Times", DOCUMENT_NUMBER },
	{ "What", DOCUMENT_TEXT }, { "Bytes", DOCUMENT_NUMBER }, { "Process", DOCUMENT_TEXT },
	{ "PID", DOCUMENT_NUMBER }, { "User", DOCUMENT_TEXT }, { "Remarks", DOCUMENT_TEXT },
	{ NULL, 0 },
};
static const struct document_column of_rises[] = {
	{ "Process", DOCUMENT_TEXT }, { "PID", DOCUMENT_NUMBER }, { "User", DOCUMENT_TEXT },
	{ "From", DOCUMENT_VALUE }, { "To", DOCUMENT_VALUE }, { "At least", DOCUMENT_NUMBER },
	{ "Then", DOCUMENT_NUMBER }, { "An hour", DOCUMENT_NUMBER }, { "Remarks", DOCUMENT_TEXT },
	{ NULL, 0 },
};

static const struct document_column *const columns[] = {
	[HISTORY_BY_PROCESS] = of_processes, [HISTORY_BY_POD] = of_pods,
	[HISTORY_BY_CONTAINER] = of_containers, [HISTORY_BY_USER] = of_users,
	[HISTORY_BY_JOB] = of_jobs, [HISTORY_BY_DEVICE] = of_devices,
};
/* clang-format on */

/* Behind an amount of memory that may not be all: as in `top`. */
static const char *mark(uint64_t inexact)
{
	return inexact & HISTORY_MORE_OR_LESS ? "~" : inexact ? "+" : "";
}

static void cell_size(struct document *document, uint64_t bytes, uint64_t inexact)
{
	char size[STRING_NUMBER_BYTES];

	string_append_format(&document->text, "%s%s", string_size(size, bytes), mark(inexact));
	document_cell(document);
}

static void cell_hours(struct document *document, unsigned __int128 byte_ms, uint64_t inexact)
{
	const double hours = (double)byte_ms / GB_HOURS;

	string_append_format(&document->text, hours && hours < 0.01 ? "%.4f%s" : "%.2f%s", hours,
			     mark(inexact));
	document_cell(document);
}

static uint64_t mean(unsigned __int128 byte_ms, uint64_t ms)
{
	return ms ? (uint64_t)(byte_ms / ms) : 0;
}

static void remark_inexact(struct string *out, uint64_t inexact)
{
	process_cells_remark(out, inexact,
			     inexact & HISTORY_MORE_OR_LESS ? "may have held more or less" :
							      "may have held more");
}

static void cell_remarks(struct document *document, const struct history_row *row)
{
	struct string *out = &document->text;

	if (row->place)
		document_append(document, row->place, NULL);
	remark_inexact(out, row->inexact);
	if (row->unknown_byte_ms)
		string_append_format(process_cells_next_remark(out),
				     "%.2f GB-hours may be idle, too",
				     (double)row->unknown_byte_ms / GB_HOURS);
	if (row->device_name) {
		process_cells_next_remark(out);
		document_append(document, row->device_name, NULL);
	}
	document_cell(document);
}

static const char *otherwise(enum history_by by)
{
	return by == HISTORY_BY_DEVICE ? "(not known)" : "(none)";
}

static void row_usage(struct document *document, const struct history_view *view,
		      const struct history_row *row)
{
	const enum history_by by = view->query->by;

	if (!document_row(document))
		return;
	document_append(document, *row->name ? row->name : NULL, otherwise(by));
	document_cell(document);
	if (by == HISTORY_BY_PROCESS) {
		string_append_u64(&document->text, row->pid);
		document_cell(document);
		document_cell_text(document, row->user);
	} else if (by != HISTORY_BY_DEVICE) {
		document_cell_count(document, true, row->processes);
	}
	if (row->peak_is_sum)
		string_append_text(&document->text, "<= ");
	cell_size(document, row->peak_bytes, row->inexact);
	cell_size(document, mean(row->byte_ms, view->usage->observed_ms), row->inexact);
	cell_hours(document, row->byte_ms, row->inexact);
	cell_hours(document, row->idle_byte_ms, row->inexact);
	if (by == HISTORY_BY_DEVICE) {
		document_cell_size(document, row->used_known, row->used_peak_bytes);
		document_cell_size(document, row->used_known,
				   mean(row->used_byte_ms, row->used_ms));
	} else {
		document_cell_count(document, true, row->launches + row->graph_launches);
	}
	cell_remarks(document, row);
	document_row_end(document);
}

/* Its bytes are what the process held, not what it asked for. */
static bool is_held(const struct history_happening *event)
{
	return event->bytes_known && event->kind && !strcmp(event->kind, "killed");
}

static void row_event(struct document *document, const struct history_happening *event)
{
	char time[CLOCK_TEXT_BYTES];

	if (!document_row(document))
		return;
	document_cell_words(document, clock_utc_text(time, event->ts_ms * MS_NS));
	document_cell_text(document, event->kind);
	document_cell_count(document, true, event->count);
	document_cell_text(document, event->what);
	if (is_held(event))
		cell_size(document, event->bytes, event->inexact);
	else
		document_cell_size(document, event->bytes_known, event->bytes);
	document_cell_text(document, event->process);
	if (event->pid)
		string_append_u64(&document->text, event->pid);
	document_cell(document);
	document_cell_text(document, event->user);
	if (event->place)
		document_append(document, event->place, NULL);
	if (event->device) {
		process_cells_next_remark(&document->text);
		document_append(document, event->device, NULL);
	}
	document_cell(document);
	document_row_end(document);
}

static void say_sums(struct document *document, const struct history_usage *usage)
{
	size_t i;

	for (i = 0; i < usage->rows_count && !usage->rows[i].peak_is_sum; i++)
		;
	if (i < usage->rows_count)
		document_say(document,
			     "A peak with <= is a sum of peaks of one step, which need not"
			     " have been at the same moment: at most so much was held.");
}

/* NVML is asked at times: what a device held only in between is in one column, not in the other. */
static void say_samples(struct document *document, const struct history_view *view)
{
	const struct history_usage *usage = view->usage;
	size_t i;

	for (i = 0; i < usage->rows_count; i++)
		if (usage->rows[i].used_known &&
		    usage->rows[i].used_peak_bytes < usage->rows[i].peak_bytes)
			break;
	if (i < usage->rows_count)
		document_say(document,
			     "What is in use is what NVML said each ten seconds and when memory ran"
			     " out: a peak in between is not in it.");
}

/* Steps are ten seconds long, and the agent's first one is a part of one. */
static bool was_there_always(const struct history_usage *usage)
{
	return usage->observed_ms + 1000 >= (usage->to_s - usage->from_s) * 1000;
}

static void append_rows(struct document *document, const struct history_view *view)
{
	const struct history_usage *usage = view->usage;
	size_t i;

	if (!usage->rows_count) {
		document_say(document, was_there_always(usage) ?
					       "No process held memory of a device in this time." :
					       "No process held memory of a device while it was"
					       " there.");
		return;
	}
	document_table_top(document, "usage", "Who held memory of devices",
			   columns[view->query->by]);
	for (i = 0; i < usage->rows_count; i++)
		row_usage(document, view, &usage->rows[i]);
	document_table_end(document);
	say_sums(document, view->usage);
	say_samples(document, view);
}

static void row_rise(struct document *document, const struct history_row *row,
		     const struct rise_found *found)
{
	char time[CLOCK_TEXT_BYTES];

	if (!document_row(document))
		return;
	document_append(document, *row->name ? row->name : NULL, "(not known)");
	document_cell(document);
	string_append_u64(&document->text, row->pid);
	document_cell(document);
	document_cell_text(document, row->user);
	document_cell_words(document, clock_utc_text(time, found->from_s * SECOND_NS));
	document_cell_words(document, clock_utc_text(time, found->to_s * SECOND_NS));
	cell_size(document, found->first_bytes, row->inexact);
	cell_size(document, found->last_bytes, row->inexact);
	string_append_char(&document->text, '+');
	document_cell_size(document, true, rise_hourly(found));
	if (row->place)
		document_append(document, row->place, NULL);
	remark_inexact(&document->text, row->inexact);
	document_cell(document);
	document_row_end(document);
}

/* What people look for in a history before memory runs out. */
static void append_rises(struct document *document, const struct history_view *view)
{
	const struct history_usage *usage = view->usage;
	struct rise_found found;
	bool any = false;
	size_t i;

	for (i = 0; i < usage->rows_count; i++) {
		if (!rise_find(&usage->rows[i].rise, &found))
			continue;
		if (!any) {
			document_say(document, "Held more and more:");
			document_table_top(document, "growth", "Held more and more", of_rises);
		}
		any = true;
		row_rise(document, &usage->rows[i], &found);
	}
	if (!any)
		return;
	document_table_end(document);
	document_say(document, "The least that they held became more in nearly each part of their"
			       " time. `memscope-bpf report` on the agent's ring shows from which"
			       " lines of code.");
}

/* NVML says all that is in use of a device, if it says anything; the rest is what was seen. */
static bool has_samples(const struct history_usage *usage)
{
	size_t i;

	for (i = 0; i < usage->rows_count && !usage->rows[i].used_known; i++)
		;
	return i < usage->rows_count;
}

/* Processes that only held what they had before have no row at all. */
static void say_before(struct document *document, const struct history_view *view)
{
	const bool is_sampled = view->query->by == HISTORY_BY_DEVICE && has_samples(view->usage);

	document_say(document, is_sampled ?
				       "Not in it, but for what is in use: what a process"
				       " allocated before the agent attached to it; `memscope-bpf"
				       " who` shows who holds what now." :
				       "Not in it: what a process allocated before the agent"
				       " attached to it; `memscope-bpf who` shows who holds what"
				       " now.");
}

/* The first event that there is room for. */
static size_t first_event(const struct history_view *view)
{
	const size_t count = view->usage->events_count;

	return count > view->top ? count - view->top : 0;
}

struct marks {
	bool more, more_or_less;
};

static void note_mark(struct marks *marks, uint64_t inexact)
{
	marks->more |= *mark(inexact) == '+';
	marks->more_or_less |= *mark(inexact) == '~';
}

/* In each table that has room for it. */
static struct marks find_marks(const struct history_view *view)
{
	const struct history_usage *usage = view->usage;
	struct marks marks = { 0 };
	struct rise_found found;
	size_t i, rises = 0;

	for (i = 0; i < usage->rows_count; i++) {
		const bool is_risen =
			rise_find(&usage->rows[i].rise, &found) && rises++ < view->top;

		if (is_risen || (!view->only_events && i < view->top))
			note_mark(&marks, usage->rows[i].inexact);
	}
	for (i = first_event(view); i < usage->events_count; i++)
		if (is_held(&usage->events[i]))
			note_mark(&marks, usage->events[i].inexact);
	return marks;
}

/* What the signs mean that are there. */
static void say_marks(struct document *document, const struct history_view *view)
{
	const struct marks marks = find_marks(view);

	if (marks.more)
		document_say(document, "+: and what a process held from before the agent attached"
				       " to it, which is not known.");
	if (marks.more_or_less)
		document_say(document, "~: a process may have held more or less, because not all"
				       " that it did is known.");
}

static void append_events(struct document *document, const struct history_view *view)
{
	const struct history_usage *usage = view->usage;
	const size_t first = first_event(view);
	const uint64_t earlier = usage->events_left_out + first;
	char count[STRING_NUMBER_BYTES];
	size_t i;

	if (earlier) {
		string_append_format(&document->text,
				     "Before those below, there were %s more events.",
				     string_count(count, earlier));
		document_paragraph(document);
	}
	if (!usage->events_count && view->only_events && was_there_always(usage))
		document_say(
			document,
			"Memory did not run out in this time, no process was killed while it held"
			" memory, and no records were lost.");
	document_table(document, "events", "Events", of_events);
	for (i = first; i < usage->events_count; i++)
		row_event(document, &usage->events[i]);
	document_table_end(document);
}

/* "2026-11-26T10:00:00Z to 2026-11-26T11:00:00Z, in steps of 10 s" */
static void append_title(struct document *document, const struct history_usage *usage)
{
	const uint64_t asked_ms = (usage->to_s - usage->from_s) * 1000;
	char time[CLOCK_TEXT_BYTES], part[STRING_NUMBER_BYTES], whole[STRING_NUMBER_BYTES];
	struct string *out = &document->text;

	string_append_format(out, "%s to ", clock_utc_text(time, usage->from_s * SECOND_NS));
	string_append_format(out, "%s, in steps of %s",
			     clock_utc_text(time, usage->to_s * SECOND_NS),
			     string_duration(part, usage->step_s * SECOND_NS));
	document_heading(document, 1, "history");
	if (was_there_always(usage))
		return;
	if (!usage->observed_ms) {
		document_say(document, "The agent was not there: nothing is known of this time.");
		return;
	}
	string_append_format(out, "The agent was there for %s of the %s. Means are over that time.",
			     string_duration(part, usage->observed_ms * MS_NS),
			     string_duration(whole, asked_ms * MS_NS));
	document_paragraph(document);
}

void history_append_text(struct document *document, const struct history_view *view)
{
	append_title(document, view->usage);
	if (!view->usage->observed_ms)
		return;
	if (!view->only_events)
		append_rows(document, view);
	if (!view->only_events)
		say_before(document, view);
	append_rises(document, view);
	append_events(document, view);
	say_marks(document, view);
}
