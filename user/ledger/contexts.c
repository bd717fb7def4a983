// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/contexts.h"

#include "base/memory.h"
#include "ledger/allocations.h"

static struct context *context_find(const struct process *process, uint64_t handle)
{
	size_t i;

	for (i = 0; i < process->contexts_count; i++)
		if (process->contexts[i].handle == handle)
			return &process->contexts[i];
	return NULL;
}

static struct context *context_primary(struct process *process, int32_t device)
{
	size_t i;

	for (i = 0; i < process->contexts_count; i++)
		if (process->contexts[i].primary && process->contexts[i].device == device)
			return &process->contexts[i];
	return NULL;
}

static int context_add(struct process *process, const struct ms_call *call, bool primary)
{
	const int32_t device = call->known & MS_KNOWN_DEVICE ? call->device : -1;
	struct context *context;

	/* Where the driver wrote its handle could not be read. Of each device's primary, one. */
	if (!call->addr && !primary)
		return 0;
	context = call->addr ? context_find(process, call->addr) : context_primary(process, device);
	if (!context) {
		int err = memory_grow(&process->contexts, &process->contexts_capacity,
				      process->contexts_count + 1, sizeof(*process->contexts));

		if (err)
			return err;
		context = &process->contexts[process->contexts_count++];
		*context = (struct context){ .handle = call->addr };
	}
	context->device = device;
	context->primary = primary;
	context->references += primary;
	return 0;
}

static void context_end(struct process *process, struct context *context, uint64_t handle,
			struct change *change)
{
	if (context)
		*context = process->contexts[--process->contexts_count];
	if (!handle)
		return;
	process->unclear_ends += allocations_any_in(process, 0);
	allocations_end(process, handle, change);
}

/* What it holds ends; it stays, and so do the references to it. */
static void context_reset(struct process *process, const struct context *context,
			  struct change *change)
{
	/* 0 would be all of them. */
	bool unclear = context && !context->handle;

	process->unclear_ends += unclear || allocations_any_in(process, 0);
	if (context && !unclear)
		allocations_end(process, context->handle, change);
}

int contexts_apply(struct process *process, const struct event *event, struct change *change)
{
	const struct ms_call *call = event->call;
	struct context *context;

	if (!event_succeeded(call))
		return 0;
	switch (event->probe->spec.action) {
	case MS_ACTION_CREATE:
		return context_add(process, call, false);
	case MS_ACTION_RETAIN:
		return context_add(process, call, true);
	case MS_ACTION_DESTROY:
		context_end(process, context_find(process, call->addr), call->addr, change);
		return 0;
	case MS_ACTION_RELEASE:
		context = context_primary(process, call->device);
		if (!context)
			return 0;
		context->references -= context->references > 0;
		/* Of a process that was running, earlier references are not known. */
		if (!context->references && !process->was_running)
			context_end(process, context, context->handle, change);
		return 0;
	case MS_ACTION_RESET:
		context_reset(process, context_primary(process, call->device), change);
		return 0;
	}
	return 0;
}

int32_t contexts_device(const struct process *process, const struct ms_call *call)
{
	const struct context *context;

	if (call->known & MS_KNOWN_DEVICE)
		return call->device;
	context = call->known & MS_KNOWN_CONTEXT && call->context ?
			  context_find(process, call->context) :
			  NULL;
	return context ? context->device : -1;
}
