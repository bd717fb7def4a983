// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/frame_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/string.h"
#include "symbols/file_reader.h"
#include "symbols/frame_found.h"

#define MAX_MODULES 4096
#define MAX_NAMED 3      /* in a warning */
#define RETRY_NS 5000000 /* while debug information is being read; the reader ends a hang */

struct module {
	char *build_id;
	char *path;
	int fd;          /* negative: nothing is known of it */
	bool is_lacking; /* a frame in it has no function */
	struct function_table functions;
	bool no_lines;
};

struct frame_names {
	struct symbol_files *files;
	struct file_reader *functions, *lines;
	struct module *modules;
	size_t count, capacity;
	struct string name;                          /* scratch */
	struct source_line found[SOURCE_LINES_MOST]; /* of the last frame */
};

int frame_names_open(struct frame_names **result, const struct symbol_files_options *options)
{
	struct frame_names *names = calloc(1, sizeof(*names));
	int err = names ? symbol_files_open(&names->files, options) : -ENOMEM;

	if (!err)
		err = file_reader_open(&names->functions, false);
	if (!err)
		err = file_reader_open(&names->lines, true);
	if (err)
		frame_names_close(names);
	else
		*result = names;
	return err;
}

void frame_names_close(struct frame_names *names)
{
	size_t i;

	if (!names)
		return;
	for (i = 0; i < names->count; i++) {
		if (names->modules[i].fd >= 0)
			close(names->modules[i].fd);
		function_table_fini(&names->modules[i].functions);
		free(names->modules[i].build_id);
		free(names->modules[i].path);
	}
	free(names->modules);
	symbol_files_close(names->files);
	file_reader_close(names->functions);
	file_reader_close(names->lines);
	string_fini(&names->name);
	free(names);
}

/* NULL: there is no room for more. Its position is its number for the reader of lines. */
static struct module *module_of(struct frame_names *names, const char *build_id, const char *path)
{
	struct module *module;
	size_t i;

	for (i = 0; i < names->count; i++)
		if (!strcmp(names->modules[i].build_id, build_id))
			return &names->modules[i];
	if (names->count >= MAX_MODULES || memory_grow((void **)&names->modules, &names->capacity,
						       names->count + 1, sizeof(*names->modules)))
		return NULL;
	module = &names->modules[names->count];
	*module = (struct module){ .build_id = strdup(build_id), .path = strdup(path), .fd = -1 };
	if (!module->build_id || !module->path) {
		free(module->build_id);
		free(module->path);
		return NULL;
	}
	names->count++;
	module->fd = symbol_files_find(names->files, build_id, path);
	if (module->fd >= 0)
		file_reader_functions(names->functions, module->fd, true, &module->functions);
	return module;
}

/* Puts the function's name into names->name, if it is known. */
static void find_function(struct frame_names *names, const struct module *module, uint64_t address,
			  uint64_t back, uint32_t *offset)
{
	const struct function_entry *entry =
		function_table_find(&module->functions, address - back);
	char text[FUNCTION_NAME_BYTES];

	if (!entry || !function_table_name(entry, module->fd, text))
		return;
	string_clear(&names->name);
	demangle_append(&names->name, text);
	string_append_char(&names->name, '\0');
	*offset = (uint32_t)(address - entry->begin);
}

/*
 * Finds the lines of an address: the innermost first; the last one is in the function that has the
 * code, and is that of the call, if another was put into it. Returns how many.
 */
static size_t find_lines(struct frame_names *names, struct module *module, uint64_t address)
{
	const uint32_t number = (uint32_t)(module - names->modules);
	const struct timespec pause = { 0, RETRY_NS };
	int count;

	if (module->no_lines)
		return 0;
	while ((count = file_reader_lines(names->lines, number, module->fd, address, names->found,
					  SOURCE_LINES_MOST)) == -EAGAIN)
		nanosleep(&pause, NULL);
	module->no_lines = count == -ENODATA;
	return count > 0 ? count : 0;
}

size_t frame_names_put(void *context, struct ms_frame_record *record, size_t room)
{
	const uint64_t back = record->flags & MS_FRAME_EXACT ? 0 : 1;
	const char *texts[MS_FRAME_TEXTS_COUNT], *text = record->texts;
	struct frame_found found = { 0 };
	struct frame_names *names = context;
	struct module *module;
	size_t lines = 0;
	int i;

	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++, text += strlen(text) + 1)
		texts[i] = text;
	if (record->kind != MS_FRAME_NATIVE || record->flags & MS_FRAME_INLINED ||
	    !*texts[MS_FRAME_BUILD_ID] || (*texts[MS_FRAME_FUNCTION] && record->line))
		return 0;
	module = module_of(names, texts[MS_FRAME_BUILD_ID], texts[MS_FRAME_MODULE]);
	if (module && !*texts[MS_FRAME_FUNCTION])
		module->is_lacking = true;
	if (!module || module->fd < 0)
		return 0;
	string_clear(&names->name);
	if (!*texts[MS_FRAME_FUNCTION])
		find_function(names, module, record->address, back, &found.offset);
	if (names->name.length && !names->name.failed)
		found.function = names->name.bytes;
	if (!record->line)
		lines = find_lines(names, module, record->address - back);
	if (lines && names->found[lines - 1].line) {
		found.source = names->found[lines - 1].file;
		found.line = names->found[lines - 1].line;
	}
	frame_found_put(&found, record, room);
	return lines ? lines - 1 : 0;
}

void frame_names_inlined(void *context, size_t number, struct ms_frame_record *record, size_t room)
{
	struct frame_names *names = context;
	const struct source_line *line = &names->found[number];
	struct frame_found found = { .source = line->file, .line = line->line };

	string_clear(&names->name);
	demangle_append(&names->name, line->function);
	string_append_char(&names->name, '\0');
	found.function = names->name.failed ? "" : names->name.bytes;
	record->flags |= MS_FRAME_INLINED;
	frame_found_put(&found, record, room);
}

void frame_names_tell_lack(const struct frame_names *names, const char *directory)
{
	struct string files = { 0 };
	size_t i, count = 0;

	for (i = 0; i < names->count; i++) {
		const struct module *module = &names->modules[i];

		/* Of another build of a file by that name, a warning has told already. */
		if (module->fd >= 0 || module->fd == -ESTALE)
			break;
		if (module->is_lacking && count++ < MAX_NAMED)
			string_append_format(&files, "%s%s (%s)", count > 1 ? ", " : "",
					     module->path, module->build_id);
	}
	if (count > MAX_NAMED)
		string_append_format(&files, " and %zu more", count - MAX_NAMED);
	if (i == names->count && count && !files.failed && symbol_files_any(names->files))
		log_warning("--symbols %s: no file in it has the build ID of %.*s: %zu file%s"
			    " without symbols; `readelf -n FILE` shows a file's build ID",
			    directory, (int)files.length, files.bytes, count,
			    count == 1 ? "" : "s");
	string_fini(&files);
}
