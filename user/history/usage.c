// SPDX-License-Identifier: BSD-2-Clause
#include "history/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct history_row *history_usage_add_row(struct history_usage *usage, const char *name)
{
	struct history_row *row;

	if (memory_grow(&usage->rows, &usage->rows_capacity, usage->rows_count + 1,
			sizeof(*usage->rows)))
		return NULL;
	row = &usage->rows[usage->rows_count];
	*row = (struct history_row){ .name = strdup(name) };
	if (!row->name)
		return NULL;
	usage->rows_count++;
	return row;
}

static int compare_rows(const void *a, const void *b)
{
	const struct history_row *left = a, *right = b;

	if (left->byte_ms != right->byte_ms)
		return left->byte_ms < right->byte_ms ? 1 : -1;
	if (left->peak_bytes != right->peak_bytes)
		return left->peak_bytes < right->peak_bytes ? 1 : -1;
	return strcmp(left->name, right->name);
}

static int compare_places(const void *a, const void *b)
{
	return compare_rows(*(struct history_row *const *)a, *(struct history_row *const *)b);
}

int history_usage_choose(struct history_usage *usage, size_t most)
{
	struct history_row **order = calloc(usage->rows_count + 1, sizeof(*order));
	size_t i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < usage->rows_count; i++)
		order[i] = &usage->rows[i];
	qsort(order, usage->rows_count, sizeof(*order), compare_places);
	for (i = 0; i < usage->rows_count && i < most; i++) {
		order[i]->pointed = true;
		order[i]->open.start_s = 0;
	}
	free(order);
	return 0;
}

void history_usage_sort(struct history_usage *usage)
{
	if (usage->rows_count)
		qsort(usage->rows, usage->rows_count, sizeof(*usage->rows), compare_rows);
}

void history_usage_fini(struct history_usage *usage)
{
	size_t i;

	for (i = 0; i < usage->rows_count; i++) {
		struct history_row *row = &usage->rows[i];

		free(row->name);
		free(row->user);
		free(row->place);
		free(row->device_name);
		free(row->points);
	}
	free(usage->rows);
	for (i = 0; i < usage->events_count; i++) {
		struct history_happening *event = &usage->events[i];

		free(event->process);
		free(event->user);
		free(event->place);
		free(event->device);
		free(event->kind);
		free(event->what);
	}
	free(usage->events);
	*usage = (struct history_usage){ 0 };
}
