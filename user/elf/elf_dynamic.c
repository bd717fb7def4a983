// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf_dynamic.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "elf/elf_file.h"

#define MAX_NEEDED 512
#define MAX_ENTRIES 4096

static int replace(char **place, const char *text)
{
	free(*place);
	*place = strdup(text);
	return *place ? 0 : -ENOMEM;
}

static int add_needed(struct elf_dynamic *dynamic, const char *name)
{
	int err;

	if (dynamic->needed_count == MAX_NEEDED)
		return -EBADMSG;
	err = memory_grow(&dynamic->needed, &dynamic->needed_capacity, dynamic->needed_count + 1,
			  sizeof(*dynamic->needed));
	if (err)
		return err;
	dynamic->needed[dynamic->needed_count] = strdup(name);
	return dynamic->needed[dynamic->needed_count] ? dynamic->needed_count++, 0 : -ENOMEM;
}

/* No path is longer than PATH_MAX; a list of them may be, and is then damaged as far as we care. */
static int read_string(const struct elf_file *file, const Elf64_Shdr *strings, uint64_t place,
		       char text[PATH_MAX])
{
	uint64_t left = place < strings->sh_size ? strings->sh_size - place : 0;

	if (left > PATH_MAX)
		left = PATH_MAX;
	if (!left || elf_file_read(file, strings->sh_offset + place, text, left) ||
	    !memchr(text, '\0', left))
		return -EBADMSG;
	return 0;
}

static int take_entry(struct elf_dynamic *dynamic, const struct elf_file *file,
		      const Elf64_Dyn *entry, const Elf64_Shdr *strings)
{
	char text[PATH_MAX];

	if (entry->d_tag != DT_NEEDED && entry->d_tag != DT_RPATH && entry->d_tag != DT_RUNPATH)
		return 0;
	if (read_string(file, strings, entry->d_un.d_val, text))
		return -EBADMSG;
	if (entry->d_tag == DT_NEEDED)
		return add_needed(dynamic, text);
	return replace(entry->d_tag == DT_RPATH ? &dynamic->rpath : &dynamic->runpath, text);
}

static int read_entries(struct elf_dynamic *dynamic, const struct elf_file *file)
{
	Elf64_Shdr section, strings;
	const Elf64_Dyn *entry;
	struct elf_items entries;
	uint64_t count;
	int err = elf_file_section(file, SHT_DYNAMIC, &section);

	if (err <= 0 || !section.sh_size)
		return err < 0 ? err : 0; /* none: a static program */
	err = elf_file_strings(file, section.sh_link, &strings);
	if (err)
		return err;
	count = section.sh_size / sizeof(*entry);
	if (count > MAX_ENTRIES)
		return -EBADMSG;
	elf_items_init(&entries, file, section.sh_offset, count, sizeof(*entry));
	while (!err && (entry = elf_items_next(&entries)) && entry->d_tag != DT_NULL)
		err = take_entry(dynamic, file, entry, &strings);
	return err ? err : entries.err;
}

int elf_dynamic_read(int fd, struct elf_dynamic *dynamic)
{
	struct elf_file file;
	int err = elf_file_init(&file, fd);

	*dynamic = (struct elf_dynamic){ 0 };
	return err ? err : read_entries(dynamic, &file);
}

void elf_dynamic_fini(struct elf_dynamic *dynamic)
{
	while (dynamic->needed_count)
		free(dynamic->needed[--dynamic->needed_count]);
	free(dynamic->needed);
	free(dynamic->rpath);
	free(dynamic->runpath);
	*dynamic = (struct elf_dynamic){ 0 };
}
