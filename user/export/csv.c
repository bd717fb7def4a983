// SPDX-License-Identifier: BSD-2-Clause
/*
 * Comma-separated values as RFC 4180 has them, a row per event. Its columns are all fields of all
 * calls (render/fields.def), so that every row has the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "export/export.h"
#include "render/field.h"
#include "render/identity_words.h"
#include "render/record_field.h"
#include "base/writer.h"

struct csv {
	struct sink sink;
	struct writer *writer;
	struct string scratch;
	const struct report_recording *recording;
};

/* Before the fields; behind them come `who`, `was_running` and what samples have. */
static const char *const own_columns[] = { "recording", "type", "count", "live" };

#define OWN_COLUMNS (sizeof(own_columns) / sizeof(*own_columns))

/* ---- cells ----------------------------------------------------------------------------------- */

static void put_byte(struct string *out, unsigned char byte)
{
	if (byte < 0x20 || byte == 0x7f || byte == '\\')
		string_append_format(out, "\\x%02x", byte);
	else if (byte == '"')
		string_append(out, "\"\"", 2);
	else
		string_append_char(out, (char)byte);
}

/*
 * Text from programs, always in quotes. What a spreadsheet would take for a formula gets an
 * apostrophe before it, as does what begins with one: a reader takes one away.
 */
static void put_text(struct string *out, const char *text, size_t length)
{
	const char *const end = text + length;

	string_append_char(out, '"');
	if (length && *text && strchr("=+-@\t\r\n'", *text))
		string_append_char(out, '\'');
	while (text < end) {
		size_t step = string_utf8_length(text, end - text);

		if (step > 1)
			string_append(out, text, step);
		else if (step)
			put_byte(out, (unsigned char)*text);
		else
			string_append_text(out, "\xef\xbf\xbd");
		text += step ? step : 1;
	}
	string_append_char(out, '"');
}

static void put_amounts(struct string *out, const struct amount amounts[MS_SPACES_COUNT])
{
	const char *before = "";
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!amounts[space].count)
			continue;
		string_append_format(out, "%s%s:%llu:%llu", before, probe_space_name(space),
				     (unsigned long long)amounts[space].count,
				     (unsigned long long)amounts[space].bytes);
		before = " ";
	}
}

static void put_value(struct string *out, enum field_kind kind, const struct field_value *value)
{
	switch (kind) {
	case FIELD_TIME:
	case FIELD_COUNT:
	case FIELD_SIZE:
	case FIELD_DURATION:
		string_append_u64(out, value->number);
		break;
	case FIELD_SIGNED:
		string_append_i64(out, value->signed_number);
		break;
	case FIELD_ADDRESS:
		string_append_hex(out, value->number);
		break;
	case FIELD_TEXT:
		put_text(out, value->text, value->length);
		break;
	case FIELD_FLAG:
		string_append_text(out, value->number ? "true" : "false");
		break;
	case FIELD_DIMS:
		string_append_format(out, "%u %u %u", value->dims[0], value->dims[1],
				     value->dims[2]);
		break;
	case FIELD_AMOUNTS:
		put_amounts(out, value->amounts);
		break;
	case FIELD_IDENTITY: /* no call and no sample has it */
		break;
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void begin_row(const struct csv *export, const char *type, uint64_t count)
{
	struct string *out = &export->writer->text;

	string_append_hex(out, export->recording->coverage.account.recording);
	string_append_format(out, ",%s,", type);
	if (count)
		string_append_u64(out, count);
	string_append_char(out, ',');
}

/* Columns of samples: of a row that is none, `sample` is NULL. */
static void put_sample(const struct csv *export, const struct event *sample,
		       const struct change *change)
{
	struct string *out = &export->writer->text;
	size_t i;

	for (i = 0; i < record_fields_count; i++) {
		const struct record_field *field = &record_fields[i];
		struct field_value value;

		if (!event_is_sample(field->type))
			continue;
		string_append_char(out, ',');
		if (!sample || sample->header->type != field->type)
			continue;
		value = record_field_value(field, sample, change);
		if (value.known)
			put_value(out, field->kind, &value);
	}
}

static int end_row(const struct csv *export)
{
	string_append_char(&export->writer->text, '\r');
	return writer_end_line(export->writer);
}

static void put_call(struct csv *export, const struct event *event, const struct change *change)
{
	const struct report_coverage *coverage = &export->recording->coverage;
	struct string *out = &export->writer->text;
	const struct field_source source = { .event = event,
					     .change = change,
					     .stacks = &export->recording->state->stacks,
					     .scratch = &export->scratch,
					     .wall_known = coverage->wall_known,
					     .wall_offset_ns = coverage->wall_offset_ns };
	size_t i;

	begin_row(export, event->header->type == MS_TYPE_CALLS ? "calls" : "call", event->count);
	for (i = 0; i < fields_count; i++) {
		struct field_value value;

		if (!fields[i].ops)
			continue;
		string_append_char(out, ',');
		if (!(fields[i].ops >> event->probe->spec.op & 1))
			continue;
		string_clear(&export->scratch);
		value = fields[i].get(&source);
		if (value.known)
			put_value(out, fields[i].kind, &value);
		out->failed |= export->scratch.failed;
	}
	string_append_text(out, ",,");
	put_sample(export, NULL, NULL);
}

/* What a row that is no call has to say, under the names of a call's fields. */
struct other {
	const char *type;
	uint64_t count; /* 0: none */
	uint64_t ts_ns;
	const struct process *process; /* NULL: none */
	const struct amount *live;     /* by space; NULL: none */
	bool is_attach, has_identity;
	const struct event *sample; /* NULL: it is none */
	const struct change *change;
};

/* Program, user, parent, container and so on, as in a report. */
static void put_who(struct csv *export, const struct process *process)
{
	string_clear(&export->scratch);
	if (identity_words_append(&export->scratch, process, ""))
		put_text(&export->writer->text, export->scratch.bytes, export->scratch.length);
	export->writer->text.failed |= export->scratch.failed;
}

static int put_other(struct csv *export, const struct other *other)
{
	const struct report_coverage *coverage = &export->recording->coverage;
	struct string *out = &export->writer->text;
	size_t i;

	begin_row(export, other->type, other->count);
	if (other->live)
		put_amounts(out, other->live);
	for (i = 0; i < fields_count; i++) {
		const char *name = fields[i].name;

		if (!fields[i].ops)
			continue;
		string_append_char(out, ',');
		if (!strcmp(name, "ts_ns"))
			string_append_u64(out, other->ts_ns);
		else if (!strcmp(name, "wall_ns") && coverage->wall_known)
			string_append_u64(out, other->ts_ns + coverage->wall_offset_ns);
		else if (!strcmp(name, "pid") && other->process)
			string_append_u64(out, other->process->pid);
		else if (!strcmp(name, "comm") && other->process)
			put_text(out, other->process->comm,
				 strnlen(other->process->comm, MS_COMM_BYTES));
	}
	string_append_char(out, ',');
	if (other->has_identity)
		put_who(export, other->process);
	string_append_char(out, ',');
	if (other->is_attach)
		string_append_text(out, state_may_hold_more(other->process) ? "true" : "false");
	put_sample(export, other->sample, other->change);
	return end_row(export);
}

/* ---- what it is told ------------------------------------------------------------------------- */

static int take_begin(struct sink *sink)
{
	((struct csv *)sink)->recording = sink->recording;
	return 0;
}

static int take_event(struct sink *sink, const struct event *event, const struct change *change)
{
	struct csv *export = (struct csv *)sink;
	const uint16_t type = event->header->type;
	struct other other = { .ts_ns = event->header->ts_ns, .process = change->process };

	if (event->call) {
		put_call(export, event, change);
		return end_row(export);
	}
	other.type = event_type_name(type);
	other.sample = event->sample ? event : NULL;
	other.change = change;
	other.is_attach = type == MS_TYPE_ATTACH;
	other.has_identity = other.process && (other.is_attach || type == MS_TYPE_EXEC);
	if (type == MS_TYPE_EXEC || type == MS_TYPE_EXIT)
		other.live = change->implicit;
	return put_other(export, &other);
}

static int take_gap(struct sink *sink, uint64_t ts_ns, bool first)
{
	struct csv *export = (struct csv *)sink;
	const struct state *state = export->recording->state;
	const struct report_options *options = &export->recording->options;
	struct amount live[MS_SPACES_COUNT];
	size_t i;
	int err = 0;

	(void)first;
	for (i = 0; !err && i < state->processes_count; i++) {
		const struct process *process = state->processes[i];
		struct other other = {
			.type = "gap", .ts_ns = ts_ns, .process = process, .has_identity = true
		};
		uint32_t space;

		if (process->exited || !report_wants(options, process))
			continue;
		for (space = 0; space < MS_SPACES_COUNT; space++)
			live[space] = (struct amount){ .count = process->spaces[space].live_count,
						       .bytes = process->spaces[space].live_bytes };
		other.live = live;
		err = put_other(export, &other);
	}
	return err;
}

static int take_lost(struct sink *sink, uint64_t ts_ns, uint64_t count)
{
	const struct other other = { .type = "lost", .count = count, .ts_ns = ts_ns };

	return put_other((struct csv *)sink, &other);
}

/* ---------------------------------------------------------------------------------------------- */

static void put_header(struct csv *export)
{
	struct string *out = &export->writer->text;
	size_t i;

	for (i = 0; i < OWN_COLUMNS; i++)
		string_append_format(out, "%s%s", i ? "," : "", own_columns[i]);
	for (i = 0; i < fields_count; i++)
		if (fields[i].ops)
			string_append_format(out, ",%s", fields[i].name);
	string_append_text(out, ",who,was_running");
	for (i = 0; i < record_fields_count; i++)
		if (event_is_sample(record_fields[i].type))
			string_append_format(out, ",%s_%s", event_type_name(record_fields[i].type),
					     record_fields[i].name);
	end_row(export);
}

static struct sink *begin_csv(const struct export_options *options)
{
	struct csv *export = calloc(1, sizeof(*export));

	if (!export) {
		log_error("not enough memory");
		return NULL;
	}
	export->writer = options->writer;
	export->sink = (struct sink){ .begin = take_begin,
				      .call = take_event,
				      .process = take_event,
				      .sample = take_event,
				      .gap = take_gap,
				      .lost = take_lost };
	put_header(export);
	return &export->sink;
}

static int finish_csv(struct sink *sink, const struct report *report)
{
	(void)sink;
	(void)report;
	return 0;
}

static void free_csv(struct sink *sink)
{
	string_fini(&((struct csv *)sink)->scratch);
	free(sink);
}

const struct exporter export_csv = {
	.name = "csv",
	.endings = ".csv",
	.summary = "a row per event, all with the same columns, for spreadsheets and data frames",
	.begin = begin_csv,
	.finish = finish_csv,
	.free = free_csv,
};
