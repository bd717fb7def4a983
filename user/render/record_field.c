// SPDX-License-Identifier: BSD-2-Clause
#include "render/record_field.h"

#include <string.h>
#include <sys/wait.h>

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

/* ---- the tables ------------------------------------------------------------------------------ */

#define MEMBER(layout, member) \
	.offset = offsetof(struct layout, member), .bytes = sizeof(((struct layout *)NULL)->member)
#define GET(function) .get = get_##function
#define MAYBE(function) .get = get_##function, .can_be_unknown = true

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
	if (field->get)
		return field->get(event, change);
	return member_value(field, (const char *)event->header + field->offset);
}
