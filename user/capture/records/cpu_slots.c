// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/cpu_slots.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * More than 100,000 records a second and CPU, looked at every 10 ms. Two times so many slots
 * stay in a core's second-level cache.
 */
#define MAX_SLOTS 1024
#define MIN_SLOTS 16

uint32_t cpu_slots_choose(uint64_t ring_bytes, int cpus)
{
	uint32_t slots = MAX_SLOTS;

	while (slots > MIN_SLOTS && cpus * cpu_slots_value_bytes(slots) > ring_bytes / 4)
		slots /= 2;
	return slots;
}

size_t cpu_slots_value_bytes(uint32_t slots)
{
	return sizeof(struct ms_cpu_slots) + slots * sizeof(struct ms_slot);
}

/* ---- as a source ----------------------------------------------------------------------------- */

static void look(struct merge_source *source, bool measured)
{
	struct cpu_slots_source *slots = (struct cpu_slots_source *)source;
	const struct ms_slot *slot = &slots->shared->slots[slots->position & (slots->slots - 1)];
	int looks = 0;

	/* The CPU writes to it for each record: not to be looked at for each. */
	if (measured || slots->position == slots->head)
		slots->head = __atomic_load_n(&slots->shared->head, __ATOMIC_ACQUIRE);
	source->waiting_bytes = (slots->head - slots->position) * sizeof(*slot);
	source->next = NULL;
	source->busy = false;
	if (slots->position == slots->head)
		return;
	while (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) != slots->position + 1) {
		if (++looks == MERGE_LOOKS) {
			source->busy = true;
			return;
		}
	}
	source->next = (const struct ms_event *)slot->record;
	source->length = source->next->size;
	source->written_ns = merge_written_ns(source->next);
}

static void take(struct merge_source *source)
{
	struct cpu_slots_source *slots = (struct cpu_slots_source *)source;

	__atomic_store_n(&slots->shared->tail, ++slots->position, __ATOMIC_RELEASE);
}

void cpu_slots_init_source(struct cpu_slots_source *slots, enum ms_ring which,
			   struct ms_cpu_slots *shared, uint32_t count)
{
	*slots = (struct cpu_slots_source){
		.source = { .ring = which, .look = look, .take = take },
		.shared = shared,
		.slots = count,
	};
}

/* ---- all of them ----------------------------------------------------------------------------- */

int cpu_slots_open(struct cpu_slots *cpu_slots, int map_fd, int cpus, uint32_t slots)
{
	size_t value_bytes = cpu_slots_value_bytes(slots), page = sysconf(_SC_PAGESIZE), i;
	char *mapped;

	*cpu_slots = (struct cpu_slots){ .count = (size_t)cpus * MS_RINGS_COUNT };
	cpu_slots->mapped_bytes = (cpu_slots->count * value_bytes + page - 1) / page * page;
	cpu_slots->sources = calloc(cpu_slots->count, sizeof(*cpu_slots->sources));
	if (!cpu_slots->sources)
		return -ENOMEM;
	mapped = mmap(NULL, cpu_slots->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	madvise(mapped, cpu_slots->mapped_bytes, MADV_DONTFORK);
	cpu_slots->mapped = mapped;
	for (i = 0; i < cpu_slots->count; i++)
		cpu_slots_init_source(&cpu_slots->sources[i], i % MS_RINGS_COUNT,
				      (struct ms_cpu_slots *)(mapped + i * value_bytes), slots);
	return 0;
}

void cpu_slots_close(struct cpu_slots *cpu_slots)
{
	if (cpu_slots->mapped)
		munmap(cpu_slots->mapped, cpu_slots->mapped_bytes);
	free(cpu_slots->sources);
	*cpu_slots = (struct cpu_slots){ 0 };
}
