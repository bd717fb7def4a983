/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What /proc says of a process. Everything here can be gone a moment later: every function reports
 * that as -ESRCH.
 */
#ifndef MEMSCOPE_HOST_PROC_H
#define MEMSCOPE_HOST_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_COMM_BYTES 16

struct proc_info {
	pid_t pid;
	pid_t tgid;        /* differs from pid for a thread that is not the first */
	pid_t parent;      /* 0: none that this PID namespace knows */
	uint64_t start_ns; /* CLOCK_BOOTTIME, in steps of 10 ms */
	char comm[PROC_COMM_BYTES];
	bool zombie;
	bool kernel_thread;
};

/* Returns 0, -ESRCH if there is no such process, or another -errno. */
int proc_read(pid_t pid, struct proc_info *info);

/*
 * Calls `visit` for every process that this PID namespace knows, until it returns non-zero; returns
 * that, or 0, or -errno: /proc cannot be read.
 */
int proc_each(int (*visit)(pid_t pid, void *context), void *context);

struct proc_mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint64_t dev, inode;
	bool executable;
	const char *path; /* as the process sees it; " (deleted)" may follow; or "[vdso]" ... */
};

/*
 * Calls `visit` for every mapping that is of a file or that the kernel has given a name, until it
 * returns non-zero; returns that, or 0, or -errno. A mapping's path dies with the call.
 */
int proc_each_mapping(pid_t pid, int (*visit)(const struct proc_mapping *mapping, void *context),
		      void *context);

/*
 * Calls `visit` for every child of any of the process's threads, until it returns non-zero; returns
 * that, or 0 (also where the kernel does not say: CONFIG_PROC_CHILDREN), or -ESRCH.
 */
int proc_each_child(pid_t pid, int (*visit)(pid_t child, void *context), void *context);

/*
 * Copies the value of an environment variable the process was started with; "" if it has none.
 * Returns 0 or -errno.
 */
int proc_environment(pid_t pid, const char *name, char *value, size_t value_bytes);

/* Opens a mapped file by the mapping itself, so that it is the right one even if it was deleted. */
int proc_open_mapping(pid_t pid, uint64_t start, uint64_t end);

/*
 * Reads a NUL-terminated string from the memory of a process. Returns its length with the NUL, at
 * most `bytes` (then it is cut short, and terminated), or -errno.
 */
ssize_t proc_read_string(pid_t pid, uint64_t addr, char *text, size_t bytes);

/* Some of a process's memory. */
struct proc_place {
	uint64_t addr;
	size_t bytes;
};

/*
 * Reads all the places into `bytes`, one after the other, with as few system calls as possible.
 * Returns 0, or -errno: at least one of them cannot be read.
 */
int proc_read_places(pid_t pid, const struct proc_place *places, size_t count, void *bytes);

/*
 * Whether the process is in the cgroup of that path, or in one below it, in the hierarchy whose
 * directory has that name ("pids", "systemd"; "unified" is version 2; NULL: in any).
 */
bool proc_in_cgroup(pid_t pid, const char *hierarchy, const char *path);

/* The effective capabilities of this process, as a bit set of CAP_*. */
uint64_t proc_capabilities(void);

#endif /* MEMSCOPE_HOST_PROC_H */
