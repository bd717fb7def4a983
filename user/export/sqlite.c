// SPDX-License-Identifier: BSD-2-Clause
/*
 * A SQLite database: the tables that `nsys export --type sqlite` would have for what is known, so
 * that queries for those run, and what is known besides in tables and views of its own
 * (docs/exports.md).
 */
#include "export/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"

/* ---- processes ------------------------------------------------------------------------------- */

static struct cell name_of(const struct process *process)
{
	return (struct cell){ .kind = CELL_TEXT,
			      .text = process->comm,
			      .length = strnlen(process->comm, MS_COMM_BYTES) };
}

uint64_t sqlite_process_id(struct sqlite_export *export, const struct process *process)
{
	const uint64_t key = event_process_key(process->pid, process->start_ns);
	uint64_t *known = map_get(&export->process_ids, key);
	const uint64_t global = sqlite_global_pid(export, process->pid);
	uint64_t id = export->processes + 1;
	int err;

	if (known)
		return *known &= ~SQLITE_ENDED;
	if (map_set(&export->process_ids, key, id)) {
		export->database.err = -ENOMEM;
		return 0;
	}
	export->processes = id;
	err = DATABASE_PUT(&export->database, SQLITE_PROCESS, cell_number(id),
			   cell_number(export->recordings), cell_number(process->pid),
			   cell_number(process->start_ns), name_of(process), cell_number(global));
	return err ? 0 : id;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct cell amounts_cell(struct string *text, const struct amount amounts[MS_SPACES_COUNT])
{
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (amounts[space].count)
			string_append_format(text, "%s%s:%llu:%llu", text->length ? " " : "",
					     probe_space_name(space),
					     (unsigned long long)amounts[space].count,
					     (unsigned long long)amounts[space].bytes);
	if (!text->length)
		return cell_null();
	return (struct cell){ .kind = CELL_TEXT, .text = text->bytes, .length = text->length };
}

static struct cell dims_cell(struct string *text, const uint32_t dims[3])
{
	string_append_u64(text, dims[0]);
	string_append_char(text, ' ');
	string_append_u64(text, dims[1]);
	string_append_char(text, ' ');
	string_append_u64(text, dims[2]);
	return (struct cell){ .kind = CELL_TEXT, .text = text->bytes, .length = text->length };
}

/* Text that has to be put together is in `text` afterwards. */
static struct cell cell_of(struct sqlite_export *export, const struct field *field,
			   const struct field_value *value, struct string *text)
{
	string_clear(text);
	if (!value->known)
		return cell_null();
	switch (field->kind) {
	case FIELD_SIGNED:
		return cell_number((uint64_t)value->signed_number);
	case FIELD_TEXT:
		return database_name(&export->database, value->text, value->length);
	case FIELD_DIMS:
		return dims_cell(text, value->dims);
	case FIELD_AMOUNTS:
		return amounts_cell(text, value->amounts);
	default:
		return cell_number(value->number);
	}
}

static int put_fields(struct sqlite_export *export, const struct event *event,
		      const struct change *change, uint64_t process)
{
	const struct report_coverage *coverage = &export->recording->coverage;
	const struct field_source source = { .event = event,
					     .change = change,
					     .stacks = &export->recording->state->stacks,
					     .scratch = &export->scratch,
					     .wall_known = coverage->wall_known,
					     .wall_offset_ns = coverage->wall_offset_ns };
	struct cell cells[SQLITE_COLUMNS_MAX + 2];
	size_t texts = 0, i;

	cells[0] = cell_number(export->calls);
	cells[1] = cell_number(process);
	for (i = 0; i < export->columns_count; i++) {
		const struct field *field = export->columns[i];
		struct field_value value;

		cells[i + 2] = cell_null();
		if (!(field->ops >> event->probe->spec.op & 1))
			continue;
		string_clear(&export->scratch);
		value = field->get(&source);
		if (export->scratch.failed)
			return -ENOMEM;
		cells[i + 2] = cell_of(export, field, &value, &export->texts[texts]);
		texts += cells[i + 2].kind == CELL_TEXT && texts < SQLITE_TEXTS - 1;
	}
	return database_put(&export->database, SQLITE_CALL, cells, export->columns_count + 2);
}

static int take_call(struct sqlite_export *export, const struct event *event,
		     const struct change *change)
{
	const struct ms_call *call = event->call;
	const uint64_t process = sqlite_process_id(export, change->process);
	int err;

	if (!process)
		return export->database.err;
	export->calls++;
	err = DATABASE_PUT(
		&export->database, SQLITE_RUNTIME, sqlite_time(export, event->header->ts_ns),
		sqlite_time(export, event_end_ns(event)),
		cell_number(event->probe->layer == MS_LAYER_DRIVER),
		cell_number(sqlite_global_pid(export, event->header->pid) | event->header->tid),
		cell_number(export->calls), sqlite_name(export, event->probe->symbol),
		cell_if(call->known & MS_KNOWN_RESULT, (uint64_t)(int64_t)call->result),
		sqlite_chain(export, event));
	if (!err)
		err = put_fields(export, event, change, process);
	if (!err)
		err = sqlite_gpu_call(export, event, change);
	return err ? err : sqlite_memory_call(export, event, change, export->calls);
}

/* Calls of which only the number is known. */
static int take_counted(struct sqlite_export *export, const struct event *event,
			const struct change *change)
{
	const struct ms_call *call = event->call;
	const uint64_t process = sqlite_process_id(export, change->process);
	const bool directed = call->known & MS_KNOWN_DIRECTION;

	if (!process)
		return export->database.err;
	return DATABASE_PUT(&export->database, SQLITE_COUNTED, cell_number(process),
			    sqlite_time(export, event->header->ts_ns), cell_number(event->count),
			    sqlite_name(export, probe_op_name(event->probe->spec.op)),
			    sqlite_name(export, event->probe->symbol),
			    cell_if(call->known & MS_KNOWN_RESULT, (uint64_t)(int64_t)call->result),
			    cell_if(call->known & MS_KNOWN_SIZE, call->size),
			    cell_if(call->known & MS_KNOWN_RESULT, call->duration_ns),
			    directed ?
				    sqlite_name(export, probe_direction_name(change->direction)) :
				    cell_null(),
			    sqlite_name(export, change->kernel),
			    cell_number((call->flags & MS_CALL_PART) != 0));
}

/* ---- what it is told ------------------------------------------------------------------------- */

static int put_mark(struct sqlite_export *export, uint64_t process, uint64_t ts_ns,
		    const char *type, uint64_t count)
{
	return DATABASE_PUT(&export->database, SQLITE_EVENT, cell_number(export->recordings),
			    cell_if(process, process), sqlite_time(export, ts_ns), cell_text(type),
			    cell_if(count, count));
}

static int take_process(struct sqlite_export *export, const struct event *event,
			const struct change *change)
{
	const uint16_t type = event->header->type;
	const uint64_t process = sqlite_process_id(export, change->process);
	int err;

	if (!process)
		return export->database.err;
	err = put_mark(export, process, event->header->ts_ns, event_type_name(type), 0);
	if (!err && (type == MS_TYPE_EXIT || type == MS_TYPE_EXEC))
		err = sqlite_memory_exit(export, event, change);
	return err;
}

static int take_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct sqlite_export *export = (struct sqlite_export *)sink;

	if (event->process)
		return take_process(export, event, change);
	if (event->header->type == MS_TYPE_CALLS)
		return take_counted(export, event, change);
	return event->call ? take_call(export, event, change) : 0;
}

static int take_sample(struct sink *sink, const struct event *event, const struct change *change)
{
	struct sqlite_export *export = (struct sqlite_export *)sink;

	return event->header->type == MS_TYPE_ACTIVITY ? sqlite_gpu_take(export, event, change) : 0;
}

static int take_gap(struct sink *sink, uint64_t ts_ns, bool first)
{
	struct sqlite_export *export = (struct sqlite_export *)sink;
	int err = put_mark(export, 0, ts_ns, first ? "begin" : "gap", 0);

	return err ? err : sqlite_memory_settle(export, ts_ns, "gap", false);
}

static int take_lost(struct sink *sink, uint64_t ts_ns, uint64_t count)
{
	return put_mark((struct sqlite_export *)sink, 0, ts_ns, "lost", count);
}

static int put_session(struct sqlite_export *export)
{
	char text[CLOCK_TEXT_BYTES], sql[256];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (%llu, '%s', '%s')",
		 (unsigned long long)export->epoch_ns, clock_utc_text(text, export->epoch_ns),
		 text);
	return database_run(&export->database, sql);
}

/* Time is that of all recordings: it begins with the first one that is told of. */
static int take_begin(struct sink *sink)
{
	const struct report_recording *recording = sink->recording;
	struct sqlite_export *export = (struct sqlite_export *)sink;
	const struct report_coverage *coverage = &recording->coverage;
	const uint64_t wall_ns = coverage->wall_known ? coverage->wall_offset_ns : 0;
	char number[STRING_NUMBER_BYTES];
	int err = 0;

	export->recording = recording;
	export->first_id = export->last_id;
	map_fini(&export->process_ids);
	map_fini(&export->missed);
	map_fini(&export->spare_ids);
	map_fini(&export->spare_rows);
	if (!export->recordings++) {
		export->epoch_ns = wall_ns + report_begin_ns(recording);
		err = put_session(export);
	}
	export->offset_ns = wall_ns - export->epoch_ns;
	snprintf(number, sizeof(number), "0x%llx", (unsigned long long)coverage->account.recording);
	if (err)
		return err;
	return DATABASE_PUT(&export->database, SQLITE_RECORDING, cell_number(export->recordings),
			    cell_text(number), cell_text(coverage->host),
			    cell_text(coverage->kernel), cell_text(coverage->machine),
			    cell_text(coverage->version), cell_text(coverage->targets),
			    cell_number(0 - export->offset_ns));
}

static int take_end(struct sink *sink, const struct summary *summary)
{
	struct sqlite_export *export = (struct sqlite_export *)sink;
	int err = sqlite_memory_settle(export, report_end_ns(export->recording), "unseen", true);

	(void)summary;
	if (!err)
		err = sqlite_gpu_end(export);
	if (!err)
		err = sqlite_stacks_put(export);
	return err ? err : sqlite_report_recording(export);
}

/* ---------------------------------------------------------------------------------------------- */

static void free_sqlite(struct sink *sink)
{
	struct sqlite_export *export = (struct sqlite_export *)sink;
	size_t i;

	database_close(&export->database);
	for (i = 0; i < SQLITE_TEXTS; i++)
		string_fini(&export->texts[i]);
	string_fini(&export->scratch);
	map_fini(&export->process_ids);
	map_fini(&export->missed);
	map_fini(&export->spare_ids);
	map_fini(&export->spare_rows);
	sqlite_gpu_free(export);
	free(export);
}

static void choose_columns(struct sqlite_export *export)
{
	size_t i;

	for (i = 0; i < fields_count; i++) {
		if (!sqlite_schema_has(&fields[i]))
			continue;
		assert(export->columns_count < SQLITE_COLUMNS_MAX);
		export->columns[export->columns_count++] = &fields[i];
	}
}

static struct sink *begin_sqlite(const struct export_options *options)
{
	struct sqlite_export *export = calloc(1, sizeof(*export));

	if (!export) {
		log_error("not enough memory");
		return NULL;
	}
	export->sink = (struct sink){ .begin = take_begin,
				      .call = take_event,
				      .process = take_event,
				      .sample = take_sample,
				      .gap = take_gap,
				      .lost = take_lost,
				      .end = take_end };
	choose_columns(export);
	if (!database_open(&export->database, options->fd, options->name) &&
	    !sqlite_schema_create(&export->database))
		return &export->sink;
	free_sqlite(&export->sink);
	return NULL;
}

static int finish_sqlite(struct sink *sink, const struct report *report)
{
	struct sqlite_export *export = (struct sqlite_export *)sink;
	int err = sqlite_report_finish(export, report);

	if (!err)
		err = sqlite_schema_finish(&export->database);
	return err ? err : database_close(&export->database);
}

const struct exporter export_sqlite = {
	.name = "sqlite",
	.endings = ".sqlite .sqlite3 .db",
	.summary =
		"a SQLite database with the tables of nsys' exports, so that queries for nsys run,"
		" and with views to read",
	.binary = true,
	.to_file = true,
	.begin = begin_sqlite,
	.finish = finish_sqlite,
	.free = free_sqlite,
};
