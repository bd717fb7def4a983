// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/probe.h"
#include "ledger/nvml_account.h"

#define SCHEMA "memscope-bpf/agent-who/1"
#define PROCESSES_MOST 100000u
#define DEVICES_MOST 1024u
#define UUID_DIGITS (2ul * DEVICE_UUID_BYTES)

void top_remote_fini(struct top_remote *remote)
{
	state_fini(&remote->state);
	map_fini(&remote->numbers);
	map_fini(&remote->peaks);
	json_tree_fini(&remote->tree);
}

/* Into a record, whose numbers are of another type of 64 bits. */
static bool take_number(const struct json_tree *tree, const struct json_value *object,
			const char *key, __u64 *to)
{
	uint64_t number;
	const bool known = json_tree_u64(tree, object, key, &number);

	*to = number;
	return known;
}

/* So much of the text as there is room for, terminated. */
static void copy_text(char *to, size_t bytes, const char *text)
{
	const size_t length = text ? strnlen(text, bytes - 1) : 0;

	memset(to, 0, bytes);
	memcpy(to, text ? text : "", length);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* As a record of an identity has them: names and values in turn, each terminated. */
static void append_items(const struct json_tree *tree, const struct json_value *items,
			 struct string *texts)
{
	const struct json_value *item = NULL;

	while ((item = json_tree_next(tree, items, item))) {
		const bool is_number = item->type == JSON_NUMBER && item->is_unsigned;

		if (!is_number && item->type != JSON_STRING)
			continue;
		string_append(texts, item->key, strlen(item->key) + 1);
		if (is_number)
			string_append_u64(texts, item->number);
		else
			string_append_text(texts, item->text);
		string_append_char(texts, '\0');
	}
}

/* Variables of its environment are in an object of their own. */
static int set_identity(const struct json_tree *tree, const struct json_value *items,
			struct process *process)
{
	struct string texts = { 0 };
	int err;

	append_items(tree, items, &texts);
	append_items(tree, json_tree_member(tree, items, "environment"), &texts);
	if (texts.length > MS_IDENTITY_MAX)
		texts.length = 0;
	err = texts.failed ? -ENOMEM : process_identity_set(process, texts.bytes, texts.length);
	string_fini(&texts);
	return err;
}

static void set_spaces(const struct json_tree *tree, const struct json_value *spaces,
		       struct process *process)
{
	const struct json_value *value = NULL;

	while ((value = json_tree_next(tree, spaces, value))) {
		const int space = probe_find_space(json_tree_text(tree, value, "space"));
		struct space_total *total = space < 0 ? NULL : &process->spaces[space];

		if (!total)
			continue;
		process->entries_only |=
			!json_tree_u64(tree, value, "live_bytes", &total->live_bytes);
		json_tree_u64(tree, value, "live_allocations", &total->live_count);
		json_tree_u64(tree, value, "peak_bytes", &total->peak_bytes);
		json_tree_u64(tree, value, "allocs", &total->allocs);
		json_tree_u64(tree, value, "alloc_bytes", &total->alloc_bytes);
		json_tree_u64(tree, value, "frees", &total->frees);
		json_tree_u64(tree, value, "free_bytes", &total->free_bytes);
		process->calls[MS_OP_ALLOC] += total->allocs;
	}
}

/* One that does not say what is used is left out. */
static int add_limit(const struct json_tree *tree, const struct json_value *value,
		     struct process *process)
{
	const char *limited = json_tree_text(tree, value, "limit_cgroup");
	struct ms_limit record = { .event.type = MS_TYPE_LIMIT };
	size_t length;

	copy_text(record.region, sizeof(record.region), json_tree_text(tree, value, "region"));
	copy_text(record.path, sizeof(record.path), json_tree_text(tree, value, "cgroup"));
	take_number(tree, value, "ts_ns", &record.event.ts_ns);
	if (!take_number(tree, value, "used_bytes", &record.used_bytes))
		return 0;
	if (limited && take_number(tree, value, "limit_bytes", &record.limit_bytes) &&
	    take_number(tree, value, "limit_used_bytes", &record.limit_used_bytes)) {
		length = strnlen(limited, sizeof(record.path) - 1);
		record.known |= MS_LIMIT_MEMORY;
		/* It is the beginning of the path. */
		if (!strncmp(record.path, limited, length))
			record.limit_path_bytes = (uint32_t)length;
	}
	return device_limits_apply(process, &record);
}

static int set_limits(const struct json_tree *tree, const struct json_value *limits,
		      struct process *process)
{
	const struct json_value *value = NULL;
	int err = 0;

	while (!err && (value = json_tree_next(tree, limits, value)))
		err = add_limit(tree, value, process);
	return err;
}

/* The same process has the same number in each answer. */
static int set_number(struct top_remote *remote, struct process *process)
{
	const uint64_t key = event_process_key(process->pid, process->start_ns);
	const uint64_t *number = map_get(&remote->numbers, key);

	if (number) {
		process->number = *number;
		return 0;
	}
	process->number = ++remote->numbers_count;
	return map_set(&remote->numbers, key, process->number);
}

static int add_process(struct top_remote *remote, const struct json_value *value, uint64_t ts_ns)
{
	const struct json_tree *tree = &remote->tree;
	struct ms_event event = { .ts_ns = ts_ns };
	struct process *process;
	uint64_t pid, peak_bytes;
	int err;

	if (!json_tree_u64(tree, value, "pid", &pid) || pid > UINT32_MAX ||
	    !take_number(tree, value, "start_ns", &event.start_ns))
		return -EINVAL;
	event.pid = (uint32_t)pid;
	if (state_find(&remote->state, event.pid, event.start_ns))
		return -EINVAL;
	process = state_add(&remote->state, &event);
	if (!process)
		return -ENOMEM;
	err = set_number(remote, process);
	copy_text(process->comm, sizeof(process->comm), json_tree_text(tree, value, "comm"));
	if (!err)
		err = set_identity(tree, json_tree_member(tree, value, "identity"), process);
	copy_text(process->name, sizeof(process->name), json_tree_text(tree, value, "name"));
	process->was_running = json_tree_true(tree, value, "was_running");
	if (!process->was_running && !json_tree_true(tree, value, "exact"))
		process->counters[COUNTER_LOST_MEMORY] = 1;
	json_tree_u64(tree, value, "launches", &process->launches);
	json_tree_u64(tree, value, "graph_launches", &process->graph_launches);
	process->calls[MS_OP_LAUNCH] = process->launches + process->graph_launches;
	if (!err && json_tree_u64(tree, value, "peak_live_bytes", &peak_bytes))
		err = map_set(&remote->peaks, process->number, peak_bytes);
	set_spaces(tree, json_tree_member(tree, value, "spaces"), process);
	if (!err)
		err = set_limits(tree, json_tree_member(tree, value, "limits"), process);
	return err;
}

/* ---- devices --------------------------------------------------------------------------------- */

static bool set_uuid(struct device_identity *identity, const char *text)
{
	size_t i, digits = 0;

	if (!text || strncmp(text, "GPU-", 4) != 0)
		return false;
	for (i = 4; text[i] && digits < UUID_DIGITS; i++) {
		const char *hex = "0123456789abcdef", *found = strchr(hex, text[i]);

		if (text[i] == '-')
			continue;
		if (!found)
			return false;
		identity->uuid[digits / 2] =
			(uint8_t)(identity->uuid[digits / 2] << 4 | (found - hex));
		digits++;
	}
	return !text[i] && digits == UUID_DIGITS;
}

/* All of it, or nothing. */
static void set_told(const struct json_tree *tree, const struct json_value *value,
		     struct usage_told *told)
{
	uint64_t used_bytes;

	if (!json_tree_u64(tree, value, "told_ts_ns", &told->ts_ns) ||
	    !json_tree_u64(tree, value, "told_total_bytes", &told->total_bytes) ||
	    !json_tree_u64(tree, value, "told_used_bytes", &used_bytes) ||
	    used_bytes > told->total_bytes)
		*told = (struct usage_told){ 0 };
	else
		told->free_bytes = told->total_bytes - used_bytes;
}

static int add_device(struct top_remote *remote, const struct json_value *value)
{
	const struct json_tree *tree = &remote->tree;
	struct usage_totals *totals = remote->state.usage;
	struct usage_device *device;
	uint64_t ordinal;

	if (totals->count >= DEVICES_MOST)
		return 0;
	if (memory_grow(&totals->devices, &totals->capacity, totals->count + 1,
			sizeof(*totals->devices)))
		return -ENOMEM;
	device = &totals->devices[totals->count];
	*device = (struct usage_device){ .ordinal = -1, .same = totals->count, .used = true };
	totals->count++;
	if (json_tree_u64(tree, value, "device", &ordinal) && ordinal <= INT32_MAX)
		device->ordinal = (int32_t)ordinal;
	device->identity.has_uuid =
		set_uuid(&device->identity, json_tree_text(tree, value, "uuid"));
	copy_text(device->identity.name, sizeof(device->identity.name),
		  json_tree_text(tree, value, "name"));
	json_tree_u64(tree, value, "total_bytes", &device->identity.total_bytes);
	json_tree_u64(tree, value, "explained_bytes", &device->live_bytes);
	set_told(tree, value, &device->told);
	return 0;
}

static int add_nvml_device(struct top_remote *remote, const struct json_value *value)
{
	const struct json_tree *tree = &remote->tree;
	struct nvml_devices *devices = &remote->state.nvml_devices;
	struct ms_device record = { .event.type = MS_TYPE_DEVICE };
	const char *uuid = json_tree_text(tree, value, "uuid");
	uint64_t traced_bytes;
	const size_t count = devices->count;
	int err;

	if (!uuid)
		return -EINVAL;
	memcpy(record.uuid, uuid, strnlen(uuid, sizeof(record.uuid)));
	take_number(tree, value, "ts_ns", &record.event.ts_ns);
	if (take_number(tree, value, "total_bytes", &record.total_bytes) &&
	    take_number(tree, value, "used_bytes", &record.used_bytes) &&
	    take_number(tree, value, "free_bytes", &record.free_bytes))
		record.known |= MS_DEVICE_MEMORY;
	if (take_number(tree, value, "reserved_bytes", &record.reserved_bytes))
		record.known |= MS_DEVICE_RESERVED;
	if (take_number(tree, value, "processes_bytes", &record.processes_bytes))
		record.known |= MS_DEVICE_PROCESSES;
	err = nvml_devices_apply(devices, &record);
	json_tree_u64(tree, value, "traced_bytes", &traced_bytes);
	if (!err && devices->count > count)
		devices->devices[count].traced_bytes = traced_bytes;
	return err;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int add_all(struct top_remote *remote, const struct json_value *root, uint64_t ts_ns)
{
	const struct json_tree *tree = &remote->tree;
	const struct json_value *value = NULL, *list = json_tree_member(tree, root, "devices");
	int err = 0;

	while (!err && (value = json_tree_next(tree, list, value)))
		err = add_device(remote, value);
	list = json_tree_member(tree, root, "nvml_devices");
	while (!err && (value = json_tree_next(tree, list, value)))
		err = add_nvml_device(remote, value);
	list = json_tree_member(tree, root, "processes");
	while (!err && (value = json_tree_next(tree, list, value)))
		err = remote->state.processes_count < PROCESSES_MOST ?
			      add_process(remote, value, ts_ns) :
			      -EINVAL;
	return err;
}

/* Numbers of processes that have ended are not needed any more, once there are many. */
static int forget_numbers(struct top_remote *remote)
{
	const struct state *state = &remote->state;
	struct map kept = { 0 };
	size_t i;
	int err = 0;

	if (remote->numbers.count <= 2 * state->processes_count + 1000)
		return 0;
	for (i = 0; !err && i < state->processes_count; i++) {
		const struct process *process = state->processes[i];

		err = map_set(&kept, event_process_key(process->pid, process->start_ns),
			      process->number);
	}
	map_fini(err ? &kept : &remote->numbers);
	if (!err)
		remote->numbers = kept;
	return err;
}

static void empty(struct top_remote *remote)
{
	state_fini(&remote->state);
	remote->frame_ids = 0;
	memset(&remote->state, 0, sizeof(remote->state));
	map_fini(&remote->peaks);
	remote->asked = remote->at_ns = 0;
}

int top_remote_take(struct top_remote *remote, char *bytes, size_t length,
		    struct top_status *status)
{
	const struct json_value *root;
	const char *schema;
	uint64_t ts_ns;
	int err = json_tree_read(&remote->tree, bytes, length);

	empty(remote);
	if (err)
		return err;
	root = remote->tree.values;
	schema = json_tree_text(&remote->tree, root, "schema");
	if (!schema || strcmp(schema, SCHEMA) != 0 ||
	    !json_tree_u64(&remote->tree, root, "ts_ns", &ts_ns))
		return -EINVAL;
	status->losses = (struct losses){ 0 };
	json_tree_u64(&remote->tree, root, "lost", &status->losses.calls);
	status->hidden = 0;
	json_tree_u64(&remote->tree, root, "hidden_processes", &status->hidden);
	err = state_follow_usage(&remote->state);
	if (!err)
		err = add_all(remote, root, ts_ns);
	if (!err)
		err = forget_numbers(remote);
	if (err)
		empty(remote);
	else
		remote->at_ns = ts_ns;
	return err;
}
