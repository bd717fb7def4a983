/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process of ours that does what must not be cut short. Should this program be killed (SIGKILL)
 * while it is in the kernel to attach or detach, the kernel cannot finish, and breakpoints stay in
 * the target: "failed to unregister, leaking uprobe". A helper is another process, in another
 * session, so it is not killed along; it ends by itself when no process can ask it for anything.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_HELPER_H
#define MEMSCOPE_CAPTURE_ATTACH_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct helper {
	pid_t pid;
	int fd; /* of the socket to it; -1: there is none */
};

/*
 * Starts one, whose only job is `serve`; it is called with the other end of the socket, and should
 * return once helper_receive() does not give it a message any more. Unless it keeps the descriptors
 * of this process, it has none but that. Returns 0 or -errno.
 */
int helper_start(struct helper *helper, const char *name, bool keeps_fds, void (*serve)(int fd));

/* Ends the calling one, in a way that cannot be cut short. It does so when `serve` returns. */
_Noreturn void helper_exit(void);

/* Says that there is none, and what that costs: its caller goes on and does the work itself. */
void helper_warn_missing(const char *name, int err);

/* Returns when it has done everything and ended. May be called twice. */
void helper_end(struct helper *helper);

/* What it has used so far. */
uint64_t helper_cpu_ns(const struct helper *helper);

#define HELPER_FDS 200 /* per message; the kernel takes up to SCM_MAX_FD, 253 */

/*
 * Sends a message, and copies of descriptors with it. Returns 0 or -errno; -EAGAIN only if it is
 * told not to wait.
 */
int helper_send(int fd, const void *message, size_t bytes, const int *fds, size_t count, bool wait);

/*
 * Receives one. Returns its length, 0 if the other end is closed, or -errno. In: the room in `fds`,
 * out: how many there are.
 */
ssize_t helper_receive(int fd, void *message, size_t bytes, int *fds, size_t *count);

#endif /* MEMSCOPE_CAPTURE_ATTACH_HELPER_H */
