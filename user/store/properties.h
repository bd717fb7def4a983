/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and values in a block that says something about the recording: each is a name, a byte 0, a
 * value and a byte 0. A reader takes those that it knows.
 */
#ifndef MEMSCOPE_STORE_PROPERTIES_H
#define MEMSCOPE_STORE_PROPERTIES_H

#include <stdint.h>

#include "base/string.h"

struct properties {
	struct string bytes;
};

void properties_fini(struct properties *properties);

/* A value that has a byte 0 in it ends there. Without memory, `bytes.failed` is set. */
void properties_put(struct properties *properties, const char *name, const char *value);
void properties_put_u64(struct properties *properties, const char *name, uint64_t value);

/* Finds a value, terminated, valid as long as the bytes; NULL: there is none. */
const char *properties_find(const char *bytes, size_t length, const char *name);

/* The same for a number; `otherwise` if there is none. */
uint64_t properties_find_u64(const char *bytes, size_t length, const char *name,
			     uint64_t otherwise);

#endif /* MEMSCOPE_STORE_PROPERTIES_H */
