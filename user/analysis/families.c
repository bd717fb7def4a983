// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/families.h"

#include <errno.h>
#include <stdlib.h>

static int compare_family(const struct group *a, const struct group *b)
{
	if (a->space != b->space)
		return (int)a->space - (int)b->space;
	if (a->row != b->row)
		return (int)a->row - (int)b->row;
	return (a->device > b->device) - (a->device < b->device);
}

static int compare(const void *a, const void *b)
{
	const struct group *first = *(struct group *const *)a, *second = *(struct group *const *)b;
	const int order = compare_family(first, second);

	return order ? order : (int)first->size_class - (int)second->size_class;
}

int families_init(struct families *families, struct process_activity *activity)
{
	size_t i;

	*families = (struct families){ .count = activity->groups_count };
	if (!families->count)
		return 0;
	families->groups = malloc(families->count * sizeof(struct group *));
	if (!families->groups)
		return -ENOMEM;
	for (i = 0; i < families->count; i++)
		families->groups[i] = &activity->groups[i];
	qsort(families->groups, families->count, sizeof(struct group *), compare);
	return 0;
}

void families_fini(struct families *families)
{
	free(families->groups);
	*families = (struct families){ 0 };
}

bool families_next(const struct families *families, struct family *family)
{
	struct group **end;

	if (!families->count)
		return false;
	end = families->groups + families->count;
	family->members = family->members ? family->members + family->count : families->groups;
	family->count = 0;
	while (family->members + family->count < end &&
	       !compare_family(family->members[0], family->members[family->count]))
		family->count++;
	return family->count;
}

uint64_t family_allocs(const struct family *family)
{
	uint64_t allocs = 0;
	size_t i;

	for (i = 0; i < family->count; i++)
		allocs += family->members[i]->allocs;
	return allocs;
}

bool family_is_reported(const struct family *family)
{
	size_t i;

	for (i = 0; i < family->count; i++)
		if (family->members[i]->reported)
			return true;
	return false;
}

struct finding family_finding(const struct process_activity *activity, const struct family *family,
			      enum finding_rule rule)
{
	struct finding finding = process_activity_finding(activity, rule);

	finding.space = family->members[0]->space;
	finding.row = family->members[0]->row;
	finding.device = family->members[0]->device;
	return finding;
}
