// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/wanted_names.h"

#include <stddef.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "event/ask.h"
#include "event/framework.h"
#include "event/probe.h"

/* The bit of all names that begin with the same eight bytes. */
static uint32_t bit_of(const char *name)
{
	uint64_t begin = 0;
	int i;

	for (i = 0; i < 8 && name[i]; i++)
		begin |= (uint64_t)(unsigned char)name[i] << 8 * i;
	return (begin * 0x9e3779b97f4a7c15u) >> 32 & (WANTED_NAMES_BITS - 1);
}

static void add(struct wanted_names *names, const char *name)
{
	const uint32_t bit = bit_of(name);

	names->bits[bit / 8] |= 1u << bit % 8;
	names->digest = XXH3_64bits_withSeed(name, strlen(name) + 1, names->digest);
}

static void add_marker(struct wanted_names *names, const struct marker_row *row)
{
	if (row->library)
		names->by_file = true;
	if (row->function && !row->provider)
		add(names, row->function);
}

void wanted_names_init(struct wanted_names *names, const struct marker_rows *markers)
{
	uint32_t i;

	*names = (struct wanted_names){ 0 };
	for (i = 0; i < probe_count(); i++)
		add(names, probe_at(i)->symbol);
	for (i = 0; i < FRAMEWORK_ROWS_COUNT; i++)
		add(names, framework_symbol(i));
	for (i = 0; i < MS_ASK_ROWS; i++)
		add(names, ask_symbol(i));
	add(names, "ioctl");
	for (i = 0; markers && i < markers->count; i++)
		add_marker(names, &markers->rows[i]);
}

bool wanted_names_may_have(const struct wanted_names *names, const char *name)
{
	const uint32_t bit = bit_of(name);

	return names->bits[bit / 8] >> bit % 8 & 1;
}
