// SPDX-License-Identifier: BSD-2-Clause
#include "export/viz_segments.h"

#include <stdlib.h>

#define SMALL_BYTES (2ull << 20) /* PyTorch's segments for small blocks, and pieces of those */

static int compare_addrs(const void *a, const void *b)
{
	const struct allocation *first = a, *second = b;

	return (first->addr > second->addr) - (first->addr < second->addr);
}

static void put_whole_segment(struct viz_output *output, struct viz_process *process,
			      const struct allocation *kept)
{
	struct snapshot_segment segment = { .block = viz_process_block(kept, kept->context),
					    .used_bytes = kept->size_bytes };
	struct allocation called = *kept;
	struct snapshot_frames frames;

	called.stack = 0;
	frames = viz_process_frames(output, process, &called);
	segment.block.stream = kept->owner;
	snapshot_segment_begin(&output->snapshot, &segment, &frames);
	snapshot_segment_block(&output->snapshot, &segment.block, &frames);
	snapshot_segment_end(&output->snapshot);
}

static void put_free(struct viz_output *output, const struct snapshot_block *segment,
		     uint64_t offset, uint64_t end)
{
	const struct snapshot_block piece = { .addr = segment->addr + offset,
					      .cuda_addr = segment->cuda_addr + offset,
					      .size_bytes = end - offset };

	if (offset < end)
		snapshot_segment_block(&output->snapshot, &piece, NULL);
}

/* `*first`: the first block, of those sorted by address, that may lie in it; then of the next. */
static void put_segment(struct viz_output *output, struct viz_process *process,
			const struct allocation *range, bool small, size_t *first)
{
	const struct ledger *blocks = &process->blocks;
	const uint64_t end = range->addr + range->size_bytes;
	struct snapshot_segment segment = { .block = viz_process_block(range, range->addr),
					    .small = small,
					    .expandable = range->space == MS_SPACE_MAPPED };
	struct snapshot_frames frames = viz_process_frames(output, process, range);
	uint64_t offset = 0;
	size_t i;

	while (*first < blocks->count && blocks->entries[*first].addr < range->addr)
		(*first)++;
	for (i = *first; i < blocks->count && blocks->entries[i].addr < end; i++)
		segment.used_bytes += blocks->entries[i].size_bytes;
	snapshot_segment_begin(&output->snapshot, &segment, &frames);
	for (; *first < i; (*first)++) {
		const struct allocation *kept = &blocks->entries[*first];
		const struct snapshot_block block = viz_process_block(kept, kept->addr);

		frames = viz_process_frames(output, process, kept);
		put_free(output, &segment.block, offset, kept->addr - range->addr);
		snapshot_segment_block(&output->snapshot, &block, &frames);
		offset = kept->addr + kept->size_bytes - range->addr;
	}
	put_free(output, &segment.block, offset, range->size_bytes);
	snapshot_segment_end(&output->snapshot);
}

/* Pieces that are mapped side by side are one segment. */
static void put_ranges(struct viz_output *output, struct viz_process *process)
{
	struct allocation *ranges = process->ranges.entries;
	size_t first = 0, i, j;

	for (i = 0; i < process->ranges.count; i = j) {
		struct allocation joined = ranges[i];

		for (j = i + 1; j < process->ranges.count && joined.space == MS_SPACE_MAPPED &&
				ranges[j].space == MS_SPACE_MAPPED && ranges[j].framework &&
				joined.framework && ranges[j].device == joined.device &&
				ranges[j].addr == joined.addr + joined.size_bytes;
		     j++)
			joined.size_bytes += ranges[j].size_bytes;
		if (joined.framework)
			put_segment(output, process, &joined, ranges[i].size_bytes <= SMALL_BYTES,
				    &first);
	}
}

void viz_segments_put(struct viz_output *output, struct viz_process *process)
{
	size_t i;

	for (i = 0; i < process->live.count; i++) {
		const struct allocation *kept = &process->live.entries[i];

		if (kept->size_bytes && kept->framework == VIZ_WHOLE)
			put_whole_segment(output, process, kept);
	}
	/* Nothing is looked for by address any more. */
	if (process->ranges.count)
		qsort(process->ranges.entries, process->ranges.count, sizeof(struct allocation),
		      compare_addrs);
	if (process->blocks.count)
		qsort(process->blocks.entries, process->blocks.count, sizeof(struct allocation),
		      compare_addrs);
	put_ranges(output, process);
}
