// SPDX-License-Identifier: BSD-2-Clause
#include "host/nvml_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SONAME "libnvidia-ml.so.1"

/* Where it is when the loader does not know: driver containers, GKE, WSL, NixOS. */
static const char *const places[] = {
	"/usr/local/nvidia/lib64/" SONAME,
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu/" SONAME,
	"/home/kubernetes/bin/nvidia/lib64/" SONAME,
	"/usr/lib/wsl/lib/" SONAME,
	"/run/opengl-driver/lib/" SONAME,
};

struct symbol {
	size_t offset;
	const char *name, *older; /* NULL: it has had no other name */
	bool required;
};

#define AT(member) offsetof(struct nvml_library, member)

static const struct symbol symbols[] = {
	{ AT(init), "nvmlInit_v2", "nvmlInit", true },
	{ AT(driver_version), "nvmlSystemGetDriverVersion", NULL, false },
	{ AT(device_count), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", true },
	{ AT(device_by_index), "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex",
	  true },
	{ AT(device_uuid), "nvmlDeviceGetUUID", NULL, false },
	{ AT(device_name), "nvmlDeviceGetName", NULL, false },
	{ AT(device_pci), "nvmlDeviceGetPciInfo_v3", NULL, false },
	{ AT(device_minor), "nvmlDeviceGetMinorNumber", NULL, false },
	{ AT(device_memory), "nvmlDeviceGetMemoryInfo", NULL, false },
	{ AT(device_memory_v2), "nvmlDeviceGetMemoryInfo_v2", NULL, false },
	{ AT(memory_limits), "nvmlDeviceGetMemoryLimits_v1", NULL, false },
	{ AT(device_rates), "nvmlDeviceGetUtilizationRates", NULL, false },
	{ AT(mig_mode), "nvmlDeviceGetMigMode", NULL, false },
	{ AT(mig_max), "nvmlDeviceGetMaxMigDeviceCount", NULL, false },
	{ AT(mig_by_index), "nvmlDeviceGetMigDeviceHandleByIndex", NULL, false },
	{ AT(gpu_instance), "nvmlDeviceGetGpuInstanceId", NULL, false },
	{ AT(compute_instance), "nvmlDeviceGetComputeInstanceId", NULL, false },
};

#define LIST_VERSIONS 3

static const char *const list_names[NVML_LISTS][LIST_VERSIONS] = {
	{ "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
	  "nvmlDeviceGetComputeRunningProcesses" },
	{ "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
	  "nvmlDeviceGetGraphicsRunningProcesses" },
	{ "nvmlDeviceGetMPSComputeRunningProcesses_v3",
	  "nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses" },
};

static int find_symbols(struct nvml_library *library, void *handle, char *problem, size_t bytes)
{
	size_t i;

	for (i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *found = dlsym(handle, symbols[i].name);

		if (!found && symbols[i].older)
			found = dlsym(handle, symbols[i].older);
		if (!found && symbols[i].required) {
			snprintf(problem, bytes, "%s has no function %s", SONAME, symbols[i].name);
			return -ENOEXEC;
		}
		memcpy((char *)library + symbols[i].offset, &found, sizeof(found));
	}
	return 0;
}

static void find_lists(struct nvml_library *library, void *handle)
{
	size_t list, version;

	for (list = 0; list < NVML_LISTS; list++)
		for (version = 0; version < LIST_VERSIONS && !library->lists[list]; version++) {
			void *found = dlsym(handle, list_names[list][version]);

			memcpy(&library->lists[list], &found, sizeof(found));
			library->list_names[list] = list_names[list][version];
		}
}

/* dlopen(3) says in words alone why it fails. */
static void *open_at(const char *path, char *problem, size_t problem_bytes)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *reason = handle ? "" : dlerror();

	snprintf(problem, problem_bytes, "%s", reason ? reason : "it cannot be loaded");
	return handle;
}

static bool is_absent(const char *problem)
{
	return !strncmp(problem, SONAME ":", sizeof(SONAME)) && strstr(problem, "No such file");
}

int nvml_library_open(struct nvml_library *library, char *problem, size_t problem_bytes)
{
	void *handle = open_at(SONAME, problem, problem_bytes);
	size_t i;

	memset(library, 0, sizeof(*library));
	for (i = 0; !handle && i < sizeof(places) / sizeof(*places); i++)
		if (!access(places[i], F_OK))
			handle = open_at(places[i], problem, problem_bytes);
	if (!handle)
		return is_absent(problem) ? -ENOENT : -ENOEXEC;
	find_lists(library, handle);
	return find_symbols(library, handle, problem, problem_bytes);
}
