/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which devices a process can see, and by which numbers: as far as what it was started with tells.
 * Two processes with the same view mean the same device by the same number.
 *
 * Sources: CUDA C++ Programming Guide, "CUDA Environment Variables" (CUDA_VISIBLE_DEVICES,
 * CUDA_DEVICE_ORDER); NVIDIA Container Toolkit, "Environment variables" (NVIDIA_VISIBLE_DEVICES).
 * A program may change its own environment before it initialises CUDA: that cannot be seen here.
 */
#ifndef MEMSCOPE_HOST_DEVICE_VIEW_H
#define MEMSCOPE_HOST_DEVICE_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct device_view {
	uint64_t key;    /* the same for processes that see the same devices in the same order */
	bool renumbered; /* CUDA_VISIBLE_DEVICES is set: 0 may be any device of the machine */
	bool single;     /* the process has one device file, so its one device is number 0 */
};

/* Returns 0, or -errno if the process is gone or must not be looked at. */
int device_view_read(pid_t pid, struct device_view *view);

/* The bit set of the minor numbers in /dev, as this program sees it. */
void device_view_own_minors(uint64_t minors[4]);

/*
 * The same from an environment as /proc/PID/environ has it (strings that end with a zero byte, the
 * last one perhaps without) and a bit set of the minor numbers of /dev/nvidiaN that are there.
 */
struct device_view device_view_of(const char *environment, size_t bytes, const uint64_t minors[4]);

#endif /* MEMSCOPE_HOST_DEVICE_VIEW_H */
