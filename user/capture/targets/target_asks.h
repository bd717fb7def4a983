/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process that was running before it was attached to asks CUDA: on which device a thread is
 * (bpf/asks.def). A part of struct target. Programs ask thousands of times a second, so that these
 * functions have probes only until nothing new is heard, and again when an allocation comes from a
 * thread of which nothing is known.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_TARGET_ASKS_H
#define MEMSCOPE_CAPTURE_TARGETS_TARGET_ASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/attach/detacher.h"
#include "capture/attach/library.h"
#include "capture/attach/programs.h"

#define TARGET_ASKS_FILES 4 /* a driver, and runtimes; more are not listened to */

struct target_asks {
	struct target_asks_file {
		const struct library *library;
		int fd; /* of the library */
		int links[2];
		size_t links_count; /* 0: it has no probes */
		uint32_t held;      /* by the detacher: see detacher_hold() */
	} files[TARGET_ASKS_FILES];
	size_t count;
	bool late; /* the process may have said something before it was attached to */
	bool listening;
	bool wanted;             /* again, since an allocation came from an unknown device */
	uint64_t calls, lessons; /* when the last lesson was heard of */
	uint64_t heard;          /* calls, when last looked at */
	uint64_t lesson_ns;      /* that, or when listening began; CLOCK_MONOTONIC */
	uint64_t pause_ns;       /* until it may begin again */
	uint64_t closed_ns;
};

/* What is needed to attach and to detach. */
struct target_asks_site {
	struct programs *programs;
	struct detacher *detacher;
	pid_t pid;
};

/* A file that the process has mapped; `fd` is it. Only noted. */
void target_asks_add(struct target_asks *asks, const struct library *library, int fd);

bool target_asks_of(const struct target_asks *asks, const struct library *library);

/* All other probes are in place in a process that was running: listens to it. */
void target_asks_begin(struct target_asks *asks, const struct target_asks_site *site);

/*
 * Now and then: stops when nothing new is heard any more, and begins again if that is wanted.
 * Returns whether it has asked since the last look: then the next one should come soon.
 */
bool target_asks_look(struct target_asks *asks, const struct target_asks_site *site,
		      uint64_t now_ns);

/* The process has executed a program, which was seen from its beginning; or nothing is traced. */
void target_asks_close(struct target_asks *asks, const struct target_asks_site *site);

#endif /* MEMSCOPE_CAPTURE_TARGETS_TARGET_ASKS_H */
