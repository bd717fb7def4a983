/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes from the process that serves clients all that it does not need: files, privileges, and most
 * system calls.
 */
#ifndef MEMSCOPE_AGENT_SANDBOX_H
#define MEMSCOPE_AGENT_SANDBOX_H

/*
 * Gives up all capabilities and, if the process is root's, its user. Limits its memory and
 * descriptors. Makes the kernel refuse the system calls that serving does not need: afterwards no
 * file can be opened by name, and no program executed. Returns 0 or -errno, logged.
 */
int sandbox_enter(void);

#endif /* MEMSCOPE_AGENT_SANDBOX_H */
