/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about what NVML and NVIDIA's kernel driver say of devices, which abi.h
 * includes behind host_abi.h.
 */
#ifndef MS_NVML_ABI_H
#define MS_NVML_ABI_H

#define MS_UUID_BYTES 64

enum ms_device_known {
	MS_DEVICE_MEMORY = 1 << 0,    /* total_bytes, used_bytes and free_bytes */
	MS_DEVICE_RESERVED = 1 << 1,  /* reserved_bytes; else it is in used_bytes */
	MS_DEVICE_PROCESSES = 1 << 2, /* processes and processes_bytes */
	MS_DEVICE_RATES = 1 << 3,     /* gpu_percent and memory_percent */
};

/* What NVML says of a device, or of an instance of one (MIG). */
struct ms_device {
	struct ms_event event;
	__u32 known;     /* enum ms_device_known */
	__u32 processes; /* that it lists with the device */
	__u64 total_bytes;
	__u64 used_bytes;
	__u64 free_bytes;
	__u64 reserved_bytes;
	__u64 processes_bytes; /* of all of them */
	__u32 gpu_percent;     /* of the last sample period */
	__u32 memory_percent;
	char uuid[MS_UUID_BYTES]; /* filled up with 0 */
};

/* How much of a device's memory the process holds, as NVML says. */
struct ms_held {
	struct ms_event event;
	__u64 used_bytes;
	char uuid[MS_UUID_BYTES]; /* of the device; filled up with 0 */
};

#define MS_XID_TEXT_BYTES 96

/* NVIDIA's kernel driver says in the kernel's log that a device has an error. */
struct ms_xid {
	struct ms_event event;
	__u32 xid;                    /* NVIDIA's number of the kind of error */
	__u32 process;                /* that the driver names, pid; 0: it names none */
	char bdf[MS_BDF_BYTES];       /* of the device, as in struct ms_gpu */
	char text[MS_XID_TEXT_BYTES]; /* the rest of the line, cut; filled up with 0 */
};

#endif /* MS_NVML_ABI_H */
