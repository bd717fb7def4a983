/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the segments of a dump begin: what its last block says. It only saves other readers looking
 * for them, so it may be missing; nothing here reads it.
 */
#ifndef MEMSCOPE_STORE_DUMP_INDEX_H
#define MEMSCOPE_STORE_DUMP_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "store/block.h"

/* In the block, oldest first. */
struct dump_index_entry {
	uint64_t back_bytes; /* from the segment's first byte to the index block's */
	uint64_t first_ts_ns;
	uint64_t sequence; /* of the segment's first block */
};

_Static_assert(sizeof(struct dump_index_entry) == 24, "file layout");

#define DUMP_INDEX_MAX (BLOCK_MAX_BYTES / sizeof(struct dump_index_entry))

/* A zeroed struct dump_index is empty and ready. Without memory it stays empty. */
struct dump_index {
	struct dump_index_entry
		*entries; /* back_bytes is the segment's offset, until it is written */
	size_t count, capacity;
};

void dump_index_fini(struct dump_index *index);

/* A segment begins there. If there are too many, the older half is forgotten. */
void dump_index_add(struct dump_index *index, uint64_t offset, const struct block_header *header);

/* What begins at `offset` or later has been taken back. */
void dump_index_cut(struct dump_index *index, uint64_t offset);

/*
 * The payload of an index block at `offset`, header->raw_bytes long; the other members that are not
 * about a recording are set too. The index is good for nothing but dump_index_fini() afterwards.
 */
const void *dump_index_payload(struct dump_index *index, uint64_t offset,
			       struct block_header *header);

#endif /* MEMSCOPE_STORE_DUMP_INDEX_H */
