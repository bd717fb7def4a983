// SPDX-License-Identifier: BSD-2-Clause
/*
 * ELF files made to hurt their reader: huge, sparse, cyclic, contradictory. What a file claims
 * decides neither how much memory is taken nor whether there is an end to it.
 */
#include "elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "elf/elf_dynamic.h"
#include "elf/elf_symbols.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define MEMORY_LIMIT (40 * MIB) /* as user/elf/elf_symbols.h promises */

/* ---- how much memory ------------------------------------------------------------------------- */

/* As in failure_test.c: ours first, AddressSanitizer's underneath. */
void *__interceptor_malloc(size_t size);
void *__interceptor_calloc(size_t count, size_t size);

static size_t largest; /* allocation so far */

static void note(size_t size)
{
	largest = size > largest ? size : largest;
}

void *malloc(size_t size)
{
	note(size);
	return __interceptor_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	note(count * size);
	return __interceptor_calloc(count, size);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int count_function(const struct elf_function *function, void *context)
{
	assert_true(strlen(function->name) < 4096);
	++*(size_t *)context;
	return 0;
}

/* Returns the reader's result. */
static int count_functions(int fd, size_t *count)
{
	int result;

	*count = 0;
	largest = 0;
	result = elf_each_function(fd, count_function, count, NULL);
	assert_in_range(largest, 0, MEMORY_LIMIT);
	return result;
}

static int count_in_image(const struct elf_image *image, size_t *count)
{
	int fd = elf_image_file(), result;

	elf_image_write(image, fd, image->size);
	result = count_functions(fd, count);
	close(fd);
	return result;
}

/* The image in a file of that size, which takes no room. */
static int sparse_file(const struct elf_image *image, uint64_t size)
{
	int fd = elf_image_file();

	elf_image_write(image, fd, image->size);
	assert_int_equal(ftruncate(fd, size), 0);
	return fd;
}

static void put(int fd, const void *bytes, size_t size, uint64_t offset)
{
	assert_int_equal(pwrite(fd, bytes, size, offset), size);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* What is wrong with one table does not keep the functions of the other one from being found. */
static void test_a_sparse_table_of_a_gigabyte_is_refused(void **state)
{
	struct elf_image image;
	size_t count;
	int fd;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNSYM].sh_size = GIB / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
	fd = sparse_file(&image, 8 * GIB);
	assert_int_equal(count_functions(fd, &count), -EFBIG);
	assert_int_equal(count, 2);
	close(fd);
	elf_image_init(&image);
	image.sections[ELF_IMAGE_STRTAB].sh_size = GIB;
	fd = sparse_file(&image, 8 * GIB);
	assert_int_equal(count_functions(fd, &count), -EFBIG);
	assert_int_equal(count, 3);
	close(fd);
}

/* Each alone could be: but every symbol would have to be looked at sixteen times. */
static void test_large_tables_with_many_names_are_refused(void **state)
{
	struct elf_image image;
	size_t count;
	int fd;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNSYM].sh_size = 90 * MIB / 24 * 24;
	image.sections[ELF_IMAGE_DYNSTR].sh_size = 500 * MIB;
	fd = sparse_file(&image, GIB);
	assert_int_equal(count_functions(fd, &count), -EFBIG);
	close(fd);
	image.sections[ELF_IMAGE_DYNSTR].sh_size = 50 * MIB;
	fd = sparse_file(&image, GIB);
	assert_int_equal(count_functions(fd, &count), 0);
	close(fd);
}

static void test_billions_of_sections_are_refused(void **state)
{
	static const uint64_t counts[] = { 1 << 20, 1ull << 32, UINT64_MAX };
	struct elf_dynamic dynamic;
	struct elf_image image;
	size_t count, i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		elf_image_init(&image);
		image.header.e_shnum = 0;
		image.sections[0].sh_size = counts[i];
		fd = sparse_file(&image, 1024 * GIB);
		assert_int_equal(count_functions(fd, &count), -EFBIG);
		assert_int_equal(count, 0);
		assert_int_equal(elf_dynamic_read(fd, &dynamic), -EFBIG);
		elf_dynamic_fini(&dynamic);
		assert_in_range(largest, 0, MEMORY_LIMIT);
		close(fd);
	}
}

/* The header has 16 bits for their number; what does not fit is in the first section. */
static void test_more_sections_than_fit_into_the_header(void **state)
{
	const Elf64_Shdr none = { 0 };
	struct elf_image image;
	size_t count, i;
	int fd;

	(void)state;
	elf_image_init(&image);
	image.header.e_shoff = ELF_IMAGE_MAX;
	image.header.e_shnum = 0;
	image.sections[0].sh_size = 70000;
	fd = sparse_file(&image, ELF_IMAGE_MAX + 70000 * sizeof(none));
	for (i = 0; i < ELF_IMAGE_SECTIONS; i++)
		put(fd, &image.sections[i], sizeof(none), ELF_IMAGE_MAX + i * sizeof(none));
	put(fd, &none, sizeof(none), ELF_IMAGE_MAX + ELF_IMAGE_DYNSYM * sizeof(none));
	put(fd, &image.sections[ELF_IMAGE_DYNSYM], sizeof(none),
	    ELF_IMAGE_MAX + 69999 * sizeof(none));
	assert_int_equal(count_functions(fd, &count), 0);
	assert_int_equal(count, 5);
	close(fd);
}

#define WINDOW (8 * MIB) /* of names; that of user/elf/elf_symbols.c */

/* Names at the beginning, the end and across the borders of the windows are all found. */
static void test_more_names_than_are_held_at_once(void **state)
{
	static const uint64_t places[] = { 1,          WINDOW - 3,     WINDOW - 1,      WINDOW,
					   WINDOW + 1, 2 * WINDOW - 2, 2 * WINDOW + 100 };
	enum { NAMES = sizeof(places) / sizeof(*places) };
	const uint64_t symbols_at = ELF_IMAGE_MAX, strings_at = 2 * ELF_IMAGE_MAX;
	struct elf_image image;
	size_t count, i;
	int fd;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNSYM].sh_type = SHT_NULL;
	image.sections[ELF_IMAGE_SYMTAB].sh_offset = symbols_at;
	image.sections[ELF_IMAGE_SYMTAB].sh_size = NAMES * sizeof(Elf64_Sym);
	image.sections[ELF_IMAGE_STRTAB].sh_offset = strings_at;
	image.sections[ELF_IMAGE_STRTAB].sh_size = 3 * WINDOW;
	fd = sparse_file(&image, strings_at + 3 * WINDOW);
	for (i = 0; i < NAMES; i++) {
		const Elf64_Sym symbol = { .st_name = places[i],
					   .st_shndx = 1,
					   .st_value = ELF_IMAGE_FIRST + 0x100,
					   .st_info = STT_FUNC };

		put(fd, "name", 5, strings_at + places[i]);
		put(fd, &symbol, sizeof(symbol), symbols_at + i * sizeof(symbol));
	}
	assert_int_equal(count_functions(fd, &count), 0);
	assert_int_equal(count, NAMES);
	close(fd);
}

/* Few at a time, unless the symbols would be gone through too often: then, they are not refused. */
static void test_how_many_names_are_held(void **state)
{
	(void)state;
	/* libtorch_cpu.so of PyTorch 2.10 */
	assert_int_equal(elf_symbols_window(13106928, 78037732), 8 * MIB);
	assert_int_equal(elf_symbols_window(72000000, 1 * MIB), 8 * MIB);
	assert_int_equal(elf_symbols_window(48000000, 20 * MIB), 16 * MIB);
	assert_int_equal(elf_symbols_window(72000000, 190 * MIB), 32 * MIB);
}

static void test_millions_of_symbols(void **state)
{
	enum { SYMBOLS = 3000000, PIECE = 1000 };
	const uint64_t symbols_at = ELF_IMAGE_MAX;
	static Elf64_Sym symbols[PIECE];
	struct elf_image image;
	size_t count, i;
	int fd;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNSYM].sh_type = SHT_NULL;
	image.sections[ELF_IMAGE_SYMTAB].sh_offset = symbols_at;
	image.sections[ELF_IMAGE_SYMTAB].sh_size = SYMBOLS * sizeof(*symbols);
	/* With small windows, they would be too many to be gone through. */
	image.sections[ELF_IMAGE_STRTAB].sh_size = 100 * MIB;
	fd = sparse_file(&image, symbols_at + SYMBOLS * sizeof(*symbols) + 100 * MIB);
	for (i = 0; i < PIECE; i++)
		symbols[i] = (Elf64_Sym){ .st_name = 1,
					  .st_shndx = 1,
					  .st_value = ELF_IMAGE_FIRST + 0x100,
					  .st_info = STT_FUNC };
	for (i = 0; i < SYMBOLS / PIECE; i++)
		put(fd, symbols, sizeof(symbols), symbols_at + i * sizeof(symbols));
	assert_int_equal(count_functions(fd, &count), 0);
	assert_int_equal(count, SYMBOLS);
	close(fd);
}

/* ---- contradictions -------------------------------------------------------------------------- */

static void test_a_table_that_holds_its_own_names(void **state)
{
	struct elf_image image;
	size_t count;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNSYM].sh_link = ELF_IMAGE_DYNSYM;
	image.sections[ELF_IMAGE_SYMTAB].sh_link = ELF_IMAGE_DYNSYM;
	assert_int_equal(count_in_image(&image, &count), -EBADMSG);
	assert_int_equal(count, 0);
	/* Names that are the table's own bytes: strings like any others. */
	elf_image_init(&image);
	image.sections[ELF_IMAGE_STRTAB].sh_link = ELF_IMAGE_STRTAB;
	image.sections[ELF_IMAGE_STRTAB].sh_offset = image.sections[ELF_IMAGE_SYMTAB].sh_offset;
	image.sections[ELF_IMAGE_DYNSTR].sh_offset = image.header.e_shoff;
	assert_int_equal(count_in_image(&image, &count), 0);
}

static Elf64_Sym *dynamic_symbols(struct elf_image *image)
{
	return (Elf64_Sym *)(image->bytes + image->sections[ELF_IMAGE_DYNSYM].sh_offset);
}

static int remember_offset(const struct elf_function *function, void *context)
{
	*(uint64_t *)context = function->file_offset;
	return 1;
}

/* Of two segments at one address, the first one counts, whatever the other one says. */
static void test_overlapping_segments(void **state)
{
	struct elf_image image;
	uint64_t offset = 0;
	int fd = elf_image_file();

	(void)state;
	elf_image_init(&image);
	image.segments[2] = image.segments[0];
	image.segments[2].p_offset = 0x80;
	elf_image_write(&image, fd, image.size);
	assert_int_equal(elf_each_function(fd, remember_offset, &offset, NULL), 1);
	assert_int_equal(offset, 0x100);
	close(fd);
}

/* A probe cannot be put there, and would keep all the others from being put where they belong. */
static void test_functions_outside_of_the_file(void **state)
{
	static const uint64_t offsets[] = { ELF_IMAGE_MAX, GIB, UINT64_MAX - 0xff, UINT64_MAX };
	struct elf_image image;
	size_t count, i;

	(void)state;
	for (i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		elf_image_init(&image);
		image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_NULL;
		image.segments[0].p_offset = offsets[i];

		assert_int_equal(count_in_image(&image, &count), 0);
		assert_int_equal(count, 2);
	}
	elf_image_init(&image);
	image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_NULL;
	dynamic_symbols(&image)[3].st_value = UINT64_MAX;
	assert_int_equal(count_in_image(&image, &count), 0);
	assert_int_equal(count, 2);
}

static void test_too_many_segments_are_refused(void **state)
{
	struct elf_image image;
	size_t count, i;
	int fd;

	(void)state;
	elf_image_init(&image);
	image.header.e_phoff = ELF_IMAGE_MAX;
	image.header.e_phnum = 1000;
	fd = sparse_file(&image, 2 * ELF_IMAGE_MAX + 1000 * sizeof(*image.segments));
	for (i = 0; i < 1000; i++)
		put(fd, &image.segments[0], sizeof(*image.segments),
		    ELF_IMAGE_MAX + i * sizeof(*image.segments));
	assert_int_equal(count_functions(fd, &count), -EFBIG);
	assert_int_equal(count, 0);
	close(fd);
}

static void test_a_name_without_end(void **state)
{
	static char name[5000];
	struct elf_image image;
	size_t count;
	int fd;

	(void)state;
	memset(name, 'x', sizeof(name));
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNSYM].sh_type = SHT_NULL;
	image.sections[ELF_IMAGE_STRTAB].sh_offset = ELF_IMAGE_MAX;
	image.sections[ELF_IMAGE_STRTAB].sh_size = 4 * ELF_IMAGE_MAX;
	fd = sparse_file(&image, 5 * ELF_IMAGE_MAX);
	put(fd, name, sizeof(name), ELF_IMAGE_MAX);
	assert_int_equal(count_functions(fd, &count), 0);
	assert_int_equal(count, 0);
	put(fd, "", 1, ELF_IMAGE_MAX + 1000);
	assert_int_equal(count_functions(fd, &count), 0);
	assert_int_equal(count, 2);
	close(fd);
}

static void test_a_dynamic_section_without_end(void **state)
{
	const Elf64_Dyn entry = { .d_tag = DT_RPATH, .d_un.d_val = 1 };
	struct elf_dynamic dynamic;
	struct elf_image image;
	int fd, i;

	(void)state;
	elf_image_init(&image);
	image.sections[ELF_IMAGE_DYNAMIC].sh_offset = ELF_IMAGE_MAX;
	image.sections[ELF_IMAGE_DYNAMIC].sh_size = GIB;
	fd = sparse_file(&image, 2 * GIB);
	for (i = 0; i < 100000; i++)
		put(fd, &entry, sizeof(entry), ELF_IMAGE_MAX + i * sizeof(entry));
	assert_int_equal(elf_dynamic_read(fd, &dynamic), -EBADMSG);
	elf_dynamic_fini(&dynamic);
	close(fd);
}

/* ---- what changes ---------------------------------------------------------------------------- */

struct shrinking {
	int fd;
	size_t count;
};

static int shrink(const struct elf_function *function, void *context)
{
	struct shrinking *shrinking = context;

	assert_int_equal(*function->name, 'l');
	if (!shrinking->count++)
		assert_int_equal(ftruncate(shrinking->fd, ELF_IMAGE_MAX + 60000), 0);
	return 0;
}

/* What has been read is good, and the rest is missed, not made up. */
static void test_a_file_that_is_shortened_while_it_is_read(void **state)
{
	enum { SYMBOLS = 10000 };
	struct shrinking shrinking = { 0 };
	struct elf_image image;
	Elf64_Sym symbol;
	int i;

	(void)state;
	elf_image_init(&image);
	symbol = (Elf64_Sym){ .st_name = 1,
			      .st_shndx = 1,
			      .st_value = ELF_IMAGE_FIRST + 0x100,
			      .st_info = STT_FUNC };
	image.sections[ELF_IMAGE_DYNSYM].sh_type = SHT_NULL;
	image.sections[ELF_IMAGE_SYMTAB].sh_offset = ELF_IMAGE_MAX;
	image.sections[ELF_IMAGE_SYMTAB].sh_size = SYMBOLS * sizeof(symbol);
	shrinking.fd = sparse_file(&image, ELF_IMAGE_MAX + SYMBOLS * sizeof(symbol));
	for (i = 0; i < SYMBOLS; i++)
		put(shrinking.fd, &symbol, sizeof(symbol), ELF_IMAGE_MAX + i * sizeof(symbol));
	assert_int_equal(elf_each_function(shrinking.fd, shrink, &shrinking, NULL), -EBADMSG);
	assert_in_range(shrinking.count, 1, 60000 / sizeof(symbol));
	close(shrinking.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sparse_table_of_a_gigabyte_is_refused),
		cmocka_unit_test(test_large_tables_with_many_names_are_refused),
		cmocka_unit_test(test_billions_of_sections_are_refused),
		cmocka_unit_test(test_more_sections_than_fit_into_the_header),
		cmocka_unit_test(test_more_names_than_are_held_at_once),
		cmocka_unit_test(test_how_many_names_are_held),
		cmocka_unit_test(test_millions_of_symbols),
		cmocka_unit_test(test_a_table_that_holds_its_own_names),
		cmocka_unit_test(test_overlapping_segments),
		cmocka_unit_test(test_functions_outside_of_the_file),
		cmocka_unit_test(test_too_many_segments_are_refused),
		cmocka_unit_test(test_a_name_without_end),
		cmocka_unit_test(test_a_dynamic_section_without_end),
		cmocka_unit_test(test_a_file_that_is_shortened_while_it_is_read),
	};

	alarm(120); /* a hang is a failure, not a wait */
	return unit_run("elf_hostile", tests);
}
