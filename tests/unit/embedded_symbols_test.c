// SPDX-License-Identifier: BSD-2-Clause
/* Files without packed symbols, and with such as cannot be unpacked. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf_image.h"
#include "symbols/embedded_symbols.h"

static void test_what_has_none(void **state)
{
	const int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t length;
	void *bytes;

	(void)state;
	assert_int_equal(embedded_symbols_read(own, &bytes, &length), -ENODATA);
	assert_int_equal(embedded_symbols_read(-1, &bytes, &length), -ENOEXEC);
	close(own);
}

/* The section is there, with so many bytes at that place. */
static int read_section(uint64_t offset, uint64_t size)
{
	static const char names[] = "\0.gnu_debugdata";
	struct elf_image image;
	const int fd = elf_image_file();
	void *bytes = NULL;
	size_t length;
	int err;

	elf_image_init(&image);
	image.sections[ELF_IMAGE_SHSTRTAB].sh_offset =
		elf_image_append(&image, names, sizeof(names));
	image.sections[ELF_IMAGE_SHSTRTAB].sh_size = sizeof(names);
	image.sections[ELF_IMAGE_DYNAMIC].sh_type = SHT_PROGBITS;
	image.sections[ELF_IMAGE_DYNAMIC].sh_name = 1;
	image.sections[ELF_IMAGE_DYNAMIC].sh_offset = offset;
	image.sections[ELF_IMAGE_DYNAMIC].sh_size = size;
	elf_image_write(&image, fd, image.size);
	err = embedded_symbols_read(fd, &bytes, &length);
	free(bytes);
	close(fd);
	return err;
}

static void test_what_cannot_be_unpacked(void **state)
{
	(void)state;
	if (embedded_symbols_load()) {
		assert_int_equal(read_section(0, 100), -ENOENT);
		return;
	}
	assert_int_equal(read_section(0, 100), -EBADMSG);
	assert_int_equal(read_section(0, 0), -EBADMSG);
	assert_int_equal(read_section(1 << 20, 100), -EBADMSG);
	assert_int_equal(read_section(UINT64_MAX, 100), -EBADMSG);
	assert_int_equal(read_section(0, UINT64_MAX), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_has_none),
		cmocka_unit_test(test_what_cannot_be_unpacked),
	};

	return unit_run("embedded_symbols", tests);
}
