// SPDX-License-Identifier: BSD-2-Clause
/*
 * Allocations in the SQLite export: memscope_allocations has a row for each, which is changed when
 * it ends, and CUDA_GPU_MEMORY_USAGE_EVENTS one for each beginning and end, as nsys has it. Not
 * every end is a call: a change names the others. Where the state does not follow from the calls,
 * after a gap, all rows that are still live are compared with it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "export/sqlite.h"
#include "ledger/graphs.h"

#define SPARE_IDS (1ull << 62)

/* As in ENUM_CUDA_MEM_KIND. */
enum { KIND_PINNED = 1, KIND_DEVICE, KIND_ARRAY, KIND_MANAGED, KIND_NONE = -1 };

/* nsys has memory, not addresses, and none that graphs allocate for themselves. */
static int kind_of(uint8_t space)
{
	switch (space) {
	case MS_SPACE_DEVICE:
	case MS_SPACE_POOL:
	case MS_SPACE_PHYSICAL:
		return KIND_DEVICE;
	case MS_SPACE_MANAGED:
		return KIND_MANAGED;
	case MS_SPACE_ARRAY:
		return KIND_ARRAY;
	case MS_SPACE_PINNED:
		return KIND_PINNED;
	}
	return KIND_NONE;
}

/*
 * Where something is missing, what follows may have numbers that are given to other allocations
 * after the next anchor: those get rows elsewhere.
 */
static uint64_t row_of(const struct sqlite_export *export, uint64_t id)
{
	const uint64_t *spare = map_get(&export->spare_ids, id);

	return spare ? *spare : export->first_id + id;
}

static uint64_t row_id(const struct sqlite_export *export, const struct allocation *allocation)
{
	return row_of(export, allocation->id);
}

/* And back. */
static uint64_t id_of(const struct sqlite_export *export, uint64_t row)
{
	const uint64_t *id = map_get(&export->spare_rows, row);

	return id ? *id : row - export->first_id;
}

static int use_spare_row(struct sqlite_export *export, uint64_t id)
{
	const uint64_t row = SPARE_IDS + export->spares++;

	if (map_set(&export->spare_ids, id, row))
		return -ENOMEM;
	return map_set(&export->spare_rows, row, id);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What made or ended an allocation: a call, or something else at that time. */
struct cause {
	const struct process *process;
	uint64_t process_id;
	uint64_t ts_ns;
	uint64_t call;            /* 0: none */
	const struct ms_call *of; /* NULL: none */
	const char *why;          /* of an end */
	bool final;
};

static int put_usage(struct sqlite_export *export, const struct cause *cause,
		     const struct allocation *allocation, bool ends)
{
	const struct ms_call *call = cause->of;
	const int kind = kind_of(allocation->space);
	const bool pool = call && allocation->space == MS_SPACE_POOL && !ends;

	if (kind == KIND_NONE)
		return 0;
	return DATABASE_PUT(&export->database, SQLITE_USAGE, sqlite_time(export, cause->ts_ns),
			    cell_number(sqlite_global_pid(export, cause->process->pid)),
			    cell_if(allocation->device >= 0, (uint64_t)allocation->device),
			    cell_number(allocation->context), cell_number(allocation->addr),
			    cell_number(allocation->size_bytes), cell_number((uint64_t)kind),
			    cell_number(ends), cell_if(cause->call, cause->call),
			    cell_if(call && call->known & MS_KNOWN_STREAM, call ? call->stream : 0),
			    cell_if(pool && call->known & MS_KNOWN_SRC, pool ? call->src : 0));
}

/* Memory without a handle goes by its number: its row has the handle that it had. */
static bool is_released(const struct allocation *allocation)
{
	return allocation->addr == allocation->id;
}

static int is_foreign(void *context, const int64_t columns[DATABASE_COLUMNS])
{
	const int64_t *wanted = context;

	return columns[0] != wanted[0] || (columns[1] != wanted[1] && !wanted[2]);
}

/* Whether the row is another allocation's, or -errno. */
static int has_foreign_row(struct sqlite_export *export, const struct cause *cause,
			   const struct allocation *allocation)
{
	const struct cell id = cell_number(row_id(export, allocation));
	int64_t wanted[] = { (int64_t)cause->process_id, (int64_t)allocation->addr,
			     is_released(allocation) };

	return database_each(&export->database, SQLITE_ALLOCATION_GET, &id, 1, is_foreign, wanted);
}

static int put_allocation(struct sqlite_export *export, const struct cause *cause,
			  const struct allocation *allocation)
{
	return DATABASE_PUT(
		&export->database, SQLITE_ALLOCATION, cell_number(row_id(export, allocation)),
		cell_number(cause->process_id), cell_number(allocation->addr),
		cell_if(allocation->size_known, allocation->size_bytes),
		sqlite_space(export, allocation->space),
		cell_if(allocation->device >= 0, (uint64_t)allocation->device),
		cell_if(allocation->context, allocation->context), cell_number(allocation->tid),
		sqlite_name(export, probe_at(allocation->row)->symbol),
		sqlite_time(export, allocation->ts_ns), cell_number(is_released(allocation)));
}

/* Whatever there was to say of it, it is live. */
static int begin_allocation(struct sqlite_export *export, const struct cause *cause,
			    const struct allocation *allocation)
{
	struct cause then = *cause;
	int err = put_allocation(export, cause, allocation);

	if (export->first_id + allocation->id > export->last_id)
		export->last_id = export->first_id + allocation->id;
	if (!err && !database_changed(&export->database)) {
		err = has_foreign_row(export, cause, allocation);
		if (err <= 0)
			return err;
		err = use_spare_row(export, allocation->id);
		if (!err)
			err = put_allocation(export, cause, allocation);
	}
	if (err)
		return err;
	then.ts_ns = allocation->ts_ns;
	return put_usage(export, &then, allocation, false);
}

static int end_row(struct sqlite_export *export, const struct cause *cause, uint64_t row,
		   const struct allocation *allocation)
{
	int err = DATABASE_PUT(&export->database, SQLITE_ALLOCATION_END, cell_number(row),
			       sqlite_time(export, cause->ts_ns), cell_text(cause->why));

	if (err || !database_changed(&export->database))
		return err;
	return put_usage(export, cause, allocation, true);
}

static int end_allocation(struct sqlite_export *export, const struct cause *cause,
			  const struct allocation *allocation)
{
	return end_row(export, cause, row_id(export, allocation), allocation);
}

/* ---- comparing rows with the state ----------------------------------------------------------- */

struct comparison {
	struct sqlite_export *export;
	const struct process *process;
	bool final;              /* it is known what is live: nothing else follows */
	struct allocation *gone; /* `id` is the row's */
	size_t count, capacity;
};

/* A free that has been entered may still fail. */
static bool is_being_freed(const struct comparison *comparison, uint64_t row)
{
	/* To find it changes nothing but how fast the next one is found. */
	struct process *process = (struct process *)comparison->process;

	return pending_has(&process->pending, id_of(comparison->export, row));
}

static bool is_live(const struct comparison *comparison, uint64_t addr, uint64_t row)
{
	const struct process *process = comparison->process;
	const struct allocation *found;
	size_t i;

	for (i = 0; i < MS_KEYS_COUNT; i++) {
		found = ledger_find(&process->ledgers[i], addr);
		if (found && row_id(comparison->export, found) == row)
			return true;
	}
	/* This one is not by address. */
	found = ledger_find(&process->ledgers[LEDGER_RELEASED], id_of(comparison->export, row));
	return found && row_id(comparison->export, found) == row;
}

static uint8_t space_of(struct sqlite_export *export, int64_t name)
{
	uint8_t space;

	for (space = MS_SPACES_COUNT - 1; space > MS_SPACE_NONE; space--)
		if (sqlite_space(export, space).number == name)
			break;
	return space;
}

static int take_row(void *context, const int64_t columns[DATABASE_COLUMNS])
{
	struct comparison *comparison = context;

	if (memory_grow(&comparison->gone, &comparison->capacity, comparison->count + 1,
			sizeof(*comparison->gone)))
		return -ENOMEM;
	comparison->gone[comparison->count++] = (struct allocation){
		.id = (uint64_t)columns[0],
		.addr = (uint64_t)columns[1],
		.size_bytes = (uint64_t)columns[2],
		.space = space_of(comparison->export, columns[3]),
		.device = (int32_t)columns[4],
		.context = (uint64_t)columns[5],
	};
	return 0;
}

static int compare_row(void *context, const int64_t columns[DATABASE_COLUMNS])
{
	struct comparison *comparison = context;
	const uint64_t row = (uint64_t)columns[0];

	if (is_live(comparison, (uint64_t)columns[1], row) ||
	    (!comparison->final && is_being_freed(comparison, row)))
		return 0;
	return take_row(context, columns);
}

static int end_gone(struct comparison *comparison, const struct cause *cause)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < comparison->count; i++)
		err = end_row(comparison->export, cause, comparison->gone[i].id,
			      &comparison->gone[i]);
	comparison->count = 0;
	return err;
}

/* Rows whose allocations are not in the state end now. */
static int compare(struct sqlite_export *export, const struct cause *cause, size_t statement,
		   const struct cell *cells, size_t count)
{
	struct comparison comparison = { .export = export,
					 .process = cause->process,
					 .final = cause->final };
	int err =
		database_each(&export->database, statement, cells, count, compare_row, &comparison);

	if (!err)
		err = end_gone(&comparison, cause);
	free(comparison.gone);
	return err;
}

/*
 * What has ended without a call that names it. Its row says what it was: memory whose handle was
 * given back is known by its handle there.
 */
static int end_others(struct sqlite_export *export, const struct cause *cause,
		      const struct change *change)
{
	struct comparison comparison = { .export = export, .process = cause->process };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < change->ended_count; i++) {
		const struct cell cells[] = { cell_number(row_of(export, change->ended[i])),
					      cell_number(cause->process_id) };

		err = database_each(&export->database, SQLITE_LIVE_BY_ID, cells, 2, take_row,
				    &comparison);
		if (!err)
			err = end_gone(&comparison, cause);
	}
	free(comparison.gone);
	return err;
}

static int compare_process(struct sqlite_export *export, const struct cause *cause)
{
	const struct cell cells[] = { cell_number(cause->process_id) };

	return compare(export, cause, SQLITE_LIVE_OF_PROCESS, cells, 1);
}

static int compare_range(struct sqlite_export *export, const struct cause *cause, uint64_t first,
			 uint64_t last)
{
	const struct cell cells[] = { cell_number(cause->process_id), cell_number(first),
				      cell_number(last) };

	return compare(export, cause, SQLITE_LIVE_IN_RANGE, cells, 3);
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct launch {
	struct sqlite_export *export;
	const struct cause *cause;
};

static int take_made(void *context, const struct allocation *made)
{
	const struct launch *launch = context;

	return begin_allocation(launch->export, launch->cause, made);
}

static int take_launch(struct sqlite_export *export, const struct event *event,
		       const struct cause *cause, const struct change *change)
{
	struct launch launch = { .export = export, .cause = cause };

	if (!change->made[MS_SPACE_GRAPH].count)
		return 0;
	return graphs_each_made(cause->process, event, take_made, &launch);
}

/*
 * An address that is handed out again cannot be in use: rows of what was there have to end first.
 */
static int end_displaced(struct sqlite_export *export, const struct cause *cause,
			 const struct change *change)
{
	const struct process *process = cause->process;
	const uint64_t key = event_process_key(process->pid, process->start_ns);
	const uint64_t *missed = map_get(&export->missed, key);
	struct cause displaced = *cause;
	const uint64_t addr = change->allocation.addr;

	if (process->counters[COUNTER_MISSED_FREES] == (missed ? *missed : 0))
		return 0;
	if (map_set(&export->missed, key, process->counters[COUNTER_MISSED_FREES]))
		return -ENOMEM;
	displaced.why = "displaced";
	displaced.ts_ns = change->allocation.ts_ns;
	return change->has_allocation ? compare_range(export, &displaced, addr, addr) : 0;
}

/* It may be one whose beginning was not seen. */
static int take_free(struct sqlite_export *export, const struct cause *cause,
		     const struct allocation *freed)
{
	int err = begin_allocation(export, cause, freed);

	return err ? err : end_allocation(export, cause, freed);
}

/* What the call itself names; what a call is made of is told again with the call. */
static int take_named(struct sqlite_export *export, const struct event *event,
		      const struct cause *cause, const struct change *change)
{
	const enum ms_op op = event->probe->spec.op;
	int err;

	if (event->call->flags & MS_CALL_PART || !event_succeeded(event->call))
		return 0;
	if (op == MS_OP_FREE && change->free == FREE_KNOWN)
		return take_free(export, cause, &change->allocation);
	if (op != MS_OP_ALLOC || !change->has_allocation || change->captured)
		return 0;
	err = end_displaced(export, cause, change);
	return err ? err : begin_allocation(export, cause, &change->allocation);
}

int sqlite_memory_call(struct sqlite_export *export, const struct event *event,
		       const struct change *change, uint64_t call)
{
	const enum ms_op op = event->probe->spec.op;
	struct cause cause = { .process = change->process,
			       .ts_ns = event->header->ts_ns,
			       .call = call,
			       .of = event->call };
	int err;

	if (op != MS_OP_ALLOC && op != MS_OP_FREE && !change->ended_count &&
	    !change->made[MS_SPACE_GRAPH].count)
		return 0;
	cause.process_id = sqlite_process_id(export, change->process);
	if (!cause.process_id)
		return export->database.err;
	cause.why = op == MS_OP_CONTEXT ? "context" : op == MS_OP_LAUNCH ? "graph" : "free";
	err = end_others(export, &cause, change);
	if (!err)
		err = take_named(export, event, &cause, change);
	return err ? err : take_launch(export, event, &cause, change);
}

/*
 * nsys has no rows for what is still there when a process ends, and whoever looks for what was
 * never freed looks for allocations without such a row.
 */
int sqlite_memory_exit(struct sqlite_export *export, const struct event *event,
		       const struct change *change)
{
	const uint64_t process = sqlite_process_id(export, change->process);
	const struct cause cause = { .process = change->process,
				     .process_id = process,
				     .ts_ns = event->header->ts_ns,
				     .why = "free" };
	int err;

	if (!process)
		return export->database.err;
	/* An exec has only those. */
	err = event->header->type == MS_TYPE_EXIT ? end_others(export, &cause, change) : 0;
	if (err)
		return err;
	return DATABASE_PUT(&export->database, SQLITE_EXIT, cell_number(process),
			    sqlite_time(export, event->header->ts_ns),
			    cell_text(event_type_name(event_type(event))));
}

/* ---- all processes --------------------------------------------------------------------------- */

static int settle(struct sqlite_export *export, struct cause *cause)
{
	const struct process *process = cause->process;
	size_t i, j;
	int err;

	cause->process_id = sqlite_process_id(export, process);
	if (!cause->process_id)
		return export->database.err;
	if (map_set(&export->missed, event_process_key(process->pid, process->start_ns),
		    process->counters[COUNTER_MISSED_FREES]))
		return -ENOMEM;
	err = compare_process(export, cause);
	for (i = 0; !err && i < LEDGERS_COUNT; i++) {
		const struct ledger *ledger = &process->ledgers[i];

		for (j = 0; !err && j < ledger->count; j++)
			err = begin_allocation(export, cause, &ledger->entries[j]);
	}
	return err;
}

static int end_rows(struct sqlite_export *export, uint64_t process, uint64_t ts_ns, const char *why)
{
	return DATABASE_PUT(&export->database, SQLITE_EXIT, cell_number(process),
			    sqlite_time(export, ts_ns), cell_text(why));
}

/* Its end was not seen, and perhaps nothing is known of it any more. Once: gaps may be many. */
static int settle_ended_process(struct sqlite_export *export, uint64_t key, uint64_t *id,
				uint64_t ts_ns)
{
	const struct process *process =
		state_find(export->recording->state, key & ((1u << MS_PID_BITS) - 1),
			   (key >> MS_PID_BITS) * MS_START_NS);
	const uint64_t row = *id;

	if (process && !process->exited)
		return 0;
	*id |= SQLITE_ENDED;
	return process ? end_rows(export, row, process->exit_ts_ns, "exit") :
			 end_rows(export, row, ts_ns, "gap");
}

static int settle_ended(struct sqlite_export *export, uint64_t ts_ns)
{
	struct map *ids = &export->process_ids;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ids->capacity; i++)
		if (map_is_used(ids, i) && !(ids->slots[i].value & SQLITE_ENDED))
			err = settle_ended_process(export, map_key_at(ids, i), &ids->slots[i].value,
						   ts_ns);
	return err;
}

int sqlite_memory_settle(struct sqlite_export *export, uint64_t ts_ns, const char *why, bool final)
{
	const struct state *state = export->recording->state;
	const struct report_options *options = &export->recording->options;
	size_t i;
	int err = final ? 0 : settle_ended(export, ts_ns);

	for (i = 0; !err && i < state->processes_count; i++) {
		struct cause cause = {
			.process = state->processes[i], .ts_ns = ts_ns, .why = why, .final = final
		};

		if (!cause.process->exited && report_wants(options, cause.process))
			err = settle(export, &cause);
	}
	return err;
}
