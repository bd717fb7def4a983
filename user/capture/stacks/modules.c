// SPDX-License-Identifier: BSD-2-Clause
#include "capture/stacks/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "capture/targets/files.h"
#include "base/demangle.h"

#define DELETED " (deleted)"
#define UNPACKED_MOST (256u << 20) /* bytes of symbols that files have packed, all together */
#define REST_NS 1000000000ull      /* who starts programs one after the other does not wait */
#define NUMBERS_ENOUGH (3 * (size_t)MS_UNWIND_TABLES / 4) /* fewer are left: files are forgotten */

static void forget_lines(struct module *module)
{
	if (module->lines_fd >= 0 && module->lines_fd != module->fd)
		close(module->lines_fd);
	module->lines_fd = -1;
}

static void module_free(struct module *module)
{
	if (!module)
		return;
	forget_lines(module);
	if (module->fd >= 0)
		close(module->fd);
	if (module->others_fd >= 0)
		close(module->others_fd);
	function_table_fini(&module->functions);
	function_table_fini(&module->others);
	free(module->path);
	free(module);
}

int modules_open(struct modules *modules, bool lines)
{
	int err = file_reader_open(&modules->functions, false);

	return err || !lines ? err : file_reader_open(&modules->lines, true);
}

static struct file_reader *lines_reader(struct modules *modules, const struct module *module)
{
	if (!modules->lines || module->lines_fd == module->fd)
		return modules->lines;
	if (!modules->split && file_reader_open(&modules->split, true))
		return modules->lines;
	return modules->split;
}

#define MAX_NAMED 4

/*
 * Whether it has lines that were not read in time, and are known by now. A file whose debug
 * information is elsewhere is rather a system library.
 */
static bool has_late_lines(struct modules *modules, const struct module *module)
{
	struct source_line found[SOURCE_LINES_MOST];

	return module->late_address && module->lines_fd >= 0 && module->lines_fd == module->fd &&
	       file_reader_lines(lines_reader(modules, module), module->serial, module->lines_fd,
				 module->late_address, found, SOURCE_LINES_MOST) > 0;
}

/* Before its lines are let go of. */
static void note_late_lines(struct modules *modules, const struct module *module)
{
	if (has_late_lines(modules, module) && module->path && modules->late_count++ < MAX_NAMED)
		string_append_format(&modules->late, "%s%s", modules->late_count > 1 ? ", " : "",
				     module->path);
}

/* Reports have functions without lines then, as if the program had been built without. */
static void tell_late_lines(struct modules *modules)
{
	size_t i;

	for (i = 0; i < modules->count; i++)
		if (modules->list[i])
			note_late_lines(modules, modules->list[i]);
	if (modules->late_count > MAX_NAMED)
		string_append_format(&modules->late, " and %zu more",
				     modules->late_count - MAX_NAMED);
	if (modules->late_count && !modules->late.failed)
		log_info("%.*s: lines of code could not be read in time, so call stacks have"
			 " functions without them: report --symbols DIRECTORY, where the file is,"
			 " finds them",
			 (int)modules->late.length, modules->late.bytes);
	string_fini(&modules->late);
}

void modules_fini(struct modules *modules)
{
	size_t i;

	tell_late_lines(modules);
	for (i = 0; i < modules->count; i++)
		module_free(modules->list[i]);
	free(modules->list);
	map_fini(&modules->places);
	file_reader_close(modules->functions);
	file_reader_close(modules->lines);
	file_reader_close(modules->split);
	*modules = (struct modules){ 0 };
}

/* Two files with one key would take each other's place; neither would be taken for the other. */
static uint64_t key_of(uint64_t dev, uint64_t inode)
{
	return inode ^ dev << 44;
}

static char *path_of(const struct proc_mapping *mapping)
{
	const size_t length = strlen(mapping->path), more = sizeof(DELETED) - 1;
	const bool deleted = length > more && !strcmp(mapping->path + length - more, DELETED);

	return strndup(mapping->path, deleted ? length - more : length);
}

/*
 * Debug information that was split off lies in this system's directory for it, by build id. What a
 * container has in its own is not looked for: it would be opened with this program's rights.
 */
static int open_split(const struct elf_image *image)
{
	char path[sizeof("/usr/lib/debug/.build-id/xx/.debug") + ELF_BUILD_ID_BYTES];

	if (strlen(image->build_id) < 4)
		return -1;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", image->build_id,
		 image->build_id + 2);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

static void prepare_lines(struct modules *modules, struct module *module)
{
	module->lines_fd = open_split(&module->image);
	if (module->lines_fd < 0)
		module->lines_fd = module->fd;
	if (module->lines_fd >= 0)
		file_reader_prepare_lines(lines_reader(modules, module), module->serial,
					  module->lines_fd);
}

/* Of a file that cannot be opened, only its device and inode are known. */
static uint64_t identity_of(uint64_t dev, uint64_t inode, int fd)
{
	struct stat status = { 0 };
	uint64_t what[7] = { dev, inode };

	if (fd >= 0 && !fstat(fd, &status)) {
		what[2] = (uint64_t)status.st_size;
		what[3] = (uint64_t)status.st_mtim.tv_sec;
		what[4] = (uint64_t)status.st_mtim.tv_nsec;
		what[5] = (uint64_t)status.st_ctim.tv_sec;
		what[6] = (uint64_t)status.st_ctim.tv_nsec;
	}
	return string_hash(map_secret(), what, sizeof(what));
}

/* Takes the descriptor, and the path, which may be NULL for want of memory. */
static struct module *module_new(int fd, char *path, uint64_t dev, uint64_t inode)
{
	struct module *module = calloc(1, sizeof(*module));

	if (!module || !path) {
		if (fd >= 0)
			close(fd);
		free(path);
		free(module);
		return NULL;
	}
	module->lines_fd = module->others_fd = -1;
	module->dev = dev;
	module->inode = inode;
	module->fd = fd;
	module->path = path;
	module->identity = identity_of(dev, inode, fd);
	module->unused_ns = clock_monotonic_ns();
	if (module->fd >= 0 && elf_image_read(&module->image, module->fd))
		module->image = (struct elf_image){ 0 };
	return module;
}

static struct module *find(const struct modules *modules, uint64_t dev, uint64_t inode)
{
	const uint64_t *place = map_get(&modules->places, key_of(dev, inode));
	struct module *module = place ? modules->list[*place] : NULL;

	return module && module->dev == dev && module->inode == inode ? module : NULL;
}

/* Before a file is opened in vain. */
static bool has_number(struct modules *modules)
{
	if (modules->count + 1 < MS_UNWIND_TABLES || table_store_has_free_number(modules->tables))
		return true;
	if (!modules->said_full)
		log_warning("traced processes have mapped more than %u files at once: call stacks"
			    " end where they come to one of the others",
			    MS_UNWIND_TABLES - 1);
	modules->said_full = true;
	return false;
}

/* There is one. Returns 0 without memory. */
static uint32_t take_number(struct modules *modules)
{
	const uint32_t free = table_store_free_number(modules->tables);

	if (free) {
		modules->forgotten--;
		return free;
	}
	if (memory_grow((void **)&modules->list, &modules->capacity, modules->count + 1,
			sizeof(*modules->list)))
		return 0;
	modules->list[modules->count++] = NULL;
	return (uint32_t)modules->count;
}

/* There is a number for it. NULL stays NULL. */
static struct module *add(struct modules *modules, struct module *module)
{
	const uint32_t number = module ? take_number(modules) : 0;

	if (!number || map_set(&modules->places, key_of(module->dev, module->inode), number - 1)) {
		module_free(module);
		return NULL;
	}
	modules->list[number - 1] = module;
	module->number = number;
	module->serial = ++modules->serials;
	if (module->fd < 0)
		log_debug("%s cannot be opened: stacks end there", module->path);
	else if (table_store_add(modules->tables, module->number, module->fd))
		log_debug("%s: no table can be made", module->path);
	if (modules->lines)
		prepare_lines(modules, module);
	return module;
}

/* It is not found any more, and forgotten when nothing is being made of it. */
static void disown(struct modules *modules, struct module *module)
{
	map_remove(&modules->places, key_of(module->dev, module->inode));
	module->dev = module->inode = 0;
	module->unused_ns = 0;
}

/* Returns whether the file is what it was: then the descriptor is the module's. */
static bool wake(struct modules *modules, struct module *module, int fd)
{
	if (identity_of(module->dev, module->inode, fd) != module->identity) {
		disown(modules, module);
		return false;
	}
	module->rests = false;
	module->fd = fd;
	if (modules->lines)
		prepare_lines(modules, module);
	return true;
}

/* The path that the mapping has may be another one of the same file. */
static struct module *find_or_add(struct modules *modules, pid_t pid,
				  const struct proc_mapping *mapping)
{
	struct module *module = find(modules, mapping->dev, mapping->inode);
	int fd;

	if (module ? !module->rests : !has_number(modules))
		return module;
	fd = file_open_mapping(pid, mapping, modules->map_files);
	if (module && wake(modules, module, fd))
		return module;
	if (has_number(modules))
		return add(modules, module_new(fd, path_of(mapping), mapping->dev, mapping->inode));
	if (fd >= 0)
		close(fd);
	return NULL;
}

struct module *modules_of(struct modules *modules, pid_t pid, const struct proc_mapping *mapping)
{
	struct module *module = find_or_add(modules, pid, mapping);

	if (module)
		module->users++;
	return module;
}

void module_release(struct module *module)
{
	if (module && !--module->users)
		module->unused_ns = clock_monotonic_ns();
}

void modules_expect(struct modules *modules, int fd, const char *path)
{
	struct stat status;

	if (fstat(fd, &status) || find(modules, status.st_dev, status.st_ino) ||
	    !has_number(modules))
		return;
	add(modules,
	    module_new(fcntl(fd, F_DUPFD_CLOEXEC, 0), strdup(path), status.st_dev, status.st_ino));
}

/* Puts the symbols that the file has packed into a file of memory, if it has any. */
static void open_embedded(struct modules *modules, struct module *module)
{
	size_t length;
	void *bytes;
	int fd;

	if (modules->unpacked_bytes >= UNPACKED_MOST ||
	    file_reader_embedded(modules->functions, module->fd, &bytes, &length))
		return;
	fd = length <= UNPACKED_MOST - modules->unpacked_bytes ?
		     memfd_create("memscope-symbols", MFD_CLOEXEC) :
		     -1;
	if (fd >= 0 && write(fd, bytes, length) == (ssize_t)length) {
		module->others_fd = fd;
		module->others_bytes = length;
		modules->unpacked_bytes += length;
	} else if (fd >= 0) {
		close(fd);
	}
	free(bytes);
}

/* One without functions is of no use. */
static void close_other(struct modules *modules, struct module *module)
{
	close(module->others_fd);
	module->others_fd = -1;
	modules->unpacked_bytes -= module->others_bytes;
	module->others_bytes = 0;
}

/* Of a file that was stripped, what was split off may be here, or packed in the file itself. */
static const struct function_entry *find_other(struct modules *modules, struct module *module,
					       uint64_t address)
{
	if (!module->others_read) {
		module->others_read = true;
		module->others_fd = open_split(&module->image);
		if (module->others_fd < 0)
			open_embedded(modules, module);
		if (module->others_fd >= 0)
			file_reader_functions(modules->functions, module->others_fd, true,
					      &module->others);
		if (module->others_fd >= 0 && !module->others.count)
			close_other(modules, module);
	}
	return function_table_find(&module->others, address);
}

/* Closes all that it has open: what is read of it next is read anew. */
static void rest(struct modules *modules, struct module *module)
{
	note_late_lines(modules, module);
	module->late_address = 0;
	if (modules->lines && module->lines_fd >= 0 &&
	    file_reader_forget_lines(lines_reader(modules, module), module->serial))
		return; /* it is tried again */
	forget_lines(module);
	if (module->others_fd >= 0)
		close_other(modules, module);
	function_table_fini(&module->functions);
	function_table_fini(&module->others);
	module->functions_read = module->others_read = false;
	if (module->fd >= 0)
		close(module->fd);
	module->fd = -1;
	module->rests = true;
}

static bool is_scarce(const struct modules *modules)
{
	return modules->count - modules->forgotten > NUMBERS_ENOUGH ||
	       table_store_is_nearly_full(modules->tables);
}

/* Returns whether there was one that rests. */
static bool forget_oldest(struct modules *modules)
{
	struct module *oldest = NULL;
	size_t i;

	for (i = 0; i < modules->count; i++) {
		struct module *module = modules->list[i];

		if (module && module->rests && !module->users &&
		    (!oldest || module->unused_ns < oldest->unused_ns))
			oldest = module;
	}
	if (!oldest || table_store_remove(modules->tables, oldest->number))
		return false;
	if (find(modules, oldest->dev, oldest->inode) == oldest)
		disown(modules, oldest);
	modules->list[oldest->number - 1] = NULL;
	modules->forgotten++;
	module_free(oldest);
	return true;
}

void modules_rest(struct modules *modules, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < modules->count; i++) {
		struct module *module = modules->list[i];

		if (module && !module->users && !module->rests &&
		    now_ns - module->unused_ns >= REST_NS)
			rest(modules, module);
	}
	while (is_scarce(modules) && forget_oldest(modules))
		;
}

bool module_function(struct modules *modules, struct module *module, uint64_t place,
		     struct string *name, uint32_t *offset)
{
	const struct function_entry *entry;
	char text[FUNCTION_NAME_BYTES];
	uint64_t address;

	if (module->fd < 0)
		return false;
	if (!module->functions_read) {
		module->functions_read = true;
		file_reader_functions(modules->functions, module->fd, false, &module->functions);
	}
	entry = function_table_find(&module->functions, place);
	if (entry && function_table_name(entry, module->fd, text)) {
		demangle_append(name, text);
		*offset = (uint32_t)(place - entry->begin);
		return true;
	}
	entry = elf_image_address(&module->image, place, &address) ?
			find_other(modules, module, address) :
			NULL;
	if (!entry || !function_table_name(entry, module->others_fd, text))
		return false;
	demangle_append(name, text);
	*offset = (uint32_t)(address - entry->begin);
	return true;
}

size_t module_lines(struct modules *modules, struct module *module, uint64_t address,
		    struct source_line *found, size_t most)
{
	int count;

	if (module->lines_fd < 0 || !modules->lines)
		return 0;
	count = file_reader_lines(lines_reader(modules, module), module->serial, module->lines_fd,
				  address, found, most);
	if (count == -ENODATA)
		forget_lines(module);
	if (count == -EAGAIN && !module->late_address)
		module->late_address = address;
	return count > 0 ? count : 0;
}

uint64_t modules_cpu_ns(const struct modules *modules)
{
	return file_reader_cpu_ns(modules->functions) + file_reader_cpu_ns(modules->lines) +
	       file_reader_cpu_ns(modules->split);
}
