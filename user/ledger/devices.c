// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/event.h"
#include "ledger/limits.h"

void process_devices_fini(struct process_devices *devices)
{
	free(devices->devices);
	map_fini(&devices->places);
	*devices = (struct process_devices){ 0 };
}

size_t process_devices_bytes(const struct process_devices *devices)
{
	return devices->capacity * sizeof(*devices->devices) + map_bytes(&devices->places);
}

void process_devices_forget(struct process_devices *devices)
{
	const uint32_t pid = devices->pid;

	process_devices_fini(devices);
	devices->pid = pid;
}

static struct process_device *find(const struct process_devices *devices, int32_t ordinal)
{
	const uint64_t *place = map_get(&devices->places, (uint32_t)ordinal);

	return place ? &devices->devices[*place] : NULL;
}

const struct process_device *process_devices_find(const struct process_devices *devices,
						  int32_t ordinal)
{
	return find(devices, ordinal);
}

struct process_device *process_devices_of(struct process_devices *devices, int32_t ordinal)
{
	struct process_device *device = find(devices, ordinal);

	if (device || devices->count >= LIMIT_DEVICES ||
	    memory_grow(&devices->devices, &devices->capacity, devices->count + 1,
			sizeof(*devices->devices)) ||
	    map_set(&devices->places, (uint32_t)ordinal, devices->count))
		return device;
	device = &devices->devices[devices->count++];
	*device = (struct process_device){ .ordinal = ordinal, .row = -1 };
	return device;
}

void process_devices_see(struct process_devices *devices, const struct ms_visible *visible)
{
	const uint64_t unknown = event_process_key(visible->event.pid, visible->event.start_ns);

	/* If it was not known what it sees, it sees what it saw. */
	if (devices->visible && devices->visible != visible->key && devices->visible != unknown)
		process_devices_forget(devices);
	devices->visible = visible->key;
	devices->renumbered = visible->flags & MS_VISIBLE_RENUMBERED;
	devices->single = visible->flags & MS_VISIBLE_SINGLE;
}

/* ---- what calls say -------------------------------------------------------------------------- */

bool device_is_identified_by(uint8_t action)
{
	return action >= MS_ACTION_DEVICE_UUID && action <= MS_ACTION_DEVICE_PROPERTIES;
}

/* [DOMAIN:]BUS:DEVICE[.FUNCTION], hexadecimal: cuDeviceGetByPCIBusId takes all of them. */
static void read_pci(const char *text, struct device_pci *pci)
{
	unsigned long numbers[4] = { 0 };
	size_t count = 0;
	char *end;

	*pci = (struct device_pci){ 0 };
	for (; count < 4; text = end + 1) {
		numbers[count] = strtoul(text, &end, 16);
		if (end == text)
			return;
		count++;
		/* A function comes last, and a device before it. */
		if (*end == '.' && count >= 2 && count < 4 && end[1] >= '0' && end[1] <= '7')
			pci->function = (uint8_t)(end[1] - '0');
		if (*end != ':')
			break;
	}
	if (count < 2 || count > 3 || numbers[count - 1] > 31 || numbers[count - 2] > UINT8_MAX)
		return;
	pci->known = true;
	pci->device = (uint8_t)numbers[count - 1];
	pci->bus = (uint8_t)numbers[count - 2];
	pci->domain = count == 3 ? (uint32_t)numbers[0] : 0;
}

void device_identity_of_call(const struct event *event, struct device_identity *identity)
{
	const struct ms_call *call = event->call;
	const uint64_t words[] = { call->addr, call->src, call->stream, call->size };
	const uint8_t action = event->probe->spec.action;
	const bool has_pair = call->known & MS_KNOWN_ADDR && call->known & MS_KNOWN_SRC;
	char text[sizeof(words) + 1] = "";

	*identity = (struct device_identity){ 0 };
	if (action == MS_ACTION_DEVICE_TOTAL || action == MS_ACTION_DEVICE_PROPERTIES)
		identity->total_bytes = call->known & MS_KNOWN_SIZE ? call->size : 0;
	if (!has_pair)
		return;
	switch (action) {
	case MS_ACTION_DEVICE_UUID:
	case MS_ACTION_DEVICE_PROPERTIES:
		memcpy(identity->uuid, words, DEVICE_UUID_BYTES);
		identity->has_uuid = call->addr || call->src;
		break;
	case MS_ACTION_DEVICE_PCI:
		memcpy(text, words, 2 * sizeof(*words));
		read_pci(text, &identity->pci);
		break;
	case MS_ACTION_DEVICE_NAME:
		memcpy(text, words, sizeof(words));
		memcpy(identity->name, text, DEVICE_NAME_BYTES);
		break;
	}
}

/* ---- identities ------------------------------------------------------------------------------ */

bool device_pci_equals(const struct device_pci *a, const struct device_pci *b)
{
	return a->domain == b->domain && a->bus == b->bus && a->device == b->device &&
	       a->function == b->function;
}

void device_identity_add(struct device_identity *identity, const struct device_identity *more)
{
	if (more->has_uuid) {
		identity->has_uuid = true;
		memcpy(identity->uuid, more->uuid, DEVICE_UUID_BYTES);
	}
	if (more->pci.known)
		identity->pci = more->pci;
	if (*more->name)
		memcpy(identity->name, more->name, DEVICE_NAME_BYTES);
	if (more->total_bytes)
		identity->total_bytes = more->total_bytes;
}

/* Parts of one GPU (MIG) have its PCI bus id, but UUIDs of their own. */
bool device_identity_differs(const struct device_identity *a, const struct device_identity *b)
{
	if (a->has_uuid && b->has_uuid)
		return memcmp(a->uuid, b->uuid, DEVICE_UUID_BYTES) != 0;
	return a->pci.known && b->pci.known && !device_pci_equals(&a->pci, &b->pci);
}

bool device_identity_is_known(const struct device_identity *identity)
{
	return identity->has_uuid || identity->pci.known;
}

void device_append_uuid(struct string *out, const struct device_identity *identity)
{
	static const uint8_t dashes[DEVICE_UUID_BYTES] = { [4] = 1, [6] = 1, [8] = 1, [10] = 1 };
	size_t i;

	string_append_text(out, "GPU-");
	for (i = 0; i < DEVICE_UUID_BYTES; i++)
		string_append_format(out, "%s%02x", dashes[i] ? "-" : "", identity->uuid[i]);
}

void device_append_pci(struct string *out, const struct device_identity *identity)
{
	const struct device_pci *pci = &identity->pci;

	string_append_format(out, "%08x:%02x:%02x.%x", pci->domain, pci->bus, pci->device,
			     pci->function);
}
