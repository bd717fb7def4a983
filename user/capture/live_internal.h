/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A live capture, and what its parts do for each other. live.c has the loop; live_targets.c decides
 * which processes are traced; each other part has the name of what it looks after (live_files.c:
 * probes in files, live_devices.c: NVML, live_host.c: the kernel's numbers).
 */
#ifndef MEMSCOPE_CAPTURE_LIVE_INTERNAL_H
#define MEMSCOPE_CAPTURE_LIVE_INTERNAL_H

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>

#include "capture/attach/open_files.h"
#include "capture/file_makers.h"
#include "capture/records/identity_record.h"
#include "capture/records/kernel_names.h"
#include "capture/records/launch_counts.h"
#include "capture/records/process_losses.h"
#include "capture/attach/file_probes.h"
#include "capture/live.h"
#include "capture/stacks/stack_taker.h"
#include "capture/targets/mappings.h"
#include "capture/targets/pythons.h"
#include "capture/attach/programs.h"
#include "capture/targets/spawn.h"
#include "capture/targets/target.h"
#include "event/cgroup_leavers.h"
#include "event/python_phases.h"
#include "host/dmem.h"
#include "host/nvml.h"

#define LIVE_UNTRACED 8 /* no message names more */
#define LIVE_FORKS 64   /* that wait for being looked at */

/* Children that are not followed. */
struct live_forks {
	struct live_fork {
		pid_t parent, child;
		uint64_t start_ns, ts_ns; /* of the child, as /proc has it; of the fork */
		bool inherits;            /* it had the driver when it was looked at */
	} waiting[LIVE_FORKS];
	size_t count;
	struct loop_source *timer; /* NULL: none waits */
	struct untraced_forks found;
};

#define LIVE_MOVES 64 /* that wait for being looked at */

/* Processes that have been moved to another cgroup: live_moves.c. */
struct live_moves {
	struct live_move {
		pid_t pid;
		uint64_t start_ns; /* of the process */
		uint64_t ts_ns;
	} waiting[LIVE_MOVES];
	size_t count;
	bool any;      /* more than that have been moved */
	uint32_t lost; /* records of them, so far */
	struct cgroup_leavers left;
	struct live_moved moved;
};

/* Devices whose memory NVML knew when it answered last: live_devices.c. */
struct live_devices_told {
	char (*uuids)[MS_UUID_BYTES];
	size_t count, capacity;
};

/* Files of NVIDIA's driver: live_driver_files.c. */
struct live_driver_files {
	struct file_makers makers;
	struct open_files open;
	uint32_t failures; /* in a row */
	uint64_t next_ns;  /* not looked at before then */
	bool ended;
	bool full_said; /* that one of them found no place */
};

#define LIVE_ANSWERS 64

/* Whether a process would be denied, as of then: it may map many files at once. */
struct live_answer {
	struct proc_info asked; /* a zeroed one is no process's */
	pid_t pid;
	uint64_t ts_ns; /* CLOCK_MONOTONIC */
	bool denied;
};

struct live {
	struct live_options options;
	struct programs *programs;
	struct targets targets;
	struct live_driver_files driver_files;
	struct launch_counts *launch_counts; /* NULL: each is recorded */
	struct kernel_names *kernel_names;   /* NULL: they are not wanted */
	struct process_losses losses;
	struct identity_maker identities;
	struct loop_source *titles_timer;
	size_t titles_turn; /* of the targets */
	struct pythons pythons;
	uint64_t losses_ns;  /* when they were last looked at */
	bool in_files;       /* probes are put there if they can be */
	uint64_t bystanders; /* calls, as of `bystanders_ns` */
	uint64_t bystanders_ns;
	struct map denied;    /* pid -> see live_scope.c */
	struct map denied_as; /* pid -> hash of its name when it was last asked for */
	struct live_answer answers[LIVE_ANSWERS];
	uint64_t dropped;          /* calls of those, which the kernel side has counted */
	int cgroup_fd;             /* of the scope's, for the kernel side; negative: none */
	struct mappings *mappings; /* NULL: searched for once a second */
	struct spawn spawn;
	bool spawned;
	bool command_done;
	int command_status; /* as wait(2) gives it */
	struct loop *loop;
	struct loop_source *drain_timer;
	sigset_t signals;    /* that the loop handles */
	uint64_t drain_ns;   /* current period */
	uint64_t drained_ns; /* all that happened until then has been handed over, or is held up */
	sigset_t original_mask;
	struct rlimit original_files;
	struct stack_taker *stacks;   /* NULL: none are taken */
	struct python_phases *python; /* NULL: none are made */
	int nvtx_fd; /* the probe in our library for NVTX; negative: it is not wanted */
	char nvtx_library[PATH_MAX];
	bool nvtx_environment;      /* it names that */
	int marks_fd;               /* the probe in our own program; negative: there is none */
	bool marks_refused;         /* one was for none of the targets, and a message has said so */
	char gpu_library[PATH_MAX]; /* that a command loads, if times of the GPU are wanted */
	int gpu_fd;                 /* of the probe in it; negative: there is none */
	bool gpu_environment;       /* its variables are in the command's environment */
	struct nvml *nvml;          /* NULL: it is not asked */
	struct nvml_snapshot *snapshot;
	struct loop_source *devices_source, *devices_timer;
	struct live_devices_told devices_told;
	bool devices_asked;    /* and not answered yet */
	bool devices_answered; /* NVML has, at least once */
	uint64_t devices_asked_ns;
	uint64_t devices_again_ns;        /* not to be asked before; 0: it answers */
	uint32_t devices_failures;        /* since it has answered last */
	uint64_t devices_refused_ns;      /* when a call that was refused memory was a reason to */
	struct loop_source *limits_timer; /* NULL: the kernel counts no device memory of cgroups */
	struct loop_source *limits_soon;  /* set when a call was refused memory: of its process, */
	struct limits_look *limits;       /* as it was then */
	int kernel_log_fd;                /* not above 0: there is none */
	struct loop_source *host_timer;   /* NULL: the host is not looked at */
	uint64_t host_looked_ns, host_cost_ns; /* when last, and the CPU time that it took */
	uint64_t host_wait_ns;                 /* until the next time */
	int64_t host_credit_ns;                /* CPU time that looks may still take... */
	uint64_t host_credited_ns;             /* ...as of then */
	size_t host_turn;                      /* of the targets, where there are very many */
	uint64_t counted_ns;                   /* when counted launches were last looked at */
	struct loop_source *asks_timer;        /* NULL: no process is listened to */
	uint64_t asks_wait_ns;                 /* its period */
	uint64_t bulk_removed_ns;              /* when the probes of bulk calls were */
	bool stopping;
	bool detaching; /* still, when the capture is over */
	enum live_reason reason;
	uint64_t start_cpu_ns;
	uint64_t end_ns;          /* when the end began: detaching may take long */
	bool interrupted;         /* once already */
	int err;                  /* of the callbacks */
	uint64_t dropped_notices; /* how often records of mapped files were dropped */
	/* Descendants that use CUDA and are not traced, and that a message has named. */
	pid_t untraced[LIVE_UNTRACED];
	size_t untraced_count;
	bool late_said; /* that a process of a command, or a followed one, was attached to late */
	bool cure_said;
	struct map
		late_files; /* of which was said, with an open scope, that one was late in them */
	uint64_t
		keep_wait_ns; /* between tries to keep those that could not be; 0: there are none */
	uint64_t keep_ns;     /* when the next one is due */
	bool late_alone_said; /* the same of a file that has its probes in each process alone */
	size_t untraced_before; /* those that used it before anything was attached to */
	struct live_forks forks;
	struct live_moves moves;
};

/*
 * live_markers.c: --markers=inject, and memscope-bpf mark. open returns 0 or -errno, logged. The
 * environment is that of the command, between the two. take: makes what was said from outside a
 * record of each target that it is for; returns what the feed did.
 */
int live_markers_open(struct live *live);
void live_markers_close(struct live *live);
void live_markers_begin_environment(struct live *live);
void live_markers_end_environment(struct live *live);
int live_markers_take(struct live *live, const struct ms_marker *marker);

/* live_stacks.c: what every record takes but counted launches; returns live->err. */
int live_feed(struct live *live, void *record, size_t length);

/* live.c */
int live_watch_exit(struct live *live, struct target *target);
/* Launches that were counted; returns what the feed did. */
int live_feed_counted(void *context, void *record, size_t length);

/* As live_drain(), which hands over what has happened unless it is held up; but waits for that. */
void live_drain_all(struct live *live);

/*
 * live_files.c: probes in files. They are wanted if processes are traced that are not asked for one
 * by one, the kernel side can know which, and others keep their return addresses.
 */
bool live_wants_files(struct live *live, enum strategy strategy);
void live_close_files(struct live *live);
/* A file is about to be written to: its probes go, and with them those of the targets. */
void live_leave_written(struct live *live);
/* Looks now and then at what they cost others, and gives them up if it is too much. */
void live_look_at_bystanders(struct live *live);
/* The kernel side has admitted a process that was not known, by its first call. */
int live_admitted(struct live *live, const struct ms_process *admission);
/* A child of a target is gone before it could be looked at. */
void live_child_gone(struct live *live, const struct ms_process *fork);

/*
 * live_untraced.c. Before anything is attached to, and when a process that is no target has mapped
 * a file.
 */
void live_warn_untraced_before(struct live *live);
void live_warn_untraced(struct live *live, pid_t pid, const struct proc_mapping *mapping);

/*
 * live_moves.c: a process has been moved to another cgroup. open: once the programs are loaded, and
 * when there is another policy. take: returns live->err. look: at those of which it has heard,
 * which may be let in unless the capture is stopping. waits: whether it has heard of that process,
 * where it matters, and has not looked yet.
 */
void live_moves_open(struct live *live);
bool live_move_waits(const struct live *live, pid_t pid);
int live_moves_take(struct live *live, const struct ms_event *move);
void live_moves_look(struct live *live);
/* Says who is denied no more, but was shown as ended, and so is not traced. */
void live_say_left_out(struct live *live);

/* live_forks.c: a target has forked. */
void live_forks_add(struct live *live, const struct ms_process *fork);

/*
 * live_devices.c. start: before there are threads. end: while all targets are there. see: of a call
 * that was captured, which may be a reason to ask. open returns 0 or -errno.
 */
void live_devices_start(struct live *live);
int live_devices_open(struct live *live);
void live_devices_see(struct live *live, const struct ms_call *call);
void live_devices_end(struct live *live);
void live_devices_close(struct live *live);

/* live_limits.c. see: as above. open returns 0 or -errno. */
int live_limits_open(struct live *live);
void live_limits_see(struct live *live, const struct ms_call *call);
/* Of a process; NULL: of none of its cgroups anything is said. Returns what the feed did. */
int live_limits_feed(struct live *live, const struct dmem *dmem, struct target *target,
		     uint64_t ts_ns);
void live_limits_close(struct live *live);

/* live_host.c. end: while all targets are there. open returns 0 or -errno. */
int live_host_open(struct live *live);
/* live_placement.c: of a process that is looked at. Returns 0 or -errno. */
int live_placement_feed(struct live *live, const struct target *target, uint64_t ts_ns);
void live_host_end(struct live *live);
void live_host_close(struct live *live);

/* Where the kernel's log cannot be read, there is nothing to do: a message says so. */
int live_kernel_log_open(struct live *live);
/* Feeds what it says of devices and has not been read. Returns what the feed did. */
int live_kernel_log_take(struct live *live);
void live_kernel_log_close(struct live *live);

/*
 * live_asks.c: on which devices the threads of a process are that was running. begin: it has all
 * other probes, and records nothing before this. hear: of a call that was captured. end: it has
 * executed a program, or one of the files is about to be written to.
 */
void live_asks_begin(struct live *live, struct target *target);
void live_asks_hear(struct live *live, const struct ms_call *call);
void live_asks_end(struct live *live, struct target *target);

/* live_stacks.c: once the programs are loaded and there is a loop. Returns 0 or -errno, logged. */
int live_stacks_open(struct live *live);
/* All records have been fed: phases that are made from stacks end. Returns live->err. */
int live_stacks_end(struct live *live);
void live_stacks_close(struct live *live);

/*
 * live_gpu.c: what a command says of its GPU's times. open: once the programs are loaded; returns 0
 * or -errno, logged. Between begin and end this program has the environment for the command.
 */
int live_gpu_open(struct live *live);
void live_gpu_begin_environment(struct live *live);
void live_gpu_end_environment(struct live *live);
void live_gpu_close(struct live *live);

/* live_targets.c. Each returns 0, or -errno, logged. */
int live_open_targets(struct live *live);
/* Children are traced, too. */
bool live_follows(const struct live *live);
/* Whether that very process is a target, even one that has ended. */
bool live_is_target(const struct live *live, pid_t pid, uint64_t start_ns);
/* The target with that pid; one that is gone is forgotten: another process may have it by now. */
struct target *live_living(struct live *live, pid_t pid);
/*
 * `program`: what the process is about to execute, or NULL. `if_late`: what its ATTACH record
 * (which is fed later) says if the driver was mapped before it had probes (enum ms_attach_flags).
 * `began_ns`: when it began, CLOCK_MONOTONIC, if that is known better than by its start; or 0.
 * `mapped_ns`: when it mapped the first file that is of interest, if that is known; or 0.
 */
struct live_newcomer {
	pid_t pid;
	const char *program;
	uint64_t began_ns, mapped_ns;
	uint32_t if_late;
	enum log_level level;
	bool named;      /* by the user: no child of another target, and not found */
	bool has_called; /* before it was in the scope: it may hold memory */
	/*
	 * The capture has begun, and there is no record of the process but what it does: if it ends
	 * while it is being attached to, who it was is fed all the same.
	 */
	bool is_unheard;
};
int live_add_target(struct live *live, const struct live_newcomer *newcomer,
		    struct target **target);
int live_feed_attach(struct live *live, struct target *target);
/* Who the process is, ahead of the record that says what it does. */
int live_feed_identity(struct live *live, const struct ms_event *next);

/*
 * Now and then, some of the targets are asked for their names: the titles of those with another one
 * are looked at. open returns 0 or -errno.
 */
int live_titles_open(struct live *live);
void live_titles_close(struct live *live);

/* It may have another title, cgroup or container since: feeds who it is by now, if so. */
int live_renew_identity(struct live *live, struct target *target);

/* What the kernel side says of who a process is: it is fed if nothing was known of a target. */
int live_take_who(struct live *live, const struct ms_who *record, size_t length);

/* MS_TARGET_UNSAID if the kernel side has not said it yet, else 0. */
uint32_t live_who_flags(const struct live *live, const struct target *target);
int live_feed_visible(struct live *live, const struct ms_event *after);
int live_announce_targets(struct live *live);
/* What the rings hand over. */
int live_take(void *context, void *record, size_t length);
/* ---- live_late.c ---- */

/* Probes what processes would map, which may be about to, as far as that can be foreseen. */
void live_expect(struct live *live);

/*
 * A target that had mapped a driver before that got its probes, which was after `since_ns`, is
 * announced once more, as one that may hold more than was seen. `began_ns`: when attaching to it
 * began; `flags`: as for `if_late`. Returns whether it is one.
 */
bool live_announce_if_late(struct live *live, struct target *target, uint64_t since_ns,
			   uint64_t began_ns, uint32_t flags);

/*
 * It was announced so, with an open scope, in which that is no one's mistake: a message says it of
 * the first process that is late in a file. If only its first call shows whether it has missed any
 * (MS_ATTACH_BEGUN), none does.
 */
void live_say_late(struct live *live, const struct target *target);

/* Files that could not be kept for the next start are tried again when it is time, and at last. */
void live_late_keep(struct live *live, bool last);

/* ---- live_scope.c ---- */

/* In the map of denied ones, below when it began: it has been handed over before. */
#define LIVE_DENIED_WAS_TARGET 1ull
/* It has been shown as ended: it is no other one if the rules change, and stays denied. */
#define LIVE_DENIED_SHOWN_ENDED 2ull
#define LIVE_DENIED_FLAG_BITS 2

static inline uint64_t live_denied_began(uint64_t denied)
{
	return denied >> LIVE_DENIED_FLAG_BITS;
}

/* A target that is denied by now: for who sees the records, it ends here, and stays so. */
void live_show_ended(struct live *live, pid_t pid, uint64_t start_ns);

/*
 * Whether the policy denies that process, or it is none of those who were asked for. It is looked
 * at if that is not known yet. Then the kernel side does not let it in.
 */
bool live_denies(struct live *live, pid_t pid, uint64_t start_ns);
/* The same for one that the kernel side has let in. */
bool live_denies_admitted(struct live *live, const struct ms_process *admission);
/* Whether the policy denies each process of that name ("": it is not known). */
bool live_denies_name(const struct live *live, const char *comm);
/* The same for the child of a target: with -f, it is followed whoever it is. */
bool live_denies_child(struct live *live, pid_t pid, uint64_t start_ns);
/* The same for a target that has executed a program: what it did so far has been handed over. */
bool live_denies_program(struct live *live, const struct target *target);
/* Lets go of the targets that the policy denies by now. */
void live_deny_targets(struct live *live);
/* A record that it has ended; how is not known. */
void live_feed_exit(struct live *live, pid_t pid, uint64_t start_ns);
/* A target that the policy denies by now: for who sees the records, it ends here. */
void live_let_go_denied(struct live *live, struct target *target);
/* Whether it is known that the policy denies the process with that pid. */
bool live_is_denied(const struct live *live, pid_t pid);
/*
 * Whether a file may be opened that a process had mapped which cannot be asked for any more: any,
 * if none is denied; else those alone that are known to be of CUDA.
 */
bool live_may_open(const struct live *live, const struct proc_mapping *mapping);
/* Whether the record is a denied process's, and not to be handed over; it may be its last. */
bool live_drops(struct live *live, const struct ms_event *event);
/* A process has mapped a file: lets it in if the scope does. Returns whether it is a target. */
bool live_admit_mapped(struct live *live, pid_t pid, const struct proc_mapping *mapping,
		       uint64_t mapped_ns);
/* Processes that are running: at the beginning (later ones are noticed when they map something), */
int live_open_scope(struct live *live);
/* ... and later, where nothing gives notice. */
void live_search_scope(struct live *live);
/* Of one process that has been moved, or of all: asks again of those that were refused, too. */
void live_search_moved(struct live *live, pid_t pid);
void live_search_all_moved(struct live *live);
/* Whether what includes it as a target does so no more, by where it is. */
bool live_has_left(struct live *live, const struct target *target);
void live_close_scope(struct live *live);

/* ---- live_targets.c ---- */

/* For struct mappings_visitor: whether the scope is known to include the process. */
bool live_note_mapped(pid_t pid, const struct proc_mapping *mapping, void *context);
/* The process has mapped a file; `in_scope`: what live_note_mapped() said of it. */
void live_mapped(pid_t pid, const struct proc_mapping *mapping,
		 const struct mappings_moment *moment, bool in_scope, void *context);
/* The same when nothing is attached to any more. */
void live_mapped_last(pid_t pid, const struct proc_mapping *mapping,
		      const struct mappings_moment *moment, bool in_scope, void *context);
/* Looks for everything that may have been missed. */
void live_search(struct live *live);
/* A target has exited; its status if it is the command, whose record might have been lost. */
void live_forget(struct live *live, pid_t pid, const int *status);

/* Blocks what ends the capture, triggers or breaks a lease: `fn` gets it. Returns 0 or -errno. */
int live_open_signals(struct live *live, loop_signal_fn *fn);

/* Those that came too late to be read are dropped. */
void live_forget_signals(struct live *live);

/* ---- files of the driver: live_driver_files.c ------------------------------------------------ */

/* A record of the driver's: MS_TYPE_OBJECT or MS_TYPE_RANGE. */
void live_driver_files_see(struct live *live, const struct ms_event *event);

/* They will not be looked at any more. */
void live_driver_files_forget(struct live *live);

/* Ends what was made by files that are closed. Returns live->err. */
int live_driver_files_look(struct live *live);

/* Whether a file by which the process made a client was open when that was looked for. */
bool live_driver_files_has(const struct live *live, pid_t pid);

#endif /* MEMSCOPE_CAPTURE_LIVE_INTERNAL_H */
