// SPDX-License-Identifier: BSD-2-Clause
/*
 * In which order records come out of the ring buffers and the slots in front of them. What writes
 * to them here does what the kernel side does (bpf/emit.bpf.h).
 */
#include "capture/records/merge.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/records/cpu_slots.h"
#include "capture/records/ring.h"
#include "unit.h"

#define BYTES 8192
#define SLOTS 16
#define CPUS 2
#define FRONTS (CPUS * MS_RINGS_COUNT)
#define COUNT (MS_RINGS_COUNT + FRONTS)

/* As the kernel has it, but for its end, which is not reached here. */
struct memory {
	uint64_t consumer, producer;
	_Alignas(8) char data[BYTES];
};

union slots {
	struct ms_cpu_slots front;
	char bytes[sizeof(struct ms_cpu_slots) + SLOTS * sizeof(struct ms_slot)];
};

static struct memory memories[MS_RINGS_COUNT];
static union slots shared[FRONTS];
static struct ring rings[MS_RINGS_COUNT];
static struct cpu_slots_source slots[FRONTS];
static struct merge_source *all[COUNT];
static struct merge merge;

static int open_inlets(void **state)
{
	size_t i;

	(void)state;
	memset(memories, 0, sizeof(memories));
	memset(shared, 0, sizeof(shared));
	merge = (struct merge){ .all = all };
	for (i = 0; i < MS_RINGS_COUNT; i++) {
		rings[i] = (struct ring){ .consumer = &memories[i].consumer,
					  .producer = &memories[i].producer,
					  .data = memories[i].data,
					  .size_bytes = BYTES,
					  .mapped_bytes = SIZE_MAX };
		ring_init_inlet(&rings[i], i);
		all[merge.count++] = &rings[i].source;
	}
	for (i = 0; i < FRONTS; i++) {
		cpu_slots_init_source(&slots[i], i % MS_RINGS_COUNT, &shared[i].front, SLOTS);
		all[merge.count++] = &slots[i].source;
	}
	return 0;
}

static struct ms_process record_of(uint64_t ts_ns)
{
	return (struct ms_process){
		.event = { .ts_ns = ts_ns, .type = MS_TYPE_EXIT, .size = sizeof(struct ms_process) }
	};
}

/* A record of that time in a ring; `flags`: of its header, which is returned. */
static uint32_t *put(enum ms_ring ring, uint64_t ts_ns, uint32_t flags)
{
	struct memory *memory = &memories[ring];
	uint32_t *header = (uint32_t *)(memory->data + memory->producer);
	struct ms_process record = record_of(ts_ns);

	*header = sizeof(record) | flags;
	memcpy(memory->data + memory->producer + BPF_RINGBUF_HDR_SZ, &record, sizeof(record));
	memory->producer += BPF_RINGBUF_HDR_SZ + sizeof(record);
	return header;
}

/* Two activities of these times, as one record of the ring. */
static void put_together(enum ms_ring ring, uint64_t first_ns, uint64_t second_ns)
{
	struct memory *memory = &memories[ring];
	struct ms_activity both[2] = { { .event.ts_ns = first_ns }, { .event.ts_ns = second_ns } };
	const uint32_t header = sizeof(both);

	both[0].event.type = both[1].event.type = MS_TYPE_ACTIVITY;
	both[0].event.size = both[1].event.size = sizeof(*both);
	memcpy(memory->data + memory->producer, &header, sizeof(header));
	memcpy(memory->data + memory->producer + BPF_RINGBUF_HDR_SZ, both, sizeof(both));
	memory->producer += BPF_RINGBUF_HDR_SZ + sizeof(both);
}

/* Room in a front, or NULL. */
static struct ms_slot *claim(size_t front, uint64_t *turn)
{
	struct ms_cpu_slots *to = &shared[front].front;

	if (to->head - to->tail >= SLOTS)
		return NULL;
	*turn = to->head + 1;
	return &to->slots[to->head++ % SLOTS];
}

static bool put_in_front(size_t front, uint64_t ts_ns)
{
	struct ms_process record = record_of(ts_ns);
	uint64_t turn;
	struct ms_slot *slot = claim(front, &turn);

	if (!slot)
		return false;
	memcpy(slot->record, &record, sizeof(record));
	slot->turn = turn;
	return true;
}

#define SEEN 4096

struct seen {
	uint64_t ts_ns[SEEN];
	size_t count;
};

static int see(void *context, void *record, size_t length)
{
	struct seen *seen = context;

	assert_int_equal(length, ((const struct ms_event *)record)->size);
	assert_true(seen->count < SEEN);
	seen->ts_ns[seen->count++] = ((const struct ms_event *)record)->ts_ns;
	return 0;
}

/* What comes out, as the digits of a number. */
static uint64_t drain(uint64_t until_ns)
{
	struct seen seen = { 0 };
	uint64_t digits = 0;
	long drained = merge_drain(&merge, until_ns, see, &seen);
	size_t i;

	assert_int_equal(drained, seen.count);
	for (i = 0; i < seen.count; i++)
		digits = digits * 10 + seen.ts_ns[i];
	return digits;
}

static void test_several_activities_in_one_record(void **state)
{
	(void)state;
	put_together(MS_RING_BULK, 2, 5);
	put_together(MS_RING_BULK, 6, 7);
	put(MS_RING_CRITICAL, 3, 0);
	put_in_front(MS_CPU_SLOTS(0, MS_RING_BULK), 8);
	assert_int_equal(drain(4), 23);
	assert_int_equal(memories[MS_RING_BULK].consumer, 0);
	assert_int_equal(drain(100), 5678);
	assert_int_equal(memories[MS_RING_BULK].consumer, memories[MS_RING_BULK].producer);
}

static void test_the_oldest_comes_first_wherever_it_is(void **state)
{
	(void)state;
	put(MS_RING_CRITICAL, 1, 0);
	put(MS_RING_CRITICAL, 4, 0);
	put_in_front(MS_CPU_SLOTS(1, MS_RING_CRITICAL), 2);
	put_in_front(MS_CPU_SLOTS(0, MS_RING_BULK), 3);
	put(MS_RING_BULK, 5, 0);
	put(MS_RING_BULK, 6, BPF_RINGBUF_DISCARD_BIT);
	put(MS_RING_BULK, 8, 0);
	put_in_front(MS_CPU_SLOTS(1, MS_RING_BULK), 7);
	assert_int_equal(drain(5), 1234);
	assert_int_equal(drain(UINT64_MAX), 578);
	assert_int_equal(drain(UINT64_MAX), 0);
	assert_int_equal(merge.highest_bytes[MS_RING_BULK],
			 memories[MS_RING_BULK].producer + 2 * sizeof(struct ms_slot));
	assert_int_equal(merge.highest_bytes[MS_RING_CRITICAL],
			 memories[MS_RING_CRITICAL].producer + sizeof(struct ms_slot));
}

/* Behind what is being written in a ring or a slot of the CPU, and everywhere else. */
static void put_around(size_t cpu)
{
	put(MS_RING_CRITICAL, 3, 0);
	put_in_front(MS_CPU_SLOTS(cpu, MS_RING_CRITICAL), 4);
	put_in_front(MS_CPU_SLOTS(!cpu, MS_RING_CRITICAL), 5);
	put_in_front(MS_CPU_SLOTS(cpu, MS_RING_BULK), 6);
	put(MS_RING_BULK, 7, 0);
}

static void expect_to_be_held_up(void)
{
	assert_int_equal(drain(UINT64_MAX), 1);
	assert_true(merge.held);
	assert_int_equal(drain(UINT64_MAX), 0);
	assert_true(merge.held);
}

static void expect_the_rest(void)
{
	assert_int_equal(drain(UINT64_MAX), 234567);
	assert_false(merge.held);
}

static void test_what_is_being_written_in_a_ring_holds_up_all(void **state)
{
	uint32_t *header;

	(void)state;
	put(MS_RING_CRITICAL, 1, 0);
	header = put(MS_RING_CRITICAL, 2, BPF_RINGBUF_BUSY_BIT);
	put_around(0);
	expect_to_be_held_up();
	*header &= ~BPF_RINGBUF_BUSY_BIT;
	expect_the_rest();
}

/* In the first lap, and where there is an older record in the slot. */
static void test_what_is_being_written_in_a_slot_holds_up_all(void **state)
{
	struct ms_process record = record_of(2);
	size_t cpu, before, i;

	for (cpu = 0; cpu < CPUS; cpu++) {
		for (before = 0; before < 3 * SLOTS; before += SLOTS) {
			struct ms_slot *slot;
			uint64_t turn;

			open_inlets(state);
			for (i = 0; i < before; i++) {
				put_in_front(MS_CPU_SLOTS(cpu, MS_RING_CRITICAL), 1);
				assert_int_equal(drain(UINT64_MAX), 1);
			}
			put_in_front(MS_CPU_SLOTS(cpu, MS_RING_CRITICAL), 1);
			slot = claim(MS_CPU_SLOTS(cpu, MS_RING_CRITICAL), &turn);
			put_around(cpu);
			expect_to_be_held_up();
			memcpy(slot->record, &record, sizeof(record));
			slot->turn = turn;
			expect_the_rest();
		}
	}
}

static int see_call(void *context, void *record, size_t length)
{
	struct seen *seen = context;

	assert_int_equal(length, sizeof(struct ms_call));
	seen->ts_ns[seen->count++] = ((const struct ms_event *)record)->ts_ns;
	return 0;
}

static void test_a_call_counts_from_its_end(void **state)
{
	static const uint64_t begins[] = { 10, 20, 30 }, durations[] = { 25, 0, 1 };
	static const uint64_t expected[] = { 20, 30, 10 };
	struct seen seen = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct ms_call call = {
			.event = { .ts_ns = begins[i], .type = MS_TYPE_CALL, .size = sizeof(call) },
			.duration_ns = durations[i]
		};
		uint64_t turn;
		struct ms_slot *slot = claim(i, &turn);

		memcpy(slot->record, &call, sizeof(call));
		slot->turn = turn;
	}
	assert_int_equal(merge_drain(&merge, 35, see_call, &seen), 2);
	assert_int_equal(merge_drain(&merge, 36, see_call, &seen), 1);
	assert_memory_equal(seen.ts_ns, expected, sizeof(expected));
}

/* A slot is written to again when its record has been taken, and not before. */
static void test_slots_are_used_again_and_again(void **state)
{
	uint64_t written = 0, read = 0;
	struct seen seen;
	size_t i;

	(void)state;
	while (read < 10 * SLOTS) {
		while (put_in_front(0, written + 1))
			written++;
		assert_int_equal(written - read, SLOTS);
		seen.count = 0;
		/* A part of them. */
		assert_int_equal(merge_drain(&merge, read + 12, see, &seen), 11);
		for (i = 0; i < seen.count; i++)
			assert_int_equal(seen.ts_ns[i], ++read);
		assert_int_equal(merge.highest_bytes[MS_RING_CRITICAL],
				 SLOTS * sizeof(struct ms_slot));
		merge.highest_bytes[MS_RING_CRITICAL] = 0;
	}
}

/* Wherever each of many records is, and however many are taken at a time. */
static void test_many_records_come_in_the_order_of_their_times(void **state)
{
	uint64_t now = 0, random = 1;
	int round;

	(void)state;
	for (round = 0; round < 200; round++) {
		struct seen seen = { 0 };
		uint64_t first = now + 1;
		size_t i, expected;

		open_inlets(state);
		for (i = 0; i < 80; i++) {
			size_t place = (random = unit_random(random)) % COUNT;

			now++;
			if (place >= FRONTS || !put_in_front(place, now))
				put(place % MS_RINGS_COUNT, now, 0);
		}
		expected = (random = unit_random(random)) % 81;
		merge_drain(&merge, first + expected, see, &seen);
		assert_int_equal(seen.count, expected);
		merge_drain(&merge, UINT64_MAX, see, &seen);
		assert_int_equal(seen.count, 80);
		for (i = 0; i < seen.count; i++)
			assert_int_equal(seen.ts_ns[i], first + i);
	}
}

static int refuse(void *context, void *record, size_t length)
{
	see(context, record, length);
	return -7;
}

static void test_a_refused_record_is_not_given_again(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	put_in_front(0, 1);
	put(MS_RING_CRITICAL, 2, 0);
	assert_int_equal(merge_drain(&merge, UINT64_MAX, refuse, &seen), -7);
	assert_int_equal(merge_drain(&merge, UINT64_MAX, refuse, &seen), -7);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.ts_ns[1], 2);
	assert_int_equal(drain(UINT64_MAX), 0);
}

static void test_all_slots_take_a_quarter_of_a_ring_at_most(void **state)
{
	static const int cpus[] = { 1, 2, 16, 192, 1024 };
	static const uint64_t bytes[] = { 4096, 1 << 20, 8 << 20, 64 << 20 };
	size_t i, j;

	(void)state;
	assert_int_equal(cpu_slots_choose(64 << 20, 2), 1024);
	assert_int_equal(cpu_slots_choose(4096, 2), 16);
	for (i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
		for (j = 0; j < sizeof(bytes) / sizeof(*bytes); j++) {
			uint32_t count = cpu_slots_choose(bytes[j], cpus[i]);

			assert_int_equal(count & (count - 1), 0);
			/* And not much less, if they can have it. */
			assert_true(count == 1024 ||
				    2 * cpus[i] * cpu_slots_value_bytes(count) > bytes[j] / 4);
			assert_int_equal(cpu_slots_value_bytes(count) % 64, 0);
			assert_true(count == 16 ||
				    cpus[i] * cpu_slots_value_bytes(count) <= bytes[j] / 4);
		}
	}
}

/* ---- a ring that is mapped ------------------------------------------------------------------- */

#define RING_BYTES (4 << 20)

/* Where the kernel has it, but that it has the data a second time, which a file has not. */
static void write_record(int fd, uint64_t position, uint64_t ts_ns)
{
	size_t page = sysconf(_SC_PAGESIZE), at = position % RING_BYTES;
	struct {
		uint32_t header[2];
		struct ms_process record;
	} whole = { { sizeof(whole.record) }, record_of(ts_ns) };

	assert_int_equal(pwrite(fd, &whole, sizeof(whole), 2 * page + at), sizeof(whole));
	if (at + sizeof(whole) > RING_BYTES)
		assert_true(pwrite(fd, (char *)&whole + (RING_BYTES - at),
				   at + sizeof(whole) - RING_BYTES, 2 * page) > 0);
	else
		assert_int_equal(pwrite(fd, &whole, sizeof(whole), 2 * page + at + RING_BYTES),
				 sizeof(whole));
}

static size_t resident_windows(const struct ring *ring)
{
	return ring->mapped_bytes / (1 << 20);
}

static void test_of_a_ring_only_what_is_read_is_mapped(void **state)
{
	const size_t page = sysconf(_SC_PAGESIZE), bytes = 8 + sizeof(struct ms_process);
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct merge_source *only[1];
	struct merge one = { .all = only, .count = 1 };
	uint64_t produced = 0, read = 0;
	struct ring ring;

	(void)state;
	assert_int_equal(ftruncate(fd, 2 * page + 2 * RING_BYTES), 0);
	assert_int_equal(ring_open(&ring, MS_RING_BULK, fd, RING_BYTES), 0);
	only[0] = &ring.source;
	assert_int_equal(resident_windows(&ring), 0);
	while (read < 3 * RING_BYTES / bytes) {
		struct seen seen = { 0 };
		size_t i;

		for (i = 0; i < 1000; i++, produced += bytes)
			write_record(fd, produced, produced / bytes + 1);
		assert_int_equal(pwrite(fd, &produced, sizeof(produced), page), sizeof(produced));
		assert_int_equal(merge_drain(&one, UINT64_MAX, see, &seen), 1000);
		for (i = 0; i < seen.count; i++)
			assert_int_equal(seen.ts_ns[i], ++read);
		if (produced < RING_BYTES)
			assert_in_range(resident_windows(&ring), produced >> 20,
					(produced >> 20) + 2);
	}
	assert_int_equal(resident_windows(&ring), RING_BYTES >> 20);
	ring_close(&ring);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_oldest_comes_first_wherever_it_is, open_inlets),
		cmocka_unit_test_setup(test_several_activities_in_one_record, open_inlets),
		cmocka_unit_test_setup(test_what_is_being_written_in_a_ring_holds_up_all,
				       open_inlets),
		cmocka_unit_test_setup(test_what_is_being_written_in_a_slot_holds_up_all,
				       open_inlets),
		cmocka_unit_test_setup(test_a_call_counts_from_its_end, open_inlets),
		cmocka_unit_test_setup(test_slots_are_used_again_and_again, open_inlets),
		cmocka_unit_test_setup(test_many_records_come_in_the_order_of_their_times,
				       open_inlets),
		cmocka_unit_test_setup(test_a_refused_record_is_not_given_again, open_inlets),
		cmocka_unit_test(test_all_slots_take_a_quarter_of_a_ring_at_most),
		cmocka_unit_test(test_of_a_ring_only_what_is_read_is_mapped),
	};

	return unit_run("source", tests);
}
