/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program can make any number of, and what is kept of it: so the work and the memory that a
 * process causes are bounded, whatever it does. What finds no place is counted, and every output
 * says so. The bounds are several times what the largest programs need.
 */
#ifndef MEMSCOPE_LEDGER_LIMITS_H
#define MEMSCOPE_LEDGER_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */

/*
 * Name in JSON, how many a process can have, whether what is live is not exact without the others,
 * and what one and many of these are. Their numbers are those in recordings (docs/dump-format.md).
 */
#define LIMITS(X) \
	X(FAILURES, "failed_calls", 1024, false, \
	  "failed call of a function and with a result beyond those listed", \
	  "failed calls of functions and with results beyond those listed") \
	X(KERNELS, "launches", 65536, false, \
	  "launch of a kernel beyond those listed: as one of \"(other kernels)\"", \
	  "launches of kernels beyond those listed: as those of \"(other kernels)\"") \
	X(NAMES, "kernel_names", 131072, false, \
	  "name of a kernel too many to be kept", \
	  "names of kernels too many to be kept") \
	X(CONTEXTS, "contexts", 4096, false, \
	  "context too many to be followed: the device of what was allocated in it is not known", \
	  "contexts too many to be followed: the device of what was allocated in them is not known") \
	X(VIEWS, "told", 1024, false, \
	  "answer about the memory of a device or pool beyond those listed", \
	  "answers about the memory of devices or pools beyond those listed") \
	X(GRAPHS, "graphs", 65536, true, \
	  "graph or captured stream too many to be followed", \
	  "graphs or captured streams too many to be followed") \
	X(FREES, "frees", 65536, true, \
	  "free too many at a time: taken to have succeeded", \
	  "frees too many at a time: taken to have succeeded") \
	X(UNMAPS, "unmapped", 0, true, \
	  "mapping of too many that were unmapped at once: it still counts as live", \
	  "mappings of too many that were unmapped at once: they still count as live") \
	X(ALLOCATIONS, "allocations", 4194304, true, \
	  "allocation too many at a time: not in what is live", \
	  "allocations too many at a time: not in what is live")

/* clang-format on */

enum limit {
#define X(limit, name, most, memory, one, many) LIMIT_##limit,
	LIMITS(X)
#undef X
		LIMITS_COUNT,
};

/* Of kernels' names, in bytes: of what a process is the first to have; of all processes. */
#define LIMIT_NAME_BYTES (8ul << 20)
#define LIMIT_ALL_NAMES_BYTES (64ul << 20)

/* Stands for kernels that found no place; a row like any other. */
extern const char limit_other_kernels[];

size_t limit_most(enum limit limit);
const char *limit_name(enum limit limit);

/* What so many are that found no place. */
const char *limit_words(enum limit limit, uint64_t count);

/* Whether what is live is not exact without them: `others` are counts of each. */
bool limits_concern_memory(const uint64_t others[LIMITS_COUNT]);

#endif /* MEMSCOPE_LEDGER_LIMITS_H */
