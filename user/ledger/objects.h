/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process makes and destroys besides memory: contexts, modules, streams, events, graphs ...
 * (enum ms_object_kind). Each takes memory of the driver's own. They end when they are destroyed,
 * with their context, at exec, or with the process. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_OBJECTS_H
#define MEMSCOPE_LEDGER_OBJECTS_H

#include "ledger/state.h"

/* A new event: what the one before ended is forgotten. */
void objects_begin_event(struct process *process);

/* A call of a row that has an object, and succeeded. Returns 0 or -ENOMEM. */
int objects_apply(struct process *process, const struct event *event, struct change *change);

/*
 * A context was made at `device`, or, if it is a primary one, may have been there before. Returns 0
 * or -ENOMEM.
 */
int objects_make_context(struct process *process, const struct event *event, int32_t device,
			 bool primary, struct change *change);

/* What belongs to the context ends, and the context with it. Returns 0 or -ENOMEM. */
int objects_end_context(struct process *process, uint64_t context, struct change *change);

/* The program ends and another one begins: all of it ends. */
void objects_end_all(struct process *process);

/* The process has ended: what was live stays in the totals. */
void objects_forget(struct process *process);
void objects_free(struct process *process);

/* Totals are those of the time from now on. */
void objects_restart(struct process *process, uint64_t now_ns);

size_t objects_bytes(const struct process *process);

/* The totals, by kind and device. */
const struct object_total *objects_totals(const struct process *process, size_t *count);

/* Adds the totals of a process that is no longer listed. Without memory, some are missing. */
void objects_add_totals(struct process *sum, const struct process *process);

/* For anchors: each live object, in an order that does not change from run to run. */
void objects_each(const struct process *process,
		  void (*each)(void *context, const struct object *object), void *context);

/* For anchors: one more. Return 0, -ENOMEM, or -EINVAL if there is one like it. */
int objects_load(struct process *process, const struct object *object);
int objects_load_total(struct process *process, const struct object_total *total);

/* "module", "modules". */
const char *objects_name(enum ms_object_kind kind);
const char *objects_plural(enum ms_object_kind kind);

#endif /* MEMSCOPE_LEDGER_OBJECTS_H */
