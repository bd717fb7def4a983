// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reader of an ELF file's code and of who made it: the input is the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pieces {
	uint64_t bytes, file_bytes;
	volatile uint8_t last;
};

static void visit(uint64_t file_offset, const uint8_t *code, size_t length, void *context)
{
	struct pieces *pieces = context;

	if (!length || file_offset + length > pieces->file_bytes)
		abort();
	pieces->bytes += length;
	pieces->last = code[0] ^ code[length - 1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pieces pieces = { .file_bytes = size };
	static int fd = -1;
	int result;

	if (fd < 0)
		fd = memfd_create("elf_code_fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, size) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	result = elf_code_each(fd, visit, &pieces);
	if (result != 0 && result != -ENOEXEC && result != -EFBIG && result != -EBADMSG)
		abort();
	/* The overlaps are small: not much more than there may be is ever read. */
	if (pieces.bytes > ELF_CODE_MAX_BYTES + (ELF_CODE_MAX_BYTES >> 10))
		abort();
	elf_code_is_go(fd);
	return 0;
}
