/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of a dump: of what and when it is, whether it is whole, what is missing or
 * damaged, and what of it can be used.
 */
#ifndef MEMSCOPE_STORE_VERIFICATION_H
#define MEMSCOPE_STORE_VERIFICATION_H

#include <stddef.h>
#include <stdint.h>

#include "pipeline.h"
#include "store/dump_file.h"
#include "store/dump_index.h"
#include "store/dump_set.h"
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

/* First and last moments. By the wall clock if any recording in it says how that was set. */
struct verification_span {
	uint64_t first_ns, last_ns; /* both 0: of nothing */
	bool is_wall;               /* else CLOCK_MONOTONIC */
};

/* Blocks that are not there, by their numbers, between others that are. */
struct verification_gap {
	uint64_t first_sequence;
	uint64_t blocks;
	struct verification_span span; /* what they may have covered */
};

struct verification_file {
	char *path;
	bool refused;         /* there is no block of a recording in it */
	bool is_cut;          /* it ends within a block */
	uint64_t damage_seen; /* damage before that byte has been noted */
	uint64_t bytes;
	uint64_t blocks;
	uint64_t segments;
	uint64_t events;
	struct verification_span read; /* by CLOCK_MONOTONIC, of the recording that is being read */
	struct verification_span span; /* of all recordings in it */
};

/* What is known of a recording, as far as it has been read. */
struct verification_recording {
	struct block_header last;   /* of its blocks but for indexes; type 0: there was none */
	struct block_header index;  /* of its last index, likewise */
	bool damaged;               /* something in its files cannot be read */
	uint64_t missing_before;    /* blocks, of recordings before it */
	struct dump_index segments; /* in the copy */
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

	struct dump_set set;
	struct verification_recording recording; /* that is being read */
	struct verification_span span;           /* of all recordings */

	const char *copy_path; /* to be set: where whole blocks are copied to, or NULL */
	struct dump_file copy; /* from the first one on */
	uint64_t copied;       /* blocks */
};

/* Returns 0 or -ENOMEM. */
int verification_init(struct verification *verification);
/* A copy that is not finished is removed. */
void verification_fini(struct verification *verification);

/*
 * Adds a file, or those of a directory whose names end in .mscope. Returns 0, -ENODATA if there are
 * none, or -errno, logged.
 */
int verification_add(struct verification *verification, const char *path);

/*
 * Goes through all files that were added: each recording's blocks by their numbers, whatever the
 * files are called, as reports do. Returns 0, or -errno, logged: a file cannot be read, or the copy
 * not be written; -E2BIG if what is in them was made up.
 */
int verification_read(struct verification *verification);

/*
 * After that: finishes the copy that was asked for. Returns 0, or -errno, logged:
 * -ENODATA, and no copy, if there is nothing in it that can be used.
 */
int verification_finish(struct verification *verification);

enum verification_status verification_status(const struct verification *verification);

#endif /* MEMSCOPE_STORE_VERIFICATION_H */
