// SPDX-License-Identifier: BSD-2-Clause
#include "elf_image.h"

#include "capture/attach/library.h"
#include "event/probe.h"

/* In the order in which their probes are to be installed and removed. */
static const char *const in_order[] = {
	"cuLaunchKernel",   "cuStreamSynchronize", "cuMemcpyHtoD_v2",
	"cuMemsetD8_v2",    "cuMemFree_v2",        "cuMemAlloc_v2",
	"cuMemAddressFree", "cuMemAddressReserve", "cuCtxCreate_v2",
};

#define FUNCTIONS (sizeof(in_order) / sizeof(*in_order))

/* The other way round. */
static void add_functions(struct elf_image *image)
{
	Elf64_Sym symbols[1 + FUNCTIONS] = { { 0 } };
	char names[512] = "";
	size_t length = 1, i;

	for (i = 0; i < FUNCTIONS; i++) {
		const char *name = in_order[FUNCTIONS - 1 - i];

		symbols[1 + i] = (Elf64_Sym){
			.st_name = length,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = ELF_IMAGE_FIRST + 0x100 + 32 * i,
			.st_size = 32,
		};
		assert_true(length + strlen(name) < sizeof(names));
		memcpy(names + length, name, strlen(name));
		length += strlen(name) + 1;
	}
	image->sections[ELF_IMAGE_DYNSYM].sh_type = SHT_PROGBITS;
	elf_image_section(image, ELF_IMAGE_SYMTAB, SHT_SYMTAB, symbols, sizeof(symbols),
			  sizeof(*symbols), ELF_IMAGE_STRTAB);
	elf_image_section(image, ELF_IMAGE_STRTAB, SHT_STRTAB, names, sizeof(names), 0, 0);
}

/* An allocation must not be seen before its free, and what is called most often goes first. */
static void test_functions_are_in_the_order_of_their_probes(void **state)
{
	struct library_cache cache = { 0 };
	const struct library *library, *again;
	int fd = elf_image_file();
	struct elf_image image;
	size_t i;

	(void)state;
	elf_image_init(&image);
	add_functions(&image);
	elf_image_write(&image, fd, image.size);
	assert_int_equal(library_load(&cache, fd, "/some/where/libcuda.so.1", &library), 0);
	assert_string_equal(library->name, "libcuda.so.1");
	assert_int_equal(library->points_count, FUNCTIONS);
	for (i = 0; i < FUNCTIONS; i++)
		assert_string_equal(probe_at(library->points[i].row)->symbol, in_order[i]);
	assert_int_equal(library_load(&cache, fd, "/else/where", &again), 0);
	assert_ptr_equal(again, library);
	library_cache_fini(&cache);
	close(fd);
}

/* On btrfs and overlayfs, maps(5) has another device than fstat(2). */
static void test_a_mapping_is_known_by_its_name_if_its_device_is_another(void **state)
{
	struct library library = {
		.dev = 1, .inode = 7, .name = "libcuda.so.1", .points_count = 1
	};
	struct library *libraries[] = { &library };
	const struct library_cache cache = { .libraries = libraries, .count = 1 };
	struct proc_mapping mapping = { .dev = 1, .inode = 7, .path = "/renamed" };

	(void)state;
	assert_true(library_is_mapped(&library, &mapping));
	mapping.dev = 2;
	assert_false(library_is_mapped(&library, &mapping));
	mapping.path = "/some/where/libcuda.so.1 (deleted)";
	assert_true(library_is_mapped(&library, &mapping));
	assert_non_null(library_find(&cache, &mapping));
	library.points_count = 0;
	assert_null(library_find(&cache, &mapping));
	mapping.inode = 8;
	assert_false(library_is_mapped(&library, &mapping));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_are_in_the_order_of_their_probes),
		cmocka_unit_test(test_a_mapping_is_known_by_its_name_if_its_device_is_another),
	};

	return unit_run("library", tests);
}
