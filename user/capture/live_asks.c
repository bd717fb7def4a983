// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which processes are listened to when they ask CUDA where they are, because they were running
 * before they were attached to: capture/targets/target_asks.h.
 */
#include "base/clock.h"
#include "base/log.h"
#include "capture/live_internal.h"
#include "event/probe.h"

/* Between looks: at first, and at most where nothing is heard. */
#define LOOK_NS 100000000ull
#define LONGEST_NS (32 * LOOK_NS)

static void wait_for(struct live *live, uint64_t wait_ns)
{
	if (wait_ns == live->asks_wait_ns || loop_set_timer(live->asks_timer, wait_ns, wait_ns))
		return;
	live->asks_wait_ns = wait_ns;
	if (wait_ns == LONGEST_NS)
		log_debug("no process asks where it is: looking less often");
}

static int on_look(void *context, uint64_t data)
{
	const uint64_t now_ns = clock_monotonic_ns();
	struct live *live = context;
	bool any = false, heard = false;
	size_t i;

	(void)data;
	for (i = 0; i < live->targets.count; i++) {
		struct target *target = live->targets.targets[i];
		const struct target_asks_site site = target_asks_site(&live->targets, target);

		heard |= target_asks_look(&target->asks, &site, now_ns);
		any |= target->asks.listening || target->asks.wanted;
	}
	if (!any) {
		loop_remove(live->loop, live->asks_timer);
		live->asks_timer = NULL;
	} else if (heard) {
		wait_for(live, LOOK_NS);
	} else if (live->asks_wait_ns < LONGEST_NS) {
		wait_for(live, 2 * live->asks_wait_ns);
	}
	return 0;
}

static void look_from_now_on(struct live *live)
{
	if (live->asks_timer)
		wait_for(live, LOOK_NS);
	else if (!live->stopping &&
		 !loop_add_timer(live->loop, LOOK_NS, LOOK_NS, on_look, live, 0, &live->asks_timer))
		live->asks_wait_ns = LOOK_NS;
}

void live_asks_begin(struct live *live, struct target *target)
{
	const struct target_asks_site site = target_asks_site(&live->targets, target);
	const struct library *library;

	if (live->stopping || !target->asks.count ||
	    !target_was_late(&live->targets, target, 0, &library))
		return;
	target_asks_begin(&target->asks, &site);
	if (target->asks.listening)
		look_from_now_on(live);
}

void live_asks_hear(struct live *live, const struct ms_call *call)
{
	struct target *target;

	if (call->known & MS_KNOWN_DEVICE || call->row >= probe_count() ||
	    probe_at(call->row)->spec.op != MS_OP_ALLOC)
		return;
	target = targets_find(&live->targets, (pid_t)call->event.pid);
	if (!target || !target->asks.late || target->asks.listening ||
	    (target->asks.wanted && live->asks_timer))
		return;
	target->asks.wanted = true;
	look_from_now_on(live);
}

void live_asks_end(struct live *live, struct target *target)
{
	const struct target_asks_site site = target_asks_site(&live->targets, target);

	target_asks_close(&target->asks, &site);
}
