// SPDX-License-Identifier: BSD-2-Clause
#include "store/oom_trigger.h"

#include "base/clock.h"

#define SECOND_NS 1000000000ull

/*
 * How a failed request ends is known soon, as a rule: there is a retry or a smaller one, or the
 * process ends. A bundle waits for that, but not for ever.
 */
#define OUTCOME_NS (5 * SECOND_NS)
#define RETRY_NS (30 * SECOND_NS) /* as the report's threshold oom-retry */

/* What a request's `place` says here. */
#define PLACE_NEW SIZE_MAX
#define PLACE_PULLED 0 /* while it was open */

static void take_step(void *context, struct oom_request *request, enum oom_step step,
		      const struct event *event, const struct change *change)
{
	struct oom_trigger *trigger = context;

	(void)event, (void)change;
	if (step == OOM_FAILED_AGAIN)
		request->place = PLACE_NEW;
	/* One that was waited for in vain has its bundle, unless the process ends: maybe of it. */
	if (step == OOM_ENDED &&
	    (request->place != PLACE_PULLED || (request->exited && request->outcome != OOM_OPEN) ||
	     request->outcome == OOM_GAVE_UP))
		triggers_pull_oom(trigger->triggers, request->pid, request->last_ts_ns,
				  request->outcome, clock_monotonic_ns());
}

void oom_trigger_init(struct oom_trigger *trigger, struct triggers *triggers)
{
	*trigger = (struct oom_trigger){
		.watch = { .retry_ns = RETRY_NS, .step = take_step, .context = trigger },
		.triggers = triggers,
	};
}

void oom_trigger_event(struct oom_trigger *trigger, const struct event *event,
		       const struct change *change)
{
	if (triggers_asked(trigger->triggers, TRIGGER_OOM) &&
	    oom_watch_may_matter(&trigger->watch, event))
		oom_watch_event(&trigger->watch, event, change);
}

void oom_trigger_tick(struct oom_trigger *trigger, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < trigger->watch.count; i++) {
		struct oom_request *request = &trigger->watch.requests[i];

		if (request->place == PLACE_PULLED || now_ns < request->last_ts_ns + OUTCOME_NS)
			continue;
		request->place = PLACE_PULLED;
		triggers_pull_oom(trigger->triggers, request->pid, request->last_ts_ns, OOM_OPEN,
				  now_ns);
	}
}

void oom_trigger_end(struct oom_trigger *trigger, uint64_t now_ns)
{
	oom_watch_finish(&trigger->watch, now_ns);
}
