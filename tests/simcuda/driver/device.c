/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The devices: how many the machine has (SIMCUDA_DEVICES), how large they are (SIMCUDA_MEMORY), and
 * everything one can ask about them without a context. Which of them the program sees: visible.c.
 */
#include <stdio.h>
#include <string.h>

#include "../common/env.h"
#include "graph.h"

#define DEVICE_GRANULE 512 /* alignment and rounding of device memory */
#define DEFAULT_MEMORY (8ull << 30)
#define PCI_BUS 1 /* of the machine's first device; the others follow */

static struct device devices[DEVICE_MAX];
static unsigned int count;

static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
#define ATTRIBUTE(number, name, value) [number] = (value),
#include "attributes.def"
};

void device_setup(void)
{
	uint64_t memory = env_size_bytes("SIMCUDA_MEMORY", DEFAULT_MEMORY);

	unsigned int physical[DEVICE_MAX];

	count = device_visible(env_count("SIMCUDA_DEVICES", 1, DEVICE_MAX), physical);
	for (unsigned int i = 0; i < count; i++) {
		devices[i].ordinal = (int)i;
		devices[i].physical = physical[i];
		devices[i].memory = arena_new(memory, DEVICE_GRANULE, true);
		arena_share_capacity(devices[i].memory, (int)physical[i]);
		devices[i].graph_space = graph_memory_space();
		devices[i].default_pool = pool_new_default(&devices[i]);
		devices[i].pool = devices[i].default_pool;
	}
}

unsigned int device_count(void)
{
	return count;
}

struct device *device_find(CUdevice ordinal)
{
	return ordinal >= 0 && (unsigned int)ordinal < count ? &devices[ordinal] : NULL;
}

int device_attribute(const struct device *device, CUdevice_attribute attribute)
{
	if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
		return PCI_BUS + (int)device->physical;
	return attributes[attribute];
}

CU_DEFINE(INIT, cuDeviceGet, (CUdevice *device, int ordinal), (device, ordinal),
	  DEC(ordinal, ordinal))
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceGetCount, (int *number), (number), OUT_DEC(value, number))
{
	if (!number)
		return CUDA_ERROR_INVALID_VALUE;
	*number = (int)count;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceGetName, (char *name, int length, CUdevice device), (name, length, device),
	  DEC(ordinal, device))
{
	if (!name || length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)length, "Simulated GPU %u", device_find(device)->physical);
	return CUDA_SUCCESS;
}

CU_DEFINE_V2(INIT, cuDeviceGetUuid, (CUuuid *uuid, CUdevice device), (uuid, device),
	     DEC(ordinal, device))
{
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	device_uuid(device_find(device)->physical, uuid);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceGetLuid, (char *luid, unsigned int *node_mask, CUdevice device),
	  (luid, node_mask, device), DEC(ordinal, device))
{
	if (!luid || !node_mask)
		return CUDA_ERROR_INVALID_VALUE;
	/* LUIDs are a matter of Windows. */
	return device_find(device) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_DEVICE;
}

CU_DEFINE(INIT, cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device), (bytes, device),
	  DEC(ordinal, device), OUT_DEC(total, bytes))
{
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = arena_capacity(device_find(device)->memory);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceGetAttribute,
	  (int *value, CUdevice_attribute attribute, CUdevice device), (value, attribute, device),
	  DEC(attribute, attribute), DEC(ordinal, device), OUT_DEC(value, value))
{
	if (!value || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*value = device_attribute(device_find(device), attribute);
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceGetProperties, (CUdevprop *p, CUdevice device), (p, device),
	  DEC(ordinal, device))
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	/* From the time when there were no more attributes than these. */
	*p = (CUdevprop){
		.maxThreadsPerBlock = attributes[1],
		.maxThreadsDim = { attributes[2], attributes[3], attributes[4] },
		.maxGridSize = { attributes[5], attributes[6], attributes[7] },
		.sharedMemPerBlock = attributes[8],
		.totalConstantMemory = attributes[9],
		.SIMDWidth = attributes[10],
		.memPitch = attributes[11],
		.regsPerBlock = attributes[12],
		.clockRate = attributes[13],
		.textureAlign = attributes[14],
	};
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceComputeCapability, (int *major, int *minor, CUdevice device),
	  (major, minor, device), DEC(ordinal, device))
{
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*major = attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR];
	*minor = attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceGetPCIBusId, (char *id, int length, CUdevice device), (id, length, device),
	  DEC(ordinal, device), result ? (void)0 : STR(name, id))
{
	if (!id || length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(id, (size_t)length, "0000:%02x:00.0", PCI_BUS + device_find(device)->physical);
	return CUDA_SUCCESS;
}

/* Accepts what the real one does: [domain:]bus:device[.function], in hexadecimal. */
CU_DEFINE(INIT, cuDeviceGetByPCIBusId, (CUdevice *device, const char *id), (device, id),
	  STR(name, id), OUT_DEC(ordinal, device))
{
	unsigned int domain = 0, bus, slot;

	if (!device || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
		domain = 0;
		if (sscanf(id, "%x:%x", &bus, &slot) != 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (unsigned int i = 0; i < count && !domain && !slot; i++) {
		if (devices[i].physical != bus - PCI_BUS)
			continue;
		*device = (CUdevice)i;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

CU_DEFINE(INIT, cuDeviceCanAccessPeer, (int *can, CUdevice device, CUdevice peer),
	  (can, device, peer), DEC(ordinal, device), DEC(peer, peer), OUT_DEC(value, can))
{
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(device) || !device_find(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = device != peer;
	return CUDA_SUCCESS;
}

CU_DEFINE(INIT, cuDeviceGetP2PAttribute,
	  (int *value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination),
	  (value, attribute, source, destination), DEC(attribute, attribute), OUT_DEC(value, value))
{
	enum { ACCESS_SUPPORTED = 2 };

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(source) || !device_find(destination) || source == destination)
		return CUDA_ERROR_INVALID_DEVICE;
	*value = attribute == ACCESS_SUPPORTED;
	return CUDA_SUCCESS;
}
