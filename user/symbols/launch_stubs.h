/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a file that was made by nvcc says of the kernels that it launches, in its symbols. For each
 * kernel nvcc makes a host function of the same name and a stub, __device_stub_NAME. The stub of
 * CUDA 13 keeps the kernel's handle in a variable of its own, __handle, from the first launch on;
 * that of older ones launches by the address of the host function. The file is not trusted.
 */
#ifndef MEMSCOPE_SYMBOLS_LAUNCH_STUBS_H
#define MEMSCOPE_SYMBOLS_LAUNCH_STUBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCH_STUBS_MOST 65536 /* kernels of a file; more are left out */

/* Addresses are as the file is linked; 0: there is none. */
struct launch_stub {
	const char *kernel; /* as the driver knows it */
	uint64_t handle;    /* of the variable: 8 bytes, 0 until the first launch */
	uint64_t function;  /* of the host function */
};

struct launch_stubs;

/* Whether the file has code for GPUs in it, as nvcc puts it there. */
bool launch_stubs_are_likely(int fd);

/*
 * Where the code of the file that is mapped from `offset` on is linked to. Returns 0, or -ENOENT if
 * there is none, or as elf_walk_open().
 */
int launch_stubs_linked(int fd, uint64_t offset, uint64_t *address);

/* The descriptor stays the caller's, and open. Returns 0, or as elf_walk_open(). */
int launch_stubs_open(struct launch_stubs **stubs, int fd);
void launch_stubs_close(struct launch_stubs *stubs);

/*
 * Reads a piece of the file, for ten milliseconds or so. Returns 1: there is more to read; 0: it
 * has been read, and is not needed any more; or -errno: what was read so far is all.
 */
int launch_stubs_step(struct launch_stubs *stubs);

/* Once it has been read: in the order of their variables, those without one first. */
const struct launch_stub *launch_stubs_all(const struct launch_stubs *stubs, size_t *count);

/* The one of a host function, or NULL. */
const struct launch_stub *launch_stubs_of_function(const struct launch_stubs *stubs,
						   uint64_t function);

#endif /* MEMSCOPE_SYMBOLS_LAUNCH_STUBS_H */
