/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A PyTorch memory snapshot as a pickle that is written as it comes; a part of -f memory_viz, which
 * decides what is in it.
 *
 * Traces of several devices are lists in one pickle, but their entries come mixed. So each list is
 * remembered when it is made; for some entries of a device it is put into the snapshot again, and
 * so becomes the end of the stack, which they are appended to. In the end all are put where they
 * belong.
 */
#ifndef MEMSCOPE_EXPORT_SNAPSHOT_H
#define MEMSCOPE_EXPORT_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "base/writer.h"
#include "ledger/stacks.h"

#define SNAPSHOT_DEVICES 128              /* that are distinguished */
#define SNAPSHOT_UNKNOWN SNAPSHOT_DEVICES /* any other: listed after those that are known */

enum snapshot_action {
	SNAPSHOT_ALLOC,
	SNAPSHOT_FREE_REQUESTED,
	SNAPSHOT_FREE_COMPLETED,
	SNAPSHOT_SEGMENT_ALLOC,
	SNAPSHOT_SEGMENT_FREE,
	SNAPSHOT_SEGMENT_MAP,
	SNAPSHOT_SEGMENT_UNMAP,
	SNAPSHOT_OOM,
	SNAPSHOT_ACTIONS,
};

/*
 * Where it was allocated, as stack frames of which the last is the process; once made, a number
 * that stands for them. What follows that has no effect then.
 */
struct snapshot_frames {
	uint32_t number;                   /* 0: to be made */
	const char *api, *space, *process; /* UTF-8 */
	const struct stack *stack;         /* instead of `api` and `space`; NULL: there is none */
	const struct stacks *stacks;       /* in which it is */
};

struct snapshot_block {
	uint32_t device; /* up to SNAPSHOT_UNKNOWN */
	uint64_t addr;   /* of no other block; what the viewer goes by */
	uint64_t cuda_addr;
	uint64_t size_bytes;
	uint64_t stream;
};

struct snapshot {
	struct writer *writer;
	uint64_t constants;   /* bit set: texts that can be recalled */
	uint32_t next_number; /* to remember something under */
	uint32_t lists[SNAPSHOT_DEVICES + 1];
	uint32_t open; /* device, + 1, that entries can be appended for; 0: none */
	uint32_t entries;
	uint32_t used;   /* devices from 0, without the unknown one */
	uint32_t blocks; /* of the segment, since it was begun to append them */
	bool has_segments;
};

void snapshot_begin(struct snapshot *snapshot, struct writer *writer);

/* An entry of a device's trace. `free_bytes`: of the device, only with SNAPSHOT_OOM. */
void snapshot_entry(struct snapshot *snapshot, enum snapshot_action action,
		    const struct snapshot_block *block, uint64_t time_us, uint64_t free_bytes,
		    struct snapshot_frames *frames);

struct snapshot_segment {
	struct snapshot_block block; /* where it is */
	uint64_t used_bytes;         /* in blocks that the program has */
	bool small;                  /* for small blocks alone */
	bool expandable;             /* mapped in pieces */
};

/* After all entries: what is live in the end. Blocks follow by address, and leave nothing out. */
void snapshot_segment_begin(struct snapshot *snapshot, const struct snapshot_segment *segment,
			    struct snapshot_frames *frames);
/* `frames`: NULL for a piece that the program does not have. */
void snapshot_segment_block(struct snapshot *snapshot, const struct snapshot_block *block,
			    struct snapshot_frames *frames);
void snapshot_segment_end(struct snapshot *snapshot);

/* After all segments: a text about the whole. */
void snapshot_remark(struct snapshot *snapshot, const char *text, bool first);
void snapshot_end(struct snapshot *snapshot, bool has_remarks);

#endif /* MEMSCOPE_EXPORT_SNAPSHOT_H */
