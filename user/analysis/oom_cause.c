// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_cause.h"

static const char *const NO_VIEW = "the program did not ask how much of the device is free";

static const char *const HELD_BEFORE = "what was held before attaching is not known";

/* What is known of the device, and not only of what was traced. */
struct device {
	uint64_t in_use_bytes; /* by whomever */
	uint64_t free_bytes;   /* if there is a view: at most, unless something was freed since */
	uint64_t unseen_bytes; /* in use by nobody that was traced: contexts, other processes */
};

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

static struct device device_of(const struct analysis_oom *oom)
{
	struct device device = { .in_use_bytes = oom->live.bytes };
	uint64_t used;

	if (!oom->view_known)
		return device;
	device.free_bytes = less(oom->view_free_bytes, oom->taken_since_bytes);
	used = less(oom->view_total_bytes, device.free_bytes);
	if (used > device.in_use_bytes)
		device.in_use_bytes = used;
	device.unseen_bytes = less(used, oom->live.bytes);
	return device;
}

static bool holds_most(uint64_t bytes, const struct device *device,
		       const struct analysis_options *options)
{
	return bytes &&
	       (double)bytes * 100 >= (double)device->in_use_bytes * (double)options->oom_share;
}

static void judge(struct analysis_oom *oom, enum oom_cause cause,
		  enum finding_confidence confidence, const char *lowered_by)
{
	oom->cause = cause;
	oom->confidence = confidence;
	oom->lowered_by = lowered_by;
}

/* Most of what, if neither the program was told, nor all that is in use was seen allocated? */
static bool is_share_unknown(const struct analysis_oom *oom)
{
	return !oom->view_known && oom->held_before;
}

/* What the program was told speaks against any want of memory. */
static bool is_enough_free(struct analysis_oom *oom, const struct device *device)
{
	if (!oom->view_fresh || !oom->requested_known || device->free_bytes < oom->requested_bytes)
		return false;
	if (oom->holes_known && oom->largest_hole_bytes < oom->requested_bytes)
		judge(oom, OOM_FRAGMENTATION, FINDING_MEDIUM,
		      "addresses show holes, not how the driver maps memory to them");
	else
		judge(oom, OOM_UNKNOWN, FINDING_LOW,
		      "enough was free; no holes between blocks are known that would explain it");
	return true;
}

/* Without a view: it has held so much more before, and the holes that this left are too small. */
static bool is_in_pieces(struct analysis_oom *oom)
{
	if (oom->view_known || !oom->requested_known || !oom->holes_known ||
	    oom->largest_hole_bytes >= oom->requested_bytes ||
	    oom->holes_bytes < oom->requested_bytes)
		return false;
	judge(oom, OOM_FRAGMENTATION, FINDING_LOW,
	      "how much of the device others took meanwhile is not known");
	return true;
}

static bool is_co_tenant(struct analysis_oom *oom, const struct device *device,
			 const struct analysis_options *options)
{
	if (holds_most(oom->live.bytes - oom->own.bytes, device, options)) {
		if (is_share_unknown(oom))
			judge(oom, OOM_UNKNOWN, FINDING_LOW, HELD_BEFORE);
		else
			judge(oom, OOM_CO_TENANT, oom->view_known ? FINDING_HIGH : FINDING_MEDIUM,
			      oom->view_known ? NULL : NO_VIEW);
		return true;
	}
	if (holds_most(device->unseen_bytes, device, options)) {
		judge(oom, OOM_CO_TENANT, FINDING_MEDIUM,
		      "most of the memory in use was not allocated by a call that was traced");
		return true;
	}
	return false;
}

static void judge_full(struct analysis_oom *oom, const struct device *device)
{
	if (oom->view_known && oom->requested_known && device->free_bytes < oom->requested_bytes)
		judge(oom, OOM_FULL, oom->view_fresh ? FINDING_HIGH : FINDING_MEDIUM,
		      oom->view_fresh ? NULL :
					"the driver's last report on the device's memory is old");
	else if (is_share_unknown(oom))
		judge(oom, OOM_UNKNOWN, FINDING_LOW, HELD_BEFORE);
	else if (oom->own.bytes)
		judge(oom, OOM_FULL, FINDING_LOW, NO_VIEW);
	else
		judge(oom, OOM_UNKNOWN, FINDING_LOW, NO_VIEW);
}

static void judge_host(struct analysis_oom *oom, const struct device *device,
		       const struct analysis_options *options)
{
	bool leak = !oom->held_before && holds_most(oom->growing.bytes, device, options);

	judge(oom, leak ? OOM_LEAK : OOM_UNKNOWN, leak ? FINDING_MEDIUM : FINDING_LOW,
	      "how much memory the host had left is not recorded");
}

void oom_cause_find(struct analysis_oom *oom, const struct analysis_options *options)
{
	struct device device = device_of(oom);

	if (oom->space == MS_SPACE_PINNED || oom->space == MS_SPACE_REGISTERED) {
		judge_host(oom, &device, options);
		return;
	}
	if (oom->view_known && oom->requested_known &&
	    oom->requested_bytes > oom->view_total_bytes) {
		judge(oom, OOM_FULL, FINDING_HIGH, NULL);
		return;
	}
	if (is_enough_free(oom, &device))
		return;
	if (!is_share_unknown(oom) && holds_most(oom->growing.bytes, &device, options)) {
		judge(oom, OOM_LEAK, oom->view_known ? FINDING_HIGH : FINDING_MEDIUM,
		      oom->view_known ? NULL : NO_VIEW);
		return;
	}
	if (oom->pools_known && oom->requested_known && oom->pooled_bytes >= oom->requested_bytes) {
		judge(oom, OOM_POOLED, FINDING_MEDIUM,
		      "how much pools held is known from an earlier moment only");
		return;
	}
	if (is_co_tenant(oom, &device, options) || is_in_pieces(oom))
		return;
	judge_full(oom, &device);
}
