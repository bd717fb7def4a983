/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording as tracks over time, for the formats of timeline viewers: processes, their threads
 * with calls as slices, counters. It decides what there is and in which order; a format
 * only says how it is written, so that all show the same.
 *
 * Slices of one thread nest. Calls are recorded as they return, inner ones first: those are kept
 * until the call around them comes, so that a thread's slices are told from the outside in. Between
 * threads, times go back and forth. Calls that nevertheless overlap (a program that switches
 * stacks, a damaged recording) come into further lanes of their thread.
 */
#ifndef MEMSCOPE_EXPORT_TRACES_H
#define MEMSCOPE_EXPORT_TRACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/string.h"
#include "report/report.h"
#include "sink.h"
#include "render/field.h"
#include "base/writer.h"

/* A process has this many ids: its own, and one for each of its counters. */
#define TRACES_OF_LIVE 1
#define TRACES_OF_COUNTED (TRACES_OF_LIVE + MS_SPACES_COUNT)
#define TRACES_PER_PROCESS (TRACES_OF_COUNTED + MS_OPS_COUNT)

#define TRACES_FIELDS_MAX 64

struct traces_process {
	uint64_t id; /* of no other track */
	uint64_t key;
	uint64_t start_ns;
	uint32_t pid;
	uint32_t shown;      /* bit set of its counters that the format has got */
	uint64_t viewer_pid; /* the pid, unless another process has or had it */
	char name[IDENTITY_NAME_BYTES];
	uint64_t live[MS_SPACES_COUNT];  /* as the format last got them */
	uint64_t peaks[MS_SPACES_COUNT]; /* of those that the state has seen */
	uint64_t counted[MS_OPS_COUNT];  /* calls that were only counted, so far */
	struct map threads;              /* tid -> struct traces_thread */

	bool has_gpu;       /* it is known what GPUs did for it, and when: export/gpu_lanes.h */
	struct map streams; /* -> struct traces_thread, one for each of a device */
	struct traces_kept *kept; /* what ran on them, yet to be told */
	size_t kept_count, kept_capacity;

	struct map marked; /* -> struct traces_thread: export/marker_lanes.h */
	struct traces_ranges *ranges;
};

/* A call that has returned; what is around it is still to come. */
struct traces_inner;

/* Or a stream of a GPU, or markers: then it has a name, and `tid` numbers those of its process. */
#define TRACES_TIDS_OF_MARKERS 0x80000000u /* the first number of the latter */
struct traces_thread {
	uint64_t id;
	struct traces_process *process;
	uint32_t tid;
	uint32_t lane; /* 0, but for what overlaps others of the thread, or of the stream */
	char name[56]; /* printable ASCII */
	struct traces_thread *overlapping; /* the next lane; NULL: none */
	uint64_t end_ns;                   /* of what the format has got */
	struct traces_inner *inner;
	size_t inner_count, inner_capacity;
};

struct traces_counter {
	uint64_t id;
	const struct traces_process *process; /* NULL: of a device */
	const char *name;                     /* printable ASCII */
	const char *share;                    /* those with the same one have one scale; or NULL */
	bool is_bytes;                        /* else a count */
	bool is_new;
};

struct traces_slice {
	struct field_source source; /* the call: with no `comm`, which may be out of date */
	uint64_t begin_ns, end_ns;
	uint64_t flow; /* what it allocated or freed: joins the two; 0: nothing, or not known */
	bool ends_flow;
	uint64_t gpu_flow; /* joins it with what it made the GPU do; 0: that is not looked at */
};

/* A kernel, copy or memset, on the lane of its stream. */
struct traces_activity {
	const struct event *event;
	struct change change; /* only what it belongs to */
	const char *name;     /* stays where it is until traces_fini() */
	uint64_t begin_ns, end_ns;
	uint64_t flow; /* the `gpu_flow` of the call that made it; 0: not known */
};

/* At a moment. What is not set is 0 or NULL. */
struct traces_instant {
	uint64_t ts_ns;
	const struct traces_process *process;
	const struct traces_thread *thread; /* neither: of the whole recording */
	const char *name;                   /* printable ASCII */
	const struct traces_slice *slice;   /* the call that it is about */
	const char *key;                    /* of one number to show */
	uint64_t value;
};

struct traces;

/* How a format writes it: into the writer. What goes wrong there shows in the writer. */
struct traces_format {
	/* The next recording; `traces->recordings` counts it already. */
	void (*begin)(struct traces *traces);
	/* A new one, or its name has changed. */
	void (*process)(struct traces *traces, const struct traces_process *process);
	void (*thread)(struct traces *traces, const struct traces_thread *thread);
	void (*counter)(struct traces *traces, const struct traces_counter *counter, uint64_t ts_ns,
			uint64_t value);
	void (*slice_begin)(struct traces *traces, const struct traces_thread *thread,
			    const struct traces_slice *slice);
	void (*slice_end)(struct traces *traces, const struct traces_thread *thread,
			  uint64_t end_ns);
	/* In order of their beginnings in a lane, and none inside of another. */
	void (*activity)(struct traces *traces, const struct traces_thread *lane,
			 const struct traces_activity *activity);
	/* What the program marks; in a lane, one inside the other. Names may hold anything. */
	void (*mark_begin)(struct traces *traces, const struct traces_thread *lane,
			   const char *name, uint64_t ts_ns);
	void (*mark_end)(struct traces *traces, const struct traces_thread *lane, uint64_t ts_ns);
	void (*instant)(struct traces *traces, const struct traces_instant *instant);
	void (*lost)(struct traces *traces); /* something is missing here; may be NULL */
};

struct traces {
	struct sink sink;
	const struct traces_format *format;
	struct writer *writer;
	const struct report_recording *recording;
	size_t recordings;             /* begun so far */
	uint64_t first_wall_offset_ns; /* of the first recording: the later ones get its times */
	bool first_wall_known;

	uint64_t next_id;
	size_t kept; /* calls of all threads that wait for the one that they are in */
	size_t activities_kept;
	uint64_t newest_ns;   /* of what came, in the recording */
	struct map processes; /* event_process_key() -> struct traces_process */
	struct traces_process *last;
	struct map pids; /* that the format has got -> 1 */
	uint64_t next_viewer_pid;
	struct map counted_ns; /* counter's id -> when the format last got a value of it */
	struct map devices;    /* device -> struct traces_device */
	uint64_t changes;      /* of devices, that have been looked at: struct usage_totals */
	uint64_t devices_id;
	uint64_t flows_from; /* the format has got allocations of higher numbers */

	struct string_table names; /* kernels' */
	struct map own_names;      /* the state's copy -> ours, which stays where it is */
	struct map readable_names; /* ours -> the same, demangled; stays, too */
	struct string scratch;
	uint32_t wanted[TRACES_FIELDS_MAX]; /* bit set of ops: which calls' fields are put */
	size_t result_name;                 /* a field that successful calls do not need */
	int err;
};

/* Sets the sink's members. */
void traces_init(struct traces *traces, const struct traces_format *format, struct writer *writer);
void traces_fini(struct traces *traces);

/*
 * The counter has this value from then on. Records are not quite in the order of their times: those
 * of calls that were only counted, and what a recording begins anew with, are of when they were
 * written. A viewer sorts by time: so that a counter ends with its last value, a value that comes
 * later is never of an earlier time. Without memory, `traces->err` is set.
 */
void traces_count(struct traces *traces, const struct traces_counter *counter, uint64_t ts_ns,
		  uint64_t value);

/*
 * Calls `put` for each field of the call that is worth showing beside its name, place and time.
 * Texts that are not in the scratch string stay where they are until traces_fini().
 */
void traces_fields(struct traces *traces, const struct traces_slice *slice,
		   void (*put)(void *context, size_t field, struct field_value value),
		   void *context);

/* The same for what a GPU did; `field` is a place in record_fields (render/record_field.h). */
void traces_activity_fields(const struct traces_activity *activity,
			    void (*put)(void *context, size_t field, struct field_value value),
			    void *context);

/* A name of the state's, as one that stays where it is until traces_fini(). */
const char *traces_own_name(struct traces *traces, const char *name);

/* Nanoseconds to be added to a time of this recording for that of the first one. */
int64_t traces_shift_ns(const struct traces *traces);

#endif /* MEMSCOPE_EXPORT_TRACES_H */
