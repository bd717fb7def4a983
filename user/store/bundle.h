/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bundle: what the flight recorder has at a moment, in one dump, which is there as a whole or not
 * at all.
 */
#ifndef MEMSCOPE_STORE_BUNDLE_H
#define MEMSCOPE_STORE_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "store/dump_ring.h"
#include "store/dump_writer.h"

struct bundle {
	struct dump_ring *ring;
	const char *path;   /* of the dump; with `host`, a template (store/dump_name.h) */
	const char *host;   /* NULL: it is none; %t is when the bundle is written */
	const char *suffix; /* what is put into it: "oom"; NULL: the path is as it is */
	uint32_t number;    /* ... and this: "oom-1"; if that exists, the next; 0: none */
	/* Ends it, if the recording does not end with it; else NULL. */
	struct dump_writer *writer;
	const struct properties *end;
	uint64_t now_ns;

	bool again; /* it is tried again if it cannot be written */
	int said;   /* why another one could not, which is not logged twice: -errno; 0: nothing */
};

/*
 * Writes it. Nothing is overwritten. Returns 0, with its name (and a byte 0) in `*name` and its
 * size in `*bytes`; or -errno, logged unless it is `said`: -ENODATA if the ring is empty.
 */
int bundle_write(const struct bundle *bundle, struct string *name, uint64_t *bytes);

#endif /* MEMSCOPE_STORE_BUNDLE_H */
