/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device memory of a process as a snapshot for PyTorch's viewer has it; a part of
 * -f memory_viz.
 *
 * Each allocation is a segment with one block, until a framework's allocator gives a block in it:
 * then it is a segment of that allocator with the blocks that the program has, and free pieces.
 * Memory that is mapped into reserved addresses is a segment instead of the physical memory behind
 * it, where that allocator uses it; pieces side by side are one.
 *
 * An allocation waits for what its thread does next, before it is put: if that is a block in it, it
 * was the allocator's from the beginning.
 *
 * Addresses are made up, since the viewer tells blocks apart by them, and processes on one device
 * use the same ones; CUDA's are in `cuda_addr`.
 */
#ifndef MEMSCOPE_EXPORT_VIZ_PROCESS_H
#define MEMSCOPE_EXPORT_VIZ_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/snapshot.h"
#include "ledger/state.h"

#define VIZ_ALIGNMENT 512
#define VIZ_WAITING 64

/* What all processes of the snapshot share. */
struct viz_output {
	struct snapshot snapshot;
	const struct stacks *stacks;
	uint64_t wall_offset_ns;
	uint64_t next_addr;
	uint32_t processes; /* so many so far */
	int err;            /* -ENOMEM */
};

/* How an allocation was put. */
enum viz_state {
	VIZ_WHOLE,   /* with one block */
	VIZ_SEGMENT, /* without; blocks come by themselves */
	VIZ_WAITS,   /* not yet */
	VIZ_HIDDEN,  /* it is behind mapped pieces that are segments */
};

struct viz_process {
	uint64_t key;
	struct viz_process *before, *after;
	/*
	 * `addr` is the number of the allocation, so that it is found by that; `id` the made-up
	 * address, `context` CUDA's address, `owner` the stream, `tid` the round of the last look,
	 * `ts_ns` when it was allocated, `framework` an enum viz_state.
	 */
	struct ledger live;
	/*
	 * By CUDA's address: device memory and mapped pieces, of which `framework` is 1 if blocks
	 * were given there. `id`: the made-up address; `context`: the number of the memory in it.
	 */
	struct ledger ranges;
	struct ledger blocks; /* that a framework's allocator gave: `id` as above, `stack` */
	uint64_t waiting[VIZ_WAITING];
	size_t waiting_count;
	uint32_t waiting_tid;
	uint64_t mapped_base; /* what CUDA's addresses of mapped pieces are made up from */
	uint64_t surplus; /* by how many the state has more after a look: 0, but in hostile files */
	uint32_t round;
	struct map frames; /* row and space, or stack -> number of the frames */
	char *name;        /* "train (4242)" */
};

/* NULL without memory. */
struct viz_process *viz_process_new(struct viz_output *output, const struct process *process);
void viz_process_free(struct viz_process *process);

/* Errors are left in the output. */
void viz_process_add(struct viz_output *output, struct viz_process *process,
		     const struct allocation *allocation, uint64_t stream, uint64_t ts_ns);
void viz_process_end(struct viz_output *output, struct viz_process *process, uint64_t id,
		     uint64_t ts_ns);
void viz_process_map(struct viz_output *output, struct viz_process *process,
		     const struct allocation *mapping);
void viz_process_unmap(struct viz_output *output, struct viz_process *process, uint64_t addr,
		       uint64_t bytes, uint64_t ts_ns);
void viz_process_tensor(struct viz_output *output, struct viz_process *process,
			const struct tensor_change *change, uint64_t ts_ns);

/* A request for memory of a device failed; the program was told that `free_bytes` were free. */
void viz_process_fail(struct viz_output *output, struct viz_process *process,
		      const struct event *event, int32_t device, uint64_t free_bytes);

/* What waits is put: in any case; or if the event shows that no block comes. */
void viz_process_settle(struct viz_output *output, struct viz_process *process);
void viz_process_settle_before(struct viz_output *output, struct viz_process *process,
			       const struct event *event);

/* Whether the state has more or less than was put; and makes that even. */
bool viz_process_lacks(const struct viz_process *process, const struct process *state);

/* `state`: NULL if nothing of the process is live any more. */
void viz_process_compare(struct viz_output *output, struct viz_process *process,
			 const struct process *state, uint64_t ts_ns);

/* Of an allocation, a range or a block: where it was made, and where it is. */
struct snapshot_frames viz_process_frames(const struct viz_output *output,
					  const struct viz_process *process,
					  const struct allocation *kept);
struct snapshot_block viz_process_block(const struct allocation *kept, uint64_t cuda_addr);

#endif /* MEMSCOPE_EXPORT_VIZ_PROCESS_H */
