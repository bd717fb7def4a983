// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/kernels.h"

#include <assert.h>
#include <errno.h>

#include "base/memory.h"

/* Of the handle, or else of the one that it is an alias of; NULL: not known. */
static const char *name_of(const struct process *process, uint64_t handle)
{
	const uint64_t *name = map_get(&process->names, handle), *alias;

	if (!name) {
		alias = map_get(&process->aliases, handle);
		name = alias ? map_get(&process->names, *alias) : NULL;
	}
	return name ? (const char *)(uintptr_t)*name : NULL;
}

int kernels_name(struct state *state, struct process *process, const struct ms_name *name)
{
	const char *text;

	map_fini(&process->launch_places); /* the next launches look up their names anew */
	if (name->alias) {
		/* The other handle's name, if it is known; else better the one it had than none. */
		if (name_of(process, name->alias))
			map_remove(&process->names, name->handle);
		return map_set(&process->aliases, name->handle, name->alias);
	}
	if (!name->length)
		return 0;
	map_remove(&process->aliases, name->handle);
	text = string_intern(&state->strings, name->name, name->length - 1);
	return text ? map_set(&process->names, name->handle, (uintptr_t)text) : -ENOMEM;
}

/* In `kernel_places`. */
static uint64_t key_of(const char *name, uint64_t handle)
{
	return name ? (uintptr_t)name : handle;
}

int kernels_add(struct process *process, const struct kernel *kernel)
{
	int err = memory_grow(&process->kernels, &process->kernels_capacity,
			      process->kernels_count + 1, sizeof(*process->kernels));

	if (!err)
		err = map_set(&process->kernel_places, key_of(kernel->name, kernel->handle),
			      process->kernels_count);
	if (!err)
		process->kernels[process->kernels_count++] = *kernel;
	return err;
}

int kernels_launch(struct process *process, const struct event *event, struct change *change)
{
	const struct ms_call *call = event->call;
	const uint64_t *place = map_get(&process->launch_places, call->addr);

	if (place && event_succeeded(call) && !(call->flags & MS_CALL_PART)) {
		assert(*place < process->kernels_count && process->kernels);
		change->kernel = process->kernels[*place].name;
		process->kernels[*place].launches += event->count;
		process->launches += event->count;
		return 0;
	}
	change->kernel = name_of(process, call->addr);
	if (!change->kernel && call->known & MS_KNOWN_SRC)
		change->kernel = name_of(process, call->src);
	if (!event_succeeded(call) || call->flags & MS_CALL_PART)
		return 0;
	process->launches += event->count;
	place = map_get(&process->kernel_places, key_of(change->kernel, call->addr));
	if (place) {
		assert(*place < process->kernels_count && process->kernels);
		process->kernels[*place].launches += event->count;
		return map_set(&process->launch_places, call->addr, *place);
	}
	return kernels_add(process, &(struct kernel){ .name = change->kernel,
						      .handle = call->addr,
						      .launches = event->count });
}
