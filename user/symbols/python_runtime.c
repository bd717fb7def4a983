// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/python_runtime.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "host/proc.h"
#include "symbols/python_lines.h"
#include "symbols/python_offsets.h"

#define MAX_FILES 1024 /* that are remembered; a machine has some dozens */
#define MAX_TRIED 8    /* of one process */
#define MAX_SEGMENTS 64
#define MAX_SECTIONS 256
#define PAGE_MASK 4095ull

/* What of a file does not depend on the process. */
struct python_file {
	uint64_t dev, inode;
	uint64_t size_bytes;
	int64_t changed_ns;
	uint64_t runtime; /* where _PyRuntime is linked to; 0: it has none */
	uint64_t version; /* where Py_Version is; 0: it has none */
	bool is_debug;    /* built with Py_DEBUG: its structures are larger */
};

/* A mapped file that may be the one, by its mapping of code. */
struct candidate {
	struct proc_mapping mapping;
	unsigned int minor; /* as its name says; 0: it does not */
	bool is_program;    /* what the process executes */
};

struct search {
	pid_t pid;
	uint64_t program_dev, program_inode;
	struct candidate candidates[MAX_TRIED];
	size_t count;
};

void python_files_fini(struct python_files *files)
{
	free(files->files);
	*files = (struct python_files){ 0 };
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool python_runtime_is_candidate(const char *path)
{
	const char *base = base_of(path);

	/* Extension modules have a tag that says which version they are for. */
	return strstr(base, "python") && !strstr(base, ".cpython-");
}

/* "libpython3.11.so.1.0", "python3.9": 11, 9. */
static unsigned int minor_of(const char *path)
{
	const char *name = strstr(base_of(path), "python3.");
	unsigned int minor = 0;

	if (!name)
		return 0;
	for (name += strlen("python3."); isdigit((unsigned char)*name) && minor < 100; name++)
		minor = minor * 10 + (*name - '0');
	return minor;
}

static int note_candidate(const struct proc_mapping *mapping, void *context)
{
	struct search *search = context;
	struct candidate *candidate = &search->candidates[search->count];
	const bool is_program =
		mapping->dev == search->program_dev && mapping->inode == search->program_inode;

	if (!mapping->executable || !mapping->inode ||
	    (!is_program && !python_runtime_is_candidate(mapping->path)))
		return 0;
	*candidate = (struct candidate){ .mapping = *mapping,
					 .minor = minor_of(mapping->path),
					 .is_program = is_program };
	candidate->mapping.path = NULL; /* it dies with the call */
	return ++search->count == MAX_TRIED;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int note_variable(const struct elf_function *variable, void *context)
{
	struct python_file *file = context;

	if (!strcmp(variable->name, "_PyRuntime"))
		file->runtime = variable->address;
	else if (!strcmp(variable->name, "Py_Version"))
		file->version = variable->address;
	else if (!strcmp(variable->name, "_Py_RefTotal"))
		file->is_debug = true;
	return 0;
}

/* Where the section .PyRuntime is linked to, which files without symbols have, too; 0: none. */
static uint64_t runtime_section(int fd)
{
	static const char name[] = ".PyRuntime";
	const Elf64_Shdr *section;
	struct elf_items *sections = malloc(sizeof(*sections));
	char found[sizeof(name)];
	struct elf_file file;
	Elf64_Shdr strings;
	uint64_t address = 0;

	if (!sections || elf_file_init(&file, fd) || file.sections_count > MAX_SECTIONS ||
	    elf_file_strings(&file, file.header.e_shstrndx, &strings))
		goto out;
	elf_items_init(sections, &file, file.header.e_shoff, file.sections_count, sizeof(*section));
	while (!address && (section = elf_items_next(sections)))
		if (section->sh_name < strings.sh_size &&
		    !elf_file_read(&file, strings.sh_offset + section->sh_name, found,
				   sizeof(found)) &&
		    !memcmp(found, name, sizeof(name)))
			address = section->sh_addr;
out:
	free(sections);
	return address;
}

static struct python_file *find_file(const struct python_files *files, const struct stat *status)
{
	size_t i;

	for (i = 0; i < files->count; i++) {
		struct python_file *file = &files->files[i];

		if (file->dev == status->st_dev && file->inode == status->st_ino &&
		    file->size_bytes == (uint64_t)status->st_size &&
		    file->changed_ns ==
			    status->st_ctim.tv_sec * 1000000000 + status->st_ctim.tv_nsec)
			return file;
	}
	return NULL;
}

/* Valid until the next call; NULL: no memory. */
static const struct python_file *look_at_file(struct python_files *files, int fd)
{
	struct python_file *file;
	struct stat status;

	if (fstat(fd, &status))
		return NULL;
	file = find_file(files, &status);
	if (file)
		return file;
	if (files->count == MAX_FILES)
		files->count = 0;
	if (memory_grow(&files->files, &files->capacity, files->count + 1, sizeof(*file)))
		return NULL;
	file = &files->files[files->count++];
	*file = (struct python_file){
		.dev = status.st_dev,
		.inode = status.st_ino,
		.size_bytes = status.st_size,
		.changed_ns = status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec,
	};
	elf_each_variable(fd, note_variable, file);
	if (!file->runtime)
		file->runtime = runtime_section(fd);
	return file;
}

/* How far behind where it is linked to a file is mapped, by one of its mappings. */
static int find_bias(int fd, const struct proc_mapping *mapping, uint64_t *bias)
{
	const Elf64_Phdr *segment;
	struct elf_items *segments = malloc(sizeof(*segments));
	struct elf_file file;
	int err = segments ? elf_file_init(&file, fd) : -ENOMEM;

	if (err || file.header.e_phentsize != sizeof(*segment) ||
	    file.header.e_phnum > MAX_SEGMENTS)
		goto out;
	elf_items_init(segments, &file, file.header.e_phoff, file.header.e_phnum, sizeof(*segment));
	while ((segment = elf_items_next(segments))) {
		const uint64_t begin = segment->p_offset & ~PAGE_MASK;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    mapping->offset < begin || mapping->offset - begin >= segment->p_filesz)
			continue;
		*bias = mapping->start - mapping->offset + segment->p_offset - segment->p_vaddr;
		free(segments);
		return 0;
	}
out:
	free(segments);
	return err ? err : -EBADMSG;
}

/* ---- the process ----------------------------------------------------------------------------- */

static int read_memory(pid_t pid, uint64_t addr, void *bytes, size_t length)
{
	const struct proc_place place = { addr, length };

	return proc_read_places(pid, &place, 1, bytes);
}

/* What the file says where it is loaded; `minor`: what its name says. */
static int read_runtime(pid_t pid, const struct python_file *file, uint64_t bias,
			unsigned int minor, struct ms_python *python)
{
	unsigned char debug[PYTHON_DEBUG_BYTES];
	__u32 version = minor ? PYTHON_VERSION(minor) : 0;
	int err = read_memory(pid, file->runtime + bias, debug, sizeof(debug));

	if (err)
		return err;
	if (file->version)
		err = read_memory(pid, file->version + bias, &version, sizeof(version));
	if (err)
		return err;
	*python = (struct ms_python){ 0 };
	if (file->is_debug)
		err = -EOPNOTSUPP;
	else if (version >= PYTHON_VERSION(13))
		err = python_offsets_of_runtime(python, debug, sizeof(debug));
	else
		err = python_offsets_of_version(python, version);
	python->version = version;
	python->runtime = file->runtime + bias;
	return err == -EBADMSG ? -EOPNOTSUPP : err;
}

/* Returns 0; -ENOENT if it is not the file; or as python_runtime_find(). */
static int try_candidate(struct python_files *files, pid_t pid, const struct candidate *candidate,
			 struct ms_python *python)
{
	const struct python_file *file;
	int fd = proc_open_mapping(pid, candidate->mapping.start, candidate->mapping.end);
	uint64_t bias;
	int err;

	if (fd < 0)
		return fd;
	file = look_at_file(files, fd);
	err = !file ? -ENOMEM : !file->runtime ? -ENOENT : 0;
	if (!err)
		err = find_bias(fd, &candidate->mapping, &bias);
	if (!err)
		err = read_runtime(pid, file, bias, candidate->minor, python);
	close(fd);
	return err;
}

int python_runtime_find(struct python_files *files, pid_t pid, struct ms_python *python)
{
	struct search search = { .pid = pid };
	struct stat program;
	char path[32];
	int err, result = -ENOENT;
	size_t i;

	*python = (struct ms_python){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (!stat(path, &program)) {
		search.program_dev = program.st_dev;
		search.program_inode = program.st_ino;
	}
	err = proc_each_mapping(pid, note_candidate, &search);
	if (err < 0)
		return err;
	for (i = 0; result && i < search.count; i++) {
		err = try_candidate(files, pid, &search.candidates[i], python);
		/* The answer for a file that is an interpreter counts for more. */
		if (!err || result == -ENOENT)
			result = err;
		if (err == -EOPNOTSUPP)
			break;
	}
	return result;
}
