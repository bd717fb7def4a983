/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of all functions that are looked for in files. A large library has hundreds of
 * thousands of names, next to none of which is among them.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_WANTED_NAMES_H
#define MEMSCOPE_CAPTURE_ATTACH_WANTED_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/attach/marker_rows.h"

#define WANTED_NAMES_BITS 32768

struct wanted_names {
	uint8_t bits[WANTED_NAMES_BITS / 8]; /* by what names begin with */
	/* Another one for other names. */
	uint64_t digest;
	/* Some names are wanted of a file with a certain name only. */
	bool by_file;
};

/* `markers` may be NULL. */
void wanted_names_init(struct wanted_names *names, const struct marker_rows *markers);

/* False: it is none of them. True: it may be one. */
bool wanted_names_may_have(const struct wanted_names *names, const char *name);

#endif /* MEMSCOPE_CAPTURE_ATTACH_WANTED_NAMES_H */
