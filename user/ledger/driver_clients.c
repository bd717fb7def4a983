// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/driver_clients.h"

#include <errno.h>
#include <stdlib.h>

#include "event/event.h"
#include "ledger/driver_joins.h"
#include "ledger/driver_objects.h"
#include "ledger/effort.h"
#include "ledger/limits.h"
#include "ledger/state.h"

void driver_clients_fini(struct driver_clients *clients)
{
	map_fini(&clients->owners);
	map_fini(&clients->shared);
	map_fini(&clients->passed_bytes);
	map_fini(&clients->passed_by);
	free(clients->passed_files);
	clients->passed_files = NULL;
}

static uint64_t key_of(uint32_t client, uint32_t file)
{
	return (uint64_t)client << 32 | file;
}

static bool makes_client(const struct ms_object *object)
{
	return object->action == MS_OBJECT_ALLOC && !object->status &&
	       (object->class_number <= MS_NV_ROOT_NON_PRIV ||
		object->class_number == MS_NV_ROOT_CLIENT);
}

static bool frees_client(const struct ms_object *object)
{
	return object->action == MS_OBJECT_FREE && !object->status &&
	       object->client == object->object;
}

static void remove_client(struct driver_clients *clients, uint64_t key)
{
	map_remove(&clients->owners, key);
	map_remove(&clients->shared, key);
}

/* One that finds no place is as if it were not known: what is made for it is the asker's. */
static void note(struct driver_clients *clients, struct process *process,
		 const struct ms_object *object)
{
	const uint64_t key = key_of(object->object, object->file);

	if (!object->file)
		return;
	remove_client(clients, key);
	if (clients->owners.count >= LIMIT_DRIVER_CLIENTS ||
	    map_set(&clients->owners, key, event_process_key(process->pid, process->start_ns)))
		process->counters[COUNTER_OTHER_DRIVER_OBJECTS]++;
	else
		process->driver.has_clients = true;
}

/* The process that made the client; the one that asks, if that is not known. */
static struct process *owner_of(struct state *state, struct process *process,
				const struct ms_object *object)
{
	struct driver_clients *clients = &state->driver_clients;
	const uint64_t key = key_of(object->client, object->file);
	const uint64_t *owner = map_get(&clients->owners, key), *place;
	struct process *found;

	if (!owner || object->action == MS_OBJECT_DUP || !object->file)
		return process;
	place = map_get(&state->by_identity, *owner);
	found = place ? (struct process *)(uintptr_t)*place : NULL;
	if (!found || found->exited)
		return process;
	/* Without memory, the client ends with its maker's program. */
	if (found != process)
		map_set(&clients->shared, key, 1);
	return found;
}

/* Those that another process has used go on, unless it has exited: then they have no owner. */
static void end_clients(struct driver_clients *clients, struct process *process, bool has_exited)
{
	const uint64_t owner = event_process_key(process->pid, process->start_ns);
	size_t slot = 0;

	if (!process->driver.has_clients)
		return;
	process->driver.has_clients = false;
	while (slot < clients->owners.capacity) {
		uint64_t key;

		if (!map_is_used(&clients->owners, slot) ||
		    clients->owners.slots[slot].value != owner) {
			slot++;
			continue;
		}
		key = map_key_at(&clients->owners, slot);
		if (has_exited || !map_get(&clients->shared, key)) {
			remove_client(clients, key); /* another one may lie there now */
		} else {
			process->driver.has_clients = true;
			slot++;
		}
	}
}

void driver_clients_exit(struct state *state, struct process *process)
{
	end_clients(&state->driver_clients, process, true);
	driver_joins_keep(process);
	driver_objects_end(&process->driver);
}

void driver_clients_exec(struct state *state, struct process *process)
{
	end_clients(&state->driver_clients, process, false);
	driver_objects_exec(&process->driver);
}

/* ---- objects with several names -------------------------------------------------------------- */

#define MOST_PROCESSES 256 /* that are looked through for an object of another process */

/* Memory that has that name in another process; NULL: it is not known. */
static const struct driver_object *
find_elsewhere(const struct state *state, struct process *process, uint32_t client, uint32_t object)
{
	size_t i, looked = 0;

	for (i = state->processes_count; i-- > 0 && looked < MOST_PROCESSES;) {
		const struct process *other = state->processes[i];
		const struct driver_object *found;

		/* Those without objects are work, too. */
		if (!effort_pay(process, 1)) {
			process->counters[COUNTER_OTHER_DRIVER_OBJECTS]++;
			return NULL;
		}
		if (other == process || other->exited || !other->driver.count)
			continue;
		looked++;
		found = driver_objects_find(&other->driver, client, object);
		if (found && found->class_number == MS_NV_MEMORY_LOCAL)
			return found;
	}
	return NULL;
}

static int apply_dup(const struct state *state, struct process *process,
		     const struct ms_object *object)
{
	const struct driver_object *source =
		driver_objects_find(&process->driver, object->source_client, object->source_object);

	if (source)
		return driver_objects_alias(process, object,
					    driver_ranges_key(source->client, source->object), 0);
	effort_advance(process, object->event.ts_ns);
	source = find_elsewhere(state, process, object->source_client, object->source_object);
	return source ? driver_objects_alias(process, object, 0, source->bytes) : 0;
}

static void forget_passed(struct driver_clients *clients, uint32_t file)
{
	map_remove(&clients->passed_bytes, file);
	map_remove(&clients->passed_by, file);
}

/* A new one takes the place of the oldest: no ioctl says when one is closed. */
static bool passed_place(struct driver_clients *clients, uint32_t file)
{
	if (map_get(&clients->passed_bytes, file))
		return true;
	if (!clients->passed_files)
		clients->passed_files = calloc(LIMIT_PASSED_FILES, sizeof(*clients->passed_files));
	if (!clients->passed_files)
		return false;
	if (clients->passed_files[clients->passed_next])
		forget_passed(clients, clients->passed_files[clients->passed_next]);
	clients->passed_files[clients->passed_next] = file;
	clients->passed_next = (clients->passed_next + 1) % LIMIT_PASSED_FILES;
	return true;
}

/* By the file alone, which only those have who were handed it. */
static void note_export(struct driver_clients *clients, const struct process *process,
			const struct ms_object *object)
{
	const struct driver_object *source =
		driver_objects_find(&process->driver, object->client, object->object);
	const uint32_t key = object->source_client;

	if (!key || !source || source->class_number != MS_NV_MEMORY_LOCAL ||
	    !passed_place(clients, key))
		return;
	/* Without memory, what is imported has no size. */
	if (!map_set(&clients->passed_bytes, key, source->bytes))
		map_set(&clients->passed_by, key,
			event_process_key(process->pid, process->start_ns));
}

static int apply_import(const struct driver_clients *clients, struct process *process,
			const struct ms_object *object)
{
	const uint64_t *bytes = map_get(&clients->passed_bytes, object->source_client);
	const uint64_t *owner = map_get(&clients->passed_by, object->source_client);

	if (!bytes || !owner)
		return 0;
	if (*owner == event_process_key(process->pid, process->start_ns))
		return driver_objects_alias(process, object, 0, 0);
	return driver_objects_alias(process, object, 0, *bytes);
}

static int apply_names(struct state *state, struct process *process, const struct ms_object *object)
{
	if (object->status)
		return 0;
	switch ((int)object->action) {
	case MS_OBJECT_DUP:
		return apply_dup(state, process, object);
	case MS_OBJECT_EXPORT:
		note_export(&state->driver_clients, process, object);
		return 0;
	case MS_OBJECT_IMPORT:
		return apply_import(&state->driver_clients, process, object);
	}
	return 0;
}

/* ---- closed files ---------------------------------------------------------------------------- */

/* The last process that had it has closed it: its clients are gone, with all below them. */
static int close_file(struct state *state, struct process *process, const struct ms_object *object)
{
	struct driver_clients *clients = &state->driver_clients;
	struct driver_ranges *ranges = &process->driver.ranges;
	const uint32_t file = object->file;
	size_t slot = 0;
	int err = 0;

	effort_advance(process, object->event.ts_ns);
	if (!effort_pay(process,
			clients->owners.capacity + ranges->created.count + ranges->mapped.count)) {
		process->counters[COUNTER_UNFOLLOWED_FILES]++;
		return 0;
	}
	driver_ranges_close(ranges, file);
	while (!err && slot < clients->owners.capacity) {
		struct ms_object gone = { .action = MS_OBJECT_FREE };
		const uint64_t *place;
		uint64_t key;

		if (!map_is_used(&clients->owners, slot) ||
		    (uint32_t)map_key_at(&clients->owners, slot) != file) {
			slot++;
			continue;
		}
		key = map_key_at(&clients->owners, slot);
		place = map_get(&state->by_identity, clients->owners.slots[slot].value);
		gone.client = gone.object = (uint32_t)(key >> 32);
		if (place)
			err = driver_objects_apply((struct process *)(uintptr_t)*place, &gone);
		remove_client(clients, key); /* another one may lie there now */
	}
	return err;
}

/* ---- ioctls that could not be read ----------------------------------------------------------- */

/* For whose client it was is not known: any other process that made one by the file is told. */
static void tell_owners(struct state *state, struct process *process,
			const struct ms_object *object)
{
	const struct map *owners = &state->driver_clients.owners;
	const uint64_t asker = event_process_key(process->pid, process->start_ns);
	struct map told = { 0 };
	size_t slot;

	effort_advance(process, object->event.ts_ns);
	if (!object->file || !effort_pay(process, owners->capacity))
		return;
	for (slot = 0; slot < owners->capacity; slot++) {
		const uint64_t owner = owners->slots[slot].value, *place;

		if (!map_is_used(owners, slot) ||
		    (uint32_t)map_key_at(owners, slot) != object->file || owner == asker ||
		    map_get(&told, owner))
			continue;
		place = map_get(&state->by_identity, owner);
		if (place && !map_set(&told, owner, 1))
			((struct process *)(uintptr_t)*place)->counters[COUNTER_UNREAD_IOCTLS]++;
	}
	map_fini(&told);
}

int driver_clients_apply(struct state *state, struct process *process,
			 const struct ms_event *record)
{
	const struct ms_object *object = (const struct ms_object *)record;
	struct driver_clients *clients = &state->driver_clients;
	struct process *asker = process;

	if (object->action == MS_OBJECT_CLOSED && object->file)
		return close_file(state, process, object);
	if (makes_client(object))
		note(clients, process, object);
	else if (object->action == MS_OBJECT_CLOSED)
		end_clients(clients, process, false);
	else if (object->action == MS_OBJECT_UNREAD)
		tell_owners(state, process, object);
	else if (object->action != MS_OBJECT_MISSED)
		process = owner_of(state, process, object);
	if (frees_client(object))
		remove_client(clients, key_of(object->object, object->file));
	if (driver_objects_apply(process, object))
		return -ENOMEM;
	/* Another name of an object is the asker's, whosever the client is. */
	if (asker != process && object->action == MS_OBJECT_FREE && asker->driver.count &&
	    driver_objects_apply(asker, object))
		return -ENOMEM;
	return apply_names(state, process, object);
}
