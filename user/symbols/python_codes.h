/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code objects of all traced Python processes, by their addresses: what the records of the
 * kernel side say, and what they lack is read from the process while it is there. Names and lines
 * are known for as long as they are kept here, whether the process lives or not.
 */
#ifndef MEMSCOPE_SYMBOLS_PYTHON_CODES_H
#define MEMSCOPE_SYMBOLS_PYTHON_CODES_H

#include "base/map.h"
#include "symbols/python_code.h"

#define PYTHON_CODES_MAX_BYTES (64u << 20) /* of all processes: some 100,000 functions */

/* A zeroed one is empty. */
struct python_codes {
	struct map processes; /* pid -> struct python_process */
	size_t bytes;
	uint64_t refused; /* code objects that found no room */
};

void python_codes_fini(struct python_codes *codes);

/*
 * Takes what the record says in. `python`: where the process keeps things; NULL if that is not
 * known (any more), or what the process has there must not be looked at. Returns 0, -EINVAL for a
 * record that is none, -ENOSPC or -ENOMEM.
 */
int python_codes_add(struct python_codes *codes, const struct ms_python_code *record, size_t length,
		     const struct ms_python *python);

/* The code object that a frame refers to; valid until the next call but this. NULL: not known. */
const struct python_code *python_codes_find(const struct python_codes *codes, uint32_t pid,
					    uint64_t start_ns, uint64_t addr, uint32_t check);

/* The process has ended or executed another program. */
void python_codes_forget(struct python_codes *codes, uint32_t pid);

#endif /* MEMSCOPE_SYMBOLS_PYTHON_CODES_H */
