/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands for the library of TensorFlow or JAX that has the allocator of both (tsl.c): what a
 * program needs of it. Blocks lie in regions that the program has from the driver.
 */
#ifndef MEMSCOPE_TESTS_TSL_H
#define MEMSCOPE_TESTS_TSL_H

#include <stddef.h>

struct tsl_allocator;

struct tsl_functions {
	struct tsl_allocator *(*create)(void);
	/* Another region, behind all others. */
	void (*extend)(struct tsl_allocator *allocator, void *region, size_t bytes);
	/* NULL: there is none left. With attributes or without. */
	void *(*allocate)(struct tsl_allocator *allocator, size_t bytes, int attributes);
	void (*deallocate)(struct tsl_allocator *allocator, void *block);
	const void *probed; /* the last function that is probed */
};

/* The library exports it under this name, whatever else it exports. */
const struct tsl_functions *tsl_functions(void);

#endif /* MEMSCOPE_TESTS_TSL_H */
