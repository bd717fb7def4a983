/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's numbers for the machine, and for how much a process uses it: /proc, /sys and
 * cgroups. A number that cannot be read is unknown. No function here takes a lock of the process.
 *
 * `root` stands for "/". The caller fills in the headers of the records.
 */
#ifndef MEMSCOPE_HOST_HOST_LOAD_H
#define MEMSCOPE_HOST_HOST_LOAD_H

#include <stddef.h>
#include <sys/types.h>

#include "abi.h"

#define HOST_LOAD_THREADS 256 /* of a process with more, the others' waits are not known */

/* Memory and pressure of the machine. */
void host_load_machine(const char *root, struct ms_host *host);

/* CPU time, waits, faults and memory of a process, and of its cgroup. */
void host_load_process(const char *root, pid_t pid, struct ms_load *load);

#endif /* MEMSCOPE_HOST_HOST_LOAD_H */
