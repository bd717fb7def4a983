/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is different between two reports, A from before and B from after: which processes are which,
 * and for each pair of them what grew, shrank, came and went. All formats of a diff show the same
 * numbers because they read this. docs/diff.md says what counts as a difference.
 */
#ifndef MEMSCOPE_REPORT_DIFF_H
#define MEMSCOPE_REPORT_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/report.h"
#include "analysis/threshold.h"

/* clang-format off */

/* What a row is about. */
#define DIFF_DIMENSIONS(X) \
	X(DEVICE,  "device")    /* of all processes */ \
	X(MEMORY,  "memory")    /* all kinds that are on devices, where there are several */ \
	X(SPACE,   "space")     /* all others: of a process */ \
	X(API,     "api")       /* by function, space and device */ \
	X(SIZE,    "size")      /* the same, by power of two of the size */ \
	X(SITE,    "site")      /* by call stack, where both sides have stacks */ \
	X(KERNEL,  "kernel")    /* launches */ \
	X(COPY,    "copy")      /* by direction */ \
	X(CALL,    "call")      /* graph launches, memsets, synchronisations */ \
	X(FAILURE, "failure")   /* calls that failed, by function and result */

/*
 * Its numbers. Levels are what was there at a moment; the others add up over the time, and so
 * depend on its length.
 */
#define DIFF_METRICS(X) \
	X(LIVE_BYTES,  "live_bytes",       BYTES, true) \
	X(LIVE_COUNT,  "live_allocations", COUNT, true) \
	X(PEAK_BYTES,  "peak_bytes",       BYTES, true)  /* of an API: its part of the space's peak */ \
	X(ALLOCS,      "allocs",           COUNT, false) \
	X(ALLOC_BYTES, "alloc_bytes",      BYTES, false) \
	X(FREES,       "frees",            COUNT, false) \
	X(FREE_BYTES,  "free_bytes",       BYTES, false) \
	X(CALLS,       "calls",            COUNT, false) \
	X(CALL_BYTES,  "bytes",            BYTES, false)

/* Member, name, default, unit, what it is. Each is an option of diff, and printed with it. */
#define DIFF_THRESHOLDS(X) \
	X(min_bytes, "min-bytes", 1 << 20, BYTES,   "bytes that differ by less are noise") \
	X(min_count, "min-count", 10,      COUNT,   "counts that differ by less are noise") \
	X(min_share, "min-share", 1,       PERCENT, "what differs by less of the larger of both is noise")

/* clang-format on */

enum diff_dimension {
#define X(dimension, name) DIFF_##dimension,
	DIFF_DIMENSIONS(X)
#undef X
		DIFF_DIMENSIONS_COUNT,
};

enum diff_metric {
#define X(metric, name, unit, level) DIFF_##metric,
	DIFF_METRICS(X)
#undef X
		DIFF_METRICS_COUNT,
};

/* Kinds of a row of DIFF_CALL. */
enum diff_call {
	DIFF_CALL_GRAPH_LAUNCHES,
	DIFF_CALL_MEMSETS,
	DIFF_CALL_SYNCS,
	DIFF_CALLS_COUNT,
};

/* What numbers that add up are compared per. */
enum diff_basis {
	DIFF_PER_AUTO, /* per run where both sides are whole runs, else per second */
	DIFF_PER_RUN,
	DIFF_PER_SECOND, /* rates depend on the machine's mood: they are shown, and never differ */
	DIFF_PER_LAUNCH, /* of a kernel */
};

struct diff_options {
#define X(member, name, value, unit, help) uint64_t member;
	DIFF_THRESHOLDS(X)
#undef X
	enum diff_basis basis;
};

enum diff_presence {
	DIFF_IN_BOTH,
	DIFF_GONE, /* only in A */
	DIFF_NEW,  /* only in B */
};

/* A process of one side. */
struct diff_process {
	const struct report_recording *recording;
	const struct report_process *shown; /* NULL: the sum of those that are not listed */
	const struct process *process;      /* NULL: there is none */
	uint64_t length_ns;                 /* for so long it was seen */
};

/* By what two processes were taken for the same. */
enum diff_match {
	DIFF_MATCH_NONE,
	DIFF_MATCH_IDENTITY, /* it is the same process of the same recording */
	DIFF_MATCH_HOST_AND_TARGETS,
	DIFF_MATCH_TARGETS, /* by name, in recordings of the same command or the like */
	DIFF_MATCH_HOST,    /* by name, on the same host */
	DIFF_MATCH_NAME,
};

struct diff_pair {
	struct diff_process a, b;
	enum diff_presence presence;
	enum diff_match match;
	size_t alike_a, alike_b; /* that only the order of their starts distinguishes */
	enum diff_basis basis;
	uint32_t not_compared;  /* bit set of enum ms_op: not captured on both sides */
	bool no_graph_launches; /* nor those of graphs, which were captured without others */
	bool no_levels;         /* what is live is not known on both sides */
	bool mixed;             /* it has several kinds of memory on devices, on either side */
	bool uncertain;         /* anything of it */
	bool differs;           /* by more than noise */
};

struct diff_row {
	enum diff_dimension dimension;
	const struct diff_pair *pair; /* NULL: of all processes */
	enum diff_presence presence;

	uint16_t row;              /* API, size, failure */
	uint8_t space;             /* space, API, size */
	uint8_t size_class;        /* size */
	int32_t device;            /* device, API, size; -1: unknown or none */
	int32_t result;            /* failure */
	uint8_t direction;         /* copy: enum ms_direction, MS_DIRECTIONS_COUNT: unknown */
	uint8_t call;              /* enum diff_call */
	const char *kernel;        /* NULL: those of which only the handles are known */
	uint64_t site;             /* of a site: what stacks that are the same have in common */
	const struct stack *stack; /* of a site: with the line that differs; B's, if it is there */
	const struct stacks *stacks; /* of that one's recording */
	bool no_line;                /* of a site: which line of a function differs is not known */

	uint32_t known;  /* bit set of metrics: what both sides know */
	uint32_t beyond; /* of these: what differs by more than noise, or is on one side only */
	uint64_t a[DIFF_METRICS_COUNT], b[DIFF_METRICS_COUNT];
	bool uncertain; /* something of it was lost, or never seen, on one of the sides */
};

/* Findings of a process that are alike: of the same rule, function, space and device. */
struct diff_finding {
	const struct diff_pair *pair; /* NULL: of a process that is not listed */
	enum diff_presence presence;
	const struct finding *a, *b; /* the first of each side; NULL: there is none */
	uint64_t count_a, count_b;
	uint64_t bytes_a, bytes_b;
	bool timed;  /* it rests on how long things took: it may come and go by itself */
	bool beyond; /* new, gone, or more than noise apart */
	bool worse;  /* a leak that both have, and B twice as much of it for its time and work */
	bool uncertain;
};

struct diff {
	const struct report *a, *b;
	struct diff_options options;

	struct diff_pair *pairs; /* what differs most first */
	size_t pairs_count;
	/* By dimension, then by what differs most; without what differs by less than noise. */
	struct diff_row *rows;
	size_t rows_count, rows_capacity;
	struct diff_finding *findings; /* as in reports */
	size_t findings_count, findings_capacity;
	size_t below_noise;   /* rows and findings that differ by less */
	bool devices_skipped; /* several recordings: which is which is not known; or no levels */
};

struct diff_options diff_defaults(void);

/* The i-th option of struct diff_options. NULL: there are no more. */
const struct threshold *diff_threshold_at(size_t i);

/* Both reports must outlive it. NULL without memory. */
struct diff *diff_new(const struct report *a, const struct report *b,
		      const struct diff_options *options);
void diff_free(struct diff *diff);

/* ---- questions ------------------------------------------------------------------------------- */

const char *diff_dimension_name(enum diff_dimension dimension);
const char *diff_metric_name(enum diff_metric metric);
enum finding_unit diff_metric_unit(enum diff_metric metric);
bool diff_metric_is_level(enum diff_metric metric);
const char *diff_call_name(enum diff_call call);
const char *diff_match_name(enum diff_match match);
const char *diff_basis_name(enum diff_basis basis);
const char *diff_presence_name(enum diff_presence presence);

/* B less A. */
int64_t diff_change(const struct diff_row *row, enum diff_metric metric);

/* Whether it is memory that a process can hold too much of, and on a device or managed. */
bool diff_is_memory(uint8_t space);
bool diff_is_device_memory(uint8_t space);

/* Whether a row is of one kind of several that its process has on devices: a part of the whole. */
bool diff_is_part(const struct diff_row *row);

/* What a process or a device holds more than before; `bytes` 0: nothing grew. */
struct diff_growth {
	const struct diff_pair *pair; /* NULL: a device, with all processes on it */
	int32_t device;
	bool peak;     /* else what was held at the end */
	uint8_t space; /* that all of it is; MS_SPACE_NONE: all kinds together */
	uint64_t a, b, bytes;
	bool uncertain;
};

/*
 * The largest growth of device memory: of what a process holds at the end, of its peak, or of a
 * device's peak, each of all kinds of memory together. Thresholds do not matter.
 */
struct diff_growth diff_growth(const struct diff *diff);

/*
 * Of a row of a space that has grown: since when, in B, the process held more than it did at the
 * end of A (or, if only the peak has grown, more than A's peak). CLOCK_MONOTONIC of B's host, as
 * precise as the report's timeline; 0: not known.
 */
uint64_t diff_since_ns(const struct diff_row *row);

/* The part of a space's row that has changed most, in the other dimension; NULL: none has. */
const struct diff_row *diff_part(const struct diff *diff, const struct diff_row *row,
				 enum diff_dimension dimension, enum diff_metric metric);

/*
 * Whether the row differs by being on one side only. What came or went is a difference however
 * small: one failure may be the one. Not so size classes and call stacks: a block that is a little
 * larger, or a function that has another name, makes a new one, so these have to be beyond noise.
 */
bool diff_is_one_sided(const struct diff_row *row);

/* Whether B has a row (of those) or a finding that A has not. Neither is a matter of time. */
bool diff_has_new(const struct diff *diff);

/*
 * Whether anything differs by more than noise: a row, a finding that is new, gone or larger, or how
 * a process ended.
 */
bool diff_differs(const struct diff *diff);

/* The same without findings that are gone: what was wrong in A alone is no regression. */
bool diff_differs_in_b(const struct diff *diff);

/* Whether a pair's processes are of one name, such as python3, but run programs of other names. */
bool diff_runs_another(const struct diff_pair *pair);

/* Whether something went wrong in B alone: a finding, a call that failed, a process that did. */
bool diff_is_worse(const struct diff *diff);

/* Whether a leak that A has, too, is twice as large in B or more. */
bool diff_leaks_more(const struct diff *diff);

/* Whether a process that is on both sides ended in another way. */
bool diff_ends_differ(const struct diff_pair *pair);

/* The same, and in B it was killed or failed, as it was not in A. */
bool diff_ended_badly(const struct diff_pair *pair);

/* For one side. */
bool diff_has_losses(const struct report *side);
bool diff_is_inexact(const struct report *side);
bool diff_has_missed(const struct report *side);     /* processes */
bool diff_has_untraced(const struct report *side);   /* descendants of the recorded ones */
bool diff_lacks_children(const struct report *side); /* that may have used CUDA */

/* ---- rates and times: shown, but no differences ---------------------------------------------- */

/* clang-format off */
#define DIFF_RATES(X) \
	X(ALLOCS,     "allocs_per_second",      "Allocations", PER_SECOND) \
	X(LAUNCHES,   "launches_per_second",    "Launches",    PER_SECOND) \
	X(COPY_BYTES, "copy_bytes_per_second",  "Copied",      BYTES_PER_SECOND) \
	X(COPY_NS,    "copy_ns",                "In copies",   NS) \
	X(SYNC_NS,    "sync_ns",                "In synchronisations", NS)
/* clang-format on */

enum diff_rate {
#define X(rate, name, title, unit) DIFF_RATE_##rate,
	DIFF_RATES(X)
#undef X
		DIFF_RATES_COUNT,
};

/* A process that there is; per second of the time that it was seen. Times are the host's. */
uint64_t diff_rate_of(const struct diff_process *side, enum diff_rate rate);
const char *diff_rate_name(enum diff_rate rate);
const char *diff_rate_title(enum diff_rate rate);
enum finding_unit diff_rate_unit(enum diff_rate rate);

/* Whether it is in both, and any of them is not the same. */
bool diff_rates_differ(const struct diff_pair *pair);

enum diff_time {
	DIFF_TIME_RUN, /* from the program's start to its end */
	DIFF_TIME_SYNCS,
	DIFF_TIME_COPIES,
	DIFF_TIMES_COUNT,
};

/* The same work that took clearly more time on one side. */
struct diff_time_change {
	const struct diff_pair *pair; /* NULL: there is none */
	uint16_t row; /* the function that took most of it where it took longer, or MS_NO_ROW */
	uint64_t a_ns, b_ns;
	bool uncertain; /* calls were lost, and their times with them */
};

/*
 * The largest change of that time among the processes without any row: those that did the same. One
 * that took longer in B comes before one that took longer in A. A run has to take one and a half
 * times as long and half a second more, calls twice as long and 100 ms more, and longer than
 * follows from more launches or (where the sides are no whole runs) a longer recording.
 */
struct diff_time_change diff_time_change(const struct diff *diff, enum diff_time which);
const char *diff_time_name(enum diff_time which);
bool diff_times_changed(const struct diff *diff);

/* ---- for its parts (model/diff_*.c) ---------------------------------------------------------- */

/* Fills in the pairs: who is who. Returns 0 or -ENOMEM. */
int diff_match(struct diff *diff);

/* Kinds of memory on devices that either side ever had: a bit set of enum ms_space. */
uint32_t diff_kinds(const struct diff_pair *pair);

/* What one side of a pair held on devices at most, all kinds together; 0: there is no such side. */
uint64_t diff_peak_on_devices(const struct diff_process *side);

/* Rows of one pair, those of it by call stack, and of devices. Return 0 or -ENOMEM. */
int diff_compare_pair(struct diff *diff, const struct diff_pair *pair);
int diff_compare_sites(struct diff *diff, const struct diff_pair *pair);
int diff_compare_devices(struct diff *diff);

/* The order of names of kernels: those that are not known (NULL) first. */
int diff_compare_names(const char *a, const char *b);

/* NULL: there is none of that number. */
/*
 * The device of `of` in the other recording: that with the same UUID or PCI bus id, or else the one
 * that is called by the same number, and is not another one for certain. NULL: it has none.
 */
const struct report_device *diff_device(const struct report_recording *in,
					const struct report_recording *of,
					const struct report_device *device);

/* Keeps it if it differs by more than noise or is on one side only. Returns 0 or -ENOMEM. */
int diff_add_row(struct diff *diff, struct diff_row *row);

/* Whether anything of it may be wrong; whether what it holds may be. */
bool diff_pair_is_uncertain(const struct diff_pair *pair);
bool diff_pair_lacks_memory(const struct diff_pair *pair);

/* Whether calls of that kind may be missing, or were made before the capture began. */
bool diff_pair_lacks_calls(const struct diff_pair *pair, enum ms_op op);

/* By function and stack there is only what was seen: not what was before the files begin. */
bool diff_pair_lacks_beginning(const struct diff_pair *pair);

/* What both sides know of memory: a bit set of metrics. */
uint32_t diff_memory_known(const struct diff_pair *pair);

/* Returns 0 or -ENOMEM. */
int diff_compare_findings(struct diff *diff);

/* Whether two numbers differ by more than noise. */
bool diff_is_beyond(const struct diff_options *options, enum finding_unit unit, uint64_t a,
		    uint64_t b);

#endif /* MEMSCOPE_REPORT_DIFF_H */
