// SPDX-License-Identifier: BSD-2-Clause
#include "render/who_groups.h"

#include <stdlib.h>
#include <string.h>

#include "render/field.h"

#define NAME_SHOWN 120 /* bytes; of longer ones, the beginning */

struct who_group {
	char name[PROCESS_GROUPS_NAME_BYTES]; /* "": its processes have none */
	bool known;                           /* whether they have one */
	uint64_t processes;
	uint64_t unknown; /* so many of them NVML has no number for */
	uint64_t bytes;   /* of the others */
};

/* What a process holds on all devices. Returns false if NVML does not say. */
static bool held_by(const struct holders *holders, size_t holder, uint64_t *bytes)
{
	bool known = false;
	size_t i;

	*bytes = 0;
	for (i = 0; i < holders->holdings_count; i++) {
		const struct holding *holding = &holders->holdings[i];

		if (holding->holder != holder || !holding->has_used)
			continue;
		known = true;
		*bytes += holding->used_bytes;
	}
	return known;
}

static struct who_group *find(struct who_group *groups, size_t *count,
			      const struct who_group *wanted)
{
	size_t i;

	for (i = 0; i < *count; i++)
		if (groups[i].known == wanted->known && !strcmp(groups[i].name, wanted->name))
			return &groups[i];
	groups[*count] = *wanted;
	return &groups[(*count)++];
}

static int by_bytes(const void *left, const void *right)
{
	const struct who_group *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* Those who hold most come first. NULL: not enough memory. The caller frees it. */
static struct who_group *group_all(const struct who *who, size_t *count)
{
	const struct holders *holders = who->holders;
	struct who_group *groups = calloc(holders->holders_count + 1, sizeof(*groups));
	size_t i;

	*count = 0;
	for (i = 0; groups && i < holders->holders_count; i++) {
		const struct who_process *process = &who->processes[i];
		struct who_group wanted = { .name = "" }, *group;
		uint64_t bytes;

		if (process->left_out)
			continue;
		wanted.known = process_groups_name_of(who->by, &process->identity, process->name,
						      wanted.name);
		group = find(groups, count, &wanted);
		group->processes++;
		if (held_by(holders, i, &bytes))
			group->bytes += bytes;
		else
			group->unknown++;
	}
	if (groups)
		qsort(groups, *count, sizeof(*groups), by_bytes);
	return groups;
}

/* ---- for people ------------------------------------------------------------------------------ */

static void cell_name(struct document *document, const struct who_group *group)
{
	if (!group->known)
		string_append_text(&document->text, "(not known)");
	else if (!*group->name)
		string_append_text(&document->text, "(none)");
	else
		document_append(document, group->name, NULL);
	document_cell(document);
}

static void row(struct document *document, const struct who_group *group)
{
	document_row(document);
	cell_name(document, group);
	document_cell_count(document, true, group->processes);
	document_cell_size(document, group->unknown < group->processes, group->bytes);
	if (group->unknown)
		string_append_format(&document->text, "without %llu of which NVML has no number",
				     (unsigned long long)group->unknown);
	document_cell(document);
	document_row_end(document);
}

void who_groups_text(struct document *document, const struct who *who)
{
	const struct document_column columns[] = {
		{ process_groups_title(who->by), DOCUMENT_TEXT },
		{ "Processes", DOCUMENT_NUMBER },
		{ "Memory", DOCUMENT_NUMBER },
		{ "Remarks", DOCUMENT_TEXT },
		{ NULL, 0 },
	};
	struct who_group *groups;
	size_t count, i;

	if (who->by == PROCESS_GROUPS_NONE)
		return;
	groups = group_all(who, &count);
	document->failed |= !groups;
	if (groups && count) {
		string_append_format(&document->text, "Memory of all devices by %s",
				     process_groups_name(who->by));
		document_paragraph(document);
		document_table(document, "groups", "Who holds memory of all devices", columns);
		for (i = 0; i < count; i++)
			row(document, &groups[i]);
		document_table_end(document);
	}
	free(groups);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void put_group(struct json *json, const struct who_group *group)
{
	json_open(json, '{');
	json_put_text(json, "name", *group->name ? group->name : NULL);
	json_put_bool(json, "name_known", group->known);
	json_put_u64(json, "processes", group->processes);
	json_put_u64(json, "processes_of_unknown_size", group->unknown);
	json_put_if(json, "used_bytes", group->unknown < group->processes, group->bytes);
	json_close(json, '}');
}

void who_groups_json(struct json *json, const struct who *who)
{
	struct who_group *groups = NULL;
	size_t count = 0, i;

	json_put_text(json, "by", who->by ? process_groups_name(who->by) : NULL);
	json_name(json, "groups");
	if (!who->by) {
		json_null(json);
		return;
	}
	groups = group_all(who, &count);
	json->out->failed |= !groups;
	json_open(json, '[');
	for (i = 0; groups && i < count; i++)
		put_group(json, &groups[i]);
	json_close(json, ']');
	free(groups);
}
