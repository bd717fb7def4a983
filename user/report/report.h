/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a report says, whatever it looks like: filled while a recording is replayed, and then only
 * read. All formats show the same numbers because they read this.
 */
#ifndef MEMSCOPE_REPORT_REPORT_H
#define MEMSCOPE_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/cgroup_leavers.h"
#include "event/untraced_forks.h"
#include "analysis/analysis.h"
#include "report/holdings.h"
#include "report/sites.h"
#include "report/call_sites.h"
#include "report/process_groups.h"
#include "ledger/process_selection.h"
#include "report/recording_account.h"
#include "ledger/state.h"
#include "timeline/nvml_series.h"
#include "timeline/phases.h"
#include "timeline/steps.h"
#include "timeline/timeline.h"

#define REPORT_PIDS 64

struct report_options {
	/* The processes that it is about; none: all. */
	uint32_t pids[REPORT_PIDS];
	size_t pids_count;
	struct process_selection selection;
	enum process_groups_by by; /* besides processes one by one */
	int32_t device;            /* -1: all devices */
	size_t top;                /* of the largest allocations and the like, so many */
	bool blocks; /* live blocks are listed one by one, not those that are alike together */
	bool sums; /* live blocks are not looked at: neither the largest nor call sites are found */

	/* A process that holds so much more after its initialisation is a finding; 0: none is. */
	uint64_t growth_bytes;
	struct holdings_warmup warmup;
	struct suppressions *suppressions; /* findings that are only counted; NULL: none */
	bool looks_ahead; /* another report is made of the same: what is suppressed counts there */
};

/* Whether it is left out only because it is not known who it is. */
bool report_may_want(const struct report_options *options, const struct process *process);

/* Whether it is about that process, for all that is known of it by now. */
bool report_wants(const struct report_options *options, const struct process *process);

/* Whether it leaves out any. */
bool report_selects(const struct report_options *options);

/* What a recording says of itself and how much of it there is. Texts are NULL if not known. */
struct report_coverage {
	struct recording_account account; /* in `refused` also records that the pipeline refused */
	char **files;
	size_t files_count;
	char *host, *kernel, *machine, *version, *targets;
	char *reason;               /* why it ended */
	uint32_t failed_pid;        /* of a bundle: whose failure it was written for; 0: unknown */
	uint64_t failed_ns;         /* and when that was */
	bool wall_known;            /* of the wall clock: */
	uint64_t wall_offset_ns;    /* CLOCK_REALTIME - CLOCK_MONOTONIC when it was begun */
	bool boot_known;            /* and of CLOCK_BOOTTIME: */
	uint64_t boot_offset_ns;    /* the same for it */
	uint64_t from_ns, until_ns; /* that was asked for; 0: all */
	uint32_t captured_ops;      /* of the others nothing is known */
	bool copies_summed, launches_summed; /* some of these were only counted */
	bool graph_launches;                 /* were captured, if only for what they allocate */
	bool runtime_alone; /* what went to the driver directly is not known (--layer=runtime) */

	struct ms_counters counters; /* in the time that is reported */
	bool being_written;          /* it had no end, but a recorder */
	bool goes_on;                /* not a recording, but what is traced now: it has no end */
	uint64_t unwritten_blocks, unwritten_records; /* the recorder says: there was no room */
	uint64_t missed_processes;                    /* the recorder says: at least so many */
	bool missed_known;                            /* it does */
	uint64_t untraced; /* the same: so many descendants used CUDA and were not recorded */
	bool untraced_known;
	struct untraced_forks forks; /* the same: children that may have */
	bool forks_known;
	struct cgroup_leavers leavers; /* the same: they count, wherever they went */
	bool leavers_known;
	bool has_beginning; /* else it is older than these files */
};

/* Before the part of the time that is reported: what it held at its end it did not hold then. */
static inline bool report_had_ended(const struct report_coverage *coverage,
				    const struct process *process)
{
	return process->exited && process->exit_ts_ns < coverage->from_ns;
}

/* Whether nothing is known of such calls, since they were not recorded. */
bool report_not_captured(const struct report_coverage *coverage, enum ms_op op);

void report_coverage_fini(struct report_coverage *coverage);

/* What the driver reported about a device (cuMemGetInfo), and what was accounted for then. */
struct report_told {
	uint32_t pid;
	uint64_t start_ns;
	int32_t device; /* as that program calls it */
	size_t row;     /* of state->usage; SIZE_MAX: there was no memory for one */
	uint64_t total_bytes, free_bytes, ts_ns;
	uint64_t explained_bytes; /* of all recorded processes */
};

/* How much was used, and how much of it no allocation explains: false if more is explained. */
uint64_t report_told_used(const struct report_told *told);
bool report_told_unexplained(const struct report_told *told, uint64_t *bytes);

struct report_recording;

/*
 * Bytes of what no allocation explains that pools of the same process kept at that moment, by the
 * rule pool-kept; `*at_most`: the program did not ask how much its pools had reserved.
 */
uint64_t report_told_pooled(const struct report_recording *recording,
			    const struct report_told *told, bool *at_most);

/* All memory of a device that is accounted for, and what is known of the rest. */
struct report_device {
	int32_t device;                 /* as the first process calls it; -1: not known which */
	size_t row;                     /* of state->usage */
	uint64_t live[MS_SPACES_COUNT]; /* at the end */
	uint64_t live_bytes;            /* of spaces that are memory of the device, summed up */
	uint64_t peak_bytes, peak_ts_ns;
	bool was_running; /* a process that used it may have held more before: as for processes */
	const struct report_told *told; /* the last one; NULL: no program asked */
};

/* Which device of state->usage it is. */
const struct usage_device *report_device_row(const struct report_recording *recording,
					     const struct report_device *device);

/* "0", or "0 (GPU-...)" where processes mean several devices by that number. */
void report_device_append_label(struct string *out, const struct report_recording *recording,
				const struct report_device *device);

/*
 * Whether processes may mean several devices by one number, or one by several, for all that is
 * known: no call has said what one of those that are listed is.
 */
bool report_device_numbers_are_own(const struct report_recording *recording);

/*
 * Whether nothing says what it is but a number by which processes mean other devices, too: it may
 * be the same as one of these.
 */
bool report_device_is_own(const struct report_recording *recording,
			  const struct report_device *device);

/* By which number a process calls it; -1: none that is known. */
int32_t report_device_ordinal(const struct report_recording *recording,
			      const struct report_device *device, const struct process *process);

struct report_process {
	const struct process *process;        /* the state's, at the end */
	const struct timeline_series *series; /* NULL: none */
	struct allocation *largest;           /* live at the end, or when it exited */
	size_t largest_count;
	struct usage_cell *cells; /* by live bytes, then by peak, then by bytes allocated */
	size_t cells_count;
	size_t findings; /* about it */
};

/* Evidence is numbered over the whole report. */
struct report_finding {
	const struct finding *finding;
	size_t number;         /* from 1 */
	size_t first_evidence; /* number of the first line, from 1 */
	/*
	 * Of fragmentation: where the blocks were made that keep most segments, and their bytes.
	 * Of a private pool: where most of its segments were taken from the driver, and how much.
	 * Of a leak: where most of what is live was allocated, and how much, or of what was live
	 * before it was freed in the end. Of a call that failed: where it was made. Of a
	 * bottleneck and of copies: where the calls were made that took most time, and how long.
	 * Of a storm and of failed calls: where most of them were made, and how many. NULL: not
	 * known.
	 */
	const struct stack *stack;
	uint64_t stack_bytes, stack_ns, stack_calls;
	bool at_least;  /* it may be more */
	uint64_t whole; /* what these bytes, this time or calls are a part of; 0: not known */
};

/* How much of it comes from that stack, and in what it is counted. */
static inline enum finding_unit report_finding_stack_unit(const struct report_finding *numbered)
{
	return numbered->stack_calls ? FINDING_COUNT :
	       numbered->stack_ns    ? FINDING_NS :
				       FINDING_BYTES;
}

static inline uint64_t report_finding_stack_part(const struct report_finding *numbered)
{
	return numbered->stack_calls ? numbered->stack_calls :
	       numbered->stack_ns    ? numbered->stack_ns :
				       numbered->stack_bytes;
}

struct report_recording {
	struct report_coverage coverage;
	const struct state *state;
	struct timeline timeline;
	struct nvml_series nvml_series;
	struct phases phases;
	struct steps steps; /* of processes that have set no markers */
	struct analysis *analysis;
	struct holdings holdings;
	struct sites sites;
	struct call_sites call_sites;
	struct call_sites launch_sites; /* of launches that chance chose: estimates */
	struct process_groups groups;
	struct report_options options;
	struct analysis_options thresholds;

	struct report_device *devices;
	size_t devices_count;
	struct report_process *processes; /* by what they held at most */
	size_t processes_count;
	struct report_finding *findings; /* by topic, the gravest first */
	size_t findings_count;
	size_t suppressed;    /* findings that are not among them */
	bool growth_unlooked; /* it was asked for, and no process ran for long enough */
	const struct analysis_oom **ooms;
	size_t ooms_count;

	struct report_told *told;
	size_t told_count, told_capacity;
	struct map told_places;  /* hash of process and device -> position */
	uint64_t first_event_ns; /* the earliest begin of a call; 0: there was none */
	bool called;             /* by a process that is reported */
	bool incomplete;         /* there was no memory for something */
};

struct report {
	struct report_options options;
	struct report_recording **recordings;
	size_t count;
	size_t refused; /* files that could not be used */
};

/* Calls whose time, or number, is what the rule goes by; bit set of enum ms_op. */
uint32_t report_finding_call_ops(enum finding_rule rule);

/*
 * Call stacks are not recorded unless they are asked for: the value of record's --stacks that would
 * have told where the finding comes from. NULL: none, or they were.
 */
const char *report_finding_lacks_stacks(const struct report_recording *where,
					const struct finding *finding);

/* Whether the report is about that: what is about no device is about each. */
bool report_is_about(const struct report_recording *recording, uint32_t pid, uint64_t start_ns,
		     int32_t device);

/* Fills in recording->ooms, after the findings. Returns 0 or -ENOMEM. */
int report_ooms_finish(struct report_recording *recording);

/* Completes recording->groups, after findings and failures. */
void report_groups_finish(struct report_recording *recording);

/* Whether it is a bundle that was written because memory ran out. */
bool report_is_for_oom(const struct report_recording *recording);

/*
 * What is graver than all else that was found: among notes, or what is none. NULL: nothing. Of such
 * a bundle, it is the failure that it was written for.
 */
const struct finding *report_gravest(const struct report *report, bool notes,
				     const struct report_recording **where);

/*
 * Which of the recording's failures is the gravest: the first of those that count most, or what a
 * bundle was written for.
 */
size_t report_gravest_oom(const struct report_recording *recording);

/* Sets the finding's stack, and how much of it is from there. */
void report_finding_find_site(const struct report_recording *recording,
			      struct report_finding *numbered);

/* How blocks lay in segments when that was found; NULL: it is not about that. */
const struct tensor_segments *report_finding_segments(const struct report_recording *recording,
						      const struct finding *finding);

/*
 * `state` is the pipeline's, still empty; it must outlive the recording. NULL without memory.
 */
struct report_recording *report_recording_new(struct state *state,
					      const struct report_options *options,
					      const struct analysis_options *thresholds);
void report_recording_free(struct report_recording *recording);

/* About how much memory it takes, without the state. Costs more with more processes. */
size_t report_recording_bytes(const struct report_recording *recording);

/* What a sink gets. Returns 0 or -ENOMEM: then the report lacks something and says so. */
int report_recording_event(struct report_recording *recording, const struct event *event,
			   const struct change *change);

/* Who a process is by now. */
void report_recording_identity(struct report_recording *recording, const struct event *event,
			       const struct change *change);

/* The same of what is neither a call nor about the life of a process. */
int report_recording_sample(struct report_recording *recording, const struct event *event,
			    const struct change *change);

/* The state has been replaced by an anchor's. */
void report_recording_gap(struct report_recording *recording, uint64_t ts_ns, bool first);

/* After the last event, with `coverage` filled in. Returns 0 or -ENOMEM. */
int report_recording_finish(struct report_recording *recording);

/* Numbers findings and their evidence; once all recordings are finished. */
void report_number(struct report *report);

/* The time that is reported. */
uint64_t report_begin_ns(const struct report_recording *recording);
uint64_t report_end_ns(const struct report_recording *recording);

/* The time for which the report says what the process holds: the end, or when it exited. */
uint64_t report_held_ns(const struct report_recording *recording, const struct process *process);

/* How old an allocation was then; 0 if it was not there yet. */
uint64_t report_age_ns(const struct allocation *allocation, uint64_t now_ns);

/* Whether the process ever had memory of that space. */
bool report_has_space(const struct process *process, uint8_t space);

/* What a pool has reserved and does not use. Returns false if that is not known. */
bool report_slack(const struct view *pool, uint64_t *bytes);

/* Whether processes that ended are shown as a sum, besides those shown one by one. */
bool report_has_more(const struct report_recording *recording);

/* What the process held at the end, or when it exited. */
struct amount report_held(const struct process *process, uint8_t space);

/* The same of all kinds that usage_is_held() names. */
uint64_t report_held_on_devices(const struct process *process);

/*
 * Finds the processes that have grown by more than was asked for (docs/rules.md, growth), before
 * the analysis is finished. Returns 0 or -ENOMEM.
 */
int report_growth_find(struct report_recording *recording);

/*
 * Finds programs that fail, are started again and fail again (docs/rules.md, crash-loop), before
 * the analysis is finished. Returns 0 or -ENOMEM.
 */
int report_crashes_find(struct report_recording *recording);

/* Events that were lost: calls, and other records. */
uint64_t report_lost(const struct report_coverage *coverage);

/*
 * How much more than the peaks say a process may have held at a time, since in which order the
 * driver did what several threads asked for at once is not known; 0: that is no question.
 */
uint64_t report_peak_unsure(const struct report_recording *recording,
			    const struct process *process);

/* What is not known of processes: the sum of those that are shown. */
struct report_unknown {
	bool was_running; /* or a program was that they had before an exec */
	bool entries_only;
	uint64_t counters[COUNTERS_COUNT]; /* by enum process_counter */
};

struct report_unknown report_unknown(const struct report_recording *recording);

/* Whether no call was recorded in the time that is reported: then nothing wrong can be found. */
bool report_is_empty(const struct report *report);

/* Whether a part of the recording is not there, or cannot be read. */
bool report_lacks_parts(const struct report_coverage *coverage);

/* That, or there was not enough memory to take them all in. */
bool report_lacks_blocks(const struct report_recording *recording);

/* Whether records were lost that what is live depends on. */
bool report_lacks_memory(const struct report_coverage *coverage);

/*
 * Whether it breaks off before it says whom it was attached to: what those held is not known, then.
 * One that was ended has told of all of them.
 */
bool report_names_no_process(const struct report_recording *recording);

/* Whether anything of the recording is missing, or cannot be read. */
bool report_has_losses(const struct report_recording *recording);

/* Whether allocations or frees may be missing, so that what is live is not exact. */
bool report_is_inexact(const struct report_recording *recording);

/*
 * The same of what is said of one of its processes by kind of memory. (By function, nothing is
 * known of the time before the recording's beginning.)
 */
bool report_process_is_inexact(const struct report_recording *recording,
			       const struct process *process);

/*
 * Whether recorded processes forked children that were not recorded, and may have used CUDA. The
 * numbers of the recorded ones are exact for all that.
 */
bool report_lacks_children(const struct report_recording *recording);

/*
 * Whether nothing is missing or unknown: no call of any kind, no file, not even of processes that
 * were not attached to in time. Then the report says that its numbers are exact.
 */
bool report_all_is_exact(const struct report *report);

/*
 * Why a rule could find nothing of at least that confidence: a text; NULL: it was looked for.
 * FINDING_LOW: nothing at all. Rules that are only looked for if that was asked are so.
 */
const char *report_blind(const struct report_recording *recording, enum finding_rule rule,
			 enum finding_confidence least);

/* For how long the process that was seen longest was seen. */
uint64_t report_longest_ns(const struct report_recording *recording);

/* The longest time between the first call and the last of a process. */
uint64_t report_longest_work_ns(const struct report_recording *recording);

/* Whether it ended, and not by a signal. */
bool report_ended_by_itself(const struct process *process);

/*
 * The process that held most device and managed memory when it ended by itself, of those that held
 * at least so much; NULL: none did. `*count`: how many did.
 */
const struct process *report_left_most(const struct report_recording *recording, uint64_t least,
				       size_t *count);

/* What all processes held on devices when they exited. */
uint64_t report_left_bytes(const struct report_recording *recording);

/* What its findings about growth name: what was left of the time in which it grew. */
uint64_t report_grown_bytes(const struct report_recording *recording);

/* Why it is not known that none did; NULL: it is. */
const char *report_blind_to_left(const struct report_recording *recording, uint64_t least);

/* Of what a recording has too little for a rule. */
enum report_shortage {
	REPORT_SHORT_OF_NOTHING,
	REPORT_SHORT_OF_LEAK_TIME,  /* for growth */
	REPORT_SHORT_OF_BOUND_TIME, /* for bottlenecks */
	REPORT_SHORT_OF_WARMUP,     /* what came after the initialisation */
};

/* Whether the reason that report_blind() gave is one of these. */
enum report_shortage report_shortage_of(const char *why);

/* Whether a rule is one of those, and was not asked for. */
bool report_not_asked(const struct report_recording *recording, enum finding_rule rule);

/* ---- suggestions ----------------------------------------------------------------------------- */

/*
 * What to do about what was found by a rule: the first, the second and so on; NULL: there are no
 * more.
 */
const char *report_suggestion(const struct report_recording *recording, enum finding_rule rule,
			      size_t i);

/* What to do about this one, by its cause if memory ran out; NULL: it is not known. */
const char *report_suggestion_of(const struct report_recording *recording,
				 const struct finding *finding);

/* Whether the recording has a finding of that rule that is at least so sure. */
bool report_has(const struct report_recording *recording, enum finding_rule rule,
		enum finding_confidence least);

/* The device on which most was held at a time; NULL: there is none. */
const struct report_device *report_fullest(const struct report_recording *recording);

/* The most memory of devices that a process held at a time, on all of them together. */
struct report_own_peak {
	const struct process *process;
	uint64_t bytes, ts_ns;
};

struct report_own_peak report_own_peak(const struct report_recording *recording,
				       const struct process *process);

/*
 * The highest one of the processes that are reported and held at least so much, as far as it was on
 * the device asked for. Its process is NULL if there is none. `*count`: how many did.
 */
struct report_own_peak report_highest_peak(const struct report_recording *recording, uint64_t least,
					   size_t *count);

/* Why it is not known that so much was never held; NULL: it is. */
const char *report_blind_to_peak(const struct report_recording *recording, uint64_t least);

#endif /* MEMSCOPE_REPORT_REPORT_H */
