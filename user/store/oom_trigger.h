/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a bundle is due because memory ran out: once it is known how that ended, or it has been
 * waited for long enough.
 */
#ifndef MEMSCOPE_STORE_OOM_TRIGGER_H
#define MEMSCOPE_STORE_OOM_TRIGGER_H

#include "analysis/oom_watch.h"
#include "store/triggers.h"

struct oom_trigger {
	struct oom_watch watch;
	struct triggers *triggers;
};

/* `triggers` must outlive it. */
void oom_trigger_init(struct oom_trigger *trigger, struct triggers *triggers);

/* A call, or what happens to a process. */
void oom_trigger_event(struct oom_trigger *trigger, const struct event *event,
		       const struct change *change);

void oom_trigger_tick(struct oom_trigger *trigger, uint64_t now_ns);

/* The recording ends: what is waited for is pulled. */
void oom_trigger_end(struct oom_trigger *trigger, uint64_t now_ns);

#endif /* MEMSCOPE_STORE_OOM_TRIGGER_H */
