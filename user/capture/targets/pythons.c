// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/pythons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "symbols/python_lines.h"

struct found {
	uint64_t start_ns;
	bool is_supported;
	struct ms_python python; /* if it is */
};

static struct found *found_in(const struct pythons *pythons, pid_t pid)
{
	const uint64_t *value = map_get(&pythons->found, (uint32_t)pid);

	return value ? (struct found *)(uintptr_t)*value : NULL;
}

void pythons_fini(struct pythons *pythons)
{
	size_t slot;

	for (slot = 0; slot < pythons->found.capacity; slot++)
		if (map_is_used(&pythons->found, slot))
			free((void *)(uintptr_t)pythons->found.slots[slot].value);
	map_fini(&pythons->found);
	python_codes_fini(&pythons->codes);
	python_files_fini(&pythons->files);
}

static int remember(struct pythons *pythons, pid_t pid, const struct found *found)
{
	struct found *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *found;
	if (!map_set(&pythons->found, (uint32_t)pid, (uintptr_t)copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

static void warn_unsupported(pid_t pid, const char *comm, __u32 version)
{
	if (!version)
		log_warning("process %d (%s) has a Python of an unknown version: no Python frames",
			    (int)pid, comm);
	else
		log_warning("process %d (%s): Python %u.%u, or this build of it, is not supported:"
			    " no Python frames",
			    (int)pid, comm, version >> 24, PYTHON_MINOR(version));
}

/* Another process had the pid, or the same one another program. */
static void forget_found(struct pythons *pythons, pid_t pid)
{
	free(found_in(pythons, pid));
	map_remove(&pythons->found, (uint32_t)pid);
}

static void warn_failed(const struct pythons_process *process, int err)
{
	log_warning("process %d (%s): no Python frames: %s", (int)process->pid, process->comm,
		    strerror(-err));
}

void pythons_look(struct pythons *pythons, struct programs *programs,
		  const struct pythons_process *process)
{
	const struct found *known = found_in(pythons, process->pid);
	struct found found = { .start_ns = process->start_ns };
	int err;

	if (known && known->start_ns == process->start_ns)
		return;
	forget_found(pythons, process->pid);
	err = python_runtime_find(&pythons->files, process->pid, &found.python);
	/* -EFAULT: not all of it is mapped yet. */
	if (err == -ENOENT || err == -ESRCH || err == -EFAULT)
		return;
	found.is_supported = !err;
	if (err == -EOPNOTSUPP)
		warn_unsupported(process->pid, process->comm, found.python.version);
	else if (!err)
		err = programs_set_python(programs, process->pid, &found.python);
	if (!err || err == -EOPNOTSUPP)
		err = remember(pythons, process->pid, &found);
	if (err)
		warn_failed(process, err);
}

void pythons_take(struct pythons *pythons, const struct ms_python_code *record, size_t length)
{
	const struct found *found = found_in(pythons, (pid_t)record->event.pid);
	const bool is_its =
		found && found->is_supported && found->start_ns == record->event.start_ns;
	int err = python_codes_add(&pythons->codes, record, length, is_its ? &found->python : NULL);

	if (err)
		log_debug("a code object of process %u is not known: %s", record->event.pid,
			  strerror(-err));
}

void pythons_forget(struct pythons *pythons, pid_t pid)
{
	forget_found(pythons, pid);
	python_codes_forget(&pythons->codes, (uint32_t)pid);
}

const struct python_code *pythons_code(const struct pythons *pythons, const struct ms_event *event,
				       const struct ms_stack_frame *frame)
{
	return python_codes_find(&pythons->codes, event->pid, event->start_ns, frame->address,
				 frame->check);
}

bool pythons_hide(const struct pythons *pythons, const struct ms_event *event,
		  const struct ms_stack_frame *frame)
{
	const struct python_code *code =
		frame->kind == MS_FRAME_PYTHON ? pythons_code(pythons, event, frame) : NULL;

	return code && python_code_is_own(code);
}
