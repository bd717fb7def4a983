// SPDX-License-Identifier: BSD-2-Clause
#include "host/nvml_survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "host/cgroup_files.h"
#include "host/dmem.h"

#define MIG_MAX 64 /* instances of a device: there are up to 7 GPU instances of up to 7 each */
#define ENTRIES_BYTES (NVML_PROCESSES_MAX * sizeof(struct nvml_entry_v3))

/* ---- calls ----------------------------------------------------------------------------------- */

/* The message about a call that does not return. The number tells a new call from the last one. */
static void begin(struct nvml_survey *survey, const char *call, uint32_t device)
{
	struct nvml_snapshot *snapshot = survey->snapshot;

	snprintf(snapshot->call, sizeof(snapshot->call), "%s", call);
	snapshot->call_device = device;
	__atomic_add_fetch(&snapshot->step, 1, __ATOMIC_RELEASE);
}

/* Calls a function if there is one. */
#define CALL(survey, device, name, function, ...) \
	(begin(survey, name, device), (survey)->library.function ? \
					      (survey)->library.function(__VA_ARGS__) : \
					      NVML_FUNCTION_NOT_FOUND)

/* ---- a device -------------------------------------------------------------------------------- */

static void ask_memory(struct nvml_survey *survey, nvml_handle_t handle, struct nvml_device *device)
{
	struct nvml_memory_v2 second = { .version = NVML_MEMORY_V2 };
	struct nvml_memory first = { 0 };
	int result = CALL(survey, device->index, "nvmlDeviceGetMemoryInfo_v2", device_memory_v2,
			  handle, &second);

	if (!result) {
		device->total_bytes = second.total_bytes;
		device->free_bytes = second.free_bytes;
		device->used_bytes = second.used_bytes;
		device->reserved_bytes = second.reserved_bytes;
		device->has_memory = device->has_reserved = true;
		return;
	}
	result = CALL(survey, device->index, "nvmlDeviceGetMemoryInfo", device_memory, handle,
		      &first);
	device->memory_result = result;
	device->has_memory = !result;
	device->total_bytes = first.total_bytes;
	device->free_bytes = first.free_bytes;
	device->used_bytes = first.used_bytes;
}

/* "00000000:65:00.0" is "0000:65:00.0" in /sys. */
static void ask_place(struct nvml_survey *survey, nvml_handle_t handle, struct nvml_device *device)
{
	struct nvml_pci pci = { 0 };

	if (!CALL(survey, device->index, "nvmlDeviceGetPciInfo_v3", device_pci, handle, &pci))
		snprintf(device->pci, sizeof(device->pci), "%04x:%02x:%02x.0", pci.domain, pci.bus,
			 pci.device);
	device->has_minor = !CALL(survey, device->index, "nvmlDeviceGetMinorNumber", device_minor,
				  handle, &device->minor);
}

static void ask_names(struct nvml_survey *survey, nvml_handle_t handle, struct nvml_device *device)
{
	if (CALL(survey, device->index, "nvmlDeviceGetUUID", device_uuid, handle, device->uuid,
		 sizeof(device->uuid)))
		device->uuid[0] = '\0';
	if (CALL(survey, device->index, "nvmlDeviceGetName", device_name, handle, device->name,
		 sizeof(device->name)))
		device->name[0] = '\0';
}

static void ask_rates(struct nvml_survey *survey, nvml_handle_t handle, struct nvml_device *device)
{
	struct nvml_rates rates = { 0 };

	device->has_utilisation = !CALL(survey, device->index, "nvmlDeviceGetUtilizationRates",
					device_rates, handle, &rates);
	device->gpu_percent = rates.gpu_percent;
	device->memory_percent = rates.memory_percent;
}

/* ---- its processes --------------------------------------------------------------------------- */

size_t nvml_survey_stride(const void *entries, size_t bytes, uint32_t count)
{
	static const size_t strides[] = { sizeof(struct nvml_entry_v1),
					  sizeof(struct nvml_entry_v2),
					  sizeof(struct nvml_entry_v3) };
	const unsigned char *written = entries;
	size_t i;

	while (bytes && written[bytes - 1] == NVML_SURVEY_FILL)
		bytes--;
	/* The last member of each layout is a number that is written whole. */
	for (i = 0; count && i < sizeof(strides) / sizeof(*strides); i++)
		if (bytes == strides[i] * count)
			return strides[i];
	return 0;
}

/* The device or the instance that a process of this one is of. */
static uint32_t device_of(const struct nvml_snapshot *snapshot, uint32_t place,
			  const struct nvml_entry_v2 *entry)
{
	uint32_t i;

	for (i = place + 1; i < snapshot->devices_count; i++) {
		const struct nvml_device *device = &snapshot->devices[i];

		if (device->parent == (int32_t)place &&
		    device->gpu_instance == entry->gpu_instance &&
		    device->compute_instance == entry->compute_instance)
			return i;
	}
	return place;
}

/* A process can be in several lists, and those of a device have those of its instances. */
static void add_process(struct nvml_snapshot *snapshot, uint32_t place, enum nvml_list list,
			const struct nvml_entry_v2 *entry)
{
	const uint32_t device = device_of(snapshot, place, entry);
	struct nvml_process *process;
	uint32_t i;

	for (i = 0; i < snapshot->processes_count; i++) {
		process = &snapshot->processes[i];
		if (process->pid == entry->pid && process->device == device)
			break;
	}
	if (i == NVML_PROCESSES_MAX) {
		snapshot->cut = true;
		return;
	}
	process = &snapshot->processes[i];
	if (i == snapshot->processes_count) {
		*process = (struct nvml_process){ .device = device,
						  .pid = entry->pid,
						  .gpu_instance = entry->gpu_instance,
						  .compute_instance = entry->compute_instance,
						  .limit = NVML_NOT_LIMITED };
		snapshot->processes_count++;
	}
	process->kinds |= 1u << list;
	if (entry->used_bytes == NVML_NOT_AVAILABLE)
		return;
	/* Lists are read one after the other: of two numbers, neither is more right. */
	if (!process->has_used || process->used_bytes < entry->used_bytes)
		process->used_bytes = entry->used_bytes;
	process->has_used = true;
}

static void add_processes(struct nvml_survey *survey, uint32_t place, enum nvml_list list,
			  uint32_t count)
{
	const size_t stride = nvml_survey_stride(survey->entries, ENTRIES_BYTES, count);
	struct nvml_snapshot *snapshot = survey->snapshot;
	struct nvml_device *device = &snapshot->devices[place];
	uint32_t i;

	if (!stride && count) {
		device->processes_result = NVML_VERSION_MISMATCH;
		return;
	}
	for (i = 0; i < count; i++) {
		struct nvml_entry_v2 entry = { .gpu_instance = device->gpu_instance,
					       .compute_instance = device->compute_instance };
		const size_t known = stride < sizeof(entry) ? stride : sizeof(entry);

		memcpy(&entry, (const char *)survey->entries + i * stride, known);
		add_process(snapshot, place, list, &entry);
	}
}

static void ask_processes(struct nvml_survey *survey, nvml_handle_t handle, uint32_t place)
{
	struct nvml_device *device = &survey->snapshot->devices[place];
	enum nvml_list list;

	for (list = 0; list < NVML_LISTS; list++) {
		uint32_t count = NVML_PROCESSES_MAX;
		int result;

		memset(survey->entries, NVML_SURVEY_FILL, ENTRIES_BYTES);
		result = CALL(survey, device->index,
			      survey->library.list_names[list] ? survey->library.list_names[list] :
								 "",
			      lists[list], handle, &count, survey->entries);
		/* Old drivers know nothing of MPS, and devices without a display none of graphics.
		 */
		if (result && list == NVML_LIST_COMPUTE)
			device->processes_result = result;
		if (result == NVML_INSUFFICIENT_SIZE || count > NVML_PROCESSES_MAX)
			survey->snapshot->cut = true;
		else if (!result)
			add_processes(survey, place, list, count);
	}
}

/* ---- what their cgroups may use -------------------------------------------------------------- */

static uint32_t find_limit(struct nvml_snapshot *snapshot, uint32_t place, const char *path)
{
	uint32_t i;

	for (i = 0; i < snapshot->limits_count; i++)
		if (snapshot->limits[i].device == place && !strcmp(snapshot->limits[i].path, path))
			break;
	return i;
}

/* "There is none" and "not found" are answers, too: a cgroup is asked for once. */
static void ask_limit(struct nvml_survey *survey, nvml_handle_t handle, uint32_t place,
		      const char *cgroup, struct nvml_limit *limit)
{
	struct nvml_memory_limits limits = { .cgroup = cgroup };
	const int result = CALL(survey, survey->snapshot->devices[place].index,
				"nvmlDeviceGetMemoryLimits_v1", memory_limits, handle, &limits);

	limit->known = !result && (limits.soft_bytes || limits.hard_bytes != NVML_NO_LIMIT);
	limit->soft_bytes = limits.soft_bytes;
	limit->hard_bytes = limits.hard_bytes;
	limit->used_bytes = limits.used_bytes;
}

static uint32_t limit_of(struct nvml_survey *survey, nvml_handle_t handle, uint32_t place,
			 uint32_t pid)
{
	struct nvml_snapshot *snapshot = survey->snapshot;
	struct cgroup_files files;
	struct nvml_limit *limit;
	const char *path;
	uint32_t i;

	if (!cgroup_files_find("", (pid_t)pid, &files) || !*files.unified)
		return NVML_NOT_LIMITED;
	path = files.unified + strlen(files.mounted);
	path = *path ? path : "/";
	i = find_limit(snapshot, place, path);
	if (i < snapshot->limits_count)
		return i;
	if (i == NVML_LIMITS_MAX || strlen(path) >= sizeof(limit->path))
		return NVML_NOT_LIMITED;
	limit = &snapshot->limits[i];
	*limit = (struct nvml_limit){ .device = place };
	snprintf(limit->path, sizeof(limit->path), "%s", path);
	ask_limit(survey, handle, place, files.unified, limit);
	snapshot->limits_count++;
	return i;
}

/*
 * Only where the kernel does not count: there, it says more, and the driver goes by it. A divided
 * device has no limits.
 */
static void ask_limits(struct nvml_survey *survey, nvml_handle_t handle, uint32_t place)
{
	struct nvml_snapshot *snapshot = survey->snapshot;
	uint32_t i;

	if (!survey->library.memory_limits || snapshot->devices[place].mig || dmem_is_counted(""))
		return;
	for (i = 0; i < snapshot->processes_count; i++)
		if (snapshot->processes[i].device == place)
			snapshot->processes[i].limit =
				limit_of(survey, handle, place, snapshot->processes[i].pid);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct nvml_device *add_device(struct nvml_snapshot *snapshot, uint32_t index)
{
	struct nvml_device *device;

	if (snapshot->devices_count == NVML_DEVICES_MAX) {
		snapshot->cut = true;
		return NULL;
	}
	device = &snapshot->devices[snapshot->devices_count];
	*device = (struct nvml_device){ .index = index,
					.parent = -1,
					.gpu_instance = NVML_NO_INSTANCE,
					.compute_instance = NVML_NO_INSTANCE };
	snapshot->devices_count++;
	return device;
}

static void ask_instance(struct nvml_survey *survey, nvml_handle_t handle, uint32_t parent,
			 uint32_t index)
{
	struct nvml_device *device = add_device(survey->snapshot, index);
	const struct nvml_device *whole = &survey->snapshot->devices[parent];

	if (!device)
		return;
	device->parent = (int32_t)parent;
	device->has_minor = whole->has_minor;
	device->minor = whole->minor;
	memcpy(device->pci, whole->pci, sizeof(device->pci));
	if (CALL(survey, whole->index, "nvmlDeviceGetGpuInstanceId", gpu_instance, handle,
		 &device->gpu_instance))
		device->gpu_instance = NVML_NO_INSTANCE;
	if (CALL(survey, whole->index, "nvmlDeviceGetComputeInstanceId", compute_instance, handle,
		 &device->compute_instance))
		device->compute_instance = NVML_NO_INSTANCE;
	ask_names(survey, handle, device);
	ask_memory(survey, handle, device);
}

static uint32_t ask_instances(struct nvml_survey *survey, nvml_handle_t handle, uint32_t parent,
			      nvml_handle_t instances[MIG_MAX])
{
	struct nvml_device *device = &survey->snapshot->devices[parent];
	uint32_t current = 0, pending = 0, max = 0, count = 0, i;

	if (CALL(survey, device->index, "nvmlDeviceGetMigMode", mig_mode, handle, &current,
		 &pending) ||
	    !current)
		return 0;
	device->mig = true;
	if (CALL(survey, device->index, "nvmlDeviceGetMaxMigDeviceCount", mig_max, handle, &max))
		return 0;
	for (i = 0; i < max && count < MIG_MAX; i++) {
		if (CALL(survey, device->index, "nvmlDeviceGetMigDeviceHandleByIndex", mig_by_index,
			 handle, i, &instances[count]))
			continue;
		ask_instance(survey, instances[count], parent, i);
		count++;
	}
	return count;
}

static void ask_device(struct nvml_survey *survey, uint32_t index)
{
	struct nvml_device *device = add_device(survey->snapshot, index);
	const uint32_t place = survey->snapshot->devices_count - 1;
	nvml_handle_t handle = NULL, instances[MIG_MAX];
	uint32_t count, i;

	if (!device)
		return;
	device->device_result = CALL(survey, index, "nvmlDeviceGetHandleByIndex_v2",
				     device_by_index, index, &handle);
	if (!device->device_result) {
		ask_names(survey, handle, device);
		ask_place(survey, handle, device);
		ask_memory(survey, handle, device);
		count = ask_instances(survey, handle, place, instances);
		ask_processes(survey, handle, place);
		/* Only a privileged user is shown all of them by the device itself. */
		for (i = 0; i < count && place + 1 + i < survey->snapshot->devices_count; i++)
			ask_processes(survey, instances[i], place + 1 + i);
		ask_limits(survey, handle, place);
		ask_rates(survey, handle, device);
	}
	for (i = place; i < survey->snapshot->devices_count; i++)
		survey->snapshot->devices[i].whole = true;
}

static bool initialise(struct nvml_survey *survey)
{
	struct nvml_snapshot *snapshot = survey->snapshot;
	int err, result;

	if (!survey->entries)
		survey->entries = malloc(ENTRIES_BYTES);
	if (!survey->loaded) {
		begin(survey, "dlopen", 0);
		err = nvml_library_open(&survey->library, snapshot->problem,
					sizeof(snapshot->problem));
		snapshot->state = err == -ENOENT ? NVML_ABSENT : NVML_FAILING;
		survey->loaded = !err;
		if (err)
			return false;
	}
	snapshot->state = NVML_FAILING;
	if (!survey->entries) {
		snprintf(snapshot->problem, sizeof(snapshot->problem), "there is no memory");
		return false;
	}
	if (!survey->initialised) {
		result = CALL(survey, 0, "nvmlInit_v2", init);
		survey->initialised = !result;
		if (result) {
			snprintf(snapshot->problem, sizeof(snapshot->problem), "nvmlInit_v2: %s",
				 nvml_result_words(result));
			return false;
		}
	}
	return true;
}

static void run(struct nvml_survey *survey)
{
	struct nvml_snapshot *snapshot = survey->snapshot;
	uint32_t count = 0, i;
	int result;

	snapshot->devices_count = snapshot->processes_count = snapshot->limits_count = 0;
	snapshot->problem[0] = '\0';
	snapshot->cut = false;
	if (!initialise(survey))
		return;
	if (CALL(survey, 0, "nvmlSystemGetDriverVersion", driver_version, snapshot->driver,
		 sizeof(snapshot->driver)))
		snapshot->driver[0] = '\0';
	result = CALL(survey, 0, "nvmlDeviceGetCount_v2", device_count, &count);
	if (result) {
		snprintf(snapshot->problem, sizeof(snapshot->problem), "nvmlDeviceGetCount_v2: %s",
			 nvml_result_words(result));
		return;
	}
	snapshot->state = NVML_READY;
	snapshot->devices_max = count;
	for (i = 0; i < count && i < NVML_DEVICES_MAX; i++)
		ask_device(survey, i);
	snapshot->cut |= count > NVML_DEVICES_MAX;
}

void nvml_survey_run(struct nvml_survey *survey)
{
	const uint64_t begun_ns = clock_monotonic_ns();

	run(survey);
	survey->snapshot->ns = clock_monotonic_ns() - begun_ns;
}
