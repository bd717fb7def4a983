// SPDX-License-Identifier: BSD-2-Clause
/*
 * The code of an ELF file, and the mark of the Go toolchain, in small files made by hand.
 */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_image.h"
#include "elf/elf_code.h"

#define CODE_OFFSET 0x1000

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[3];
	char names[64];
};

static void image_init(struct image *image, const char *section)
{
	*image = (struct image){
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB },
			    .e_machine = ELF_IMAGE_MACHINE,
			    .e_phoff = offsetof(struct image, segments),
			    .e_phnum = 2,
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_shoff = offsetof(struct image, sections),
			    .e_shnum = 3,
			    .e_shentsize = sizeof(Elf64_Shdr),
			    .e_shstrndx = 2 },
		.segments = { { .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 64 },
			      { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = CODE_OFFSET,
				.p_filesz = 100 } },
		.sections = { [1] = { .sh_name = 1 },
			      [2] = { .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct image, names),
				      .sh_size = sizeof(image->names) } },
	};
	strcpy(image->names + 1, section);
}

static int image_file(const struct image *image, size_t code_bytes)
{
	int fd = memfd_create("elf_code", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, image, sizeof(*image), 0), sizeof(*image));
	assert_int_equal(ftruncate(fd, CODE_OFFSET + code_bytes), 0);
	return fd;
}

struct seen {
	size_t pieces;
	uint64_t first, end; /* in the file */
	bool gap;
};

static void see(uint64_t file_offset, const uint8_t *code, size_t length, void *context)
{
	struct seen *seen = context;

	if (!seen->pieces++)
		seen->first = file_offset;
	else
		seen->gap |= file_offset != seen->end - ELF_CODE_OVERLAP;
	seen->end = file_offset + length;
	assert_non_null(memchr(code, 0, length));
}

static int see_all(const struct image *image, size_t code_bytes, struct seen *seen)
{
	int fd = image_file(image, code_bytes), result;

	*seen = (struct seen){ 0 };
	result = elf_code_each(fd, see, seen);
	close(fd);
	return result;
}

static void test_code_is_what_is_executable(void **state)
{
	struct image image;
	struct seen seen;

	(void)state;
	image_init(&image, ".text");
	assert_int_equal(see_all(&image, 100, &seen), 0);
	assert_int_equal(seen.pieces, 1);
	assert_int_equal(seen.first, CODE_OFFSET);
	assert_int_equal(seen.end, CODE_OFFSET + 100);
	image.segments[1].p_flags = PF_R;
	assert_int_equal(see_all(&image, 100, &seen), 0);
	assert_int_equal(seen.pieces, 0);
}

static void test_pieces_overlap(void **state)
{
	const size_t bytes = 1000003;
	struct image image;
	struct seen seen;

	(void)state;
	image_init(&image, ".text");
	image.segments[1].p_filesz = bytes;
	assert_int_equal(see_all(&image, bytes, &seen), 0);
	assert_true(seen.pieces > 2);
	assert_false(seen.gap);
	assert_int_equal(seen.end, CODE_OFFSET + bytes);
}

static void test_damaged_files_are_refused(void **state)
{
	struct image image;
	struct seen seen;

	(void)state;
	image_init(&image, ".text");
	assert_int_equal(see_all(&image, 99, &seen), -EBADMSG);
	image.segments[1].p_filesz = ELF_CODE_MAX_BYTES + 1;
	assert_int_equal(see_all(&image, 100, &seen), -EFBIG);
	image.segments[1].p_filesz = 100;
	image.segments[1].p_offset = UINT64_MAX - 50;
	assert_int_equal(see_all(&image, 100, &seen), -EBADMSG);
	image_init(&image, ".text");
	image.header.e_phoff = UINT64_MAX - 50;
	assert_int_equal(see_all(&image, 100, &seen), -EBADMSG);
	image_init(&image, ".text");
	image.header.e_phentsize = 1;
	assert_int_equal(see_all(&image, 100, &seen), -EBADMSG);
	image_init(&image, ".text");
	image.header.e_machine = ELF_IMAGE_OTHER_MACHINE;
	assert_int_equal(see_all(&image, 100, &seen), -ENOEXEC);
}

static bool is_go(const struct image *image)
{
	int fd = image_file(image, 0);
	bool result = elf_code_is_go(fd);

	close(fd);
	return result;
}

static void test_the_go_toolchain_leaves_its_mark(void **state)
{
	struct image image;

	(void)state;
	image_init(&image, ".go.buildinfo");
	assert_true(is_go(&image));
	image_init(&image, ".gopclntab");
	assert_true(is_go(&image));
	image_init(&image, ".gopclntabs");
	assert_false(is_go(&image));
	image_init(&image, ".text");
	assert_false(is_go(&image));
}

static void test_section_headers_that_lead_nowhere(void **state)
{
	struct image image;

	(void)state;
	image_init(&image, ".go.buildinfo");
	image.header.e_shstrndx = 0xffff;
	assert_false(is_go(&image));
	image_init(&image, ".go.buildinfo");
	image.sections[1].sh_name = UINT32_MAX;
	assert_false(is_go(&image));
	image_init(&image, ".go.buildinfo");
	image.sections[2].sh_offset = UINT64_MAX;
	assert_false(is_go(&image));
	image_init(&image, ".go.buildinfo");
	image.header.e_shoff = UINT64_MAX - 100;
	assert_false(is_go(&image));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_is_what_is_executable),
		cmocka_unit_test(test_pieces_overlap),
		cmocka_unit_test(test_damaged_files_are_refused),
		cmocka_unit_test(test_the_go_toolchain_leaves_its_mark),
		cmocka_unit_test(test_section_headers_that_lead_nowhere),
	};

	return unit_run("elf_code", tests);
}
