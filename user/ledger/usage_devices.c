// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/usage_devices.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/limits.h"

/* A hostile file could name billions of them: what comes after these is of an unknown one. */
#define DEVICES_MAX 1024

void usage_totals_free(struct usage_totals *totals)
{
	if (!totals)
		return;
	free(totals->devices);
	map_fini(&totals->by_uuid);
	map_fini(&totals->by_pci);
	map_fini(&totals->by_number);
	free(totals);
}

/* ---- which row ------------------------------------------------------------------------------- */

size_t usage_device_root(const struct usage_totals *totals, size_t place)
{
	while (totals->devices[place].same != place)
		place = totals->devices[place].same;
	return place;
}

static uint64_t uuid_hash(const struct device_identity *identity)
{
	uint64_t words[2];

	memcpy(words, identity->uuid, sizeof(words));
	return map_hash(map_secret(), map_hash(map_secret(), words[0]) ^ words[1]);
}

static uint64_t pci_hash(const struct device_pci *pci)
{
	return map_hash(map_secret(), (uint64_t)pci->domain << 32 | pci->bus << 16 |
					      pci->device << 8 | pci->function);
}

static uint64_t number_hash(uint64_t visible, int32_t ordinal)
{
	return map_hash(map_secret(), map_hash(map_secret(), visible) ^ (uint32_t)ordinal);
}

/*
 * A map's entry whose key is the hash, or the next that is free after others with the same one.
 * `matches` knows what the hash is of.
 */
static size_t look_up(const struct usage_totals *totals, const struct map *map, uint64_t hash,
		      bool (*matches)(const struct usage_device *device, const void *what),
		      const void *what, uint64_t *key)
{
	const uint64_t *place;

	for (*key = hash; (place = map_get(map, *key)); ++*key)
		if (matches(&totals->devices[*place], what))
			return usage_device_root(totals, *place);
	return SIZE_MAX;
}

static bool has_uuid(const struct usage_device *device, const void *what)
{
	const struct device_identity *identity = what;

	return device->identity.has_uuid &&
	       !memcmp(device->identity.uuid, identity->uuid, DEVICE_UUID_BYTES);
}

static bool has_pci(const struct usage_device *device, const void *what)
{
	const struct device_identity *identity = what;

	return device->identity.pci.known &&
	       device_pci_equals(&device->identity.pci, &identity->pci);
}

static bool has_number(const struct usage_device *device, const void *what)
{
	const struct usage_device *wanted = what;

	return device->visible == wanted->visible && device->ordinal == wanted->ordinal;
}

/* SIZE_MAX: no row has that identity, or that would be another device for certain. */
static size_t find_identity(const struct usage_totals *totals,
			    const struct device_identity *identity)
{
	size_t place = SIZE_MAX;
	uint64_t key;

	if (identity->has_uuid)
		place = look_up(totals, &totals->by_uuid, uuid_hash(identity), has_uuid, identity,
				&key);
	if (place == SIZE_MAX && identity->pci.known)
		place = look_up(totals, &totals->by_pci, pci_hash(&identity->pci), has_pci,
				identity, &key);
	if (place != SIZE_MAX &&
	    device_identity_differs(&totals->devices[place].identity, identity))
		return SIZE_MAX;
	return place;
}

static size_t find_number(const struct usage_totals *totals, uint64_t visible, int32_t ordinal,
			  uint64_t *key)
{
	const struct usage_device wanted = { .visible = visible, .ordinal = ordinal };

	return look_up(totals, &totals->by_number, number_hash(visible, ordinal), has_number,
		       &wanted, key);
}

/* ---- making and joining them ----------------------------------------------------------------- */

/* So that it is found by what is known of it. Without memory, it is not. */
static void index_identity(struct usage_totals *totals, size_t place)
{
	const struct device_identity *identity = &totals->devices[place].identity;
	uint64_t key;

	if (identity->has_uuid && look_up(totals, &totals->by_uuid, uuid_hash(identity), has_uuid,
					  identity, &key) == SIZE_MAX)
		totals->incomplete |= map_set(&totals->by_uuid, key, place) != 0;
	if (identity->pci.known && look_up(totals, &totals->by_pci, pci_hash(&identity->pci),
					   has_pci, identity, &key) == SIZE_MAX)
		totals->incomplete |= map_set(&totals->by_pci, key, place) != 0;
}

/* SIZE_MAX without memory. */
static size_t row_add(struct usage_totals *totals, const struct usage_device *device)
{
	const size_t place = totals->count;

	if (memory_grow(&totals->devices, &totals->capacity, totals->count + 1,
			sizeof(*totals->devices))) {
		totals->incomplete = true;
		return SIZE_MAX;
	}
	totals->devices[totals->count++] = *device;
	totals->devices[place].same = place;
	index_identity(totals, place);
	return place;
}

/* That of all memory of which it is not known on which device it is. */
static size_t unknown_row(struct usage_totals *totals)
{
	uint64_t key;
	size_t place = find_number(totals, 0, -1, &key);

	if (place != SIZE_MAX)
		return place;
	place = row_add(totals, &(struct usage_device){ .ordinal = -1 });
	if (place != SIZE_MAX)
		totals->incomplete |= map_set(&totals->by_number, key, place) != 0;
	return place;
}

/* All that see the same devices and know no better mean the same one by a number. */
static size_t row_of_number(struct usage_totals *totals, const struct process_devices *devices,
			    const struct process_device *device)
{
	const struct usage_device made = { .ordinal = device->ordinal,
					   .pid = devices->pid,
					   .visible = devices->visible,
					   .identity = device->identity };
	uint64_t key;
	size_t place = find_number(totals, devices->visible, device->ordinal, &key);

	if (place != SIZE_MAX &&
	    !device_identity_differs(&totals->devices[place].identity, &device->identity))
		return place;
	/* The last place is kept for the unknown one. */
	if (totals->count + 1 >= DEVICES_MAX)
		return unknown_row(totals);
	if (place != SIZE_MAX)
		return row_add(totals, &made);
	place = row_add(totals, &made);
	if (place != SIZE_MAX)
		totals->incomplete |= map_set(&totals->by_number, key, place) != 0;
	return place;
}

static void row_changed(struct usage_totals *totals, size_t place)
{
	totals->changed[totals->changes++ % USAGE_CHANGED] = (uint32_t)place;
}

/* What was on either is on the first. At what time there was how much is not known any more. */
static void rows_join(struct usage_totals *totals, size_t into, size_t from)
{
	struct usage_device *kept = &totals->devices[into], *gone = &totals->devices[from];

	kept->used |= gone->used;
	kept->peak_unclear |= gone->peak_unclear || (kept->peak_bytes && gone->peak_bytes);
	kept->live_bytes += gone->live_bytes;
	if (gone->peak_bytes > kept->peak_bytes) {
		kept->peak_bytes = gone->peak_bytes;
		kept->peak_ts_ns = gone->peak_ts_ns;
	}
	if (kept->live_bytes > kept->peak_bytes) {
		kept->peak_bytes = kept->live_bytes;
		kept->peak_ts_ns = totals->now_ns;
	}
	if (gone->told.ts_ns > kept->told.ts_ns)
		kept->told = gone->told;
	gone->live_bytes = gone->peak_bytes = 0;
	gone->same = into;
	row_changed(totals, into);
	row_changed(totals, from);
}

/* The row becomes that of a device that is known: or another row is that already. */
static size_t row_learn(struct usage_totals *totals, size_t place,
			const struct device_identity *identity)
{
	const size_t known = find_identity(totals, identity);

	if (known != SIZE_MAX && known != place &&
	    !device_identity_differs(&totals->devices[known].identity,
				     &totals->devices[place].identity)) {
		rows_join(totals, known, place);
		device_identity_add(&totals->devices[known].identity,
				    &totals->devices[place].identity);
		place = known;
	}
	device_identity_add(&totals->devices[place].identity, identity);
	index_identity(totals, place);
	return place;
}

static size_t row_assign(struct usage *usage, struct process_device *device)
{
	size_t place = SIZE_MAX;

	if (device_identity_is_known(&device->identity))
		place = find_identity(usage->totals, &device->identity);
	if (place == SIZE_MAX)
		place = row_of_number(usage->totals, usage->devices, device);
	if (place != SIZE_MAX && usage->totals->devices[place].ordinal >= 0)
		place = row_learn(usage->totals, place, &device->identity);
	device->row = place == SIZE_MAX ? -1 : (int32_t)place;
	return place;
}

static size_t place_of(struct usage *usage, int32_t ordinal)
{
	struct process_device *device =
		ordinal < 0 ? NULL : process_devices_of(usage->devices, ordinal);

	if (!device) {
		usage->totals->incomplete |= ordinal >= 0 && usage->devices->count < LIMIT_DEVICES;
		return unknown_row(usage->totals);
	}
	return device->row >= 0 ? usage_device_root(usage->totals, (size_t)device->row) :
				  row_assign(usage, device);
}

struct usage_device *usage_device_of(struct usage *usage, int32_t ordinal)
{
	const size_t place = place_of(usage, ordinal);

	if (place == SIZE_MAX)
		return NULL;
	usage->totals->devices[place].used = true;
	usage->totals->devices[place].past = false;
	return &usage->totals->devices[place];
}

void usage_device_told(struct usage *usage, int32_t ordinal, const struct usage_told *told)
{
	struct usage_device *device =
		usage && ordinal >= 0 ? usage_device_of(usage, ordinal) : NULL;

	if (device)
		device->told = *told;
}

size_t usage_device_place(const struct usage_totals *totals, const struct process_devices *devices,
			  int32_t ordinal)
{
	const struct process_device *device = process_devices_find(devices, ordinal);
	size_t place = SIZE_MAX;
	uint64_t key;

	if (ordinal < 0)
		return find_number(totals, 0, -1, &key);
	if (device && device->row >= 0)
		return usage_device_root(totals, (size_t)device->row);
	if (device)
		place = find_identity(totals, &device->identity);
	return place != SIZE_MAX ? place : find_number(totals, devices->visible, ordinal, &key);
}

bool usage_device_is_same(const struct usage_totals *totals, const struct process_devices *a,
			  int32_t a_ordinal, const struct process_devices *b, int32_t b_ordinal)
{
	size_t place;

	if (!totals || a == b)
		return a_ordinal == b_ordinal;
	place = usage_device_place(totals, a, a_ordinal);
	return place != SIZE_MAX && place == usage_device_place(totals, b, b_ordinal);
}

/* What the process has there, it has somewhere else. */
static void move_live(struct usage *usage, int32_t ordinal, size_t from, size_t to)
{
	struct usage_device *left = &usage->totals->devices[from];
	struct usage_device *taken = &usage->totals->devices[to];
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < usage->count; i++)
		if (usage->cells[i].device == ordinal && usage_is_on_device(usage->cells[i].space))
			bytes += usage->cells[i].live_bytes;
	if (!bytes)
		return;
	taken->used = true;
	left->live_bytes -= bytes < left->live_bytes ? bytes : left->live_bytes;
	taken->live_bytes += bytes;
	row_changed(usage->totals, from);
	row_changed(usage->totals, to);
	left->peak_unclear = taken->peak_unclear = true;
	if (taken->live_bytes <= taken->peak_bytes)
		return;
	taken->peak_bytes = taken->live_bytes;
	taken->peak_ts_ns = usage->totals->now_ns;
}

void usage_device_learnt(struct usage *usage, struct process_device *device)
{
	size_t before, now;

	if (!usage)
		return;
	if (device->row < 0) {
		row_assign(usage, device);
		return;
	}
	before = usage_device_root(usage->totals, (size_t)device->row);
	if (!device_identity_differs(&usage->totals->devices[before].identity, &device->identity)) {
		device->row = (int32_t)row_learn(usage->totals, before, &device->identity);
		return;
	}
	now = row_assign(usage, device);
	if (now != SIZE_MAX && now != before)
		move_live(usage, device->ordinal, before, now);
}

/* ---- what is on them ------------------------------------------------------------------------- */

void usage_device_add(struct usage *usage, const struct allocation *allocation, uint64_t ts_ns)
{
	struct usage_device *device;

	if (!usage_is_on_device(allocation->space))
		return;
	device = usage_device_of(usage, allocation->device);
	if (!device)
		return;
	device->live_bytes += allocation->size_bytes;
	row_changed(usage->totals, (size_t)(device - usage->totals->devices));
	if (!ts_ns || device->live_bytes <= device->peak_bytes)
		return;
	device->peak_bytes = device->live_bytes;
	device->peak_ts_ns = ts_ns;
}

void usage_device_remove(struct usage *usage, uint8_t space, int32_t ordinal, uint64_t bytes)
{
	struct usage_device *device =
		usage_is_on_device(space) ? usage_device_of(usage, ordinal) : NULL;

	if (!device)
		return;
	device->live_bytes -= bytes < device->live_bytes ? bytes : device->live_bytes;
	row_changed(usage->totals, (size_t)(device - usage->totals->devices));
}

/* The row for the same device as one of another table. */
static size_t place_of_other(struct usage_totals *totals, const struct usage_device *other)
{
	struct usage_device made = *other;
	size_t place = SIZE_MAX;
	uint64_t key;

	if (device_identity_is_known(&other->identity))
		place = find_identity(totals, &other->identity);
	if (place == SIZE_MAX)
		place = find_number(totals, other->visible, other->ordinal, &key);
	else
		key = 0;
	if (place != SIZE_MAX &&
	    !device_identity_differs(&totals->devices[place].identity, &other->identity))
		return place;
	made.live_bytes = made.peak_bytes = 0;
	if (totals->count + 1 >= DEVICES_MAX)
		return unknown_row(totals);
	if (place != SIZE_MAX)
		return row_add(totals, &made);
	place = row_add(totals, &made);
	if (place != SIZE_MAX)
		totals->incomplete |= map_set(&totals->by_number, key, place) != 0;
	return place;
}

void usage_totals_begin(struct usage_totals *totals, const struct usage_totals *before,
			uint64_t ts_ns)
{
	size_t i;

	/* All of them, for one that has followed those before. */
	totals->changes = (before ? before->changes : 0) + USAGE_CHANGED + 1;
	for (i = 0; before && i < before->count; i++) {
		const struct usage_device *old = &before->devices[i];
		size_t place =
			usage_device_root(before, i) == i ? place_of_other(totals, old) : SIZE_MAX;
		struct usage_device *device = place != SIZE_MAX ? &totals->devices[place] : NULL;

		if (!device)
			continue;
		device->used |= old->used;
		device->peak_unclear |= old->peak_unclear;
		if (device->peak_bytes >= old->peak_bytes)
			continue;
		device->peak_bytes = old->peak_bytes;
		device->peak_ts_ns = old->peak_ts_ns;
	}
	assert(totals->devices || !totals->count);
	for (i = 0; i < totals->count; i++) {
		struct usage_device *device = &totals->devices[i];

		if (device->live_bytes <= device->peak_bytes)
			continue;
		device->peak_bytes = device->live_bytes;
		device->peak_ts_ns = ts_ns;
	}
}

/* ---- what people call them ------------------------------------------------------------------- */

bool usage_device_is_listed(const struct usage_totals *totals, size_t place)
{
	const struct usage_device *device = &totals->devices[place];

	return device->same == place && device->used && !device->past;
}

bool usage_device_number_is_unique(const struct usage_totals *totals, size_t place)
{
	size_t i;

	for (i = 0; i < totals->count; i++)
		if (i != place && usage_device_is_listed(totals, i) &&
		    totals->devices[i].ordinal == totals->devices[place].ordinal)
			return false;
	return true;
}

void usage_device_append_label(struct string *out, const struct usage_totals *totals, size_t place)
{
	const struct usage_device *device = &totals->devices[place];

	if (device->ordinal < 0) {
		string_append_text(out, "unknown");
		return;
	}
	string_append_i64(out, device->ordinal);
	if (usage_device_number_is_unique(totals, place))
		return;
	string_append_text(out, " (");
	if (device->identity.has_uuid)
		device_append_uuid(out, &device->identity);
	else if (device->identity.pci.known)
		device_append_pci(out, &device->identity);
	else
		string_append_format(out, "of PID %u", device->pid);
	string_append_text(out, ")");
}
