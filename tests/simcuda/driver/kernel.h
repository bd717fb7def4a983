/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a real user-space driver asks NVIDIA's kernel driver for: memory by the ioctls of
 * docs/driver-path.md, on the files in SIMCUDA_DRIVER (tests/simnv/devices.c), and at which
 * addresses it is. Without SIMCUDA_DRIVER, there are no ioctls.
 */
#ifndef SIMCUDA_KERNEL_H
#define SIMCUDA_KERNEL_H

#include <stdint.h>

/*
 * A block of the physical device, in its memory that begins at `space`, is in use, or is not any
 * more: chunks of 2 MiB are asked for where there is none, or given back.
 */
void kernel_take(unsigned int physical, uint64_t space, uint64_t addr, uint64_t bytes);
void kernel_give(unsigned int physical, uint64_t space, uint64_t addr, uint64_t bytes);

/* So much of the physical device is in use that has no addresses of its own, by graphs. */
void kernel_hold(unsigned int physical, uint64_t bytes);

/* Physical memory, with addresses now and then. Returns its handle; 0: there is no driver. */
uint32_t kernel_physical_new(unsigned int physical, uint64_t bytes);
void kernel_physical_free(unsigned int physical, uint32_t handle, uint64_t bytes);
void kernel_physical_map(unsigned int physical, uint32_t handle, uint64_t addr, uint64_t bytes);
void kernel_physical_unmap(uint32_t handle, uint64_t addr, uint64_t bytes);

void kernel_managed(uint64_t addr, uint64_t bytes);

/* Memory of the host is page-locked, for the physical device, or is not any more. */
void kernel_lock(unsigned int physical, uint64_t addr, uint64_t bytes);
void kernel_unlock(uint64_t addr);

/* A context is there, or is no more. */
void kernel_context_made(unsigned int physical);
void kernel_context_ended(unsigned int physical);

#endif
