// SPDX-License-Identifier: BSD-2-Clause
#include "commands/dump_selection.h"

#include <string.h>

#include "base/log.h"
#include "commands/requirements.h"
#include "render/field.h"
#include "render/report_words.h"

#define NAMED 8        /* of what there is, so many are listed */
#define NAME_BYTES 128 /* of each; paths are known by their beginnings */

static const struct criterion {
	const char *option;
	size_t offset; /* in struct process_selection */
	enum identity_item item;
} criteria[] = {
	{ "user", offsetof(struct process_selection, user), IDENTITY_USER },
	{ "cgroup", offsetof(struct process_selection, cgroup), IDENTITY_CGROUP },
	{ "container", offsetof(struct process_selection, container), IDENTITY_CONTAINER },
	{ "pod", offsetof(struct process_selection, pod), IDENTITY_POD },
	{ "namespace", offsetof(struct process_selection, namespace), IDENTITY_NAMESPACE },
	{ "comm", offsetof(struct process_selection, comm), IDENTITY_ITEMS },
};

#define CRITERIA (sizeof(criteria) / sizeof(*criteria))

static const char **place(const struct criterion *criterion, struct process_selection *selection)
{
	return (const char **)((char *)selection + criterion->offset);
}

/* What the process has of that; NULL: it is not known. */
static const char *value_of(const struct criterion *criterion, const struct process *process)
{
	const struct identity *identity = &process->identity.known;

	if (criterion->item == IDENTITY_ITEMS)
		return process->name[0] ? process->name : NULL;
	if (criterion->item == IDENTITY_USER && !identity->items[IDENTITY_USER])
		return identity->items[IDENTITY_UID];
	return identity->items[criterion->item];
}

static bool is_among(const char *value, const char *const values[NAMED], size_t count)
{
	while (count--)
		if (!strcmp(values[count], value))
			return true;
	return false;
}

/* "; there are alice, bob and others" */
static void append_values(struct string *out, const struct criterion *criterion,
			  const struct report *report)
{
	const char *values[NAMED];
	size_t count = 0, others = 0, i, j;

	for (i = 0; i < report->count; i++) {
		const struct state *state = report->recordings[i]->state;

		for (j = 0; j < state->processes_count; j++) {
			const char *value = value_of(criterion, state->processes[j]);

			if (!value || is_among(value, values, count))
				continue;
			if (count == NAMED)
				others++;
			else
				values[count++] = value;
		}
	}
	string_append_text(out, count ? "; there are " : "; none has any that is known");
	for (i = 0; i < count; i++) {
		string_append_text(out, i ? ", " : "");
		field_append_safe(out, values[i], strnlen(values[i], NAME_BYTES));
	}
	string_append_text(out, others ? " and others" : "");
}

static bool is_any(const struct report *report, const struct process_selection *selection)
{
	size_t i, j;

	for (i = 0; i < report->count; i++) {
		const struct state *state = report->recordings[i]->state;

		for (j = 0; j < state->processes_count; j++)
			if (process_selection_has(selection, state->processes[j]))
				return true;
	}
	return false;
}

static void say_nothing_matches(const struct criterion *criterion, const struct report *report,
				const char *value)
{
	struct string values = { 0 };

	append_values(&values, criterion, report);
	log_error("--%s: no process in the recording matches \"%s\"%.*s", criterion->option, value,
		  (int)values.length, values.length ? values.bytes : "");
	string_fini(&values);
}

/* Some may have ended before the part of the time that is reported. */
static size_t count_wanted(const struct report_recording *recording)
{
	size_t count = 0, i;

	for (i = 0; i < recording->state->processes_count; i++)
		count += report_wants(&recording->options, recording->state->processes[i]);
	return count;
}

static void warn_of_unidentified(const struct report_recording *recording)
{
	struct string names = { 0 };
	const size_t count = report_append_unidentified(&names, recording);

	if (count)
		log_warning("%zu process%s left out, of which it is not known who %s: %.*s", count,
			    count == 1 ? " is" : "es are", count == 1 ? "it is" : "they are",
			    (int)names.length, names.bytes);
	string_fini(&names);
}

int dump_selection_check(const struct report *report)
{
	struct process_selection asked = report->options.selection;
	struct string all = { 0 };
	size_t shown = 0, i;

	for (i = 0; i < report->count; i++)
		shown += count_wanted(report->recordings[i]);
	for (i = 0; i < report->count; i++)
		warn_of_unidentified(report->recordings[i]);
	if (shown || !process_selection_is_some(&asked))
		return EXIT_OK;
	for (i = 0; i < CRITERIA; i++) {
		struct process_selection one = { 0 };
		const char *value = *place(&criteria[i], &asked);

		*place(&criteria[i], &one) = value;
		if (!value || is_any(report, &one))
			continue;
		say_nothing_matches(&criteria[i], report, value);
		return EXIT_NO_TARGET;
	}
	process_selection_append(&all, &asked);
	log_error("no process in the recording matches all of these options: %s%.*s",
		  report->options.pids_count ? "of those given with -p, " : "", (int)all.length,
		  all.length ? all.bytes : "");
	string_fini(&all);
	return EXIT_NO_TARGET;
}

/* Bit set of the numbers by which processes call devices; of higher ones than 63, nothing. */
static uint64_t devices_of(const struct report *report)
{
	uint64_t devices = 0;
	size_t i, j;

	for (i = 0; i < report->count; i++) {
		const struct usage_totals *totals = report->recordings[i]->state->usage;

		for (j = 0; totals && j < totals->count; j++)
			if (totals->devices[j].ordinal >= 0 && totals->devices[j].ordinal < 64)
				devices |= 1ull << totals->devices[j].ordinal;
	}
	return devices;
}

void dump_selection_refuse_device(const struct report *report)
{
	const uint64_t devices = devices_of(report);
	struct string there = { 0 };
	int i;

	for (i = 0; i < 64; i++)
		if (devices >> i & 1)
			string_append_format(&there, "%s%d", there.length ? ", " : "", i);
	log_error("device %d is not in the recording%s%.*s", report->options.device,
		  there.length ? ", which has " : "", (int)there.length,
		  there.length ? there.bytes : "");
	string_fini(&there);
}
