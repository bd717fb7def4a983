// SPDX-License-Identifier: BSD-2-Clause
/*
 * What to do about what was found, in words.
 */
#include "ledger/kernels.h"
#include "ledger/usage.h"
#include "report/report.h"

/* Whether what the program caches then was PyTorch's, and could not be given back. */
static bool is_private(const struct report_recording *recording, const struct analysis_oom *oom)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding->rule == FINDING_PRIVATE_POOL && finding->pid == oom->pid &&
		    finding->start_ns == oom->start_ns &&
		    (oom->device < 0 || finding->device == oom->device))
			return true;
	}
	return false;
}

static const char *cause_suggestion(enum oom_cause of)
{
	static const char *const texts[OOM_CAUSES_COUNT] = {
		[OOM_UNKNOWN] =
			"See \"Out of memory\" for who held what when the call failed, and begin"
			" with the largest holder.",
		[OOM_LEAK] = "What grows all the time holds most of the memory: stop the growth"
			     " first; a larger device would only fail later.",
		[OOM_STEADY] =
			"Look first at where these blocks are made, and nothing is freed: if they are"
			" not all needed at once, free or reuse them. Only if they are, as those of a"
			" model that is being loaded, make less of them or use more devices.",
		[OOM_TOO_LARGE] =
			"More was asked for at once than the device has: look at how this size was"
			" computed (a wrong unit, an overflow, a negative number), or divide the work"
			" (smaller batches, several devices).",
		[OOM_ADDRESSES] =
			"Addresses could not be reserved or mapped: give reserved ranges back, or"
			" reserve smaller ones.",
		[OOM_LIMIT] =
			"The process may use only a part of the device: raise the limit (of its cgroup:"
			" nvidia-smi memory-limits, or dmem.max; of an MPS partition), or make it need"
			" less.",
		[OOM_UNEXPLAINED] =
			"Most of what is in use is in no account: look for processes that were not"
			" recorded (record -a, nvidia-smi), and for contexts, code that is loaded and"
			" never unloaded, and kernels that need much local memory.",
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

	return texts[of];
}

/* To programs with TensorFlow or JAX; NULL: what is said to all is right for them, too. */
static const char *bfc_suggestion(enum finding_rule rule)
{
	switch (rule) {
	case FINDING_LEAK_GROWTH:
		return "Look for what keeps these tensors alive: a list or cache of arrays that is only"
		       " added to (jax.live_arrays() lists them), results that are never deleted"
		       " (x.delete()), functions that are traced and compiled anew each time.";
	case FINDING_FRAGMENTATION:
		return "What is free lies between blocks that live on: make those first, let sizes"
		       " differ less, or donate buffers (jax.jit's donate_argnums). An allocator"
		       " of the driver's helps, too: TF_GPU_ALLOCATOR=cuda_malloc_async.";
	case FINDING_CACHE_KEPT:
		return "Let TensorFlow or JAX take less from the driver: set_memory_growth,"
		       " XLA_PYTHON_CLIENT_PREALLOCATE=false, or a lower"
		       " XLA_PYTHON_CLIENT_MEM_FRACTION. What it has it does not give back.";
	default:
		return NULL;
	}
}

/* Whether a process has the allocator of a framework, for all that is recorded of it. */
static bool has_allocator(const struct process *process, uint16_t framework)
{
	size_t i;

	for (i = 0; i < process->tensors.devices_count; i++)
		if (process->tensors.devices[i].framework == framework)
			return true;
	return false;
}

/* To a program whose own allocator keeps memory that is free: how to make that one let go of it. */
static const char *cached_suggestion(const struct report_recording *recording,
				     const struct analysis_oom *oom)
{
	const struct process *process = state_find(recording->state, oom->pid, oom->start_ns);

	/* What PyTorch cannot give back needs another answer than what it has not given back. */
	if (is_private(recording, oom))
		return "What PyTorch keeps without using it belongs to private pools (CUDA graphs,"
		       " torch.cuda.MemPool), or was not given back because a graph was being"
		       " captured: the finding private-pool says how much, and from which line.";
	if (oom->is_torch || (process && has_allocator(process, MS_FRAMEWORK_PYTORCH)))
		return "The program's own caching allocator holds memory that is free: empty its cache"
		       " (torch.cuda.empty_cache()) before large requests, limit it"
		       " (max_split_size_mb, garbage_collection_threshold), or let it map pieces"
		       " (PyTorch's expandable_segments).";
	if (process && has_allocator(process, MS_FRAMEWORK_BFC))
		return bfc_suggestion(FINDING_CACHE_KEPT);
	return "The program's own allocator seems to hold memory that is free: let it give that back"
	       " before large requests, or keep less of it; a framework has a call or a setting for"
	       " that.";
}

/* Whether another process ran already, and may hold what is in no account. */
static bool has_earlier_process(const struct report_recording *recording,
				const struct analysis_oom *oom)
{
	size_t i;

	for (i = 0; i < recording->state->processes_count; i++) {
		const struct process *process = recording->state->processes[i];

		if (process->was_running &&
		    (process->pid != oom->pid || process->start_ns != oom->start_ns))
			return true;
	}
	return false;
}

static const char *suggestion_of_oom(const struct report_recording *recording,
				     const struct analysis_oom *oom)
{
	if (oom->cause == OOM_CACHED)
		return cached_suggestion(recording, oom);
	if (oom->cause == OOM_FULL && analysis_oom_is_shared(oom))
		return "This process and others together need more than there is. Either give it more"
		       " of the device: move another one to another device, limit what it may take,"
		       " or end what holds memory and does nothing (memscope-bpf who). Or let it need"
		       " less: smaller batches or buffers, free earlier.";
	if (oom->cause == OOM_UNEXPLAINED && has_earlier_process(recording, oom))
		return "Most of what is in use is in no account, and processes that ran before they"
		       " were recorded may hold it: nvidia-smi or memscope-bpf who says how much;"
		       " recorded from their beginning, their memory is in the account, too.";
	if (analysis_oom_lacks_own(oom))
		return "What the process held when it was attached to is not in this recording: look"
		       " into the one before (the ring of an agent keeps what it recorded before it"
		       " was started again), or ask nvidia-smi or memscope-bpf who how much the"
		       " process holds. Recorded from its beginning, all of it is in the account.";
	return cause_suggestion(oom->cause);
}

/* Whether the text is that of one of the first `count` failures with that cause. */
static bool is_said(const struct report_recording *recording, enum oom_cause cause, size_t count,
		    const char *text)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (recording->ooms[i]->cause == cause &&
		    suggestion_of_oom(recording, recording->ooms[i]) == text)
			return true;
	return false;
}

/* The `*left`-th of a cause, counted from 0; NULL: there are fewer, and they are taken off it. */
static const char *nth_suggestion(const struct report_recording *recording, enum oom_cause cause,
				  bool of_private, size_t *left)
{
	size_t i;

	for (i = 0; i < recording->ooms_count; i++) {
		const struct analysis_oom *oom = recording->ooms[i];
		const char *text = suggestion_of_oom(recording, oom);

		if (oom->cause != cause || is_private(recording, oom) != of_private ||
		    is_said(recording, cause, i, text))
			continue;
		if (!(*left)--)
			return text;
	}
	return NULL;
}

/* One for each cause that there is, and for each allocator: what can be given back comes first. */
static const char *oom_suggestion(const struct report_recording *recording, size_t i)
{
	unsigned int cause;
	const char *text;

	for (cause = 0; cause < OOM_CAUSES_COUNT; cause++) {
		text = nth_suggestion(recording, cause, false, &i);
		if (!text)
			text = nth_suggestion(recording, cause, true, &i);
		if (text)
			return text;
	}
	return NULL;
}

/* Whether most of what the process allocates on devices comes from stream-ordered pools. */
static bool uses_pools(const struct report_recording *recording, const struct finding *finding)
{
	const struct process *process =
		state_find(recording->state, finding->pid, finding->start_ns);
	uint64_t all = 0;
	uint32_t space;

	for (space = 0; process && space < MS_SPACES_COUNT; space++)
		if (usage_is_held(space))
			all += process->spaces[space].allocs;
	return all && process->spaces[MS_SPACE_POOL].allocs * 2 >= all;
}

/* To whom "use a pool" says nothing new; NULL: the rule says nothing of the kind. */
static const char *pool_suggestion(enum finding_rule rule)
{
	switch (rule) {
	case FINDING_STORM:
		return "These allocations come from a stream-ordered pool already: raise its release"
		       " threshold (cudaMemPoolAttrReleaseThreshold), so that a synchronisation"
		       " gives nothing back to the driver, or keep buffers for the next use.";
	case FINDING_ALLOC_BOUND:
		return "Take allocations out of the loop; of the pool that they come from, raise the"
		       " release threshold.";
	default:
		return NULL;
	}
}

/* Whether the segments that a finding is about are pieces that are mapped side by side already. */
static bool is_mapped(const struct report_recording *recording, const struct finding *finding)
{
	const struct tensor_segments *at = report_finding_segments(recording, finding);

	return at && at->mapped * 2 > at->count;
}

/* Whether the calls were copies, memsets or launches, and their error does not stay. */
static bool is_of_work(const struct finding *finding)
{
	const uint8_t op = probe_at(finding->row)->spec.op;

	return !finding->says && (op == MS_OP_COPY || op == MS_OP_MEMSET || op == MS_OP_LAUNCH);
}

/* What a rule suggests to some, to whom its words for all say nothing new; NULL: no such case. */
static const char *special_suggestion(const struct report_recording *recording,
				      const struct finding *finding)
{
	if (finding->framework == MS_FRAMEWORK_BFC && bfc_suggestion(finding->rule))
		return bfc_suggestion(finding->rule);
	if (finding->rule == FINDING_FRAGMENTATION)
		return is_mapped(recording, finding) ?
			       "Its memory is mapped side by side already (expandable_segments): what"
			       " is free lies between blocks that live on. Make those first, or free and"
			       " make them anew, or let sizes differ less"
			       " (roundup_power2_divisions)." :
			       NULL;
	if (finding->rule == FINDING_FAILED_CALLS && is_of_work(finding))
		return "Look at the results of these calls, which the program seems to ignore: what they"
		       " were to copy, set or compute is not there, and it goes on with what was there"
		       " before. Check the sizes, addresses and streams that it passes.";
	/* By NVML's numbers, which are the process's own: it is about no device. */
	if (finding->rule == FINDING_UNEXPLAINED_GROWTH && finding->device < 0)
		return "Look for what takes memory of the device without an allocation of its own:"
		       " contexts, modules and graphs that are never destroyed, local memory of"
		       " kernels, a library's workspaces.";
	if (finding->is_of_tensors && finding->rule == FINDING_LEAK_GROWTH)
		return "Look for what keeps these tensors alive: a list of losses or outputs that keep"
		       " their graphs (append loss.item() or x.detach(), evaluate under torch.no_grad()),"
		       " a cache that is only added to, a second model or optimizer.";
	return pool_suggestion(finding->rule) && uses_pools(recording, finding) ?
		       pool_suggestion(finding->rule) :
		       NULL;
}

/*
 * What its caching allocator takes from the driver grows as well where nothing leaks: free pieces
 * may be too small for what is asked for next. Only PyTorch itself knows what is in use.
 */
static const char *torch_suggestion(const struct report_recording *recording,
				    enum finding_rule rule)
{
	size_t j;

	for (j = 0; rule == FINDING_LEAK_GROWTH && j < recording->findings_count; j++) {
		const struct finding *finding = recording->findings[j].finding;
		const struct process *process =
			state_find(recording->state, finding->pid, finding->start_ns);

		if (finding->rule == rule && !finding->is_of_tensors && process &&
		    kernels_are_of_torch(process))
			return "With PyTorch, compare torch.cuda.memory_allocated() and"
			       " memory_reserved() over time: if only what is reserved grows, nothing"
			       " leaks, but free pieces are too small for what is asked for next. Then"
			       " let it map pieces (expandable_segments:True), or ask for fewer"
			       " different sizes.";
	}
	return NULL;
}

/* One for processes to which another one says nothing new, one for the others, one for PyTorch. */
static const char *suggestion(const struct report_recording *recording, enum finding_rule rule,
			      size_t i)
{
	const char *special = NULL;
	bool others = false;
	size_t j;

	for (j = 0; j < recording->findings_count; j++) {
		const struct finding *finding = recording->findings[j].finding;
		const char *of =
			finding->rule == rule ? special_suggestion(recording, finding) : NULL;

		special = of ? of : special;
		others |= finding->rule == rule && !of;
	}
	if (others && !i--)
		return finding_rule_suggestion(rule);
	if (special && !i--)
		return special;
	return !i ? torch_suggestion(recording, rule) : NULL;
}

const char *report_suggestion_of(const struct report_recording *recording,
				 const struct finding *finding)
{
	const char *special = special_suggestion(recording, finding);
	size_t count;
	const struct analysis_oom *ooms = analysis_ooms(recording->analysis, &count);

	if (finding->rule == FINDING_OOM)
		return finding->oom < count ? suggestion_of_oom(recording, &ooms[finding->oom]) :
					      NULL;
	return special ? special : finding_rule_suggestion(finding->rule);
}

const char *report_suggestion(const struct report_recording *recording, enum finding_rule rule,
			      size_t i)
{
	return rule == FINDING_OOM && report_has(recording, rule, FINDING_LOW) ?
		       oom_suggestion(recording, i) :
		       suggestion(recording, rule, i);
}
