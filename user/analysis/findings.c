// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/findings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

int findings_elsewhere(struct process_activity *activity, const struct analysis_options *options,
		       struct findings *findings)
{
	(void)activity;
	(void)options;
	(void)findings;
	return 0;
}

void findings_fini(struct findings *findings)
{
	free(findings->list);
	string_table_fini(&findings->names);
	*findings = (struct findings){ 0 };
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* The greater one first. What else differs only keeps the order the same in every run. */
static int compare_weight(const struct finding *a, const struct finding *b)
{
	int order = compare_u64(b->bytes, a->bytes);

	if (!order)
		order = compare_u64(b->duration_ns, a->duration_ns);
	if (!order)
		order = compare_u64(a->first_ts_ns, b->first_ts_ns);
	if (!order)
		order = compare_u64(a->pid, b->pid);
	if (!order)
		order = compare_u64(a->start_ns, b->start_ns);
	if (!order)
		order = (int)a->row - (int)b->row;
	return order ? order : (int)a->rule - (int)b->rule;
}

static int compare(const void *a, const void *b)
{
	const struct finding *first = a, *second = b;
	int order = (int)finding_topic_of(first->rule) - (int)finding_topic_of(second->rule);

	if (!order)
		order = (int)second->confidence - (int)first->confidence;
	return order ? order : compare_weight(first, second);
}

/* Full: the least of the same rule makes way, if there is a lesser one. */
static void replace(struct findings *findings, const struct finding *finding)
{
	struct finding *least = NULL;
	size_t i;

	findings->dropped++;
	for (i = 0; i < findings->count; i++) {
		struct finding *listed = &findings->list[i];

		if (listed->rule == finding->rule && (!least || compare_weight(least, listed) < 0))
			least = listed;
	}
	if (least && compare_weight(finding, least) < 0)
		*least = *finding;
}

int findings_add(struct findings *findings, const struct finding *finding)
{
	if (findings->count >= FINDINGS_MAX) {
		replace(findings, finding);
		return 0;
	}
	if (memory_grow(&findings->list, &findings->capacity, findings->count + 1,
			sizeof(*findings->list)))
		return -ENOMEM;
	findings->list[findings->count++] = *finding;
	return 0;
}

const char *findings_name(struct findings *findings, const char *name, size_t length)
{
	return string_intern(&findings->names, name, length);
}

void findings_sort(struct findings *findings)
{
	if (findings->count)
		qsort(findings->list, findings->count, sizeof(*findings->list), compare);
}
