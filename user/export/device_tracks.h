/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of devices: what all processes together hold of each, and what programs were told. A
 * part of export/traces.h.
 */
#ifndef MEMSCOPE_EXPORT_DEVICE_TRACKS_H
#define MEMSCOPE_EXPORT_DEVICE_TRACKS_H

#include "export/traces.h"

/* Tells the counters that have changed. */
void device_tracks_look(struct traces *traces, uint64_t ts_ns);

/* The same if the program was told by cuMemGetInfo how much is in use. */
void device_tracks_told(struct traces *traces, const struct event *event,
			const struct change *change, uint64_t ts_ns);

void device_tracks_forget(struct traces *traces);

#endif /* MEMSCOPE_EXPORT_DEVICE_TRACKS_H */
