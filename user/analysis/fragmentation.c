// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory that a framework's allocator has and cannot use: in pieces between blocks, or cached while
 * something else found none. By how blocks lay in its segments: ledger/tensor_segments.h.
 */
#include "analysis/findings.h"
#include "analysis/process_activity.h"

static void say_totals(const struct tensor_segments *at, struct finding *finding)
{
	finding_say(finding, "bytes that the allocator had from the driver", FINDING_BYTES,
		    at->reserved);
	finding_say(finding, "bytes that it had given to the program", FINDING_BYTES,
		    at->allocated);
	if (at->has_device_free)
		finding_say(finding, "free bytes of the device, as the program was told",
			    FINDING_BYTES, at->device_free_bytes);
}

/* In the order of the numbers in what the rules say. */
static void say_segments(const struct tensor_segments *at, struct finding *finding)
{
	const struct tensor_pin *pin = at->pins;

	finding_say(finding, "bytes that were asked for", FINDING_BYTES, at->wanted_bytes);
	finding_say(finding, "free bytes in segments that have blocks", FINDING_BYTES,
		    tensor_segments_stuck(at));
	finding_say(finding, "largest free piece of these segments", FINDING_BYTES,
		    at->largest_piece);
	finding_say(finding, "segments of which blocks take half or less", FINDING_COUNT,
		    at->sparse);
	finding_say(finding, "bytes of those segments", FINDING_BYTES, at->sparse_bytes);
	finding_say(finding, "blocks in those segments", FINDING_COUNT, at->pins_blocks);
	finding_say(finding, "bytes of those blocks", FINDING_BYTES, at->pins_bytes);
	if (at->pins_count) {
		finding_say(
			finding,
			"size of the blocks, made in one place, that lie in most of those segments",
			FINDING_BYTES, pin->block_bytes);
		finding_say(finding, "blocks of that size and place", FINDING_COUNT, pin->blocks);
		finding_say(finding, "segments that have one", FINDING_COUNT, pin->segments);
	}
	say_totals(at, finding);
}

static void lower(struct finding *finding, const struct tensors *tensors,
		  const struct tensor_segments *at)
{
	if (!tensors_are_exact(tensors))
		finding_lower(finding, FINDING_LOW,
			      "records of blocks were lost: some of them may lie elsewhere");
	else if (at->before_bytes || at->outside_bytes)
		finding_lower(
			finding, FINDING_MEDIUM,
			"some blocks or segments are older than what was seen of the allocator");
	else if (!tensor_segments_are_complete(at))
		finding_lower(finding, FINDING_MEDIUM,
			      "the segments that were seen are not all that the allocator has");
}

static void begin(struct process_activity *activity, enum finding_rule rule,
		  const struct tensor_device *device, const struct tensor_segments *at,
		  struct finding *finding)
{
	*finding = process_activity_finding(activity, rule);
	finding->device = device->device;
	finding->framework = device->framework;
	finding->first_ts_ns = finding->last_ts_ns = at->ts_ns;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static const char *says_of(const struct tensor_segments *at, bool failed)
{
	if (!failed)
		return "takes %0 more from the driver although its allocator has %1 free, in pieces"
		       " of at most %2";
	if (at->sparse == 1 && at->pins_blocks == 1)
		return "finds no %0 in one piece: a segment with %4 cannot be given back because of"
		       " one block of %6";
	if (at->sparse > 1 && tensor_segments_are_alike(at))
		return "finds no %0 in one piece: %3 segments with %4 cannot be given back because"
		       " of %5 blocks of %7";
	if (at->sparse > 1)
		return "finds no %0 in one piece: %3 segments with %4 cannot be given back because"
		       " of %5 blocks with %6 in all";
	return "finds no %0 in one piece: its allocator has %1 free, in pieces of at most %2";
}

static int report_pieces(struct process_activity *activity, const struct tensor_device *device,
			 const struct tensor_segments *at, bool failed, struct findings *findings)
{
	struct finding finding;

	begin(activity, FINDING_FRAGMENTATION, device, at, &finding);
	finding.bytes = tensor_segments_stuck(at);
	finding.says = says_of(at, failed);
	say_segments(at, &finding);
	lower(&finding, &activity->process->tensors, at);
	if (!failed)
		finding_lower(&finding, FINDING_MEDIUM, "no request has failed because of it");
	else if (tensor_segments_stuck(at) < at->wanted_bytes)
		finding_lower(&finding, FINDING_MEDIUM,
			      "a part would have come from what is free of the device, which may be"
			      " in pieces, too");
	return findings_add(findings, &finding);
}

/* Without a failure, only if a large part of what it has is of no use. */
static bool is_much(const struct tensor_segments *at, const struct analysis_options *options)
{
	const uint64_t stuck = tensor_segments_stuck(at);

	return tensor_segments_are_broken(at) && stuck >= at->wanted_bytes &&
	       stuck >= options->fragment_bytes &&
	       (double)stuck * 100 >= (double)at->reserved * (double)options->fragment_share;
}

int fragmentation_report(struct process_activity *activity, const struct analysis_options *options,
			 struct findings *findings)
{
	const struct tensors *tensors = activity->process ? &activity->process->tensors : NULL;
	size_t i;
	int err = 0;

	for (i = 0; tensors && i < tensors->devices_count && !err; i++) {
		const struct tensor_device *device = &tensors->devices[i];
		const struct tensor_segments *failed = device->moments[TENSOR_AT_OUT_OF_MEMORY];
		const struct tensor_segments *peak = device->moments[TENSOR_AT_PEAK];

		/* If memory ran out for another reason, that is what matters. */
		if (failed && tensor_segments_are_broken(failed))
			err = report_pieces(activity, device, failed, true, findings);
		else if (!device->out_of_memory && peak && is_much(peak, options))
			err = report_pieces(activity, device, peak, false, findings);
	}
	return err;
}

/* ---- cached ---------------------------------------------------------------------------------- */

static void say_cached(const struct tensor_segments *at, struct finding *finding)
{
	finding_say(finding, "bytes that were asked for", FINDING_BYTES, at->wanted_bytes);
	finding_say(finding, "segments without any block", FINDING_COUNT, at->empty);
	finding_say(finding, "bytes of those segments", FINDING_BYTES, at->empty_bytes);
	say_totals(at, finding);
}

static int report_cached(struct process_activity *activity, const struct tensor_device *device,
			 const struct tensor_segments *at, struct findings *findings)
{
	struct finding finding;

	begin(activity, FINDING_CACHE_KEPT, device, at, &finding);
	finding.bytes = at->empty_bytes;
	say_cached(at, &finding);
	lower(&finding, &activity->process->tensors, at);
	if (at->empty_bytes < at->wanted_bytes)
		finding_lower(&finding, FINDING_MEDIUM,
			      "a part would have come from what is free of the device, which may be"
			      " in pieces");
	return findings_add(findings, &finding);
}

/*
 * PyTorch gives back all segments without blocks before it says that there is none left, but for
 * those of private pools. While a CUDA graph is captured, and in torch.cuda.use_mem_pool(), it
 * gives back none (release_cached_blocks() is for when captures_underway is empty): then these may
 * be of any pool. Only captures are seen.
 */
int fragmentation_report_private(struct process_activity *activity,
				 const struct analysis_options *options, struct findings *findings)
{
	const struct tensors *tensors = activity->process ? &activity->process->tensors : NULL;
	size_t i;
	int err = 0;

	(void)options;
	for (i = 0; tensors && i < tensors->devices_count && !err; i++) {
		const struct tensor_device *device = &tensors->devices[i];
		const struct tensor_segments *at = device->moments[TENSOR_AT_OUT_OF_MEMORY];
		struct finding finding;

		if (!at || device->framework != MS_FRAMEWORK_PYTORCH ||
		    !tensor_segments_are_cached(at) || at->is_capturing)
			continue;
		begin(activity, FINDING_PRIVATE_POOL, device, at, &finding);
		finding.bytes = at->empty_bytes;
		say_cached(at, &finding);
		lower(&finding, tensors, at);
		finding_lower(
			&finding, FINDING_MEDIUM,
			"inside torch.cuda.use_mem_pool(), or a capture that began before it was"
			" traced, PyTorch gives back nothing");
		err = findings_add(findings, &finding);
	}
	return err;
}

int fragmentation_report_cached(struct process_activity *activity,
				const struct analysis_options *options, struct findings *findings)
{
	const struct tensors *tensors = activity->process ? &activity->process->tensors : NULL;
	size_t i;
	int err = 0;

	(void)options;
	for (i = 0; tensors && i < tensors->devices_count && !err; i++) {
		const struct tensor_segments *at =
			tensors->devices[i].moments[TENSOR_AT_FAILED_CALL];

		if (at && tensor_segments_are_cached(at))
			err = report_cached(activity, &tensors->devices[i], at, findings);
	}
	return err;
}
