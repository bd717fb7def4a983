// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/driver_clients.h"

#include "event/event.h"
#include "ledger/driver_objects.h"
#include "ledger/limits.h"
#include "ledger/state.h"

void driver_clients_fini(struct driver_clients *clients)
{
	map_fini(&clients->owners);
	map_fini(&clients->files);
}

static bool makes_client(const struct ms_object *object)
{
	return object->action == MS_OBJECT_ALLOC && !object->status &&
	       (object->class_number <= MS_NV_ROOT_NON_PRIV ||
		object->class_number == MS_NV_ROOT_CLIENT);
}

/* Without memory, or of too many, it is as if it were not known. */
static void note(struct driver_clients *clients, const struct process *process,
		 const struct ms_object *object)
{
	const uint64_t key = event_process_key(process->pid, process->start_ns);

	map_remove(&clients->files, object->object);
	if (!object->file || clients->owners.count >= LIMIT_DRIVER_CLIENTS ||
	    map_set(&clients->owners, object->object, key))
		return;
	map_set(&clients->files, object->object, object->file);
}

/* The process that made the client; the one that asks, if that is not known or has ended. */
static struct process *owner_of(const struct state *state, struct process *process,
				const struct ms_object *object)
{
	const struct driver_clients *clients = &state->driver_clients;
	const uint64_t *file = map_get(&clients->files, object->client);
	const uint64_t *owner = map_get(&clients->owners, object->client);
	const uint64_t *place;
	struct process *found;

	if (!file || !owner || *file != object->file || object->action == MS_OBJECT_DUP)
		return process;
	place = map_get(&state->by_identity, *owner);
	found = place ? (struct process *)(uintptr_t)*place : NULL;
	return found && !found->exited ? found : process;
}

int driver_clients_apply(struct state *state, struct process *process,
			 const struct ms_event *record)
{
	const struct ms_object *object = (const struct ms_object *)record;
	struct driver_clients *clients = &state->driver_clients;

	if (makes_client(object)) {
		note(clients, process, object);
	} else {
		process = owner_of(state, process, object);
		if (object->action == MS_OBJECT_FREE && !object->status &&
		    object->client == object->object) {
			map_remove(&clients->owners, object->object);
			map_remove(&clients->files, object->object);
		}
	}
	return driver_objects_apply(process, object);
}
