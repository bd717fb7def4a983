/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process keeps that is talked to by clients: no user's files, no privilege.
 */
#ifndef MEMSCOPE_AGENT_SANDBOX_H
#define MEMSCOPE_AGENT_SANDBOX_H

/*
 * Gives up all capabilities and, of root, the user; no program that is executed gives any back.
 * Returns 0 or -errno, logged.
 */
int sandbox_enter(void);

#endif /* MEMSCOPE_AGENT_SANDBOX_H */
