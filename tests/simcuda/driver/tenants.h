/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that fill devices together: those with one file in SIMCUDA_TENANTS. Without it, each
 * process has all devices for itself.
 */
#ifndef SIMCUDA_TENANTS_H
#define SIMCUDA_TENANTS_H

#include <stdint.h>

#define TENANT_DEVICES 16

/* Says what this process uses of the physical device. */
void tenants_publish(int physical, uint64_t bytes);

/* What the others use of it that are alive; 0 without a file. */
uint64_t tenants_elsewhere(int physical);

#endif
