/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The SIMCUDA_* environment. A malformed value is a broken test, not something to guess about:
 * it is named on stderr and the process aborts.
 */
#ifndef SIMCUDA_ENV_H
#define SIMCUDA_ENV_H

#include <stdint.h>

_Noreturn void env_fatal(const char *variable, const char *value, const char *why);

/* "512", "64K", "16M", "8G": bytes, never 0. */
uint64_t env_size_bytes(const char *variable, uint64_t fallback);

/* A plain number, at most max. */
unsigned int env_count(const char *variable, unsigned int fallback, unsigned int max);

#endif
