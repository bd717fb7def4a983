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

/* Exports two functions; has a build id. */
static int make_file_of(const char *first, const char *other)
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
		{ .st_name = 2 + strlen(first),
		  .st_info = function,
		  .st_shndx = 1,
		  .st_value = ELF_IMAGE_FIRST + 0x180,
		  .st_size = 32 },
	};
	struct elf_image image;
	int fd = elf_image_file();

	snprintf(names + 1, sizeof(names) - 1, "%s", first);
	snprintf(names + 2 + strlen(first), sizeof(names) - 2 - strlen(first), "%s", other);
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

static int make_file(const char *other)
{
	return make_file_of(REPORT, other);
}

/* What is found of a file: by what is kept of it, or by its symbols. */
struct found {
	uint64_t place; /* of REPORT; 0: it has none */
	size_t asks;
};

static struct found find(int fd, const struct marker_rows *markers)
{
	struct library_cache cache = { .markers = markers };
	const struct library *library;
	struct found found = { 0 };

	library_cache_keep(&cache, path);
	assert_int_equal(library_load(&cache, fd, "/some/where/libc10.so", &library), 0);
	assert_true(library->readable);
	assert_false(library->has_symbols);
	if (library->frameworks_count)
		found.place = library->frameworks[0].file_offset;
	found.asks = library->asks_count;
	library_cache_fini(&cache);
	return found;
}

static void assert_found(int fd, const struct marker_rows *markers, uint64_t place, size_t asks)
{
	const struct found found = find(fd, markers);

	assert_int_equal(found.place, place);
	assert_int_equal(found.asks, asks);
}

/* As if the file lay on a block device, where functions are kept, too. */
static struct file_cache_file on_disk(int fd)
{
	struct file_cache_file file;

	assert_int_equal(file_cache_describe(&file, fd), 0);
	assert_int_not_equal(file.type, 0);
	file.type = 0;
	return file;
}

/* As if a trace before had found none of the names. */
static void keep_nothing(int fd, const struct marker_rows *markers)
{
	struct kept_functions found = { 0 };
	const struct elf_contents contents = { 0 };
	struct file_cache_file file;
	struct wanted_names names;
	struct file_cache cache;

	wanted_names_init(&names, markers);
	file_cache_open(&cache, path, FILE_CACHE_MOST_BYTES);
	assert_int_equal(file_cache_describe(&file, fd), 0);
	kept_functions_put(&cache, &file, names.digest, &found, &contents);
	file_cache_close(&cache);
}

static void test_a_large_file_is_read_once(void **state)
{
	int fd = make_file_of("nothing", "wanted");

	(void)state;
	assert_found(fd, NULL, 0, 0);
	assert_int_equal(entries(), 1);
	close(fd);
	/* Another one, of which it is believed that a trace before has found nothing, too. */
	fd = make_file("nothing");
	keep_nothing(fd, NULL);
	assert_found(fd, NULL, 0, 0);
	/* It is another file. */
	assert_int_equal(ftruncate(fd, LARGE_BYTES + 1), 0);
	assert_found(fd, NULL, PLACE, 0);
	close(fd);
}

/* The numbers of this file, which is on no block device, can be another one's tomorrow. */
static void test_functions_are_kept_of_files_on_disks_alone(void **state)
{
	int fd = make_file("cuCtxGetDevice");
	const struct elf_contents contents = { 0 };
	struct kept_functions found = { .count = 1 };
	struct file_cache_file file;
	struct file_cache cache;

	(void)state;
	assert_found(fd, NULL, PLACE, 1);
	assert_int_equal(entries(), 0);
	file_cache_open(&cache, path, FILE_CACHE_MOST_BYTES);
	assert_int_equal(file_cache_describe(&file, fd), 0);
	kept_functions_put(&cache, &file, 7, &found, &contents);
	assert_int_equal(entries(), 0);
	file = on_disk(fd);
	kept_functions_put(&cache, &file, 7, &found, &contents);
	assert_int_equal(entries(), 1);
	file_cache_close(&cache);
	close(fd);
}

static void test_what_was_found_by_other_names_is_not_used(void **state)
{
	struct marker_rows rows = { 0 };
	int fd = make_file("nothing");

	(void)state;
	assert_int_equal(marker_rows_add_nvtx(&rows, false), 0);
	keep_nothing(fd, NULL);
	assert_found(fd, &rows, PLACE, 0);
	assert_found(fd, NULL, 0, 0);
	marker_rows_fini(&rows);
	close(fd);
}

/* To place their probes takes all symbols; and a marker can be of files with one name alone. */
static void test_functions_of_the_table_and_markers_are_not_kept(void **state)
{
	struct marker_rows rows = { 0 };
	int fd = make_file_of("cuMemAlloc_v2", "nothing");

	(void)state;
	find(fd, NULL);
	assert_int_equal(entries(), 0);
	close(fd);
	fd = make_file_of("nothing", "nvtxRangePop");
	assert_int_equal(marker_rows_add_nvtx(&rows, false), 0);
	find(fd, &rows);
	assert_int_equal(entries(), 0);
	find(fd, NULL);
	assert_int_equal(entries(), 1);
	close(fd);
	fd = make_file_of("nothing", "wanted");
	assert_int_equal(marker_rows_add_function(&rows, "libother:step"), 0);
	find(fd, &rows);
	assert_int_equal(entries(), 1);
	close(fd);
	fd = make_file("nothing");
	keep_nothing(fd, &rows);
	assert_found(fd, &rows, PLACE, 0);
	marker_rows_fini(&rows);
	close(fd);
}

/* ---- entries that say something else than the file ------------------------------------------- */

struct visits {
	size_t count;
	uint64_t place, size_bytes; /* of the last one */
};

static int visit(const struct elf_function *function, void *context)
{
	struct visits *visits = context;

	assert_string_equal(function->name, REPORT);
	visits->count++;
	visits->place = function->file_offset;
	visits->size_bytes = function->size_bytes;
	return 0;
}

/* What is visited if a trace before has kept this, with a right checksum, of the file. */
static int each_of(int fd, const struct file_cache_file *file, const struct kept_function *kept,
		   size_t count, struct visits *visits)
{
	struct kept_functions functions = { .count = count };
	struct elf_contents contents = { 0 };
	struct file_cache cache;
	int err;

	memcpy(functions.items + 1, kept, count * sizeof(*kept));
	*visits = (struct visits){ 0 };
	file_cache_open(&cache, path, FILE_CACHE_MOST_BYTES);
	kept_functions_put(&cache, file, 7, &functions, &contents);
	assert_int_equal(entries(), 1);
	err = kept_functions_each(&cache, file, fd, 7, visit, visits, &contents);
	file_cache_close(&cache);
	return err;
}

static void test_an_entry_that_the_file_does_not_agree_with_is_not_used(void **state)
{
	static const struct kept_function right = {
		.index = 1, .address = ELF_IMAGE_FIRST + PLACE, .is_exported = true, .name = REPORT
	};
	int fd = make_file("cuMemAlloc_v2");
	struct kept_function kept[6] = { right, right, right, right, right, right };
	const struct file_cache_file file = on_disk(fd);
	struct visits visits;
	size_t i;

	(void)state;
	assert_int_equal(each_of(fd, &file, &right, 1, &visits), 0);
	assert_int_equal(visits.count, 1);
	assert_int_equal(visits.place, PLACE);
	assert_int_equal(visits.size_bytes, 32);
	kept[0].address++;
	kept[1].index = 2;
	kept[2].is_exported = false;
	kept[3].name[1] = 'Y';
	memset(kept[4].name, 'Z', sizeof(kept[4].name));
	/* True, but to probe it takes all symbols. */
	kept[5] = (struct kept_function){ .index = 2,
					  .address = ELF_IMAGE_FIRST + 0x180,
					  .is_exported = true,
					  .name = "cuMemAlloc_v2" };
	for (i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		const struct kept_function both[] = { right, kept[i] };

		assert_int_equal(each_of(fd, &file, &kept[i], 1, &visits), -ENOENT);
		assert_int_equal(each_of(fd, &file, both, 2, &visits), -ENOENT);
		/* Nor what is right in it. */
		assert_int_equal(visits.count, 0);
	}
	close(fd);
}

/* One that was kept as of a file on a disk, which has these numbers. */
static void test_functions_of_a_file_on_no_disk_are_not_used(void **state)
{
	static const struct kept_function right = {
		.index = 1, .address = ELF_IMAGE_FIRST + PLACE, .is_exported = true, .name = REPORT
	};
	int fd = make_file("nothing");
	struct file_cache_file file = on_disk(fd);
	struct elf_contents contents = { 0 };
	struct file_cache cache;
	struct visits visits;

	(void)state;
	assert_int_equal(each_of(fd, &file, &right, 1, &visits), 0);
	file_cache_open(&cache, path, FILE_CACHE_MOST_BYTES);
	assert_int_equal(file_cache_describe(&file, fd), 0);
	assert_int_equal(kept_functions_each(&cache, &file, fd, 7, visit, &visits, &contents),
			 -ENOENT);
	assert_int_equal(visits.count, 1);
	file_cache_close(&cache);
	close(fd);
}

static void test_too_many_and_too_long_names(void **state)
{
	char name[KEPT_NAME_BYTES + 1] = REPORT;
	const struct elf_function function = {
		.name = name, .index = 1, .address = ELF_IMAGE_FIRST + PLACE, .is_exported = true
	};
	struct kept_functions found = { 0 };
	struct elf_contents contents = { .has_symbols = true };
	struct visits visits = { 0 };
	struct file_cache cache;
	int fd = make_file("nothing");
	const struct file_cache_file file = on_disk(fd);
	size_t i;

	(void)state;
	file_cache_open(&cache, path, FILE_CACHE_MOST_BYTES);
	for (i = 0; i < KEPT_FUNCTIONS; i++)
		kept_functions_add(&found, &function);
	kept_functions_put(&cache, &file, 7, &found, &contents);
	contents.has_symbols = false;
	assert_int_equal(kept_functions_each(&cache, &file, fd, 7, visit, &visits, &contents), 0);
	assert_int_equal(visits.count, KEPT_FUNCTIONS);
	assert_true(contents.has_symbols);
	assert_int_equal(kept_functions_each(&cache, &file, fd, 8, visit, &visits, &contents),
			 -ENOENT);
	kept_functions_add(&found, &function);
	assert_true(found.is_unfit);
	kept_functions_put(&cache, &file, 9, &found, &contents);
	assert_int_equal(kept_functions_each(&cache, &file, fd, 9, visit, &visits, &contents),
			 -ENOENT);
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
		cmocka_unit_test_setup_teardown(test_functions_are_kept_of_files_on_disks_alone,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_was_found_by_other_names_is_not_used,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_functions_of_the_table_and_markers_are_not_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_an_entry_that_the_file_does_not_agree_with_is_not_used, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_functions_of_a_file_on_no_disk_are_not_used,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_many_and_too_long_names, setup, teardown),
	};

	return unit_run("kept_functions", tests);
}
