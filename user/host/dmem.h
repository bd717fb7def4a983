/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory of devices a cgroup uses, and may use, as the kernel counts it: the dmem
 * controller of cgroup version 2 (Linux 6.14). Drivers take part in it as they like: amdgpu and xe
 * do, and NVIDIA's from R615 on. What it says is of all programs of a cgroup, whether traced or
 * not. What NVML says of such limits is another file's.
 *
 * Source: Documentation/admin-guide/cgroup-v2.rst and kernel/cgroup/dmem.c of Linux.
 */
#ifndef MEMSCOPE_HOST_DMEM_H
#define MEMSCOPE_HOST_DMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/cgroup_files.h"

#define DMEM_REGIONS 32
#define DMEM_NAME_BYTES 64
#define DMEM_PCI_BYTES 24

enum dmem_known {
	DMEM_GUARANTEED = 1,
	DMEM_LIMIT = 2,  /* the cgroup, or one that it is in, has one: all three members */
	DMEM_DEVICE = 4, /* both members: the machine's root can be seen */
};

struct dmem_region {
	char name[DMEM_NAME_BYTES]; /* the kernel's: "drm/0000:03:00.0/vram0" */
	uint32_t known;             /* bits of enum dmem_known */
	uint64_t used_bytes;        /* by the cgroup and those in it */
	uint64_t guaranteed_bytes;  /* dmem.min: not taken from it; NVIDIA's soft limit */

	/*
	 * Of the cgroup and those that it is in, the limit is that of the one which leaves least:
	 * there, an allocation fails first.
	 */
	uint64_t limit_bytes;
	uint64_t limit_used_bytes; /* by the cgroup whose limit it is, and those in it */
	size_t limit_path_bytes;   /* the beginning of `path` that names that cgroup */

	uint64_t capacity_bytes, device_used_bytes; /* of the region, by all cgroups */
};

struct dmem {
	char path
		[CGROUP_FILES_PATH_BYTES]; /* the nearest cgroup that has counters; "/": the root */
	struct dmem_region regions[DMEM_REGIONS];
	size_t count;
	bool cut; /* there are more */
};

/* Returns false if no device memory of the process's cgroup is counted. `root`: see above. */
bool dmem_read(const char *root, pid_t pid, struct dmem *dmem);

/* Whether the kernel counts any. */
bool dmem_is_counted(const char *root);

/* What the limit leaves. */
uint64_t dmem_left(const struct dmem_region *region);

/* The PCI address that is a part of the region's name, as /sys has it. False: there is none. */
bool dmem_pci(const char *name, char pci[DMEM_PCI_BYTES]);

/* Each cgroup once. A zeroed one is ready. */
struct dmem_table {
	struct dmem *cgroups;
	size_t count, capacity;
};

#define DMEM_NONE SIZE_MAX /* the place before the first one */

/* Returns the place of the process's cgroup; DMEM_NONE: it has none, or there is no memory. */
size_t dmem_table_add(struct dmem_table *table, const char *root, pid_t pid);
void dmem_table_fini(struct dmem_table *table);

#endif /* MEMSCOPE_HOST_DMEM_H */
