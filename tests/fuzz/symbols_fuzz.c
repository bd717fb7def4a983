// SPDX-License-Identifier: BSD-2-Clause
/*
 * What gives native frames their names: the input is a file that was traced, or one with symbols
 * that were split off it.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_image.h"
#include "symbols/embedded_symbols.h"
#include "symbols/function_table.h"

#define MOST_LOOKED_UP 64

static void check_error(int err)
{
	fuzz_check(!err || err == -ENOEXEC || err == -EBADMSG || err == -EFBIG || err == -ENOMEM);
}

static void read_functions(int fd, size_t size, bool by_address)
{
	char name[FUNCTION_NAME_BYTES];
	struct function_table table;
	size_t i;

	check_error(function_table_make(&table, fd, by_address));
	for (i = 0; i < table.count; i++) {
		const struct function_entry *entry = &table.entries[i];

		fuzz_check(!i || entry[-1].begin < entry->begin);
		fuzz_check(by_address || entry->begin < size);
		fuzz_check(entry->name < size);
		if (i >= MOST_LOOKED_UP)
			continue;
		fuzz_check(function_table_find(&table, entry->begin) == entry);
		if (function_table_name(entry, fd, name))
			fuzz_check(strlen(name) < sizeof(name));
	}
	function_table_fini(&table);
}

static void read_image(int fd)
{
	struct elf_image image;
	uint64_t address, mapped;
	size_t i;

	if (elf_image_read(&image, fd))
		return;
	fuzz_check(image.segments_count <= ELF_IMAGE_SEGMENTS);
	fuzz_check(strlen(image.build_id) < sizeof(image.build_id));
	for (i = 0; i < image.segments_count; i++) {
		const uint64_t offset = image.segments[i].offset;

		fuzz_check(elf_image_mapping(&image, offset - offset % 4096, &mapped));
		fuzz_check(!image.segments[i].bytes || elf_image_address(&image, offset, &address));
	}
}

static void read_embedded(int fd)
{
	size_t length = 0;
	void *bytes = NULL;
	const int err = embedded_symbols_read(fd, &bytes, &length);

	fuzz_check(err || (bytes && length && length <= EMBEDDED_SYMBOLS_MOST));
	if (err != -ENODATA && err != -ENOENT)
		check_error(err);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		embedded_symbols_load();
	}
	fuzz_check(fd >= 0 && !ftruncate(fd, (off_t)size) &&
		   pwrite(fd, bytes, size, 0) == (ssize_t)size);
	read_functions(fd, size, false);
	read_functions(fd, size, true);
	read_image(fd);
	read_embedded(fd);
	return 0;
}
