/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of NVML that are used, and what they are given. The library is found by the loader
 * or in the places where drivers put it; functions that it lacks are NULL.
 *
 * Source: NVML API Reference Manual (docs.nvidia.com/deploy/nvml-api); layouts as seen from driver
 * 580.159.04. A structure of version 2 says so in its first member: its size, and the version.
 */
#ifndef MEMSCOPE_HOST_NVML_LIBRARY_H
#define MEMSCOPE_HOST_NVML_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/* What functions return. */
enum nvml_result {
	NVML_SUCCESS = 0,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_VERSION_MISMATCH = 18,
};

#define NVML_NOT_AVAILABLE UINT64_MAX /* instead of a number of bytes */

typedef struct nvml_handle *nvml_handle_t; /* of a device */

struct nvml_memory {
	uint64_t total_bytes, free_bytes;
	uint64_t used_bytes; /* with what is reserved */
};

struct nvml_memory_v2 {
	uint32_t version;
	uint64_t total_bytes, reserved_bytes, free_bytes;
	uint64_t used_bytes; /* without what is reserved */
};

#define NVML_MEMORY_V2 ((uint32_t)(sizeof(struct nvml_memory_v2) | 2u << 24))

struct nvml_pci {
	char old_bus_id[16];
	uint32_t domain, bus, device, device_id, subsystem_id;
	char bus_id[32]; /* "00000000:65:00.0" */
};

struct nvml_rates {
	uint32_t gpu_percent, memory_percent;
};

/* What a cgroup may use of a device: 0 and NVML_NO_LIMIT are no limits. From driver 615 on. */
struct nvml_memory_limits {
	const char *cgroup;  /* its directory, in */
	uint64_t soft_bytes; /* that it is guaranteed */
	uint64_t hard_bytes;
	uint64_t used_bytes;
};

#define NVML_NO_LIMIT UINT64_MAX

/* An entry of a list of processes is one of these, and which of them is for the caller to see. */
struct nvml_entry_v1 {
	uint32_t pid;
	uint64_t used_bytes;
};

struct nvml_entry_v2 {
	uint32_t pid;
	uint64_t used_bytes;
	uint32_t gpu_instance, compute_instance;
};

struct nvml_entry_v3 { /* of drivers 535 before 535.98, under the name of version 3 */
	struct nvml_entry_v2 entry;
	uint64_t protected_bytes;
};

typedef int nvml_list_fn(nvml_handle_t device, uint32_t *count, void *entries);

enum nvml_list {
	NVML_LIST_COMPUTE,
	NVML_LIST_GRAPHICS,
	NVML_LIST_MPS,
	NVML_LISTS,
};

struct nvml_library {
	int (*init)(void);
	int (*driver_version)(char *text, uint32_t bytes);
	int (*device_count)(uint32_t *count);
	int (*device_by_index)(uint32_t index, nvml_handle_t *device);
	int (*device_uuid)(nvml_handle_t device, char *text, uint32_t bytes);
	int (*device_name)(nvml_handle_t device, char *text, uint32_t bytes);
	int (*device_pci)(nvml_handle_t device, struct nvml_pci *pci);
	int (*device_minor)(nvml_handle_t device, uint32_t *minor);
	int (*device_memory)(nvml_handle_t device, struct nvml_memory *memory);
	int (*device_memory_v2)(nvml_handle_t device, struct nvml_memory_v2 *memory);
	int (*memory_limits)(nvml_handle_t device, struct nvml_memory_limits *limits);
	int (*device_rates)(nvml_handle_t device, struct nvml_rates *rates);
	int (*mig_mode)(nvml_handle_t device, uint32_t *current, uint32_t *pending);
	int (*mig_max)(nvml_handle_t device, uint32_t *count);
	int (*mig_by_index)(nvml_handle_t device, uint32_t index, nvml_handle_t *instance);
	int (*gpu_instance)(nvml_handle_t device, uint32_t *id);
	int (*compute_instance)(nvml_handle_t device, uint32_t *id);
	nvml_list_fn *lists[NVML_LISTS];
	const char *list_names[NVML_LISTS]; /* of the functions that were found */
};

/*
 * Returns 0; -ENOENT if there is no such library; -ENOEXEC if it cannot be used, with the reason in
 * `problem`. It is never unloaded.
 */
int nvml_library_open(struct nvml_library *library, char *problem, size_t problem_bytes);

#endif /* MEMSCOPE_HOST_NVML_LIBRARY_H */
