/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles. Objects of one type lie in one array, so whether a handle given by a program is one of
 * ours, and still alive, can be told without touching it. Slots are reused, last freed first, as
 * handles are on the real driver.
 */
#ifndef SIMCUDA_SLAB_H
#define SIMCUDA_SLAB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "simcuda.h"

/* First member of everything kept in a slab. */
struct object {
	bool live;
	struct object *next_free;
	CUcontext owner; /* destroyed with it; NULL: belongs to none */
};

struct slab {
	pthread_mutex_t lock;
	size_t object_bytes;
	unsigned int max;
	unsigned int used; /* slots ever handed out */
	char *base;
	struct object *free;
};

#define SLAB(type, slots) \
	{ \
		.lock = PTHREAD_MUTEX_INITIALIZER, .object_bytes = sizeof(type), .max = (slots) \
	}

/* A copy of *initial, which is of the slab's type; NULL when all slots are taken. */
void *slab_new(struct slab *slab, const void *initial);
void slab_delete(struct slab *slab, void *object);
bool slab_has(struct slab *slab, const void *object);

/* Deletes what belongs to owner; fini (may be NULL) sees each before and must not use the slab. */
void slab_delete_owned(struct slab *slab, CUcontext owner, void (*fini)(void *object));

/*
 * The live objects one after another; NULL begins and ends. Only for slabs that are used under a
 * lock of their user's.
 */
void *slab_next(struct slab *slab, const void *object);

#endif
