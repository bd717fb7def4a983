// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_words.h"

#include <string.h>

#include "render/field.h"
#include "render/losses_words.h"
#include "render/process_cells.h"
#include "render/report_words.h"

#define OLD_NS 3000000000ull

void top_words_growth(struct string *out, int64_t bytes)
{
	char size[STRING_NUMBER_BYTES];

	if (bytes)
		string_append_char(out, bytes < 0 ? '-' : '+');
	string_append_text(out, string_size(size, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes));
}

void top_words_rate(struct string *out, const struct top *top, uint64_t count)
{
	const uint64_t rate = top_per_second(top, count);
	char number[STRING_NUMBER_BYTES];

	if (!top->interval_ns) {
		string_append_char(out, '?');
		return;
	}
	string_append_text(out, count && !rate ? "<1" : string_count(number, rate));
}

void top_words_peak(struct string *out, const struct top_row *row)
{
	char size[STRING_NUMBER_BYTES];

	string_append_text(out, row->peak_known ? string_size(size, row->peak_bytes) : "?");
}

/* An agent keeps an answer for a second, and may need as long again to make one. */
static bool is_old(const struct top *top, const struct top_status *status)
{
	return status->now_ns > top->at_ns && status->now_ns - top->at_ns > OLD_NS;
}

void top_words_interval(struct string *out, const struct top *top, const struct top_status *status)
{
	if (top->interval_ns)
		string_append_format(out, "; the last %s", REPORT_DURATION(top->interval_ns));
	else
		string_append_text(out, "; no rates before the agent's second answer");
	if (is_old(top, status))
		string_append_format(out, ", as of %s ago",
				     REPORT_DURATION(status->now_ns - top->at_ns));
}

void top_words_empty(struct string *out, const struct top *top, const struct top_status *status)
{
	if (top->left_out) {
		string_append_format(out, "No process %sthat has called CUDA is ",
				     status->hidden ? "of yours " : "");
		process_selection_append(out, top->selection);
	} else if (status->hidden) {
		string_append_text(out, "No process of yours is traced");
	} else {
		string_append_text(out, "No traced process has called CUDA");
	}
	if (!status->hidden) {
		string_append_char(out, '.');
		return;
	}
	string_append_text(out, "; ");
	string_append_count(out, status->hidden, "process", "processes");
	string_append_text(out, status->hidden == 1 ? " of another user is hidden." :
						      " of other users are hidden.");
	string_append_text(out, " Root and members of the group memscope see all.");
}

void top_words_live(struct string *out, const struct top_row *row)
{
	char size[STRING_NUMBER_BYTES];

	if (row->entries_only) {
		string_append_char(out, '?');
		return;
	}
	string_append_text(out, string_size(size, row->live_bytes));
	if (row->inexact)
		string_append_char(out, '~');
	else if (row->held_before)
		string_append_char(out, '+');
}

void top_words_legend(struct string *out)
{
	string_append_text(out, "+: and what it held before it was attached to; ~: not exact");
}

void top_words_remarks(struct string *out, const struct top_row *row, const struct process *process)
{
	char size[STRING_NUMBER_BYTES];

	if (row->ended && row->exit_bytes)
		string_append_format(process_cells_next_remark(out), "has ended and held %s then",
				     string_size(size, row->exit_bytes));
	else
		process_cells_remark(out, row->ended, "has ended");
	process_cells_remark(out, row->held_before && !row->ended,
			     "may hold more from before it was attached to");
	process_cells_remark(out, row->inexact, "not exact");
	if (process)
		process_cells_identity(out, row->pid, &process->identity.known);
}

void top_words_device(struct string *out, const struct top_device *device)
{
	const bool called = device->ordinal >= 0, named = *device->name;

	if (called)
		string_append_i64(out, device->ordinal);
	if (named) {
		string_append_text(out, called ? " " : "");
		field_append_safe(out, device->name, strlen(device->name));
	}
	if (*device->uuid) {
		string_append_text(out, called || named ? " (" : "");
		field_append_safe(out, device->uuid, strlen(device->uuid));
		string_append_text(out, called || named ? ")" : "");
	} else if (called && device->pid) {
		string_append_format(out, " (of PID %u)", device->pid);
	} else if (top_device_is_unknown(device)) {
		string_append_text(out, "unknown");
	}
}

void top_words_others(struct string *out, size_t devices)
{
	string_append_count(out, devices, "device", "devices");
	string_append_format(out, " %s nothing of these processes, as far as was seen",
			     devices == 1 ? "has" : "have");
}

/* Of the device of which they are oldest. Where NVML has none, there is nothing to be old. */
static void append_nvml_age(struct string *out, const struct top *top,
			    const struct top_status *status)
{
	const struct nvml_devices *nvml = &top->sink.state->nvml_devices;
	uint64_t oldest_ns = status->now_ns;
	size_t i;

	for (i = 0; i < nvml->count; i++)
		if (nvml->devices[i].last.known & MS_DEVICE_MEMORY &&
		    nvml->devices[i].last.event.ts_ns < oldest_ns)
			oldest_ns = nvml->devices[i].last.event.ts_ns;
	if (status->now_ns - oldest_ns > OLD_NS)
		string_append_format(out, ", NVML's numbers of %s ago",
				     REPORT_DURATION(status->now_ns - oldest_ns));
}

/* What a program has asked for may be old: nothing else says so. */
static void append_told_age(struct string *out, const struct top *top,
			    const struct top_status *status)
{
	const uint64_t told_ns = top_devices_told_ns(top->sink.state);

	if (told_ns)
		string_append_format(
			out, ", the driver's numbers of %s ago",
			REPORT_DURATION(status->now_ns > told_ns ? status->now_ns - told_ns : 0));
}

void top_words_status(struct string *out, const struct top *top, const struct top_status *status)
{
	char size[STRING_NUMBER_BYTES];

	string_append_count(out, top->running, "process", "processes");
	string_append_format(out, ", %s live on devices", string_size(size, top->live_bytes));
	if (top->ended)
		string_append_format(out, ", %llu ended", (unsigned long long)top->ended);
	if (top->left_out)
		string_append_format(out, ", %zu left out (but devices have all)", top->left_out);
	if (status->hidden) {
		string_append_text(out, ", ");
		string_append_u64(out, status->hidden);
		string_append_text(out, " of other users hidden");
	}
	if (status->missed) {
		string_append_text(out, ", at least ");
		string_append_count(out, status->missed, "process", "processes");
		string_append_text(out, " not attached to in time");
	}
	if (losses_count(&status->losses)) {
		string_append_text(out, ", ");
		losses_append_amount(out, &status->losses);
		string_append_text(out, " lost");
	}
	append_nvml_age(out, top, status);
	append_told_age(out, top, status);
}

const char *top_words_part(enum top_part part)
{
	static const char *const words[] = {
		[TOP_ALLOCATED] = "live",    [TOP_OF_TRACED] = "else of traced processes",
		[TOP_OF_OTHERS] = "others",  [TOP_OF_NONE] = "no process",
		[TOP_RESERVED] = "reserved", [TOP_FREE] = "free",
	};

	return words[part];
}
