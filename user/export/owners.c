// SPDX-License-Identifier: BSD-2-Clause
#include "export/owners.h"

#include <errno.h>
#include <string.h>

#include "render/field.h"
#include "render/identity_words.h"
#include "render/losses_words.h"
#include "render/report_words.h"

/* Addresses are none: in one sum with memory, they would drown it. */
static bool is_memory(uint8_t space)
{
	return space != MS_SPACE_RESERVED && space != MS_SPACE_MAPPED;
}

static void take_away(uint64_t *amount, uint64_t part)
{
	*amount -= part < *amount ? part : *amount;
}

static int visit_cell(struct owner owner, int (*visit)(void *context, const struct owner *owner),
		      void *context)
{
	const struct usage *usage = owner.process->usage;
	const struct stacks *stacks = &owner.recording->state->stacks;
	struct usage_cell cell = *owner.cell, rest = *owner.cell;
	uint32_t next;
	int err = 0;

	owner.cell = &cell;
	for (next = rest.parts; !err && next; next = usage->parts[next - 1].next) {
		const struct usage_part *part = &usage->parts[next - 1];

		owner.stack = stacks_find(stacks, part->stack);
		if (!owner.stack)
			continue;
		take_away(&rest.live_bytes, cell.live_bytes = part->live_bytes);
		take_away(&rest.live_count, cell.live_count = part->live_count);
		take_away(&rest.allocs, cell.allocs = part->allocs);
		take_away(&rest.alloc_bytes, cell.alloc_bytes = part->alloc_bytes);
		take_away(&rest.peak_bytes, cell.peak_bytes = part->peak_bytes);
		take_away(&rest.peak_count, cell.peak_count = part->peak_count);
		err = visit(context, &owner);
	}
	owner.cell = &rest;
	owner.stack = NULL;
	return err ? err : visit(context, &owner);
}

int owners_visit(const struct report *report,
		 int (*visit)(void *context, const struct owner *owner), void *context)
{
	size_t i, j, k;
	int err = 0;

	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];

		for (j = 0; j < recording->processes_count; j++) {
			const struct report_process *shown = &recording->processes[j];

			for (k = 0; !err && k < shown->cells_count; k++) {
				const struct owner owner = { recording, shown->process,
							     &shown->cells[k], NULL };

				/* It is not known which of its allocations are live. */
				if (!shown->process->entries_only && is_memory(owner.cell->space))
					err = visit_cell(owner, visit, context);
			}
		}
	}
	return err;
}

static void append_host(struct string *out, const struct report_recording *recording)
{
	const char *host = recording->coverage.host;

	if (host)
		field_append_safe(out, host, strlen(host));
	else
		string_append_text(out, "unknown host");
}

/* Pinned memory is none of a device. */
static void append_place(struct string *out, const struct usage_cell *cell)
{
	if (cell->space == MS_SPACE_PINNED || cell->space == MS_SPACE_REGISTERED)
		string_append_text(out, "host");
	else if (cell->device < 0)
		string_append_text(out, "device unknown");
	else
		string_append_format(out, "device %d", (int)cell->device);
}

void owner_append_frame(struct string *out, const struct owner *owner, enum owner_frame frame)
{
	switch (frame) {
	case OWNER_HOST:
		append_host(out, owner->recording);
		break;
	case OWNER_PROCESS:
		identity_words_process(out, owner->process);
		break;
	case OWNER_PLACE:
		append_place(out, owner->cell);
		break;
	case OWNER_SPACE:
		string_append_text(out, probe_space_name(owner->cell->space));
		break;
	case OWNER_API:
		string_append_text(out, probe_at(owner->cell->row)->symbol);
		break;
	case OWNER_FRAMES:
		break;
	}
}

/* ---- remarks --------------------------------------------------------------------------------- */

static void append_remarks(struct string *out, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	const struct losses losses = losses_of(&coverage->counters);
	size_t unwatched = 0, i;

	for (i = 0; i < recording->processes_count; i++)
		unwatched += recording->processes[i].process->entries_only;
	if (losses_count(&losses)) {
		losses_append_amount(out, &losses);
		string_append_text(out, " lost while recording\n");
	}
	if (coverage->account.missing_blocks || coverage->account.damaged_places)
		string_append_format(out,
				     "%llu blocks of the recording are missing, %llu places in it"
				     " are damaged\n",
				     (unsigned long long)coverage->account.missing_blocks,
				     (unsigned long long)coverage->account.damaged_places);
	if (coverage->unwritten_blocks || coverage->unwritten_records)
		string_append_text(out, "parts of the recording could not be written\n");
	if (coverage->being_written)
		string_append_text(out, "the recording is still being written\n");
	else if (!coverage->goes_on && (coverage->account.cut_short || !coverage->account.has_end))
		string_append_text(out, "the recording has no proper end\n");
	if (coverage->missed_processes)
		string_append_format(
			out,
			"calls may be missing of processes that could not be attached to"
			" in time: at least %llu\n",
			(unsigned long long)coverage->missed_processes);
	if (coverage->untraced)
		string_append_format(out,
				     "descendants of the recorded processes used CUDA and were not"
				     " recorded: at least %llu\n",
				     (unsigned long long)coverage->untraced);
	if (unwatched)
		string_append_format(
			out,
			"what %zu process%s held is unknown: the ends of calls were not"
			" watched\n",
			unwatched, unwatched == 1 ? "" : "es");
	if (recording->state->more_count && !report_selects(&recording->options))
		string_append_format(out, "%llu processes that had ended are left out\n",
				     (unsigned long long)recording->state->more_count);
	if (report_is_inexact(recording))
		string_append_text(out, "what is live is not exact\n");
}

int owners_remarks(const struct report *report, int (*take)(void *context, const char *text),
		   void *context)
{
	struct string remarks = { 0 }, line = { 0 };
	size_t i, length;
	int err = 0;

	for (i = 0; !err && i < report->count; i++) {
		const char *at;

		string_clear(&remarks);
		append_remarks(&remarks, report->recordings[i]);
		string_append_char(&remarks, '\0');
		for (at = remarks.bytes; !err && !remarks.failed && *at; at += length + 1) {
			length = strcspn(at, "\n");
			string_clear(&line);
			if (report->count > 1) {
				append_host(&line, report->recordings[i]);
				string_append_text(&line, ": ");
			}
			string_append(&line, at, length);
			string_append_char(&line, '\0');
			err = line.failed ? -ENOMEM : take(context, line.bytes);
		}
		err = remarks.failed ? -ENOMEM : err;
	}
	string_fini(&remarks);
	string_fini(&line);
	return err;
}
