/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the service manager is told (sd_notify(3)): datagrams to the socket that NOTIFY_SOCKET
 * names.
 */
#ifndef MEMSCOPE_AGENT_NOTIFY_H
#define MEMSCOPE_AGENT_NOTIFY_H

#include <stdint.h>

struct notify {
	int fd;               /* -1: there is no service manager that wants to know */
	uint64_t watchdog_ns; /* it wants to hear so often that the agent lives; 0: not at all */
};

/* Reads the environment and takes these variables out of it: they are not for children. */
void notify_open(struct notify *notify);

/* "READY=1\nSTATUS=..." and the like. It never waits: a manager that does not read is not told. */
void notify_say(const struct notify *notify, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void notify_close(struct notify *notify);

#endif /* MEMSCOPE_AGENT_NOTIFY_H */
