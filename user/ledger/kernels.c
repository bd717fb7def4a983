// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/kernels.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"

const char limit_other_kernels[] = "(other kernels)";

/* The name of the handle, or else of the one that it is an alias of; NULL: not known. */
static const char *name_of(const struct process *process, uint64_t handle)
{
	const uint64_t *name = map_get(&process->names, handle), *alias;

	if (!name) {
		alias = map_get(&process->aliases, handle);
		name = alias ? map_get(&process->names, *alias) : NULL;
	}
	return name ? (const char *)(uintptr_t)*name : NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t left_of(uint64_t limit, uint64_t used)
{
	return used < limit ? limit - used : 0;
}

const char *kernels_intern(struct state *state, struct process *process, const char *name,
			   size_t length)
{
	const size_t before = state->strings.bytes;
	const uint64_t own = left_of(LIMIT_NAME_BYTES, process->name_bytes);
	const uint64_t all = left_of(LIMIT_ALL_NAMES_BYTES, before);
	const char *text;
	bool refused;

	if (length == strlen(limit_other_kernels) && !memcmp(name, limit_other_kernels, length))
		return limit_other_kernels;
	text = string_intern_within(&state->strings, name, length, own < all ? own : all, &refused);
	if (refused) {
		process->counters[COUNTER_OTHER_NAMES]++;
		return limit_other_kernels;
	}
	process->name_bytes += state->strings.bytes - before;
	return text;
}

/* What a handle is called, or stands for: in a map with so many places. */
static int set(struct process *process, struct map *map, uint64_t handle, uint64_t value)
{
	uint64_t *known = map_get(map, handle);

	if (known)
		*known = value;
	else if (map->count >= LIMIT_NAMES)
		process->counters[COUNTER_OTHER_NAMES]++;
	else
		return map_set(map, handle, value);
	return 0;
}

int kernels_set_name(struct process *process, uint64_t handle, const char *name)
{
	return set(process, &process->names, handle, (uintptr_t)name);
}

int kernels_set_alias(struct process *process, uint64_t handle, uint64_t alias)
{
	return set(process, &process->aliases, handle, alias);
}

static uint64_t key_of(const char *name, uint64_t handle);

/* Launches that were counted for the handle are the kernel's: that was its name all along. */
static int rename_handle(struct process *process, uint64_t handle, const char *name)
{
	const uint64_t *place = map_get(&process->kernel_places, handle);
	const uint64_t *named = map_get(&process->kernel_places, (uintptr_t)name);
	const struct kernel *last = &process->kernels[process->kernels_count - 1];
	const uint64_t index = place ? *place : 0;
	struct kernel *kernel = &process->kernels[index];

	if (!place || kernel->name)
		return 0;
	if (named)
		process->kernels[*named].launches += kernel->launches;
	map_remove(&process->kernel_places, handle);
	if (!named) {
		kernel->name = name;
		return map_set(&process->kernel_places, (uintptr_t)name, index);
	}
	process->kernels_count--;
	if (kernel == last)
		return 0;
	*kernel = *last;
	return map_set(&process->kernel_places, key_of(kernel->name, kernel->handle), index);
}

/* What calls have said is better. */
static int name_found(struct state *state, struct process *process, const struct ms_name *name)
{
	const char *text;
	int err;

	if (name->alias || !name->length || name_of(process, name->handle))
		return 0;
	text = kernels_intern(state, process, name->name, name->length - 1);
	if (!text)
		return -ENOMEM;
	map_remove(&process->aliases, name->handle);
	err = kernels_set_name(process, name->handle, text);
	return err ? err : rename_handle(process, name->handle, text);
}

int kernels_name(struct state *state, struct process *process, const struct ms_name *name)
{
	const char *text;

	map_fini(&process->launch_places); /* the next launches look up their names anew */
	if (name->found)
		return name_found(state, process, name);
	if (name->alias) {
		/* The other handle's name, if it is known; else better the one it had than none. */
		if (name_of(process, name->alias))
			map_remove(&process->names, name->handle);
		return kernels_set_alias(process, name->handle, name->alias);
	}
	if (!name->length)
		return 0;
	map_remove(&process->aliases, name->handle);
	text = kernels_intern(state, process, name->name, name->length - 1);
	return text ? kernels_set_name(process, name->handle, text) : -ENOMEM;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* In `kernel_places`. */
static uint64_t key_of(const char *name, uint64_t handle)
{
	return name ? (uintptr_t)name : handle;
}

static int kernel_new(struct process *process, const struct kernel *kernel)
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

int kernels_add(struct process *process, const struct kernel *kernel)
{
	const struct kernel other = { .name = limit_other_kernels, .launches = kernel->launches };
	const uint64_t *place =
		map_get(&process->kernel_places, key_of(kernel->name, kernel->handle));

	/* The last place is kept for those that find none. */
	if (!place && process->kernels_count + 1 >= LIMIT_KERNELS) {
		if (kernel->name != limit_other_kernels)
			process->counters[COUNTER_OTHER_KERNELS] += kernel->launches;
		kernel = &other;
		place = map_get(&process->kernel_places, (uintptr_t)limit_other_kernels);
	}
	if (!place)
		return kernel_new(process, kernel);
	process->kernels[*place].launches += kernel->launches;
	return 0;
}

/*
 * Where the kernel of a handle is need not be looked for again. Not if this was its first launch:
 * a program may have very many kernels that are launched once.
 */
static int remember(struct process *process, uint64_t handle, const struct kernel *kernel)
{
	const uint64_t *place =
		map_get(&process->kernel_places, key_of(kernel->name, kernel->handle));

	if (!place) /* it has no row of its own */
		return 0;
	if (process->kernels[*place].launches == kernel->launches)
		return 0;
	if (process->launch_places.count >= LIMIT_NAMES)
		map_fini(&process->launch_places);
	return map_set(&process->launch_places, handle, *place);
}

int kernels_launch(struct process *process, const struct event *event, struct change *change)
{
	const struct ms_call *call = event->call;
	const uint64_t *place = map_get(&process->launch_places, call->addr);
	struct kernel kernel = { .handle = call->addr, .launches = event->count };
	int err;

	if (place && event_succeeded(call) && !(call->flags & MS_CALL_PART)) {
		assert(*place < process->kernels_count && process->kernels);
		change->kernel = process->kernels[*place].name;
		process->kernels[*place].launches += event->count;
		process->launches += event->count;
		if (change->kernel == limit_other_kernels)
			process->counters[COUNTER_OTHER_KERNELS] += event->count;
		return 0;
	}
	change->kernel = name_of(process, call->addr);
	if (!change->kernel && call->known & MS_KNOWN_SRC)
		change->kernel = name_of(process, call->src);
	if (!event_succeeded(call) || call->flags & MS_CALL_PART)
		return 0;
	process->launches += event->count;
	kernel.name = change->kernel;
	if (kernel.name == limit_other_kernels)
		process->counters[COUNTER_OTHER_KERNELS] += event->count;
	err = kernels_add(process, &kernel);
	return err ? err : remember(process, call->addr, &kernel);
}

bool kernels_are_of_torch(const struct process *process)
{
	size_t i;

	for (i = 0; i < process->kernels_count; i++) {
		const char *name = process->kernels[i].name;

		if (name && (strstr(name, "at::native") || strstr(name, "2at6native")))
			return true;
	}
	return false;
}
