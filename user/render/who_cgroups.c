// SPDX-License-Identifier: BSD-2-Clause
#include "render/who_cgroups.h"

#include <string.h>

#include "render/field.h"
#include "render/process_cells.h"

#define CLOSE_SHARE 16 /* one part of so many is left */

bool who_cgroups_is_close(const struct dmem_region *region)
{
	/* A limit of 0 is how a cgroup is kept from a device: that is wanted. */
	return region->known & DMEM_LIMIT && region->limit_bytes &&
	       dmem_left(region) <= region->limit_bytes / CLOSE_SHARE;
}

void who_cgroups_append_limited(struct string *out, const struct dmem *cgroup,
				const struct dmem_region *region)
{
	field_append_safe(out, cgroup->path, region->limit_path_bytes);
}

static bool is_in(const struct who *who, size_t process, size_t cgroup)
{
	return !who->processes[process].left_out && who->processes[process].cgroup == cgroup + 1;
}

static size_t count_processes(const struct who *who, size_t cgroup)
{
	size_t i, count = 0;

	for (i = 0; i < who->holders->holders_count; i++)
		count += is_in(who, i, cgroup);
	return count;
}

bool who_cgroups_is_shown(const struct who *who, size_t cgroup)
{
	return count_processes(who, cgroup);
}

/* ---- for people ------------------------------------------------------------------------------ */

static const struct document_column columns[] = {
	{ "Cgroup", DOCUMENT_TEXT }, { "Region", DOCUMENT_TEXT },
	{ "Used", DOCUMENT_NUMBER }, { "Limit", DOCUMENT_NUMBER },
	{ "Left", DOCUMENT_NUMBER }, { "Processes", DOCUMENT_NUMBER },
	PROCESS_CELLS_REMARKS,       { NULL, 0 },
};

static void cell_limit(struct document *document, bool limited, uint64_t bytes)
{
	if (limited)
		document_cell_size(document, true, bytes);
	else
		document_cell_absent(document);
}

static void cell_remarks(struct document *document, const struct dmem *cgroup,
			 const struct dmem_region *region)
{
	char size[STRING_NUMBER_BYTES];

	if (region->known & DMEM_LIMIT && region->limit_path_bytes < strlen(cgroup->path)) {
		string_append_text(&document->text, "the limit is that of ");
		who_cgroups_append_limited(&document->text, cgroup, region);
		string_append_format(&document->text, ", where %s are used",
				     string_size(size, region->limit_used_bytes));
	}
	if (region->known & DMEM_GUARANTEED && region->guaranteed_bytes)
		string_append_format(process_cells_next_remark(&document->text), "%s guaranteed",
				     string_size(size, region->guaranteed_bytes));
	document_cell(document);
}

static void row(struct document *document, const struct dmem *cgroup,
		const struct dmem_region *region, size_t processes)
{
	const bool limited = region->known & DMEM_LIMIT;

	document_row(document);
	document_cell_text(document, cgroup->path);
	document_cell_text(document, region->name);
	document_cell_size(document, true, region->used_bytes);
	cell_limit(document, limited, region->limit_bytes);
	cell_limit(document, limited, dmem_left(region));
	document_cell_count(document, true, processes);
	cell_remarks(document, cgroup, region);
	document_row_end(document);
}

static bool is_news(const struct dmem_region *region)
{
	return region->used_bytes || region->known & DMEM_LIMIT;
}

static bool has_news(const struct who *who)
{
	size_t i, j;

	for (i = 0; i < who->cgroups_count; i++)
		for (j = 0; j < who->cgroups[i].count; j++)
			if (is_news(&who->cgroups[i].regions[j]) && who_cgroups_is_shown(who, i))
				return true;
	return false;
}

void who_cgroups_text(struct document *document, const struct who *who)
{
	size_t i, j;

	if (!has_news(who))
		return;
	document_say(document, "Memory of devices that whole cgroups use, as the kernel or the"
			       " driver counts it");
	document_table(document, "cgroups", "What cgroups use and may use", columns);
	for (i = 0; i < who->cgroups_count; i++) {
		const size_t processes = count_processes(who, i);

		for (j = 0; processes && j < who->cgroups[i].count; j++)
			if (is_news(&who->cgroups[i].regions[j]))
				row(document, &who->cgroups[i], &who->cgroups[i].regions[j],
				    processes);
	}
	document_table_end(document);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void put_region(struct json *json, const struct dmem *cgroup,
		       const struct dmem_region *region)
{
	const bool limited = region->known & DMEM_LIMIT, device = region->known & DMEM_DEVICE;
	char pci[DMEM_PCI_BYTES];

	json_open(json, '{');
	json_put_text(json, "region", region->name);
	json_put_text(json, "pci", dmem_pci(region->name, pci) ? pci : NULL);
	json_put_u64(json, "used_bytes", region->used_bytes);
	json_put_if(json, "guaranteed_bytes", region->known & DMEM_GUARANTEED,
		    region->guaranteed_bytes);
	json_put_if(json, "limit_bytes", limited, region->limit_bytes);
	json_name(json, "limit_cgroup");
	if (limited)
		json_text(json, cgroup->path, region->limit_path_bytes);
	else
		json_null(json);
	json_put_if(json, "limit_used_bytes", limited, region->limit_used_bytes);
	json_put_if(json, "left_bytes", limited, dmem_left(region));
	json_put_if(json, "capacity_bytes", device, region->capacity_bytes);
	json_put_if(json, "device_used_bytes", device, region->device_used_bytes);
	json_close(json, '}');
}

static void put_cgroup(struct json *json, const struct who *who, size_t place)
{
	const struct dmem *cgroup = &who->cgroups[place];
	size_t i;

	json_open(json, '{');
	json_put_text(json, "path", cgroup->path);
	json_name(json, "pids");
	json_open(json, '[');
	for (i = 0; i < who->holders->holders_count; i++)
		if (is_in(who, i, place))
			json_u64(json, who->holders->holders[i].pid);
	json_close(json, ']');
	json_name(json, "regions");
	json_open(json, '[');
	for (i = 0; i < cgroup->count; i++)
		put_region(json, cgroup, &cgroup->regions[i]);
	json_close(json, ']');
	json_put_bool(json, "cut", cgroup->cut);
	json_close(json, '}');
}

void who_cgroups_json(struct json *json, const struct who *who)
{
	size_t i;

	json_name(json, "cgroups");
	json_open(json, '[');
	for (i = 0; i < who->cgroups_count; i++)
		if (who_cgroups_is_shown(who, i))
			put_cgroup(json, who, i);
	json_close(json, ']');
}
