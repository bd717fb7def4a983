// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void dump_index_fini(struct dump_index *index)
{
	free(index->entries);
	*index = (struct dump_index){ 0 };
}

void dump_index_add(struct dump_index *index, uint64_t offset, const struct block_header *header)
{
	const size_t kept = DUMP_INDEX_MAX / 2;

	if (index->count == DUMP_INDEX_MAX) {
		memmove(index->entries, index->entries + index->count - kept,
			kept * sizeof(*index->entries));
		index->count = kept;
	}
	if (memory_grow(&index->entries, &index->capacity, index->count + 1,
			sizeof(*index->entries))) {
		/* One with gaps would mislead. */
		index->count = 0;
		return;
	}
	index->entries[index->count++] = (struct dump_index_entry){
		.back_bytes = offset,
		.first_ts_ns = header->first_ts_ns,
		.sequence = header->sequence,
	};
}

void dump_index_cut(struct dump_index *index, uint64_t offset)
{
	while (index->count && index->entries[index->count - 1].back_bytes >= offset)
		index->count--;
}

const void *dump_index_payload(struct dump_index *index, uint64_t offset,
			       struct block_header *header)
{
	size_t i;

	for (i = 0; i < index->count; i++)
		index->entries[i].back_bytes = offset - index->entries[i].back_bytes;
	header->type = BLOCK_INDEX;
	header->raw_bytes = index->count * sizeof(*index->entries);
	return index->entries;
}
