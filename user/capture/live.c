// SPDX-License-Identifier: BSD-2-Clause
#include "capture/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/live_internal.h"

#define DRAIN_NS 10000000       /* while events come */
#define DRAIN_IDLE_NS 100000000 /* while none do */
#define SEARCH_NS 1000000000    /* without notice of mappings */
#define LOSSES_NS 1000000000    /* between looks at whose records were lost */

/* Detaching is waited for that long in the end: uprobe_single must not keep the account back. */
#define DETACH_MS 500

/* Until then the record of a program that was executed has been read. */
#define REPORT_NS 100000000

/* Who is writing a record is waiting for a CPU, if it takes that long. */
#define HELD_US 1000
#define HELD_TRIES 200

int live_feed_counted(void *context, void *record, size_t length)
{
	struct live *live = context;
	const struct ms_calls *launches = record;
	int err = 0;

	if (live_drops(live, &launches->call.event))
		return 0;
	if (launches->call.event.type == MS_TYPE_CALLS)
		err = kernel_names_launched(live->kernel_names, &launches->call);
	return err ? err : live->options.feed(live->options.context, record, length);
}

static void end(struct live *live, enum live_reason reason)
{
	if (!live->stopping) {
		live->end_ns = clock_monotonic_ns();
		live->reason = live->interrupted ? LIVE_SIGNAL : reason;
	}
	live->stopping = true;
	loop_stop(live->loop);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static int feed_loss(void *context, void *record, size_t length)
{
	return live_feed(context, record, length);
}

/* They are rare, and nothing waits for them. */
static void look_at_losses(struct live *live, uint64_t now_ns, bool last)
{
	const int map_fd = programs_losses_fd(live->programs);
	int err;

	if (map_fd < 0 || live->err || (!last && now_ns - live->losses_ns < LOSSES_NS))
		return;
	live->losses_ns = now_ns;
	err = process_losses_feed(&live->losses, map_fd, now_ns, feed_loss, live);
	if (!live->err)
		live->err = err;
}

static void drain(struct live *live, uint64_t until_ns)
{
	long drained = merge_drain(programs_merge(live->programs), until_ns, live_take, live);
	uint64_t period_ns = drained ? DRAIN_NS : DRAIN_IDLE_NS;

	live->drained_ns = until_ns;
	look_at_losses(live, clock_monotonic_ns(), false);
	file_probes_look(live->targets.file_probes);
	detacher_flush(live->targets.detacher);
	if (!live->err && live->launch_counts)
		live->err = launch_counts_seen(live->launch_counts, live_feed_counted, live);
	if (!live->err && live->options.flush)
		live->err = live->options.flush(live->options.context);
	/* Towards idle in steps, so that a pause between two bursts does not cost latency. */
	if (!drained && live->drain_ns < DRAIN_IDLE_NS)
		period_ns = live->drain_ns + DRAIN_NS;
	if (period_ns != live->drain_ns && !loop_set_timer(live->drain_timer, period_ns, period_ns))
		live->drain_ns = period_ns;
}

/* What it finds is fed after the records from before. */
static void look_at_counts(struct live *live)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!live->launch_counts || !live->options.count_ns || live->err ||
	    now_ns - live->counted_ns < live->options.count_ns)
		return;
	live->counted_ns = now_ns;
	live->err = launch_counts_look(live->launch_counts, live_feed_counted, live);
}

void live_drain(struct live *live)
{
	look_at_counts(live);
	drain(live, clock_monotonic_ns());
}

/* Also what is held up by a record that is still being written; but not for ever. */
static void drain_all(struct live *live, uint64_t until_ns)
{
	int tries = HELD_TRIES;

	drain(live, until_ns);
	while (programs_merge(live->programs)->held && !live->err && --tries) {
		usleep(HELD_US);
		drain(live, until_ns);
	}
}

void live_drain_all(struct live *live)
{
	look_at_counts(live);
	drain_all(live, clock_monotonic_ns());
}

static int on_signal(void *context, const struct signalfd_siginfo *info)
{
	struct live *live = context;

	if (info->ssi_signo == FILE_PROBES_SIGNAL) {
		live_leave_written(live);
		return live->err;
	}
	if (live->options.signal && info->ssi_signo == (uint32_t)live->options.signal) {
		live_drain(live); /* what came before it belongs to it */
		live->options.signalled(live->options.context);
		return live->err;
	}
	/* A command that was started here ends the run by ending; asked twice, it is left alone. */
	if (live->spawned && !live->command_done && !live->interrupted) {
		live->interrupted = true;
		/* Ctrl-C reached it already, as a member of the terminal's foreground group. */
		if (info->ssi_signo != SIGINT || info->ssi_code != SI_KERNEL)
			kill(live->spawn.pid, info->ssi_signo);
		log_info("waiting for %s to end; the next signal ends this without it",
			 live->options.command[0]);
		return 0;
	}
	end(live, LIVE_SIGNAL);
	return 0;
}

static int on_exit_of(void *context, uint64_t data)
{
	struct live *live = context;
	const pid_t pid = (pid_t)data;
	const int *status = NULL;

	/* Its last records are in the rings: they come before its end. */
	live_drain_all(live);
	if (live->spawned && pid == live->spawn.pid &&
	    waitpid(pid, &live->command_status, 0) == pid) {
		live->command_done = true;
		status = &live->command_status;
	}
	live_forget(live, pid, status);
	return live->err;
}

int live_watch_exit(struct live *live, struct target *target)
{
	return loop_add_fd(live->loop, target->pidfd, EPOLLIN, on_exit_of, live, target->pid,
			   &target->exit_source);
}

/*
 * Which processes the dropped records were of cannot be known: those that are still there are
 * searched for, and that others have been missed is assumed.
 */
static void note_dropped(struct live *live, int dropped)
{
	if (dropped < 0)
		log_warning("cannot read the kernel's records of mapped files: %s; processes may be"
			    " missed",
			    strerror(-dropped));
	else if (dropped && !live->dropped_notices++)
		log_warning("processes on this machine map files faster than memscope-bpf can look"
			    " at them; short-lived processes may be missed");
}

static int on_mappings(void *context, uint64_t data)
{
	struct live *live = context;
	const struct mappings_visitor visitor = { live_note_mapped, live_mapped, live };
	int dropped = mappings_drain(live->mappings, &visitor, DRAIN_NS);

	(void)data;
	stack_taker_refresh(live->stacks);
	note_dropped(live, dropped);
	if (dropped)
		live_search(live);
	return live->err;
}

static int on_search(void *context, uint64_t data)
{
	struct live *live = context;

	(void)data;
	live_search(live);
	return live->err;
}

static int on_drain(void *context, uint64_t data)
{
	struct live *live = context;

	(void)data;
	live_drain(live);
	if (!live->err)
		live->err = kernel_names_work(live->kernel_names, clock_monotonic_ns());
	targets_report(&live->targets, clock_monotonic_ns() - REPORT_NS);
	live_look_at_bystanders(live);
	live_late_keep(live, false);
	return live->err;
}

static int on_forks(void *context, uint64_t data)
{
	struct live *live = context;

	(void)data;
	live_drain(live);
	return live->err;
}

static int on_duration(void *context, uint64_t data)
{
	(void)data;
	end(context, LIVE_DURATION);
	return 0;
}

/* Whatever it was that has happened. */
static bool check(void *context)
{
	struct live *live = context;

	if (live->mappings && mappings_wait(live->mappings))
		on_mappings(live, 0);
	live_moves_look(live);
	if (live->err || (!live->targets.count && !scope_is_open(&live->options.scope)))
		end(live, LIVE_TARGETS_GONE);
	return live->mappings && mappings_wait(live->mappings);
}

/* The cost of this process and its helpers. */
static uint64_t used_cpu_ns(const struct live *live)
{
	return clock_cpu_ns() + programs_cpu_ns(live->programs) + stack_taker_cpu_ns(live->stacks) +
	       detacher_cpu_ns(live->targets.detacher);
}

int live_run(struct live *live)
{
	int err;

	if (live->spawned && spawn_release(&live->spawn, live->options.command[0]))
		return -ECHILD;
	live_announce_targets(live);
	live->start_cpu_ns = used_cpu_ns(live);
	log_debug("tracing");
	err = live->err ? live->err : loop_run(live->loop);
	return live_kernel_log_take(live) ? live->err : err;
}

void live_end(struct live *live)
{
	end(live, LIVE_DURATION);
}

struct loop *live_loop(const struct live *live)
{
	return live->loop;
}

uint64_t live_end_ns(const struct live *live)
{
	return live->end_ns ? live->end_ns : clock_monotonic_ns();
}

enum live_reason live_reason(const struct live *live)
{
	return live->reason;
}

pid_t live_first_pid(const struct live *live)
{
	if (live->spawned)
		return live->spawn.pid;
	return live->options.pids_count ? live->options.pids[0] : 0;
}

bool live_saw_library(const struct live *live)
{
	return live->targets.mapped;
}

size_t live_unread(const struct live *live)
{
	return live->targets.unread;
}

size_t live_missed(const struct live *live)
{
	size_t missed = live->targets.missed;

	return missed || !live->dropped_notices ? missed : 1;
}

int live_stop(struct live *live)
{
	const struct mappings_visitor visitor = { live_note_mapped, live_mapped_last, live };
	int err;

	end(live, LIVE_TARGETS_GONE);
	live_host_end(live);
	live_devices_end(live);
	live_late_keep(live, true);
	live_drain(live);
	live_moves_look(live);
	if (live->mappings)
		note_dropped(live, mappings_drain(live->mappings, &visitor, 0));
	programs_stop(live->programs);
	while (live->targets.count)
		targets_remove(&live->targets, live->targets.targets[0]);
	live_close_files(live);
	err = detacher_wait(live->targets.detacher, DETACH_MS);
	live->detaching = err == -ETIMEDOUT;
	programs_silence(live->programs);
	drain_all(live, UINT64_MAX);
	look_at_losses(live, clock_monotonic_ns(), true);
	if (!live->err && live->launch_counts)
		live->err = launch_counts_rest(live->launch_counts, live_feed_counted, live);
	live_stacks_end(live);
	/*
	 * Nobody reads signals any more: from now on they do what they do to any program, but those
	 * that have come meanwhile asked for nothing new. A closed pipe stays an error of write(),
	 * and the command has been started already.
	 */
	signal(SIGPIPE, SIG_IGN);
	live_forget_signals(live);
	sigprocmask(SIG_SETMASK, &live->original_mask, NULL);
	return live->err;
}

int live_counters(const struct live *live, struct ms_counters *counters)
{
	return programs_counters(live->programs, counters);
}

/* With what was in front of the ring, at most its size, which is what users have asked for. */
static uint64_t highest_bytes(const struct live *live, enum ms_ring ring)
{
	uint64_t bytes = programs_merge(live->programs)->highest_bytes[ring];

	return bytes < live->options.ring_bytes ? bytes : live->options.ring_bytes;
}

void live_cost(const struct live *live, struct summary_cost *cost)
{
	*cost = (struct summary_cost){
		.cpu_ns = used_cpu_ns(live) - live->start_cpu_ns,
		.ring_bytes = live->options.ring_bytes,
		.highest_critical = highest_bytes(live, MS_RING_CRITICAL),
		.highest_bulk = highest_bytes(live, MS_RING_BULK),
	};
	programs_run_time(live->programs, &cost->bpf_runs, &cost->bpf_ns);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int open_mappings(struct live *live)
{
	int err = feature_test(live->options.features, FEATURE_MMAP_EVENTS);

	if (!err)
		err = mappings_open(&live->mappings);
	if (!err)
		return mappings_watch(live->mappings, live->loop, on_mappings, live);
	log_debug("the kernel gives no notice of new mappings (%s): searching once a second",
		  strerror(-err));
	return loop_add_timer(live->loop, SEARCH_NS, SEARCH_NS, on_search, live, 0, NULL);
}

static int open_sources(struct live *live)
{
	int err = live_open_signals(live, on_signal);

	live->drain_ns = DRAIN_NS;
	if (!err)
		err = loop_add_timer(live->loop, DRAIN_NS, DRAIN_NS, on_drain, live, 0,
				     &live->drain_timer);
	if (!err && live->options.duration_ns)
		err = loop_add_timer(live->loop, live->options.duration_ns, 0, on_duration, live, 0,
				     NULL);
	/* Edge-triggered: woken by the records that wake, not as long as there are any. */
	if (!err)
		err = loop_add_fd(live->loop, programs_wakeup_fd(live->programs), EPOLLIN | EPOLLET,
				  on_forks, live, 0, NULL);
	if (!err)
		err = open_mappings(live);
	if (!err)
		err = live_devices_open(live);
	if (!err)
		err = live_host_open(live);
	if (!err)
		err = live_limits_open(live);
	if (!err)
		err = live_kernel_log_open(live);
	if (!err)
		err = live_titles_open(live);
	live_moves_open(live);
	return err ? err : loop_add_check(live->loop, check, live);
}

static int open_loop(struct live *live)
{
	int err = loop_open(&live->loop);

	live->targets.loop = live->loop;
	if (!err)
		err = open_sources(live);
	if (err)
		log_error("cannot set up the event loop: %s", strerror(-err));
	return err;
}

/* What the kernel accepts: a power of two, in whole pages. */
static uint64_t ring_size(uint64_t bytes)
{
	uint64_t size = sysconf(_SC_PAGESIZE);

	while (size < bytes)
		size *= 2;
	return size;
}

static int open_programs(struct live *live)
{
	bool entries_only = live->options.entries_only;
	struct programs_options options = {
		/* A handle is only known when the call that names it has returned. */
		.ops = live->options.ops & ~(entries_only ? 1u << MS_OP_NAME : 0),
		.return_ops = entries_only ? 0 : live->options.ops,
		.layers = live->options.layers,
		.spared = live->options.spared,
		.named = live->options.named,
		.count_launches = live->options.count_launches,
		.ring_bytes = live->options.ring_bytes,
		.stack_ops = live->options.stack_ops,
		.stack_depth = live->options.stack_depth,
		.stack_kinds = live->options.stack_kinds,
		.gpu_times = live->options.gpu_times,
		.governed = live->options.governed,
		.markers = live->options.markers,
		.marks = live->options.marks,
		.tensors = live->options.tensors,
		.tensor_chance = live->options.tensor_chance,
		.launch_one_in = live->options.launch_one_in,
		.who = live_follows(live) ? MS_WHO_OF_CHILDREN : MS_WHO_OF_TARGETS,
	};
	int strategy = strategy_choose(live->options.features, entries_only), err;

	if (strategy < 0) {
		log_error("this kernel cannot attach uprobes: %s; `memscope-bpf check` says more",
			  strerror(-strategy));
		return -ENOTSUP;
	}
	options.strategy = strategy;
	live->in_files = live_wants_files(live, strategy);
	if (live->in_files && scope_is_open(&live->options.scope))
		options.admits = live->options.scope.all ? MS_ADMITS_ALL : MS_ADMITS_CGROUP;
	/* Not where the kernel has no cgroups. */
	options.moves = !access("/proc/self/cgroup", F_OK);
	options.cgroup_fd = live->cgroup_fd;
	log_debug("attach strategy: %s", strategy_name(strategy));
	err = programs_open(&live->programs, &options);
	live->targets.programs = live->programs;
	live->targets.tensors = live->options.tensors;
	live->targets.cache.markers = live->options.markers;
	library_cache_keep(&live->targets.cache, live->options.table_cache);
	live->targets.map_files = !feature_test(live->options.features, FEATURE_MAP_FILES);
	live->targets.cache.nops = !feature_test(live->options.features, FEATURE_UPROBE_NOPS);
	if (!entries_only && options.ops >> MS_OP_NAME & 1)
		live->kernel_names = kernel_names_new(live->targets.map_files, live->options.feed,
						      live->options.context);
	if (!err && options.count_launches) {
		err = launch_counts_open(&live->launch_counts,
					 programs_launch_counts_fd(live->programs),
					 programs_launch_keys(live->programs));
		if (err)
			log_error("cannot count launches: %s", strerror(-err));
	}
	return err;
}

/* A link is a descriptor, and there is one per library and process, or even per function. */
static void raise_file_limit(struct live *live)
{
	struct rlimit raised;

	getrlimit(RLIMIT_NOFILE, &live->original_files);
	raised = live->original_files;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(RLIMIT_NOFILE, &raised);
}

int live_open(struct live **result, const struct live_options *options)
{
	struct live *live = calloc(1, sizeof(*live));
	int err;

	if (!live)
		return -ENOMEM;
	live->options = *options;
	live->identities.lines = options->command_lines;
	live->identities.names = options->names;
	live->identities.cgroup = options->scope.cgroup;
	live->options.ring_bytes = ring_size(options->ring_bytes);
	live->counted_ns = clock_monotonic_ns();
	live->cgroup_fd = live->gpu_fd = live->nvtx_fd = live->marks_fd = -1;
	live->spawn = (struct spawn){ .pid = -1, .release_fd = -1, .error_fd = -1 };
	raise_file_limit(live);
	live_devices_start(live);
	err = open_programs(live);
	if (!err)
		err = live_gpu_open(live);
	if (!err)
		err = live_markers_open(live);
	if (!err)
		err = open_loop(live);
	if (!err)
		err = live_stacks_open(live);
	if (!err) {
		live->targets.detacher = detacher_open(programs_detacher_way(live->programs));
		if (live->in_files)
			live->targets.file_probes =
				file_probes_open(live->programs, live->targets.detacher);
		err = live_open_targets(live);
	}
	if (err) {
		live_close(live);
		return err;
	}
	*result = live;
	return 0;
}

void live_close(struct live *live)
{
	if (!live)
		return;
	spawn_abort(&live->spawn);
	targets_fini(&live->targets);
	live_close_files(live);
	if (live->detaching)
		log_info("detaching; this kernel takes a while for each function. Ctrl-C leaves"
			 " the rest to memscope-detach");
	detacher_close(live->targets.detacher);
	mappings_close(live->mappings);
	launch_counts_close(live->launch_counts);
	kernel_names_free(live->kernel_names);
	identity_record_fini(&live->identities);
	pythons_fini(&live->pythons);
	process_losses_fini(&live->losses);
	live_stacks_close(live);
	live_gpu_close(live);
	live_markers_close(live);
	programs_close(live->programs);
	live_titles_close(live);
	live_host_close(live);
	live_limits_close(live);
	live_devices_close(live);
	live_kernel_log_close(live);
	loop_close(live->loop);
	live_close_scope(live);
	free(live);
}
