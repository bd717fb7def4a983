// SPDX-License-Identifier: BSD-2-Clause
/*
 * What to do about what was found, in words.
 */
#include "model/report.h"

static bool has_cause(const struct report_recording *recording, enum oom_cause cause)
{
	size_t i;

	for (i = 0; i < recording->ooms_count; i++)
		if (recording->ooms[i]->cause == cause)
			return true;
	return false;
}

/* One for each cause that there is. */
static const char *oom_suggestion(const struct report_recording *recording, size_t i)
{
	static const char *const texts[OOM_CAUSES_COUNT] = {
		[OOM_UNKNOWN] =
			"See \"Out of memory\" for who held what when the allocation failed, and begin"
			" with the largest holder.",
		[OOM_LEAK] = "What grows all the time holds most of the memory: stop the growth"
			     " first; a larger device would only fail later.",
		[OOM_FRAGMENTATION] =
			"Enough was free, but not in one piece: allocate large blocks first and keep"
			" them, or map memory into reserved addresses (cuMemMap, PyTorch's"
			" expandable_segments).",
		[OOM_POOLED] =
			"Pools held enough that they did not use: trim them (cudaMemPoolTrimTo) or"
			" lower their release threshold.",
		[OOM_CO_TENANT] =
			"Other processes hold most of the device: move one of them to another device,"
			" or limit what they may take.",
		[OOM_FULL] =
			"The program itself needs more than there is: make batches or buffers"
			" smaller, free earlier, or use more devices; the table of holders says"
			" where to begin.",
	};
	enum oom_cause cause;

	for (cause = 0; cause < OOM_CAUSES_COUNT; cause++)
		if (has_cause(recording, cause) && !i--)
			return texts[cause];
	return NULL;
}

const char *report_suggestion(const struct report_recording *recording, enum finding_rule rule,
			      size_t i)
{
	static const char *const texts[FINDING_RULES_COUNT] = {
		[FINDING_LEAK_GROWTH] =
			"Look for what keeps these allocations alive: a list or cache that is only"
			" added to, or a path that returns without freeing.",
		[FINDING_LEAK_AT_EXIT] =
			"Free these blocks before the program ends, or say why they may stay: the"
			" driver takes them back, but a library that is loaded again leaks them.",
		[FINDING_LEAK_WINDOW] =
			"What was allocated in the window outlives it: check who owns these blocks"
			" and when they should have been freed.",
		[FINDING_TEMPORARY] =
			"Keep one buffer and use it again instead of allocating it for each use, or"
			" take it from a stream-ordered pool.",
		[FINDING_STORM] =
			"Allocate in larger pieces or from a pool: cudaMallocAsync with a release"
			" threshold keeps freed memory for the next allocation.",
		[FINDING_REDUNDANT_COPIES] =
			"Keep the data where it is used next instead of copying it back and forth.",
		[FINDING_PAGEABLE_COPIES] =
			"Use page-locked host memory (cudaMallocHost, pin_memory) and asynchronous"
			" copies: from pageable memory the driver has to copy twice and the host"
			" waits.",
		[FINDING_SYNC_BOUND] =
			"Synchronise less often, or give the host something to do meanwhile: events"
			" and several streams let both sides run on.",
		[FINDING_COPY_BOUND] =
			"Copy less, or at the same time as computing: page-locked memory, a second"
			" stream, larger copies.",
		[FINDING_ALLOC_BOUND] = "Take allocations out of the loop, or use a pool.",
		[FINDING_HOST_BOUND] =
			"Find out what the host does between the calls: input, preprocessing, or"
			" launching many small kernels, which a CUDA graph would help with.",
		[FINDING_MEMORY_PRESSURE] =
			"Leave more of the device free: a little growth, or another process, and"
			" allocations will fail.",
	};

	if (!report_has(recording, rule))
		return NULL;
	if (rule == FINDING_OOM)
		return oom_suggestion(recording, i);
	return i ? NULL : texts[rule];
}
