// SPDX-License-Identifier: BSD-2-Clause
#include "commands/inspection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "capture/targets/files.h"
#include "capture/targets/untraced_children.h"
#include "capture/attach/placement.h"
#include "host/nvidia_files.h"

/* What the process has of the functions' code, by the library's points. */
struct looks {
	enum placement_code *result; /* up to the point of a probe with result, as `trace` has it */
	enum placement_code *entry;  /* ... of the entry alone: with --no-return */
};

static int looks_init(struct looks *looks, const struct library *library, pid_t pid)
{
	const struct placement_wants result = { .ops = ~0u, .return_ops = ~0u, .layers = ~0u };
	const struct placement_wants entry = { .ops = ~0u, .layers = ~0u };

	looks->result = calloc(library->points_count, sizeof(*looks->result));
	looks->entry = calloc(library->points_count, sizeof(*looks->entry));
	if (!looks->result || !looks->entry)
		return -ENOMEM;
	placement_look(&result, library, pid, looks->result);
	placement_look(&entry, library, pid, looks->entry);
	return 0;
}

static void looks_fini(struct looks *looks)
{
	free(looks->result);
	free(looks->entry);
}

static void add_functions(struct check_library *added, const struct library *library,
			  const struct looks *looks)
{
	size_t i;

	for (i = 0; i < library->points_count; i++) {
		uint32_t row = library->points[i].row;

		added->rows[row] = (struct check_function){
			.found = true,
			.result_changed = looks->result[i] == PLACEMENT_CHANGED,
			.entry_changed = looks->entry[i] == PLACEMENT_CHANGED,
			.file_offset = library->points[i].file_offset,
			.prologue = library->points[i].prologue,
		};
		added->functions[probe_at(row)->layer] = true;
		added->found[probe_at(row)->layer]++;
	}
}

static struct check_library *add_library(struct check_process *process,
					 const struct library *library, bool mapped)
{
	struct check_library *added;
	struct looks looks;
	int err;

	if (memory_grow(&process->libraries, &process->libraries_capacity,
			process->libraries_count + 1, sizeof(*process->libraries)))
		return NULL;
	added = &process->libraries[process->libraries_count];
	*added = (struct check_library){ .path = library->path,
					 .mapped = mapped,
					 .new_count = library->new.count,
					 .new_memory = library->new.memory,
					 .new_named = library->new.named,
					 .new_names = (const char *const *)library->new.names,
					 .go = library->go };
	added->rows = calloc(probe_count(), sizeof(*added->rows));
	err = looks_init(&looks, library, process->pid);
	if (added->rows && !err)
		add_functions(added, library, &looks);
	looks_fini(&looks);
	if (!added->rows || err) {
		free(added->rows);
		return NULL;
	}
	process->libraries_count++;
	return added;
}

static struct check_library *find_library(struct check_process *process, const char *path)
{
	size_t i;

	for (i = 0; i < process->libraries_count; i++)
		if (!strcmp(process->libraries[i].path, path))
			return &process->libraries[i];
	return NULL;
}

/* One suffices. */
static int add_unread(struct check_process *process, const struct file *file)
{
	if (process->unread)
		return 0;
	process->unread = strdup(file->path);
	process->unread_error = -file->fd;
	return process->unread ? 0 : -ENOMEM;
}

/* They use the driver without CUDA, or besides it. */
static bool is_media(const char *path)
{
	static const char *const names[] = { "libnvidia-encode.so", "libnvcuvid.so",
					     "libnvidia-fbc.so",    "libnvoptix.so",
					     "libGLX_nvidia.so",    "libEGL_nvidia.so",
					     "libnvidia-glcore.so", "libnvidia-eglcore.so" };
	const char *slash = strrchr(path, '/');
	size_t i;

	for (i = 0; slash && i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(slash + 1, names[i], strlen(names[i])))
			return true;
	return false;
}

static int inspect_file(const struct file *file, void *context)
{
	struct inspection *inspection = context;
	const struct library *library;
	struct check_library *listed;
	unsigned int layer;

	if (file->fd < 0)
		return add_unread(&inspection->process, file);
	if (library_load(&inspection->cache, file->fd, file->path, &library))
		return 0;
	inspection->has_libc |= library->ioctl_offset;
	inspection->has_media |= file->mapped && is_media(file->path);
	if (file->mapped && !strcmp(file->path, inspection->program)) {
		inspection->program_stripped = !library->has_symbols;
		inspection->process.go = library->go;
	}
	if (!library->points_count)
		return 0;
	listed = find_library(&inspection->process, library->path);
	if (!listed)
		listed = add_library(&inspection->process, library, file->mapped);
	if (!listed)
		return -ENOMEM;
	for (layer = 0; layer < MS_LAYERS_COUNT; layer++)
		inspection->mapped[layer] |= file->mapped && listed->functions[layer];
	inspection->load_prediction_driver |= listed->functions[MS_LAYER_DRIVER];
	return 0;
}

static int add_note(struct check_process *process, const char *note)
{
	int err = memory_grow(&process->notes, &process->notes_capacity, process->notes_count + 1,
			      sizeof(*process->notes));

	if (!err)
		process->notes[process->notes_count++] = note;
	return err;
}

/* What the process has asked the driver for so far would not be known. */
static bool has_driver_files(pid_t pid)
{
	const struct nvidia_majors majors = nvidia_majors_read();
	struct nvidia_files files;

	return !nvidia_files_scan(pid, &majors, &files) && nvidia_files_any(&files);
}

/* What would be invisible, in plain words. */
static int add_notes(struct inspection *inspection)
{
	const bool driver = inspection->mapped[MS_LAYER_DRIVER];
	const bool runtime = inspection->mapped[MS_LAYER_RUNTIME];
	const struct {
		bool applies;
		const char *note;
	} notes[] = {
		{ true, "Memory that the process holds already: only what it allocates from now on"
			" is in the account. Frees of older blocks are counted." },
		{ !inspection->has_libc,
		  "Contexts, code, local memory of kernels, graphics and video encoders: the driver"
		  " is asked for them by ioctl(), and there is no C library that has it." },
		{ inspection->has_libc && has_driver_files(inspection->process.pid),
		  "The single objects that the driver holds for it already: contexts, code, chunks"
		  " behind allocations. NVML has their sum, if it is installed." },
		{ inspection->has_media,
		  "The calls of the video encoder, decoder or graphics library that it has mapped:"
		  " what these take is seen through the driver's ioctls alone, as \"in no traced"
		  " call\"." },
		{ inspection->has_libc,
		  "That it closes the driver's files and goes on, until NVML is asked the next time"
		  " (--nvml); and what the driver takes inside the kernel, such as page tables." },
		{ !driver && inspection->load_prediction_driver,
		  "Nothing of what follows, should the process load another copy of the driver than"
		  " the one listed; a new copy is noticed when it is mapped, and calls in the first"
		  " milliseconds after that can be missed." },
		{ !driver && !inspection->load_prediction_driver,
		  "Calls in the first milliseconds after the process maps a CUDA library, none of"
		  " which is mapped or found in its search path now." },
		{ driver && !runtime && inspection->program_stripped,
		  "Names of runtime functions (cudaMalloc and so on), if the runtime is linked"
		  " statically into the program, which is stripped: the driver calls underneath are"
		  " shown instead, complete." },
		{ runtime && !driver && !inspection->load_prediction_driver,
		  "Calls of libraries that use the driver directly." },
	};
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(notes) / sizeof(*notes); i++)
		if (notes[i].applies)
			err = add_note(&inspection->process, notes[i].note);
	return err;
}

int inspection_run(struct inspection *inspection, pid_t pid, struct features *features)
{
	struct proc_info *info = &inspection->info;
	char link[64];
	ssize_t length;
	int err;

	err = proc_read(pid, info);
	if (err) {
		log_error("there is no process %d", pid);
		return err;
	}
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, inspection->program, sizeof(inspection->program) - 1);
	if (length < 0 && errno == EACCES) {
		log_error("cannot look into process %d (%s): that takes CAP_SYS_PTRACE (run with"
			  " sudo); with it, the process is protected (by a security module, or"
			  " because it is in another user namespace)",
			  pid, info->comm);
		return -EACCES;
	}
	if (length < 0) {
		log_error("process %d (%s) runs no program: it is a kernel thread, or a zombie",
			  pid, info->comm);
		return -ESRCH;
	}
	inspection->program[length] = '\0';
	inspection->process.pid = pid;
	inspection->process.comm = info->comm;
	inspection->process.descendants_count =
		untraced_children_find(&pid, 1, inspection->process.descendants, CHECK_DESCENDANTS);
	inspection->cache.nops = !feature_test(features, FEATURE_UPROBE_NOPS);
	err = file_each(pid, !feature_test(features, FEATURE_MAP_FILES), NULL, inspect_file,
			inspection);
	if (err)
		log_error("cannot read the mappings of process %d: %s", pid, strerror(-err));
	return err ? err : add_notes(inspection);
}

void inspection_fini(struct inspection *inspection)
{
	while (inspection->process.libraries_count)
		free(inspection->process.libraries[--inspection->process.libraries_count].rows);
	free(inspection->process.unread);
	free(inspection->process.libraries);
	free(inspection->process.notes);
	library_cache_fini(&inspection->cache);
}
