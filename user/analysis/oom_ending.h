/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How requests end that have not got their memory: by what the process has done since, and how it
 * ended itself. A part of analysis/oom_watch.h. Pure.
 */
#ifndef MEMSCOPE_ANALYSIS_OOM_ENDING_H
#define MEMSCOPE_ANALYSIS_OOM_ENDING_H

#include "analysis/oom_watch.h"

/* Less than this part of what was asked for last is something else, and no smaller try. */
#define OOM_BACK_OFF_PART 16

/* What comes then has nothing to do with it any more. */
bool oom_ending_is_over(const struct oom_request *request, uint64_t retry_ns, uint64_t ts_ns);

bool oom_ending_went_on(const struct oom_request *request, uint64_t retry_ns, uint64_t ts_ns);

/* Whether the process would have ended of the failure, if it failed now. */
bool oom_ending_may_be_of_it(const struct oom_request *request, uint64_t ts_ns);

/* It has not got the memory, and the time for that is over. */
enum oom_outcome oom_ending_without_it(const struct oom_request *request, uint64_t retry_ns,
				       uint64_t ts_ns);

/* Its process ends. */
enum oom_outcome oom_ending_at_end(const struct oom_request *request, uint64_t retry_ns,
				   uint64_t ts_ns);

#endif /* MEMSCOPE_ANALYSIS_OOM_ENDING_H */
