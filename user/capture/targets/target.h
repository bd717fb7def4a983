/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traced processes and what is attached to each: which files of a process have functions of the
 * probe table, those mapped now and those it is likely to map.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_TARGET_H
#define MEMSCOPE_CAPTURE_TARGETS_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/string.h"
#include "capture/attach/attachment.h"
#include "capture/targets/target_asks.h"
#include "capture/targets/target_ioctl.h"
#include "capture/targets/target_markers.h"
#include "capture/targets/target_tensors.h"
#include "host/proc.h"
#include "host/title.h"

/* The steps in which the kernel says when a process began. */
#define TARGET_START_NS 10000000

struct target {
	pid_t pid;
	uint64_t start_ns;
	uint64_t began_ns; /* by CLOCK_MONOTONIC, or up to TARGET_START_NS before */
	char comm[PROC_COMM_BYTES];
	int pidfd;                       /* readable once the process is gone */
	struct loop_source *exit_source; /* NULL: there is no callback then */
	bool exit_seen;                  /* its record has come: the kernel side has forgotten it */
	struct attachment *attachments;
	size_t count, capacity;
	uint32_t attach_flags; /* enum ms_attach_flags */
	uint64_t attached_ns;  /* when that began, CLOCK_MONOTONIC */
	uint64_t announced_ns; /* when that was found: calls until then may have been missed */
	const struct library *late_in; /* what it had mapped before that had probes; may be NULL */
	bool mapped;                   /* one of them is mapped in the process, not only expected */
	/* A CUDA library of it that cannot be opened; NULL: there is none. And why: errno. */
	char *unread;
	int unread_error;
	bool unread_said;
	uint64_t limits_ns;           /* when it was looked at what its cgroup may use of devices */
	bool limits_said;             /* the last look at that said something */
	bool identified;              /* who it is has been fed */
	struct string identity;       /* the texts that were */
	struct title title;           /* which it has given itself so far */
	char titled[PROC_COMM_BYTES]; /* its name when that was last looked at */
	bool view_known;              /* which devices it sees has been fed */
	bool left;                    /* the cgroup that was asked for, and is traced on */
	bool named;                   /* by -p, or it is the command: not found, and no child */
	struct target_ioctl ioctl;
	struct target_tensors tensors;
	struct target_markers markers;
	struct target_asks asks;
	bool missed; /* calls were missed, or may have been, and no ATTACH says so */
};

/* From when on a library had its probes in a process. */
struct target_probed {
	const struct library *library;
	uint64_t since_ns; /* CLOCK_MONOTONIC */
};

#define TARGET_PROBED_MOST 8 /* more are not remembered */

/* What is to be known of a process when it hears late that it had mapped a file. */
struct target_probes {
	struct target_probed probed[TARGET_PROBED_MOST];
	size_t count;
	uint64_t announced_ns; /* as in struct target */
};

/*
 * A process that was a target, or was to be one, and has ended. Another one with its pid cannot be
 * told from it: the pid is all that the kernel says of who has mapped a file.
 */
struct target_ended {
	pid_t pid;
	struct target_probes probes;
	bool missed; /* it has been counted */
	/*
	 * It was forked by a process with the driver mapped, whose probes it had not, and was
	 * gone before it could be looked at: if it ends without a program of its own, it may have
	 * called.
	 */
	bool unseen;
	/* The same, if its parent had a driver by `forked_ns`, which is yet to be heard; or 0. */
	pid_t parent;
	uint64_t forked_ns;
};

#define TARGETS_ENDED 1024

struct targets {
	struct target **targets;
	size_t count, capacity;
	bool mapped;   /* one of them has had a file mapped that has functions of the table */
	size_t unread; /* how many had a CUDA library that cannot be opened */
	size_t missed; /* at least so many called functions, perhaps, before they had probes */
	struct target_ended ended[TARGETS_ENDED]; /* the last ones */
	size_t ended_count;
	struct library_cache cache;
	struct programs *programs;
	struct file_probes *file_probes;    /* NULL: all are attached to in processes */
	bool map_files;                     /* FEATURE_MAP_FILES */
	bool markers_found[MS_MARKER_ROWS]; /* by row: a process has had it */
	bool tensors;                       /* frameworks' allocators are probed, too */
	bool tensors_missed;                /* of a process that has very many, which was said */
	struct detacher *detacher;          /* NULL: probes are removed at once */
	struct loop *loop;                  /* that `exit_source` is of */
};

void targets_fini(struct targets *targets);

/* It may be gone, and the pid another process's. */
struct target *targets_find(const struct targets *targets, pid_t pid);

/* Whether all of the process has ended: a first thread may do so before others. */
bool target_pidfd_has_ended(int pidfd);
bool target_is_gone(const struct target *target);

bool target_has_probes(const struct target *target);

/*
 * Adds a process, without attaching anything yet. Returns 0 and the target, or -errno, logged at
 * `level`: -ESRCH if there is no such process, it is a zombie or a kernel thread.
 */
int targets_add(struct targets *targets, pid_t pid, enum log_level level, struct target **target);

/*
 * It mapped the first file that can have probes then. Whether these were in time is asked of when
 * it began, of which only the step is known: within that, what it had not mapped it could not call.
 */
static inline void target_mapped_first(struct target *target, uint64_t mapped_ns)
{
	const uint64_t latest_ns = target->began_ns + TARGET_START_NS;

	if (mapped_ns > target->began_ns)
		target->began_ns = mapped_ns < latest_ns ? mapped_ns : latest_ns;
}

/*
 * The process has executed a program, and has its name now: forgets what could not be attached to;
 * and if it was not its first thread that did, all probes, which do nothing any more.
 * target_attach() looks for everything anew.
 */
void target_executed(struct target *target, const struct ms_process *execution);

/* Those that were attached to the process alone record from now on. */
void target_opened(struct target *target);

/* It has ended with this status: a message, if its probes may be why. */
void target_warn_trapped(const struct target *target, int status);

/* Probes, in all processes, the files that this one would load: another may do so at any time. */
void targets_expect(struct targets *targets, pid_t pid);

/* The same of one file; `context`: the targets. */
int targets_expect_file(int fd, const char *path, void *context);

/* Where its `asks` are. */
struct target_asks_site target_asks_site(const struct targets *targets,
					 const struct target *target);

/* The probes of the library in all processes are gone: the target has them no more, if it had. */
bool target_lost_shared(struct target *target, const struct library *library);

/*
 * Whether the process may have called functions of the driver before they had their probes: it has
 * mapped a file by now that was attached to after `since_ns`, from which on it may have been mapped
 * (the process's beginning is 0). `*library` is that file, NULL if it is not known.
 */
bool target_was_late(const struct targets *targets, const struct target *target, uint64_t since_ns,
		     const struct library **library);

/* Says what was found until then not to have been probed: attachment_mapped(). */
void targets_report(struct targets *targets, uint64_t until_ns);

/* Detaches from the process, without waiting for it to be done, and forgets it. */
void targets_remove(struct targets *targets, struct target *target);

/*
 * Attaches to what the process has mapped and to what it is likely to map; if it is about to
 * execute `program` (else NULL), to that too. Returns 0, or -errno: logged, but for -ESRCH: the
 * process is gone.
 */
int target_attach(struct targets *targets, struct target *target, const char *program);

/*
 * Attaches to a file that the process has just mapped, if it is worth it. Returns whether it
 * is.
 */
bool target_mapped(struct targets *targets, struct target *target,
		   const struct proc_mapping *mapping);

/* ---- whose calls were missed: target_missed.c ---- */

/*
 * A process has ended. It was a target; or (NULL) it was to be one, and ended before: then nothing
 * of it had probes.
 */
void targets_add_ended(struct targets *targets, pid_t pid, const struct target *target);

/*
 * A process that targets_add_ended() was told of has been forked by a target whose probes it had
 * not: it is counted as missed, unless it has been, or executes a program before it ends.
 */
void targets_unseen(struct targets *targets, pid_t pid);
/*
 * The same of one that was forked at `forked_ns`, if it turns out that its parent had mapped a
 * driver by then: records of what is mapped may be read later than those of forks.
 */
void targets_unseen_perhaps(struct targets *targets, pid_t pid, pid_t parent, uint64_t forked_ns);
/* It has executed a program, or ended. */
void targets_unseen_changed(struct targets *targets, pid_t pid, bool executed);

/*
 * A target has mapped a file, before it got probes in it, perhaps. If it may have called functions
 * until then, and cannot be announced as one that did, since the mapping is gone already (the
 * process has ended or executed another program), or because tracing ends (`last`): it is missed.
 */
void target_mapped_late(struct targets *targets, struct target *target,
			const struct proc_mapping *mapping, uint64_t mapped_ns, bool last);

/*
 * A process that is not a target (any more) had mapped a file. If it was a target, or was to be one
 * (`in_scope`), it is gone, or tracing ends before it could be attached to (`last`), and the file
 * has functions of the table (known only if it was read before, or can be found by its path), then
 * the process is counted in `mapped` and, if it may have called functions before they had probes,
 * in `missed`.
 */
void targets_mapped_late(struct targets *targets, pid_t pid, bool in_scope,
			 const struct proc_mapping *mapping, uint64_t mapped_ns, bool last);

#endif /* MEMSCOPE_CAPTURE_TARGETS_TARGET_H */
