// SPDX-License-Identifier: BSD-2-Clause
#include "event/event.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "event/identity.h"

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

static int decode_split(const struct ms_split_call *split, struct event *event)
{
	event->split = split;
	if (split->runnable_ns > split->call.duration_ns ||
	    split->blocked_ns > split->call.duration_ns - split->runnable_ns)
		return -EINVAL;
	return decode_call(&split->call, event);
}

static int decode_calls(const struct ms_calls *calls, struct event *event)
{
	event->count = calls->count;
	return event->count ? decode_call(&calls->call, event) : -EINVAL;
}

/* ---- the kinds of records -------------------------------------------------------------------- */

enum record_size { SIZE_FIXED, SIZE_TEXT };

enum record_shape {
	SHAPE_CALL,
	SHAPE_FREE,
	SHAPE_NAME,
	SHAPE_PROCESS,
	SHAPE_ACCOUNT,
	SHAPE_LOSS,
	SHAPE_VISIBLE,
	SHAPE_SAMPLE,
	SHAPE_NEWER,
	SHAPE_IDENTITY,
	SHAPE_STACK,
	SHAPE_FRAME,
	SHAPE_GPU_NAME,
};

static const struct record_kind {
	const char *name; /* NULL: there is no such number */
	uint16_t bytes;
	uint8_t size;
	uint8_t subject; /* enum event_subject */
	uint8_t shape;
} kinds[MS_TYPES_COUNT] = {
#define MS_RECORD(type, number, layout, sized, of, shaped, kind, called) \
	[number] = { .name = (called), \
		     .bytes = sizeof(struct layout), \
		     .size = SIZE_##sized, \
		     .subject = EVENT_OF_##of, \
		     .shape = SHAPE_##shaped },
#include "records.def"
#undef MS_RECORD
};

const char *event_type_name(enum ms_type type)
{
	return kinds[type].name;
}

const char *event_budget_step_name(enum ms_budget_step step)
{
	static const char *const names[MS_BUDGET_STEPS] = {
		[MS_BUDGET_ALL] = "all",
		[MS_BUDGET_ENTRIES] = "entries",
		[MS_BUDGET_OFF] = "off",
	};

	return names[step];
}

bool event_is_call(uint16_t type)
{
	return event_size(type) && kinds[type].shape == SHAPE_CALL;
}

bool event_is_sample(uint16_t type)
{
	return event_size(type) && kinds[type].shape == SHAPE_SAMPLE;
}

enum event_subject event_subject_of(uint16_t type)
{
	return kinds[type].subject;
}

size_t event_size(uint16_t type)
{
	return type < MS_TYPES_COUNT ? kinds[type].bytes : 0;
}

bool event_has_text(uint16_t type)
{
	return event_size(type) && kinds[type].size == SIZE_TEXT;
}

/* By what the kinds behind the ops stand in recordings (enum ms_account_other). */
static const uint16_t account_numbers[MS_KINDS_COUNT - MS_OPS_COUNT] = {
#define X(kind, number, ring, matters) [MS_KIND_##kind - MS_OPS_COUNT] = (number),
	MS_OTHER_KINDS(X)
#undef X
};

int event_account_kind(uint16_t op)
{
	int kind;

	if (op < MS_OPS_COUNT)
		return op;
	for (kind = MS_OPS_COUNT; kind < MS_KINDS_COUNT; kind++)
		if (account_numbers[kind - MS_OPS_COUNT] == op)
			return kind;
	return -1;
}

uint16_t event_account_op(uint32_t kind)
{
	return kind < MS_OPS_COUNT ? kind : account_numbers[kind - MS_OPS_COUNT];
}

bool event_account_is_known(uint16_t op)
{
	return event_account_kind(op) >= 0 || op == MS_ACCOUNT_UNTRACKED ||
	       op == MS_ACCOUNT_ABANDONED;
}

size_t event_longest(uint16_t type)
{
	return type == MS_TYPE_CALL ? sizeof(struct ms_split_call) : event_size(type);
}

/* What is untracked is said of the whole capture alone. */
static int decode_loss(const struct ms_loss *loss)
{
	if (loss->op == MS_ACCOUNT_ABANDONED)
		return 0;
	return event_account_kind(loss->op) < 0 ? -EINVAL : 0;
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

static int decode_object(const struct ms_object *object)
{
	return object->action < MS_OBJECT_ACTIONS_COUNT &&
			       (object->row == MS_NO_ROW || row_of(object->row)) ?
		       0 :
		       -EINVAL;
}

static int decode_range(const struct ms_range *range)
{
	return range->action < MS_RANGE_ACTIONS_COUNT &&
			       (range->row == MS_NO_ROW || row_of(range->row)) ?
		       0 :
		       -EINVAL;
}

static int decode_tensor(const struct ms_tensor *tensor)
{
	return tensor->framework < MS_FRAMEWORKS_COUNT && tensor->framework != MS_FRAMEWORK_NCCL &&
			       tensor->action < MS_TENSOR_ACTIONS_COUNT ?
		       0 :
		       -EINVAL;
}

static int decode_nccl(const struct ms_nccl *nccl)
{
	return nccl->function < MS_NCCL_FUNCTIONS_COUNT ? 0 : -EINVAL;
}

/* Of a launch of a kernel, as those are that are counted. */
static int decode_launch_sample(const struct ms_launch_sample *sample)
{
	const struct probe *probe = row_of(sample->row);

	return sample->one_in && probe && probe->spec.kind == MS_ROW_KIND_LAUNCH ? 0 : -EINVAL;
}

static int decode_activity(const struct ms_activity_body *activity)
{
	return activity->kind && activity->kind < MS_ACTIVITIES_COUNT &&
			       activity->from < MS_GPU_MEMORIES_COUNT &&
			       activity->to < MS_GPU_MEMORIES_COUNT &&
			       activity->begin_ns <= activity->end_ns &&
			       (activity->kind != MS_ACTIVITY_COPY ||
				activity->what <= MS_DIRECTIONS_COUNT) ?
		       0 :
		       -EINVAL;
}

static int decode_gpu_status(const struct ms_gpu_status_body *status)
{
	return status->state < MS_GPU_STATES_COUNT && status->reason < MS_GPU_REASONS_COUNT &&
			       !status->who[MS_GPU_WHO_BYTES - 1] ?
		       0 :
		       -EINVAL;
}

static int decode_gpu_name(const struct ms_gpu_name *name, size_t length)
{
	return sizeof(*name) + name->is.room == length && name->is.room > name->is.length &&
			       strnlen(name->name, name->is.room) == name->is.length ?
		       0 :
		       -EINVAL;
}

static int decode_placement(const struct ms_placement *placement)
{
	return placement->space < MS_SPACES_COUNT && placement->pages <= placement->asked ? 0 :
											    -EINVAL;
}

/* The name is terminated, and nowhere before; what is in it is the program's. */
static int decode_marker(const struct ms_marker *marker)
{
	if (marker->action >= MS_MARKER_ACTIONS_COUNT ||
	    marker->source >= MS_MARKER_SOURCES_COUNT || marker->length > MS_MARKER_NAME_BYTES ||
	    sizeof(*marker) + marker->length != marker->event.size)
		return -EINVAL;
	return !marker->length || strnlen(marker->name, marker->length) == marker->length - 1 ?
		       0 :
		       -EINVAL;
}

static int decode_budget(const struct ms_budget *budget)
{
	return budget->step < MS_BUDGET_STEPS && budget->before < MS_BUDGET_STEPS ? 0 : -EINVAL;
}

/* Both texts are terminated. */
static int decode_xid(const struct ms_xid *xid)
{
	return !xid->bdf[MS_BDF_BYTES - 1] && !xid->text[MS_XID_TEXT_BYTES - 1] ? 0 : -EINVAL;
}

/* Likewise. */
static int decode_limit(const struct ms_limit *limit)
{
	return !limit->region[MS_LIMIT_REGION_BYTES - 1] && !limit->path[MS_LIMIT_PATH_BYTES - 1] &&
			       limit->limit_path_bytes < MS_LIMIT_PATH_BYTES ?
		       0 :
		       -EINVAL;
}

static int decode_sample(const void *record, struct event *event)
{
	event->sample = record;
	switch (event_type(event)) {
	case MS_TYPE_OBJECT:
		return decode_object(record);
	case MS_TYPE_RANGE:
		return decode_range(record);
	case MS_TYPE_TENSOR:
		return decode_tensor(record);
	case MS_TYPE_NCCL:
		return decode_nccl(record);
	case MS_TYPE_LAUNCH_SAMPLE:
		return decode_launch_sample(record);
	case MS_TYPE_ACTIVITY:
		return decode_activity(&((const struct ms_activity *)record)->is);
	case MS_TYPE_GPU_STATUS:
		return decode_gpu_status(&((const struct ms_gpu_status *)record)->is);
	case MS_TYPE_PLACEMENT:
		return decode_placement(record);
	case MS_TYPE_MARKER:
		return decode_marker(record);
	case MS_TYPE_BUDGET:
		return decode_budget(record);
	case MS_TYPE_XID:
		return decode_xid(record);
	case MS_TYPE_LIMIT:
		return decode_limit(record);
	default:
		return 0;
	}
}

int event_check_stack(const struct ms_stack *stack)
{
	const size_t bytes =
		stack->form == MS_STACK_FRAMES ? sizeof(uint32_t) : sizeof(struct ms_stack_frame);

	return stack->form < MS_STACK_FORMS_COUNT && stack->end < MS_STACK_ENDS_COUNT &&
			       stack->id && stack->count <= MS_STACK_MOST &&
			       sizeof(*stack) + stack->count * bytes == stack->event.size ?
		       0 :
		       -EINVAL;
}

/* The texts are all there, and terminated; what a newer version says more is behind them. */
int event_check_frame(const struct ms_frame_record *frame)
{
	const char *text = frame->texts, *end = frame->texts + frame->length;
	int i;

	if (frame->length > MS_FRAME_TEXTS_MAX ||
	    sizeof(*frame) + frame->length != frame->event.size ||
	    frame->kind >= MS_FRAME_KINDS_COUNT || !frame->id)
		return -EINVAL;
	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++) {
		const char *nul = memchr(text, '\0', end - text);

		if (!nul)
			return -EINVAL;
		text = nul + 1;
	}
	return 0;
}

static int decode_shape(const void *record, size_t length, struct event *event)
{
	struct identity identity;

	switch ((enum record_shape)kinds[event->header->type].shape) {
	case SHAPE_CALL:
		if (event->header->type == MS_TYPE_CALLS)
			return decode_calls(record, event);
		if (event->header->type == MS_TYPE_LAUNCH)
			event->launch = record;
		else if (length == sizeof(struct ms_split_call))
			return decode_split(record, event);
		return decode_call(record, event);
	case SHAPE_FREE:
		event->free = record;
		event->probe = row_of(event->free->row);
		return event->probe && event->probe->spec.op == MS_OP_FREE ? 0 : -EINVAL;
	case SHAPE_NAME:
		event->name = record;
		return decode_name(record, length);
	case SHAPE_PROCESS:
		event->process = record;
		return event->process->comm[MS_COMM_BYTES - 1] ? -EINVAL : 0;
	case SHAPE_ACCOUNT:
		return decode_account(record, event);
	case SHAPE_LOSS:
		event->loss = record;
		return decode_loss(record);
	case SHAPE_VISIBLE:
		event->visible = record;
		return 0;
	case SHAPE_SAMPLE:
		return decode_sample(record, event);
	case SHAPE_NEWER:
		event->newer = record;
		return event->newer->function[MS_FUNCTION_BYTES - 1] ? -EINVAL : 0;
	case SHAPE_IDENTITY:
		event->identity = record;
		if (sizeof(*event->identity) + event->identity->length != length)
			return -EINVAL;
		return identity_parse(event->identity->texts, event->identity->length, &identity);
	case SHAPE_STACK:
		event->stack = record;
		return event_check_stack(event->stack);
	case SHAPE_FRAME:
		event->frame = record;
		return event_check_frame(event->frame);
	case SHAPE_GPU_NAME:
		event->gpu_name = record;
		return decode_gpu_name(event->gpu_name, length);
	}
	return -EINVAL;
}

int event_decode(const void *record, size_t length, struct event *event)
{
	const struct ms_event *header = record;
	size_t size;

	memset(event, 0, sizeof(*event));
	if (length < sizeof(*header) || header->size != length)
		return -EINVAL;
	size = event_size(header->type);
	if (!size || length < size ||
	    (length > size && length != event_longest(header->type) &&
	     !event_has_text(header->type)) ||
	    !event_is_process(header))
		return -EINVAL;
	event->header = header;
	event->subject = event_subject_of(header->type);
	event->count = 1;
	return decode_shape(record, length, event);
}

bool event_has_stack(const struct ms_event *record)
{
	switch (record->type) {
	case MS_TYPE_CALL:
	case MS_TYPE_LAUNCH:
		return ((const struct ms_call *)record)->flags & MS_CALL_STACK;
	case MS_TYPE_TENSOR:
		return ((const struct ms_tensor *)record)->flags & MS_TENSOR_STACK;
	case MS_TYPE_LAUNCH_SAMPLE:
		return record->stack;
	}
	return false;
}
