// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf_dynamic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "symbols/elf_file.h"

#define MAX_NEEDED 512

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

static int take_entry(struct elf_dynamic *dynamic, Elf *elf, const GElf_Dyn *entry, size_t strings)
{
	const char *text;

	if (entry->d_tag != DT_NEEDED && entry->d_tag != DT_RPATH && entry->d_tag != DT_RUNPATH)
		return 0;
	text = elf_strptr(elf, strings, entry->d_un.d_val);
	if (!text)
		return -EBADMSG;
	if (entry->d_tag == DT_NEEDED)
		return add_needed(dynamic, text);
	return replace(entry->d_tag == DT_RPATH ? &dynamic->rpath : &dynamic->runpath, text);
}

static int read_entries(struct elf_dynamic *dynamic, Elf *elf)
{
	GElf_Shdr header;
	Elf_Data *data;
	int err = elf_file_section(elf, SHT_DYNAMIC, &header, &data);
	size_t count, i;

	if (err <= 0)
		return err; /* none: a static program */
	count = data->d_size / sizeof(Elf64_Dyn);
	for (i = 0, err = 0; !err && i < count; i++) {
		GElf_Dyn entry;

		if (!gelf_getdyn(data, i, &entry) || entry.d_tag == DT_NULL)
			break;
		err = take_entry(dynamic, elf, &entry, header.sh_link);
	}
	return err;
}

int elf_dynamic_read(int fd, struct elf_dynamic *dynamic)
{
	Elf *elf;
	int err;

	*dynamic = (struct elf_dynamic){ 0 };
	err = elf_file_begin(fd, &elf);
	if (err)
		return err;
	err = read_entries(dynamic, elf);
	elf_end(elf);
	return err;
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
