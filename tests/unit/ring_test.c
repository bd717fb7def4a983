// SPDX-License-Identifier: BSD-2-Clause
/*
 * In which order records come out of several rings.
 */
#include "capture/ring.h"

#include <linux/bpf.h>
#include <string.h>

#include "abi.h"
#include "unit.h"

#define BYTES 4096
#define COUNT 4

/* As the kernel has it, but for its end, which is not reached here. */
struct memory {
	uint64_t consumer, producer;
	_Alignas(8) char data[BYTES];
};

static struct memory memories[COUNT];
static struct ring rings[COUNT];

/* Two pairs. */
static int open_rings(void **state)
{
	size_t i;

	(void)state;
	memset(memories, 0, sizeof(memories));
	for (i = 0; i < COUNT; i++)
		rings[i] = (struct ring){ .consumer = &memories[i].consumer,
					  .producer = &memories[i].producer,
					  .data = memories[i].data,
					  .size_bytes = BYTES,
					  .partner = &rings[i ^ 1] };
	return 0;
}

/* A record of that time in a ring; `flags`: of its header, which is returned. */
static uint32_t *put(size_t ring, uint64_t ts_ns, uint32_t flags)
{
	struct memory *memory = &memories[ring];
	uint32_t *header = (uint32_t *)(memory->data + memory->producer);
	struct ms_process record = { .event = { .ts_ns = ts_ns, .type = MS_TYPE_EXIT } };

	*header = sizeof(record) | flags;
	memcpy(memory->data + memory->producer + BPF_RINGBUF_HDR_SZ, &record, sizeof(record));
	memory->producer += BPF_RINGBUF_HDR_SZ + sizeof(record);
	return header;
}

struct seen {
	uint64_t ts_ns[16];
	size_t count;
};

static int see(void *context, void *record, size_t length)
{
	struct seen *seen = context;

	assert_int_equal(length, sizeof(struct ms_process));
	seen->ts_ns[seen->count++] = ((const struct ms_event *)record)->ts_ns;
	return 0;
}

/* What comes out, as the digits of a number. */
static uint64_t drain(uint64_t until_ns)
{
	struct seen seen = { 0 };
	uint64_t digits = 0;
	size_t i;

	assert_int_equal(rings_drain(rings, COUNT, until_ns, see, &seen), seen.count);
	for (i = 0; i < seen.count; i++)
		digits = digits * 10 + seen.ts_ns[i];
	return digits;
}

static void test_the_oldest_comes_first_whichever_ring_it_is_in(void **state)
{
	(void)state;
	put(1, 1, 0);
	put(1, 4, 0);
	put(0, 2, 0);
	put(3, 3, 0);
	put(2, 5, 0);
	put(2, 6, BPF_RINGBUF_DISCARD_BIT);
	put(2, 7, 0);
	assert_int_equal(drain(5), 1234);
	assert_int_equal(drain(UINT64_MAX), 57);
	assert_int_equal(drain(UINT64_MAX), 0);
	assert_int_equal(rings[2].highest_bytes, memories[2].producer);
}

static void test_what_is_being_written_holds_up_its_ring_and_the_partner_alone(void **state)
{
	size_t busy;

	for (busy = 0; busy < 2; busy++) {
		uint32_t *header;

		open_rings(state);
		put(busy, 1, 0);
		header = put(busy, 2, BPF_RINGBUF_BUSY_BIT);
		put(busy, 3, 0);
		put(busy ^ 1, 4, 0);
		put(2, 5, 0);
		assert_int_equal(drain(UINT64_MAX), 15);
		assert_int_equal(drain(UINT64_MAX), 0);
		*header &= ~BPF_RINGBUF_BUSY_BIT;
		assert_int_equal(drain(UINT64_MAX), 234);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_oldest_comes_first_whichever_ring_it_is_in,
				       open_rings),
		cmocka_unit_test_setup(
			test_what_is_being_written_holds_up_its_ring_and_the_partner_alone,
			open_rings),
	};

	return unit_run("ring", tests);
}
