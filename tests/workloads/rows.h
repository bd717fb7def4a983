/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the rows_* workloads share: calling a function with every argument as a whole register or
 * stack word, and printing the event that the call must lead to, in the columns that
 * tests/e2e/rows-filter.jq makes of the tool's JSON. What is expected is written down next to each
 * call, from CUDA's documentation; nothing here knows bpf/probes.def.
 */
#ifndef ROWS_H
#define ROWS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANY(array) (sizeof(array) / sizeof(*(array)))

/* ---- calls ----------------------------------------------------------------------------------- */

#define ROWS_ARGS 11 /* of cuLaunchKernel */

#define P(pointer) ((uint64_t)(pointer))

/* A 32-bit argument: the upper half of its register or stack word is anybody's guess. */
#define DIRTY(value) (0xdead5eed00000000ull | (uint32_t)(value))

_Noreturn void rows_die(const char *what, const char *why);

/*
 * In a forked child: until a tracer that follows, whose messages are $PROBED, says that it has
 * attached to it; without them, $ROWS_WAIT_MS (1000).
 */
void rows_wait_for_tracer(void);

/* Ends the program unless the call did what the expectation relies on. */
void rows_check(const char *api, int wanted, int result);

/* Of functions that have no row. */
#define NEED(call) rows_check(#call, 0, call)

/* With ROWS_ARGS arguments; those that the function does not have do no harm. */
void rows_call(const char *api, void *function, int wanted, const uint64_t *args);

/* ---- expected events ------------------------------------------------------------------------- */

/* Text that lasts until some forty more are made. */
__attribute__((format(printf, 1, 2))) const char *rows_text(const char *format, ...);

#define HEX(value) rows_text("0x%" PRIx64, (uint64_t)(value))
#define DEC(value) rows_text("%" PRId64, (int64_t)(value))
#define DIMS(d) rows_text("%u,%u,%u", (d)[0], (d)[1], (d)[2])
#define AMOUNT(space, count, bytes) rows_text("%s:%d:%" PRIu64, space, count, (uint64_t)(bytes))
#define UNKNOWN "-"

/* Of a handle for other processes (64 bytes): FNV-1a, by words of 64 bits. */
const char *rows_handle_hash(const void *handle);

/* What is left out does not apply to the event, or is unknown. */
struct row {
	const char *op;
	const char *api;
	const char *driver_api; /* left out: `api`, if that is a driver function */
	int result;
	const char *device; /* left out, these two are as rows_at() says */
	const char *context;
	const char *addr; /* copy: the destination; launch, sync, context: the handle */
	const char *size;
	const char *src;
	const char *stream;
	const char *direction;
	const char *space;
	const char *kernel;
	const char *grid;
	const char *block;
	const char *shared;
	bool nested;
	const char *live;    /* after it; only of what rows-filter.jq shows it of */
	const char *backing; /* pool or handle */
	const char *freed;   /* left out: known, if the free succeeded (null, of 0x0) */
	bool captured;
	const char *graph;
	const char *free_bytes;
	const char *identity; /* of a device */
	const char *attribute;
	const char *made; /* AMOUNT() */
	const char *ended;
};

#define EXPECT(...) rows_expect(&(struct row){ __VA_ARGS__ })

void rows_expect(const struct row *row);

/* The current context and its device from now on; NULL: none. */
void rows_at(const void *context, int device);

/* ---- kernel names ---------------------------------------------------------------------------- */

/* What a JSON writer can get wrong: quotes, controls, UTF-8, and a byte that is not UTF-8. */
#define ROWS_ODD_NAME "odd \"name\"\\<%>&\t\n\r\b\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff"
#define ROWS_ODD_NAME_SHOWN \
	"odd \"name\"\\<%>&\t\n\r\b\x01\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd"

#define ROWS_NAME_KEPT 511 /* bytes of a name that BPF reads */

/* A name of that length, to be freed. */
char *rows_long_name(size_t length);

#endif /* ROWS_H */
