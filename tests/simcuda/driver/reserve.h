/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address space for everything that is large only in the worst case: device memory and the tables
 * beside it.
 */
#ifndef SIMCUDA_RESERVE_H
#define SIMCUDA_RESERVE_H

#include <stddef.h>

/* Zeroed; costs memory only where it is touched; never given back. Aborts on failure. */
void *reserve_space(size_t size_bytes);

/* The same, of a file that other processes can map as well. */
void *reserve_shared(size_t size_bytes, int *fd);

/* A file in memory; -1: no more files. */
int reserve_file(const char *name, size_t size_bytes);

#endif
