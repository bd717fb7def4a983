// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/cpu_slots.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * More than 100,000 records a second and CPU, looked at every 10 ms. Two fronts with so many slots
 * stay in a core's second-level cache.
 */
#define MAX_SLOTS 1024
#define MIN_SLOTS 16

uint32_t fronts_choose_slots(uint64_t ring_bytes, int cpus)
{
	uint32_t slots = MAX_SLOTS;

	while (slots > MIN_SLOTS && cpus * fronts_value_bytes(slots) > ring_bytes / 4)
		slots /= 2;
	return slots;
}

size_t fronts_value_bytes(uint32_t slots)
{
	return sizeof(struct ms_front) + slots * sizeof(struct ms_slot);
}

/* ---- as an inlet ----------------------------------------------------------------------------- */

static void look(struct inlet *inlet, bool measured)
{
	struct front *front = (struct front *)inlet;
	const struct ms_slot *slot = &front->shared->slots[front->position & (front->slots - 1)];
	int looks = 0;

	/* The CPU writes to it for each record: not to be looked at for each. */
	if (measured || front->position == front->head)
		front->head = __atomic_load_n(&front->shared->head, __ATOMIC_ACQUIRE);
	inlet->waiting_bytes = (front->head - front->position) * sizeof(*slot);
	inlet->next = NULL;
	inlet->busy = false;
	if (front->position == front->head)
		return;
	while (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) != front->position + 1) {
		if (++looks == INLET_LOOKS) {
			inlet->busy = true;
			return;
		}
	}
	inlet->next = (const struct ms_event *)slot->record;
	inlet->length = inlet->next->size;
	inlet->written_ns = inlet_written_ns(inlet->next);
}

static void take(struct inlet *inlet)
{
	struct front *front = (struct front *)inlet;

	__atomic_store_n(&front->shared->tail, ++front->position, __ATOMIC_RELEASE);
}

void front_init(struct front *front, enum ms_ring which, struct ms_front *shared, uint32_t slots)
{
	*front = (struct front){
		.inlet = { .ring = which, .look = look, .take = take },
		.shared = shared,
		.slots = slots,
	};
}

/* ---- all of them ----------------------------------------------------------------------------- */

int fronts_open(struct fronts *fronts, int map_fd, int cpus, uint32_t slots)
{
	size_t value_bytes = fronts_value_bytes(slots), page = sysconf(_SC_PAGESIZE), i;
	char *mapped;

	*fronts = (struct fronts){ .count = (size_t)cpus * MS_RINGS_COUNT };
	fronts->mapped_bytes = (fronts->count * value_bytes + page - 1) / page * page;
	fronts->fronts = calloc(fronts->count, sizeof(*fronts->fronts));
	if (!fronts->fronts)
		return -ENOMEM;
	mapped = mmap(NULL, fronts->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	madvise(mapped, fronts->mapped_bytes, MADV_DONTFORK);
	fronts->mapped = mapped;
	for (i = 0; i < fronts->count; i++)
		front_init(&fronts->fronts[i], i % MS_RINGS_COUNT,
			   (struct ms_front *)(mapped + i * value_bytes), slots);
	return 0;
}

void fronts_close(struct fronts *fronts)
{
	if (fronts->mapped)
		munmap(fronts->mapped, fronts->mapped_bytes);
	free(fronts->fronts);
	*fronts = (struct fronts){ 0 };
}
