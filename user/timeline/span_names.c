// SPDX-License-Identifier: BSD-2-Clause
#include "timeline/span_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/memory.h"
#include "base/string.h"

#define PLACES_MAX (4ul * SPAN_NAMES_KERNELS) /* that are remembered; others are looked for again */

static const char failed_suffix[] = " (failed)";
static const char other_kernels[] = "other kernels";

void span_names_fini(struct span_names *names)
{
	while (names->count)
		free(names->texts[--names->count]);
	free(names->texts);
	map_fini(&names->rows);
	map_fini(&names->by_text);
	map_fini(&names->places);
	*names = (struct span_names){ 0 };
}

void span_names_gap(struct span_names *names)
{
	map_fini(&names->places);
}

size_t span_names_bytes(const struct span_names *names)
{
	return names->capacity * sizeof(*names->texts) + names->kernel_bytes +
	       map_bytes(&names->rows) + map_bytes(&names->by_text) + map_bytes(&names->places);
}

/* The place of a text that is there; -1: it is not, and would get the key `*key`. */
static int find(const struct span_names *names, const char *text, uint64_t *key)
{
	const uint64_t *number;

	for (*key = string_hash(map_secret(), text, strlen(text));
	     (number = map_get(&names->by_text, *key)); ++*key)
		if (!strcmp(names->texts[*number], text))
			return (int)*number;
	return -1;
}

static int add(struct span_names *names, const char *text, const char *suffix)
{
	size_t length = strlen(text), more = strlen(suffix) + 1;
	uint64_t key;
	char *copy;
	int number;

	if (memory_grow(&names->texts, &names->capacity, names->count + 1, sizeof(*names->texts)))
		return -ENOMEM;
	copy = malloc(length + more);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, length);
	memcpy(copy + length, suffix, more);
	number = find(names, copy, &key);
	if (number < 0 && !map_set(&names->by_text, key, names->count)) {
		names->texts[names->count] = copy;
		return (int)names->count++;
	}
	free(copy);
	return number < 0 ? -ENOMEM : number;
}

int span_names_row(struct span_names *names, uint16_t row, bool failed)
{
	const uint64_t key = (uint64_t)row << 1 | failed;
	const uint64_t *known = map_get(&names->rows, key);
	int number;

	if (known)
		return (int)*known;
	number = add(names, probe_at(row)->symbol, failed ? failed_suffix : "");
	return number < 0 || map_set(&names->rows, key, (uint64_t)number) ? -ENOMEM : number;
}

static int bounded_name(struct span_names *names, const char *text, const char *otherwise)
{
	size_t length = strlen(text);
	uint64_t key;
	int number = find(names, text, &key);

	if (number >= 0)
		return number;
	if (names->kernels == SPAN_NAMES_KERNELS || names->kernel_bytes + length > SPAN_NAMES_BYTES)
		return add(names, otherwise, "");
	number = add(names, text, "");
	names->kernels += number >= 0;
	names->kernel_bytes += number >= 0 ? length : 0;
	return number;
}

static int new_kernel_name(struct span_names *names, const char *kernel)
{
	struct string text = { 0 };
	int number;

	demangle_append(&text, kernel);
	string_append_char(&text, '\0');
	number = text.failed ? -ENOMEM : bounded_name(names, text.bytes, other_kernels);
	string_fini(&text);
	return number;
}

int span_names_text(struct span_names *names, const char *text)
{
	return bounded_name(names, text, "others");
}

int span_names_kernel(struct span_names *names, const char *kernel)
{
	const uint64_t *known = map_get(&names->places, (uintptr_t)kernel);
	int number;

	if (known)
		return (int)*known;
	if (names->places.count == PLACES_MAX)
		map_fini(&names->places);
	number = new_kernel_name(names, kernel);
	return number < 0 || map_set(&names->places, (uintptr_t)kernel, (uint64_t)number) ?
		       -ENOMEM :
		       number;
}

int span_names_of(struct span_names *names, const struct event *event, const struct change *change)
{
	const bool failed = !event_succeeded(event->call);

	if (event->probe->spec.op == MS_OP_LAUNCH && change->kernel && !failed)
		return span_names_kernel(names, change->kernel);
	return span_names_row(names, event->call->row, failed);
}
