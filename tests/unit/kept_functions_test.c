// SPDX-License-Identifier: BSD-2-Clause
/* A large file is read once; what was kept of it is used for that file alone. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/attach/kept_functions.h"
#include "capture/attach/library.h"
#include "elf_image.h"

#define LARGE_BYTES (5 << 20)
#define REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define PLACE 0x140 /* of REPORT, in the file */

static char directory[] = "/tmp/kept_functions_test.XXXXXX";
static char path[200];

static int setup(void **state)
{
	(void)state;
	snprintf(directory + sizeof(directory) - 7, 7, "XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/kept", directory);
	return 0;
}

static int teardown(void **state)
{
	char command[300];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	return system(command);
}

static size_t entries(void)
{
	DIR *listing = opendir(path);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(listing);
	while ((entry = readdir(listing)))
		count += entry->d_name[0] != '.';
	closedir(listing);
	return count;
}

/* Exports REPORT and another function; has a build id. */
static int make_file(const char *other)
{
	static const unsigned char note[] = { 4, 0, 0, 0,   4,   0,   0, 0, NT_GNU_BUILD_ID,
					      0, 0, 0, 'G', 'N', 'U', 0, 1, 2,
					      3, 4 };
	char names[256] = "";
	const unsigned char function = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	const Elf64_Sym symbols[] = {
		{ 0 },
		{ .st_name = 1,
		  .st_info = function,
		  .st_shndx = 1,
		  .st_value = ELF_IMAGE_FIRST + PLACE,
		  .st_size = 32 },
		{ .st_name = 1 + sizeof(REPORT),
		  .st_info = function,
		  .st_shndx = 1,
		  .st_value = ELF_IMAGE_FIRST + 0x180,
		  .st_size = 32 },
	};
	struct elf_image image;
	int fd = elf_image_file();

	snprintf(names + 1, sizeof(names) - 1, "%s", REPORT);
	snprintf(names + 1 + sizeof(REPORT), sizeof(names) - 1 - sizeof(REPORT), "%s", other);
	elf_image_init(&image);
	image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_PROGBITS;
	elf_image_section(&image, ELF_IMAGE_DYNSYM, SHT_DYNSYM, symbols, sizeof(symbols),
			  sizeof(*symbols), ELF_IMAGE_DYNSTR);
	elf_image_section(&image, ELF_IMAGE_DYNSTR, SHT_STRTAB, names, sizeof(names), 0, 0);
	image.segments[1].p_type = PT_NOTE;
	image.segments[1].p_offset = elf_image_append(&image, note, sizeof(note));
	image.segments[1].p_filesz = sizeof(note);
	elf_image_write(&image, fd, image.size);
	assert_int_equal(ftruncate(fd, LARGE_BYTES), 0);
	return fd;
}

/* Where REPORT is, by what is kept or by the file; 0: it has none. */
static uint64_t place_of(int fd, const struct marker_rows *markers)
{
	struct library_cache cache = { .markers = markers };
	const struct library *library;
	uint64_t place;

	library_cache_keep(&cache, path);
	assert_int_equal(library_load(&cache, fd, "/some/where/libc10.so", &library), 0);
	assert_true(library->readable);
	assert_false(library->has_symbols);
	place = library->frameworks_count ? library->frameworks[0].file_offset : 0;
	library_cache_fini(&cache);
	return place;
}

/* As if a trace before had found REPORT there. */
static void keep_place(int fd, const struct marker_rows *markers, uint64_t place)
{
	struct kept_functions found = { 0 };
	const struct elf_function function = {
		.name = REPORT, .file_offset = place, .size_bytes = 32, .is_exported = true
	};
	const struct elf_contents contents = { 0 };
	struct file_cache_file file;
	struct wanted_names names;
	struct file_cache cache;

	wanted_names_init(&names, markers);
	file_cache_open(&cache, path, FILE_CACHE_MOST_BYTES);
	assert_int_equal(file_cache_describe(&file, fd), 0);
	kept_functions_add(&found, &function);
	kept_functions_put(&cache, &file, names.digest, &found, &contents);
	file_cache_close(&cache);
}

static void test_a_large_file_is_read_once(void **state)
{
	int fd = make_file("cuCtxGetDevice");

	(void)state;
	assert_int_equal(place_of(fd, NULL), PLACE);
	assert_int_equal(entries(), 1);
	assert_int_equal(place_of(fd, NULL), PLACE);
	keep_place(fd, NULL, PLACE + 1);
	assert_int_equal(place_of(fd, NULL), PLACE + 1);
	/* It is another file. */
	assert_int_equal(ftruncate(fd, LARGE_BYTES + 1), 0);
	assert_int_equal(place_of(fd, NULL), PLACE);
	close(fd);
}

static void test_what_was_found_by_other_names_is_not_used(void **state)
{
	struct marker_rows rows = { 0 };
	int fd = make_file("nothing");

	(void)state;
	assert_int_equal(marker_rows_add_nvtx(&rows, false), 0);
	keep_place(fd, NULL, PLACE + 1);
	assert_int_equal(place_of(fd, &rows), PLACE);
	assert_int_equal(place_of(fd, NULL), PLACE);
	marker_rows_fini(&rows);
	close(fd);
}

/* To place their probes takes all symbols; and a marker can be of files with one name alone. */
static void test_functions_of_the_table_and_markers_are_not_kept(void **state)
{
	struct marker_rows rows = { 0 };
	int fd = make_file("cuMemAlloc_v2");

	(void)state;
	assert_int_equal(place_of(fd, NULL), PLACE);
	assert_int_equal(entries(), 0);
	close(fd);
	fd = make_file("nvtxRangePop");
	assert_int_equal(marker_rows_add_nvtx(&rows, false), 0);
	assert_int_equal(place_of(fd, &rows), PLACE);
	assert_int_equal(entries(), 0);
	close(fd);
	fd = make_file("nothing");
	assert_int_equal(marker_rows_add_function(&rows, "libother:step"), 0);
	assert_int_equal(place_of(fd, &rows), PLACE);
	assert_int_equal(entries(), 0);
	keep_place(fd, &rows, PLACE + 1);
	assert_int_equal(place_of(fd, &rows), PLACE);
	marker_rows_fini(&rows);
	close(fd);
}

static int count(const struct elf_function *function, void *context)
{
	(void)function;
	++*(size_t *)context;
	return 0;
}

static void test_too_many_and_too_long_names(void **state)
{
	char name[KEPT_NAME_BYTES + 1] = "";
	const struct elf_function function = { .name = name };
	struct kept_functions found = { 0 };
	struct elf_contents contents = { .has_symbols = true };
	struct file_cache_file file;
	struct file_cache cache;
	size_t visits = 0, i;
	int fd = make_file("nothing");

	(void)state;
	file_cache_open(&cache, path, FILE_CACHE_MOST_BYTES);
	assert_int_equal(file_cache_describe(&file, fd), 0);
	for (i = 0; i < KEPT_FUNCTIONS; i++)
		kept_functions_add(&found, &function);
	kept_functions_put(&cache, &file, 7, &found, &contents);
	contents.has_symbols = false;
	assert_int_equal(kept_functions_each(&cache, &file, 7, count, &visits, &contents), 0);
	assert_int_equal(visits, KEPT_FUNCTIONS);
	assert_true(contents.has_symbols);
	assert_int_equal(kept_functions_each(&cache, &file, 8, count, &visits, &contents), -ENOENT);
	kept_functions_add(&found, &function);
	assert_true(found.is_unfit);
	kept_functions_put(&cache, &file, 9, &found, &contents);
	assert_int_equal(kept_functions_each(&cache, &file, 9, count, &visits, &contents), -ENOENT);
	found = (struct kept_functions){ 0 };
	memset(name, 'x', KEPT_NAME_BYTES);
	kept_functions_add(&found, &function);
	assert_true(found.is_unfit);
	file_cache_close(&cache);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_large_file_is_read_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_was_found_by_other_names_is_not_used,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_functions_of_the_table_and_markers_are_not_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many_and_too_long_names, setup, teardown),
	};

	return unit_run("kept_functions", tests);
}
