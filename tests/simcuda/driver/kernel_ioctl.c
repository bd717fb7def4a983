// SPDX-License-Identifier: BSD-2-Clause
#define _GNU_SOURCE
#include "kernel_ioctl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../common/env.h"

#define ALLOC 0xc030462bu /* NVOS64_PARAMETERS, from driver 535 on */
#define FREE 0xc0104629u
#define ALLOC_MEMORY 0xc0384627u
#define ROOT 0x41
#define LOCKED_MEMORY 0x71
#define UVM_INITIALIZE 0x30000001u
#define UVM_CREATE_EXTERNAL_RANGE 73u
#define UVM_MAP_EXTERNAL_ALLOCATION 33u
#define UVM_FREE 34u
#define UVM_VALIDATE_VA_RANGE 72u
#define UVM_MAP_BYTES 0x2430

static int control = -1, uvm = -1, device = -1;
static uint32_t client, last_handle = 0x5c000000;

static void request(int file, uint32_t number, void *argument)
{
	if (ioctl(file, number, argument))
		env_fatal("SIMCUDA_DRIVER", getenv("SIMCUDA_DRIVER"), "refuses an ioctl");
}

static int open_file(const char *directory, const char *name)
{
	char path[512];
	int file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		env_fatal("SIMCUDA_DRIVER", path, "cannot be opened");
	return file;
}

bool kernel_ioctl_begin(void)
{
	const char *directory = getenv("SIMCUDA_DRIVER");
	unsigned char ready[0x10] = { 0 };

	if (!directory || !*directory)
		return false;
	control = open_file(directory, "nvidiactl");
	uvm = open_file(directory, "nvidia-uvm");
	device = open_file(directory, "nvidia0");
	client = 0xc1000000u | ((uint32_t)getpid() & 0xffffff);
	kernel_ioctl_new(0, ROOT, 0);
	request(uvm, UVM_INITIALIZE, ready);
	return true;
}

uint32_t kernel_ioctl_client(void)
{
	return client;
}

uint32_t kernel_ioctl_new(uint32_t parent, uint32_t class, uint64_t value)
{
	unsigned char argument[0x30] = { 0 }, params[0x80] = { 0 };
	const uint32_t handle = class == ROOT ? client : ++last_handle;
	const void *place = params;

	memcpy(argument, &client, sizeof(client));
	memcpy(argument + 4, &parent, sizeof(parent));
	memcpy(argument + 8, &handle, sizeof(handle));
	memcpy(argument + 12, &class, sizeof(class));
	memcpy(argument + 16, &place, sizeof(place));
	memcpy(params + (class == KERNEL_DEVICE ? 0 : 0x40), &value, sizeof(value));
	request(control, ALLOC, argument);
	return handle;
}

uint32_t kernel_ioctl_lock(uint32_t parent, uint64_t addr, uint64_t bytes)
{
	unsigned char argument[0x38] = { 0 };
	const uint32_t handle = ++last_handle, class = LOCKED_MEMORY;
	const uint64_t limit = bytes - 1;

	memcpy(argument, &client, sizeof(client));
	memcpy(argument + 4, &parent, sizeof(parent));
	memcpy(argument + 8, &handle, sizeof(handle));
	memcpy(argument + 12, &class, sizeof(class));
	memcpy(argument + 0x18, &addr, sizeof(addr));
	memcpy(argument + 0x20, &limit, sizeof(limit));
	request(device, ALLOC_MEMORY, argument);
	return handle;
}

void kernel_ioctl_free(uint32_t parent, uint32_t handle)
{
	uint32_t argument[4] = { client, parent, handle, 0 };

	request(control, FREE, argument);
}

static void request_range(uint32_t number, uint64_t base, uint64_t bytes)
{
	uint64_t argument[3] = { base, bytes, 0 };

	request(uvm, number, argument);
}

void kernel_ioctl_map(uint64_t base, uint64_t bytes, uint32_t handle, unsigned int physical)
{
	static unsigned char argument[UVM_MAP_BYTES]; /* the caller has a lock */
	/* As simulated devices have it: the last digits are the device's number. */
	static const unsigned char uuid[15] = { 0x73, 0x69, 0x6d, 0x75, 0x6c, 0x61, 0x74, 0x65,
						0x64, 0x20, 0x47, 0x50, 0x55, 0x20, 0x00 };

	request_range(UVM_CREATE_EXTERNAL_RANGE, base, bytes);
	memset(argument, 0, sizeof(argument));
	memcpy(argument, &base, sizeof(base));
	memcpy(argument + 8, &bytes, sizeof(bytes));
	memcpy(argument + 0x18, uuid, sizeof(uuid));
	argument[0x18 + 15] = (unsigned char)physical;
	argument[0x2418] = 1;
	memcpy(argument + 0x2424, &client, sizeof(client));
	memcpy(argument + 0x2428, &handle, sizeof(handle));
	request(uvm, UVM_MAP_EXTERNAL_ALLOCATION, argument);
}

void kernel_ioctl_unmap(uint64_t base, uint64_t bytes)
{
	request_range(UVM_FREE, base, bytes);
}

void kernel_ioctl_managed(uint64_t base, uint64_t bytes)
{
	request_range(UVM_VALIDATE_VA_RANGE, base, bytes);
}
