// SPDX-License-Identifier: BSD-2-Clause
#include "elf_image.h"

#include <errno.h>
#include <fcntl.h>

#include "elf/elf_dynamic.h"

static int read_image(const struct elf_image *image, struct elf_dynamic *dynamic)
{
	int fd = elf_image_file(), err;

	elf_image_write(image, fd, image->size);
	err = elf_dynamic_read(fd, dynamic);
	close(fd);
	return err;
}

static Elf64_Dyn *entries_of(struct elf_image *image)
{
	return (Elf64_Dyn *)(image->bytes + image->sections[ELF_IMAGE_DYNAMIC].sh_offset);
}

static void test_what_it_asks_for(void **state)
{
	struct elf_dynamic dynamic;
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	assert_int_equal(read_image(&image, &dynamic), 0);
	assert_int_equal(dynamic.needed_count, 2);
	assert_string_equal(dynamic.needed[0], "libcuda.so.1");
	assert_string_equal(dynamic.needed[1], "libc.so.6");
	assert_string_equal(dynamic.rpath, "/opt/rpath");
	assert_string_equal(dynamic.runpath, "$ORIGIN/../lib");
	elf_dynamic_fini(&dynamic);
	elf_dynamic_fini(&dynamic);
}

static void test_a_static_program_asks_for_nothing(void **state)
{
	struct elf_dynamic dynamic;
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNAMIC].sh_type = SHT_PROGBITS;
	assert_int_equal(read_image(&image, &dynamic), 0);
	assert_int_equal(dynamic.needed_count, 0);
	assert_null(dynamic.rpath);
	assert_null(dynamic.runpath);
	elf_dynamic_fini(&dynamic);
}

static void test_a_repeated_path_is_the_last_one(void **state)
{
	struct elf_dynamic dynamic;
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	entries_of(&image)[2].d_tag = DT_RUNPATH;
	assert_int_equal(read_image(&image, &dynamic), 0);
	assert_null(dynamic.rpath);
	assert_string_equal(dynamic.runpath, "$ORIGIN/../lib");
	elf_dynamic_fini(&dynamic);
}

static void test_this_program(void **state)
{
	struct elf_dynamic dynamic;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t i, found = 0;

	(void)state;
	assert_int_equal(elf_dynamic_read(fd, &dynamic), 0);
	for (i = 0; i < dynamic.needed_count; i++)
		found += !strcmp(dynamic.needed[i], "libc.so.6");
	assert_int_equal(found, 1);
	elf_dynamic_fini(&dynamic);
	close(fd);
}

static void test_what_is_not_64_bit_elf_is_refused(void **state)
{
	struct elf_dynamic dynamic;
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	image.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_image(&image, &dynamic), -ENOEXEC);
	elf_dynamic_fini(&dynamic);
	image.header.e_ident[EI_MAG0] = 0;
	assert_int_equal(read_image(&image, &dynamic), -ENOEXEC);
	elf_dynamic_fini(&dynamic);
	assert_int_equal(elf_dynamic_read(-1, &dynamic), -ENOEXEC);
	elf_dynamic_fini(&dynamic);
}

static void test_a_name_outside_of_the_strings_is_damage(void **state)
{
	struct elf_dynamic dynamic;
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	entries_of(&image)[1].d_un.d_val = 1 << 20;
	assert_int_equal(read_image(&image, &dynamic), -EBADMSG);
	elf_dynamic_fini(&dynamic);
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNAMIC].sh_link = ELF_IMAGE_DYNSYM;
	assert_int_equal(read_image(&image, &dynamic), -EBADMSG);
	elf_dynamic_fini(&dynamic);
}

static void test_too_many_libraries_are_damage(void **state)
{
	Elf64_Dyn entry = { .d_tag = DT_NEEDED, .d_un.d_val = 1 };
	struct elf_image image;
	struct elf_dynamic dynamic;
	int fd = elf_image_file(), i;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNAMIC].sh_offset = ELF_IMAGE_MAX;
	image.sections[ELF_IMAGE_DYNAMIC].sh_size = 10000 * sizeof(entry);
	elf_image_write(&image, fd, ELF_IMAGE_MAX);
	for (i = 0; i < 10000; i++)
		assert_int_equal(pwrite(fd, &entry, sizeof(entry),
					ELF_IMAGE_MAX + i * sizeof(entry)),
				 sizeof(entry));
	assert_int_equal(elf_dynamic_read(fd, &dynamic), -EBADMSG);
	assert_true(dynamic.needed_count < 1000);
	elf_dynamic_fini(&dynamic);
	close(fd);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void read_damaged(int fd)
{
	struct elf_dynamic dynamic;
	int err = elf_dynamic_read(fd, &dynamic);
	size_t i;

	assert_true(err == 0 || err == -ENOEXEC || err == -EBADMSG);
	for (i = 0; i < dynamic.needed_count; i++)
		assert_true(strlen(dynamic.needed[i]) < ELF_IMAGE_MAX);
	elf_dynamic_fini(&dynamic);
}

static void test_no_truncated_file_does_harm(void **state)
{
	(void)state;
	elf_image_each_truncation(read_damaged);
}

static void test_no_damaged_byte_does_harm(void **state)
{
	(void)state;
	elf_image_each_damage(read_damaged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_asks_for),
		cmocka_unit_test(test_a_static_program_asks_for_nothing),
		cmocka_unit_test(test_a_repeated_path_is_the_last_one),
		cmocka_unit_test(test_this_program),
		cmocka_unit_test(test_what_is_not_64_bit_elf_is_refused),
		cmocka_unit_test(test_a_name_outside_of_the_strings_is_damage),
		cmocka_unit_test(test_too_many_libraries_are_damage),
		cmocka_unit_test(test_no_truncated_file_does_harm),
		cmocka_unit_test(test_no_damaged_byte_does_harm),
	};

	alarm(120); /* a hang is a failure, not a wait */
	return unit_run("elf_dynamic", tests);
}
