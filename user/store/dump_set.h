/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of several files belong to one recording, and their blocks in the order in which they were
 * written, none twice: a flight recorder leaves many files, and a bundle repeats what is in others.
 */
#ifndef MEMSCOPE_STORE_DUMP_SET_H
#define MEMSCOPE_STORE_DUMP_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "store/dump_reader.h"

/* Recordings that are looked for in one file, besides the one that it begins with. */
#define DUMP_SET_OTHERS 1000

struct dump_set_file {
	char *path;
	size_t number;           /* files are counted as they are added, from 0 */
	uint64_t first_sequence; /* of its first block of the recording that is whole */
	uint64_t begin, end;     /* bytes, where all of the recording is; 0: anywhere */
};

struct dump_set_recording {
	uint64_t recording;
	struct dump_set_file *files;
	size_t count, capacity;
	bool read; /* dump_set_read() was called */
};

struct dump_set {
	struct dump_set_recording *recordings; /* in the order in which their files were added */
	size_t count, capacity;
	struct map by_number; /* of the recording -> place in the array */
	size_t files;         /* added so far */
	size_t refused;       /* of these: no dumps, or too new, or have nothing whole in them */
	bool quiet;           /* to be set: they are not logged */
	bool repeats;         /* to be set: blocks that come again are given, too */
	bool peeks;           /* to be set: what is read is read again, so it adds no recording */
};

/*
 * Adds a file, or those of a directory whose names end in .mscope. One that cannot be used is told
 * and counted, and is no error. Returns 0, -ENOMEM, or what open(2) said of `path`, logged.
 */
int dump_set_add(struct dump_set *set, const char *path);
void dump_set_fini(struct dump_set *set);

/*
 * When the recording's last block ends (CLOCK_MONOTONIC, nanoseconds; 0: none is whole), which
 * takes reading all of it. Returns 0 or -errno, logged.
 */
int dump_set_last(const struct dump_set_recording *recording, uint64_t *last_ts_ns);

/*
 * Gives what is in the files of one recording to `take`, which may return an error to end that.
 * Blocks come by their numbers; what is between them (damage) when its file is read. If a file has
 * blocks of another recording too, that becomes a further one of the set: so the set's arrays may
 * move meanwhile. Returns 0, what `take` returned, or -errno, logged.
 */
int dump_set_read(struct dump_set *set, size_t recording,
		  int (*take)(void *context, const struct dump_item *item), void *context);

#endif /* MEMSCOPE_STORE_DUMP_SET_H */
