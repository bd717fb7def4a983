// SPDX-License-Identifier: BSD-2-Clause
#include "render/record_field.h"

#include <string.h>
#include <sys/wait.h>

#include "event/probe.h"
#include "render/record_field_driver.h"
#include "render/record_field_frameworks.h"

static struct field_value get_was_running(const struct event *event, const struct change *change)
{
	(void)event;
	return (struct field_value){ .known = true,
				     .number = state_may_hold_more(change->process) };
}

static struct field_value get_live(const struct event *event, const struct change *change)
{
	(void)event;
	return (struct field_value){ .known = true, .amounts = change->implicit };
}

static struct field_value get_identity(const struct event *event, const struct change *change)
{
	(void)event;
	return (struct field_value){ .known = true, .identity = &change->process->identity.known };
}

static struct field_value get_exit_code(const struct event *event, const struct change *change)
{
	const uint32_t status = event->process->value;

	(void)change;
	return (struct field_value){ .known = status != MS_EXIT_UNKNOWN && !WIFSIGNALED(status),
				     .number = WEXITSTATUS(status) };
}

static struct field_value get_signal(const struct event *event, const struct change *change)
{
	const uint32_t status = event->process->value;

	(void)change;
	return (struct field_value){ .known = status != MS_EXIT_UNKNOWN && WIFSIGNALED(status),
				     .number = WTERMSIG(status) };
}

struct field_value record_field_text(const char *text)
{
	return (struct field_value){ .known = text,
				     .text = text,
				     .length = text ? strlen(text) : 0 };
}

/* ---- launches that chance chose -------------------------------------------------------------- */

static struct field_value get_launch_sample_api(const struct event *event,
						const struct change *change)
{
	(void)change;
	return record_field_text(
		probe_at(((const struct ms_launch_sample *)event->sample)->row)->symbol);
}

static struct field_value get_launch_sample_stack(const struct event *event,
						  const struct change *change)
{
	(void)change;
	return (struct field_value){ .known = event->header->stack,
				     .number = event->header->stack };
}

/* ---- markers --------------------------------------------------------------------------------- */

static const struct ms_marker *marker_of(const struct event *event)
{
	return (const struct ms_marker *)event->sample;
}

static struct field_value get_marker_action(const struct event *event, const struct change *change)
{
	static const char *const actions[] = {
#define X(action, name) name,
		MS_MARKER_ACTIONS(X)
#undef X
	};

	(void)change;
	return record_field_text(actions[marker_of(event)->action]);
}

static struct field_value get_marker_source(const struct event *event, const struct change *change)
{
	static const char *const sources[] = {
#define X(source, name) name,
		MS_MARKER_SOURCES(X)
#undef X
	};

	(void)change;
	return record_field_text(sources[marker_of(event)->source]);
}

static struct field_value get_marker_name(const struct event *event, const struct change *change)
{
	(void)change;
	return record_field_text(marker_of(event)->length ? marker_of(event)->name : NULL);
}

static struct field_value get_marker_cut(const struct event *event, const struct change *change)
{
	(void)change;
	return (struct field_value){ .known = true,
				     .number = marker_of(event)->flags & MS_MARKER_CUT };
}

static struct field_value get_marker_range(const struct event *event, const struct change *change)
{
	const struct ms_marker *marker = marker_of(event);

	(void)change;
	return (struct field_value){ .known = marker->action == MS_MARKER_STARTED ||
					      marker->action == MS_MARKER_END || marker->id,
				     .number = marker->id };
}

static struct field_value get_marker_domain(const struct event *event, const struct change *change)
{
	(void)change;
	return (struct field_value){ .known = marker_of(event)->domain,
				     .number = marker_of(event)->domain };
}

/* ---- errors of devices ----------------------------------------------------------------------- */

static struct field_value get_xid_process(const struct event *event, const struct change *change)
{
	const struct ms_xid *xid = (const struct ms_xid *)event->header;

	(void)change;
	return (struct field_value){ .known = xid->process, .number = xid->process };
}

/* ---- what NVML says of a device -------------------------------------------------------------- */

static const struct ms_device *device_of(const struct event *event)
{
	return (const struct ms_device *)event->header;
}

static struct field_value device_value(const struct event *event, uint32_t known, uint64_t number)
{
	return (struct field_value){ .known = device_of(event)->known & known, .number = number };
}

static struct field_value get_device_total(const struct event *event, const struct change *change)
{
	(void)change;
	return device_value(event, MS_DEVICE_MEMORY, device_of(event)->total_bytes);
}

static struct field_value get_device_used(const struct event *event, const struct change *change)
{
	(void)change;
	return device_value(event, MS_DEVICE_MEMORY, device_of(event)->used_bytes);
}

static struct field_value get_device_free(const struct event *event, const struct change *change)
{
	(void)change;
	return device_value(event, MS_DEVICE_MEMORY, device_of(event)->free_bytes);
}

static struct field_value get_device_reserved(const struct event *event,
					      const struct change *change)
{
	(void)change;
	return device_value(event, MS_DEVICE_RESERVED, device_of(event)->reserved_bytes);
}

static struct field_value get_device_processes(const struct event *event,
					       const struct change *change)
{
	(void)change;
	return device_value(event, MS_DEVICE_PROCESSES, device_of(event)->processes);
}

static struct field_value get_device_processes_bytes(const struct event *event,
						     const struct change *change)
{
	(void)change;
	return device_value(event, MS_DEVICE_PROCESSES, device_of(event)->processes_bytes);
}

static struct field_value get_device_gpu(const struct event *event, const struct change *change)
{
	(void)change;
	return device_value(event, MS_DEVICE_RATES, device_of(event)->gpu_percent);
}

static struct field_value get_device_memory(const struct event *event, const struct change *change)
{
	(void)change;
	return device_value(event, MS_DEVICE_RATES, device_of(event)->memory_percent);
}

/* ---- what GPUs did --------------------------------------------------------------------------- */

static const char *const activity_names[] = {
#define X(kind, name) name,
	MS_ACTIVITIES(X)
#undef X
};

static const char *const memory_names[] = {
#define X(kind, name) name,
	MS_GPU_MEMORIES(X)
#undef X
};

static const char *const state_names[] = {
#define X(kind, name) name,
	MS_GPU_STATES(X)
#undef X
};

static const char *const reason_names[] = {
#define X(kind, name) name,
	MS_GPU_REASONS(X)
#undef X
};

static const struct ms_activity_body *activity_of(const struct event *event)
{
	return &((const struct ms_activity *)event->sample)->is;
}

static const struct ms_gpu_status_body *status_of(const struct event *event)
{
	return &((const struct ms_gpu_status *)event->sample)->is;
}

static struct field_value get_activity_kind(const struct event *event, const struct change *change)
{
	(void)change;
	return record_field_text(activity_names[activity_of(event)->kind]);
}

static struct field_value get_activity_name(const struct event *event, const struct change *change)
{
	const struct ms_activity_body *activity = activity_of(event);

	if (activity->kind == MS_ACTIVITY_OVERHEAD)
		return record_field_text(gpu_overhead_name(activity->what));
	return record_field_text(gpu_times_kernel(change->process, activity->name));
}

static struct field_value time_value(const struct ms_activity_body *activity, uint64_t ns)
{
	return (struct field_value){ .known = !(activity->flags & MS_ACTIVITY_UNTIMED),
				     .number = ns };
}

static struct field_value get_activity_begin(const struct event *event, const struct change *change)
{
	(void)change;
	return time_value(activity_of(event), activity_of(event)->begin_ns);
}

static struct field_value get_activity_end(const struct event *event, const struct change *change)
{
	(void)change;
	return time_value(activity_of(event), activity_of(event)->end_ns);
}

static struct field_value get_activity_ns(const struct event *event, const struct change *change)
{
	const struct ms_activity_body *activity = activity_of(event);

	(void)change;
	return time_value(activity, activity->end_ns - activity->begin_ns);
}

static struct field_value get_activity_size(const struct event *event, const struct change *change)
{
	const struct ms_activity_body *activity = activity_of(event);

	(void)change;
	return (struct field_value){ .known = activity->kind == MS_ACTIVITY_COPY ||
					      activity->kind == MS_ACTIVITY_MEMSET,
				     .number = activity->size };
}

static struct field_value get_activity_direction(const struct event *event,
						 const struct change *change)
{
	const struct ms_activity_body *activity = activity_of(event);

	(void)change;
	if (activity->kind != MS_ACTIVITY_COPY || activity->what == MS_DIRECTIONS_COUNT)
		return record_field_text(NULL);
	return record_field_text(probe_direction_name(activity->what));
}

static struct field_value memory_value(const struct ms_activity_body *activity, uint8_t memory)
{
	const bool has = activity->kind == MS_ACTIVITY_COPY || activity->kind == MS_ACTIVITY_MEMSET;

	return record_field_text(has && memory ? memory_names[memory] : NULL);
}

static struct field_value get_activity_from(const struct event *event, const struct change *change)
{
	(void)change;
	return memory_value(activity_of(event), activity_of(event)->from);
}

static struct field_value get_activity_to(const struct event *event, const struct change *change)
{
	(void)change;
	return memory_value(activity_of(event), activity_of(event)->to);
}

static struct field_value get_activity_device(const struct event *event,
					      const struct change *change)
{
	const int32_t device = activity_of(event)->device;

	(void)change;
	return (struct field_value){ .known = device >= 0, .number = (uint64_t)device };
}

static struct field_value get_activity_call(const struct event *event, const struct change *change)
{
	const struct gpu_link *link = change->activity_of;

	(void)event;
	return (struct field_value){ .known = link && link->end_ns,
				     .number = link ? link->begin_ns : 0 };
}

static struct field_value flag_value(const struct event *event, uint8_t flag)
{
	return (struct field_value){ .known = true,
				     .number = (activity_of(event)->flags & flag) != 0 };
}

static struct field_value get_activity_async(const struct event *event, const struct change *change)
{
	(void)change;
	return flag_value(event, MS_ACTIVITY_ASYNC);
}

static struct field_value get_activity_by_kernel(const struct event *event,
						 const struct change *change)
{
	(void)change;
	return flag_value(event, MS_ACTIVITY_DEVICE_LAUNCHED);
}

static struct field_value get_gpu_state(const struct event *event, const struct change *change)
{
	(void)change;
	return record_field_text(state_names[status_of(event)->state]);
}

static struct field_value get_gpu_reason(const struct event *event, const struct change *change)
{
	(void)change;
	return record_field_text(reason_names[status_of(event)->reason]);
}

static struct field_value get_placement_space(const struct event *event,
					      const struct change *change)
{
	(void)change;
	return record_field_text(
		probe_space_name(((const struct ms_placement *)event->sample)->space));
}

static struct field_value get_budget_step(const struct event *event, const struct change *change)
{
	const struct ms_budget *budget = (const struct ms_budget *)event->sample;

	(void)change;
	return record_field_text(event_budget_step_name(budget->step));
}

static struct field_value get_budget_before(const struct event *event, const struct change *change)
{
	const struct ms_budget *budget = (const struct ms_budget *)event->sample;

	(void)change;
	return record_field_text(event_budget_step_name(budget->before));
}

static bool budget_has(const struct event *event, enum ms_budget_stackless bit)
{
	return ((const struct ms_budget *)event->sample)->stackless & bit;
}

static struct field_value get_budget_stacks(const struct event *event, const struct change *change)
{
	(void)change;
	return (struct field_value){ .known = true,
				     .number = !budget_has(event, MS_BUDGET_IS_STACKLESS) };
}

static struct field_value get_budget_had_stacks(const struct event *event,
						const struct change *change)
{
	(void)change;
	return (struct field_value){ .known = true,
				     .number = !budget_has(event, MS_BUDGET_WAS_STACKLESS) };
}

static struct field_value get_limit_cgroup(const struct event *event, const struct change *change)
{
	const struct ms_limit *limit = (const struct ms_limit *)event->sample;

	(void)change;
	return (struct field_value){ .known = limit->known & MS_LIMIT_MEMORY,
				     .text = limit->path,
				     .length = strnlen(limit->path, limit->limit_path_bytes) };
}

/* ---- the tables ------------------------------------------------------------------------------ */

#define MEMBER(layout, member) \
	.offset = offsetof(struct layout, member), .bytes = sizeof(((struct layout *)NULL)->member)
#define KNOWN(layout, member, bit) \
	MEMBER(layout, member), .known_offset = offsetof(struct layout, known), \
				.known_bit = (bit), .can_be_unknown = true
#define GET(function) .get = get_##function
#define MAYBE(function) .get = get_##function, .can_be_unknown = true
#define DRIVER(function) .get = record_field_driver_##function
#define MAYBE_DRIVER(function) .get = record_field_driver_##function, .can_be_unknown = true

const struct record_field record_fields[] = {
#define RECORD(...)
#define FIELD(of, called, is, value, described) \
	{ .type = MS_TYPE_##of, \
	  .name = #called, \
	  .kind = FIELD_##is, \
	  .description = (described), \
	  value },
#include "render/record_fields.def"
#undef FIELD
#undef RECORD
};

const size_t record_fields_count = sizeof(record_fields) / sizeof(*record_fields);

const struct record_title record_titles[] = {
#define RECORD(of, said) { .type = MS_TYPE_##of, .title = (said) },
#define FIELD(...)
#include "render/record_fields.def"
#undef FIELD
#undef RECORD
};

const size_t record_titles_count = sizeof(record_titles) / sizeof(*record_titles);

/* ---- values ---------------------------------------------------------------------------------- */

/* This is only built for machines whose lowest byte comes first. */
static uint64_t number_at(const void *member, size_t bytes)
{
	uint64_t number = 0;

	memcpy(&number, member, bytes);
	return number;
}

static struct field_value member_value(const struct record_field *field, const void *member)
{
	struct field_value value = { .known = true };

	if (field->kind == FIELD_TEXT) {
		value.text = member;
		value.length = strnlen(member, field->bytes);
	} else if (field->kind == FIELD_DIMS) {
		value.dims = member;
	} else if (field->kind == FIELD_SIGNED && field->bytes == sizeof(int32_t)) {
		value.signed_number = (int32_t)number_at(member, field->bytes);
	} else {
		value.number = number_at(member, field->bytes);
	}
	return value;
}

struct field_value record_field_value(const struct record_field *field, const struct event *event,
				      const struct change *change)
{
	const char *record = (const char *)event->header;
	uint32_t known;

	if (field->get)
		return field->get(event, change);
	memcpy(&known, record + field->known_offset, sizeof(known));
	if (field->known_bit && !(known & field->known_bit))
		return (struct field_value){ .known = false };
	return member_value(field, record + field->offset);
}
