// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/symbol_files.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "elf/elf_image.h"

#define MAX_DEPTH 8
#define MAX_FILES 65536

struct symbol_file {
	char *path;
	char build_id[ELF_BUILD_ID_BYTES];
	bool is_debug; /* it is made for this: NAME.debug */
};

/* Functions of libdebuginfod, elfutils/debuginfod.h. A build id of 0 bytes is a text. */
struct debuginfod {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int bytes, char **path);
	void *client;
};

struct symbol_files {
	struct symbol_file *list;
	size_t count, capacity;
	struct debuginfod server; /* `client`: NULL if none is asked */
};

/* ---- the directory --------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), more = strlen(end);

	return length >= more && !strcmp(text + length - more, end);
}

static int add_file(struct symbol_files *files, int directory, const char *name, const char *path)
{
	const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct elf_image image;
	struct stat status;
	bool is_elf;

	if (fd < 0)
		return 0;
	is_elf = !fstat(fd, &status) && S_ISREG(status.st_mode) && !elf_image_read(&image, fd);
	close(fd);
	if (!is_elf || !image.build_id[0])
		return 0;
	if (files->count >= MAX_FILES)
		return -E2BIG;
	if (memory_grow((void **)&files->list, &files->capacity, files->count + 1,
			sizeof(*files->list)))
		return -ENOMEM;
	files->list[files->count] =
		(struct symbol_file){ .path = strdup(path), .is_debug = ends_with(path, ".debug") };
	memcpy(files->list[files->count].build_id, image.build_id, sizeof(image.build_id));
	return files->list[files->count++].path ? 0 : -ENOMEM;
}

static int look_through(struct symbol_files *files, const char *path, int depth);

/*
 * A link to a file is one more name of it. One to a directory may lead back up, to all that has
 * been looked at already: it is no part of the directory.
 */
static bool is_below(int directory, const char *name, const struct stat *status)
{
	struct stat own;

	return S_ISDIR(status->st_mode) && !fstatat(directory, name, &own, AT_SYMLINK_NOFOLLOW) &&
	       S_ISDIR(own.st_mode);
}

static int look_at(struct symbol_files *files, int directory, const char *path, const char *name,
		   int depth)
{
	struct string whole = { 0 };
	struct stat status;
	int err = 0;

	if (!strcmp(name, ".") || !strcmp(name, "..") || fstatat(directory, name, &status, 0))
		return 0;
	string_append_text(&whole, path);
	string_append_char(&whole, '/');
	string_append_text(&whole, name);
	string_append_char(&whole, '\0');
	if (whole.failed)
		err = -ENOMEM;
	else if (depth < MAX_DEPTH && is_below(directory, name, &status))
		err = look_through(files, whole.bytes, depth + 1);
	else if (S_ISREG(status.st_mode))
		err = add_file(files, directory, name, whole.bytes);
	string_fini(&whole);
	/* What cannot be read further down is left out. */
	return err == -E2BIG || err == -ENOMEM ? err : 0;
}

static int look_through(struct symbol_files *files, const char *path, int depth)
{
	DIR *listing = opendir(path);
	const struct dirent *entry;
	int err = 0;

	if (!listing)
		return -errno;
	while (!err && (entry = readdir(listing)))
		err = look_at(files, dirfd(listing), path, entry->d_name, depth);
	closedir(listing);
	return err;
}

/* The one that is made for it comes before one of the same build id that may be stripped. */
static int compare(const void *left, const void *right)
{
	const struct symbol_file *a = left, *b = right;
	const int order = strcmp(a->build_id, b->build_id);

	return order ? order : (int)b->is_debug - (int)a->is_debug;
}

static int read_directory(struct symbol_files *files, const char *path)
{
	const int err = look_through(files, path, 0);

	if (err) {
		log_error("--symbols %s: %s", path,
			  err == -E2BIG ? "more than 65536 files with symbols: name a directory"
					  " further down" :
					  strerror(-err));
		return err;
	}
	if (!files->count)
		log_warning("--symbols %s: there is no ELF file with a build id in it", path);
	else
		qsort(files->list, files->count, sizeof(*files->list), compare);
	return 0;
}

/* ---- debuginfod ------------------------------------------------------------------------------ */

static int open_server(struct debuginfod *server)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *handle;

	if (!urls || !urls[strspn(urls, " ")]) {
		log_error("--debuginfod: the environment variable DEBUGINFOD_URLS does not say"
			  " which server to ask (with sudo: sudo --preserve-env=DEBUGINFOD_URLS)");
		return -EINVAL;
	}
	handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (handle) {
		*(void **)&server->begin = dlsym(handle, "debuginfod_begin");
		*(void **)&server->find = dlsym(handle, "debuginfod_find_debuginfo");
	}
	server->client = server->begin && server->find ? server->begin() : NULL;
	if (server->client)
		return 0;
	log_error("--debuginfod: libdebuginfod.so.1 cannot be loaded; install libdebuginfod1"
		  " (Debian, Ubuntu) or elfutils-debuginfod-client");
	return -ENOENT;
}

static int ask_server(const struct debuginfod *server, const char *build_id, const char *name)
{
	const int fd = server->find(server->client, (const unsigned char *)build_id, 0, NULL);

	if (fd < 0)
		log_info("%s: no debuginfod server has it (build ID %s): %s", name, build_id,
			 strerror(-fd));
	return fd;
}

/* ---- looking for one ------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether the file has that build id now. */
static bool has_build_id(int fd, const char *build_id)
{
	struct elf_image image;

	return !elf_image_read(&image, fd) && !strcmp(image.build_id, build_id);
}

/* Whether one is there. */
static bool tell_others(const struct symbol_files *files, const char *build_id, const char *name)
{
	size_t i;

	for (i = 0; i < files->count; i++) {
		const struct symbol_file *file = &files->list[i];

		if (strcmp(base_name(file->path), base_name(name)) != 0)
			continue;
		log_warning("%s is not the file that was traced (its build ID is %s, not %s), so it"
			    " is not used",
			    file->path, file->build_id, build_id);
		return true;
	}
	return false;
}

static bool is_build_id(const char *text)
{
	size_t i;

	for (i = 0; isxdigit((unsigned char)text[i]); i++)
		;
	return i >= 4 && !text[i];
}

int symbol_files_find(struct symbol_files *files, const char *build_id, const char *name)
{
	bool other_build;
	size_t i;
	int fd;

	if (!is_build_id(build_id))
		return -1;
	for (i = 0; i < files->count; i++) {
		if (strcmp(files->list[i].build_id, build_id) != 0)
			continue;
		fd = open(files->list[i].path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd >= 0 && has_build_id(fd, build_id))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	other_build = tell_others(files, build_id, name);
	fd = files->server.client ? ask_server(&files->server, build_id, name) :
	     other_build          ? -ESTALE :
				    -1;
	if (fd < 0 || has_build_id(fd, build_id))
		return fd;
	log_warning("%s: what the debuginfod server sent has another build ID than %s, so it is not"
		    " used",
		    name, build_id);
	close(fd);
	return -1;
}

bool symbol_files_any(const struct symbol_files *files)
{
	return files->count;
}

int symbol_files_open(struct symbol_files **result, const struct symbol_files_options *options)
{
	struct symbol_files *files = calloc(1, sizeof(*files));
	int err = files ? 0 : -ENOMEM;

	if (!err && options->directory)
		err = read_directory(files, options->directory);
	if (!err && options->debuginfod)
		err = open_server(&files->server);
	if (err)
		symbol_files_close(files);
	else
		*result = files;
	return err;
}

void symbol_files_close(struct symbol_files *files)
{
	size_t i;

	/* The client of debuginfod is there until the process ends: its threads may still be. */
	for (i = 0; files && i < files->count; i++)
		free(files->list[i].path);
	if (files)
		free(files->list);
	free(files);
}
