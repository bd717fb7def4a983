/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ioctls by which a real user-space driver asks NVIDIA's kernel driver for memory: those of
 * docs/driver-path.md, on the files in SIMCUDA_DRIVER (tests/simnv/devices.c). Without it, there
 * are none.
 */
#ifndef SIMCUDA_KERNEL_H
#define SIMCUDA_KERNEL_H

#include <stdint.h>

/* So much of the physical device is in use: chunks of memory are asked for, or given back. */
void kernel_hold(int physical, uint64_t bytes);

/* A context is there, or is no more. */
void kernel_context_made(unsigned int physical);
void kernel_context_ended(unsigned int physical);

#endif
