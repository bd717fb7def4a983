// SPDX-License-Identifier: BSD-2-Clause
/*
 * The part of the JSON Schemas that is made from tables: calls, records, counters, names.
 */
#include "mkdocs.h"

#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "ledger/objects.h"
#include "ledger/process_counters.h"
#include "render/field.h"
#include "render/json.h"
#include "render/record_field.h"

/* `certain`: it is never unknown. */
static void put_type(struct json *json, enum field_kind kind, bool certain)
{
	static const char *const types[] = {
		[FIELD_TIME] = "integer",  [FIELD_COUNT] = "integer",    [FIELD_SIGNED] = "integer",
		[FIELD_SIZE] = "integer",  [FIELD_DURATION] = "integer", [FIELD_ADDRESS] = "string",
		[FIELD_TEXT] = "string",   [FIELD_FLAG] = "boolean",     [FIELD_DIMS] = "array",
		[FIELD_AMOUNTS] = "array",
	};

	if (kind == FIELD_AMOUNTS || kind == FIELD_IDENTITY) {
		json_put_text(json, "$ref",
			      kind == FIELD_AMOUNTS ? "#/$defs/live" : "#/$defs/identity");
		return;
	}
	if (certain) {
		json_put_text(json, "type", types[kind]);
	} else {
		json_name(json, "type");
		json_open(json, '[');
		json_text(json, types[kind], strlen(types[kind]));
		json_text(json, "null", 4);
		json_close(json, ']');
	}
	if (kind == FIELD_ADDRESS)
		json_put_text(json, "pattern", "^0x[0-9a-f]+$");
	if (kind == FIELD_DIMS) {
		json_name(json, "items");
		json_open(json, '{');
		json_put_text(json, "type", "integer");
		json_close(json, '}');
		json_put_u64(json, "minItems", 3);
		json_put_u64(json, "maxItems", 3);
	}
}

static void put_constant(struct json *json, const char *name, const char *value)
{
	json_name(json, name);
	json_open(json, '{');
	json_put_text(json, "const", value);
	json_close(json, '}');
}

static void put_count(struct json *json)
{
	json_name(json, "count");
	json_open(json, '{');
	json_put_text(
		json, "description",
		"so many calls, of which this is the sum: size_bytes and duration_ns are those of"
		" all, ts_ns is when they were counted, and what differs between them is null");
	json_put_text(json, "$ref", "#/$defs/count");
	json_close(json, '}');
}

/* The calls of one operation: exactly the fields that its events have. */
static void put_call(struct json *json, unsigned int op, bool counted)
{
	char title[64];
	size_t i;

	snprintf(title, sizeof(title), "%s%s", probe_op_name(op),
		 counted ? ", counted instead of recorded" : "");
	json_open(json, '{');
	json_put_text(json, "title", title);
	json_name(json, "properties");
	json_open(json, '{');
	put_constant(json, "schema", JSON_EVENT_SCHEMA);
	put_constant(json, "type", counted ? "calls" : "call");
	if (counted)
		put_count(json);
	for (i = 0; i < fields_count; i++) {
		if (!(fields[i].ops >> op & 1))
			continue;
		if (!strcmp(fields[i].name, "op")) {
			put_constant(json, "op", probe_op_name(op));
			continue;
		}
		json_name(json, fields[i].name);
		json_open(json, '{');
		json_put_text(json, "description", fields[i].description);
		put_type(json, fields[i].kind, false);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_name(json, "required");
	json_open(json, '[');
	json_text(json, "schema", 6);
	json_text(json, "type", 4);
	if (counted)
		json_text(json, "count", 5);
	for (i = 0; i < fields_count; i++)
		if (fields[i].ops >> op & 1)
			json_text(json, fields[i].name, strlen(fields[i].name));
	json_close(json, ']');
	json_put_bool(json, "additionalProperties", false);
	json_close(json, '}');
}

/* What `record` may only count (abi.h, struct ms_calls). */
static bool is_counted(unsigned int op)
{
	return op == MS_OP_COPY || op == MS_OP_MEMSET || op == MS_OP_LAUNCH || op == MS_OP_SYNC;
}

static void put_plain(struct json *json, const char *name, const char *key, const char *value)
{
	json_name(json, name);
	json_open(json, '{');
	json_put_text(json, key, value);
	json_close(json, '}');
}

static void put_name(struct json *json, const char *name)
{
	json_text(json, name, strlen(name));
}

/* A kind of record that is no call: exactly the fields that it has. */
static void put_record(struct json *json, const struct record_title *record)
{
	const bool of_process = event_subject_of(record->type) == EVENT_OF_PROCESS;
	const char *name = event_type_name(record->type);
	char title[256];
	size_t i;

	snprintf(title, sizeof(title), "%s: %s", name, record->title);
	json_open(json, '{');
	json_put_text(json, "title", title);
	json_name(json, "properties");
	json_open(json, '{');
	put_constant(json, "schema", JSON_EVENT_SCHEMA);
	put_constant(json, "type", name);
	put_plain(json, "ts_ns", "$ref", "#/$defs/count");
	put_plain(json, "wall_ns", "$ref", "#/$defs/count_or_null");
	if (of_process) {
		put_plain(json, "pid", "$ref", "#/$defs/count");
		put_plain(json, "comm", "type", "string");
	}
	for (i = 0; i < record_fields_count; i++) {
		if (record_fields[i].type != record->type)
			continue;
		json_name(json, record_fields[i].name);
		json_open(json, '{');
		json_put_text(json, "description", record_fields[i].description);
		put_type(json, record_fields[i].kind, !record_fields[i].can_be_unknown);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_name(json, "required");
	json_open(json, '[');
	put_name(json, "schema");
	put_name(json, "type");
	put_name(json, "ts_ns");
	put_name(json, "wall_ns");
	if (of_process) {
		put_name(json, "pid");
		put_name(json, "comm");
	}
	for (i = 0; i < record_fields_count; i++)
		if (record_fields[i].type == record->type)
			put_name(json, record_fields[i].name);
	json_close(json, ']');
	json_put_bool(json, "additionalProperties", false);
	json_close(json, '}');
}

/* A counter of a process that is in the object "others", or of those that are not. */
static void put_counters(struct json *json, bool of_others)
{
	unsigned int i;

	json_name(json, of_others ? "others" : "counters");
	json_open(json, '{');
	for (i = 0; i < COUNTERS_COUNT; i++) {
		if (process_counters[i].is_of_others != of_others)
			continue;
		json_name(json, process_counters[i].name);
		json_open(json, '{');
		json_put_text(json, "description", process_counters[i].many);
		json_put_text(json, "type", "integer");
		json_put_u64(json, "minimum", 0);
		json_close(json, '}');
	}
	json_close(json, '}');
}

/* Who a process is: items, and in an object of their own the variables of its environment. */
static void put_identity_items(struct json *json, bool variables)
{
	unsigned int item;

	json_open(json, '{');
	for (item = 0; item < IDENTITY_ITEMS; item++) {
		const struct identity_row *row = &identity_rows[item];

		if ((row->kind == IDENTITY_VARIABLE) != variables)
			continue;
		json_name(json, row->name);
		json_open(json, '{');
		if (row->description[0])
			json_put_text(json, "description", row->description);
		put_type(json, row->kind == IDENTITY_NUMBER ? FIELD_COUNT : FIELD_TEXT, false);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void put_identity(struct json *json)
{
	json_name(json, "identity");
	put_identity_items(json, false);
	json_name(json, "environment");
	put_identity_items(json, true);
}

static void put_oom_names(struct json *json)
{
	int i;

	json_name(json, "oom_causes");
	json_open(json, '[');
	for (i = 0; i < OOM_CAUSES_COUNT; i++)
		json_text(json, analysis_oom_cause_name(i), strlen(analysis_oom_cause_name(i)));
	json_close(json, ']');
	json_name(json, "oom_outcomes");
	json_open(json, '[');
	for (i = 0; i < OOM_OUTCOMES_COUNT; i++)
		json_text(json, oom_outcome_name(i), strlen(oom_outcome_name(i)));
	json_close(json, ']');
	json_name(json, "oom_remedies");
	json_open(json, '[');
	for (i = 0; i < OOM_REMEDIES_COUNT; i++)
		json_text(json, analysis_oom_remedy_name(i), strlen(analysis_oom_remedy_name(i)));
	json_close(json, ']');
}

/* What tables have: docs/NAME.schema.in.json has the rest, and the Makefile puts them together. */
void mkdocs_put_schema(void)
{
	struct string out = { 0 };
	struct json json = { .out = &out };
	unsigned int op, space, object, rule;
	size_t record;

	json_open(&json, '{');
	json_name(&json, "calls");
	json_open(&json, '[');
	for (op = 0; op < MS_OPS_COUNT; op++)
		if (op != MS_OP_NAME)
			put_call(&json, op, false);
	for (op = 0; op < MS_OPS_COUNT; op++)
		if (is_counted(op))
			put_call(&json, op, true);
	json_close(&json, ']');
	json_name(&json, "records");
	json_open(&json, '[');
	for (record = 0; record < record_titles_count; record++)
		put_record(&json, &record_titles[record]);
	json_close(&json, ']');
	json_name(&json, "spaces");
	json_open(&json, '[');
	for (space = MS_SPACE_NONE + 1; space < MS_SPACES_COUNT; space++)
		json_text(&json, probe_space_name(space), strlen(probe_space_name(space)));
	json_close(&json, ']');
	json_name(&json, "objects");
	json_open(&json, '[');
	for (object = MS_OBJECT_NONE + 1; object < MS_OBJECTS_COUNT; object++)
		json_text(&json, objects_name(object), strlen(objects_name(object)));
	json_close(&json, ']');
	json_name(&json, "rules");
	json_open(&json, '[');
	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		json_text(&json, finding_rule_name(rule), strlen(finding_rule_name(rule)));
	json_close(&json, ']');
	put_oom_names(&json);
	put_identity(&json);
	put_counters(&json, false);
	put_counters(&json, true);
	json_close(&json, '}');
	printf("%.*s\n", (int)out.length, out.bytes);
	string_fini(&out);
}
