/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches the BPF programs to the functions of a library, in one process or in all.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_ATTACHMENT_H
#define MEMSCOPE_CAPTURE_ATTACH_ATTACHMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/attach/detacher.h"
#include "capture/attach/library.h"
#include "capture/attach/programs.h"

/* What is attached to one library in one process. */
struct attachment {
	const struct library *library;
	struct attachment_bulk *bulk; /* NULL: their probes are not apart */
	int *fds;
	size_t count, capacity;
	struct placement_wants wants; /* of these, those that are wanted have one */
	uint32_t driver_unseen; /* kinds of driver functions (bit set) of which some have none */
	size_t functions;       /* that have a probe */
	uint64_t attached_ns;   /* attachment_since() */
	uint32_t *refused;      /* rows of those that the kernel did not let have one */
	size_t refused_count, refused_capacity;
	bool new_said;      /* its functions that are not known have been reported */
	bool sees_ioctls;   /* in every process: those that the library makes are seen, too */
	bool may_pass;      /* nothing is attached, but the next attempt may succeed */
	bool seen;          /* by attachment_mapped() */
	size_t plain;       /* of what was seen, functions without a probe; see there */
	uint32_t plain_row; /* one of them */
	uint64_t seen_ns;   /* CLOCK_MONOTONIC */
	const struct attachment
		*shared;           /* the one in every process that this stands for; or NULL */
	struct detacher *detacher; /* is to detach, whatever happens to this process; may be NULL */
	uint32_t held;             /* by the detacher: see detacher_hold() */
};

/* Where attachment_open() attaches. */
struct syscall_tail;

struct attachment_site {
	const char *path; /* must lead to the library's file */
	const struct library *library;
	pid_t pid;      /* 0: every process that has mapped it or will */
	uint32_t below; /* kinds (bit set) whose calls the driver's probes show */
	uint32_t file;  /* then its number: programs_new_file(); else file_probes_before() */
	uint32_t kinds; /* of these alone (bit set); 0: of all */
	bool again;     /* it was tried before, and what is in the way was logged */
	const struct syscall_tail *tail; /* for ioctl(): the place behind its system call; NULL */
};

/*
 * Attaches to the library's functions. Returns 0 if at least one function got its
 * probe, or none was to get one: none is wanted, or the process has changed them all; those that
 * could not are logged. -ESRCH if the process is gone. On failure nothing stays attached, and there
 * is nothing to close.
 */
int attachment_open(struct attachment *attachment, struct programs *programs,
		    const struct attachment_site *site, struct detacher *detacher);

/* One that stands for another, which must outlive it. */
void attachment_share(struct attachment *attachment, const struct attachment *shared);

/*
 * The same for ioctl() of a C library (`site`'s library has it); or, in every process, for the stub
 * by which CUDA's driver calls that: what processes ask NVIDIA's kernel driver for. Without it that
 * is unknown, and all else is not. `fds` is NULL then.
 */
int attachment_open_ioctl(struct attachment *attachment, struct programs *programs,
			  const struct attachment_site *site, struct detacher *detacher);

/*
 * The same for the functions that a framework's allocator calls about itself (`frameworks` of
 * `site`'s library). Those that the process has changed are left out, which is logged.
 */
int attachment_open_framework(struct attachment *attachment, struct programs *programs,
			      const struct attachment_site *site, struct detacher *detacher);

/*
 * The same for the library's markers, but that it is not said which the process has changed: those
 * of which the code there is another one are left out.
 */
int attachment_open_markers(struct attachment *attachment, struct programs *programs,
			    const struct attachment_site *site, struct detacher *detacher);

/*
 * The process has the library mapped. If it had not when this was attached, the kernel has put the
 * probes in meanwhile, and has said nothing of those that it could not: this looks for them, once.
 * (As long as a record is still to be read, it may be a program that another thread than the
 * first has executed, which has no probes at all yet: so it is reported later.)
 */
void attachment_mapped(struct attachment *attachment, pid_t pid);

/* Says what was missing that was looked for until then. */
void attachment_report(struct attachment *attachment, pid_t pid, uint64_t until_ns);

/* The process has executed a program, and has its probes. */
void attachment_executed(struct attachment *attachment);

/* From when on its probes record, CLOCK_MONOTONIC; UINT64_MAX: they do not yet. */
static inline uint64_t attachment_since(const struct attachment *attachment)
{
	return attachment->shared ? attachment->shared->attached_ns : attachment->attached_ns;
}

/* What the probes of drivers show: bit sets of enum ms_row_kind. */
struct driver_view {
	uint32_t seen, unseen; /* of some function; of not all */
};

/* Adds what those of the attachment's library show, if there is a driver in it. */
void attachment_add_view(const struct attachment *attachment, struct driver_view *view);

/* Kinds of which every call that reaches a driver is seen there. */
static inline uint32_t driver_view_below(const struct driver_view *view)
{
	return view->seen & ~view->unseen;
}

/* Detaches, later: detacher_wait(). If there is no detacher (NULL): at once. */
void attachment_close(struct attachment *attachment);

#endif /* MEMSCOPE_CAPTURE_ATTACH_ATTACHMENT_H */
