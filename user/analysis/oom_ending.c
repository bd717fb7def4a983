// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_ending.h"

/* A process that has done so much for so long since a failure has gone on without the memory. */
#define WENT_ON_ALLOCS 16
#define WENT_ON_NS 1000000000ull

/*
 * A process that fails so soon after a failure has ended of it, whatever it did in between: a
 * trainer saves a checkpoint first, which takes tens of seconds and allocates next to nothing. One
 * that has allocated so often since had gone on, and ended of something else.
 */
#define ENDS_OF_IT_NS 60000000000ull
#define ENDS_OF_IT_ALLOCS 1000

bool oom_ending_is_over(const struct oom_request *request, uint64_t retry_ns, uint64_t ts_ns)
{
	return ts_ns > request->last_ts_ns && ts_ns - request->last_ts_ns >= retry_ns;
}

bool oom_ending_went_on(const struct oom_request *request, uint64_t retry_ns, uint64_t ts_ns)
{
	if (!request->work_since)
		return false;
	return oom_ending_is_over(request, retry_ns, ts_ns) ||
	       (request->allocs_since >= WENT_ON_ALLOCS &&
		ts_ns >= request->last_ts_ns + WENT_ON_NS);
}

static bool has_failed(const struct oom_request *request)
{
	return request->exited && request->exit_status && !oom_end_is_unseen(request);
}

enum oom_outcome oom_ending_without_it(const struct oom_request *request, uint64_t retry_ns,
				       uint64_t ts_ns)
{
	if (oom_ending_went_on(request, retry_ns, ts_ns))
		return OOM_HANDLED;
	if (oom_end_is_unseen(request) && !oom_ending_is_over(request, retry_ns, ts_ns))
		return OOM_OPEN;
	return has_failed(request) ? OOM_FATAL : OOM_GAVE_UP;
}

/* A program that says of itself that all is well, and did not just stop there. */
static bool ended_well(const struct oom_request *request, uint64_t ts_ns)
{
	return request->exited && !request->exit_status &&
	       (request->work_since || ts_ns >= request->last_ts_ns + WENT_ON_NS);
}

bool oom_ending_may_be_of_it(const struct oom_request *request, uint64_t ts_ns)
{
	return ts_ns < request->last_ts_ns + ENDS_OF_IT_NS &&
	       request->allocs_since < ENDS_OF_IT_ALLOCS;
}

enum oom_outcome oom_ending_at_end(const struct oom_request *request, uint64_t retry_ns,
				   uint64_t ts_ns)
{
	if (ended_well(request, ts_ns))
		return OOM_HANDLED;
	if (has_failed(request) && oom_ending_may_be_of_it(request, ts_ns))
		return OOM_FATAL;
	return oom_ending_without_it(request, retry_ns, ts_ns);
}
