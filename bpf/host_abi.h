/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about samples of the host, which abi.h includes. User space makes them.
 */
#ifndef MS_HOST_ABI_H
#define MS_HOST_ABI_H

enum ms_host_known {
	MS_HOST_MEMORY = 1 << 0, /* total_bytes and available_bytes */
	MS_HOST_CPU_PRESSURE = 1 << 1,
	MS_HOST_MEMORY_PRESSURE = 1 << 2,
	MS_HOST_IO_PRESSURE = 1 << 3,
};

/* The machine. Pressure is what the kernel calls it (PSI), in microseconds since the boot. */
struct ms_host {
	struct ms_event event;
	__u32 known;     /* enum ms_host_known */
	__u32 processes; /* that were looked at with it */
	__u64 total_bytes;
	__u64 available_bytes;
	__u64 cpu_some_us; /* in which at least one task waited for a CPU */
	__u64 memory_some_us;
	__u64 memory_full_us; /* in which all tasks that were not idle waited */
	__u64 io_some_us;
	__u64 io_full_us;
	__u64 looking_ns; /* CPU time that it took to look the last time */
};

enum ms_load_known {
	MS_LOAD_CPU = 1 << 0, /* cpu_ns, threads and the faults */
	MS_LOAD_QUEUE = 1 << 1,
	MS_LOAD_MEMORY = 1 << 2, /* anon_bytes and what follows up to locked_bytes */
	MS_LOAD_CGROUP_MEMORY = 1 << 3,
	MS_LOAD_CGROUP_LIMIT = 1 << 4, /* there is one */
	MS_LOAD_THROTTLED = 1 << 5,
	MS_LOAD_CGROUP_PRESSURE = 1 << 6,
};

/* What the kernel says of a process and of its cgroup, since it began. */
struct ms_load {
	struct ms_event event;
	__u32 known; /* enum ms_load_known */
	__u32 threads;
	__u64 cpu_ns;   /* in steps of 10 ms; also of threads that have ended */
	__u64 queue_ns; /* that threads which live could have run and waited for a CPU */
	__u64 major_faults;
	__u64 minor_faults;
	__u64 anon_bytes;
	__u64 file_bytes;
	__u64 shmem_bytes;
	__u64 swap_bytes;
	__u64 locked_bytes;
	__u64 cgroup_bytes;
	__u64 cgroup_limit_bytes;
	__u64 throttled_ns; /* of the cgroup, all threads that it kept from running taken as one */
	__u64 throttled;    /* how often */
	__u64 cgroup_stall_us; /* in which a task of the cgroup waited for memory */
};

/* A NUMA node. */
struct ms_node {
	struct ms_event event;
	__u32 node;
	__u32 reserved;
	__u64 total_bytes;
	__u64 free_bytes;
};

#define MS_BDF_BYTES 16

enum ms_gpu_known {
	MS_GPU_NODE = 1 << 0,
	MS_GPU_LINK = 1 << 1,
};

/* Where a GPU is. Speeds in tenths of GT/s; they are lower when the GPU is idle. */
struct ms_gpu {
	struct ms_event event;
	__u32 known; /* enum ms_gpu_known */
	__u32 node;
	__u32 speed, max_speed; /* the maximum: of the GPU and of what it is plugged into */
	__u32 width, max_width; /* lanes */
	char bdf[MS_BDF_BYTES]; /* "0000:81:00.0", filled up with 0 */
};

#define MS_LIMIT_REGION_BYTES 64
#define MS_LIMIT_PATH_BYTES 256

enum ms_limit_known {
	MS_LIMIT_GUARANTEED = 1 << 0,
	MS_LIMIT_MEMORY = 1 << 1, /* there is a limit: limit_bytes and limit_used_bytes */
	MS_LIMIT_DEVICE = 1 << 2, /* capacity_bytes and device_used_bytes */
};

/*
 * How much memory of a device the process's cgroup uses and may use, as the kernel counts it
 * (dmem) or NVML says, of all programs in it. Those of one time and process belong together.
 */
struct ms_limit {
	struct ms_event event;
	__u32 known;            /* enum ms_limit_known */
	__u32 limit_path_bytes; /* of `path`, which name the cgroup whose limit it is */
	__u64 used_bytes;       /* by the cgroup and those in it */
	__u64 guaranteed_bytes;
	__u64 limit_bytes; /* of the cgroup, or of one that it is in: of that which leaves least */
	__u64 limit_used_bytes;             /* by the cgroup whose limit it is */
	__u64 capacity_bytes;               /* of the region... */
	__u64 device_used_bytes;            /* ...and how much of it is used by all */
	char region[MS_LIMIT_REGION_BYTES]; /* the kernel's name; both are filled up with 0 */
	char path[MS_LIMIT_PATH_BYTES];     /* of the cgroup; of a longer one, the beginning */
};

/*
 * On which node some of a process's memory of one space lies: of the blocks that were looked at, so
 * many of the pages that were asked for. Records of one time belong together.
 */
struct ms_placement {
	struct ms_event event;
	__u32 space; /* enum ms_space */
	__s32 node;  /* -1: in no memory, or it is not known where */
	__u64 pages;
	__u64 asked;
	__u64 bytes;  /* of the blocks */
	__u64 blocks; /* how many these are */
};

#endif /* MS_HOST_ABI_H */
