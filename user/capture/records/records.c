// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/records.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "event/event.h"
#include "host/device_view.h"
#include "host/proc.h"

static struct ms_process record_of(const struct target *target, enum ms_type type, uint64_t ts_ns)
{
	return (struct ms_process){
		.event = { .ts_ns = ts_ns,
			   .start_ns = target->start_ns,
			   .pid = target->pid,
			   .tid = target->pid,
			   .type = type,
			   .size = sizeof(struct ms_process) },
	};
}

struct ms_process record_attach(const struct target *target)
{
	struct ms_process record = record_of(target, MS_TYPE_ATTACH, target->attached_ns);

	record.value = target->attach_flags;
	memcpy(record.comm, target->comm, sizeof(record.comm));
	return record;
}

static int said_view(const struct whos *whos, const struct ms_event *after,
		     struct device_view *view)
{
	const struct ms_who *who = whos_find(whos, (pid_t)after->pid, after->start_ns);

	return who ? who_view(who, view) : -ENOENT;
}

/* If nothing is known, it is only known that it is not the same for all. */
struct ms_visible record_visible(const struct whos *whos, const struct ms_event *after)
{
	struct ms_visible record = {
		.event = { .ts_ns = after->ts_ns,
			   .start_ns = after->start_ns,
			   .pid = after->pid,
			   .tid = after->pid,
			   .type = MS_TYPE_VISIBLE,
			   .size = sizeof(record) },
	};
	struct device_view view;

	if (device_view_read((pid_t)after->pid, &view) && said_view(whos, after, &view)) {
		record.key = event_process_key(after->pid, after->start_ns);
		return record;
	}
	record.key = view.key;
	record.flags = (view.renumbered ? MS_VISIBLE_RENUMBERED : 0) |
		       (view.single ? MS_VISIBLE_SINGLE : 0);
	return record;
}

bool record_visible_is_unknown(const struct ms_visible *record)
{
	return record->key == event_process_key(record->event.pid, record->event.start_ns);
}

struct ms_object record_objects(const struct target *target, enum ms_object_action action,
				uint64_t ts_ns)
{
	return (struct ms_object){
		.event = { .ts_ns = ts_ns,
			   .start_ns = target->start_ns,
			   .pid = target->pid,
			   .tid = target->pid,
			   .type = MS_TYPE_OBJECT,
			   .size = sizeof(struct ms_object) },
		.row = MS_NO_ROW,
		.action = action,
	};
}

struct ms_unread record_unread(const struct target *target)
{
	struct ms_unread record = {
		.event = { .ts_ns = clock_monotonic_ns(),
			   .start_ns = target->start_ns,
			   .pid = target->pid,
			   .tid = target->pid,
			   .type = MS_TYPE_UNREAD,
			   .size = sizeof(record) },
		.error = target->unread_error,
	};
	const size_t length = strlen(target->unread);
	const size_t kept = length < sizeof(record.path) ? length : sizeof(record.path) - 1;

	memcpy(record.path, target->unread + length - kept, kept);
	return record;
}

struct ms_newer record_newer(const struct target *target, const struct library_new *new)
{
	struct ms_newer record = {
		.event = { .ts_ns = clock_monotonic_ns(),
			   .start_ns = target->start_ns,
			   .pid = target->pid,
			   .tid = target->pid,
			   .type = MS_TYPE_NEWER,
			   .size = sizeof(record) },
		.functions = new->count,
		.memory = new->memory,
	};

	if (new->named)
		snprintf(record.function, sizeof(record.function), "%s", new->names[0]);
	return record;
}

struct ms_process record_exit(const struct target *target, int status)
{
	struct ms_process record = record_of(target, MS_TYPE_EXIT, clock_monotonic_ns());

	record.value = status;
	return record;
}

const struct ms_name *record_name(const struct ms_name *name, struct record_name *whole)
{
	ssize_t got;

	if ((name->length && name->length < MS_NAME_BYTES) || !name->string)
		return name;
	got = proc_read_string(name->event.pid, name->string, whole->bytes, sizeof(whole->bytes));
	if (got <= 0 || (name->length && strncmp(whole->bytes, name->name, name->length - 1) != 0))
		return name;
	whole->name = *name;
	whole->name.length = got;
	whole->name.event.size = sizeof(whole->name) + got;
	return &whole->name;
}
