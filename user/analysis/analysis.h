/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run shows to be wrong, found by fixed rules from its events: leaks, failed allocations,
 * churn, copies that need not be, what the host waits for. docs/rules.md says what each rule looks
 * at. Pure; its memory depends on live processes, kinds of allocations and pinned blocks, not on
 * how many events there were.
 */
#ifndef MEMSCOPE_ANALYSIS_ANALYSIS_H
#define MEMSCOPE_ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "analysis/finding.h"
#include "analysis/oom_episode.h"
#include "ledger/state.h"
#include "analysis/threshold.h"

/* ---- thresholds ------------------------------------------------------------------------------ */

/* clang-format off */

/* Member, name, default, unit, what it is. Each is an option of the report, and printed with it. */
#define ANALYSIS_THRESHOLDS(X) \
	X(leak_bytes,        "leak-size",         1 << 20,     BYTES,   "less than this is no leak") \
	X(twice_bytes,       "twice-size",        16 << 20,    BYTES,   "less than this may be there twice") \
	X(leak_count,        "leak-count",        4,           COUNT,   "growth of fewer allocations is no leak") \
	X(leak_windows,      "leak-windows",      6,           COUNT,   "so many of the first 7 of 8 equal windows must have left allocations behind") \
	X(leak_time_ns,      "leak-time",         1000000000,  NS,      "growth over less time is no leak") \
	X(leak_share,        "leak-share",        25,          PERCENT, "growth over a smaller part of the time a process was seen is no leak") \
	X(pile_count,        "pile-count",        16,          COUNT,   "growth of fewer modules, streams, events, graphs is no pile") \
	X(pile_contexts,     "pile-contexts",     4,           COUNT,   "growth of fewer contexts is none") \
	X(context_time_ns,   "context-time",      5000000000,  NS,      "a context that does nothing for less is not reported") \
	X(unexplained_bytes, "unexplained-size",  32 << 20,    BYTES,   "less growth that no allocation explains is not reported") \
	X(init_share,        "init-share",        12,          PERCENT, "so much of a process's time, from its beginning, counts as initialisation") \
	X(failed_count,      "failed-count",      2,           COUNT,   "fewer failures of a function are not reported") \
	X(crash_count,       "crash-count",       3,           COUNT,   "fewer runs of a program that fail one after the other are no loop") \
	X(pool_bytes,        "pool-size",         32 << 20,    BYTES,   "a pool that keeps less is not reported") \
	X(pool_time_ns,      "pool-time",         500000000,   NS,      "a pool that keeps it for less is not reported") \
	X(fragment_bytes,    "fragment-size",     256 << 20,   BYTES,   "less free memory in pieces is not reported if no request failed for it") \
	X(fragment_share,    "fragment-share",    40,          PERCENT, "nor if it is a smaller part of what the framework's allocator has") \
	X(export_time_ns,    "export-time",       500000000,   NS,      "memory that stays open for less after its owner freed it is not reported") \
	X(oom_share,         "oom-share",         50,          PERCENT, "holds this much of what is in use: it is why memory ran out") \
	X(steady_count,      "steady-count",      8,           COUNT,   "fewer equal blocks from one place are no growth until memory ran out") \
	X(steady_ns,         "steady-time",       100000000,   NS,      "nor are those that were made in less time") \
	X(oom_retry_ns,      "oom-retry",         30000000000, NS,      "a success after this has nothing to do with a thread's failed call") \
	X(oom_view_ns,       "oom-view-age",      10000000000, NS,      "a number of free bytes that is older than this says nothing about a failed allocation") \
	X(temporary_count,   "temporary-count",   1000,        COUNT,   "fewer temporary allocations are not reported") \
	X(temporary_share,   "temporary-share",   50,          PERCENT, "so many allocations of a kind must be temporary") \
	X(temporary_time,    "temporary-time",    1,           PERCENT, "so much of a process's time must go into such a kind") \
	X(storm_window_ns,   "storm-window",      100000000,   NS,      "the length of a window in which allocations and frees are counted") \
	X(storm_rate,        "storm-rate",        1000,        PER_SECOND, "fewer allocations and frees are no storm") \
	X(storm_share,       "storm-share",       20,          PERCENT, "so much of a window's time must go into them") \
	X(redundant_count,   "redundant-count",   10,          COUNT,   "fewer redundant copies are not reported") \
	X(redundant_bytes,   "redundant-size",    1 << 20,     BYTES,   "fewer bytes of them are not reported") \
	X(pageable_bytes,    "pageable-size",     16 << 20,    BYTES,   "fewer bytes from or to pageable memory are not reported") \
	X(pageable_least,    "pageable-least",    64 << 10,    BYTES,   "smaller copies are not among them: they take as long as their calls") \
	X(pageable_share,    "pageable-time",     5,           PERCENT, "so much of a process's time must go into such copies") \
	X(bound_time_ns,     "bound-time",        1000000000,  NS,      "no bottleneck is named for a process seen for less") \
	X(bound_windows,     "bound-windows",     50,          PERCENT, "so many of the windows with any call must be bound by the same") \
	X(bound_least_ns,    "bound-least",       50000000,    NS,      "less time than this in all is no bottleneck") \
	X(bound_share,       "bound-share",       1,           PERCENT, "so much of the time a process was seen must go into it") \
	X(sync_share,        "sync-time",         50,          PERCENT, "so much of a window in synchronisation: it is bound by that") \
	X(copy_share,        "copy-time",         20,          PERCENT, "so much of a window in copies: it is bound by that") \
	X(alloc_share,       "alloc-time",        10,          PERCENT, "so much of a window in allocations and frees: it is bound by that") \
	X(launch_share,      "launch-time",       50,          PERCENT, "so much of a window in calls that launch: it is bound by that") \
	X(long_launch_ns,    "long-launch",       50000,       NS,      "launches that take so long on average wait for the device") \
	X(idle_share,        "idle-time",         10,          PERCENT, "so much of a window in gaps between calls with the device known to be idle: the host bounds it") \
	X(input_share,       "input-time",        25,          PERCENT, "a host that computed for less of its time than this while the device was idle waited for input") \
	X(gpu_idle_share,    "gpu-idle-time",     30,          PERCENT, "a GPU that was idle, by CUPTI's times, for so much of the time in which it had work has too little to do") \
	X(gpu_busy_share,    "gpu-busy-time",     80,          PERCENT, "a GPU that was busy, by CUPTI's times, for so much of the time in which it had work bounds its program") \
	X(kernel_share,      "kernel-time",       50,          PERCENT, "so much of the work of a busy GPU in one kernel: it is bound by that") \
	X(contention_share,  "contention-time",   20,          PERCENT, "so much of the time in calls spent waiting for a CPU: threads contend for CPUs") \
	X(queue_share,       "queue-time",        10,          PERCENT, "a process whose threads waited for a CPU for so much of the time, added up: the same") \
	X(throttle_share,    "throttle-time",     5,           PERCENT, "a process whose cgroup was throttled for so much of the time: the same") \
	X(stall_share,       "stall-time",        1,           PERCENT, "so much of the time in which tasks waited for memory of the host is pressure") \
	X(node_bytes,        "node-size",         64 << 20,    BYTES,   "less memory of the host on another node than the GPU's is not reported") \
	X(gap_ns,            "gap",               1000000,     NS,      "shorter gaps between calls are not counted") \
	X(gap_max_ns,        "gap-max",           100000000,   NS,      "longer gaps are taken for a lack of work") \
	X(short_sync_ns,     "short-sync",        100000,      NS,      "a synchronisation that returns sooner found the device idle") \
	X(pressure_free,     "pressure-free",     5,           PERCENT, "less of a device free than this is pressure")

/* clang-format on */

struct analysis_options {
#define X(member, name, value, unit, help) uint64_t member;
	ANALYSIS_THRESHOLDS(X)
#undef X
	/* What was allocated in [a, b] and is alive at c (0: not asked) leaked; CLOCK_MONOTONIC. */
	uint64_t window_a_ns, window_b_ns, window_c_ns;
	uint32_t captured_ops; /* bit set of enum ms_op, as in struct summary */
};

/* The i-th option of struct analysis_options. NULL: there are no more. */
const struct threshold *analysis_threshold_at(size_t i);

/* Every threshold at its default, no window, everything captured. */
struct analysis_options analysis_defaults(void);

/* ---- the analysis ---------------------------------------------------------------------------- */

struct analysis;

/* `state` is the pipeline's, and must outlive the analysis; its contents may be replaced. NULL
 * without memory. */
struct analysis *analysis_new(const struct state *state, const struct analysis_options *options);
void analysis_free(struct analysis *analysis);

/* About how much memory it takes. Its cost grows with the number of processes. */
size_t analysis_bytes(const struct analysis *analysis);

/*
 * What a sink of the pipeline gets, of all ops and processes, sums included (shows_sums). Returns 0
 * or -ENOMEM: then findings may be missing.
 */
int analysis_event(struct analysis *analysis, const struct event *event,
		   const struct change *change);

/* The state has been replaced by that of an anchor: what happened in between is not known. */
void analysis_gap(struct analysis *analysis);

/*
 * After the last event; `end_ns` is when the run ended (0: with its last event), `counters` says
 * what was lost, pipeline.recorded or those of a live capture (NULL: nothing). Returns 0 or
 * -ENOMEM.
 */
int analysis_finish(struct analysis *analysis, uint64_t end_ns, const struct ms_counters *counters);

/*
 * Before analysis_finish(): one more finding, of a rule that goes by what the analysis does not
 * keep. Returns 0 or -ENOMEM.
 */
int analysis_add(struct analysis *analysis, const struct finding *finding);

/* After analysis_finish(): by topic, the surest first, then the largest, then the longest. */
const struct finding *analysis_findings(const struct analysis *analysis, size_t *count);

/* In order of time; findings of FINDING_OOM name them by position. */
const struct analysis_oom *analysis_ooms(const struct analysis *analysis, size_t *count);

/*
 * Why findings of a topic cannot be surer than `*confidence`, after analysis_finish(): what was
 * lost. NULL: nothing that they rest on was.
 */
const char *analysis_lowered(const struct analysis *analysis, enum finding_topic topic,
			     enum finding_confidence *confidence);

struct analysis_account {
	uint64_t oom_failures;                     /* calls that failed, all */
	uint64_t oom_not_listed;                   /* that are in none of analysis_ooms() */
	uint64_t oom_outcomes[OOM_OUTCOMES_COUNT]; /* how often, by enum oom_outcome */
	uint64_t findings_dropped;                 /* lesser ones than all that are listed */
	bool window_reached;                       /* there were events after window_c_ns */
};

const struct analysis_account *analysis_account(const struct analysis *analysis);

#endif /* MEMSCOPE_ANALYSIS_ANALYSIS_H */
