/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notifies the service manager (sd_notify(3)), with datagrams to the socket that NOTIFY_SOCKET
 * names.
 */
#ifndef MEMSCOPE_AGENT_NOTIFY_H
#define MEMSCOPE_AGENT_NOTIFY_H

#include <stdint.h>

struct notify {
	int fd;               /* -1: there is no service manager to notify */
	uint64_t watchdog_ns; /* how often it expects to hear that the agent lives; 0: never */
};

/* Reads its variables, and removes them from the environment, so that children lack them. */
void notify_open(struct notify *notify);

/* Sends "READY=1\nSTATUS=..." and the like. It never waits: if the socket is full, it gives up. */
void notify_say(const struct notify *notify, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void notify_close(struct notify *notify);

#endif /* MEMSCOPE_AGENT_NOTIFY_H */
