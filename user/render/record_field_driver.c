// SPDX-License-Identifier: BSD-2-Clause
#include "render/record_field_driver.h"

#include <stdio.h>
#include <string.h>

#include "event/probe.h"

/* ---- objects of the driver ------------------------------------------------------------------- */

static const struct ms_object *object_of(const struct event *event)
{
	return (const struct ms_object *)event->sample;
}

struct field_value record_field_driver_object_action(const struct event *event,
						     const struct change *change)
{
	static const char *const actions[] = {
#define X(action, name) name,
		MS_OBJECT_ACTIONS(X)
#undef X
	};
	const uint16_t action = object_of(event)->action;

	(void)change;
	return record_field_text(action < MS_OBJECT_ACTIONS_COUNT ? actions[action] : "unknown");
}

struct field_value record_field_driver_object_call(const struct event *event,
						   const struct change *change)
{
	const struct probe *probe =
		object_of(event)->row == MS_NO_ROW ? NULL : probe_at(object_of(event)->row);

	(void)change;
	return record_field_text(probe ? probe->symbol : NULL);
}

static const char *memory_name(uint32_t class_number)
{
	switch (class_number) {
	case MS_NV_MEMORY_LOCAL:
		return "device";
	case MS_NV_MEMORY_SYSTEM:
		return "host";
	case MS_NV_MEMORY_OS:
		return "locked";
	default:
		return NULL;
	}
}

struct field_value record_field_driver_object_memory(const struct event *event,
						     const struct change *change)
{
	(void)change;
	return record_field_text(memory_name(object_of(event)->class_number));
}

struct field_value record_field_driver_object_size(const struct event *event,
						   const struct change *change)
{
	const struct ms_object *object = object_of(event);

	(void)change;
	return (struct field_value){ .known = memory_name(object->class_number) && !object->status,
				     .number = object->size };
}

/* ---- their addresses ------------------------------------------------------------------------- */

static const struct ms_range *range_of(const struct event *event)
{
	return (const struct ms_range *)event->sample;
}

struct field_value record_field_driver_range_action(const struct event *event,
						    const struct change *change)
{
	static const char *const actions[] = {
#define X(action, name) name,
		MS_RANGE_ACTIONS(X)
#undef X
	};
	const uint16_t action = range_of(event)->action;

	(void)change;
	return record_field_text(action < MS_RANGE_ACTIONS_COUNT ? actions[action] : "unknown");
}

struct field_value record_field_driver_range_call(const struct event *event,
						  const struct change *change)
{
	const uint16_t row = range_of(event)->row;
	const struct probe *probe = row == MS_NO_ROW ? NULL : probe_at(row);

	(void)change;
	return record_field_text(probe ? probe->symbol : NULL);
}

struct field_value record_field_driver_range_bytes(const struct event *event,
						   const struct change *change)
{
	const struct ms_range *range = range_of(event);

	(void)change;
	return (struct field_value){ .known = range->bytes, .number = range->bytes };
}

/* As NVML writes it, but for "GPU-" in front. */
struct field_value record_field_driver_range_uuid(const struct event *event,
						  const struct change *change)
{
	static char text[2 * MS_UUID_BINARY_BYTES + 5]; /* until the next one is asked for */
	const struct ms_range *range = range_of(event);
	size_t i, length = 0, set = 0;

	(void)change;
	for (i = 0; i < MS_UUID_BINARY_BYTES; i++) {
		set |= range->uuid[i];
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%02x",
					   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					   range->uuid[i]);
	}
	return record_field_text(set ? text : NULL);
}
