// SPDX-License-Identifier: BSD-2-Clause
#include "event/probe.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "regs.h"

/* clang-format off */
static const struct probe probes[] = {
#define MS_ROW(of_layer, function, operation, ...) \
	{ .symbol = #function, \
	  .layer = MS_LAYER_##of_layer, \
	  .spec = { .op = MS_OP_##operation, .kind = MS_ROW_KIND_##operation, \
		    .layer = MS_LAYER_##of_layer, ##__VA_ARGS__ } },
#include "probes.def"
#undef MS_ROW
};

/* clang-format on */

#define PROBES (sizeof(probes) / sizeof(*probes))

uint32_t probe_count(void)
{
	return PROBES;
}

const struct probe *probe_at(uint32_t row)
{
	return &probes[row];
}

static int compare_rows(const void *a, const void *b)
{
	return strcmp(probes[*(const uint16_t *)a].symbol, probes[*(const uint16_t *)b].symbol);
}

static int compare_symbol(const void *symbol, const void *row)
{
	return strcmp(symbol, probes[*(const uint16_t *)row].symbol);
}

int probe_find(const char *symbol)
{
	static uint16_t sorted[PROBES];
	static int ready;
	const uint16_t *found;
	size_t i;

	if (!ready) {
		for (i = 0; i < PROBES; i++)
			sorted[i] = i;
		qsort(sorted, PROBES, sizeof(*sorted), compare_rows);
		ready = 1;
	}
	found = bsearch(symbol, sorted, PROBES, sizeof(*sorted), compare_symbol);
	return found ? *found : -1;
}

const char *probe_op_name(uint32_t op)
{
	static const char *const names[] = {
#define X(op, name, ring) [MS_OP_##op] = name,
		MS_OPS(X)
#undef X
	};

	return names[op];
}

const char *probe_space_name(uint32_t space)
{
	static const char *const names[] = {
#define X(space, name) [MS_SPACE_##space] = name,
		MS_SPACES(X)
#undef X
	};

	return names[space];
}

int probe_find_space(const char *name)
{
	int space;

	for (space = 0; name && space < MS_SPACES_COUNT; space++)
		if (!strcmp(probe_space_name((uint32_t)space), name))
			return space;
	return -1;
}

const char *probe_direction_name(uint32_t direction)
{
	static const char *const names[] = {
#define X(direction, name) [MS_DIRECTION_##direction] = name,
		MS_DIRECTIONS(X)
#undef X
	};

	return names[direction];
}

const char *probe_layer_name(uint32_t layer)
{
	return layer == MS_LAYER_DRIVER ? "driver" : "runtime";
}

const char *probe_result_name(enum ms_layer layer, int32_t result)
{
	static const struct {
		int32_t code;
		const char *names[MS_LAYERS_COUNT];
	} results[] = {
#define RESULT(code, driver, runtime) { code, { driver, runtime } },
#include "event/cuda_errors.def"
#undef RESULT
	};
	size_t i;

	for (i = 0; i < sizeof(results) / sizeof(*results); i++)
		if (results[i].code == result)
			return results[i].names[layer];
	return NULL;
}
