// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void perf_map_fini(struct perf_map *map)
{
	free(map->entries);
	free(map->text);
	*map = (struct perf_map){ 0 };
}

/* Some write 0x in front of it. */
static bool take_number(char **at, uint64_t *value)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit;
	char *begin;

	while (**at == ' ')
		++*at;
	if ((*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
		*at += 2;
	begin = *at;
	*value = 0;
	for (; **at && (digit = strchr(digits, **at >= 'A' && **at <= 'F' ? **at | 0x20 : **at));
	     ++*at) {
		if (*value >> 60)
			return false;
		*value = *value << 4 | (uint64_t)(digit - digits);
	}
	return *at > begin && **at == ' ';
}

/* Returns whether the line says what a function is. */
static bool take_line(char *line, const char *text, struct perf_map_entry *entry)
{
	char *at = line;

	if (!take_number(&at, &entry->start) || !take_number(&at, &entry->bytes) || !entry->bytes ||
	    entry->start + entry->bytes < entry->start)
		return false;
	while (*at == ' ')
		at++;
	if (strlen(at) >= PERF_MAP_NAME_BYTES)
		at[PERF_MAP_NAME_BYTES - 1] = '\0';
	entry->name = (uint32_t)(at - text);
	return *at;
}

/* Of several that begin at one address, the last one that was written comes first. */
static int compare(const void *left, const void *right)
{
	const struct perf_map_entry *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? 1 : -1;
}

static void sort(struct perf_map *map)
{
	size_t i, kept = 0;

	if (map->count)
		qsort(map->entries, map->count, sizeof(*map->entries), compare);
	for (i = 0; i < map->count; i++)
		if (!kept || map->entries[kept - 1].start != map->entries[i].start)
			map->entries[kept++] = map->entries[i];
	map->count = kept;
}

int perf_map_parse(struct perf_map *map, char *text, size_t length)
{
	char *line = text, *end = text + length, *next;
	struct perf_map_entry entry = { 0 };

	*map = (struct perf_map){ .text = text };
	text[length] = '\0';
	/* The last line may still be being written. */
	for (; line < end && (next = memchr(line, '\n', end - line)); line = next + 1) {
		*next = '\0';
		entry.line++;
		if (map->count >= PERF_MAP_ENTRIES || !take_line(line, text, &entry))
			continue;
		if (memory_grow((void **)&map->entries, &map->capacity, map->count + 1,
				sizeof(*map->entries))) {
			perf_map_fini(map);
			return -ENOMEM;
		}
		map->entries[map->count++] = entry;
	}
	sort(map);
	return 0;
}

const struct perf_map_entry *perf_map_find(const struct perf_map *map, uint64_t address)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (map->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - map->entries[low - 1].start < map->entries[low - 1].bytes ?
		       &map->entries[low - 1] :
		       NULL;
}
