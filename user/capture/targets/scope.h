/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes are traced that the user has not named: all of the machine, or those in a cgroup,
 * as far as they have functions of the probe table mapped.
 */
#ifndef MEMSCOPE_CAPTURE_TARGETS_SCOPE_H
#define MEMSCOPE_CAPTURE_TARGETS_SCOPE_H

#include <stdbool.h>
#include <sys/types.h>

#include "capture/targets/policy.h"
#include "capture/targets/target.h"
#include "ledger/process_selection.h"

struct scope {
	bool all;
	const char *cgroup;    /* its path in the hierarchy, "/a/b"; NULL: none */
	const char *hierarchy; /* name of its directory, with version 1; NULL: any */
	const pid_t *except;   /* a child of ours, which NVML has map the driver; NULL: none */
	const struct policy *policy; /* who of those is not traced after all; NULL: all are */
	const struct process_selection *selection; /* who of those alone is traced; NULL: all are */
	/*
	 * Whether a process would be denied if it were asked for now: what it has mapped is then
	 * not opened, but known by its name. NULL: none would be.
	 */
	bool (*would_deny)(pid_t pid, void *context);
	void *context;
};

static inline bool scope_is_open(const struct scope *scope)
{
	return scope->all || scope->cgroup;
}

/*
 * Opens the cgroup's directory in the hierarchy of version 2, by which the kernel side knows it.
 * Returns a descriptor, or -errno: -ENOENT if there is none, -EXDEV if another hierarchy has one
 * of the same path, whose processes are in the scope, too, or alone.
 */
int scope_open_cgroup(const struct scope *scope);

/* Whether the process, as long as it is there, is in the scope. */
bool scope_includes(const struct scope *scope, pid_t pid);

/*
 * Whether that is a file with traced functions, as far as this is known without opening it: it has
 * been read for another process, or is called as NVIDIA's driver or runtime is.
 */
bool scope_knows(const struct targets *targets, const struct proc_mapping *mapping);

/* Whether the process is in the scope and the mapping is of a file with traced functions. */
bool scope_wants(const struct scope *scope, struct targets *targets, pid_t pid,
		 const struct proc_mapping *mapping);

/* Whether the process is no target, and has such a file mapped. */
bool scope_uses(const struct scope *scope, struct targets *targets, pid_t pid);

/*
 * Calls `found` for each process in the scope that has such a file mapped. Returns 0, or -errno if
 * /proc cannot be read.
 */
int scope_search(const struct scope *scope, struct targets *targets,
		 void (*found)(pid_t pid, void *context), void *context);

#endif /* MEMSCOPE_CAPTURE_TARGETS_SCOPE_H */
