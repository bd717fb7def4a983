/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * On which device the driver's memory lies. Its ioctls name no device that a program would know:
 * but all memory below one object of the driver's lies on one device, and the CUDA call that made a
 * thread ask for some of it says which. A part of driver_objects.h.
 */
#ifndef MEMSCOPE_LEDGER_DRIVER_DEVICES_H
#define MEMSCOPE_LEDGER_DRIVER_DEVICES_H

#include "ledger/driver_objects.h"

struct event;

/* Finds the group of what has that parent, or makes one. Returns 0 or -ENOMEM. */
int driver_devices_group(struct driver_objects *objects, uint32_t client, uint32_t parent,
			 uint32_t *group);

void driver_devices_add(struct driver_objects *objects, const struct driver_object *object);
void driver_devices_remove(struct driver_objects *objects, const struct driver_object *object);

/* The object was made in a call that will be over later: that has its device. */
void driver_devices_ask(struct driver_objects *objects, const struct ms_object *record,
			const struct driver_object *object);

/* A call is over. Its device: -1, if it is not known. */
void driver_devices_answer(struct driver_objects *objects, const struct event *event,
			   int32_t device);

/* The program has ended. */
void driver_devices_end(struct driver_objects *objects);

void driver_devices_fini(struct driver_objects *objects);

/* ---- outputs --------------------------------------------------------------------------------- */

/* Before the first one, and behind the last one. */
#define DRIVER_DEVICES_BEGIN (-2)
#define DRIVER_DEVICES_END INT32_MAX

/*
 * The next device behind that one of which the process holds memory, or held when it ended; -1,
 * which is the first, stands for memory of unknown devices.
 */
int32_t driver_devices_next(const struct process *process, int32_t device);

/* How many objects of the device's memory these are. */
uint64_t driver_devices_objects(const struct process *process, int32_t device);

/* How much that is, in all and by causes. */
uint64_t driver_devices_bytes(const struct process *process, int32_t device,
			      uint64_t causes[DRIVER_CAUSES_COUNT]);

#endif /* MEMSCOPE_LEDGER_DRIVER_DEVICES_H */
