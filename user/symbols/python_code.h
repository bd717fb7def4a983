/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Python code object: which function it is, and its lines. It comes from the record that the
 * kernel side made when it saw it for the first time, or from the memory of the process. Both are
 * what a traced program has written there.
 */
#ifndef MEMSCOPE_SYMBOLS_PYTHON_CODE_H
#define MEMSCOPE_SYMBOLS_PYTHON_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "base/string.h"

#define PYTHON_CODE_TEXT_MAX 4096     /* characters of a name; more are left out */
#define PYTHON_CODE_LINES_MAX 1048576 /* bytes of a table of lines; more are left out */

/* A zeroed one is empty. */
struct python_code {
	struct string filename; /* UTF-8, as much of it as there is */
	struct string name;     /* qualified by its class or function from 3.11 on */
	uint32_t version;       /* PY_VERSION_HEX */
	uint32_t first_line;
	uint8_t *lines;
	size_t lines_length;
	bool lines_are_cut; /* the table goes on behind them */
	bool is_cut;        /* something of all that is missing, and the process may have it */
};

void python_code_fini(struct python_code *code);

/*
 * Whether the interpreter has put in a frame of its own, which no traceback has: from 3.12 on, one
 * between an __init__() and what makes the object.
 */
bool python_code_is_own(const struct python_code *code);

/*
 * From a record, whose length has been checked by python_code_is_well_formed(). Returns 0 or
 * -ENOMEM.
 */
int python_code_of_record(struct python_code *code, const struct ms_python_code *record);

/* Whether a record of that many bytes is what it says. */
bool python_code_is_well_formed(const struct ms_python_code *record, size_t length);

/*
 * From the memory of a process, if what is at the address is still the code object with that check.
 * Returns 0, -ESTALE if it is not, or another -errno.
 */
int python_code_read(struct python_code *code, pid_t pid, const struct ms_python *python,
		     uint64_t addr, uint32_t check);

/* The line of the instruction that begins `offset` bytes behind the first one; 0: not known. */
uint32_t python_code_line(const struct python_code *code, int64_t offset);

#endif /* MEMSCOPE_SYMBOLS_PYTHON_CODE_H */
