/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process keeps that is talked to by clients: no user's files, no privilege, few system
 * calls.
 */
#ifndef MEMSCOPE_AGENT_SANDBOX_H
#define MEMSCOPE_AGENT_SANDBOX_H

/*
 * Gives up all capabilities and, of root, the user; bounds its memory and descriptors; and has the
 * kernel refuse system calls that serving does not need: files cannot be opened by name any more,
 * and no program can be executed. Returns 0 or -errno, logged.
 */
int sandbox_enter(void);

#endif /* MEMSCOPE_AGENT_SANDBOX_H */
