/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who holds memory of which NVIDIA device, as far as can be seen without probing anything: what
 * NVML lists, joined with the descriptors of all processes. Either can lack what the other has. No
 * privilege is needed, but each shows more.
 */
#ifndef MEMSCOPE_HOST_HOLDERS_H
#define MEMSCOPE_HOST_HOLDERS_H

#include "host/nvidia_files.h"
#include "host/nvml.h"
#include "host/proc.h"

/* A process that has a descriptor of the driver's, or that NVML lists. */
struct holder {
	uint32_t pid;
	bool present;          /* /proc has it: `info` is known */
	struct proc_info info; /* its start is CLOCK_BOOTTIME */
	int files_err; /* 0: `files` is known; -EACCES: not for this user; -ESRCH: it is gone */
	struct nvidia_files files;
	bool listed; /* by NVML, with some device */
};

/* A device, or an instance of one (MIG), from all sources. Texts that are not known are "". */
struct holders_device {
	int32_t nvml;   /* index into the snapshot's; -1: NVML does not say that there is one */
	int32_t parent; /* index of the device that it is an instance of; -1: it is a device */
	char pci[NVML_NAME_BYTES], uuid[NVML_NAME_BYTES], name[NVML_NAME_BYTES];
	bool has_minor;
	uint32_t minor;
	uint32_t first, count; /* its holdings; of a device, without its instances' */
	uint32_t listed;       /* so many of them NVML lists */
	bool has_in_processes; /* NVML knows how much each of them holds */
	uint64_t in_processes_bytes;
	bool has_rest;       /* ... and how much is used */
	uint64_t rest_bytes; /* used, but not by a process that NVML lists; never below 0 */
};

/* A process and a device. */
struct holding {
	uint32_t device, holder; /* indices */
	bool listed;             /* by NVML; the next four are what it says */
	bool has_used;
	uint64_t used_bytes;
	uint32_t kinds;
	bool open;      /* the process has a descriptor of the device */
	bool elsewhere; /* NVML lists the process, but with other devices only */
};

struct holders {
	struct nvml_snapshot *nvml;
	char driver[32]; /* of the kernel module; "": none is loaded, or /proc does not say */
	bool open_flavour;
	bool all_pids;      /* this is the initial PID namespace, and /proc shows all of it */
	uint64_t now_ns;    /* CLOCK_REALTIME of it all */
	uint64_t booted_ns; /* what to add to CLOCK_BOOTTIME for CLOCK_REALTIME */
	size_t looked;      /* processes whose descriptors were looked at */
	size_t refused;     /* those that must not be looked at; kernel threads are neither */

	struct nvidia_gpu *gpus; /* from /proc */
	struct holder *holders;
	struct holders_device *devices;
	struct holding *holdings; /* by device; those who hold most come first */
	size_t gpus_count, holders_count, devices_count, holdings_count;
	size_t holders_capacity, devices_capacity, holdings_capacity;
};

/*
 * Asks NVML (NULL: not at all) and looks through /proc meanwhile. A zeroed struct holders is ready;
 * what an earlier call has found is given up. Returns 0 or -ENOMEM; that NVML fails is no error.
 * `call_ms`: see nvml_take().
 */
int holders_read(struct holders *holders, struct nvml *nvml, int call_ms);
void holders_fini(struct holders *holders);

/* Puts devices and holdings together from `nvml`, `gpus` and `holders`. Returns 0 or -ENOMEM. */
int holders_join(struct holders *holders);

/* NULL: NVML does not have the device. */
const struct nvml_device *holders_nvml(const struct holders *holders,
				       const struct holders_device *device);

#endif /* MEMSCOPE_HOST_HOLDERS_H */
