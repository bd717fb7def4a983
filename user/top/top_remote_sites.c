// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_remote_sites.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "event/probe.h"
#include "render/stack_words.h"

#define SCHEMA "memscope-bpf/agent-process/1"
#define CELLS_MOST 4096u
#define PARTS_MOST 4096u
#define FRAMES_MOST 1024u /* of a stack */

void top_remote_sites_path(struct string *out, const struct process *process)
{
	string_append_format(out, "/api/v1/processes/%u", process->pid);
	string_append_char(out, '\0');
}

bool top_remote_sites_are_known(const struct top_remote *remote, const struct process *process)
{
	return remote->asked == process->number;
}

void top_remote_sites_asked(struct top_remote *remote, const struct process *process)
{
	remote->asked = process->number;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static uint32_t small_number(const struct json_tree *tree, const struct json_value *object,
			     const char *key)
{
	uint64_t number = 0;

	json_tree_u64(tree, object, key, &number);
	return number > UINT32_MAX ? 0 : (uint32_t)number;
}

static bool is_kind(const struct json_tree *tree, const struct json_value *value, const char *kind)
{
	const char *text = json_tree_text(tree, value, "kind");

	return text && !strcmp(text, kind);
}

/* "0x7f00"; 0 if it is something else. */
static uint64_t address_of(const char *text)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t address = 0;

	if (!text || strncmp(text, "0x", 2) != 0 || strlen(text) > 2 + 16)
		return 0;
	for (text += 2; *text; text++) {
		const char *digit = strchr(hex, *text);

		if (!digit)
			return 0;
		address = address << 4 | (uint64_t)(digit - hex);
	}
	return address;
}

static void put_texts(const struct json_tree *tree, const struct json_value *value,
		      struct string *whole)
{
	static const char *const keys[MS_FRAME_TEXTS_COUNT] = {
		[MS_FRAME_FUNCTION] = "function",
		[MS_FRAME_MODULE] = "module",
		[MS_FRAME_BUILD_ID] = "build_id",
		[MS_FRAME_SOURCE] = "source",
	};
	int i;

	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++) {
		const char *text = json_tree_text(tree, value, keys[i]);

		text = text ? text : "";
		string_append(whole, text, strlen(text) + 1);
	}
}

static int add_frame(struct top_remote *remote, const struct json_value *value, uint32_t id)
{
	const struct json_tree *tree = &remote->tree;
	struct state *state = &remote->state;
	struct ms_frame_record record = {
		.id = id,
		.line = small_number(tree, value, "line"),
		.offset = small_number(tree, value, "offset"),
		.address = address_of(json_tree_text(tree, value, "address")),
		.kind = is_kind(tree, value, "python") ? MS_FRAME_PYTHON : MS_FRAME_NATIVE
	};
	struct string whole = { 0 };
	int err;

	if (json_tree_true(tree, value, "inlined"))
		record.flags |= MS_FRAME_INLINED;
	if (json_tree_true(tree, value, "by_pointer"))
		record.flags |= MS_FRAME_BY_POINTER;
	if (json_tree_true(tree, value, "inferred"))
		record.flags |= MS_FRAME_INFERRED;
	string_append(&whole, (const char *)&record, sizeof(record));
	put_texts(tree, value, &whole);
	if (whole.failed) {
		string_fini(&whole);
		return -ENOMEM;
	}
	record.length = (uint32_t)(whole.length - sizeof(record));
	memcpy(whole.bytes, &record, sizeof(record));
	err = stacks_add_frame(&state->stacks, (const void *)whole.bytes);
	string_fini(&whole);
	return err;
}

static uint8_t end_of(const char *name)
{
	uint8_t end;

	for (end = 0; name && end < MS_STACK_ENDS_COUNT; end++)
		if (!strcmp(stack_words_end_name(end), name))
			return end;
	return 0;
}

/* Frames that are not known, or were left out, have the id 0. */
static int put_frames(struct top_remote *remote, const struct json_value *site,
		      struct string *whole, uint16_t *count)
{
	const struct json_tree *tree = &remote->tree;
	const struct json_value *frames = json_tree_member(tree, site, "frames"), *frame = NULL;
	const uint32_t left_out = small_number(tree, site, "frames_left_out");
	const uint32_t break_at = small_number(tree, site, "frames_left_out_after");
	static const uint32_t none = 0;
	uint32_t seen = 0;
	int err = 0;

	while (!err && (frame = json_tree_next(tree, frames, frame)) && *count < FRAMES_MOST) {
		const uint32_t id = ++remote->frame_ids;
		const bool known = frame->type == JSON_OBJECT;

		if (left_out && seen++ == break_at) {
			string_append(whole, (const char *)&none, sizeof(none));
			++*count;
		}
		if (known)
			err = add_frame(remote, frame, id);
		string_append(whole, (const char *)(known ? &id : &none), sizeof(id));
		++*count;
	}
	return err;
}

/* Its id; 0: it has none. */
static int add_stack(struct top_remote *remote, const struct json_value *site, uint32_t *id)
{
	const struct json_tree *tree = &remote->tree;
	struct state *state = &remote->state;
	struct ms_stack record = { .id = small_number(tree, site, "stack_id"),
				   .end = end_of(json_tree_text(tree, site, "end")),
				   .form = MS_STACK_FRAMES };
	struct string whole = { 0 };
	int err;

	*id = record.id;
	if (!record.id || stacks_find(&state->stacks, record.id) ||
	    !json_tree_next(tree, json_tree_member(tree, site, "frames"), NULL))
		return 0;
	string_append(&whole, (const char *)&record, sizeof(record));
	err = put_frames(remote, site, &whole, &record.count);
	if (!err && whole.failed)
		err = -ENOMEM;
	if (!err) {
		memcpy(whole.bytes, &record, sizeof(record));
		err = stacks_add(&state->stacks, (const void *)whole.bytes);
	}
	string_fini(&whole);
	return err;
}

/* ---- functions and sites --------------------------------------------------------------------- */

/* The cell that a function or a site is of; of a newer agent's function, there is none. */
static int cell_of(const struct json_tree *tree, const struct json_value *value,
		   struct usage *usage, struct usage_cell **cell)
{
	const char *api = json_tree_text(tree, value, "api");
	const int row = api ? probe_find(api) : -1;
	const int space = probe_find_space(json_tree_text(tree, value, "space"));
	uint64_t number;
	const bool known = json_tree_u64(tree, value, "device", &number) && number <= INT32_MAX;
	const int32_t device = known ? (int32_t)number : -1;
	size_t i;

	*cell = NULL;
	if (row < 0 || space < 0 || usage->count >= CELLS_MOST)
		return 0;
	for (i = 0; i < usage->count; i++)
		if (usage->cells[i].row == row && usage->cells[i].space == space &&
		    usage->cells[i].device == device)
			break;
	if (i == usage->count) {
		if (memory_grow(&usage->cells, &usage->capacity, i + 1, sizeof(*usage->cells)))
			return -ENOMEM;
		usage->cells[i] = (struct usage_cell){ .row = (uint16_t)row,
						       .space = (uint8_t)space,
						       .device = device };
		usage->count++;
	}
	*cell = &usage->cells[i];
	return 0;
}

static int add_function(const struct json_tree *tree, const struct json_value *value,
			struct usage *usage)
{
	struct usage_cell *cell;
	int err = cell_of(tree, value, usage, &cell);

	if (err || !cell)
		return err;
	json_tree_u64(tree, value, "live_bytes", &cell->live_bytes);
	json_tree_u64(tree, value, "live_allocations", &cell->live_count);
	json_tree_u64(tree, value, "bytes_in_peak", &cell->peak_bytes);
	json_tree_u64(tree, value, "allocs", &cell->allocs);
	json_tree_u64(tree, value, "alloc_bytes", &cell->alloc_bytes);
	json_tree_u64(tree, value, "frees", &cell->frees);
	json_tree_u64(tree, value, "free_bytes", &cell->free_bytes);
	return 0;
}

static int add_site(struct top_remote *remote, const struct json_value *value, struct usage *usage)
{
	const struct json_tree *tree = &remote->tree;
	struct usage_part part = { 0 };
	struct usage_cell *cell;
	int err = cell_of(tree, value, usage, &cell);

	if (err || !cell || usage->parts_count >= PARTS_MOST)
		return err;
	err = add_stack(remote, value, &part.stack);
	if (err || memory_grow(&usage->parts, &usage->parts_capacity, usage->parts_count + 1,
			       sizeof(*usage->parts)))
		return err ? err : -ENOMEM;
	json_tree_u64(tree, value, "live_bytes", &part.live_bytes);
	json_tree_u64(tree, value, "live_allocations", &part.live_count);
	usage->spaces[cell->space].known =
		json_tree_u64(tree, value, "bytes_in_peak", &part.peak_bytes);
	json_tree_u64(tree, value, "allocs", &part.allocs);
	json_tree_u64(tree, value, "alloc_bytes", &part.alloc_bytes);
	part.next = cell->parts;
	usage->parts[usage->parts_count++] = part;
	cell->parts = (uint32_t)usage->parts_count;
	return 0;
}

static int add_all(struct top_remote *remote, const struct json_value *root, struct usage *usage,
		   struct top_status *status)
{
	const struct json_tree *tree = &remote->tree;
	const struct json_value *value = NULL, *list = json_tree_member(tree, root, "by_api");
	const struct json_value *sites = json_tree_member(tree, root, "sites");
	int err = 0;

	while (!err && (value = json_tree_next(tree, list, value)))
		err = add_function(tree, value, usage);
	list = json_tree_member(tree, sites, "largest");
	while (!err && (value = json_tree_next(tree, list, value)))
		err = add_site(remote, value, usage);
	json_tree_u64(tree, sites, "more", &status->sites_left_out);
	json_tree_u64(tree, root, "more_by_api", &status->functions_left_out);
	return err;
}

int top_remote_sites_take(struct top_remote *remote, const struct process *process, char *bytes,
			  size_t length, struct top_status *status)
{
	struct usage *usage = process->usage;
	const struct json_value *root;
	const char *schema;
	uint64_t start_ns;
	int err = json_tree_read(&remote->tree, bytes, length);

	status->sites_left_out = status->functions_left_out = 0;
	if (err)
		return err;
	root = remote->tree.values;
	schema = json_tree_text(&remote->tree, root, "schema");
	if (!schema || strcmp(schema, SCHEMA) != 0 ||
	    !json_tree_u64(&remote->tree, root, "start_ns", &start_ns) ||
	    start_ns != process->start_ns)
		return -EINVAL;
	return add_all(remote, root, usage, status);
}
