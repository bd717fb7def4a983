// SPDX-License-Identifier: BSD-2-Clause
#include "capture/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/mappings.h"
#include "capture/programs.h"
#include "capture/spawn.h"
#include "capture/target.h"

#define DRAIN_NS 10000000       /* while events come */
#define DRAIN_IDLE_NS 100000000 /* while none do */
#define SEARCH_NS 1000000000    /* without notice of mappings */

/* What an epoll event is about; a target's pid comes in the upper half. */
enum source {
	SOURCE_DRAIN,
	SOURCE_FORKS,
	SOURCE_SIGNAL,
	SOURCE_MAPPINGS,
	SOURCE_SEARCH,
	SOURCE_END,
	SOURCE_EXIT
};

struct live {
	struct live_options options;
	struct programs *programs;
	struct targets targets;
	struct mappings *mappings; /* NULL: searched for once a second */
	struct spawn spawn;
	bool spawned;
	bool command_done;
	int command_status; /* as wait(2) gives it */
	int epoll_fd, drain_fd, signal_fd, search_fd, end_fd;
	uint64_t drain_ns; /* current period */
	sigset_t original_mask;
	struct rlimit original_files;
	bool stopping;
	uint64_t start_cpu_ns;
	uint64_t end_ns;  /* when the end began: detaching may take long */
	bool interrupted; /* once already */
	int err;          /* of the callbacks */
};

/* ---- feeding --------------------------------------------------------------------------------- */

static int feed(struct live *live, void *record, size_t length)
{
	if (!live->err)
		live->err = live->options.feed(live->options.context, record, length);
	return live->err;
}

/* The record with which a process enters the stream. */
static int feed_attach(struct live *live, const struct target *target)
{
	struct ms_process record = {
		.event = { .ts_ns = target->attached_ns,
			   .start_ns = target->start_ns,
			   .pid = target->pid,
			   .tid = target->pid,
			   .type = MS_TYPE_ATTACH,
			   .size = sizeof(record) },
		.value = target->was_running ? MS_ATTACH_RUNNING : 0,
	};

	memcpy(record.comm, target->comm, sizeof(record.comm));
	return feed(live, &record, sizeof(record));
}

/* The command's, if its own record was lost: of an exit that is known already nothing is shown. */
static int feed_exit(struct live *live, const struct target *target, int status)
{
	struct ms_process record = {
		.event = { .ts_ns = clock_monotonic_ns(),
			   .start_ns = target->start_ns,
			   .pid = target->pid,
			   .tid = target->pid,
			   .type = MS_TYPE_EXIT,
			   .size = sizeof(record) },
		.value = status,
	};

	return feed(live, &record, sizeof(record));
}

/*
 * A name that BPF could not read, because its page was not in memory, or not to its end can be read
 * from here.
 */
static int feed_name(struct live *live, struct ms_name *name, size_t length)
{
	struct {
		struct ms_name name;
		char bytes[MS_NAME_MAX];
	} whole;
	ssize_t got;

	if ((name->length && name->length < MS_NAME_BYTES) || !name->string)
		return feed(live, name, length);
	whole.name = *name;
	got = proc_read_string(name->event.pid, name->string, whole.bytes, sizeof(whole.bytes));
	if (got <= 0)
		return feed(live, name, length);
	whole.name.length = got;
	whole.name.event.size = sizeof(whole.name) + got;
	return feed(live, &whole, whole.name.event.size);
}

/* ---- targets --------------------------------------------------------------------------------- */

static int watch(struct live *live, int fd, enum source source, pid_t pid)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)pid << 32 | source };

	return epoll_ctl(live->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* What a process will be called once it has executed the program. */
static void set_comm(struct target *target, const char *program)
{
	const char *slash = strrchr(program, '/');

	snprintf(target->comm, sizeof(target->comm), "%s", slash ? slash + 1 : program);
}

/* `program`: what the process is about to execute, or NULL. Its records have yet to be fed. */
static int add_target(struct live *live, pid_t pid, bool was_running, enum log_level level,
		      const char *program, struct target **result)
{
	uint32_t flags = MS_TARGET_TRACED | (live->options.follow ? MS_TARGET_FOLLOW : 0);
	struct target *target;
	int err = targets_add(&live->targets, pid, level, &target);

	if (err)
		return err;
	err = programs_set_target(live->programs, pid, flags);
	if (!err)
		err = watch(live, target->pidfd, SOURCE_EXIT, pid);
	target->was_running = was_running;
	target->attached_ns = clock_monotonic_ns();
	if (program)
		set_comm(target, program);
	if (!err)
		err = target_attach(&live->targets, target, program);
	if (err == -ESRCH)
		log_message(level, "process %d ended while it was being attached to", pid);
	if (err) {
		programs_set_target(live->programs, pid, 0);
		targets_remove(&live->targets, target);
		return err;
	}
	*result = target;
	return 0;
}

static int attach_to_pid(struct live *live, pid_t pid)
{
	struct target *target;
	int err;

	if (targets_find(&live->targets, pid))
		return 0;
	err = add_target(live, pid, true, LOG_ERROR, NULL, &target);
	if (!err && !target->mapped)
		log_info("process %d (%s) has no CUDA library mapped yet: waiting for one"
			 " (Ctrl-C ends)",
			 pid, target->comm);
	return err;
}

/*
 * A child of a followed process: it has been running since it was forked, and may be gone before it
 * can be looked at.
 */
static void follow_child(struct live *live, pid_t pid)
{
	struct target *target;
	int err;

	if (!live->options.follow || targets_find(&live->targets, pid))
		return;
	err = add_target(live, pid, true, LOG_DEBUG, NULL, &target);
	if (!err)
		feed_attach(live, target);
	else if (err != -ESRCH)
		log_warning("process %d, a child of a traced one, is not traced: %s", pid,
			    strerror(-err));
}

static void stop(struct live *live)
{
	if (!live->stopping)
		live->end_ns = clock_monotonic_ns();
	live->stopping = true;
}

static void forget_target(struct live *live, pid_t pid)
{
	struct target *target = targets_find(&live->targets, pid);

	if (!target)
		return;
	if (live->targets.count == 1)
		stop(live);
	/* Should it have died too early for the kernel side to have noticed. */
	programs_set_target(live->programs, pid, 0);
	targets_remove_dead(&live->targets, target);
}

static void process_changed(struct live *live, const struct ms_process *process)
{
	struct target *target = targets_find(&live->targets, process->event.pid);

	if (live->stopping)
		return;
	if (process->event.type == MS_TYPE_FORK)
		follow_child(live, process->child_pid);
	if (process->event.type != MS_TYPE_EXEC || !target)
		return;
	/* What is attached is attached to the first thread; if another one executes, that is gone. */
	if (process->value)
		target_detach(&live->targets, target);
	target_attach(&live->targets, target, NULL);
}

/* What comes out of the rings. */
static int take(void *context, void *record, size_t length)
{
	struct ms_event *event = record;
	struct live *live = context;
	int err;

	if (event->type == MS_TYPE_NAME)
		return feed_name(live, record, length);
	err = feed(live, record, length);
	if (!err && (event->type == MS_TYPE_FORK || event->type == MS_TYPE_EXEC))
		process_changed(live, record);
	return err;
}

static void mapped(pid_t pid, const struct proc_mapping *mapping, void *context)
{
	struct live *live = context;
	struct target *target = targets_find(&live->targets, pid);
	bool first = target && !target->mapped;

	if (target && target_mapped(&live->targets, target, mapping) && first)
		log_debug("process %d (%s) has mapped its first CUDA library, %s", pid,
			  target->comm, mapping->path);
}

static void search_all(struct live *live)
{
	size_t i;

	for (i = 0; i < live->targets.count; i++)
		target_attach(&live->targets, live->targets.targets[i], NULL);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int set_timer(int fd, uint64_t period_ns, bool repeat)
{
	struct timespec period = { period_ns / 1000000000, period_ns % 1000000000 };
	struct itimerspec timer = { .it_value = period };

	if (repeat)
		timer.it_interval = period;
	return timerfd_settime(fd, 0, &timer, NULL) ? -errno : 0;
}

static void drain(struct live *live, uint64_t until_ns)
{
	long drained =
		rings_drain(programs_rings(live->programs), RINGS_COUNT, until_ns, take, live);
	uint64_t period_ns = drained ? DRAIN_NS : DRAIN_IDLE_NS;

	if (!live->err && live->options.flush)
		live->err = live->options.flush(live->options.context);
	/* Towards idle in steps, so that a pause between two bursts does not cost latency. */
	if (!drained && live->drain_ns < DRAIN_IDLE_NS)
		period_ns = live->drain_ns + DRAIN_NS;
	if (period_ns != live->drain_ns && !set_timer(live->drain_fd, period_ns, true))
		live->drain_ns = period_ns;
}

static void handle_signal(struct live *live)
{
	struct signalfd_siginfo info;

	if (read(live->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	/* A command that was started here ends the run by ending; asked twice, it is left alone. */
	if (live->spawned && !live->command_done && !live->interrupted) {
		live->interrupted = true;
		/* Ctrl-C reached it already, as a member of the terminal's foreground group. */
		if (info.ssi_signo != SIGINT || info.ssi_code != SI_KERNEL)
			kill(live->spawn.pid, info.ssi_signo);
		return;
	}
	stop(live);
}

static void handle_exit(struct live *live, pid_t pid)
{
	/* Its last records are in the rings: they come before its end. */
	drain(live, clock_monotonic_ns());
	if (live->spawned && pid == live->spawn.pid &&
	    waitpid(pid, &live->command_status, 0) == pid) {
		live->command_done = true;
		feed_exit(live, targets_find(&live->targets, pid), live->command_status);
	}
	forget_target(live, pid);
}

static void handle(struct live *live, uint64_t data)
{
	uint64_t expirations;
	int lost;

	switch ((enum source)(uint32_t)data) {
	case SOURCE_DRAIN:
		if (read(live->drain_fd, &expirations, sizeof(expirations)) > 0)
			drain(live, clock_monotonic_ns());
		break;
	case SOURCE_SIGNAL:
		handle_signal(live);
		break;
	case SOURCE_FORKS:
		drain(live, clock_monotonic_ns());
		break;
	case SOURCE_MAPPINGS:
		/* The process may be one that has just been forked. */
		if (live->options.follow)
			drain(live, clock_monotonic_ns());
		lost = mappings_drain(live->mappings, mapped, live);
		if (lost)
			search_all(live);
		break;
	case SOURCE_SEARCH:
		if (read(live->search_fd, &expirations, sizeof(expirations)) > 0)
			search_all(live);
		break;
	case SOURCE_END:
		stop(live);
		break;
	case SOURCE_EXIT:
		handle_exit(live, data >> 32);
		break;
	}
}

int live_run(struct live *live)
{
	struct epoll_event events[16];
	int count, i;
	size_t t;

	if (live->spawned && spawn_release(&live->spawn, live->options.command[0]))
		return -ECHILD;
	for (t = 0; t < live->targets.count; t++)
		feed_attach(live, live->targets.targets[t]);
	live->start_cpu_ns = clock_cpu_ns();
	log_debug("tracing");
	while (!live->stopping && !live->err) {
		count = epoll_wait(live->epoll_fd, events, 16, -1);
		if (count < 0 && errno != EINTR)
			return -errno;
		for (i = 0; i < count && !live->err; i++)
			handle(live, events[i].data.u64);
	}
	return live->err;
}

uint64_t live_end_ns(const struct live *live)
{
	return live->end_ns ? live->end_ns : clock_monotonic_ns();
}

int live_stop(struct live *live)
{
	stop(live);
	programs_stop(live->programs);
	while (live->targets.count)
		targets_remove(&live->targets, live->targets.targets[0]);
	drain(live, UINT64_MAX);
	/* Nobody reads signals any more: from now on they do what they do to any program. */
	sigprocmask(SIG_SETMASK, &live->original_mask, NULL);
	return live->err;
}

int live_counters(const struct live *live, struct ms_counters *counters)
{
	return programs_counters(live->programs, counters);
}

void live_cost(const struct live *live, struct summary_cost *cost)
{
	struct ring *rings = programs_rings(live->programs);

	*cost = (struct summary_cost){
		.cpu_ns = clock_cpu_ns() - live->start_cpu_ns,
		.ring_bytes = rings[RING_CRITICAL].size_bytes,
		.highest_critical = rings[RING_CRITICAL].highest_bytes,
		.highest_bulk = rings[RING_BULK].highest_bytes,
	};
	programs_run_time(live->programs, &cost->bpf_runs, &cost->bpf_ns);
}

int live_wait_command(struct live *live)
{
	if (!live->spawned)
		return -1;
	while (!live->command_done)
		if (waitpid(live->spawn.pid, &live->command_status, 0) == live->spawn.pid ||
		    errno != EINTR)
			live->command_done = true;
	return WIFSIGNALED(live->command_status) ? 128 + WTERMSIG(live->command_status) :
						   WEXITSTATUS(live->command_status);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int open_signals(struct live *live)
{
	sigset_t signals, pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, &live->original_mask))
		return -errno;
	/* Blocked, a closed pipe is an error of write(); ignored, the command would inherit that. */
	sigprocmask(SIG_BLOCK, &pipe, NULL);
	live->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return live->signal_fd < 0 ? -errno : watch(live, live->signal_fd, SOURCE_SIGNAL, 0);
}

static int open_timer(struct live *live, int *fd, enum source source, uint64_t period_ns)
{
	int err;

	*fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*fd < 0)
		return -errno;
	err = set_timer(*fd, period_ns, source != SOURCE_END);
	return err ? err : watch(live, *fd, source, 0);
}

static int open_mappings(struct live *live)
{
	int err = feature_test(live->options.features, FEATURE_MMAP_EVENTS);

	if (!err)
		err = mappings_open(&live->mappings);
	if (!err)
		return mappings_watch(live->mappings, live->epoll_fd, SOURCE_MAPPINGS);
	log_debug("no notice of new mappings (%s): searching once a second", strerror(-err));
	return open_timer(live, &live->search_fd, SOURCE_SEARCH, SEARCH_NS);
}

/* Edge-triggered: woken by the records that wake, not as long as there are any. */
static int watch_forks(struct live *live)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = SOURCE_FORKS };
	int fd = programs_ring_fd(live->programs, RING_CRITICAL);

	return epoll_ctl(live->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_loop(struct live *live)
{
	int err;

	live->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (live->epoll_fd < 0)
		return -errno;
	live->drain_ns = DRAIN_NS;
	err = open_signals(live);
	if (!err)
		err = open_timer(live, &live->drain_fd, SOURCE_DRAIN, DRAIN_NS);
	if (!err && live->options.duration_ns)
		err = open_timer(live, &live->end_fd, SOURCE_END, live->options.duration_ns);
	if (!err)
		err = watch_forks(live);
	if (!err)
		err = open_mappings(live);
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
	uint64_t ring_bytes = ring_size(live->options.ring_bytes);
	bool entries_only = live->options.entries_only;
	struct programs_options options = {
		/* A handle is only known when the call that names it has returned. */
		.ops = live->options.ops & ~(entries_only ? 1u << MS_OP_NAME : 0),
		.return_ops = entries_only ? 0 : live->options.ops,
		.layers = live->options.layers,
		.ring_bytes = { [RING_CRITICAL] = ring_bytes, [RING_BULK] = ring_bytes },
	};
	int strategy = strategy_choose(live->options.features, entries_only), err;

	if (strategy < 0)
		return -ENOTSUP;
	options.strategy = strategy;
	log_debug("attach strategy: %s", strategy_name(strategy));
	err = programs_open(&live->programs, &options);
	live->targets.programs = live->programs;
	live->targets.map_files = !feature_test(live->options.features, FEATURE_MAP_FILES);
	return err;
}

static int open_targets(struct live *live)
{
	struct target *target;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < live->options.pids_count; i++)
		err = attach_to_pid(live, live->options.pids[i]);
	if (err || !live->options.command)
		return err;
	err = spawn_prepare(&live->spawn, live->options.command, &live->original_mask,
			    &live->original_files);
	if (err)
		return err;
	live->spawned = true;
	return add_target(live, live->spawn.pid, false, LOG_ERROR, live->options.command[0],
			  &target);
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
	live->epoll_fd = live->drain_fd = live->signal_fd = live->search_fd = live->end_fd = -1;
	live->spawn = (struct spawn){ .pid = -1, .release_fd = -1, .error_fd = -1 };
	raise_file_limit(live);
	err = open_programs(live);
	if (!err)
		err = open_loop(live);
	if (!err)
		err = closer_open(&live->targets.closer);
	if (!err)
		err = open_targets(live);
	if (err) {
		live_close(live);
		return err;
	}
	*result = live;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void live_close(struct live *live)
{
	if (!live)
		return;
	spawn_abort(&live->spawn);
	targets_fini(&live->targets);
	closer_close(live->targets.closer);
	mappings_close(live->mappings);
	programs_close(live->programs);
	close_fd(live->end_fd);
	close_fd(live->search_fd);
	close_fd(live->signal_fd);
	close_fd(live->drain_fd);
	close_fd(live->epoll_fd);
	free(live);
}
