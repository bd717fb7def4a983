// SPDX-License-Identifier: BSD-2-Clause
/*
 * Findings that are new or gone.
 */
#include "report/diff.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "report/gate.h"

#define WORSE_TIMES 2 /* a leak that is so many times as large is another one */

/* One finding of one side. */
struct item {
	const struct diff_pair *pair;
	const struct finding *finding;
};

struct items {
	struct item *list;
	size_t count;
};

/* Rules that go by how long something took. */
static bool is_timed(enum finding_rule rule)
{
	switch (rule) {
	case FINDING_TEMPORARY:
	case FINDING_STORM:
	case FINDING_PAGEABLE_COPIES:
	case FINDING_SYNC_BOUND:
	case FINDING_COPY_BOUND:
	case FINDING_ALLOC_BOUND:
	case FINDING_LAUNCH_BOUND:
	case FINDING_HOST_BOUND:
		return true;
	default:
		return false;
	}
}

static bool is_of(const struct finding *finding, const struct report_recording *recording,
		  const struct diff_process *side)
{
	return side->recording == recording && side->shown && side->process->pid == finding->pid &&
	       side->process->start_ns == finding->start_ns;
}

/* NULL: the process is not listed any more. */
static const struct diff_pair *pair_of(const struct diff *diff, const struct finding *finding,
				       const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < diff->pairs_count; i++)
		if (is_of(finding, recording, &diff->pairs[i].a) ||
		    is_of(finding, recording, &diff->pairs[i].b))
			return &diff->pairs[i];
	return NULL;
}

static int compare(const struct item *a, const struct item *b)
{
	const struct finding *x = a->finding, *y = b->finding;

#define ORDER(from, to) \
	if ((from) != (to)) \
	return (from) < (to) ? -1 : 1
	ORDER(x->rule, y->rule);
	ORDER(a->pair, b->pair);
	ORDER(x->space, y->space);
	ORDER(x->row, y->row);
	ORDER(x->device, y->device);
#undef ORDER
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = compare(x, y);

	if (order)
		return order;
	if (x->finding->bytes != y->finding->bytes)
		return x->finding->bytes < y->finding->bytes ? 1 : -1;
	if (x->finding->first_ts_ns != y->finding->first_ts_ns)
		return x->finding->first_ts_ns < y->finding->first_ts_ns ? -1 : 1;
	return 0;
}

static int collect(struct items *items, const struct diff *diff, const struct report *report)
{
	size_t count = 0, i, j;

	for (i = 0; i < report->count; i++)
		count += report->recordings[i]->findings_count;
	items->list = calloc(count + 1, sizeof(*items->list));
	if (!items->list)
		return -ENOMEM;
	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];

		for (j = 0; j < recording->findings_count; j++) {
			const struct finding *finding = recording->findings[j].finding;

			/* What is not wrong in either is no difference to look at. */
			if (finding_topic_of(finding->rule) == FINDING_TOPIC_NOTE)
				continue;
			items->list[items->count++] =
				(struct item){ .pair = pair_of(diff, finding, recording),
					       .finding = finding };
		}
	}
	qsort(items->list, items->count, sizeof(*items->list), by_key);
	return 0;
}

/* Takes those that are like the first; returns how many. */
static size_t sum_up(const struct items *items, size_t from, uint64_t *bytes)
{
	size_t i = from;

	*bytes = 0;
	while (i < items->count && !compare(&items->list[i], &items->list[from]))
		*bytes += items->list[i++].finding->bytes;
	return i - from;
}

static bool is_beyond(const struct diff *diff, const struct diff_finding *finding)
{
	if (finding->timed)
		return false;
	if (finding->presence != DIFF_IN_BOTH)
		return true;
	return diff_is_beyond(&diff->options, FINDING_BYTES, finding->bytes_a, finding->bytes_b) ||
	       diff_is_beyond(&diff->options, FINDING_COUNT, finding->count_a, finding->count_b);
}

/* Left behind, as a leak's finding says first; 0: it does not say. */
static uint64_t blocks_of(const struct finding *finding)
{
	return finding->evidence_count && finding->evidence[0].unit == FINDING_COUNT ?
		       finding->evidence[0].value :
		       0;
}

/* How much A works is told by its launches if it launched something for each block. */
static unsigned __int128 due_by_work(const struct diff_finding *finding)
{
	const struct process *a = finding->pair->a.process, *b = finding->pair->b.process;

	if (!a || !b || !a->launches || a->launches < blocks_of(finding->a))
		return 0;
	return (unsigned __int128)finding->bytes_a * b->launches / a->launches;
}

/* What A would have of it, had it done as much as B, and for as long. */
static unsigned __int128 due_bytes(const struct diff_finding *finding)
{
	const struct diff_process *a = &finding->pair->a, *b = &finding->pair->b;
	const unsigned __int128 by_work = due_by_work(finding);
	unsigned __int128 due = finding->bytes_a;

	if (a->length_ns && b->length_ns > a->length_ns)
		due = due * b->length_ns / a->length_ns;
	return by_work > due ? by_work : due;
}

static bool is_worse(const struct diff_finding *finding)
{
	return finding->presence == DIFF_IN_BOTH && finding->beyond && finding->pair &&
	       gate_is_leak(finding->b->rule) && finding->bytes_a &&
	       finding->bytes_b >= WORSE_TIMES * due_bytes(finding);
}

static bool is_same(const struct diff_finding *finding)
{
	return finding->count_a == finding->count_b &&
	       (finding->timed || finding->bytes_a == finding->bytes_b);
}

static int add(struct diff *diff, struct diff_finding finding)
{
	const struct finding *one = finding.a ? finding.a : finding.b;

	if (memory_grow(&diff->findings, &diff->findings_capacity, diff->findings_count + 1,
			sizeof(*diff->findings)))
		return -ENOMEM;
	finding.presence = !finding.a ? DIFF_NEW : !finding.b ? DIFF_GONE : DIFF_IN_BOTH;
	finding.timed = is_timed(one->rule);
	finding.beyond = is_beyond(diff, &finding);
	finding.worse = is_worse(&finding);
	finding.uncertain = finding.pair && finding.pair->uncertain;
	/* What is there as before is none, and what differs by less than noise is not shown. */
	if (is_same(&finding))
		return 0;
	if (!finding.beyond && finding.presence == DIFF_IN_BOTH) {
		diff->below_noise += !finding.timed;
		return 0;
	}
	diff->findings[diff->findings_count++] = finding;
	return 0;
}

static uint64_t distance(const struct diff_finding *finding)
{
	return finding->bytes_a > finding->bytes_b ? finding->bytes_a - finding->bytes_b :
						     finding->bytes_b - finding->bytes_a;
}

static int by_gravity(const void *a, const void *b)
{
	const struct diff_finding *x = a, *y = b;
	const struct finding *of_x = x->a ? x->a : x->b, *of_y = y->a ? y->a : y->b;

	if (x->beyond != y->beyond)
		return x->beyond ? -1 : 1;
	if (of_x->rule != of_y->rule)
		return of_x->rule < of_y->rule ? -1 : 1;
	if (distance(x) != distance(y))
		return distance(x) < distance(y) ? 1 : -1;
	if (x->pair != y->pair)
		return x->pair < y->pair ? -1 : 1;
	if (of_x->space != of_y->space)
		return of_x->space < of_y->space ? -1 : 1;
	if (of_x->row != of_y->row)
		return of_x->row < of_y->row ? -1 : 1;
	return of_x->device < of_y->device ? -1 : of_x->device > of_y->device;
}

static int merge(struct diff *diff, const struct items *a, const struct items *b)
{
	size_t i = 0, j = 0;
	int err = 0;

	while (!err && (i < a->count || j < b->count)) {
		int order = i == a->count ? 1 :
			    j == b->count ? -1 :
					    compare(&a->list[i], &b->list[j]);
		struct diff_finding finding = { 0 };

		if (order <= 0) {
			finding.pair = a->list[i].pair;
			finding.a = a->list[i].finding;
			finding.count_a = sum_up(a, i, &finding.bytes_a);
			i += finding.count_a;
		}
		if (order >= 0) {
			finding.pair = b->list[j].pair;
			finding.b = b->list[j].finding;
			finding.count_b = sum_up(b, j, &finding.bytes_b);
			j += finding.count_b;
		}
		err = add(diff, finding);
	}
	return err;
}

static bool has_new_finding(const struct diff *diff)
{
	size_t i;

	for (i = 0; i < diff->findings_count; i++)
		if (diff->findings[i].beyond && diff->findings[i].presence == DIFF_NEW)
			return true;
	return false;
}

bool diff_has_new(const struct diff *diff)
{
	size_t i;

	for (i = 0; i < diff->rows_count; i++)
		if (diff->rows[i].presence == DIFF_NEW && diff_is_one_sided(&diff->rows[i]))
			return true;
	return has_new_finding(diff);
}

static bool differs(const struct diff *diff, bool if_gone)
{
	size_t i;

	for (i = 0; i < diff->findings_count; i++)
		if (diff->findings[i].beyond &&
		    (if_gone || diff->findings[i].presence != DIFF_GONE))
			return true;
	for (i = 0; i < diff->pairs_count; i++)
		if (diff_ends_differ(&diff->pairs[i]))
			return true;
	return diff->rows_count;
}

bool diff_differs(const struct diff *diff)
{
	return differs(diff, true);
}

bool diff_differs_in_b(const struct diff *diff)
{
	return differs(diff, false);
}

bool diff_leaks_more(const struct diff *diff)
{
	size_t i;

	for (i = 0; i < diff->findings_count; i++)
		if (diff->findings[i].worse)
			return true;
	return false;
}

bool diff_is_worse(const struct diff *diff)
{
	size_t i;

	for (i = 0; i < diff->rows_count; i++)
		if (diff->rows[i].dimension == DIFF_FAILURE && diff->rows[i].presence == DIFF_NEW)
			return true;
	for (i = 0; i < diff->pairs_count; i++)
		if (diff_ended_badly(&diff->pairs[i]))
			return true;
	return has_new_finding(diff);
}

int diff_compare_findings(struct diff *diff)
{
	struct items a = { 0 }, b = { 0 };
	int err = collect(&a, diff, diff->a);

	if (!err)
		err = collect(&b, diff, diff->b);
	if (!err)
		err = merge(diff, &a, &b);
	free(a.list);
	free(b.list);
	if (!err && diff->findings_count)
		qsort(diff->findings, diff->findings_count, sizeof(*diff->findings), by_gravity);
	return err;
}
