/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ioctls of kernel.h, one at a time, by the layouts of a driver 580. The caller holds the lock
 * of kernel.c.
 */
#ifndef SIMCUDA_KERNEL_IOCTL_H
#define SIMCUDA_KERNEL_IOCTL_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_DEVICE 0x80
#define KERNEL_DEVICE_MEMORY 0x40
#define KERNEL_HOST_MEMORY 0x3e

/* Opens the files in SIMCUDA_DRIVER; false: there are none to be opened. */
bool kernel_ioctl_begin(void);

/* The handle of the process, below which everything is. */
uint32_t kernel_ioctl_client(void);

/* Returns the handle. `value`: bytes, or the number of the device. */
uint32_t kernel_ioctl_new(uint32_t parent, uint32_t class, uint64_t value);
uint32_t kernel_ioctl_lock(uint32_t parent, uint64_t addr, uint64_t bytes);
void kernel_ioctl_free(uint32_t parent, uint32_t handle);

/* The object is at those addresses, and nothing is there any more. */
void kernel_ioctl_map(uint64_t base, uint64_t bytes, uint32_t handle, unsigned int physical);
void kernel_ioctl_unmap(uint64_t base, uint64_t bytes);

/* Managed memory is at those addresses, which have no object. */
void kernel_ioctl_managed(uint64_t base, uint64_t bytes);

#endif
