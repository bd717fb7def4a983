// SPDX-License-Identifier: BSD-2-Clause
/*
 * A caching allocator that says what it does as PyTorch's does, to a stand-in for libc10.so
 * (c10.c), and to its standard output, which is what an observer has to have found.
 *
 * usage: tensors LIBRARY now|before STEPS [SYMBOL_LETTER]
 *        tensors LIBRARY hostile
 *        tensors LIBRARY pinned|full|cached|retry|pieces
 *        tensors LIBRARY leaking|growing_cache|lines
 *
 * Of the last two lines, the first fill the device as programs do that have a fault of that kind,
 * or none; of the others, one keeps more and more blocks, one has a cache that grows, and one makes
 * blocks of many sizes in a hundred functions, and says for each "line NAME LIVE_BYTES BYTES".
 *
 * `before` does half of the steps, then waits for a line of standard input. SYMBOL_LETTER: m
 * (default) or l, the form of the names.
 *
 * A line of its output is "alloc|free|out_of_memory ADDRESS BYTES ALLOCATED RESERVED"; the last one
 * "end ALLOCATED RESERVED PEAK_ALLOCATED PEAK_RESERVED LIVE_BLOCKS".
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probed.h"
#include "simcuda.h"

#define BLOCKS 512
#define SEGMENTS 4096
#define SEGMENT_BYTES (2ul << 20)
#define GRAIN 512ul
#define CUDA 1
#define CPU 0

/* The device is in the lower two bytes; what the rest of the register has is left to chance. */
typedef void report_fn(void *block, int64_t size, uint64_t allocated, uint64_t reserved,
		       uint64_t device);
typedef void oom_fn(int64_t size, uint64_t allocated, uint64_t reserved, uint64_t device);

/* A piece of memory from the driver, given whole or in equal parts. */
struct segment {
	CUdeviceptr addr;
	uint64_t bytes, part_bytes;
	uint64_t used; /* parts: a bit set */
	unsigned int parts;
};

static struct segment segments[SEGMENTS];
static unsigned int segments_count;
static struct {
	uint64_t addr, bytes;
	struct segment *segment;
	unsigned int part;
} live[BLOCKS];
static uint64_t allocated, reserved, peak_allocated, peak_reserved, live_count;
static report_fn *report;
static oom_fn *report_oom;

static void need(CUresult result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "tensors: %s: %d\n", what, result);
	exit(2);
}

#define NEED(call) need(call, #call)

static uint64_t device_argument(int type, int index)
{
	return (uint64_t)rand() << 32 | 0xabcd0000 | (uint64_t)(index & 0xff) << 8 | type;
}

static void say(uint64_t addr, int64_t size)
{
	const uint64_t bytes = size < 0 ? -size : size;

	if (allocated > peak_allocated)
		peak_allocated = allocated;
	if (reserved > peak_reserved)
		peak_reserved = reserved;
	printf("%s 0x%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	       size < 0 ? "free" : "alloc", addr, bytes, allocated, reserved);
	report((void *)addr, size, allocated, reserved, device_argument(CUDA, 0));
	/* Memory of the host comes through the same function. */
	report((void *)0x1234, size, 1, 2, device_argument(CPU, 0xff));
}

static struct segment *segment_with_room(uint64_t part_bytes)
{
	struct segment *segment;
	unsigned int i;

	for (i = 0; i < segments_count; i++)
		if (segments[i].part_bytes == part_bytes &&
		    segments[i].used != ~0ull >> (64 - segments[i].parts))
			return &segments[i];
	if (segments_count == SEGMENTS)
		exit(3);
	segment = &segments[segments_count++];
	segment->part_bytes = part_bytes;
	segment->bytes = part_bytes > SEGMENT_BYTES / 2 ? part_bytes : SEGMENT_BYTES;
	segment->parts = segment->bytes / part_bytes > 64 ? 64 : segment->bytes / part_bytes;
	NEED(cuMemAlloc_v2(&segment->addr, segment->bytes));
	reserved += segment->bytes;
	return segment;
}

static void give(unsigned int slot, uint64_t wanted)
{
	const uint64_t bytes = (wanted + GRAIN - 1) / GRAIN * GRAIN;
	struct segment *segment = segment_with_room(bytes);
	unsigned int part = 0;

	while (segment->used >> part & 1)
		part++;
	segment->used |= 1ull << part;
	live[slot].addr = segment->addr + part * bytes;
	live[slot].bytes = bytes;
	live[slot].segment = segment;
	live[slot].part = part;
	live_count++;
	allocated += bytes;
	say(live[slot].addr, bytes);
}

static void take_back(unsigned int slot)
{
	live[slot].segment->used &= ~(1ull << live[slot].part);
	live_count--;
	allocated -= live[slot].bytes;
	say(live[slot].addr, -(int64_t)live[slot].bytes);
	live[slot].bytes = 0;
}

static void steps(unsigned long count)
{
	while (count--) {
		const unsigned int slot = rand() % BLOCKS;

		if (live[slot].bytes)
			take_back(slot);
		else
			give(slot, rand() % 4 ? 512ul << rand() % 8 : (1ul << 20) << rand() % 4);
	}
}

static void run_out(void)
{
	const int64_t wanted = 1ll << 40;

	printf("out_of_memory 0x0 %" PRId64 " %" PRIu64 " %" PRIu64 "\n", wanted, allocated,
	       reserved);
	report_oom(wanted, allocated, reserved, device_argument(CUDA, 0));
}

/* What no allocator says; and at the end something that one does. */
static void hostile(void)
{
	const uint64_t cuda = device_argument(CUDA, 0);
	int i;

	report((void *)0x1000, INT64_MIN, 0, 0, cuda);
	report((void *)0x1000, INT64_MAX, 1, 2, cuda);
	report((void *)0x1000, 1ll << 62, UINT64_MAX, UINT64_MAX, cuda);
	report((void *)0x1000, 4096, 8192, 4096, cuda);
	report(NULL, 4096, 4096, 4096, cuda);
	report((void *)0x1000, 0, 4096, 4096, cuda);
	for (i = 0; i < 256; i++)
		report((void *)0x2000, 512, 512, 4096, device_argument(CUDA, i));
	report((void *)0x3000, -512, 100, 4096, cuda);
	report((void *)0x4000, 1024, 1024, 4096, cuda);
}

/* ---- how a device fills up ------------------------------------------------------------------- */

#define LARGE (20ul << 20) /* a segment */
#define SMALL 512ul

/* A segment from the driver; 0: it has none left. */
static CUdeviceptr take(uint64_t bytes)
{
	CUdeviceptr addr = 0;

	if (cuMemAlloc_v2(&addr, bytes) != CUDA_SUCCESS)
		return 0;
	reserved += bytes;
	return addr;
}

static void block_give(uint64_t addr, uint64_t bytes)
{
	allocated += bytes;
	live_count++;
	say(addr, bytes);
}

static void block_take_back(uint64_t addr, uint64_t bytes)
{
	allocated -= bytes;
	live_count--;
	say(addr, -(int64_t)bytes);
}

/* The driver has none either. */
static void give_up(int64_t wanted)
{
	if (take((uint64_t)wanted))
		exit(8);
	printf("out_of_memory 0x0 %" PRId64 " %" PRIu64 " %" PRIu64 "\n", wanted, allocated,
	       reserved);
	report_oom(wanted, allocated, reserved, device_argument(CUDA, 0));
}

/* A small block stays between two large ones that come back. */
static bool leave_small(void)
{
	const uint64_t rest = LARGE / 2 - SMALL;
	const CUdeviceptr addr = take(LARGE);

	if (!addr)
		return false;
	block_give(addr, LARGE / 2);
	block_give(addr + LARGE / 2, SMALL);
	block_give(addr + LARGE / 2 + SMALL, rest);
	block_take_back(addr, LARGE / 2);
	block_take_back(addr + LARGE / 2 + SMALL, rest);
	return true;
}

static void pinned(void)
{
	while (leave_small())
		;
	give_up(2 * LARGE);
}

static void full(void)
{
	CUdeviceptr addr;

	while ((addr = take(LARGE)))
		block_give(addr, LARGE);
	give_up(LARGE);
}

/* Nothing is in use, and what needs memory is not the allocator's. */
static void cached(void)
{
	CUdeviceptr addr;

	while ((addr = take(LARGE))) {
		block_give(addr, LARGE);
		block_take_back(addr, LARGE);
	}
}

/* The allocator gives back what it caches, and gets it in one piece. */
static void retry(void)
{
	CUdeviceptr addr, all[64];
	unsigned int count = 0;

	while (count < 64 && (addr = take(LARGE))) {
		block_give(addr, LARGE);
		block_take_back(addr, LARGE);
		all[count++] = addr;
	}
	while (count) {
		NEED(cuMemFree_v2(all[--count]));
		reserved -= LARGE;
	}
	addr = take(2 * LARGE);
	if (!addr)
		exit(8);
	block_give(addr, 2 * LARGE);
}

/* More is taken, though half of all is free; nothing fails. */
static void pieces(void)
{
	unsigned int i;

	for (i = 0; i < 20; i++)
		leave_small();
	block_give(take(2 * LARGE), 2 * LARGE);
}

#define LOOPS 40

/* As long as a step of training. */
static void work(void)
{
	const struct timespec step_ns = { 0, 20000000 };

	nanosleep(&step_ns, NULL);
}

static __attribute__((noinline)) CUdeviceptr keep_one(void)
{
	const CUdeviceptr addr = take(LARGE);

	block_give(addr, LARGE / 4);
	return addr;
}

/* What comes and goes is more than what stays. */
static __attribute__((noinline)) void use_and_drop(CUdeviceptr addr)
{
	block_give(addr, LARGE / 2);
	block_take_back(addr, LARGE / 2);
}

/* The most is held in the middle: twelve blocks more. */
static __attribute__((noinline)) void hold_some(CUdeviceptr addr)
{
	unsigned int i;

	for (i = 0; i < 12; i++)
		block_give(addr + (i << 10), 1 << 10);
	for (i = 0; i < 12; i++)
		block_take_back(addr + (i << 10), 1 << 10);
}

static void leaking(void)
{
	const CUdeviceptr space = take(LARGE);
	unsigned int i;

	for (i = 0; i < LOOPS; i++) {
		const CUdeviceptr addr = keep_one();

		use_and_drop(addr + LARGE / 4);
		work();
	}
	hold_some(space);
}

/* Each time a new segment is taken, though nothing is kept in those that are there. */
static void growing_cache(void)
{
	unsigned int i;

	for (i = 0; i < LOOPS; i++) {
		use_and_drop(take(LARGE));
		work();
	}
}

/* ---- many lines ------------------------------------------------------------------------------ */

#define LINE(n) \
	static __attribute__((noinline, noclone)) void line_##n(uint64_t addr, uint64_t bytes) \
	{ \
		block_give(addr, bytes); \
		__asm__ volatile("" : : "i"(1##n)); \
	}
#define TEN(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define HUNDRED(X) \
	TEN(X, 0) \
	TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8) TEN(X, 9)
#define NAMED(n) { "line_" #n, line_##n },

/* clang-format off */
HUNDRED(LINE)

static const struct {
	const char *name;
	void (*give)(uint64_t addr, uint64_t bytes);
} lines[] = { HUNDRED(NAMED) };
/* clang-format on */

/* Each makes blocks of one size, of 512 B to 2 MiB, and has a third of them back. */
static void many_lines(void)
{
	uint64_t addr = take(8ul << 30);
	unsigned int i, block;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const uint64_t bytes = SMALL << i % 13;
		uint64_t kept = 0, made = 0;

		for (block = 0; block < 6 + i; block++) {
			lines[i].give(addr, bytes);
			made += bytes;
			kept += bytes;
			if (block % 3 == 2) {
				block_take_back(addr, bytes);
				kept -= bytes;
			}
			addr += bytes;
		}
		printf("line %s %" PRIu64 " %" PRIu64 "\n", lines[i].name, kept, made);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "pinned", pinned },
	{ "full", full },
	{ "cached", cached },
	{ "retry", retry },
	{ "pieces", pieces },
	{ "leaking", leaking },
	{ "growing_cache", growing_cache },
	{ "lines", many_lines },
};

/* Returns whether there is one of that name. */
static bool scenario(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		if (strcmp(scenarios[i].name, name) != 0)
			continue;
		scenarios[i].run();
		return true;
	}
	return false;
}

static void begin(void)
{
	CUcontext context;
	CUdevice device;

	NEED(cuInit(0));
	NEED(cuDeviceGet(&device, 0));
	NEED(cuDevicePrimaryCtxRetain(&context, device));
	NEED(cuCtxSetCurrent(context));
}

static void *function(void *library, const char *name, const char *letters)
{
	char symbol[128];

	snprintf(symbol, sizeof(symbol), name, *letters, *letters);
	return dlsym(library, symbol);
}

int main(int argc, char **argv)
{
	const bool is_hostile = argc == 3 && !strcmp(argv[2], "hostile");
	const bool is_scenario = argc == 3 && !is_hostile;
	const char *letter = argc > 4 ? argv[4] : "m";
	unsigned long count;
	void *library;

	if (argc < 3)
		return 2;
	begin();
	library = dlopen(argv[1], RTLD_NOW);
	if (library) {
		report = function(
			library, "_ZN3c1027reportMemoryUsageToProfilerEPvl%c%cNS_6DeviceE", letter);
		report_oom = function(
			library, "_ZN3c1027reportOutOfMemoryToProfilerEl%c%cNS_6DeviceE", letter);
	}
	if (!report || !report_oom)
		return 4;
	if (argc == 3 || strcmp(argv[2], "before") != 0)
		probed_wait(argv[1], report);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (is_hostile) {
		hostile();
		return 0;
	}
	if (is_scenario)
		return scenario(argv[2]) ? 0 : 2;
	count = strtoul(argv[3], NULL, 10);
	if (!strcmp(argv[2], "before")) {
		steps(count / 2);
		puts("waiting");
		if (getchar() == EOF)
			return 5;
		probed_wait(argv[1], report);
		count -= count / 2;
	}
	steps(count);
	run_out();
	printf("end %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", allocated,
	       reserved, peak_allocated, peak_reserved, live_count);
	return 0;
}
