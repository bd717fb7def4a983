// SPDX-License-Identifier: BSD-2-Clause
#include "host/holders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

#define GPUS_MAX 256
#define INITIAL_PIDS "pid:[4026531836]" /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

/* ---- processes ------------------------------------------------------------------------------- */

static struct holder *find_holder(struct holders *holders, uint32_t pid)
{
	size_t i;

	for (i = 0; i < holders->holders_count; i++)
		if (holders->holders[i].pid == pid)
			return &holders->holders[i];
	return NULL;
}

static int add_holder(struct holders *holders, const struct holder *holder)
{
	int err = memory_grow(&holders->holders, &holders->holders_capacity,
			      holders->holders_count + 1, sizeof(*holders->holders));

	if (!err)
		holders->holders[holders->holders_count++] = *holder;
	return err;
}

static void read_holder(pid_t pid, const struct nvidia_majors *majors, struct holder *holder)
{
	*holder = (struct holder){ .pid = (uint32_t)pid };
	holder->files_err = nvidia_files_scan(pid, majors, &holder->files);
}

/* Whether the process of that number is one of this tool's. */
static bool is_own(pid_t pid, const struct nvml *nvml)
{
	return pid == getpid() || (nvml && pid == *nvml_child(nvml));
}

static int scan_process(struct holders *holders, pid_t pid, const struct nvidia_majors *majors)
{
	struct proc_info info;
	struct holder holder;

	read_holder(pid, majors, &holder);
	if (holder.files_err == -EACCES && !proc_read(pid, &info) && !info.kernel_thread)
		holders->refused++;
	if (holder.files_err)
		return 0;
	holders->looked++;
	if (!nvidia_files_any(&holder.files))
		return 0;
	holder.present = !proc_read(pid, &holder.info);
	return add_holder(holders, &holder);
}

struct scan {
	struct holders *holders;
	const struct nvml *nvml;
	const struct nvidia_majors *majors;
};

static int scan_others(pid_t pid, void *context)
{
	const struct scan *scan = context;

	return is_own(pid, scan->nvml) ? 0 : scan_process(scan->holders, pid, scan->majors);
}

/*
 * Those that NVML lists and that no descriptor told of. A pid that is this tool's own here is of
 * another PID namespace: it holds no memory.
 */
static int add_listed(struct holders *holders, const struct nvidia_majors *majors)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < holders->nvml->processes_count; i++) {
		const pid_t pid = (pid_t)holders->nvml->processes[i].pid;
		struct holder holder;

		if (find_holder(holders, (uint32_t)pid))
			continue;
		read_holder(pid, majors, &holder);
		holder.present = !proc_read(pid, &holder.info);
		err = add_holder(holders, &holder);
	}
	return err;
}

/* ---- devices --------------------------------------------------------------------------------- */

static struct holders_device *add_device(struct holders *holders, int *err)
{
	struct holders_device *device;

	*err = memory_grow(&holders->devices, &holders->devices_capacity,
			   holders->devices_count + 1, sizeof(*holders->devices));
	if (*err)
		return NULL;
	device = &holders->devices[holders->devices_count++];
	*device = (struct holders_device){ .nvml = -1, .parent = -1 };
	return device;
}

static int add_nvml_devices(struct holders *holders)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < holders->nvml->devices_count; i++) {
		const struct nvml_device *from = &holders->nvml->devices[i];
		struct holders_device *device = add_device(holders, &err);

		if (!device)
			break;
		device->nvml = (int32_t)i;
		device->parent = from->parent;
		device->has_minor = from->has_minor;
		device->minor = from->minor;
		memcpy(device->pci, from->pci, sizeof(device->pci));
		memcpy(device->uuid, from->uuid, sizeof(device->uuid));
		memcpy(device->name, from->name, sizeof(device->name));
	}
	return err;
}

static bool is_gpu(const struct holders_device *device, const struct nvidia_gpu *gpu)
{
	if (device->parent >= 0)
		return false;
	return (gpu->pci[0] && !strcasecmp(device->pci, gpu->pci)) ||
	       (gpu->uuid[0] && !strcasecmp(device->uuid, gpu->uuid));
}

static void fill(char text[NVML_NAME_BYTES], const char *from)
{
	if (!text[0])
		snprintf(text, NVML_NAME_BYTES, "%s", from);
}

/* What /proc knows of a device that NVML does not. */
static int add_gpu(struct holders *holders, const struct nvidia_gpu *gpu)
{
	struct holders_device *device = NULL;
	size_t i;
	int err = 0;

	for (i = 0; !device && i < holders->devices_count; i++)
		if (is_gpu(&holders->devices[i], gpu))
			device = &holders->devices[i];
	if (!device)
		device = add_device(holders, &err);
	if (!device)
		return err;
	fill(device->pci, gpu->pci);
	fill(device->uuid, gpu->uuid);
	fill(device->name, gpu->name);
	if (!device->has_minor && gpu->has_minor) {
		device->has_minor = true;
		device->minor = gpu->minor;
	}
	return 0;
}

static int64_t device_of_minor(const struct holders *holders, uint32_t minor)
{
	size_t i;

	for (i = 0; i < holders->devices_count; i++) {
		const struct holders_device *device = &holders->devices[i];

		if (device->parent < 0 && device->has_minor && device->minor == minor)
			return (int64_t)i;
	}
	return -1;
}

/* Devices that only descriptors tell of. */
static int add_minors(struct holders *holders)
{
	struct holders_device *device;
	uint32_t minor;
	size_t i;
	int err = 0;

	for (minor = 0; !err && minor < NVIDIA_MINORS; minor++) {
		for (i = 0; i < holders->holders_count; i++)
			if (nvidia_files_has(&holders->holders[i].files, minor))
				break;
		if (i == holders->holders_count || device_of_minor(holders, minor) >= 0)
			continue;
		device = add_device(holders, &err);
		if (!device)
			break;
		device->has_minor = true;
		device->minor = minor;
	}
	return err;
}

/* ---- who holds what -------------------------------------------------------------------------- */

static int add_holding(struct holders *holders, const struct holding *holding)
{
	int err = memory_grow(&holders->holdings, &holders->holdings_capacity,
			      holders->holdings_count + 1, sizeof(*holders->holdings));

	if (!err)
		holders->holdings[holders->holdings_count++] = *holding;
	return err;
}

/* The device whose descriptors count for it. */
static uint32_t whole_device(const struct holders *holders, uint32_t place)
{
	const int32_t parent = holders->devices[place].parent;

	return parent >= 0 && (size_t)parent < holders->devices_count ? (uint32_t)parent : place;
}

static int add_listed_holdings(struct holders *holders)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < holders->nvml->processes_count; i++) {
		const struct nvml_process *process = &holders->nvml->processes[i];
		struct holder *holder = find_holder(holders, process->pid);
		const struct holders_device *whole;
		struct holding holding = {
			.device = process->device,
			.listed = true,
			.has_used = process->has_used,
			.used_bytes = process->used_bytes,
			.kinds = process->kinds,
		};

		if (!holder)
			continue;
		holder->listed = true;
		holding.holder = (uint32_t)(holder - holders->holders);
		whole = &holders->devices[whole_device(holders, process->device)];
		holding.open = whole->has_minor && nvidia_files_has(&holder->files, whole->minor);
		err = add_holding(holders, &holding);
	}
	return err;
}

static bool has_holding(const struct holders *holders, uint32_t holder, uint32_t device)
{
	size_t i;

	for (i = 0; i < holders->holdings_count; i++)
		if (holders->holdings[i].holder == holder &&
		    whole_device(holders, holders->holdings[i].device) == device)
			return true;
	return false;
}

static int add_open_holdings(struct holders *holders, uint32_t place)
{
	const struct holder *holder = &holders->holders[place];
	uint32_t minor;
	int err = 0;

	for (minor = 0; !err && minor < NVIDIA_MINORS; minor++) {
		struct holding holding = { .holder = place,
					   .open = true,
					   .elsewhere = holder->listed };

		if (!nvidia_files_has(&holder->files, minor))
			continue;
		holding.device = (uint32_t)device_of_minor(holders, minor);
		/* Who is not listed has no holdings but these. */
		if (!holder->listed || !has_holding(holders, place, holding.device))
			err = add_holding(holders, &holding);
	}
	return err;
}

static int by_device(const void *left, const void *right)
{
	const struct holding *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->listed != b->listed)
		return a->listed ? -1 : 1;
	if (a->used_bytes != b->used_bytes)
		return a->used_bytes > b->used_bytes ? -1 : 1;
	return a->holder < b->holder ? -1 : a->holder > b->holder;
}

/* ---- sums ------------------------------------------------------------------------------------ */

const struct nvml_device *holders_nvml(const struct holders *holders,
				       const struct holders_device *device)
{
	return device->nvml >= 0 ? &holders->nvml->devices[device->nvml] : NULL;
}

static void sum_device(struct holders *holders, struct holders_device *device)
{
	const struct nvml_device *nvml = holders_nvml(holders, device);
	uint32_t i;

	device->has_in_processes = nvml && nvml->whole && !nvml->processes_result &&
				   !nvml->device_result && !holders->nvml->cut;
	for (i = device->first; i < device->first + device->count; i++) {
		const struct holding *holding = &holders->holdings[i];

		device->listed += holding->listed;
		if (!holding->listed)
			continue;
		device->has_in_processes &= holding->has_used;
		device->in_processes_bytes += holding->used_bytes;
	}
}

/* A device that is divided holds what its instances hold. */
static void sum_rest(struct holders *holders, size_t place)
{
	struct holders_device *device = &holders->devices[place];
	const struct nvml_device *nvml = holders_nvml(holders, device);
	uint64_t held = device->in_processes_bytes;
	bool known = device->has_in_processes && nvml->has_memory;
	size_t i;

	for (i = 0; known && i < holders->devices_count; i++) {
		if (holders->devices[i].parent != (int32_t)place)
			continue;
		known = holders->devices[i].has_in_processes;
		held += holders->devices[i].in_processes_bytes;
	}
	device->has_rest = known;
	if (known)
		device->rest_bytes = nvml->used_bytes > held ? nvml->used_bytes - held : 0;
}

static void sum_up(struct holders *holders)
{
	size_t i;

	for (i = 0; i < holders->holdings_count; i++) {
		struct holders_device *device = &holders->devices[holders->holdings[i].device];

		if (!device->count)
			device->first = (uint32_t)i;
		device->count++;
	}
	for (i = 0; i < holders->devices_count; i++)
		sum_device(holders, &holders->devices[i]);
	for (i = 0; i < holders->devices_count; i++)
		sum_rest(holders, i);
}

int holders_join(struct holders *holders)
{
	size_t i;
	int err = add_nvml_devices(holders);

	for (i = 0; !err && i < holders->gpus_count; i++)
		err = add_gpu(holders, &holders->gpus[i]);
	if (!err)
		err = add_minors(holders);
	if (!err)
		err = add_listed_holdings(holders);
	for (i = 0; !err && i < holders->holders_count; i++)
		err = add_open_holdings(holders, (uint32_t)i);
	if (err)
		return err;
	if (holders->holdings_count)
		qsort(holders->holdings, holders->holdings_count, sizeof(*holders->holdings),
		      by_device);
	sum_up(holders);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* With hidepid, /proc does not show even the first process to other users. */
static bool sees_all_pids(void)
{
	char name[64];
	const ssize_t length = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

	if (length <= 0)
		return false;
	name[length] = '\0';
	return !strcmp(name, INITIAL_PIDS) && !access("/proc/1/stat", F_OK);
}

static int begin(struct holders *holders)
{
	const uint64_t offset = clock_realtime_offset_ns();

	holders_fini(holders);
	holders->nvml = calloc(1, sizeof(*holders->nvml));
	holders->gpus = calloc(GPUS_MAX, sizeof(*holders->gpus));
	if (!holders->nvml || !holders->gpus)
		return -ENOMEM;
	holders->now_ns = clock_monotonic_ns() + offset;
	holders->booted_ns = offset - clock_boottime_offset_ns();
	holders->all_pids = sees_all_pids();
	return 0;
}

int holders_read(struct holders *holders, struct nvml *nvml, int call_ms)
{
	struct nvidia_majors majors;
	int err = begin(holders);

	if (err)
		return err;
	if (nvml)
		nvml_ask(nvml);
	/* NVML takes longer than all of this. */
	majors = nvidia_majors_read();
	nvidia_version_read(holders->driver, sizeof(holders->driver), &holders->open_flavour);
	holders->gpus_count = nvidia_gpus_read(holders->gpus, GPUS_MAX);
	err = proc_each(scan_others, &(struct scan){ holders, nvml, &majors });
	if (nvml)
		nvml_take(nvml, call_ms, holders->nvml);
	if (!err)
		err = add_listed(holders, &majors);
	return err ? err : holders_join(holders);
}

void holders_fini(struct holders *holders)
{
	free(holders->nvml);
	free(holders->gpus);
	free(holders->holders);
	free(holders->devices);
	free(holders->holdings);
	memset(holders, 0, sizeof(*holders));
}
