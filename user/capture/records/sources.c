// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/sources.h"

#include <errno.h>
#include <stdlib.h>

static void add_all(struct sources *sources)
{
	struct merge *merge = &sources->merge;
	size_t i;

	for (i = 0; i < MS_RINGS_COUNT; i++)
		merge->all[merge->count++] = &sources->rings[i].source;
	for (i = 0; i < sources->cpu_slots.count; i++)
		merge->all[merge->count++] = &sources->cpu_slots.sources[i].source;
}

int sources_open(struct sources *sources, const struct sources_maps *maps)
{
	int err, ring;

	*sources = (struct sources){ 0 };
	err = cpu_slots_open(&sources->cpu_slots, maps->cpu_slots, maps->cpus, maps->slots);
	for (ring = 0; !err && ring < MS_RINGS_COUNT; ring++)
		err = ring_open(&sources->rings[ring], ring, maps->rings[ring], maps->ring_bytes);
	if (err)
		return err;
	sources->merge.all =
		calloc(MS_RINGS_COUNT + sources->cpu_slots.count, sizeof(*sources->merge.all));
	if (!sources->merge.all)
		return -ENOMEM;
	add_all(sources);
	return 0;
}

void sources_close(struct sources *sources)
{
	int ring;

	for (ring = 0; ring < MS_RINGS_COUNT; ring++)
		ring_close(&sources->rings[ring]);
	cpu_slots_close(&sources->cpu_slots);
	free(sources->merge.all);
	*sources = (struct sources){ 0 };
}
