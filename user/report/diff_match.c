// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which process of B is which of A. A name is all that a recording always knows of a process; the
 * command that was recorded, and the host, tell processes of one name apart where they can.
 */
#include "report/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
	struct diff_process process;
	size_t recording; /* position in its report */
	bool taken;
};

struct side {
	struct candidate *list;
	size_t count;
};

static int compare_text(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b;
	return strcmp(a, b);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static bool uses_host(enum diff_match match)
{
	return match == DIFF_MATCH_HOST || match == DIFF_MATCH_HOST_AND_TARGETS;
}

static bool uses_targets(enum diff_match match)
{
	return match == DIFF_MATCH_TARGETS || match == DIFF_MATCH_HOST_AND_TARGETS;
}

static int compare_identity(const struct diff_process *a, const struct diff_process *b)
{
	int order = compare_u64(a->recording->coverage.account.recording,
				b->recording->coverage.account.recording);

	if (!order)
		order = compare_u64(a->process->pid, b->process->pid);
	return order ? order : compare_u64(a->process->start_ns, b->process->start_ns);
}

/* 0: they may be the same process. */
static int compare(const struct diff_process *a, const struct diff_process *b,
		   enum diff_match match)
{
	const struct report_coverage *x = &a->recording->coverage, *y = &b->recording->coverage;
	int order = !a->shown - !b->shown;

	if (!order && match == DIFF_MATCH_IDENTITY)
		return compare_identity(a, b);
	if (!order)
		order = strncmp(a->process->comm, b->process->comm, MS_COMM_BYTES);
	if (!order && uses_targets(match))
		order = compare_text(x->targets, y->targets);
	if (!order && uses_host(match))
		order = compare_text(x->host, y->host);
	return order;
}

static int by_key(const void *a, const void *b, void *context)
{
	const struct candidate *x = a, *y = b;
	int order = compare(&x->process, &y->process, *(const enum diff_match *)context);

	if (!order)
		order = compare_text(x->process.recording->coverage.host,
				     y->process.recording->coverage.host);
	if (!order)
		order = compare_u64(x->recording, y->recording);
	if (!order)
		order = compare_u64(x->process.process->start_ns, y->process.process->start_ns);
	return order ? order : compare_u64(x->process.process->pid, y->process.process->pid);
}

/* ---- candidates ------------------------------------------------------------------------------ */

static uint64_t length_of(const struct report_recording *recording, const struct process *process)
{
	uint64_t begin_ns = report_begin_ns(recording), end_ns = report_end_ns(recording);

	/* After a gap it would be the next anchor's time. */
	if (process->first_ts_ns > begin_ns && !recording->coverage.account.missing_blocks &&
	    !recording->coverage.account.damaged_places)
		begin_ns = process->first_ts_ns;
	if (process->exited && process->exit_ts_ns && process->exit_ts_ns < end_ns)
		end_ns = process->exit_ts_ns;
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static void add(struct side *side, const struct report_recording *recording, size_t number,
		const struct report_process *shown, const struct process *process)
{
	side->list[side->count++] = (struct candidate){
		.process = { .recording = recording,
			     .shown = shown,
			     .process = process,
			     .length_ns = length_of(recording, process) },
		.recording = number,
	};
}

static int collect(struct side *side, const struct report *report)
{
	size_t count = 0, i, j;

	for (i = 0; i < report->count; i++)
		count += report->recordings[i]->processes_count + 1;
	side->list = calloc(count + 1, sizeof(*side->list));
	if (!side->list)
		return -ENOMEM;
	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];

		for (j = 0; j < recording->processes_count; j++)
			add(side, recording, i, &recording->processes[j],
			    recording->processes[j].process);
		if (recording->state->more)
			add(side, recording, i, NULL, recording->state->more);
	}
	return 0;
}

/* ---- matching -------------------------------------------------------------------------------- */

static void pair_up(struct diff *diff, struct candidate *a, struct candidate *b,
		    enum diff_match match)
{
	struct diff_pair *pair = &diff->pairs[diff->pairs_count++];

	pair->presence = !a ? DIFF_NEW : !b ? DIFF_GONE : DIFF_IN_BOTH;
	pair->match = match;
	if (a) {
		a->taken = true;
		pair->a = a->process;
	}
	if (b) {
		b->taken = true;
		pair->b = b->process;
	}
}

/* How many from `from` on are alike. */
static size_t alike(const struct side *side, size_t from, enum diff_match match)
{
	size_t to = from;

	while (to < side->count && !side->list[to].taken &&
	       !compare(&side->list[from].process, &side->list[to].process, match))
		to++;
	return to - from;
}

/* Those that are taken come last. */
static void sort(struct side *side, enum diff_match match)
{
	size_t kept = 0, i;

	for (i = 0; i < side->count; i++)
		if (!side->list[i].taken)
			side->list[kept++] = side->list[i];
	side->count = kept;
	qsort_r(side->list, side->count, sizeof(*side->list), by_key, &match);
}

/* Those that are alike are matched in their order. */
static void match_by(struct diff *diff, struct side *a, struct side *b, enum diff_match match)
{
	size_t i = 0, j = 0, k;

	sort(a, match);
	sort(b, match);
	while (i < a->count && j < b->count) {
		int order = compare(&a->list[i].process, &b->list[j].process, match);
		size_t in_a = alike(a, i, match), in_b = alike(b, j, match);

		for (k = 0; !order && k < in_a && k < in_b; k++) {
			pair_up(diff, &a->list[i + k], &b->list[j + k], match);
			diff->pairs[diff->pairs_count - 1].alike_a = in_a;
			diff->pairs[diff->pairs_count - 1].alike_b = in_b;
		}
		i += order <= 0 ? in_a : 0;
		j += order >= 0 ? in_b : 0;
	}
}

static void match_all(struct diff *diff, struct side *a, struct side *b)
{
	enum diff_match match;
	size_t i;

	for (match = DIFF_MATCH_IDENTITY; match <= DIFF_MATCH_NAME; match++)
		match_by(diff, a, b, match);
	for (i = 0; i < a->count; i++)
		if (!a->list[i].taken)
			pair_up(diff, &a->list[i], NULL, DIFF_MATCH_NONE);
	for (i = 0; i < b->count; i++)
		if (!b->list[i].taken)
			pair_up(diff, NULL, &b->list[i], DIFF_MATCH_NONE);
}

int diff_match(struct diff *diff)
{
	struct side a = { 0 }, b = { 0 };
	int err = collect(&a, diff->a);

	if (!err)
		err = collect(&b, diff->b);
	if (!err) {
		diff->pairs = calloc(a.count + b.count + 1, sizeof(*diff->pairs));
		err = diff->pairs ? 0 : -ENOMEM;
	}
	if (!err)
		match_all(diff, &a, &b);
	free(a.list);
	free(b.list);
	return err;
}

/* Its name has more than `comm` where it is known what it interprets. */
static bool is_known(const struct process *process)
{
	return process->name[0] && strncmp(process->name, process->comm, MS_COMM_BYTES) != 0;
}

bool diff_runs_another(const struct diff_pair *pair)
{
	const struct process *a = pair->a.process, *b = pair->b.process;

	return a && b && pair->match != DIFF_MATCH_IDENTITY && is_known(a) && is_known(b) &&
	       strcmp(a->name, b->name) != 0;
}

const char *diff_match_name(enum diff_match match)
{
	switch (match) {
	case DIFF_MATCH_NONE:
		break;
	case DIFF_MATCH_IDENTITY:
		return "identity";
	case DIFF_MATCH_HOST_AND_TARGETS:
		return "name, targets and host";
	case DIFF_MATCH_TARGETS:
		return "name and targets";
	case DIFF_MATCH_HOST:
		return "name and host";
	case DIFF_MATCH_NAME:
		return "name";
	}
	return NULL;
}
