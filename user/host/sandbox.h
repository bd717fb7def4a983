/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes from the processes beside the capture all that they do not need: files, privileges, and
 * most system calls.
 */
#ifndef MEMSCOPE_HOST_SANDBOX_H
#define MEMSCOPE_HOST_SANDBOX_H

/*
 * For the process that serves clients. Gives up all capabilities and, if the process is root's, its
 * user. Limits its memory and descriptors. Makes the kernel refuse the system calls that serving
 * does not need: afterwards no file can be opened by name, and no program executed. Returns 0 or
 * -errno, logged.
 */
int sandbox_enter(void);

/*
 * For a process that writes files in that directory. It keeps its user, whose files they are.
 * Otherwise as above, and with the system calls for files. Where the kernel has Landlock (Linux
 * 5.13), only files in that directory can be opened.
 */
int sandbox_enter_directory(const char *directory);

/*
 * For a process that connects to others. As the first, but it may open sockets and, to resolve
 * names and to check certificates, have threads and read files. Where the kernel has Landlock, only
 * files under /etc, /usr and the like can be opened, and only to read them.
 */
int sandbox_enter_network(void);

/*
 * For a process that reads files that others have opened for it and that nobody trusts. As the
 * first, but large files may be mapped.
 */
int sandbox_enter_reading(void);

#endif /* MEMSCOPE_HOST_SANDBOX_H */
