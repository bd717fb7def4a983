// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_cause.h"

#include <string.h>

#include "analysis/oom_limit.h"
#include "analysis/oom_others.h"
#include "analysis/oom_series.h"

static const char *const NO_VIEW = "the program did not ask how much of the device is free";

static const char *const SEGMENTS_UNKNOWN =
	"not all blocks and segments of the program's own allocator are known";

static const char *const HELD_BEFORE = "what was held before attaching is not known";

static const char *const BY_SAMPLE =
	"who held what on the device is what NVML said last before the failure";

static const char *const HAD_ROOM =
	"NVML's last sample before the failure had room for it, and what was held before attaching is"
	" not known otherwise";

/* What is known of the device, and not only of what was traced. */
struct device {
	uint64_t total_bytes;  /* that the program can have; 0: not known */
	uint64_t in_use_bytes; /* by whomever */
	bool free_known;
	uint64_t free_bytes;   /* at most, unless something was freed since it was told */
	uint64_t unseen_bytes; /* in use by no traced process: contexts, other processes */
	bool sampled;          /* by NVML, and that explains the failure */
	uint64_t own_bytes, others_bytes; /* of the process that failed, and of all others */
};

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

bool analysis_oom_free(const struct analysis_oom *oom, uint64_t *bytes)
{
	const struct oom_request *request = &oom->request;

	*bytes = 0;
	if (request->told) {
		*bytes = less(request->told_free_bytes + request->told_held_bytes,
			      request->told_freed_bytes);
		return true;
	}
	if (!oom->view.known)
		return false;
	*bytes = less(oom->view.free_bytes, oom->taken_since_bytes);
	return true;
}

/* NVML's sample is older than the failure, and rounds what is asked for: by so much of a device. */
#define SAMPLE_SHARE 20

/* Whether there was no room for it, by NVML's last sample and what was allocated since. */
static bool explains(const struct analysis_oom *oom)
{
	const struct oom_others *others = &oom->others;

	return others->sampled && others->total_bytes &&
	       others->in_use_bytes + (oom->requested_known ? oom->requested_bytes : 0) >
		       others->total_bytes - others->total_bytes / SAMPLE_SHARE;
}

/* The program was not told how full the device is. */
static void look_at_sample(struct device *device, const struct analysis_oom *oom)
{
	const struct oom_others *others = &oom->others;

	if (!explains(oom))
		return;
	device->sampled = true;
	if (!device->total_bytes)
		device->total_bytes = others->total_bytes;
	device->own_bytes = others->own_bytes;
	device->others_bytes = others->bytes;
	device->in_use_bytes = others->in_use_bytes;
	device->unseen_bytes = less(others->in_use_bytes,
				    others->own_bytes + others->bytes - others->untraced_bytes);
}

static struct device device_of(const struct analysis_oom *oom)
{
	struct device device = { .in_use_bytes = oom->live.bytes,
				 .own_bytes = oom->own.bytes,
				 .others_bytes = less(oom->live.bytes, oom->own.bytes) };
	uint64_t used;

	device.free_known = analysis_oom_free(oom, &device.free_bytes);
	device.total_bytes = oom->request.told ? oom->request.told_total_bytes :
			     oom->view.known   ? oom->view.total_bytes :
						 oom->device_bytes;
	if (!device.free_known) {
		look_at_sample(&device, oom);
		return device;
	}
	used = less(device.total_bytes, device.free_bytes);
	if (used > device.in_use_bytes)
		device.in_use_bytes = used;
	device.unseen_bytes = less(used, oom->live.bytes);
	return device;
}

static bool is_fresh(const struct analysis_oom *oom)
{
	return oom->request.told || oom->view_fresh;
}

static bool holds_most(uint64_t bytes, const struct device *device,
		       const struct analysis_options *options)
{
	return bytes &&
	       (double)bytes * 100 > (double)device->in_use_bytes * (double)options->oom_share;
}

static void judge(struct analysis_oom *oom, enum oom_cause cause,
		  enum finding_confidence confidence, const char *lowered_by)
{
	oom->cause = cause;
	oom->confidence = confidence;
	oom->lowered_by = confidence == FINDING_HIGH ? NULL : lowered_by;
}

/* What holds memory was traced from its beginning: since the sample, too. */
static bool is_followed(const struct analysis_oom *oom)
{
	return !oom->held_before && !oom->others.untraced;
}

/* High if the program was told how much is free: what NVML said is older than the failure. */
static void judge_by(struct analysis_oom *oom, enum oom_cause cause, const struct device *device)
{
	if (device->sampled)
		judge(oom, cause,
		      oom->others.fresh || is_followed(oom) ? FINDING_MEDIUM : FINDING_LOW,
		      BY_SAMPLE);
	else if (!device->free_known)
		judge(oom, cause, FINDING_MEDIUM, NO_VIEW);
	else
		judge(oom, cause, is_fresh(oom) ? FINDING_HIGH : FINDING_MEDIUM,
		      "the driver's last report on the device's memory is old");
}

/* Whether something says how full it was. */
static bool is_known(const struct device *device)
{
	return device->free_known || device->sampled;
}

/* Most of what, if neither the program nor NVML says, and not all that is in use was allocated? */
static bool is_share_unknown(const struct analysis_oom *oom, const struct device *device)
{
	return !is_known(device) && oom->held_before;
}

/* More than any device has: the request is an error of the program, or one that tries. */
#define MORE_THAN_ANY (1ull << 44)

/* More was asked for than there could ever be. */
static bool is_too_large(struct analysis_oom *oom, const struct device *device)
{
	const uint64_t size = oom_limit_device_bytes(oom, device->total_bytes);
	const uint64_t most = size ? size : MORE_THAN_ANY;

	if (!oom->requested_known || oom->requested_bytes <= most)
		return false;
	judge(oom, OOM_TOO_LARGE, FINDING_HIGH, NULL);
	return true;
}

/* A call that says no size needs little: a twentieth of a device would do. */
static bool is_enough_free(struct analysis_oom *oom, const struct device *device)
{
	const uint64_t needed =
		oom->requested_known ? oom->requested_bytes : device->total_bytes / 20 + 1;

	if (!device->free_known || !is_fresh(oom) || device->free_bytes < needed)
		return false;
	if (oom->requested_known && oom->holes_known && oom->view.known &&
	    oom->largest_hole_bytes < needed)
		judge(oom, OOM_FRAGMENTATION, FINDING_MEDIUM,
		      "addresses show holes, not how the driver maps memory to them");
	else
		judge(oom, OOM_UNEXPLAINED, FINDING_LOW,
		      "enough was free; no holes between blocks are known that would explain it");
	return true;
}

static bool is_leak(struct analysis_oom *oom, const struct device *device,
		    const struct analysis_options *options)
{
	/* Segments that nothing uses as a whole grow, too. */
	if (oom->allocator == OOM_ALLOCATOR_CACHES || oom->allocator == OOM_ALLOCATOR_IN_BITS)
		return false;
	if (is_share_unknown(oom, device) || !holds_most(oom->growing.bytes, device, options))
		return false;
	judge_by(oom, OOM_LEAK, device);
	return true;
}

/* What an allocator of its own keeps is given back when the driver has no more, or only then. */
static bool has_cache(const struct analysis_oom *oom)
{
	if (!oom->large_blocks || !oom->few_frees)
		return false;
	return oom->request.freed_count || oom->is_torch;
}

static const char *doubt_of_series(const struct analysis_oom *oom,
				   const struct analysis_options *options)
{
	if (oom->series.made_before)
		return "it was made before what was seen of the process began: all of it may be"
		       " needed";
	if (oom->series.launched)
		return "it was seen for a short time: all of it may be needed";
	return options->captured_ops >> MS_OP_LAUNCH & 1 ?
		       "nothing was launched meanwhile: the program may be loading" :
		       "launches were not recorded: the program may be loading";
}

/*
 * Too short to be called a leak, though all of it may be one. PyTorch's segments grow like this,
 * too, and so do those of an allocator that then finds something to give back.
 */
static bool is_steady(struct analysis_oom *oom, const struct device *device,
		      const struct analysis_options *options)
{
	const bool cache =
		oom->allocator == OOM_ALLOCATOR_CACHES || oom->allocator == OOM_ALLOCATOR_IN_BITS ||
		(has_cache(oom) && (oom->is_torch || oom->request.outcome == OOM_RECOVERED));

	if (cache || is_share_unknown(oom, device) || !oom_series_is_steady(oom, options) ||
	    !holds_most(oom->series.live.bytes, device, options))
		return false;
	if (!device->free_known && oom->device_bytes &&
	    oom->live.bytes + oom->requested_bytes <= oom->device_bytes / 2)
		return false;
	judge(oom, OOM_STEADY, FINDING_MEDIUM, doubt_of_series(oom, options));
	return true;
}

/* Of what fills a device, all is used, or its own allocator keeps it. */
static enum oom_cause cause_of_filling(const struct analysis_oom *oom)
{
	switch (oom->allocator) {
	case OOM_ALLOCATOR_CACHES:
		return OOM_CACHED;
	case OOM_ALLOCATOR_IN_BITS:
		return OOM_FRAGMENTATION;
	case OOM_ALLOCATOR_USED:
		return OOM_FULL;
	case OOM_ALLOCATOR_UNKNOWN:
		break;
	}
	return has_cache(oom) ? OOM_CACHED : OOM_FULL;
}

/* What makes it less sure that the limit was the hindrance; NULL: nothing. */
static const char *doubt_of_limit(const struct analysis_oom *oom,
				  const struct analysis_options *options)
{
	const uint64_t ts_ns = oom->limit.event.ts_ns;
	uint64_t bytes;

	if (!oom->limit_is_sure)
		return "whether the limit is of this device is not known: its PCI address was not"
		       " asked for";
	if (oom->last_ts_ns > ts_ns && oom->last_ts_ns - ts_ns > options->oom_view_ns)
		return "what the cgroup used is known from an earlier moment only";
	return oom_limit_free(oom, &bytes) ? NULL :
					     "whether more of the device was free is not known";
}

/* What the process itself would have to do first, whatever the limit. */
static bool is_own_fault(struct analysis_oom *oom, const char *doubt,
			 const struct analysis_options *options)
{
	const struct device limited = { .in_use_bytes = oom_limit_used(oom) };
	const enum oom_cause cause = oom->allocator ? cause_of_filling(oom) : OOM_FULL;

	if (cause == OOM_CACHED || cause == OOM_FRAGMENTATION)
		judge(oom, cause, oom->allocator_complete ? FINDING_HIGH : FINDING_MEDIUM,
		      SEGMENTS_UNKNOWN);
	else if (holds_most(oom->own_growing.bytes, &limited, options))
		judge(oom, OOM_LEAK, doubt ? FINDING_MEDIUM : FINDING_HIGH, doubt);
	else
		return false;
	return true;
}

/* The kernel said that the cgroup may use a part of the device alone, and had used it up. */
static bool is_capped(struct analysis_oom *oom, const struct analysis_options *options)
{
	const char *doubt;

	oom->limit_reached = oom_limit_short(oom);
	if (!oom->limit_reached)
		return false;
	doubt = doubt_of_limit(oom, options);
	if (!is_own_fault(oom, doubt, options))
		judge(oom, OOM_LIMIT, doubt ? FINDING_MEDIUM : FINDING_HIGH, doubt);
	return true;
}

/* It may use a part of the device alone: what it was told is all is less than there is. */
static bool is_limited(struct analysis_oom *oom, const struct device *device)
{
	const bool less_told = oom->device_bytes && device->free_known &&
			       device->total_bytes < oom->device_bytes - oom->device_bytes / 50;

	if (!oom->evicted &&
	    !(less_told && oom->live.bytes + oom->requested_bytes <= oom->device_bytes))
		return false;
	judge(oom, OOM_LIMIT, oom->evicted || !is_fresh(oom) ? FINDING_MEDIUM : FINDING_HIGH,
	      oom->evicted ? "an MPS client was terminated (810), which may have another reason" :
			     "the driver's last report on the device's memory is old");
	return true;
}

/* As much as was asked for had been on the device before, beside what is there now. */
static bool had_room(const struct analysis_oom *oom)
{
	return oom->requested_known && oom->requested_bytes <= oom->room_bytes;
}

/*
 * Its own blocks fill the device alone, whatever else is on it that was not seen: contexts, code
 * and the driver's tables take some of the rest.
 */
static bool fills_alone(const struct analysis_oom *oom)
{
	const uint64_t needed = oom->own.bytes + (oom->requested_known ? oom->requested_bytes : 0);

	return oom->device_bytes && oom->own.bytes > oom->device_bytes / 2 &&
	       needed > oom->device_bytes - oom->device_bytes / 10;
}

/* Others' memory that may be on the same device would not make it less than most. */
static bool holds_most_of_all(const struct analysis_oom *oom,
			      const struct analysis_options *options)
{
	const struct device all = { .in_use_bytes = oom->live.bytes + oom->unclear.bytes };

	return holds_most(oom->own.bytes, &all, options);
}

static bool is_filled_alone(struct analysis_oom *oom, const struct device *device)
{
	const enum oom_cause cause = cause_of_filling(oom);

	if (device->free_known || !fills_alone(oom) || (cause != OOM_FULL && oom->allocator))
		return false;
	judge(oom, cause, FINDING_MEDIUM,
	      cause == OOM_FULL ?
		      "what contexts, code and programs that were not traced hold is not known" :
		      "what an allocator of the program's own keeps is not seen");
	return true;
}

static bool is_filled(struct analysis_oom *oom, const struct device *device,
		      const struct analysis_options *options)
{
	/* Without what it was told, what it has allocated is all that says how full it is. */
	const bool must_fail = oom->device_bytes && oom->requested_known &&
			       oom->live.bytes + oom->requested_bytes > oom->device_bytes;
	const enum oom_cause cause = cause_of_filling(oom);

	if (!holds_most(device->own_bytes, device, options) || is_share_unknown(oom, device))
		return false;
	if (!is_known(device) && !must_fail &&
	    (!oom->requested_known || oom->device_bytes || !holds_most_of_all(oom, options)))
		return false;
	if (!is_known(device) && !must_fail && cause == OOM_FULL && had_room(oom))
		judge(oom, OOM_UNEXPLAINED, FINDING_LOW,
		      "the device had room for it before: what is free may be in pieces, or taken by"
		      " a process that was not traced");
	else if (!is_known(device) && !must_fail && cause == OOM_FULL)
		judge(oom, cause, FINDING_LOW, NO_VIEW);
	else if (cause != OOM_FULL && oom->allocator)
		judge(oom, cause, oom->allocator_complete ? FINDING_HIGH : FINDING_MEDIUM,
		      SEGMENTS_UNKNOWN);
	else if (cause == OOM_CACHED)
		judge(oom, cause, FINDING_MEDIUM,
		      "what an allocator of the program's own keeps is not seen: large blocks, few"
		      " of them freed, and freed when memory ran out are its signs");
	else if (must_fail)
		judge(oom, cause, FINDING_HIGH, NULL);
	else
		judge_by(oom, cause, device);
	return true;
}

static bool is_co_tenant(struct analysis_oom *oom, const struct device *device,
			 const struct analysis_options *options)
{
	if (!holds_most(device->others_bytes, device, options) || is_share_unknown(oom, device))
		return false;
	judge_by(oom, OOM_CO_TENANT, device);
	return true;
}

/* Together they hold most of it, and the one that has more is the first to look at. */
static bool is_shared(struct analysis_oom *oom, const struct device *device,
		      const struct analysis_options *options)
{
	if (!device->sampled || !device->own_bytes || !device->others_bytes ||
	    !holds_most(device->own_bytes + device->others_bytes, device, options))
		return false;
	judge_by(oom, device->own_bytes >= device->others_bytes ? OOM_FULL : OOM_CO_TENANT, device);
	return true;
}

static bool is_pooled(struct analysis_oom *oom)
{
	if (!oom->pools_known || !oom->requested_known || oom->pooled_bytes < oom->requested_bytes)
		return false;
	judge(oom, OOM_POOLED, FINDING_MEDIUM,
	      "how much pools held is known from an earlier moment only");
	return true;
}

static bool is_unexplained(struct analysis_oom *oom, const struct device *device,
			   const struct analysis_options *options)
{
	const uint64_t seen = oom->live.bytes + oom->unclear.bytes + oom->requested_bytes;

	if (holds_most(device->unseen_bytes, device, options)) {
		/* It may be the process's own, from before. */
		if (oom->own_before)
			return false;
		judge(oom, OOM_UNEXPLAINED, FINDING_MEDIUM,
		      "most of the memory in use was not allocated by a call that was traced");
		return true;
	}
	if (is_known(device) || !oom->device_bytes || oom->held_before ||
	    seen > oom->device_bytes / 2)
		return false;
	judge(oom, OOM_UNEXPLAINED, FINDING_MEDIUM, NO_VIEW);
	return true;
}

static void judge_unknown(struct analysis_oom *oom, const struct device *device)
{
	if (is_share_unknown(oom, device) || oom->own_before)
		judge(oom, OOM_UNKNOWN, FINDING_LOW,
		      !is_known(device) && oom->others.sampled ? HAD_ROOM : HELD_BEFORE);
	else if (oom->unclear.bytes)
		judge(oom, OOM_UNKNOWN, FINDING_LOW,
		      "whether other processes use the same device is not known");
	else
		judge(oom, OOM_UNKNOWN, FINDING_LOW,
		      is_known(device) ? "nothing holds most of what is in use" : NO_VIEW);
}

static void judge_host(struct analysis_oom *oom, const struct device *device,
		       const struct analysis_options *options)
{
	bool leak = !oom->held_before && holds_most(oom->growing.bytes, device, options);

	judge(oom, leak ? OOM_LEAK : OOM_UNKNOWN, leak ? FINDING_MEDIUM : FINDING_LOW,
	      "how much memory the host had left is not recorded");
}

/* ---- what would have helped ------------------------------------------------------------------ */

static struct oom_remedy *add(struct analysis_oom *oom, enum oom_remedy_kind kind, uint64_t bytes)
{
	struct oom_remedy *remedy = &oom->remedies[oom->remedies_count++];

	*remedy = (struct oom_remedy){ .kind = kind, .bytes = bytes };
	return remedy;
}

/*
 * What the process itself could have done; `growing_bytes` only grew, and `short_bytes` more were
 * needed than were free.
 */
static void add_own(struct analysis_oom *oom, uint64_t growing_bytes, uint64_t short_bytes)
{
	if (growing_bytes >= short_bytes)
		add(oom, OOM_REMEDY_LEAK, growing_bytes);
	if (oom->request.freed_bytes >= short_bytes && has_cache(oom))
		add(oom, OOM_REMEDY_CACHE, oom->request.freed_bytes);
	if (oom->pools_known && oom->pooled_bytes >= short_bytes)
		add(oom, OOM_REMEDY_POOL, oom->pooled_bytes);
}

static void add_all(struct analysis_oom *oom, const struct device *device, uint64_t short_bytes)
{
	add_own(oom, oom->growing.bytes, short_bytes);
	if (oom->others.count && oom->others.list[0].bytes >= short_bytes) {
		const struct oom_holder *holder = &oom->others.list[0];
		struct oom_remedy *remedy = add(oom, OOM_REMEDY_PROCESS, short_bytes);

		remedy->pid = holder->pid;
		memcpy(remedy->comm, holder->comm, sizeof(remedy->comm));
	}
	if (!device->sampled && oom->device_bytes > device->total_bytes &&
	    oom->device_bytes - device->total_bytes >= short_bytes)
		add(oom, OOM_REMEDY_LIMIT, device->total_bytes + short_bytes);
	add(oom, OOM_REMEDY_LESS, short_bytes);
}

/* That others would hold less only helps in the same cgroup, and who is in it is not known. */
static void find_limit_remedies(struct analysis_oom *oom)
{
	const uint64_t short_bytes = oom_limit_short(oom);

	oom->remedies_count = 0;
	if (!oom->requested_known)
		return;
	add_own(oom, oom->own_growing.bytes, short_bytes);
	add(oom, OOM_REMEDY_LIMIT, oom->limit.limit_bytes + short_bytes);
	add(oom, OOM_REMEDY_LESS, short_bytes);
}

static void find_remedies(struct analysis_oom *oom, const struct device *device)
{
	uint64_t free_bytes =
		device->free_known ? device->free_bytes :
				     less(device->total_bytes,
					  device->sampled ? device->in_use_bytes : oom->live.bytes);

	oom->remedies_count = 0;
	if (!oom->requested_known || !device->total_bytes)
		return;
	if (oom->requested_bytes > device->total_bytes && !oom->device_bytes)
		add(oom, OOM_REMEDY_LESS, oom->requested_bytes - device->total_bytes);
	else if (oom->requested_bytes > free_bytes)
		add_all(oom, device, oom->requested_bytes - free_bytes);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void oom_cause_find(struct analysis_oom *oom, const struct analysis_options *options)
{
	struct device device;

	oom_others_bound(oom);
	device = device_of(oom);
	if (oom->space == MS_SPACE_PINNED || oom->space == MS_SPACE_REGISTERED) {
		judge_host(oom, &device, options);
		return;
	}
	if (oom->space == MS_SPACE_RESERVED || oom->space == MS_SPACE_MAPPED) {
		judge(oom, OOM_ADDRESSES, FINDING_MEDIUM,
		      "how many addresses there are is not known");
		return;
	}
	oom->limit_reached = false;
	find_remedies(oom, &device);
	if (is_too_large(oom, &device))
		return;
	if (is_capped(oom, options)) {
		find_limit_remedies(oom);
		return;
	}
	if (is_enough_free(oom, &device) || is_leak(oom, &device, options) ||
	    is_limited(oom, &device) || is_steady(oom, &device, options) ||
	    is_filled(oom, &device, options) || is_filled_alone(oom, &device) ||
	    is_co_tenant(oom, &device, options) || is_pooled(oom) ||
	    is_shared(oom, &device, options) || is_unexplained(oom, &device, options))
		return;
	judge_unknown(oom, &device);
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *analysis_oom_cause_name(enum oom_cause cause)
{
	static const char *const names[] = {
#define X(cause, name) name,
		OOM_CAUSES(X)
#undef X
	};

	return names[cause];
}

const char *analysis_oom_remedy_name(enum oom_remedy_kind kind)
{
	static const char *const names[] = {
#define X(kind, name) name,
		OOM_REMEDIES(X)
#undef X
	};

	return names[kind];
}
