// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/kernel_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "capture/targets/files.h"
#include "symbols/launch_stubs.h"

#define MODULES 64     /* of a process, with code for GPUs; more are left out */
#define FILES 256      /* in all */
#define PROCESSES 1024 /* at a time */
#define HANDLES 65536  /* of a process that are remembered, and have been named */
#define CHUNK_BYTES 65536
#define CHUNKS 1024               /* that are read at a time */
#define PAUSE_NS 10000000ull      /* between two looks because of a handle, at first */
#define LOOK_NS 1000000000ull     /* between two others, at first */
#define LONGEST_NS 16000000000ull /* if nothing is found */

/* What many processes can have mapped. */
struct stub_file {
	uint64_t dev, inode, size_bytes;
	int fd;                     /* while it is read */
	struct launch_stubs *stubs; /* NULL: it cannot be read */
	bool read;
};

struct module {
	struct stub_file *file;
	uint64_t bias; /* from where it is linked to to where it is */
};

/* What is known of a handle: the value in `handles`. */
enum handle { HANDLE_TRIED = 1, HANDLE_NAMED };

struct named_process {
	pid_t pid;
	uint64_t start_ns;
	bool looked; /* at what it has mapped */
	struct module modules[MODULES];
	size_t count;
	struct map handles;
	size_t named;
	uint64_t next_ns, pause_ns; /* CLOCK_MONOTONIC; looks because of a handle */
	uint64_t look_ns, between_ns;
};

struct kernel_names {
	bool map_files;
	kernel_names_feed feed;
	void *context;
	struct named_process **processes;
	size_t count, capacity;
	struct map places; /* pid -> position in `processes` + 1 */
	struct stub_file *files[FILES];
	size_t files_count, files_read;
	char chunk[CHUNK_BYTES];
};

struct kernel_names *kernel_names_new(bool map_files, kernel_names_feed feed, void *context)
{
	struct kernel_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->map_files = map_files;
	names->feed = feed;
	names->context = context;
	return names;
}

static void process_free(struct named_process *process)
{
	map_fini(&process->handles);
	free(process);
}

void kernel_names_free(struct kernel_names *names)
{
	if (!names)
		return;
	while (names->count)
		process_free(names->processes[--names->count]);
	while (names->files_count) {
		struct stub_file *file = names->files[--names->files_count];

		launch_stubs_close(file->stubs);
		if (file->fd >= 0)
			close(file->fd);
		free(file);
	}
	free(names->processes);
	map_fini(&names->places);
	free(names);
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct named_process *find(const struct kernel_names *names, pid_t pid)
{
	const uint64_t *place = names ? map_get(&names->places, (uint64_t)pid) : NULL;

	return place ? names->processes[*place - 1] : NULL;
}

void kernel_names_remove(struct kernel_names *names, pid_t pid)
{
	struct named_process *process = find(names, pid), *last;
	uint64_t place;

	if (!process)
		return;
	place = *map_get(&names->places, (uint64_t)pid);
	last = names->processes[--names->count];
	names->processes[place - 1] = last;
	*map_get(&names->places, (uint64_t)last->pid) = place;
	map_remove(&names->places, (uint64_t)pid);
	process_free(process);
}

void kernel_names_add(struct kernel_names *names, pid_t pid, uint64_t start_ns)
{
	struct named_process *process;

	kernel_names_remove(names, pid);
	if (!names || names->count == PROCESSES ||
	    memory_grow(&names->processes, &names->capacity, names->count + 1,
			sizeof(*names->processes)))
		return;
	process = calloc(1, sizeof(*process));
	if (!process || map_set(&names->places, (uint64_t)pid, names->count + 1)) {
		free(process);
		return;
	}
	*process = (struct named_process){
		.pid = pid, .start_ns = start_ns, .pause_ns = PAUSE_NS, .between_ns = LOOK_NS
	};
	names->processes[names->count++] = process;
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct stub_file *find_file(const struct kernel_names *names, const struct stat *status)
{
	size_t i;

	for (i = 0; i < names->files_count; i++)
		if (names->files[i]->dev == status->st_dev &&
		    names->files[i]->inode == status->st_ino &&
		    names->files[i]->size_bytes == (uint64_t)status->st_size)
			return names->files[i];
	return NULL;
}

/* Takes the descriptor. NULL: there is no room for it. */
static struct stub_file *new_file(struct kernel_names *names, const struct stat *status, int fd)
{
	struct stub_file *file = names->files_count < FILES ? calloc(1, sizeof(*file)) : NULL;

	if (!file) {
		close(fd);
		return NULL;
	}
	*file = (struct stub_file){ .dev = status->st_dev,
				    .inode = status->st_ino,
				    .size_bytes = status->st_size,
				    .fd = fd };
	names->files[names->files_count++] = file;
	return file;
}

struct look {
	struct kernel_names *names;
	struct named_process *process;
};

static int look_at_mapping(const struct proc_mapping *mapping, void *context)
{
	struct look *look = context;
	struct named_process *process = look->process;
	struct stub_file *file;
	struct stat status;
	uint64_t linked;
	int fd;

	if (!mapping->executable || mapping->path[0] != '/')
		return 0;
	fd = file_open_mapping(process->pid, mapping, look->names->map_files);
	if (fd < 0)
		return 0;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || !launch_stubs_are_likely(fd) ||
	    launch_stubs_linked(fd, mapping->offset, &linked)) {
		close(fd);
		return 0;
	}
	file = find_file(look->names, &status);
	if (file)
		close(fd);
	else
		file = new_file(look->names, &status, fd);
	if (file)
		process->modules[process->count++] =
			(struct module){ .file = file, .bias = mapping->start - linked };
	return process->count == MODULES;
}

static void look_at_process(struct kernel_names *names, struct named_process *process)
{
	struct look look = { names, process };

	process->looked = true;
	proc_each_mapping(process->pid, look_at_mapping, &look);
	log_debug("process %d: kernels that it has launched may be named by %zu of its files",
		  process->pid, process->count);
}

/* ---- names ----------------------------------------------------------------------------------- */

static int feed_name(const struct kernel_names *names, struct named_process *process,
		     uint64_t ts_ns, uint64_t handle, const char *kernel)
{
	struct {
		struct ms_name name;
		char bytes[MS_NAME_MAX];
	} record;
	const size_t length = strnlen(kernel, MS_NAME_MAX - 1);

	if (process->named == HANDLES || map_set(&process->handles, handle, HANDLE_NAMED))
		return 0;
	process->named++;
	memset(&record.name, 0, sizeof(record.name));
	record.name.event = (struct ms_event){ .ts_ns = ts_ns,
					       .start_ns = process->start_ns,
					       .pid = (uint32_t)process->pid,
					       .tid = (uint32_t)process->pid,
					       .type = MS_TYPE_NAME,
					       .size = sizeof(record.name) + length + 1 };
	record.name.handle = handle;
	record.name.length = length + 1;
	record.name.found = 1;
	memcpy(record.name.name, kernel, length);
	record.name.name[length] = '\0';
	return names->feed(names->context, &record, record.name.event.size);
}

/* Whose variables are within CHUNK_BYTES from that of the first one. */
static size_t chunk_of(const struct launch_stub *stubs, size_t count)
{
	size_t i = 1;

	while (i < count && stubs[i].handle - stubs->handle <= CHUNK_BYTES - sizeof(uint64_t))
		i++;
	return i;
}

static int read_chunk(struct kernel_names *names, struct named_process *process,
		      const struct module *module, const struct launch_stub *stubs, size_t count,
		      uint64_t ts_ns)
{
	const struct proc_place place = {
		.addr = stubs->handle + module->bias,
		.bytes = stubs[count - 1].handle - stubs->handle + sizeof(uint64_t),
	};
	uint64_t handle;
	size_t i;
	int err = 0;

	if (proc_read_places(process->pid, &place, 1, names->chunk))
		return 0;
	for (i = 0; !err && i < count; i++) {
		const uint64_t *known;

		memcpy(&handle, names->chunk + (stubs[i].handle - stubs->handle), sizeof(handle));
		known = map_get(&process->handles, handle);
		if (handle && !(known && *known == HANDLE_NAMED))
			err = feed_name(names, process, ts_ns, handle, stubs[i].kernel);
	}
	return err;
}

static int read_module(struct kernel_names *names, struct named_process *process,
		       const struct module *module, uint64_t ts_ns)
{
	const struct launch_stub *stubs;
	size_t count, length, chunks = 0;
	int err = 0;

	if (!module->file->read || !module->file->stubs)
		return 0;
	stubs = launch_stubs_all(module->file->stubs, &count);
	while (count && !stubs->handle)
		stubs++, count--;
	for (; !err && count && chunks++ < CHUNKS; stubs += length, count -= length) {
		length = chunk_of(stubs, count);
		err = read_chunk(names, process, module, stubs, length, ts_ns);
	}
	return err;
}

static uint64_t longer(uint64_t ns)
{
	return ns * 2 < LONGEST_NS ? ns * 2 : LONGEST_NS;
}

/* All handles that its variables have now. */
static int read_handles(struct kernel_names *names, struct named_process *process, uint64_t ts_ns)
{
	const uint64_t now_ns = clock_monotonic_ns();
	const size_t before = process->named;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < process->count && process->named < HANDLES; i++)
		err = read_module(names, process, &process->modules[i], ts_ns);
	if (process->named != before)
		log_debug("process %d: %zu kernels named by its memory", process->pid,
			  process->named - before);
	process->pause_ns = process->named != before ? PAUSE_NS : longer(process->pause_ns);
	process->next_ns = now_ns + process->pause_ns;
	process->between_ns = process->named != before ? LOOK_NS : longer(process->between_ns);
	process->look_ns = now_ns + process->between_ns;
	return err;
}

/* ---- launches -------------------------------------------------------------------------------- */

void kernel_names_said(struct kernel_names *names, const struct ms_name *name)
{
	struct named_process *process = find(names, (pid_t)name->event.pid);

	if (process && process->start_ns == name->event.start_ns && name->length &&
	    process->handles.count < HANDLES)
		map_set(&process->handles, name->handle, HANDLE_NAMED);
}

/* As a host function, which older runtimes launch by. */
static const char *name_of_function(const struct named_process *process, uint64_t function)
{
	const struct launch_stub *stub = NULL;
	size_t i;

	for (i = 0; !stub && i < process->count; i++)
		if (process->modules[i].file->read && process->modules[i].file->stubs)
			stub = launch_stubs_of_function(process->modules[i].file->stubs,
							function - process->modules[i].bias);
	return stub ? stub->kernel : NULL;
}

static bool is_read(const struct named_process *process)
{
	size_t i;

	for (i = 0; i < process->count; i++)
		if (!process->modules[i].file->read)
			return false;
	return process->looked;
}

static int name_launched(struct kernel_names *names, struct named_process *process,
			 const struct ms_call *call)
{
	const uint64_t ts_ns = call->event.ts_ns;
	const char *kernel = name_of_function(process, call->addr);
	int err = 0;

	if (!kernel && call->known & MS_KNOWN_SRC)
		kernel = name_of_function(process, call->src);
	if (kernel)
		return feed_name(names, process, ts_ns, call->addr, kernel);
	if (!is_read(process) || clock_monotonic_ns() < process->next_ns)
		return 0;
	err = read_handles(names, process, ts_ns);
	if (!map_get(&process->handles, call->addr) && process->handles.count < HANDLES)
		map_set(&process->handles, call->addr, HANDLE_TRIED);
	return err;
}

int kernel_names_launched(struct kernel_names *names, const struct ms_call *call)
{
	struct named_process *process = find(names, (pid_t)call->event.pid);

	if (!process || process->start_ns != call->event.start_ns ||
	    map_get(&process->handles, call->addr))
		return 0;
	return name_launched(names, process, call);
}

/* ---- by and by ------------------------------------------------------------------------------- */

static void end_reading(struct kernel_names *names, struct stub_file *file)
{
	close(file->fd);
	file->fd = -1;
	file->read = true;
	names->files_read++;
}

/* A piece of a file; those that have it mapped are looked at once it has been read. */
static int read_file(struct kernel_names *names, struct stub_file *file, uint64_t now_ns)
{
	size_t i, j;
	int err = 0;

	if (!file->stubs && launch_stubs_open(&file->stubs, file->fd))
		file->stubs = NULL;
	if (file->stubs && launch_stubs_step(file->stubs) > 0)
		return 0;
	end_reading(names, file);
	for (i = 0; !err && i < names->count; i++)
		for (j = 0; !err && j < names->processes[i]->count; j++)
			if (names->processes[i]->modules[j].file == file)
				err = read_handles(names, names->processes[i], now_ns);
	return err;
}

int kernel_names_work(struct kernel_names *names, uint64_t now_ns)
{
	size_t i;

	for (i = 0; names && i < names->count; i++) {
		struct named_process *process = names->processes[i];

		if (!process->looked) {
			look_at_process(names, process);
			return is_read(process) ? read_handles(names, process, now_ns) : 0;
		}
	}
	if (names && names->files_read < names->files_count)
		return read_file(names, names->files[names->files_read], now_ns);
	for (i = 0; names && i < names->count; i++)
		if (now_ns >= names->processes[i]->look_ns)
			return read_handles(names, names->processes[i], now_ns);
	return 0;
}
