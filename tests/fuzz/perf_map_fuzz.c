// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a compiler at run time says of its functions: the input is the file.
 */
#include "fuzz.h"

#include <string.h>

#include "symbols/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct perf_map_entry *found;
	char *text = malloc(size + 1);
	struct perf_map map;
	size_t i;

	fuzz_check(text);
	memcpy(text, bytes, size);
	fuzz_check(!perf_map_parse(&map, text, size));
	fuzz_check(map.count <= size / 6);
	for (i = 0; i < map.count; i++) {
		const struct perf_map_entry *entry = &map.entries[i];

		fuzz_check(!i || entry[-1].start < entry->start);
		fuzz_check(entry->bytes && entry->name < size);
		fuzz_check(map.text[entry->name] &&
			   strlen(map.text + entry->name) < PERF_MAP_NAME_BYTES);
		fuzz_check(perf_map_find(&map, entry->start) == entry);
		found = perf_map_find(&map, entry->start + entry->bytes);
		fuzz_check(found != entry);
		found = perf_map_find(&map, entry->start - 1);
		fuzz_check(found != entry);
	}
	perf_map_fini(&map);
	return 0;
}
