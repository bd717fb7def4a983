// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/sources.h"

#include <errno.h>
#include <stdlib.h>

static void add_inlets(struct intake *intake)
{
	struct inlets *inlets = &intake->inlets;
	size_t i;

	for (i = 0; i < MS_RINGS_COUNT; i++)
		inlets->all[inlets->count++] = &intake->rings[i].inlet;
	for (i = 0; i < intake->fronts.count; i++)
		inlets->all[inlets->count++] = &intake->fronts.fronts[i].inlet;
}

int intake_open(struct intake *intake, const struct intake_maps *maps)
{
	int err, ring;

	*intake = (struct intake){ 0 };
	err = fronts_open(&intake->fronts, maps->fronts, maps->cpus, maps->slots);
	for (ring = 0; !err && ring < MS_RINGS_COUNT; ring++)
		err = ring_open(&intake->rings[ring], ring, maps->rings[ring], maps->ring_bytes);
	if (err)
		return err;
	intake->inlets.all =
		calloc(MS_RINGS_COUNT + intake->fronts.count, sizeof(*intake->inlets.all));
	if (!intake->inlets.all)
		return -ENOMEM;
	add_inlets(intake);
	return 0;
}

void intake_close(struct intake *intake)
{
	int ring;

	for (ring = 0; ring < MS_RINGS_COUNT; ring++)
		ring_close(&intake->rings[ring]);
	fronts_close(&intake->fronts);
	free(intake->inlets.all);
	*intake = (struct intake){ 0 };
}
