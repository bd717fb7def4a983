// SPDX-License-Identifier: BSD-2-Clause
#include "event/untraced_forks.h"

uint64_t untraced_forks_sum(const struct untraced_forks *forks)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < forks->count; i++)
		sum += forks->parents[i].count;
	return sum;
}

void untraced_forks_append(struct string *out, const struct untraced_forks *forks)
{
	size_t i, j;

	for (i = 0; i < forks->count; i++) {
		const struct untraced_forks_parent *parent = &forks->parents[i];

		string_append_format(out, "%s%u %llu", i ? ";" : "", parent->pid,
				     (unsigned long long)parent->count);
		for (j = 0; j < parent->children_count; j++)
			string_append_format(out, " %u", parent->children[j]);
	}
}

/* Counts are added up: there are fewer processes than this. */
static bool take_parent(const char **text, struct untraced_forks_parent *parent)
{
	uint64_t number;

	*parent = (struct untraced_forks_parent){ 0 };
	if (!string_take_count(text, INT32_MAX, &number) || *(*text)++ != ' ')
		return false;
	parent->pid = (uint32_t)number;
	if (!string_take_count(text, INT32_MAX, &parent->count))
		return false;
	while (**text == ' ' && parent->children_count < UNTRACED_FORKS_PIDS) {
		(*text)++;
		if (!string_take_count(text, INT32_MAX, &number))
			return false;
		parent->children[parent->children_count++] = (uint32_t)number;
	}
	return parent->children_count <= parent->count;
}

void untraced_forks_parse(struct untraced_forks *forks, const char *text)
{
	forks->count = 0;
	while (text && forks->count < UNTRACED_FORKS_PARENTS &&
	       take_parent(&text, &forks->parents[forks->count])) {
		forks->count++;
		if (*text++ != ';')
			return;
	}
}

void untraced_forks_append_pids(struct string *out, const struct untraced_forks_parent *parent)
{
	size_t i;

	if (!parent->children_count)
		return;
	string_append_text(out, parent->count == 1 ? "pid " : "pids ");
	for (i = 0; i < parent->children_count; i++)
		string_append_format(out, "%s%u", i ? ", " : "", parent->children[i]);
	if (parent->count > parent->children_count)
		string_append_text(out, ", ...");
}
