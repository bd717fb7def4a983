// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stands for the allocator of TensorFlow and JAX: the functions that are probed, by their names,
 * and behind them an allocator of our own. TSL_LOCAL: they are not exported, as in JAX's plugin,
 * and only .symtab has their names.
 */
#include "tsl.h"

#include <stdint.h>
#include <stdlib.h>

#define CHUNKS 4096
#define GRAIN 256ul

#ifdef TSL_LOCAL
#define VISIBLE "hidden"
#else
#define VISIBLE "default"
#endif

/* Side by side, by address within their region; 0 bytes: it is the end of a region. */
struct chunk {
	uintptr_t addr;
	size_t bytes;
	int is_used;
};

struct tsl_allocator {
	struct chunk chunks[CHUNKS];
	unsigned int count;
};

struct attributes {
	int retry_on_failure;
};

/* clang-format off */
#define ALLOCATE_WITH _ZN3tsl12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE
#define ALLOCATE _ZN3tsl12BFCAllocator11AllocateRawEmm
#define DEALLOCATE _ZN3tsl12BFCAllocator13DeallocateRawEPv
/* clang-format on */

#define PROBED __attribute__((visibility(VISIBLE), noinline))

PROBED void *ALLOCATE_WITH(struct tsl_allocator *this, size_t alignment, size_t bytes,
			   const struct attributes *attributes);
PROBED void *ALLOCATE(struct tsl_allocator *this, size_t alignment, size_t bytes);
PROBED void DEALLOCATE(struct tsl_allocator *this, void *block);

static void insert(struct tsl_allocator *this, unsigned int place, struct chunk chunk)
{
	unsigned int i;

	if (this->count == CHUNKS)
		abort();
	for (i = this->count++; i > place; i--)
		this->chunks[i] = this->chunks[i - 1];
	this->chunks[place] = chunk;
}

static void delete (struct tsl_allocator *this, unsigned int place)
{
	for (this->count--; place < this->count; place++)
		this->chunks[place] = this->chunks[place + 1];
}

/* The smallest that is large enough; the first of those. */
void *ALLOCATE_WITH(struct tsl_allocator *this, size_t alignment, size_t bytes,
		    const struct attributes *attributes)
{
	const size_t rounded = (bytes + GRAIN - 1) / GRAIN * GRAIN;
	struct chunk *chunk;
	unsigned int i, best = CHUNKS;

	if (!bytes || alignment > GRAIN || (attributes && !attributes->retry_on_failure))
		return NULL;
	for (i = 0; i < this->count; i++)
		if (!this->chunks[i].is_used && this->chunks[i].bytes >= rounded &&
		    (best == CHUNKS || this->chunks[i].bytes < this->chunks[best].bytes))
			best = i;
	if (best == CHUNKS)
		return NULL;
	chunk = &this->chunks[best];
	if (chunk->bytes > rounded) {
		insert(this, best + 1,
		       (struct chunk){ chunk->addr + rounded, chunk->bytes - rounded, 0 });
		chunk->bytes = rounded;
	}
	chunk->is_used = 1;
	return (void *)chunk->addr;
}

void *ALLOCATE(struct tsl_allocator *this, size_t alignment, size_t bytes)
{
	const struct attributes attributes = { 1 };
	void *block = ALLOCATE_WITH(this, alignment, bytes, &attributes);

	__asm__ volatile("" ::: "memory"); /* it is no jump to the other */
	return block;
}

void DEALLOCATE(struct tsl_allocator *this, void *block)
{
	unsigned int i;

	for (i = 0; i < this->count && block; i++) {
		struct chunk *chunk = &this->chunks[i];

		if (chunk->addr != (uintptr_t)block || !chunk->is_used)
			continue;
		chunk->is_used = 0;
		if (chunk[1].bytes && !chunk[1].is_used) {
			chunk->bytes += chunk[1].bytes;
			delete (this, i + 1);
		}
		if (i && chunk[-1].bytes && !chunk[-1].is_used) {
			chunk[-1].bytes += chunk->bytes;
			delete (this, i);
		}
		return;
	}
	if (block)
		abort();
}

static struct tsl_allocator *create(void)
{
	return calloc(1, sizeof(struct tsl_allocator));
}

static void extend(struct tsl_allocator *this, void *region, size_t bytes)
{
	insert(this, this->count, (struct chunk){ (uintptr_t)region, bytes, 0 });
	insert(this, this->count, (struct chunk){ 0, 0, 1 });
}

static void *allocate(struct tsl_allocator *this, size_t bytes, int has_attributes)
{
	const struct attributes attributes = { 1 };

	return has_attributes ? ALLOCATE_WITH(this, GRAIN, bytes, &attributes) :
				ALLOCATE(this, GRAIN, bytes);
}

__attribute__((visibility("default"))) const struct tsl_functions *tsl_functions(void)
{
	static const struct tsl_functions functions = {
		create, extend, allocate, DEALLOCATE, (const void *)DEALLOCATE,
	};

	return &functions;
}
