/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See slab.h.
 */
#include <stdint.h>
#include <string.h>

#include "reserve.h"
#include "slab.h"

static bool is_live(const struct object *object)
{
	return __atomic_load_n(&object->live, __ATOMIC_ACQUIRE);
}

static struct object *slot(const struct slab *slab, unsigned int index)
{
	return (struct object *)(slab->base + index * slab->object_bytes);
}

static struct object *take_slot(struct slab *slab)
{
	struct object *object = slab->free;

	if (object) {
		slab->free = object->next_free;
		return object;
	}
	if (slab->used == slab->max)
		return NULL;
	if (!slab->base)
		__atomic_store_n(&slab->base, reserve_space(slab->max * slab->object_bytes),
				 __ATOMIC_RELEASE);
	object = slot(slab, slab->used);
	__atomic_store_n(&slab->used, slab->used + 1, __ATOMIC_RELEASE);
	return object;
}

void *slab_new(struct slab *slab, const void *initial)
{
	struct object *object;

	pthread_mutex_lock(&slab->lock);
	object = take_slot(slab);
	if (object) {
		/* All but the flag itself, which slab_has reads without the lock. */
		memcpy(&object->next_free, &((const struct object *)initial)->next_free,
		       slab->object_bytes - offsetof(struct object, next_free));
		__atomic_store_n(&object->live, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&slab->lock);
	return object;
}

static void delete_locked(struct slab *slab, struct object *object)
{
	__atomic_store_n(&object->live, false, __ATOMIC_RELEASE);
	object->next_free = slab->free;
	slab->free = object;
}

void slab_delete(struct slab *slab, void *object)
{
	pthread_mutex_lock(&slab->lock);
	delete_locked(slab, object);
	pthread_mutex_unlock(&slab->lock);
}

void slab_delete_owned(struct slab *slab, CUcontext owner, void (*fini)(void *object))
{
	struct object *object = NULL;

	pthread_mutex_lock(&slab->lock);
	while ((object = slab_next(slab, object))) {
		if (object->owner != owner)
			continue;
		if (fini)
			fini(object);
		delete_locked(slab, object);
	}
	pthread_mutex_unlock(&slab->lock);
}

bool slab_has(struct slab *slab, const void *object)
{
	uintptr_t base = (uintptr_t)__atomic_load_n(&slab->base, __ATOMIC_ACQUIRE);
	uintptr_t offset = (uintptr_t)object - base;

	return base && offset < slab->max * slab->object_bytes && !(offset % slab->object_bytes) &&
	       is_live(object);
}

void *slab_next(struct slab *slab, const void *object)
{
	unsigned int used = __atomic_load_n(&slab->used, __ATOMIC_ACQUIRE);
	unsigned int index = 0;

	if (object)
		index = (unsigned int)(((const char *)object - slab->base) / slab->object_bytes) +
			1;
	for (; index < used; index++)
		if (is_live(slot(slab, index)))
			return slot(slab, index);
	return NULL;
}
