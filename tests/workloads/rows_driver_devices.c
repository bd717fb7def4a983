// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows_driver: what the program is told of devices.
 */
#include "rows_driver.h"

static void identify(const char *api, const char *identity, int device)
{
	EXPECT(.op = "memory", .api = api, .device = DEC(device), .identity = identity);
}

static void refuse(const char *api, int device, CUresult result)
{
	EXPECT(.op = "memory", .api = api, .result = result, .device = DEC(device));
}

/* The simulated driver's own values. */
static void one(int device)
{
	const char *pci = rows_text("00000000:%02x:00.0", 1 + device);
	char text[64];
	uint64_t bytes;
	CUuuid uuid;
	int found;

	CALL(CUDA_SUCCESS, "cuDeviceGetUuid", P(&uuid), DIRTY(device));
	identify("cuDeviceGetUuid", rows_text("GPU-73696d75-6c61-7465-6420-4750552000%02x", device),
		 device);
	CALL(CUDA_SUCCESS, "cuDeviceGetUuid_v2", P(&uuid), DIRTY(device));
	identify("cuDeviceGetUuid_v2",
		 rows_text("GPU-73696d75-6c61-7465-6420-4750552000%02x", device), device);
	CALL(CUDA_SUCCESS, "cuDeviceGetPCIBusId", P(text), DIRTY(sizeof(text)), DIRTY(device));
	identify("cuDeviceGetPCIBusId", pci, device);
	CALL(CUDA_SUCCESS, "cuDeviceGetByPCIBusId", P(&found), P(text));
	identify("cuDeviceGetByPCIBusId", pci, device);
	CALL(CUDA_SUCCESS, "cuDeviceGetName", P(text), DIRTY(sizeof(text)), DIRTY(device));
	identify("cuDeviceGetName", rows_text("Simulated GPU %d", device), device);
	CALL(CUDA_SUCCESS, "cuDeviceTotalMem_v2", P(&bytes), DIRTY(device));
	EXPECT(.op = "memory", .api = "cuDeviceTotalMem_v2", .device = DEC(device),
	       .size = DEC(bytes));
}

void rows_driver_devices(void)
{
	const CUresult invalid = CUDA_ERROR_INVALID_DEVICE;
	char text[64];
	uint64_t bytes;
	CUuuid uuid;

	one(0);
	one(1);
	CALL(invalid, "cuDeviceGetUuid", P(&uuid), DIRTY(7));
	refuse("cuDeviceGetUuid", 7, invalid);
	CALL(invalid, "cuDeviceGetPCIBusId", P(text), DIRTY(sizeof(text)), DIRTY(7));
	refuse("cuDeviceGetPCIBusId", 7, invalid);
	CALL(invalid, "cuDeviceGetName", P(text), DIRTY(sizeof(text)), DIRTY(7));
	refuse("cuDeviceGetName", 7, invalid);
	CALL(invalid, "cuDeviceTotalMem_v2", P(&bytes), DIRTY(7));
	refuse("cuDeviceTotalMem_v2", 7, invalid);
}
