// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the kernel says of the machine and of the traced processes while they are captured: looked
 * at in the beginning, every few seconds (soon at first: programs may be short), and at the end.
 * What that costs is measured, and it is done as seldom as is needed for it to stay a small part of
 * a core.
 */
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/live_internal.h"
#include "host/host_load.h"
#include "host/topology.h"

#define ROOT ""
#define PROCESSES_MAX 256   /* that are looked at each time, in turn */
#define FIRST_NS 1000000000 /* between the first two; it doubles from then on */
#define BEGIN_NS 1000000
#define TIMER_SLACK_NS 10000000
#define SHARE 1000 /* one part of so many of a core is what it may take */
/*
 * ...and has at first, so that what a look costs on a busy machine, or the first time, does not
 * leave a short recording without the second one, without which nothing is known of a span.
 */
#define CREDIT_MAX_NS 10000000

static uint64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t shorter(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static int feed_topology(struct live *live, uint64_t ts_ns)
{
	struct ms_node nodes[TOPOLOGY_NODES];
	struct ms_gpu gpus[TOPOLOGY_GPUS];
	const size_t nodes_count = topology_nodes(ROOT, nodes);
	const size_t gpus_count = topology_gpus(ROOT, gpus);
	size_t i;
	int err = 0;

	for (i = 0; !err && i < nodes_count; i++) {
		nodes[i].event = (struct ms_event){ .ts_ns = ts_ns,
						    .type = MS_TYPE_NODE,
						    .size = sizeof(nodes[i]) };
		err = live_feed(live, &nodes[i], sizeof(nodes[i]));
	}
	for (i = 0; !err && i < gpus_count; i++) {
		gpus[i].event = (struct ms_event){ .ts_ns = ts_ns,
						   .type = MS_TYPE_GPU,
						   .size = sizeof(gpus[i]) };
		err = live_feed(live, &gpus[i], sizeof(gpus[i]));
	}
	return err;
}

static int feed_process(struct live *live, const struct target *target, uint64_t ts_ns)
{
	struct ms_load load = { .event = { .ts_ns = ts_ns,
					   .start_ns = target->start_ns,
					   .pid = target->pid,
					   .tid = target->pid,
					   .type = MS_TYPE_LOAD,
					   .size = sizeof(load) } };

	/* One that has just ended has said all that it had to; its pid may be another's. */
	if (target_is_gone(target))
		return 0;
	host_load_process(ROOT, target->pid, &load);
	if (!load.known || target_is_gone(target) || live_feed(live, &load, sizeof(load)))
		return live->err;
	return live_placement_feed(live, target, ts_ns);
}

/* All of them, or those whose turn it is. */
static int feed_processes(struct live *live, uint64_t ts_ns)
{
	const struct targets *targets = &live->targets;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < targets->count && i < PROCESSES_MAX; i++) {
		const size_t place = (live->host_turn + i) % targets->count;

		err = feed_process(live, targets->targets[place], ts_ns);
	}
	live->host_turn += i;
	return err;
}

static void look(struct live *live)
{
	const uint64_t ts_ns = clock_monotonic_ns();
	struct ms_host host = {
		.event = { .ts_ns = ts_ns, .type = MS_TYPE_HOST, .size = sizeof(host) },
		.looking_ns = live->host_cost_ns
	};
	uint64_t before_ns;

	live_drain(live); /* what came before it */
	if (live->err)
		return;
	host.processes = (uint32_t)live->targets.count;
	before_ns = cpu_ns();
	host_load_machine(ROOT, &host);
	if (!live_feed(live, &host, sizeof(host)) && !feed_topology(live, ts_ns))
		feed_processes(live, ts_ns);
	live->host_cost_ns = cpu_ns() - before_ns;
	live->host_credit_ns -= (int64_t)live->host_cost_ns;
	live->host_looked_ns = ts_ns;
}

/* What it may take grows with the time, but not for ever. */
static bool may_look(struct live *live, uint64_t now_ns)
{
	live->host_credit_ns += (int64_t)((now_ns - live->host_credited_ns) / SHARE);
	live->host_credited_ns = now_ns;
	if (live->host_credit_ns > CREDIT_MAX_NS)
		live->host_credit_ns = CREDIT_MAX_NS;
	return live->host_credit_ns >= 0;
}

static int on_time(void *context, uint64_t data)
{
	struct live *live = context;
	const uint64_t now_ns = clock_monotonic_ns();

	(void)data;
	if (!live->host_looked_ns) {
		live->host_credit_ns = CREDIT_MAX_NS;
		live->host_credited_ns = now_ns;
		look(live);
		return live->err;
	}
	if (now_ns - live->host_looked_ns + TIMER_SLACK_NS < live->host_wait_ns ||
	    !may_look(live, now_ns))
		return 0;
	look(live);
	live->host_wait_ns = shorter(live->host_wait_ns * 2, live->options.host_ns);
	return live->err;
}

int live_host_open(struct live *live)
{
	live->host_wait_ns = shorter(live->options.host_ns, FIRST_NS);
	if (!live->host_wait_ns)
		return 0;
	/* The first look is for when records are taken. */
	return loop_add_timer(live->loop, BEGIN_NS, live->host_wait_ns, on_time, live, 0,
			      &live->host_timer);
}

void live_host_end(struct live *live)
{
	if (live->host_timer && !live->err)
		look(live);
}

void live_host_close(struct live *live)
{
	loop_remove(live->loop, live->host_timer);
	live->host_timer = NULL;
}
