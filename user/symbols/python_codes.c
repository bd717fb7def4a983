// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/python_codes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

struct entry {
	uint64_t addr;
	uint32_t check;
	struct python_code code;
};

struct python_process {
	uint64_t start_ns;
	struct map places; /* address -> index in `entries` */
	struct entry *entries;
	size_t count, capacity;
};

static struct python_process *process_of(const struct python_codes *codes, uint32_t pid)
{
	uint64_t *value = map_get(&codes->processes, pid);

	return value ? (struct python_process *)(uintptr_t)*value : NULL;
}

static size_t bytes_of(const struct python_code *code)
{
	return sizeof(struct entry) + code->filename.capacity + code->name.capacity +
	       code->lines_length;
}

static void free_process(struct python_codes *codes, struct python_process *process)
{
	size_t i;

	for (i = 0; i < process->count; i++) {
		codes->bytes -= bytes_of(&process->entries[i].code);
		python_code_fini(&process->entries[i].code);
	}
	free(process->entries);
	map_fini(&process->places);
	free(process);
}

void python_codes_forget(struct python_codes *codes, uint32_t pid)
{
	struct python_process *process = process_of(codes, pid);

	if (!process)
		return;
	map_remove(&codes->processes, pid);
	free_process(codes, process);
}

void python_codes_fini(struct python_codes *codes)
{
	size_t slot;

	for (slot = 0; slot < codes->processes.capacity; slot++)
		if (map_is_used(&codes->processes, slot))
			free_process(codes, (struct python_process *)(uintptr_t)codes->processes
						    .slots[slot]
						    .value);
	map_fini(&codes->processes);
	*codes = (struct python_codes){ 0 };
}

static struct python_process *enter_process(struct python_codes *codes,
					    const struct ms_event *event)
{
	struct python_process *process = process_of(codes, event->pid);

	if (process && process->start_ns == event->start_ns)
		return process;
	python_codes_forget(codes, event->pid);
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->start_ns = event->start_ns;
	if (map_set(&codes->processes, event->pid, (uintptr_t)process)) {
		free(process);
		return NULL;
	}
	return process;
}

/* The place of that address, which may hold another code object that was there before. */
static struct entry *enter_address(struct python_process *process, uint64_t addr)
{
	uint64_t *index = map_get(&process->places, addr);

	if (index)
		return &process->entries[*index];
	if (memory_grow(&process->entries, &process->capacity, process->count + 1,
			sizeof(*process->entries)) ||
	    map_set(&process->places, addr, process->count))
		return NULL;
	process->entries[process->count] = (struct entry){ .addr = addr };
	return &process->entries[process->count++];
}

/* What the record lacks may be in the process still. */
static int read_code(struct python_code *code, const struct ms_python_code *record,
		     const struct ms_python *python)
{
	struct python_code whole;
	int err = python_code_of_record(code, record);

	if (err || !code->is_cut || !python ||
	    python_code_read(&whole, (pid_t)record->event.pid, python, record->code, record->check))
		return err;
	python_code_fini(code);
	*code = whole;
	return 0;
}

int python_codes_add(struct python_codes *codes, const struct ms_python_code *record, size_t length,
		     const struct ms_python *python)
{
	struct python_process *process;
	struct python_code code;
	struct entry *entry;
	int err;

	if (length < sizeof(*record) || !python_code_is_well_formed(record, length))
		return -EINVAL;
	err = read_code(&code, record, python);
	if (err)
		return err;
	if (bytes_of(&code) > PYTHON_CODES_MAX_BYTES - codes->bytes) {
		codes->refused++;
		python_code_fini(&code);
		return -ENOSPC;
	}
	process = enter_process(codes, &record->event);
	entry = process ? enter_address(process, record->code) : NULL;
	if (!entry) {
		python_code_fini(&code);
		return -ENOMEM;
	}
	if (entry->code.lines) {
		codes->bytes -= bytes_of(&entry->code);
		python_code_fini(&entry->code);
	}
	codes->bytes += bytes_of(&code);
	entry->check = record->check;
	entry->code = code;
	return 0;
}

const struct python_code *python_codes_find(const struct python_codes *codes, uint32_t pid,
					    uint64_t start_ns, uint64_t addr, uint32_t check)
{
	const struct python_process *process = process_of(codes, pid);
	const uint64_t *index;

	if (!process || process->start_ns != start_ns)
		return NULL;
	index = map_get(&process->places, addr);
	if (!index || process->entries[*index].check != check)
		return NULL;
	return &process->entries[*index].code;
}
