// SPDX-License-Identifier: BSD-2-Clause
/*
 * The ELF reader: the input is the file.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_dynamic.h"
#include "elf/elf_stub.h"
#include "elf/elf_symbols.h"
#include "elf/elf_usdt.h"

struct visit {
	int fd;
	size_t size, count;
};

/* What is visited is found again by its index. */
static void find_again(int fd, const struct elf_function *function)
{
	char name[ELF_NAME_BYTES];
	struct elf_function again;

	fuzz_check(!elf_function_at(fd, function->is_exported, function->index, name, &again));
	fuzz_check(!strcmp(name, function->name) && again.file_offset == function->file_offset);
}

static int visit_function(const struct elf_function *function, void *context)
{
	struct visit *visit = context;

	/* Reads all of the name: AddressSanitizer objects if it is not there. */
	fuzz_check(strlen(function->name) < 4096);
	fuzz_check(function->file_offset > 0 && function->file_offset < visit->size);
	if (visit->count++ < 8)
		find_again(visit->fd, function);
	return 0;
}

static void read_symbols(int fd, size_t size)
{
	struct visit visit = { .fd = fd, .size = size };
	struct elf_contents contents;
	int result = elf_each_function(fd, visit_function, &visit, &contents);

	fuzz_check(result == 0 || result == -ENOEXEC || result == -EBADMSG || result == -EFBIG);
	fuzz_check(result != -ENOEXEC || (!visit.count && !contents.has_symbols));
	fuzz_check(visit.count <= 2 * size / 24); /* every symbol at most once in each table */
}

static void read_dynamic(int fd)
{
	struct elf_dynamic dynamic;
	int result = elf_dynamic_read(fd, &dynamic);
	size_t i;

	fuzz_check(result == 0 || result == -ENOEXEC || result == -EBADMSG || result == -EFBIG);
	for (i = 0; i < dynamic.needed_count; i++)
		fuzz_check(strlen(dynamic.needed[i]) < 4096);
	elf_dynamic_fini(&dynamic);
}

static int visit_probe(const struct elf_usdt *probe, void *context)
{
	const size_t size = *(const size_t *)context;

	fuzz_check(strlen(probe->provider) < size && strlen(probe->name) < size);
	fuzz_check(probe->file_offset > 0 && probe->file_offset < size);
	fuzz_check(probe->counter_offset < size);
	return 0;
}

static void read_probes(int fd, size_t size)
{
	int result = elf_each_usdt(fd, visit_probe, &size);

	fuzz_check(elf_stub_find(fd, "malloc") <= size);
	fuzz_check(result == 0 || result == -ENOEXEC || result == -EBADMSG || result == -EFBIG);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int fd = -1;

	/* One file for all inputs: making one takes longer than reading it. */
	if (fd < 0)
		fd = memfd_create("elf_fuzz", MFD_CLOEXEC);
	fuzz_check(fd >= 0 && !ftruncate(fd, size));
	fuzz_check(pwrite(fd, bytes, size, 0) == (ssize_t)size);
	read_symbols(fd, size);
	read_dynamic(fd);
	read_probes(fd, size);
	return 0;
}
