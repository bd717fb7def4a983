// SPDX-License-Identifier: BSD-2-Clause
#include "render/who_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "host/nvml_library.h"
#include "render/field.h"
#include "render/who_cgroups.h"

#define MIB (1ull << 20)

/*
 * Memory that is in no process and needs no explanation: seen were 9 MiB for one context, for page
 * tables and the like (driver 580, H200). What the driver reserves is some 600 MiB.
 */
#define EXPECTED_BYTES (64 * MIB)
#define EXPECTED_PROCESS_BYTES (16 * MIB)
#define EXPECTED_RESERVED_BYTES (1024 * MIB)

#define KERNEL_LOG "sudo dmesg | grep -e NVRM -e Xid"
#define AS_ROOT "sudo memscope-bpf who"

static struct who_note *add(struct who_notes *notes, const char *command)
{
	struct who_note *note;

	if (memory_grow(&notes->notes, &notes->capacity, notes->count + 1, sizeof(*notes->notes))) {
		notes->failed = true;
		return NULL;
	}
	note = &notes->notes[notes->count++];
	*note = (struct who_note){ .command = command };
	return note;
}

static struct string *say(struct who_notes *notes, const char *command)
{
	static struct string none;
	struct who_note *note = add(notes, command);

	string_clear(&none);
	return note ? &note->what : &none;
}

static void reason(struct who_notes *notes, bool applies, const char *text)
{
	struct who_note *note = notes->count ? &notes->notes[notes->count - 1] : NULL;
	size_t i;

	for (i = 0; applies && note && i < WHO_REASONS; i++)
		if (!note->reasons[i]) {
			note->reasons[i] = text;
			return;
		}
}

/* ---- what NVML does not say of a device ------------------------------------------------------ */

static void note_results(struct who_notes *notes, const struct nvml_device *device)
{
	if (device->device_result) {
		string_append_format(say(notes, KERNEL_LOG),
				     "NVML gives no numbers for this device: %s",
				     nvml_result_words(device->device_result));
		return;
	}
	if (!device->whole)
		string_append_text(say(notes, NULL),
				   "NVML stopped answering while it was asked about this device");
	if (device->memory_result == NVML_NOT_SUPPORTED)
		string_append_text(
			say(notes, "grep -e MemTotal -e MemAvailable /proc/meminfo"),
			"NVML has no total for this device, as where a GPU uses the machine's"
			" memory: what is used and free is not known, only what processes hold");
	else if (device->memory_result)
		string_append_format(say(notes, NULL),
				     "How much memory is used is not known: NVML says \"%s\"",
				     nvml_result_words(device->memory_result));
	if (device->processes_result)
		string_append_format(
			say(notes, device->processes_result == NVML_NO_PERMISSION ? AS_ROOT : NULL),
			"NVML does not list processes: %s",
			nvml_result_words(device->processes_result));
	if (device->absurd)
		string_append_format(say(notes, KERNEL_LOG),
				     "%u impossible numbers of NVML are left out", device->absurd);
}

/* ---- memory in no process -------------------------------------------------------------------- */

struct openers {
	uint32_t unlisted; /* processes that have the device open and that NVML does not list */
	uint32_t shown;    /* so many of them are not left out */
	uint32_t first;    /* pid of one of those */
};

static struct openers openers_of(const struct who *who, const struct holders_device *device)
{
	const struct holders *holders = who->holders;
	struct openers openers = { 0 };
	uint32_t i;

	for (i = device->first; i < device->first + device->count; i++) {
		const struct holding *holding = &holders->holdings[i];

		if (holding->listed || holding->elsewhere)
			continue;
		openers.unlisted++;
		if (!who->processes[holding->holder].left_out && !openers.shown++)
			openers.first = holders->holders[holding->holder].pid;
	}
	return openers;
}

static uint64_t expected_rest(const struct holders_device *device, const struct nvml_device *nvml)
{
	return EXPECTED_BYTES + device->listed * EXPECTED_PROCESS_BYTES +
	       (nvml->has_reserved ? 0 : EXPECTED_RESERVED_BYTES);
}

static const char *next_command(const struct holders *holders, const struct openers *openers)
{
	if (!holders->all_pids)
		return "sudo memscope-bpf who # on the host";
	if (holders->refused)
		return AS_ROOT;
	return openers->unlisted ? "sudo fuser -v /dev/nvidia*" : KERNEL_LOG;
}

static const char *opener_holds_it(const struct openers *openers)
{
	if (openers->shown == openers->unlisted)
		return "a process above that has the device open holds it";
	return openers->shown ?
		       "a process that has the device open holds it, one above or one left out" :
		       "a process that has the device open and is left out here holds it";
}

static void note_rest(struct who_notes *notes, const struct who *who,
		      const struct holders_device *device)
{
	const struct holders *holders = who->holders;
	const struct nvml_device *nvml = holders_nvml(holders, device);
	const struct openers openers = openers_of(who, device);
	char size[STRING_NUMBER_BYTES];

	if (!device->has_rest || device->rest_bytes <= expected_rest(device, nvml))
		return;
	string_append_format(say(notes, next_command(holders, &openers)),
			     device->listed ? "%s are used, but not by a process that NVML lists" :
					      "%s are used, but NVML lists no process",
			     string_size(size, device->rest_bytes));
	reason(notes, openers.unlisted, opener_holds_it(&openers));
	reason(notes, !holders->all_pids,
	       "a process in another PID namespace holds it, or one that /proc hides");
	reason(notes, holders->refused,
	       "a process of another user holds it, whose descriptors must not be looked at");
	reason(notes, true,
	       "a process has ended, but the driver has not given its memory back: one of its"
	       " threads hangs in the kernel, or another process keeps its descriptors");
	reason(notes, !nvml->has_reserved,
	       "the driver reserves it, which this version of NVML does not tell apart");
	reason(notes, true,
	       "the driver uses it itself: for displays, page tables, MIG or virtual GPUs");
}

/* ---- strange processes ----------------------------------------------------------------------- */

static void note_absent(struct who_notes *notes, const struct who *who,
			const struct holders_device *device, const struct holder *holder)
{
	const struct holders *holders = who->holders;
	const struct openers openers = openers_of(who, device);
	struct string *what = say(notes, next_command(holders, &openers));

	string_append_format(what, "NVML lists process %u, which is not in /proc", holder->pid);
	if (openers.shown)
		string_append_format(what, "; process %u has the device open and is not listed",
				     openers.first);
	else if (openers.unlisted)
		string_append_text(what, "; a process that is left out here has the device open"
					 " and is not listed");
	reason(notes, openers.unlisted,
	       "it has ended, and a child or another process keeps its descriptors");
	reason(notes, !holders->all_pids, "it is in another PID namespace, or /proc hides it");
	reason(notes, true, "it has just ended");
}

static void note_processes(struct who_notes *notes, const struct who *who,
			   const struct holders_device *device)
{
	const struct holders *holders = who->holders;
	uint32_t i;

	for (i = device->first; i < device->first + device->count; i++) {
		const struct holding *holding = &holders->holdings[i];
		const struct holder *holder = &holders->holders[holding->holder];

		if (!holding->listed || who->processes[holding->holder].left_out)
			continue;
		if (!holder->present) {
			note_absent(notes, who, device, holder);
		} else if (holder->info.zombie) {
			string_append_format(
				say(notes, "ps -eLo pid,tid,ppid,stat,wchan:32,comm | grep -w Z"),
				"Process %u has ended and still holds memory", holder->pid);
			reason(notes, true, "threads of it still run, or hang in the driver");
			reason(notes, true, "another process keeps its descriptors");
		} else if (!holder->files_err && !nvidia_files_any(&holder->files)) {
			string_append_format(say(notes, NULL),
					     "Process %u has no descriptor of the driver's",
					     holder->pid);
			reason(notes, !holders->all_pids,
			       "NVML's number is of another PID namespace: it is another process");
			reason(notes, true,
			       "it has passed its descriptors on, or a thread of it has them");
		}
	}
}

/* ---- what is of no device -------------------------------------------------------------------- */

static void note_tracing(struct who_notes *notes)
{
	string_append_text(say(notes, "sudo memscope-bpf top -a # or trace -a: each call"),
			   "What processes allocate from now on can be seen without NVML: by"
			   " tracing them");
}

static void note_nvml(struct who_notes *notes, const struct nvml_snapshot *nvml)
{
	struct string *what;

	switch (nvml->state) {
	case NVML_ABSENT:
		what = say(notes, "ldconfig -p | grep libnvidia-ml");
		string_append_text(what, "There is no libnvidia-ml.so.1 here (NVML): how much"
					 " memory is used, and by whom, is not known");
		reason(notes, true, "no NVIDIA driver is installed");
		reason(notes, true,
		       "a container has none: NVIDIA_DRIVER_CAPABILITIES must name utility");
		note_tracing(notes);
		return;
	case NVML_FAILING:
		what = say(notes, nvml->hangs ? KERNEL_LOG : "nvidia-smi");
		string_append_text(what, "NVML does not work: ");
		field_append_safe(what, nvml->problem, strlen(nvml->problem));
		note_tracing(notes);
		return;
	case NVML_UNASKED:
		string_append_text(say(notes, NULL), "NVML was not asked");
		return;
	default:
		break;
	}
	if (nvml->problem[0]) {
		what = say(notes, KERNEL_LOG);
		string_append_text(what, "NVML did not say all: ");
		field_append_safe(what, nvml->problem, strlen(nvml->problem));
	}
	if (nvml->cut)
		string_append_text(say(notes, NULL),
				   "There are more devices or processes than are shown");
}

static void note_sight(struct who_notes *notes, const struct holders *holders)
{
	if (holders->refused)
		string_append_format(say(notes, AS_ROOT),
				     "The descriptors of %zu processes of other users could not be"
				     " looked at",
				     holders->refused);
	if (!holders->all_pids)
		string_append_text(say(notes, "sudo memscope-bpf who # on the host"),
				   "Not all processes of the machine can be seen from here: this"
				   " is not the initial PID namespace, or /proc hides them");
}

/* ---- limits of cgroups ----------------------------------------------------------------------- */

/* What is free on the region's device, by NVML, else by the kernel. */
static bool free_of(const struct holders *holders, const struct dmem_region *region,
		    uint64_t *bytes)
{
	char pci[DMEM_PCI_BYTES];
	size_t i;

	for (i = 0; dmem_pci(region->name, pci) && i < holders->devices_count; i++) {
		const struct nvml_device *nvml = holders_nvml(holders, &holders->devices[i]);

		if (!nvml || !nvml->has_memory || holders->devices[i].parent >= 0 ||
		    strcasecmp(holders->devices[i].pci, pci) != 0)
			continue;
		*bytes = nvml->free_bytes;
		return true;
	}
	if (!(region->known & DMEM_DEVICE) || region->capacity_bytes < region->device_used_bytes)
		return false;
	*bytes = region->capacity_bytes - region->device_used_bytes;
	return true;
}

static void note_limit(struct who_notes *notes, const struct who *who, const struct dmem *cgroup,
		       const struct dmem_region *region)
{
	struct string *what = say(notes, "sudo memscope-bpf who --by cgroup");
	char size[STRING_NUMBER_BYTES];
	uint64_t bytes;

	string_append_text(what, "Programs of cgroup ");
	who_cgroups_append_limited(what, cgroup, region);
	string_append_format(what, " use %s", string_size(size, region->limit_used_bytes));
	string_append_format(what, " of the %s that they may use of ",
			     string_size(size, region->limit_bytes));
	field_append_safe(what, region->name, strlen(region->name));
	string_append_format(what, ": they cannot allocate more than %s",
			     string_size(size, dmem_left(region)));
	if (free_of(who->holders, region, &bytes))
		string_append_format(what, ", although %s of the device are free",
				     string_size(size, bytes));
}

/* Of cgroups with one limit in common, it is said once. */
static bool is_said(const struct who *who, size_t cgroup, const struct dmem_region *region)
{
	size_t i, j;

	for (i = 0; i < cgroup; i++) {
		const struct dmem *other = &who->cgroups[i];

		for (j = 0; j < other->count && who_cgroups_is_shown(who, i); j++)
			if (other->regions[j].known & DMEM_LIMIT &&
			    !strcmp(other->regions[j].name, region->name) &&
			    other->regions[j].limit_path_bytes == region->limit_path_bytes &&
			    !strncmp(other->path, who->cgroups[cgroup].path,
				     region->limit_path_bytes))
				return true;
	}
	return false;
}

static void note_limits(struct who_notes *notes, const struct who *who)
{
	size_t i, j;

	for (i = 0; i < who->cgroups_count; i++)
		for (j = 0; j < who->cgroups[i].count && who_cgroups_is_shown(who, i); j++) {
			const struct dmem_region *region = &who->cgroups[i].regions[j];

			if (who_cgroups_is_close(region) && !is_said(who, i, region))
				note_limit(notes, who, &who->cgroups[i], region);
		}
}

void who_notes_make(struct who_notes *notes, const struct who *who, int64_t place)
{
	const struct holders *holders = who->holders;
	const struct holders_device *device;

	if (place < 0) {
		note_nvml(notes, holders->nvml);
		note_sight(notes, holders);
		note_limits(notes, who);
		return;
	}
	device = &holders->devices[place];
	if (device->nvml < 0) {
		if (holders->nvml->state == NVML_READY)
			string_append_text(say(notes, KERNEL_LOG), "NVML has no such device");
		return;
	}
	note_results(notes, holders_nvml(holders, device));
	note_rest(notes, who, device);
	note_processes(notes, who, device);
}

void who_notes_fini(struct who_notes *notes)
{
	size_t i;

	for (i = 0; i < notes->count; i++)
		string_fini(&notes->notes[i].what);
	free(notes->notes);
	memset(notes, 0, sizeof(*notes));
}
