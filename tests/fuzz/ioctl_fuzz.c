// SPDX-License-Identifier: BSD-2-Clause
/*
 * The decoder of NVIDIA's ioctls, as it runs in the kernel, and what its records come to: a program
 * may put anything into the arguments. The first byte of the input chooses the driver's version;
 * then come ioctls: which one, handles, a class, and 40 bytes of the argument.
 */
#include "fuzz.h"

#include "invariants.h"
#include "ioctl_decoder.h"
#include "ledger/driver_devices.h"
#include "pipeline.h"

#define ARGUMENT 0x7f0000001000ull
#define PARAMS 0x7f0000002000ull
#define BYTES 0x40
#define STEP 48
#define STEPS 400

static const uint32_t versions[] = { 0, MS_DRIVER(515, 43, 4), MS_DRIVER(525, 60, 13),
				     MS_DRIVER(535, 54, 3), MS_DRIVER(580, 159, 4) };
static const uint32_t requests[] = { 0xc030462b, 0xc028462b, 0xc020462b, 0xc0384627,
				     0xc0104629, 0xc01c4634, 0xc01046d3, 0xc030462b };
static const uint32_t classes[] = { 0x40, 0x40, 0x3e, 0x71, 0x80, 0x41, 0x00, 0x50a0 };

static unsigned char argument[BYTES], params[0x48];

static int read_memory(void *to, uint32_t size, uint64_t address)
{
	if (address >= ARGUMENT && address - ARGUMENT + size <= sizeof(argument))
		memcpy(to, argument + (address - ARGUMENT), size);
	else if (address >= PARAMS && address - PARAMS + size <= sizeof(params))
		memcpy(to, params + (address - PARAMS), size);
	else
		return -EFAULT;
	return 0;
}

/* ---- what there should be -------------------------------------------------------------------- */

struct known {
	uint32_t client, object, parent, class_number;
	uint64_t bytes;
};

static struct known known[STEPS];
static size_t known_count;

static void forget(uint32_t client, uint32_t object)
{
	size_t i = 0;

	while (i < known_count)
		if (known[i].client == client &&
		    (client == object || known[i].object == object || known[i].parent == object))
			known[i] = known[--known_count];
		else
			i++;
}

static void forget_one(uint32_t client, uint32_t object)
{
	size_t i;

	for (i = 0; i < known_count; i++)
		if (known[i].client == client && known[i].object == object) {
			known[i] = known[--known_count];
			return;
		}
}

static void expect(const struct ms_object *record)
{
	if (record->status || record->action == MS_OBJECT_DUP)
		return;
	if (record->action == MS_OBJECT_FREE) {
		forget(record->client, record->object);
		return;
	}
	if (record->class_number <= MS_NV_ROOT_NON_PRIV ||
	    record->class_number == MS_NV_ROOT_CLIENT)
		return;
	forget_one(record->client, record->object);
	known[known_count++] = (struct known){ record->client, record->object, record->parent,
					       record->class_number, record->size };
}

static void check_ledger(const struct state *state)
{
	const struct process *process = state->processes_count ? state->processes[0] : NULL;
	uint64_t device = 0, host = 0, groups = 0, causes[DRIVER_CAUSES_COUNT];
	int32_t number = DRIVER_DEVICES_BEGIN;
	size_t i;

	if (!process)
		return;
	for (i = 0; i < known_count; i++) {
		device += known[i].class_number == MS_NV_MEMORY_LOCAL ? known[i].bytes : 0;
		host += known[i].class_number == MS_NV_MEMORY_SYSTEM ||
					known[i].class_number == MS_NV_MEMORY_OS ?
				known[i].bytes :
				0;
	}
	while ((number = driver_devices_next(process, number)) != DRIVER_DEVICES_END)
		groups += driver_devices_bytes(process, number, causes);
	fuzz_check(process->driver.count == known_count);
	fuzz_check(process->driver.device.live_bytes == device);
	fuzz_check(process->driver.host.live_bytes == host);
	fuzz_check(groups == device);
}

/* ---- ioctls ---------------------------------------------------------------------------------- */

static uint32_t make(const uint8_t *bytes)
{
	const uint32_t client = 0xc1d00000u + (bytes[1] & 3), class_number = classes[bytes[4] & 7];
	const uint32_t parent = bytes[2] & 15 ? 0x5c000000u + (bytes[2] & 3) : client;
	const uint32_t object = bytes[3] & 15 ? 0x5c000000u + (bytes[3] & 31) : client;
	const uint64_t place = PARAMS;

	memset(argument, 0, sizeof(argument));
	memcpy(argument, &client, sizeof(client));
	memcpy(argument + 4, &parent, sizeof(parent));
	memcpy(argument + 8, &object, sizeof(object));
	memcpy(argument + 12, &class_number, sizeof(class_number));
	memcpy(argument + 16, &place, sizeof(place));
	memcpy(params, bytes + 8, 40);
	memcpy(params + 0x40, bytes + 5, 3);
	/* Whatever else there may be, in some of them: pointers and statuses. */
	if (bytes[0] & 8)
		memcpy(argument + 16, bytes + 8, 40);
	if (bytes[0] & 16)
		memcpy(argument, bytes + 8, 16);
	return requests[bytes[0] & 7];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pipeline pipeline = { .shows_sums = true };
	struct event event;
	size_t i;

	if (!size)
		return 0;
	memset(&decoder, 0, sizeof(decoder));
	decoder.read = read_memory;
	settings.driver_version = versions[bytes[0] % (sizeof(versions) / sizeof(*versions))];
	decoder.inodes[0] = (struct inode){ .i_rdev = 0x0c3000ff, .i_mode = 0020666 };
	known_count = 0;
	for (i = 1; i + STEP <= size && i / STEP < STEPS; i += STEP) {
		const uint32_t request = make(bytes + i);

		if (!decode(0, request, ARGUMENT, bytes[i] & 32 ? -22 : 0))
			continue;
		fuzz_check(!(bytes[i] & 32));
		fuzz_check(!event_decode(&decoder.record, sizeof(decoder.record), &event));
		fuzz_check(decoder.record.class_number == 0 ||
			   class_is_kept(decoder.record.class_number));
		expect(&decoder.record);
		fuzz_check(!pipeline_feed(&pipeline, &decoder.record, sizeof(decoder.record)));
		check_ledger(&pipeline.state);
	}
	invariants_check(&pipeline.state);
	state_fini(&pipeline.state);
	return 0;
}
