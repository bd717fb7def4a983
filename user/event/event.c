// SPDX-License-Identifier: BSD-2-Clause
#include "event/event.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const struct probe *row_of(uint16_t row)
{
	return row < probe_count() ? probe_at(row) : NULL;
}

/* What a launch of a graph allocates and frees, and what memory a call is about, must be known. */
static bool belongs_into(const struct probe *probe, uint16_t type)
{
	switch (probe->spec.op) {
	case MS_OP_LAUNCH:
		return type == MS_TYPE_LAUNCH ||
		       (type == MS_TYPE_CALLS && probe->spec.action != MS_ACTION_GRAPH_LAUNCH);
	case MS_OP_COPY:
	case MS_OP_MEMSET:
	case MS_OP_SYNC:
		return type == MS_TYPE_CALL || type == MS_TYPE_CALLS;
	case MS_OP_NAME:
		return false;
	}
	return type == MS_TYPE_CALL;
}

static int decode_call(const struct ms_call *call, struct event *event)
{
	event->call = call;
	event->probe = row_of(call->row);
	if (!event->probe || call->direction >= MS_DIRECTIONS_COUNT ||
	    !belongs_into(event->probe, event->header->type))
		return -EINVAL;
	if (event->probe->layer == MS_LAYER_DRIVER)
		event->driver_probe = event->probe;
	if (call->driver_row == MS_NO_ROW)
		return 0;
	event->driver_probe = row_of(call->driver_row);
	if (!event->driver_probe || event->driver_probe->layer != MS_LAYER_DRIVER)
		return -EINVAL;
	return event->driver_probe->spec.op == event->probe->spec.op ? 0 : -EINVAL;
}

static int decode_calls(const struct ms_calls *calls, struct event *event)
{
	event->count = calls->count;
	return event->count ? decode_call(&calls->call, event) : -EINVAL;
}

const char *event_process_type(uint16_t type)
{
	switch (type) {
	case MS_TYPE_EXEC:
		return "exec";
	case MS_TYPE_FORK:
		return "fork";
	case MS_TYPE_EXIT:
		return "exit";
	}
	return "attach";
}

int event_account_kind(uint16_t op)
{
	if (op < MS_OPS_COUNT)
		return op;
	if (op < MS_ACCOUNT_FREE_BEGIN || op > MS_ACCOUNT_PROCESS)
		return -1;
	return MS_KIND_FREE_BEGIN + (op - MS_ACCOUNT_FREE_BEGIN);
}

uint16_t event_account_op(uint32_t kind)
{
	return kind < MS_OPS_COUNT ? kind : MS_ACCOUNT_FREE_BEGIN + (kind - MS_KIND_FREE_BEGIN);
}

bool event_account_is_known(uint16_t op)
{
	return event_account_kind(op) >= 0 || op == MS_ACCOUNT_UNTRACKED ||
	       op == MS_ACCOUNT_ABANDONED;
}

static int decode_account(const struct ms_account *account, struct event *event)
{
	event->account = account;
	return event_account_is_known(account->op) ? 0 : -EINVAL;
}

static int decode_name(const struct ms_name *name, size_t length)
{
	if (name->length > MS_NAME_MAX || sizeof(*name) + name->length != length)
		return -EINVAL;
	/* Terminated, and nowhere before. */
	return !name->length || strnlen(name->name, name->length) == name->length - 1 ? 0 : -EINVAL;
}

size_t event_size(uint16_t type)
{
	static const size_t sizes[MS_TYPES_COUNT] = {
		[MS_TYPE_CALL] = sizeof(struct ms_call),
		[MS_TYPE_LAUNCH] = sizeof(struct ms_launch),
		[MS_TYPE_FREE_BEGIN] = sizeof(struct ms_free),
		[MS_TYPE_NAME] = sizeof(struct ms_name),
		[MS_TYPE_EXEC] = sizeof(struct ms_process),
		[MS_TYPE_FORK] = sizeof(struct ms_process),
		[MS_TYPE_EXIT] = sizeof(struct ms_process),
		[MS_TYPE_ATTACH] = sizeof(struct ms_process),
		[MS_TYPE_CALLS] = sizeof(struct ms_calls),
		[MS_TYPE_ACCOUNT] = sizeof(struct ms_account),
	};

	return type < MS_TYPES_COUNT ? sizes[type] : 0;
}

int event_decode(const void *record, size_t length, struct event *event)
{
	const struct ms_event *header = record;
	size_t size;

	memset(event, 0, sizeof(*event));
	if (length < sizeof(*header) || header->size != length || header->type >= MS_TYPES_COUNT)
		return -EINVAL;
	size = event_size(header->type);
	if (length < size || (length > size && header->type != MS_TYPE_NAME) ||
	    !event_is_process(header))
		return -EINVAL;
	event->header = header;
	event->count = 1;
	switch (header->type) {
	case MS_TYPE_CALLS:
		return decode_calls(record, event);
	case MS_TYPE_ACCOUNT:
		return decode_account(record, event);
	case MS_TYPE_LAUNCH:
		event->launch = record;
		return decode_call(record, event);
	case MS_TYPE_CALL:
		return decode_call(record, event);
	case MS_TYPE_FREE_BEGIN:
		event->free = record;
		event->probe = row_of(event->free->row);
		return event->probe && event->probe->spec.op == MS_OP_FREE ? 0 : -EINVAL;
	case MS_TYPE_NAME:
		event->name = record;
		return decode_name(record, length);
	}
	event->process = record;
	return event->process->comm[MS_COMM_BYTES - 1] ? -EINVAL : 0;
}
