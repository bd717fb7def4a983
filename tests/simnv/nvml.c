// SPDX-License-Identifier: BSD-2-Clause
/*
 * The functions of NVML that memscope-bpf uses, for an age of the interface: SIMNV_AGE. Written
 * from what is documented, apart from user/host/nvml_library.h, so that a mistake there shows.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "simnv.h"

#define API __attribute__((visibility("default")))

typedef struct simnv_device *device_t;

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

/* ---- what a rule says of a call -------------------------------------------------------------- */

static int index_of(device_t device)
{
	return device ? (int)(device - simnv.devices) : -1;
}

static void wait_ms(int ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* Returns what the call is to return; 0: what it would. */
static int rule(const char *call, device_t device)
{
	int i, result = 0;

	for (i = 0; i < simnv.rules_count; i++) {
		const struct simnv_rule *row = &simnv.rules[i];

		if (strcmp(row->call, call) != 0 ||
		    (row->device >= 0 && device && row->device != index_of(device)))
			continue;
		if (!strcmp(row->what, "hang"))
			for (;;)
				pause();
		if (!strcmp(row->what, "crash"))
			abort();
		if (!strcmp(row->what, "slow"))
			wait_ms(row->value);
		if (!strcmp(row->what, "fail"))
			result = row->value;
	}
	return result;
}

static int text(const char *call, device_t device, const char *value, char *out, unsigned int bytes)
{
	int result = rule(call, device);

	if (result)
		return result;
	if (strlen(value) >= bytes)
		return INSUFFICIENT_SIZE;
	strcpy(out, value);
	return value[0] ? SUCCESS : NOT_SUPPORTED;
}

/* ---- the library and its devices ------------------------------------------------------------- */

API int nvmlInit_v2(void);
API int nvmlSystemGetDriverVersion(char *out, unsigned int bytes);
API int nvmlDeviceGetCount_v2(unsigned int *count);
API int nvmlDeviceGetHandleByIndex_v2(unsigned int index, device_t *device);
API int nvmlDeviceGetUUID(device_t device, char *out, unsigned int bytes);
API int nvmlDeviceGetName(device_t device, char *out, unsigned int bytes);
API int nvmlDeviceGetMinorNumber(device_t device, unsigned int *minor);

int nvmlInit_v2(void)
{
	simnv_read();
	/* As the real one does. */
	if (getenv("SIMNV_MAPS"))
		dlopen(getenv("SIMNV_MAPS"), RTLD_LAZY);
	return rule("nvmlInit_v2", NULL);
}

int nvmlSystemGetDriverVersion(char *out, unsigned int bytes)
{
	return text("nvmlSystemGetDriverVersion", NULL, simnv.driver, out, bytes);
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	int i;

	simnv_read();
	*count = 0;
	for (i = 0; i < simnv.devices_count; i++)
		*count += simnv.devices[i].parent < 0;
	return rule("nvmlDeviceGetCount_v2", NULL);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, device_t *device)
{
	int i;

	for (i = 0; i < simnv.devices_count; i++) {
		if (simnv.devices[i].parent >= 0 || index--)
			continue;
		*device = &simnv.devices[i];
		return rule("nvmlDeviceGetHandleByIndex_v2", *device);
	}
	return INVALID_ARGUMENT;
}

int nvmlDeviceGetUUID(device_t device, char *out, unsigned int bytes)
{
	return text("nvmlDeviceGetUUID", device, device->uuid, out, bytes);
}

int nvmlDeviceGetName(device_t device, char *out, unsigned int bytes)
{
	return text("nvmlDeviceGetName", device, device->name, out, bytes);
}

int nvmlDeviceGetMinorNumber(device_t device, unsigned int *minor)
{
	*minor = device->minor;
	return rule("nvmlDeviceGetMinorNumber", device);
}

struct pci {
	char legacy[16];
	unsigned int domain, bus, device, id, subsystem;
	char text[32];
};

API int nvmlDeviceGetPciInfo_v3(device_t device, struct pci *pci);

int nvmlDeviceGetPciInfo_v3(device_t device, struct pci *pci)
{
	memset(pci, 0, sizeof(*pci));
	pci->domain = device->domain;
	pci->bus = device->bus;
	pci->device = device->slot;
	snprintf(pci->text, sizeof(pci->text), "%08X:%02X:%02X.0", device->domain, device->bus,
		 device->slot);
	return rule("nvmlDeviceGetPciInfo_v3", device);
}

/* ---- memory and utilisation ------------------------------------------------------------------ */

struct memory {
	unsigned long long total, free, used;
};

API int nvmlDeviceGetMemoryInfo(device_t device, struct memory *memory);

int nvmlDeviceGetMemoryInfo(device_t device, struct memory *memory)
{
	memory->total = device->total;
	memory->used = device->used + device->reserved;
	memory->free = device->total - memory->used;
	return rule("nvmlDeviceGetMemoryInfo", device);
}

#if SIMNV_AGE > 1
struct memory_v2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};

API int nvmlDeviceGetMemoryInfo_v2(device_t device, struct memory_v2 *memory);

int nvmlDeviceGetMemoryInfo_v2(device_t device, struct memory_v2 *memory)
{
	if (memory->version != 0x02000028)
		return 25;
	memory->total = device->total;
	memory->reserved = device->reserved;
	memory->used = device->used;
	memory->free = device->total - device->used - device->reserved;
	return rule("nvmlDeviceGetMemoryInfo_v2", device);
}
#endif

struct rates {
	unsigned int gpu, memory;
};

API int nvmlDeviceGetUtilizationRates(device_t device, struct rates *rates);

int nvmlDeviceGetUtilizationRates(device_t device, struct rates *rates)
{
	rates->gpu = device->gpu_percent;
	rates->memory = device->memory_percent;
	return device->parent >= 0 ? NOT_SUPPORTED : rule("nvmlDeviceGetUtilizationRates", device);
}

/* ---- limits of cgroups ----------------------------------------------------------------------- */

#if SIMNV_AGE == 3
struct limits {
	const char *cgroup;
	unsigned long long soft, hard, used;
};

API int nvmlDeviceGetMemoryLimits_v1(device_t device, struct limits *limits);

int nvmlDeviceGetMemoryLimits_v1(device_t device, struct limits *limits)
{
	const int result = rule("nvmlDeviceGetMemoryLimits_v1", device);
	int i;

	for (i = 0; !result && i < simnv.limits_count; i++) {
		const struct simnv_limit *limit = &simnv.limits[i];

		if (limit->device != index_of(device) || strcmp(limit->cgroup, limits->cgroup))
			continue;
		limits->soft = limit->soft;
		limits->hard = limit->hard;
		limits->used = limit->used;
		return SUCCESS;
	}
	/* As NVML says, too, where there could be one and none is set. */
	return result ? result : NOT_SUPPORTED;
}
#endif

/* ---- MIG ------------------------------------------------------------------------------------- */

API int nvmlDeviceGetMigMode(device_t device, unsigned int *current, unsigned int *pending);
API int nvmlDeviceGetMaxMigDeviceCount(device_t device, unsigned int *count);
API int nvmlDeviceGetMigDeviceHandleByIndex(device_t device, unsigned int index, device_t *found);
API int nvmlDeviceGetGpuInstanceId(device_t device, unsigned int *id);
API int nvmlDeviceGetComputeInstanceId(device_t device, unsigned int *id);

static bool is_instance(int i, device_t device)
{
	return simnv.devices[i].parent == index_of(device);
}

int nvmlDeviceGetMigMode(device_t device, unsigned int *current, unsigned int *pending)
{
	int i;

	*current = *pending = 0;
	for (i = 0; i < simnv.devices_count; i++)
		if (is_instance(i, device))
			*current = *pending = 1;
	return rule("nvmlDeviceGetMigMode", device);
}

/* Not how many there are. */
int nvmlDeviceGetMaxMigDeviceCount(device_t device, unsigned int *count)
{
	*count = 7;
	return rule("nvmlDeviceGetMaxMigDeviceCount", device);
}

int nvmlDeviceGetMigDeviceHandleByIndex(device_t device, unsigned int index, device_t *found)
{
	int i;

	for (i = 0; i < simnv.devices_count; i++) {
		if (!is_instance(i, device) || index--)
			continue;
		*found = &simnv.devices[i];
		return rule("nvmlDeviceGetMigDeviceHandleByIndex", device);
	}
	return NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(device_t device, unsigned int *id)
{
	*id = device->gi;
	return rule("nvmlDeviceGetGpuInstanceId", device);
}

int nvmlDeviceGetComputeInstanceId(device_t device, unsigned int *id)
{
	*id = device->ci;
	return rule("nvmlDeviceGetComputeInstanceId", device);
}

/* ---- processes ------------------------------------------------------------------------------- */

struct entry_v1 {
	unsigned int pid;
	unsigned long long used;
};

struct entry_v2 {
	unsigned int pid;
	unsigned long long used;
	unsigned int gi, ci;
};

struct entry_535 {
	struct entry_v2 entry;
	unsigned long long protected;
};

/* The device's own and, for a device that is divided, those of its instances. */
static bool is_of(const struct simnv_process *process, device_t device)
{
	if (device->parent >= 0)
		return process->device == device->parent && process->gi == device->gi &&
		       process->ci == device->ci;
	return process->device == index_of(device);
}

static int list(const char *call, device_t device, char kind, size_t bytes, unsigned int *count,
		void *entries)
{
	const unsigned int room = *count;
	int result = rule(call, device), i;

	if (result)
		return result;
	*count = 0;
	for (i = 0; i < simnv.processes_count; i++) {
		const struct simnv_process *process = &simnv.processes[i];
		struct entry_535 entry = { .entry = { .pid = process->pid,
						      .used = process->used,
						      .gi = process->gi,
						      .ci = process->ci } };

		if (process->kind != kind || !is_of(process, device))
			continue;
		if (*count < room)
			memcpy((char *)entries + *count * bytes, &entry, bytes);
		++*count;
	}
	return *count > room ? INSUFFICIENT_SIZE : SUCCESS;
}

#define LIST(name, kind, type) \
	API int name(device_t device, unsigned int *count, struct type *entries); \
	int name(device_t device, unsigned int *count, struct type *entries) \
	{ \
		return list(#name, device, kind, sizeof(*entries), count, entries); \
	}

LIST(nvmlDeviceGetComputeRunningProcesses, 'C', entry_v1)
LIST(nvmlDeviceGetGraphicsRunningProcesses, 'G', entry_v1)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, 'M', entry_v1)

#if SIMNV_AGE > 1
LIST(nvmlDeviceGetComputeRunningProcesses_v2, 'C', entry_v2)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, 'G', entry_v2)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, 'M', entry_v2)
#endif

#if SIMNV_AGE > 2
#if SIMNV_AGE == 535
#define LAST entry_535
#else
#define LAST entry_v2
#endif
LIST(nvmlDeviceGetComputeRunningProcesses_v3, 'C', LAST)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, 'G', LAST)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, 'M', LAST)
#endif
