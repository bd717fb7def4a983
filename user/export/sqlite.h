/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of the SQLite export share. Tables that have names of nsys are for the queries
 * that people have for its exports; what begins with memscope_ is ours.
 */
#ifndef MEMSCOPE_EXPORT_SQLITE_H
#define MEMSCOPE_EXPORT_SQLITE_H

#include <string.h>

#include "export/database.h"
#include "export/export.h"
#include "render/field.h"

/* One prepared statement each: export/sqlite_schema.c. */
enum sqlite_statement {
	SQLITE_RECORDING,
	SQLITE_RECORDING_END,
	SQLITE_PROCESS,
	SQLITE_PROCESS_END,
	SQLITE_NSYS_PROCESS,
	SQLITE_NSYS_THREAD,
	SQLITE_RUNTIME,
	SQLITE_CALL,
	SQLITE_COUNTED,
	SQLITE_USAGE,
	SQLITE_ALLOCATION,
	SQLITE_ALLOCATION_GET,
	SQLITE_ALLOCATION_END,
	SQLITE_LIVE_OF_PROCESS,
	SQLITE_LIVE_IN_RANGE,
	SQLITE_LIVE_BY_ID,
	SQLITE_EXIT,
	SQLITE_EVENT,
	SQLITE_SPACE,
	SQLITE_BY_API,
	SQLITE_FINDING,
	SQLITE_EVIDENCE,
	SQLITE_DEVICE,
	SQLITE_IDENTITY,
	SQLITE_NSYS_GPU,
	SQLITE_META,
	SQLITE_SYSTEM,
	SQLITE_KERNEL,
	SQLITE_MEMCPY,
	SQLITE_MEMSET,
	SQLITE_CALLCHAIN,
	SQLITE_FRAME,
	SQLITE_STACK,
	SQLITE_STATEMENTS,
};
_Static_assert(SQLITE_STATEMENTS <= DATABASE_STATEMENTS, "each has a place");

/* Fields of one call whose cells have text of their own. */
#define SQLITE_TEXTS 4
#define SQLITE_COLUMNS_MAX 64
#define SQLITE_ENDED (1ull << 63) /* with a process' id: it has ended, and so have its rows */

struct sqlite_export {
	struct sink sink;
	struct database database;
	const struct field *columns[SQLITE_COLUMNS_MAX]; /* of memscope_calls */
	size_t columns_count;
	struct string scratch;
	struct string texts[SQLITE_TEXTS];

	const struct report_recording *recording;
	uint64_t recordings;        /* so far */
	uint64_t offset_ns;         /* from the recording's times to those of the tables */
	uint64_t epoch_ns;          /* where those begin: nanoseconds since 1970, if known */
	uint64_t first_id, last_id; /* of allocations: of the recording's, and of all */
	uint64_t calls, processes;  /* so far: their ids */
	struct map
		process_ids; /* of the recording: event_process_key() -> id, perhaps SQLITE_ENDED */
	struct map spare_ids;  /* of the recording: allocations that have other rows */
	struct map spare_rows; /* the other way round */
	uint64_t spares;       /* so far, of all recordings */
	struct map missed;     /* the same -> missed frees that were looked after */

	/* What GPUs did (export/sqlite_gpu.c). */
	bool has_gpu_tables;
	struct map gpu_calls, older_gpu_calls; /* of the recording: a call's hash -> its id */
	struct sqlite_activity *activities;    /* whose calls may yet become known */
	size_t activities_count, activities_capacity;
};

/* Tables and prepared statements; what is derived from them, once all rows are in. */
int sqlite_schema_create(struct database *database);
int sqlite_schema_finish(struct database *database);

/* Whether a field of a call is a column of memscope_calls. */
bool sqlite_schema_has(const struct field *field);

/* In the time of the tables. */
static inline struct cell sqlite_time(const struct sqlite_export *export, uint64_t ts_ns)
{
	return cell_number(ts_ns + export->offset_ns);
}

static inline struct cell sqlite_name(struct sqlite_export *export, const char *text)
{
	return database_name(&export->database, text, text ? strlen(text) : 0);
}

static inline struct cell sqlite_space(struct sqlite_export *export, uint8_t space)
{
	return sqlite_name(export, probe_space_name(space));
}

static inline uint64_t sqlite_global_pid(const struct sqlite_export *export, uint32_t pid)
{
	return (export->recordings << 48) | (uint64_t)pid << 24;
}

/* The id of the recording's process, which gets one if it has none. 0: there was an error. */
uint64_t sqlite_process_id(struct sqlite_export *export, const struct process *process);

/* ---- allocations (export/sqlite_memory.c) ---------------------------------------------------- */

/* A call that may have made or ended some. `call` is its id. */
int sqlite_memory_call(struct sqlite_export *export, const struct event *event,
		       const struct change *change, uint64_t call);

/* The process is gone, or executes another program. */
int sqlite_memory_exit(struct sqlite_export *export, const struct event *event,
		       const struct change *change);

/* What is live is as the state has it from now on, whatever the rows said. `final`: at the end. */
int sqlite_memory_settle(struct sqlite_export *export, uint64_t ts_ns, const char *why, bool final);

/* ---- what GPUs did (export/sqlite_gpu.c) ----------------------------------------------------- */

/* A call, whose id is export->calls, of a process that something of that kind is known of. */
int sqlite_gpu_call(struct sqlite_export *export, const struct event *event,
		    const struct change *change);

/* A record of kind MS_TYPE_ACTIVITY. */
int sqlite_gpu_take(struct sqlite_export *export, const struct event *event,
		    const struct change *change);

/* The recording ends: all rows are written. */
int sqlite_gpu_end(struct sqlite_export *export);

void sqlite_gpu_free(struct sqlite_export *export);

/* ---- what the report says (export/sqlite_report.c) ------------------------------------------- */

int sqlite_report_recording(struct sqlite_export *export);
int sqlite_report_finish(struct sqlite_export *export, const struct report *report);

/* ---- user/export/sqlite_stacks.c: call stacks ------------------------------------------------ */

/* The cell of a call's stack: CUDA_CALLCHAINS.id, or NULL. */
struct cell sqlite_chain(const struct sqlite_export *export, const struct event *event);
/* Those of the recording, once all have been read. */
int sqlite_stacks_put(struct sqlite_export *export);

#endif /* MEMSCOPE_EXPORT_SQLITE_H */
