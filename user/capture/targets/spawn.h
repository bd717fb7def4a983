/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts a command that waits, before its first instruction, until the probes are in place.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_SPAWN_H
#define MEMSCOPE_CAPTURE_TARGETS_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct spawn {
	pid_t pid;
	int release_fd; /* a byte lets the command go; closing it ends it */
	int error_fd;   /* says why the command could not be executed */
};

/*
 * Whether there is anything that execvp() would try for the name. Returns 0 or -ENOENT, logged: to
 * be told before probes are attached, which can take long on a busy machine.
 */
int spawn_find(const char *name);

/* What the command gets that is not this program's own. */
struct spawn_options {
	const sigset_t *mask;       /* of signals */
	const struct rlimit *files; /* how many it may have open */
	bool to_stderr;             /* standard error for its standard output, too */
	bool no_terminal; /* nothing instead of its standard streams that are a terminal */
};

/* Forks; the child waits. Returns 0 or -errno, logged. */
int spawn_prepare(struct spawn *spawn, char *const *command, const struct spawn_options *options);

/* Lets the command run. Returns 0, or -errno if it could not be executed, logged. */
int spawn_release(struct spawn *spawn, const char *name);

/* Kills a command that was not released yet; harmless otherwise. */
void spawn_abort(struct spawn *spawn);

#endif /* MEMSCOPE_CAPTURE_TARGETS_SPAWN_H */
