// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/pools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS_PER_TIME 2 /* of pool_time: in windows of that length, use is looked at */
#define POOLS_MAX 32       /* of a process that are followed; the others are not looked at */

/* CUmemPool_attribute, and the same numbers in cudaMemPoolAttr. */
#define ATTRIBUTE_THRESHOLD 4
#define ATTRIBUTE_RESERVED 5

/* A time in which little of what a pool holds was in use. */
struct slack {
	uint64_t since_ns, until_ns;
	uint64_t used_bytes; /* the most that was in use then */
	uint64_t held_bytes; /* by the pool */
	uint64_t
		gone_bytes; /* of the device, by cuMemGetInfo, without any allocation; 0: unknown */
	bool held_told;     /* the program asked what it holds, then */
	bool held_told_early; /* before that */
};

struct pool {
	uint64_t handle;                 /* 0: what the device gives to whoever names none */
	int32_t device;                  /* -1: unknown */
	uint64_t live_bytes, peak_bytes; /* in use: now; at most, since it gave something back */
	bool has_reserved, has_threshold;
	uint64_t reserved_bytes, reserved_ns; /* as the program was told; when */
	uint64_t threshold_bytes;
	uint64_t gone_bytes, gone_ns;     /* as in struct slack, when the program asked last */
	uint64_t window_ns, window_bytes; /* when a window began, the most in use in it */
	bool slacks;
	struct slack now, most; /* `now` if it slacks; what has been the most so far */
};

struct pools {
	struct pool list[POOLS_MAX];
	size_t count;
	/* The pool of each device for calls that name none; 0: the default one. */
	uint64_t current[ACTIVITY_DEVICES];
	/* The least that was gone of each device without an allocation, as the driver reports. */
	bool has_base[ACTIVITY_DEVICES];
	bool is_others[ACTIVITY_DEVICES]; /* it was, before its pools held anything */
	uint64_t base_bytes[ACTIVITY_DEVICES];
};

void pools_free(struct pools *pools)
{
	free(pools);
}

size_t pools_bytes(const struct pools *pools)
{
	return pools ? sizeof(*pools) : 0;
}

static struct pools *pools_of(struct process_activity *activity)
{
	if (!activity->pools)
		activity->pools = calloc(1, sizeof(*activity->pools));
	return activity->pools;
}

/* ---- which pool ------------------------------------------------------------------------------ */

static struct pool *find(struct pools *pools, uint64_t handle, int32_t device)
{
	size_t i;

	for (i = 0; i < pools->count; i++)
		if (pools->list[i].handle == handle && (handle || pools->list[i].device == device))
			return &pools->list[i];
	return NULL;
}

static struct pool *add(struct pools *pools, uint64_t handle, int32_t device, uint64_t now_ns)
{
	struct pool *pool;

	if (pools->count == POOLS_MAX)
		return NULL;
	pool = &pools->list[pools->count++];
	*pool = (struct pool){ .handle = handle, .device = device, .window_ns = now_ns };
	return pool;
}

/*
 * What a program sets before it has a context is about a pool of a device that is not known: then
 * it counts for those of all devices.
 */
static struct pool *add_placed(struct pools *pools, uint64_t handle, int32_t device,
			       uint64_t now_ns)
{
	const struct pool *unplaced = handle ? NULL : find(pools, 0, -1);
	struct pool *pool = add(pools, handle, device, now_ns);

	if (pool && unplaced && unplaced->has_threshold) {
		pool->has_threshold = true;
		pool->threshold_bytes = unplaced->threshold_bytes;
	}
	return pool;
}

/* The pool that an allocation came from; NULL: it is one too many. */
static struct pool *pool_of(struct pools *pools, const struct allocation *allocation,
			    uint64_t now_ns)
{
	const uint32_t device = allocation->device;
	uint64_t handle = allocation->owner;
	struct pool *pool;

	if (!handle && device < ACTIVITY_DEVICES)
		handle = pools->current[device];
	pool = find(pools, handle, allocation->device);
	if (!pool)
		pool = add_placed(pools, handle, allocation->device, now_ns);
	if (pool && pool->device < 0)
		pool->device = allocation->device;
	return pool;
}

/* A handle that no call has made is the device's own. */
static struct pool *pool_called(struct pools *pools, uint64_t handle, int32_t device,
				uint64_t now_ns)
{
	struct pool *pool = find(pools, handle, device);
	size_t i;

	if (!pool)
		pool = find(pools, 0, device);
	for (i = 0; !pool && i < pools->count; i++)
		if (!pools->list[i].handle && device < 0)
			pool = &pools->list[i];
	return pool ? pool : add(pools, 0, device, now_ns);
}

/* ---- what it holds --------------------------------------------------------------------------- */

/* What is not known to have been given back. */
static uint64_t held(const struct pool *pool)
{
	return pool->has_reserved && pool->reserved_bytes > pool->peak_bytes ?
		       pool->reserved_bytes :
		       pool->peak_bytes;
}

static uint64_t kept(const struct slack *slack)
{
	return slack->held_bytes > slack->used_bytes ? slack->held_bytes - slack->used_bytes : 0;
}

static void slack_end(const struct process_activity *activity, struct pool *pool)
{
	struct slack *now = &pool->now;

	if (!pool->slacks)
		return;
	pool->slacks = false;
	now->held_told = pool->has_reserved && pool->reserved_ns >= now->since_ns;
	now->held_told_early = pool->has_reserved && !now->held_told;
	now->gone_bytes = pool->gone_ns >= now->since_ns ? pool->gone_bytes : 0;
	if (now->until_ns - now->since_ns >= activity->options->pool_time_ns &&
	    kept(now) > kept(&pool->most))
		pool->most = *now;
}

static uint64_t window_length(const struct process_activity *activity)
{
	return activity->options->pool_time_ns / WINDOWS_PER_TIME;
}

/* So much was in use at most in that time. A fall by half for a whole window begins anew. */
static void window_end(const struct process_activity *activity, struct pool *pool, uint64_t end_ns)
{
	const uint64_t bytes = held(pool), used = pool->window_bytes;
	const bool little = used <= bytes / 2 && bytes >= activity->options->pool_bytes;
	const bool whole = end_ns - pool->window_ns >= window_length(activity);

	if (!little || (whole && used < pool->now.used_bytes / 2))
		slack_end(activity, pool);
	if (little && !pool->slacks) {
		pool->slacks = true;
		pool->now = (struct slack){ .since_ns = pool->window_ns };
	}
	if (little) {
		pool->now.until_ns = end_ns;
		pool->now.held_bytes = bytes;
		if (used > pool->now.used_bytes)
			pool->now.used_bytes = used;
	}
	pool->window_ns = end_ns;
	pool->window_bytes = pool->live_bytes;
}

/* Before anything changes. Where nothing happens for long, that is one window. */
static void advance(const struct process_activity *activity, struct pool *pool)
{
	const uint64_t length = window_length(activity);

	if (activity->now_ns - pool->window_ns < length)
		return;
	window_end(activity, pool, pool->window_ns + length);
	if (activity->now_ns - pool->window_ns >= length)
		window_end(activity, pool, activity->now_ns);
}

/* It holds no more than that from now on. */
static void limit(const struct process_activity *activity, struct pool *pool, uint64_t bytes)
{
	if (bytes < pool->live_bytes)
		bytes = pool->live_bytes;
	if (bytes >= held(pool))
		return;
	window_end(activity, pool, activity->now_ns);
	slack_end(activity, pool);
	pool->peak_bytes = bytes;
	if (pool->has_reserved && pool->reserved_bytes > bytes)
		pool->reserved_bytes = bytes;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void apply_told(const struct process_activity *activity, struct pool *pool,
		       const struct ms_call *call)
{
	limit(activity, pool, call->size);
	pool->has_reserved = true;
	pool->reserved_bytes = call->size;
	pool->reserved_ns = activity->now_ns;
}

static bool holds_any(const struct pools *pools, uint32_t device)
{
	size_t i;

	for (i = 0; i < pools->count; i++)
		if (pools->list[i].device == (int32_t)device && pools->list[i].peak_bytes)
			return true;
	return false;
}

/*
 * What is gone of the device, and is neither an allocation nor was gone before, may be what its
 * pools keep; they keep no more than that.
 */
static void apply_info(struct process_activity *activity, struct pools *pools,
		       const struct ms_call *call, uint32_t device)
{
	uint64_t gone, more;
	size_t i;

	if (device >= ACTIVITY_DEVICES || !(call->known & MS_KNOWN_SIZE) ||
	    !(call->known & MS_KNOWN_SRC) || call->src > call->size)
		return;
	gone = call->size - call->src;
	gone -= gone < activity->device_live[device] ? gone : activity->device_live[device];
	if (!pools->has_base[device])
		pools->is_others[device] = !holds_any(pools, device);
	if (!pools->has_base[device] || gone < pools->base_bytes[device])
		pools->base_bytes[device] = gone;
	pools->has_base[device] = true;
	more = gone - pools->base_bytes[device];
	for (i = 0; i < pools->count; i++) {
		struct pool *pool = &pools->list[i];

		if (pool->device != (int32_t)device)
			continue;
		if (!pool->has_reserved)
			limit(activity, pool,
			      pool->live_bytes + (pools->is_others[device] ? more : gone));
		pool->gone_bytes = more;
		pool->gone_ns = activity->now_ns;
	}
}

static void forget(struct process_activity *activity, struct pools *pools, uint64_t handle)
{
	struct pool *pool = find(pools, handle, -1);

	if (!pool || !handle)
		return;
	window_end(activity, pool, activity->now_ns);
	slack_end(activity, pool);
	pool->live_bytes = pool->peak_bytes = 0;
	pool->has_reserved = pool->has_threshold = false;
}

static void apply_memory(struct process_activity *activity, struct pools *pools,
			 const struct event *event, const struct change *change)
{
	const struct ms_call *call = event->call;
	const uint32_t device = call->device;
	struct pool *pool;

	switch (event->probe->spec.action) {
	case MS_ACTION_POOL_CREATE:
		add(pools, call->addr, -1, activity->now_ns);
		return;
	case MS_ACTION_POOL_DESTROY:
		forget(activity, pools, call->addr);
		return;
	case MS_ACTION_DEVICE_INFO:
		apply_info(activity, pools, call, change->device);
		return;
	case MS_ACTION_POOL_CURRENT:
		if (device < ACTIVITY_DEVICES)
			pools->current[device] = find(pools, call->addr, -1) ? call->addr : 0;
		return;
	}
	pool = pool_called(pools, call->addr, change->device, activity->now_ns);
	if (!pool || !(call->known & MS_KNOWN_SIZE))
		return;
	if (event->probe->spec.action == MS_ACTION_POOL_TRIM) {
		limit(activity, pool, call->size);
	} else if (call->src == ATTRIBUTE_THRESHOLD) {
		pool->has_threshold = true;
		pool->threshold_bytes = call->size;
	} else if (call->src == ATTRIBUTE_RESERVED &&
		   event->probe->spec.action == MS_ACTION_POOL_INFO) {
		apply_told(activity, pool, call);
	}
}

static void apply_block(struct process_activity *activity, struct pools *pools,
			const struct event *event, const struct change *change)
{
	const struct allocation *allocation = &change->allocation;
	struct pool *pool = pool_of(pools, allocation, activity->now_ns);

	if (!pool)
		return;
	if (event->probe->spec.op == MS_OP_ALLOC)
		pool->live_bytes += allocation->size_bytes;
	else
		pool->live_bytes -= pool->live_bytes < allocation->size_bytes ?
					    pool->live_bytes :
					    allocation->size_bytes;
	if (pool->live_bytes > pool->peak_bytes)
		pool->peak_bytes = pool->live_bytes;
	if (pool->live_bytes > pool->window_bytes)
		pool->window_bytes = pool->live_bytes;
}

/* With a context or program, everything in pools ended, and what they held. */
static void apply_end(struct process_activity *activity, struct pools *pools)
{
	size_t i;

	for (i = 0; i < pools->count; i++) {
		window_end(activity, &pools->list[i], activity->now_ns);
		slack_end(activity, &pools->list[i]);
		pools->list[i].live_bytes = pools->list[i].peak_bytes = 0;
		pools->list[i].has_reserved = false;
	}
}

static bool is_about_pools(const struct event *event)
{
	switch (event->probe->spec.action) {
	case MS_ACTION_POOL_INFO:
	case MS_ACTION_POOL_SETTING:
	case MS_ACTION_POOL_CURRENT:
	case MS_ACTION_POOL_CREATE:
	case MS_ACTION_POOL_DESTROY:
	case MS_ACTION_POOL_TRIM:
	case MS_ACTION_DEVICE_INFO:
		return true;
	}
	return false;
}

int pools_event(struct process_activity *activity, const struct event *event,
		const struct change *change)
{
	const uint8_t op = event->probe->spec.op;
	const bool block = (op == MS_OP_ALLOC || op == MS_OP_FREE) && change->has_allocation &&
			   change->allocation.space == MS_SPACE_POOL &&
			   (op == MS_OP_ALLOC || change->free == FREE_KNOWN);
	const bool memory = op == MS_OP_MEMORY && is_about_pools(event);
	const bool ends =
		op == MS_OP_CONTEXT && change->has_amounts && change->implicit[MS_SPACE_POOL].count;
	struct pools *pools;
	size_t i;

	if (!block && !memory && !ends)
		return 0;
	if (!event_succeeded(event->call) || event->call->flags & MS_CALL_PART)
		return 0;
	pools = pools_of(activity);
	if (!pools)
		return -ENOMEM;
	for (i = 0; i < pools->count; i++)
		advance(activity, &pools->list[i]);
	if (block)
		apply_block(activity, pools, event, change);
	else if (memory)
		apply_memory(activity, pools, event, change);
	else
		apply_end(activity, pools);
	return 0;
}

/* ---- the finding ----------------------------------------------------------------------------- */

/* What a pool of that threshold may keep; all of them together lose no more than the device. */
static uint64_t bytes_of(const struct pool *pool, const struct slack *slack)
{
	uint64_t bytes = kept(slack), most = pool->threshold_bytes;

	if (slack->held_told || slack->held_told_early || !pool->has_threshold || !most)
		return bytes;
	most = most > slack->used_bytes ? most - slack->used_bytes : 0;
	return bytes < most ? bytes : most;
}

static bool is_supported(const struct slack *slack)
{
	return slack->gone_bytes / 4 * 5 >= kept(slack);
}

/* Without a threshold, a pool gives everything back when its stream is waited for. */
static bool is_believed(const struct pool *pool, const struct slack *slack)
{
	return slack->held_told || slack->held_told_early || is_supported(slack) ||
	       (pool->has_threshold && pool->threshold_bytes);
}

static void say_confidence(const struct slack *slack, struct finding *finding)
{
	if (slack->held_told)
		return;
	if (slack->held_told_early)
		finding_lower(finding, FINDING_MEDIUM,
			      "what the pool has reserved was asked for before, not meanwhile");
	else if (!is_supported(slack))
		finding_lower(finding, FINDING_MEDIUM,
			      "the program did not ask what the pool has reserved: it is up to so"
			      " much");
	else
		finding_lower(finding, FINDING_MEDIUM,
			      "the program did not ask what the pool has reserved");
}

static void say_pool(const struct pool *pool, const struct slack *slack, struct finding *finding)
{
	finding_say(finding, "bytes kept", FINDING_BYTES, finding->bytes);
	finding_say(finding,
		    slack->held_told       ? "reserved by the pool, as the program was told" :
		    slack->held_told_early ? "reserved by the pool, as the driver reported before" :
					     "reserved by the pool: at most its high-water mark",
		    FINDING_BYTES, slack->held_bytes);
	finding_say(finding, "most that was in use meanwhile", FINDING_BYTES, slack->used_bytes);
	finding_say(finding, "kept for", FINDING_NS, slack->until_ns - slack->since_ns);
	if (slack->gone_bytes)
		finding_say(finding,
			    "gone of the device without an allocation, as the program was told",
			    FINDING_BYTES, slack->gone_bytes);
	if (pool->has_threshold && pool->threshold_bytes == UINT64_MAX)
		finding_say(finding, "release thresholds without limit that the program has set",
			    FINDING_COUNT, 1);
	else if (pool->has_threshold)
		finding_say(finding, "release threshold that the program has set", FINDING_BYTES,
			    pool->threshold_bytes);
	if (pool->handle)
		finding_say(finding, "pool", FINDING_ADDRESS, pool->handle);
}

static int report_pool(struct process_activity *activity, struct pool *pool,
		       const struct analysis_options *options, struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_POOL_KEPT);
	const struct slack *slack = &pool->most;

	advance(activity, pool);
	window_end(activity, pool, activity->now_ns);
	slack_end(activity, pool);
	finding.bytes = bytes_of(pool, slack);
	if (finding.bytes < options->pool_bytes || !finding.bytes || !is_believed(pool, slack))
		return 0;
	finding.space = MS_SPACE_POOL;
	finding.device = pool->device;
	finding.first_ts_ns = slack->since_ns;
	finding.last_ts_ns = slack->until_ns;
	say_pool(pool, slack, &finding);
	say_confidence(slack, &finding);
	return findings_add(findings, &finding);
}

int pools_report(struct process_activity *activity, const struct analysis_options *options,
		 struct findings *findings)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && activity->pools && i < activity->pools->count; i++)
		err = report_pool(activity, &activity->pools->list[i], options, findings);
	return err;
}
