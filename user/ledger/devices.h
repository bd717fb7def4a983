/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process has learnt of its devices. A number of a device is the process's own: two
 * processes may mean two devices by it. Which are the same: ledger/usage.h.
 */
#ifndef MEMSCOPE_LEDGER_DEVICES_H
#define MEMSCOPE_LEDGER_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/string.h"
#include "event/event.h"

#define DEVICE_UUID_BYTES 16
#define DEVICE_NAME_BYTES 33 /* 32 that are known, terminated */

/* A PCI bus id, with 0 for what is not known. */
struct device_pci {
	bool known;
	uint32_t domain;
	uint8_t bus, device, function;
};

struct device_identity {
	bool has_uuid;
	uint8_t uuid[DEVICE_UUID_BYTES];
	struct device_pci pci;
	char name[DEVICE_NAME_BYTES]; /* "": not known */
	uint64_t total_bytes;         /* 0: not known */
};

struct process_device {
	int32_t ordinal; /* as the process calls it */
	int32_t row;     /* of usage.h's table; -1: it has none yet */
	struct device_identity identity;
};

/* A zeroed one is empty. */
struct process_devices {
	uint32_t pid;
	uint64_t visible;        /* struct ms_visible, key; 0: not known */
	bool renumbered, single; /* see struct ms_visible, flags */
	struct process_device *devices;
	size_t count, capacity;
	struct map places; /* ordinal -> position */
};

void process_devices_fini(struct process_devices *devices);
size_t process_devices_bytes(const struct process_devices *devices);

/* Forgets what is known: the process executes another program. */
void process_devices_forget(struct process_devices *devices);

/* Makes a place, if there is none. NULL without memory, or beyond LIMIT_DEVICES. */
struct process_device *process_devices_of(struct process_devices *devices, int32_t ordinal);
const struct process_device *process_devices_find(const struct process_devices *devices,
						  int32_t ordinal);

/* Which devices it sees. Those of before mean nothing if that is something else. */
void process_devices_see(struct process_devices *devices, const struct ms_visible *visible);

/* Whether a call of that action says what a device is; and what. */
bool device_is_identified_by(uint8_t action);
void device_identity_of_call(const struct event *event, struct device_identity *identity);

/* Takes what `more` knows. */
void device_identity_add(struct device_identity *identity, const struct device_identity *more);

/* Whether they are of two devices for certain. */
bool device_identity_differs(const struct device_identity *a, const struct device_identity *b);

/* Whether no other device has it. */
bool device_identity_is_known(const struct device_identity *identity);

bool device_pci_equals(const struct device_pci *a, const struct device_pci *b);

/* As nvidia-smi writes them: "GPU-...", "00000000:01:00.0". */
void device_append_uuid(struct string *out, const struct device_identity *identity);
void device_append_pci(struct string *out, const struct device_identity *identity);

#endif /* MEMSCOPE_LEDGER_DEVICES_H */
