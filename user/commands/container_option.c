// SPDX-License-Identifier: BSD-2-Clause
#include "commands/container_option.h"

int container_option(const struct option_row *row, const char *value, void *settings)
{
	struct container_map *map = (struct container_map *)((char *)settings + row->offset);

	return container_map_open(map, value);
}
