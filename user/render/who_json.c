// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "render/identity_words.h"
#include "render/json_writer.h"
#include "render/who.h"
#include "render/who_cgroups.h"
#include "render/who_groups.h"
#include "render/who_notes.h"

static void put_known_text(struct json *json, const char *name, const char *text)
{
	json_put_text(json, name, text[0] ? text : NULL);
}

static void put_notes(struct json *json, const struct who *who, int64_t device)
{
	struct who_notes notes = { 0 };
	size_t i, j;

	json_name(json, "notes");
	json_open(json, '[');
	who_notes_make(&notes, who, device);
	for (i = 0; i < notes.count; i++) {
		const struct who_note *note = &notes.notes[i];

		json_open(json, '{');
		json_name(json, "what");
		json_text(json, note->what.bytes, note->what.length);
		json_name(json, "reasons");
		json_open(json, '[');
		for (j = 0; j < WHO_REASONS && note->reasons[j]; j++)
			json_text(json, note->reasons[j], strlen(note->reasons[j]));
		json_close(json, ']');
		json_put_text(json, "next", note->command);
		json_close(json, '}');
	}
	json->out->failed |= notes.failed;
	who_notes_fini(&notes);
	json_close(json, ']');
}

/* ---- devices --------------------------------------------------------------------------------- */

static void put_holding(struct json *json, const struct holders *holders,
			const struct holding *holding)
{
	const struct holder *holder = &holders->holders[holding->holder];

	json_open(json, '{');
	json_put_u64(json, "pid", holder->pid);
	json_put_bool(json, "listed", holding->listed);
	json_put_if(json, "used_bytes", holding->has_used, holding->used_bytes);
	json_put_bool(json, "compute", holding->kinds & NVML_COMPUTE);
	json_put_bool(json, "graphics", holding->kinds & NVML_GRAPHICS);
	json_put_bool(json, "mps", holding->kinds & NVML_MPS);
	json_name(json, "open");
	if (holder->files_err)
		json_null(json);
	else
		json_bool(json, holding->open);
	json_put_bool(json, "elsewhere", holding->elsewhere);
	json_close(json, '}');
}

static void put_memory(struct json *json, const struct holders_device *device,
		       const struct nvml_device *nvml)
{
	const bool known = nvml && nvml->has_memory;

	json_put_if(json, "total_bytes", known, known ? nvml->total_bytes : 0);
	json_put_if(json, "used_bytes", known, known ? nvml->used_bytes : 0);
	json_put_if(json, "free_bytes", known, known ? nvml->free_bytes : 0);
	json_put_if(json, "reserved_bytes", known && nvml->has_reserved,
		    known ? nvml->reserved_bytes : 0);
	json_put_if(json, "in_processes_bytes", device->has_in_processes,
		    device->in_processes_bytes);
	json_put_if(json, "in_no_process_bytes", device->has_rest, device->rest_bytes);
}

static void put_results(struct json *json, const struct nvml_device *nvml)
{
	const int32_t results[] = { nvml ? nvml->device_result : 0, nvml ? nvml->memory_result : 0,
				    nvml ? nvml->processes_result : 0 };
	static const char *const names[] = { "device", "memory", "processes" };
	size_t i;

	json_name(json, "problems");
	json_open(json, '{');
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_put_text(json, names[i], results[i] ? nvml_result_words(results[i]) : NULL);
	json_close(json, '}');
	json_put_bool(json, "whole", nvml && nvml->whole);
	json_put_u64(json, "absurd_values", nvml ? nvml->absurd : 0);
}

static void put_device(struct json *json, const struct who *who, size_t place)
{
	const struct holders_device *device = &who->holders->devices[place];
	const struct nvml_device *nvml = holders_nvml(who->holders, device);
	const bool instance = nvml && device->parent >= 0, rates = nvml && nvml->has_utilisation;
	uint32_t i;

	json_open(json, '{');
	json_put_if(json, "index", nvml, nvml ? nvml->index : 0);
	json_put_if(json, "instance_of", device->parent >= 0,
		    device->parent >= 0 ? (uint32_t)device->parent : 0);
	json_put_if(json, "gpu_instance", instance && nvml->gpu_instance != NVML_NO_INSTANCE,
		    nvml ? nvml->gpu_instance : 0);
	json_put_if(json, "compute_instance",
		    instance && nvml->compute_instance != NVML_NO_INSTANCE,
		    nvml ? nvml->compute_instance : 0);
	json_put_bool(json, "mig", nvml && nvml->mig);
	put_known_text(json, "uuid", device->uuid);
	put_known_text(json, "name", device->name);
	put_known_text(json, "pci", device->pci);
	json_put_if(json, "minor", device->has_minor, device->minor);
	put_memory(json, device, nvml);
	json_put_if(json, "gpu_percent", rates, rates ? nvml->gpu_percent : 0);
	json_put_if(json, "memory_percent", rates, rates ? nvml->memory_percent : 0);
	put_results(json, nvml);
	json_name(json, "processes");
	json_open(json, '[');
	for (i = device->first; i < device->first + device->count; i++) {
		const struct holding *holding = &who->holders->holdings[i];

		if (!who->processes[holding->holder].left_out)
			put_holding(json, who->holders, holding);
	}
	json_close(json, ']');
	put_notes(json, who, (int64_t)place);
	json_close(json, '}');
}

/* ---- processes ------------------------------------------------------------------------------- */

static void put_files(struct json *json, const struct holder *holder)
{
	const struct nvidia_files *files = &holder->files;
	uint32_t minor;

	json_name(json, "files");
	if (holder->files_err) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "devices", files->devices);
	json_put_u64(json, "control", files->control);
	json_put_u64(json, "uvm", files->uvm);
	json_put_u64(json, "uvm_tools", files->tools);
	json_put_u64(json, "caps", files->caps);
	json_name(json, "minors");
	json_open(json, '[');
	for (minor = 0; minor < NVIDIA_MINORS; minor++)
		if (nvidia_files_has(files, minor))
			json_u64(json, minor);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_process(struct json *json, const struct who *who, size_t place)
{
	const struct holders *holders = who->holders;
	const struct holder *holder = &holders->holders[place];
	const uint64_t start_ns = holders->booted_ns + holder->info.start_ns;
	char text[CLOCK_TEXT_BYTES];

	json_open(json, '{');
	json_put_u64(json, "pid", holder->pid);
	json_put_bool(json, "present", holder->present);
	json_put_text(json, "comm", holder->present ? holder->info.comm : NULL);
	put_known_text(json, "name", who->processes[place].name);
	json_put_text(json, "started", holder->present ? clock_utc_text(text, start_ns) : NULL);
	json_put_if(json, "age_ns", holder->present,
		    holders->now_ns > start_ns ? holders->now_ns - start_ns : 0);
	json_put_bool(json, "zombie", holder->present && holder->info.zombie);
	json_put_bool(json, "listed", holder->listed);
	put_files(json, holder);
	json_name(json, "identity");
	identity_words_json(json, &who->processes[place].identity);
	json_close(json, '}');
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void put_nvml(struct json *json, const struct nvml_snapshot *nvml)
{
	static const char *const states[] = {
		[NVML_UNASKED] = "unasked",
		[NVML_ABSENT] = "absent",
		[NVML_FAILING] = "failing",
		[NVML_READY] = "ready",
	};

	json_name(json, "nvml");
	json_open(json, '{');
	json_put_text(json, "state", states[nvml->state]);
	put_known_text(json, "problem", nvml->problem);
	json_put_bool(json, "hangs", nvml->hangs);
	json_put_bool(json, "cut", nvml->cut);
	json_put_u64(json, "took_ns", nvml->ns);
	json_close(json, '}');
}

void who_append_json(struct string *out, const struct who *who)
{
	const struct holders *holders = who->holders;
	struct json json = { .out = out };
	char text[CLOCK_TEXT_BYTES];
	size_t i;

	json_open(&json, '{');
	json_put_text(&json, "schema", WHO_SCHEMA);
	json_put_text(&json, "time", clock_utc_text(text, holders->now_ns));
	put_known_text(&json, "driver",
		       holders->driver[0] ? holders->driver : holders->nvml->driver);
	json_put_bool(&json, "open_kernel_modules", holders->open_flavour);
	put_nvml(&json, holders->nvml);
	json_name(&json, "devices");
	json_open(&json, '[');
	for (i = 0; i < holders->devices_count; i++)
		put_device(&json, who, i);
	json_close(&json, ']');
	json_name(&json, "processes");
	json_open(&json, '[');
	for (i = 0; i < holders->holders_count; i++)
		if (!who->processes[i].left_out)
			put_process(&json, who, i);
	json_close(&json, ']');
	who_cgroups_json(&json, who);
	who_groups_json(&json, who);
	json_put_u64(&json, "processes_left_out", who->left_out);
	json_put_u64(&json, "processes_looked_at", holders->looked);
	json_put_u64(&json, "processes_refused", holders->refused);
	json_put_bool(&json, "all_processes_visible", holders->all_pids);
	put_notes(&json, who, WHO_NO_DEVICE);
	json_close(&json, '}');
	string_append_char(out, '\n');
}
