// SPDX-License-Identifier: BSD-2-Clause
#include "elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "elf/elf_symbols.h"

#define VISITS_MAX 64

struct visits {
	size_t count, stop_after;
	struct {
		char name[32];
		uint64_t file_offset, size_bytes;
	} functions[VISITS_MAX];
};

/* Reads all of the name: a sanitizer or the MMU objects if it is not there. */
static int remember(const struct elf_function *function, void *context)
{
	struct visits *visits = context;
	size_t length = strlen(function->name);

	if (visits->count < VISITS_MAX) {
		size_t copied = length < 31 ? length : 31;

		memcpy(visits->functions[visits->count].name, function->name, copied);
		visits->functions[visits->count].name[copied] = '\0';
		visits->functions[visits->count].file_offset = function->file_offset;
		visits->functions[visits->count].size_bytes = function->size_bytes;
	}
	assert_int_not_equal(function->file_offset, 0);
	visits->count++;
	return visits->count == visits->stop_after ? 123 : 0;
}

static int visit_image(const struct elf_image *image, struct visits *visits,
		       struct elf_contents *contents)
{
	int fd = elf_image_file(), result;

	*visits = (struct visits){ .stop_after = visits->stop_after };
	elf_image_write(image, fd, image->size);
	result = elf_each_function(fd, remember, visits, contents);
	close(fd);
	return result;
}

static void assert_visit(const struct visits *visits, size_t place, const char *name,
			 uint64_t file_offset, uint64_t size_bytes)
{
	assert_true(place < visits->count);
	assert_string_equal(visits->functions[place].name, name);
	assert_int_equal(visits->functions[place].file_offset, file_offset);
	assert_int_equal(visits->functions[place].size_bytes, size_bytes);
}

/* ---- good files ------------------------------------------------------------------------------ */

/* Neither imports, nor objects, nor what is not in the file: five of eleven. */
static void test_defined_functions_are_visited(void **state)
{
	struct visits visits = { 0 };
	struct elf_contents contents = { 0 };
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	assert_int_equal(visit_image(&image, &visits, &contents), 0);
	assert_int_equal(visits.count, 5);
	assert_visit(&visits, 0, "cuMemAlloc_v2", 0x100, 32);
	assert_visit(&visits, 1, "second", 0x210, 0);
	assert_visit(&visits, 2, "begin", 0x200, 0);
	assert_visit(&visits, 3, "local", 0x140, 5);
	assert_visit(&visits, 4, "cuMemAlloc_v2", 0x100, 32);
	assert_true(contents.has_symbols);
	assert_int_equal(visit_image(&image, &visits, NULL), 0);
	assert_int_equal(visits.count, 5);
}

static void test_one_function_by_its_index(void **state)
{
	char name[ELF_NAME_BYTES];
	struct elf_function function;
	struct elf_image image;
	int fd = elf_image_file();

	(void)state;
	elf_image_init(&image);
	elf_image_write(&image, fd, image.size);
	assert_int_equal(elf_function_at(fd, true, 6, name, &function), 0);
	assert_string_equal(name, "second");
	assert_ptr_equal(function.name, name);
	assert_int_equal(function.index, 6);
	assert_int_equal(function.address, ELF_IMAGE_SECOND + 0x10);
	assert_int_equal(function.file_offset, 0x210);
	assert_true(function.is_exported);
	assert_int_equal(elf_function_at(fd, false, 1, name, &function), 0);
	assert_string_equal(name, "local");
	assert_int_equal(function.size_bytes, 5);
	assert_false(function.is_exported);
	/* An import, a variable, one that is not in the file, and behind the last one. */
	assert_int_equal(elf_function_at(fd, true, 1, name, &function), -ENOENT);
	assert_int_equal(elf_function_at(fd, true, 4, name, &function), -ENOENT);
	assert_int_equal(elf_function_at(fd, true, 5, name, &function), -ENOENT);
	assert_int_equal(elf_function_at(fd, true, 9, name, &function), -ENOENT);
	assert_int_equal(elf_function_at(fd, true, UINT64_MAX, name, &function), -ENOENT);
	image.sections[ELF_IMAGE_DYNSYM].sh_size = 6 * sizeof(Elf64_Sym);
	elf_image_write(&image, fd, image.size);
	assert_int_equal(elf_function_at(fd, true, 6, name, &function), -ENOENT);
	close(fd);
}

/* What is visited is found again by its index. */
static int find_again(const struct elf_function *function, void *context)
{
	const int *fd = context;
	char name[ELF_NAME_BYTES];
	struct elf_function again;

	assert_int_equal(elf_function_at(*fd, function->is_exported, function->index, name, &again),
			 0);
	assert_string_equal(name, function->name);
	assert_int_equal(again.address, function->address);
	assert_int_equal(again.file_offset, function->file_offset);
	assert_int_equal(again.name_offset, function->name_offset);
	return 0;
}

static void test_each_function_has_its_index(void **state)
{
	struct elf_image image;
	int fd = elf_image_file();

	(void)state;
	elf_image_init(&image);
	elf_image_write(&image, fd, image.size);
	assert_int_equal(elf_each_function(fd, find_again, &fd, NULL), 0);
	close(fd);
}

static void read_by_index(int fd)
{
	char name[ELF_NAME_BYTES];
	struct elf_function function;

	elf_function_at(fd, true, 6, name, &function);
	if (!elf_function_at(fd, false, 2, name, &function))
		assert_true(strlen(name) < ELF_NAME_BYTES);
}

static void test_one_function_of_a_damaged_file(void **state)
{
	(void)state;
	elf_image_each_damage(read_by_index);
	elf_image_each_truncation(read_by_index);
}

static void test_a_stripped_file(void **state)
{
	struct visits visits = { 0 };
	struct elf_contents contents = { .has_symbols = true };
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_PROGBITS;
	assert_int_equal(visit_image(&image, &visits, &contents), 0);
	assert_int_equal(visits.count, 3);
	assert_false(contents.has_symbols);
}

/* As remember(): all of the name is there. */
static bool begins_with_cu(const char *name, void *context)
{
	(void)context;
	return strlen(name) > 2 && name[0] == 'c' && name[1] == 'u';
}

static void test_only_functions_with_wanted_names_are_visited(void **state)
{
	struct visits visits = { 0 };
	struct elf_contents contents = { 0 };
	struct elf_image image;
	int fd = elf_image_file();

	(void)state;
	elf_image_init(&image);
	elf_image_write(&image, fd, image.size);
	assert_int_equal(elf_each_function_named(fd, begins_with_cu, remember, &visits, &contents),
			 0);
	assert_int_equal(visits.count, 2);
	assert_visit(&visits, 0, "cuMemAlloc_v2", 0x100, 32);
	assert_visit(&visits, 1, "cuMemAlloc_v2", 0x100, 32);
	assert_true(contents.has_symbols);
	close(fd);
}

static void test_a_visitor_can_stop(void **state)
{
	struct visits visits = { .stop_after = 2 };
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	assert_int_equal(visit_image(&image, &visits, NULL), 123);
	assert_int_equal(visits.count, 2);
}

static void test_without_sections_there_are_no_functions(void **state)
{
	struct visits visits = { 0 };
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	image.header.e_shoff = image.header.e_shnum = image.header.e_shstrndx = 0;
	assert_int_equal(visit_image(&image, &visits, NULL), 0);
	assert_int_equal(visits.count, 0);
}

static void test_without_segments_nothing_is_anywhere(void **state)
{
	struct visits visits = { 0 };
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	image.header.e_phoff = image.header.e_phnum = 0;
	assert_int_equal(visit_image(&image, &visits, NULL), 0);
	assert_int_equal(visits.count, 0);
}

/* Real ones: whatever this program is made of. */
static void test_this_program(void **state)
{
	struct visits visits = { 0 };
	struct elf_contents contents;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(elf_each_function(fd, remember, &visits, &contents), 0);
	assert_true(contents.has_symbols);
	assert_true(visits.count > 50);
	close(fd);
}

/* ---- files of another kind ------------------------------------------------------------------- */

static void assert_not_ours(const struct elf_image *image)
{
	struct visits visits = { 0 };

	assert_int_equal(visit_image(image, &visits, NULL), -ENOEXEC);
	assert_int_equal(visits.count, 0);
}

static void test_other_kinds_of_elf_are_refused(void **state)
{
	struct elf_image image;

	(void)state;
	elf_image_init(&image);
	image.header.e_machine = ELF_IMAGE_OTHER_MACHINE;
	assert_not_ours(&image);
	elf_image_init(&image);
	image.header.e_machine = EM_386;
	assert_not_ours(&image);
	elf_image_init(&image);
	image.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_not_ours(&image);
	elf_image_init(&image);
	image.header.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_not_ours(&image);
}

static void test_a_well_formed_32_bit_file_is_refused(void **state)
{
	const Elf32_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = ELF_IMAGE_MACHINE, /* as x32 has it */
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
	};
	struct elf_image image = { .size = 0 };

	(void)state;
	elf_image_append(&image, &header, sizeof(header));
	assert_not_ours(&image);
}

static void test_what_is_not_elf_is_refused(void **state)
{
	static const char *const texts[] = {
		"", "\177", "\177ELF", "#!/bin/sh\necho\n", "!<arch>\n", "\177ELG....",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct elf_image image = { .size = 0 };

		elf_image_append(&image, texts[i], strlen(texts[i]));
		assert_not_ours(&image);
	}
}

static void test_a_directory_and_a_closed_descriptor(void **state)
{
	struct visits visits = { 0 };
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(elf_each_function(fd, remember, &visits, NULL), -ENOEXEC);
	close(fd);
	assert_int_equal(elf_each_function(fd, remember, &visits, NULL), -ENOEXEC);
	assert_int_equal(visits.count, 0);
}

/* ---- damaged files --------------------------------------------------------------------------- */

static void test_a_wrong_entry_size_is_damage(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 23, 25, 16, UINT64_MAX };
	struct visits visits = { 0 };
	struct elf_image image;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		elf_image_init(&image);
		image.sections[ELF_IMAGE_DYNSYM].sh_entsize = sizes[i];
		assert_int_equal(visit_image(&image, &visits, NULL), -EBADMSG);
	}
}

static void test_a_table_outside_of_the_file_is_damage(void **state)
{
	static const struct {
		uint64_t offset, size;
	} cases[] = {
		{ 1 << 20, 24 },  { UINT64_MAX - 23, 24 },    { 64, UINT64_MAX / 24 * 24 },
		{ 64, 24 << 20 }, { 1ull << 63, 1ull << 63 },
	};
	struct visits visits = { 0 };
	struct elf_image image;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		elf_image_init(&image);
		image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_NULL;
		image.sections[ELF_IMAGE_DYNSYM].sh_offset = cases[i].offset;
		image.sections[ELF_IMAGE_DYNSYM].sh_size = cases[i].size;
		assert_int_equal(visit_image(&image, &visits, NULL), -EBADMSG);
		assert_int_equal(visits.count, 0);
	}
}

/* Functions whose name cannot be read are not functions of that name. */
static void test_names_outside_of_the_string_table(void **state)
{
	static const uint32_t links[] = { ELF_IMAGE_NULL, ELF_IMAGE_DYNSYM, ELF_IMAGE_SECTIONS,
					  UINT32_MAX };
	struct visits visits = { 0 };
	struct elf_image image;
	Elf64_Sym *symbols;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(links) / sizeof(*links); i++) {
		elf_image_init(&image);
		image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_NULL;
		image.sections[ELF_IMAGE_DYNSYM].sh_link = links[i];
		visit_image(&image, &visits, NULL);
		assert_int_equal(visits.count, 0);
	}
	elf_image_init(&image);
	image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_NULL;
	symbols = (Elf64_Sym *)(image.bytes + image.sections[ELF_IMAGE_DYNSYM].sh_offset);
	symbols[3].st_name = UINT32_MAX;
	assert_int_equal(visit_image(&image, &visits, NULL), 0);
	assert_int_equal(visits.count, 2);
	assert_visit(&visits, 0, "second", 0x210, 0);
}

static void test_an_unterminated_string_table(void **state)
{
	struct visits visits = { 0 };
	struct elf_image image;
	Elf64_Shdr *strings;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_NULL;
	strings = &image.sections[ELF_IMAGE_DYNSTR];
	strings->sh_size = ELF_IMAGE_DYN("second") + 3; /* ends in the middle of the name */
	assert_int_equal(visit_image(&image, &visits, NULL), 0);
	assert_int_equal(visits.count, 1);
	assert_visit(&visits, 0, "cuMemAlloc_v2", 0x100, 32);
}

/* Addresses and sizes at the end of the number line: no sum may wrap around. */
static void test_segments_at_the_end_of_the_address_space(void **state)
{
	struct visits visits = { 0 };
	struct elf_image image;
	Elf64_Sym *symbols;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_NULL;
	image.segments[0].p_vaddr = UINT64_MAX - 0xff;
	image.segments[0].p_filesz = UINT64_MAX;
	image.segments[2].p_type = PT_NULL;
	symbols = (Elf64_Sym *)(image.bytes + image.sections[ELF_IMAGE_DYNSYM].sh_offset);
	symbols[3].st_value = UINT64_MAX - 0xef;
	assert_int_equal(visit_image(&image, &visits, NULL), 0);
	assert_int_equal(visits.count, 1); /* the others lie before the segment */
	assert_visit(&visits, 0, "cuMemAlloc_v2", 0x10, 32);
}

/* Whatever came of it, it was one of the promised results, and there was an end to it. */
static void read_damaged(int fd)
{
	struct visits visits = { 0 };
	struct elf_contents contents;
	int result = elf_each_function(fd, remember, &visits, &contents);

	assert_true(result == 0 || result == -ENOEXEC || result == -EBADMSG);
	assert_int_equal(elf_each_function_named(fd, begins_with_cu, remember, &visits, NULL),
			 result);
	/* A table of them all, by every section that there is. */
	assert_true(visits.count <= 2 * ELF_IMAGE_MAX / sizeof(Elf64_Sym) * ELF_IMAGE_SECTIONS);
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

static void test_no_random_damage_does_harm(void **state)
{
	struct elf_image image;
	uint64_t random = 77;
	int fd = elf_image_file(), round, i;

	(void)state;
	for (round = 0; round < 20000; round++) {
		elf_image_init(&image);
		for (i = 0; i < 3; i++) {
			random = unit_random(random);
			image.bytes[(random >> 32) % image.size] = random;
		}
		elf_image_write(&image, fd, image.size);
		read_damaged(fd);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defined_functions_are_visited),
		cmocka_unit_test(test_one_function_by_its_index),
		cmocka_unit_test(test_each_function_has_its_index),
		cmocka_unit_test(test_one_function_of_a_damaged_file),
		cmocka_unit_test(test_a_stripped_file),
		cmocka_unit_test(test_only_functions_with_wanted_names_are_visited),
		cmocka_unit_test(test_a_visitor_can_stop),
		cmocka_unit_test(test_without_sections_there_are_no_functions),
		cmocka_unit_test(test_without_segments_nothing_is_anywhere),
		cmocka_unit_test(test_this_program),
		cmocka_unit_test(test_other_kinds_of_elf_are_refused),
		cmocka_unit_test(test_a_well_formed_32_bit_file_is_refused),
		cmocka_unit_test(test_what_is_not_elf_is_refused),
		cmocka_unit_test(test_a_directory_and_a_closed_descriptor),
		cmocka_unit_test(test_a_wrong_entry_size_is_damage),
		cmocka_unit_test(test_a_table_outside_of_the_file_is_damage),
		cmocka_unit_test(test_names_outside_of_the_string_table),
		cmocka_unit_test(test_an_unterminated_string_table),
		cmocka_unit_test(test_segments_at_the_end_of_the_address_space),
		cmocka_unit_test(test_no_truncated_file_does_harm),
		cmocka_unit_test(test_no_damaged_byte_does_harm),
		cmocka_unit_test(test_no_random_damage_does_harm),
	};

	alarm(120); /* a hang is a failure, not a wait */
	return unit_run("elf_symbols", tests);
}
