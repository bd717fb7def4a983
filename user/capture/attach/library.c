// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "capture/attach/jump_targets.h"
#include "capture/attach/kept_functions.h"
#include "event/cuda_names.h"
#include "event/ask.h"
#include "event/probe.h"
#include "elf/elf_code.h"
#include "elf/elf_stub.h"
#include "elf/elf_symbols.h"
#include "elf/elf_usdt.h"

static void library_new_fini(struct library_new *new)
{
	size_t i;

	for (i = 0; i < new->named; i++)
		free(new->names[i]);
	*new = (struct library_new){ 0 };
}

static void library_free(struct library *library)
{
	library_new_fini(&library->new);
	free(library->points);
	free(library->markers);
	free(library->path);
	free(library->name);
	free(library);
}

void library_cache_fini(struct library_cache *cache)
{
	size_t i;

	for (i = 0; i < cache->count; i++)
		library_free(cache->libraries[i]);
	free(cache->libraries);
	plain_files_fini(&cache->plain);
	if (cache->last_plain)
		library_free(cache->last_plain);
	free(cache->names);
	if (cache->kept)
		file_cache_close(cache->kept);
	free(cache->kept);
	*cache = (struct library_cache){ 0 };
}

void library_cache_keep(struct library_cache *cache, const char *directory)
{
	cache->kept = directory ? calloc(1, sizeof(*cache->kept)) : NULL;
	if (cache->kept)
		file_cache_open(cache->kept, directory, FILE_CACHE_MOST_BYTES);
}

/* ---- functions of the table ------------------------------------------------------------------ */

struct dump_input {
	struct library *library;
	int fd;
	bool nops;
	const struct marker_rows *markers;
	const struct wanted_names *names;
	struct kept_functions found;     /* that are in no row of the table of probes */
	bool *indirect;                  /* by row: the file has the function as an IFUNC */
	uint8_t code[PROLOGUE_MAX_SIZE]; /* of one function */
};

static void read_code(struct dump_input *reading, struct library_point *point, uint64_t size)
{
	size_t wanted = size && size < sizeof(reading->code) ? size : sizeof(reading->code);
	ssize_t got = pread(reading->fd, reading->code, wanted, point->file_offset);
	size_t length = got > 0 ? got : 0;

	prologue_read(&point->prologue, reading->code, length, size, reading->nops);
	point->code_bytes = length < sizeof(point->code) ? length : sizeof(point->code);
	memcpy(point->code, reading->code, point->code_bytes);
}

/* Returns the point; NULL: its row or its place has one. */
static struct library_point *add_point(struct dump_input *reading,
				       const struct elf_function *function, int row,
				       struct library_point *points, size_t *count)
{
	struct library_point *point = &points[*count];
	size_t i;

	for (i = 0; i < *count; i++)
		if (points[i].row == (uint32_t)row ||
		    points[i].file_offset == function->file_offset)
			return NULL;
	*point = (struct library_point){ .row = row, .file_offset = function->file_offset };
	read_code(reading, point, function->size_bytes);
	++*count;
	return point;
}

/* Probed at its first byte: what jumps behind that is not looked for. */
static void add_ask(struct dump_input *reading, const struct elf_function *function, int row)
{
	struct library *library = reading->library;
	struct library_point *point =
		add_point(reading, function, row, library->asks, &library->asks_count);

	if (point)
		prologue_distrust(&point->prologue);
}

/*
 * So is what has a probe of its return, too, and what is in a large file: to look there for what
 * jumps behind the first byte takes longer than to read its symbols, which may have been kept.
 */
static void add_framework(struct dump_input *reading, const struct elf_function *function, int row)
{
	struct library *library = reading->library;
	struct library_point *point =
		add_point(reading, function, row, library->frameworks, &library->frameworks_count);

	if (point && (framework_row_returns(row) || library->size_bytes >= FILE_CACHE_LEAST_BYTES))
		prologue_distrust(&point->prologue);
}

static bool has_marker(const struct library *library, uint32_t row, uint64_t file_offset)
{
	size_t i;

	for (i = 0; i < library->markers_count; i++)
		if (library->markers[i].point.row == row &&
		    library->markers[i].point.file_offset == file_offset)
			return true;
	return false;
}

/* A module can have several copies of one that is inline, none of them exported. */
static int add_marker(struct dump_input *reading, uint32_t row, uint64_t file_offset,
		      uint64_t size_bytes, uint64_t counter_offset)
{
	struct library *library = reading->library;
	struct library_marker *marker;
	int err;

	if (library->markers_count >= LIBRARY_MARKERS || has_marker(library, row, file_offset))
		return 0;
	err = memory_grow(&library->markers, &library->markers_capacity, library->markers_count + 1,
			  sizeof(*library->markers));
	if (err)
		return err;
	marker = &library->markers[library->markers_count++];
	*marker = (struct library_marker){
		.point = { .row = row, .file_offset = file_offset },
		.on_return = reading->markers->rows[row].on_return,
		.counter_offset = counter_offset,
	};
	read_code(reading, &marker->point, size_bytes);
	prologue_distrust(&marker->point.prologue);
	return 0;
}

static int add_markers(struct dump_input *reading, const struct elf_function *function)
{
	const struct marker_rows *rows = reading->markers;
	int err = 0;
	uint32_t i;

	if (!rows || function->is_indirect)
		return 0;
	for (i = 0; !err && i < rows->count; i++)
		if (marker_row_is_of(&rows->rows[i], reading->library->path, function->name))
			err = add_marker(reading, i, function->file_offset, function->size_bytes,
					 0);
	return err;
}

static int add_probe_markers(const struct elf_usdt *probe, void *context)
{
	struct dump_input *reading = context;
	const struct marker_rows *rows = reading->markers;
	int err = 0;
	uint32_t i;

	for (i = 0; !err && i < rows->count; i++)
		if (marker_row_is_probe(&rows->rows[i], reading->library->path, probe->provider,
					probe->name))
			err = add_marker(reading, i, probe->file_offset, 0, probe->counter_offset);
	return err;
}

/* What the table of probes has no row of. */
static void add_other(struct dump_input *reading, const struct elf_function *function)
{
	struct library *library = reading->library;
	bool is_ioctl;
	int row, ask;

	if (function->is_indirect)
		return;
	is_ioctl = function->is_exported && !strcmp(function->name, "ioctl");
	if (is_ioctl)
		library->ioctl_offset = function->file_offset;
	row = framework_find(function->name, function->is_exported);
	if (row >= 0)
		add_framework(reading, function, row);
	ask = ask_find(function->name);
	if (ask >= 0)
		add_ask(reading, function, ask);
	if (is_ioctl || row >= 0 || ask >= 0)
		kept_functions_add(&reading->found, function);
}

static int add_function(const struct elf_function *function, void *context)
{
	struct dump_input *reading = context;
	struct library *library = reading->library;
	int row = probe_find(function->name), err = add_markers(reading, function);
	struct library_point *point;
	size_t i;

	if (err)
		return err;
	if (row < 0) {
		add_other(reading, function);
		return 0;
	}
	reading->found.is_unfit = true;
	if (function->is_indirect) {
		reading->indirect[row] = true;
		return 0;
	}
	/* .symtab repeats what .dynsym has; two names of one address would be two probes in it. */
	for (i = 0; i < library->points_count; i++)
		if (library->points[i].row == (uint32_t)row ||
		    library->points[i].file_offset == function->file_offset)
			return 0;
	err = memory_grow(&library->points, &library->points_capacity, library->points_count + 1,
			  sizeof(*library->points));
	if (err)
		return err;
	point = &library->points[library->points_count++];
	*point = (struct library_point){ .row = row, .file_offset = function->file_offset };
	read_code(reading, point, function->size_bytes);
	return 0;
}

/* ---- functions that are too new for the table ------------------------------------------------ */

struct new_reading {
	struct library_new *new;
	bool layers[MS_LAYERS_COUNT]; /* those that the file has functions of */
	bool memory;                  /* which of them are looked for */
};

static int add_new(const struct elf_function *function, void *context)
{
	struct new_reading *reading = context;
	struct library_new *new = reading->new;
	bool is_new = false;
	enum ms_layer layer;

	if (!function->is_exported || cuda_name_is_about_memory(function->name) != reading->memory)
		return 0;
	for (layer = 0; layer < MS_LAYERS_COUNT; layer++)
		is_new |= reading->layers[layer] && cuda_name_is_new(function->name, layer);
	if (!is_new)
		return 0;
	new->count++;
	new->memory += reading->memory;
	if (new->named == LIBRARY_NEW_NAMED)
		return 0;
	new->names[new->named] = strdup(function->name);
	if (!new->names[new->named])
		return -ENOMEM;
	new->named++;
	return 0;
}

static void warn_new(const struct library *library)
{
	const struct library_new *new = &library->new;

	if (new->memory)
		log_warning("%s exports %zu function%s that this version of memscope-bpf does not"
			    " know, among them %s: their calls will not be seen",
			    library->path, new->count, new->count > 1 ? "s" : "", new->names[0]);
	else if (new->count)
		log_debug("%s exports %zu functions that this version does not know, such as %s",
			  library->path, new->count, new->names[0]);
}

/* Returns 0 or -ENOMEM: what else is wrong with the file was found before. */
static int read_new(struct library *library, int fd)
{
	struct new_reading reading = { .new = &library->new, .memory = true };
	int err;
	size_t i;

	for (i = 0; i < library->points_count; i++)
		reading.layers[probe_at(library->points[i].row)->layer] = true;
	err = elf_each_function(fd, add_new, &reading, NULL);
	reading.memory = false;
	if (err != -ENOMEM)
		err = elf_each_function(fd, add_new, &reading, NULL);
	warn_new(library);
	return err == -ENOMEM ? err : 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/*
 * Allocations of a kind follow right after the frees of that kind. What programs call most often
 * comes first, because it is the first to go, too: as long as a process runs into breakpoints, the
 * kernel waits for its mmap_lock with each other one that it removes.
 */
static int turn_of(const struct library_point *point)
{
	const struct ms_spec *spec = &probe_at(point->row)->spec;

	switch (spec->op) {
	case MS_OP_LAUNCH:
		return 0;
	case MS_OP_SYNC:
		return 1;
	case MS_OP_COPY:
	case MS_OP_MEMSET:
		return 2;
	case MS_OP_FREE:
		return 3 + 2 * spec->key;
	case MS_OP_ALLOC:
		return 4 + 2 * spec->key;
	default:
		return 4 + 2 * MS_KEYS_COUNT;
	}
}

static int by_order(const void *a, const void *b)
{
	const struct library_point *x = a, *y = b;

	if (turn_of(x) != turn_of(y))
		return turn_of(x) - turn_of(y);
	return x->row < y->row ? -1 : x->row > y->row;
}

/*
 * Which function an IFUNC stands for is chosen when the program is loaded, by code that it runs,
 * and the file does not say it.
 */
static void warn_indirect(const struct dump_input *reading)
{
	size_t count = 0, i;
	uint32_t row, first = 0;

	for (i = 0; i < reading->library->points_count; i++)
		reading->indirect[reading->library->points[i].row] = false;
	for (row = 0; row < probe_count(); row++)
		if (reading->indirect[row] && !count++)
			first = row;
	if (count)
		log_warning(
			"%s: %zu function%s chosen at run time (IFUNC; for example %s) and cannot be"
			" probed; calls of %s will not be seen",
			reading->library->path, count, count > 1 ? "s are" : " is",
			probe_at(first)->symbol, count > 1 ? "them" : "it");
}

static bool is_wanted(const char *name, void *context)
{
	const struct dump_input *reading = context;

	return wanted_names_may_have(reading->names, name);
}

/* From what was kept, or else from the file; and then what is found is kept. */
static int each_function(struct dump_input *reading, const struct library_cache *cache,
			 struct elf_contents *contents)
{
	const uint64_t digest = reading->names->digest;
	struct file_cache_file file;
	const bool keeps = cache->kept && !reading->names->by_file &&
			   file_cache_may_keep(cache->kept, &file, reading->fd);
	int err = -ENOENT;

	if (keeps)
		err = kept_functions_each(cache->kept, &file, reading->fd, digest, add_function,
					  reading, contents);
	if (err != -ENOENT) {
		log_debug("%s: a trace before has read its symbols", reading->library->path);
		return err;
	}
	err = elf_each_function_named(reading->fd, is_wanted, add_function, reading, contents);
	if (keeps && !err && !reading->library->markers_count &&
	    file_cache_is_unchanged(&file, reading->fd))
		kept_functions_put(cache->kept, &file, digest, &reading->found, contents);
	return err;
}

static int read_points(struct library *library, int fd, const struct library_cache *cache,
		       struct elf_contents *contents)
{
	struct dump_input *reading = calloc(1, sizeof(*reading));
	int err = -ENOMEM;

	if (reading)
		reading->indirect = calloc(probe_count(), sizeof(*reading->indirect));
	if (reading && reading->indirect) {
		reading->library = library;
		reading->fd = fd;
		reading->nops = cache->nops;
		reading->markers = cache->markers;
		reading->names = cache->names;
		err = each_function(reading, cache, contents);
		if (cache->markers && marker_rows_have_probes(cache->markers, library->path))
			elf_each_usdt(fd, add_probe_markers, reading);
		warn_indirect(reading);
		free(reading->indirect);
	}
	free(reading);
	return err;
}

static int read_functions(struct library *library, int fd, const struct library_cache *cache)
{
	struct elf_contents contents = { 0 };
	int err = read_points(library, fd, cache, &contents), distrust_err;

	library->has_symbols = contents.has_symbols;
	library->readable = !err;
	library->go = library->readable && elf_code_is_go(fd);
	if (library->points_count || library->frameworks_count) {
		distrust_err = jump_targets_distrust(library, fd);
		if (distrust_err)
			return distrust_err;
	}
	if (library->points_count) {
		if (probe_at(library->points->row)->layer == MS_LAYER_DRIVER)
			library->ioctl_stub_offset = elf_stub_find(fd, "ioctl");
		distrust_err = read_new(library, fd);
		if (distrust_err)
			return distrust_err;
		qsort(library->points, library->points_count, sizeof(*library->points), by_order);
	}
	if (err == -ENOEXEC)
		return 0;
	/* Nothing says that it has any that matter, but if so, their calls are missing. */
	if (err == -EBADMSG || err == -EFBIG) {
		log_warning("%s: %s; %zu of its functions will be traced", library->path,
			    err == -EFBIG ? "this ELF file has larger tables than can be read" :
					    "this ELF file is damaged",
			    library->points_count);
		return 0;
	}
	return err;
}

static int init_names(struct library_cache *cache)
{
	if (cache->names)
		return 0;
	cache->names = malloc(sizeof(*cache->names));
	if (!cache->names)
		return -ENOMEM;
	wanted_names_init(cache->names, cache->markers);
	return 0;
}

static struct library *find(const struct library_cache *cache, const struct stat *status)
{
	int64_t modified_ns = status->st_mtim.tv_sec * 1000000000ll + status->st_mtim.tv_nsec;
	size_t i;

	for (i = 0; i < cache->count; i++) {
		struct library *library = cache->libraries[i];

		if (library->dev == status->st_dev && library->inode == status->st_ino &&
		    library->size_bytes == (uint64_t)status->st_size &&
		    library->modified_ns == modified_ns)
			return library;
	}
	return NULL;
}

static struct library *library_new(const struct stat *status, const char *path)
{
	struct library *library = calloc(1, sizeof(*library));
	const char *slash = strrchr(path, '/');

	if (!library)
		return NULL;
	library->dev = status->st_dev;
	library->inode = status->st_ino;
	library->size_bytes = status->st_size;
	library->modified_ns = status->st_mtim.tv_sec * 1000000000ll + status->st_mtim.tv_nsec;
	library->path = strdup(path);
	library->name = strdup(slash ? slash + 1 : path);
	if (!library->path || !library->name) {
		library_free(library);
		return NULL;
	}
	return library;
}

/* On some file systems (btrfs, overlayfs) /proc/PID/maps has another device than stat(). */
bool library_is_mapped(const struct library *library, const struct proc_mapping *mapping)
{
	const char *slash = strrchr(mapping->path, '/');

	return slash && mapping->inode == library->inode &&
	       (mapping->dev == library->dev ||
		!strncmp(slash + 1, library->name, strlen(library->name)));
}

const struct library *library_find(const struct library_cache *cache,
				   const struct proc_mapping *mapping)
{
	size_t i;

	for (i = 0; i < cache->count; i++)
		if (cache->libraries[i]->points_count &&
		    library_is_mapped(cache->libraries[i], mapping))
			return cache->libraries[i];
	return NULL;
}

static bool is_plain(const struct library *library)
{
	return !library->points_count && !library->frameworks_count && !library->asks_count &&
	       !library->markers_count && !library->ioctl_offset && !library->ioctl_stub_offset &&
	       !library->new.count;
}

static void keep_plain(struct library_cache *cache, uint64_t key, struct library *library)
{
	plain_files_add(&cache->plain, key,
			library->has_symbols | library->readable << 1 | library->go << 2);
	if (cache->last_plain)
		library_free(cache->last_plain);
	cache->last_plain = library;
}

static int read_library(struct library *library, int fd, const struct library_cache *cache,
			uint64_t key)
{
	const uint64_t *flags = plain_files_find(&cache->plain, key);

	if (!flags)
		return read_functions(library, fd, cache);
	library->has_symbols = *flags & 1; /* as keep_plain() puts them */
	library->readable = *flags >> 1 & 1;
	library->go = *flags >> 2 & 1;
	return 0;
}

int library_load(struct library_cache *cache, int fd, const char *path,
		 const struct library **result)
{
	struct library *library;
	struct stat status;
	uint64_t key;
	int err;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENODEV;
	library = find(cache, &status);
	if (library) {
		*result = library;
		return 0;
	}
	err = memory_grow(&cache->libraries, &cache->capacity, cache->count + 1,
			  sizeof(*cache->libraries));
	if (!err)
		err = init_names(cache);
	if (err)
		return err;
	library = library_new(&status, path);
	if (!library)
		return -ENOMEM;
	key = plain_files_key(&status);
	err = read_library(library, fd, cache, key);
	if (err) {
		library_free(library);
		return err;
	}
	if (is_plain(library))
		keep_plain(cache, key, library);
	else
		cache->libraries[cache->count++] = library;
	*result = library;
	return 0;
}
