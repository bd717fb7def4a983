// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_groups.h"

#include <string.h>

#include "render/field.h"
#include "render/report_words.h"

#define NAME_SHOWN 120 /* bytes; of longer ones, the beginning */

static void list_name(struct document *document, const struct process_group *group)
{
	struct string *text = &document->text;
	const size_t length = group->name ? strlen(group->name) : 0;

	if (group->others)
		string_append_text(text, "(others: too many to tell apart)");
	else if (!group->name)
		string_append_text(text, "?");
	else if (!length)
		string_append_text(text, "(none)");
	else
		field_append_safe(text, group->name, length < NAME_SHOWN ? length : NAME_SHOWN);
	if (length > NAME_SHOWN)
		string_append_text(text, "...");
	document_cell(document);
}

static void list_ooms(struct document *document, const struct process_group *group)
{
	string_append_format(&document->text, "%zu", group->ooms);
	if (group->fatal_ooms)
		string_append_format(&document->text, " (%zu fatal)", group->fatal_ooms);
	document_cell_as(document,
			 (struct document_cell){ .sorted = true, .value = (int64_t)group->ooms });
}

static void list_group(struct document *document, const struct report_recording *recording,
		       const struct process_group *group)
{
	if (!document_row(document))
		return;
	list_name(document, group);
	document_cell_count(document, true, group->processes);
	document_cell_count(document, true, group->running);
	document_cell_size(document, true, group->live_bytes);
	document_cell_size(document, true, group->peak_bytes);
	if (group->peak_bytes)
		document_cell_time(document, recording, group->peak_ts_ns);
	else
		document_cell_absent(document);
	document_cell_size(document, true, group->left_bytes);
	document_cell_count(document, true, group->leaks);
	list_ooms(document, group);
	document_row_end(document);
}

static void say_members(struct document *document, const struct process_groups *groups)
{
	if (!groups->not_members)
		return;
	string_append_format(&document->text, "Only the first %s processes are in this table.",
			     REPORT_COUNT(PROCESS_GROUPS_MEMBERS));
	document_paragraph(document);
}

void report_groups_document(struct document *document, const struct report_recording *recording)
{
	const struct process_groups *groups = &recording->groups;
	const struct document_column columns[] = {
		{ groups->by ? process_groups_title(groups->by) : "", DOCUMENT_TEXT },
		{ "Processes", DOCUMENT_NUMBER },
		{ "At the end", DOCUMENT_NUMBER },
		{ "Live at the end", DOCUMENT_NUMBER },
		{ "Peak, together", DOCUMENT_NUMBER },
		{ "At", DOCUMENT_VALUE },
		{ "Held at exit", DOCUMENT_NUMBER },
		{ "Leaks", DOCUMENT_NUMBER },
		{ "Out of memory", DOCUMENT_NUMBER },
		{ 0 },
	};
	size_t i;

	if (!groups->by)
		return;
	string_append_format(&document->text,
			     "Device and managed memory by %s: all its processes together",
			     process_groups_name(groups->by));
	document_title(document);
	document_table_top(document, "groups",
			   "Device and managed memory by who has it, all its"
			   " processes together",
			   columns);
	document_table_open(document);
	for (i = 0; i < groups->count; i++)
		list_group(document, recording, &groups->list[i]);
	document_table_end(document);
	say_members(document, groups);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_group(struct json *json, const struct process_group *group)
{
	json_open(json, '{');
	json_put_text(json, "name", group->name && *group->name ? group->name : NULL);
	json_put_bool(json, "known", group->name);
	json_put_bool(json, "others", group->others);
	json_put_u64(json, "processes", group->processes);
	json_put_u64(json, "running", group->running);
	json_put_u64(json, "live_bytes", group->live_bytes);
	json_put_u64(json, "peak_bytes", group->peak_bytes);
	json_put_if(json, "peak_ts_ns", group->peak_bytes, group->peak_ts_ns);
	json_put_u64(json, "left_bytes", group->left_bytes);
	json_put_u64(json, "leaks", group->leaks);
	json_put_u64(json, "out_of_memory", group->ooms);
	json_put_u64(json, "fatal_out_of_memory", group->fatal_ooms);
	json_close(json, '}');
}

void report_groups_json(struct json *json, const struct report_recording *recording)
{
	const struct process_groups *groups = &recording->groups;
	size_t i;

	json_name(json, "groups");
	if (!groups->by) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_text(json, "by", process_groups_name(groups->by));
	json_put_u64(json, "left_out_records", groups->not_members);
	json_name(json, "list");
	json_open(json, '[');
	for (i = 0; i < groups->count; i++)
		put_group(json, &groups->list[i]);
	json_close(json, ']');
	json_close(json, '}');
}
