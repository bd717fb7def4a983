/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can be said of a dump: of what and when it is, whether it is whole, what is missing or
 * damaged, and what of it can be used.
 */
#ifndef MEMSCOPE_STORE_VERIFICATION_H
#define MEMSCOPE_STORE_VERIFICATION_H

#include <stddef.h>
#include <stdint.h>

#include "pipeline.h"
#include "store/dump_file.h"
#include "store/dump_index.h"
#include "store/replay.h"

/* From the best to the worst; a dump is the worst that applies. */
enum verification_status {
	VERIFICATION_WHOLE,
	VERIFICATION_CUT_SHORT,  /* its end is missing, and the last block may not be whole */
	VERIFICATION_INCOMPLETE, /* all blocks are whole, but some before others are missing */
	VERIFICATION_DAMAGED,
	VERIFICATION_UNUSABLE, /* no segment in it has a whole beginning: nothing can be said */
	VERIFICATION_TOO_NEW,  /* of a major version that is not known */
	VERIFICATION_NO_DUMP,  /* there is no whole block in it */
};

const char *verification_name(enum verification_status status);

/* Bytes that are no whole block. */
struct verification_damage {
	size_t file;
	uint64_t offset;
	uint64_t bytes;
	bool at_end; /* the beginning of a block, and nothing after it */
};

/* Blocks that are not there, by their numbers, between others that are. */
struct verification_gap {
	uint64_t first_sequence;
	uint64_t blocks;
	uint64_t first_ts_ns, last_ts_ns; /* CLOCK_MONOTONIC: what they may have covered */
};

struct verification_file {
	char *path;
	uint64_t bytes;
	uint64_t blocks;
	uint64_t segments;
	uint64_t events;
	uint64_t first_ts_ns, last_ts_ns; /* 0: no block */
};

/* Damages and gaps that are listed; of the others, only the numbers are known. */
#define VERIFICATION_LISTED 1000

struct verification {
	struct pipeline pipeline;
	struct replay *replay;
	struct verification_file *files;
	size_t files_count, files_capacity;
	struct verification_damage *damages;
	size_t damages_count, damages_capacity;
	struct verification_gap *gaps;
	size_t gaps_count, gaps_capacity;
	uint8_t major; /* of a block that is too new */

	bool cut_within; /* a file that others follow ends within a block */

	const char *copy_path;   /* to be set: where whole blocks are copied to, or NULL */
	struct dump_file copy;   /* from the first one on */
	struct dump_index index; /* of that */
	uint64_t copied;         /* blocks */
	struct block_header last;
};

/* Returns 0 or -ENOMEM. */
int verification_init(struct verification *verification);
/* A copy that is not finished is removed. */
void verification_fini(struct verification *verification);

/*
 * Goes through the next file of the dump. Returns 0, or -errno, logged: it cannot be read, or the
 * copy not be written.
 */
int verification_add(struct verification *verification, const char *path);

/*
 * After the last file: finishes the copy that was asked for. Returns 0, or -errno, logged:
 * -ENODATA, and no copy, if there is nothing in it that can be used.
 */
int verification_finish(struct verification *verification);

enum verification_status verification_status(const struct verification *verification);

#endif /* MEMSCOPE_STORE_VERIFICATION_H */
