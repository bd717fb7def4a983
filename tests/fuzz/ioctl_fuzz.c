// SPDX-License-Identifier: BSD-2-Clause
/*
 * The decoder of NVIDIA's ioctls, as it runs in the kernel, and what its records come to: a program
 * may put anything into the arguments. The first byte of the input chooses the driver's version;
 * then come ioctls: which one, handles, a class, and 40 bytes of the argument; or addresses of
 * /dev/nvidia-uvm.
 */
#include "fuzz.h"

#include "invariants.h"
#include "ioctl_decoder.h"
#include "ledger/driver_devices.h"
#include "ledger/driver_joins.h"
#include "pipeline.h"

#define ARGUMENT 0x7f0000001000ull
#define PARAMS 0x7f0000008000ull
#define BYTES 0xc0 /* of what is not of /dev/nvidia-uvm */
#define UVM_BYTES 0x2430
#define UVM_MAJOR 238
#define BASE 0x7ea03a000000ull
#define STEP 48
#define STEPS 400

static const uint32_t versions[] = { 0, MS_DRIVER(515, 43, 4), MS_DRIVER(525, 60, 13),
				     MS_DRIVER(535, 54, 3), MS_DRIVER(580, 159, 4) };
static const uint32_t requests[] = { 0xc030462b, 0xc028462b, 0xc020462b, 0xc0384627,
				     0xc0104629, 0xc01c4634, 0xc01046d3, 0xc0b8464a };
/* Of RM_VID_HEAP_CONTROL. */
static const uint32_t functions[] = { 2, 3, 6, 14, 27, 5, 15, 0x102 };
/* Of /dev/nvidia-uvm, but for one. */
static const uint32_t more_requests[] = { 73, 33, 34, 66, 72, 37, 0xc020462a, 0x30000001 };
static const uint32_t commands[] = { 0x3d05, 0x3d06, 0x3d0b, 0x3d0c };
static const uint32_t classes[] = { 0x40, 0x40, 0x3e, 0x71, 0x80, 0x41, 0x00, 0x50a0 };

static unsigned char argument[UVM_BYTES], params[0x60];

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

#define ALIAS 0xffffffff

static struct known known[STEPS];
static size_t known_count;
static uint32_t passed[STEPS]; /* files by which memory was passed on */
static size_t passed_count;

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

static const struct known *find(uint32_t client, uint32_t object)
{
	size_t i;

	for (i = 0; i < known_count; i++)
		if (known[i].client == client && known[i].object == object)
			return &known[i];
	return NULL;
}

static void add(const struct ms_object *record, uint32_t class_number, uint64_t bytes)
{
	forget_one(record->client, record->object);
	known[known_count++] = (struct known){ record->client, record->object, record->parent,
					       class_number, bytes };
}

static bool is_passed(uint32_t file)
{
	size_t i;

	for (i = 0; i < passed_count; i++)
		if (passed[i] == file)
			return true;
	return false;
}

/* Other names of what is there: they have no bytes of their own. */
static void expect_name(const struct ms_object *record)
{
	const struct known *one;

	if (record->action == MS_OBJECT_DUP) {
		if (find(record->source_client, record->source_object))
			add(record, ALIAS, 0);
	} else if (record->action == MS_OBJECT_EXPORT) {
		one = find(record->client, record->object);
		if (one && one->class_number == MS_NV_MEMORY_LOCAL && record->source_client)
			passed[passed_count++] = record->source_client;
	} else if (is_passed(record->source_client)) {
		add(record, ALIAS, 0);
	}
}

static void expect(const struct ms_object *record)
{
	if (record->status)
		return;
	if (record->action == MS_OBJECT_DUP || record->action == MS_OBJECT_EXPORT ||
	    record->action == MS_OBJECT_IMPORT) {
		expect_name(record);
		return;
	}
	if (record->action == MS_OBJECT_FREE) {
		forget(record->client, record->object);
		return;
	}
	if (record->class_number <= MS_NV_ROOT_NON_PRIV ||
	    record->class_number == MS_NV_ROOT_CLIENT)
		return;
	add(record, record->class_number, record->size);
}

/* Each byte of the device stands in one of three places. */
static void check_joins(const struct process *process)
{
	struct driver_joins joins;
	size_t i;

	if (!driver_joins_of(process, &joins))
		return;
	fuzz_check(joins.behind_bytes + joins.empty_bytes + joins.unmapped_bytes ==
		   process->driver.device.live_bytes);
	fuzz_check(joins.behind_objects + joins.empty_objects + joins.unmapped_objects ==
		   process->driver.device.live_count);
	for (i = 1; i < joins.largest_count; i++)
		fuzz_check(joins.largest[i].bytes <= joins.largest[i - 1].bytes);
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
	fuzz_check(!process->driver.shared.live_bytes);
	check_joins(process);
}

/* ---- ioctls ---------------------------------------------------------------------------------- */

static void put(void *to, size_t at, uint32_t value)
{
	memcpy((uint8_t *)to + at, &value, sizeof(value));
}

/* Addresses of a page each, handles, and whatever else there may be. */
static uint32_t make_more(const uint8_t *bytes)
{
	const uint32_t request = more_requests[bytes[0] & 7];
	const uint32_t client = 0xc1d00000u + (bytes[1] & 3);
	const uint32_t object = 0x5c000000u + (bytes[3] & 31);
	const uint64_t base = BASE + ((uint64_t)bytes[2] << 12), count = (uint64_t)bytes[5] << 12;

	memset(argument, 0, sizeof(argument));
	memset(params, 0, sizeof(params));
	if (request == 0xc020462a) {
		const uint32_t command = commands[bytes[4] & 3];
		const uint64_t place = PARAMS;

		put(argument, 0, client);
		put(argument, 8, command);
		memcpy(argument + 16, &place, sizeof(place));
		put(params, 0, bytes[6] & 3);
		put(params, 8, object);
		put(params, 12, object);
		put(params, 16, command == 0x3d05 ? bytes[6] & 3u : object);
		put(params, 0x4c, object);
		return request;
	}
	memcpy(argument, &base, sizeof(base));
	memcpy(argument + 8, &count, sizeof(count));
	memcpy(argument + 24, bytes + 8, 40);
	put(argument, 0x498, bytes[7] & 3);
	put(argument, 0x2418, bytes[7] & 3);
	put(argument, 0x4a4, client);
	put(argument, 0x4a8, object);
	put(argument, 0x2424, client);
	put(argument, 0x2428, object);
	if (bytes[0] & 16)
		memcpy(argument, bytes + 8, 24);
	return request;
}

static uint32_t make(const uint8_t *bytes)
{
	const uint32_t client = 0xc1d00000u + (bytes[1] & 3), class_number = classes[bytes[4] & 7];
	const uint32_t parent = bytes[2] & 15 ? 0x5c000000u + (bytes[2] & 3) : client;
	const uint32_t object = bytes[3] & 15 ? 0x5c000000u + (bytes[3] & 31) : client;
	const uint64_t place = PARAMS;

	memset(argument, 0, BYTES);
	memcpy(argument, &client, sizeof(client));
	memcpy(argument + 4, &parent, sizeof(parent));
	memcpy(argument + 8, &object, sizeof(object));
	memcpy(argument + 12, &class_number, sizeof(class_number));
	memcpy(argument + 16, &place, sizeof(place));
	memcpy(params, bytes + 8, 40);
	params[0x20] = bytes[5] & 5;
	memcpy(params + 0x40, bytes + 5, 3);
	if (requests[bytes[0] & 7] == 0xc0b8464a) {
		put(argument, 8, functions[bytes[4] & 7]);
		memcpy(argument + 16, bytes + 8, 40);
		put(argument, 0x14, bytes[5] & 1);
		put(argument, (bytes[4] & 7) == 4 ? 0x28 : 0x2c, object);
		memcpy(argument + 0x50, bytes + 8, 16);
	}
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
	decoder.inodes[1] = (struct inode){ .i_rdev = UVM_MAJOR << 20, .i_mode = 0020666 };
	uvm_major = bytes[0] & 128 ? 0 : UVM_MAJOR;
	known_count = passed_count = 0;
	for (i = 1; i + STEP <= size && i / STEP < STEPS; i += STEP) {
		const bool more = bytes[i] & 64;
		const uint32_t request = more ? make_more(bytes + i) : make(bytes + i);
		const uint32_t fd = more && request != 0xc020462a;

		if (!decode(fd, request, ARGUMENT, bytes[i] & 32 ? -22 : 0))
			continue;
		fuzz_check(!(bytes[i] & 32));
		fuzz_check(!event_decode(&decoder.event, decoder.event.size, &event));
		if (decoder.event.type == MS_TYPE_OBJECT) {
			fuzz_check(decoder.record.class_number == 0 ||
				   class_is_kept(decoder.record.class_number));
			expect(&decoder.record);
		}
		fuzz_check(!pipeline_feed(&pipeline, &decoder.event, decoder.event.size));
		check_ledger(&pipeline.state);
	}
	invariants_check(&pipeline.state);
	state_fini(&pipeline.state);
	return 0;
}
