/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's files: which device a descriptor of a process leads to, by its device number alone,
 * and what the driver says of its devices below /proc. Who has such a descriptor can hold memory of
 * the device, whatever NVML says.
 *
 * Sources: the driver's kernel-open/common/inc/nv.h (major 195, minor 255 for nvidiactl),
 * nvidia-uvm's major is dynamic: /proc/devices.
 */
#ifndef MEMSCOPE_HOST_NVIDIA_FILES_H
#define MEMSCOPE_HOST_NVIDIA_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NVIDIA_MINORS 248 /* of /dev/nvidiaN */

enum nvidia_file {
	NVIDIA_NONE,
	NVIDIA_DEVICE,  /* /dev/nvidiaN */
	NVIDIA_CONTROL, /* /dev/nvidiactl */
	NVIDIA_UVM,     /* /dev/nvidia-uvm */
	NVIDIA_TOOLS,   /* /dev/nvidia-uvm-tools: debuggers and profilers */
	NVIDIA_CAPS,    /* /dev/nvidia-caps/...: MIG */
};

struct nvidia_majors {
	uint32_t uvm, caps; /* 0: not known, or the module is not loaded */
};

/* What /proc/devices says. */
struct nvidia_majors nvidia_majors_of(const char *devices);
struct nvidia_majors nvidia_majors_read(void);

/* `minor` is set for NVIDIA_DEVICE. */
enum nvidia_file nvidia_file_of(const struct nvidia_majors *majors, dev_t rdev, uint32_t *minor);

/* A device as /proc/driver/nvidia/gpus/PCI/information has it. */
struct nvidia_gpu {
	char pci[16]; /* "0000:65:00.0" */
	char uuid[64];
	char name[64];
	bool has_minor;
	uint32_t minor;
};

void nvidia_gpu_parse(const char *information, struct nvidia_gpu *gpu);

/* At most `max` of them. Returns how many there are. */
size_t nvidia_gpus_read(struct nvidia_gpu *gpus, size_t max);

/* "580.159.04", "" if there is no driver; `open` says whether it is the open flavour. */
void nvidia_version_parse(const char *text, char *version, size_t bytes, bool *open);
void nvidia_version_read(char *version, size_t bytes, bool *open);

/* Descriptors of a process, by what they lead to. */
struct nvidia_files {
	uint32_t devices; /* all of NVIDIA_DEVICE */
	uint32_t control, uvm, tools, caps;
	uint64_t minors[(NVIDIA_MINORS + 63) / 64]; /* a bit for each that has a descriptor */
};

/*
 * Counts the descriptors of a process. Those of a thread that has a table of its own are not seen,
 * unless the first thread has ended. Returns 0, -ESRCH, or -EACCES: it must not be looked at.
 */
int nvidia_files_scan(pid_t pid, const struct nvidia_majors *majors, struct nvidia_files *files);

bool nvidia_files_any(const struct nvidia_files *files);
bool nvidia_files_has(const struct nvidia_files *files, uint32_t minor);

/*
 * Whether a process with `others` may have a file that one had, too, which had `own`: not if both
 * have files of devices, and of none the same.
 */
bool nvidia_files_may_share(const struct nvidia_files *own, const struct nvidia_files *others);

#endif /* MEMSCOPE_HOST_NVIDIA_FILES_H */
