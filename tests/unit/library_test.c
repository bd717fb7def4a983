// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>

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

/* There are millions in months: only what was found in the newest is kept. */
static void test_files_without_anything_to_probe(void **state)
{
	struct library_cache cache = { 0 };
	const struct library *library;
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC), text = elf_image_file();
	uint64_t key;

	(void)state;
	assert_int_equal(write(text, "text", 4), 4);
	assert_int_equal(library_load(&cache, fd, "/some/where/libplain.so", &library), 0);
	assert_true(library->readable);
	assert_int_equal(library_load(&cache, text, "/some/text", &library), 0);
	assert_false(library->readable);
	assert_string_equal(library->name, "text");
	/* It is not read again. */
	assert_int_equal(library_load(&cache, fd, "/else/where", &library), 0);
	assert_true(library->readable);
	assert_int_equal(library->points_count, 0);
	assert_string_equal(library->path, "/else/where");
	assert_int_equal(cache.plain.known.count, 2);
	assert_int_equal(cache.count, 0);
	for (key = 1; key <= PLAIN_FILES_MOST; key++)
		plain_files_add(&cache.plain, key, 0);
	assert_int_equal(cache.plain.known.count, PLAIN_FILES_MOST);
	assert_non_null(plain_files_find(&cache.plain, PLAIN_FILES_MOST));
	assert_int_equal(library_load(&cache, fd, "/else/where", &library), 0);
	assert_true(library->readable);
	library_cache_fini(&cache);
	close(fd);
	close(text);
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

#ifdef __x86_64__

#define REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define GIVE "_ZN3tsl12BFCAllocator11AllocateRawEmm"
#define PUSH_AT 7 /* in the code below */

/*
 * Where in a function of a framework its probe goes. The file exports that function, and another
 * one, which begins so many bytes behind it.
 */
static uint32_t framework_entry(const char *symbol, uint64_t other_at, off_t file_bytes)
{
	/* mov 0x100(%rip), %rax; push %r14; pop %r14; ret */
	static const uint8_t code[64] = {
		0x48, 0x8b, 0x05, 0, 1, 0, 0, 0x41, 0x56, 0x41, 0x5e, 0xc3
	};
	const unsigned char function = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	struct library_cache cache = { 0 };
	const struct library *library;
	int fd = elf_image_file();
	struct elf_image image;
	char names[256] = "";
	uint32_t entry;
	size_t place;

	elf_image_init(&image);
	image.sections[ELF_IMAGE_SYMTAB].sh_type = SHT_PROGBITS;
	place = elf_image_append(&image, code, sizeof(code));
	{
		const Elf64_Sym symbols[] = {
			{ 0 },
			{ .st_name = 1,
			  .st_info = function,
			  .st_shndx = 1,
			  .st_value = ELF_IMAGE_FIRST + place,
			  .st_size = 12 },
			{ .st_name = 2 + strlen(symbol),
			  .st_info = function,
			  .st_shndx = 1,
			  .st_value = ELF_IMAGE_FIRST + place + other_at,
			  .st_size = 1 },
		};

		elf_image_section(&image, ELF_IMAGE_DYNSYM, SHT_DYNSYM, symbols, sizeof(symbols),
				  sizeof(*symbols), ELF_IMAGE_DYNSTR);
	}
	memcpy(names + 1, symbol, strlen(symbol));
	memcpy(names + 2 + strlen(symbol), "other", 5);
	elf_image_section(&image, ELF_IMAGE_DYNSTR, SHT_STRTAB, names, sizeof(names), 0, 0);
	elf_image_write(&image, fd, image.size);
	if (file_bytes)
		assert_int_equal(ftruncate(fd, file_bytes), 0);
	assert_int_equal(library_load(&cache, fd, "/some/where/libc10.so", &library), 0);
	assert_int_equal(library->frameworks_count, 1);
	assert_int_equal(library->frameworks[0].file_offset, place);
	assert_int_equal(library->frameworks[0].prologue.entry.stack_bytes, 0);
	entry = library->frameworks[0].prologue.entry.offset;
	library_cache_fini(&cache);
	close(fd);
	return entry;
}

static void test_a_frameworks_function_is_probed_where_it_is_cheap(void **state)
{
	(void)state;
	assert_int_equal(framework_entry(REPORT, 32, 0), PUSH_AT);
	/* Another function begins there. */
	assert_int_equal(framework_entry(REPORT, PUSH_AT, 0), 0);
	/* What jumps there is not looked for. */
	assert_int_equal(framework_entry(REPORT, 32, FILE_CACHE_LEAST_BYTES), 0);
	assert_int_equal(framework_entry(REPORT, 32, FILE_CACHE_LEAST_BYTES - 1), PUSH_AT);
	/* Its return has a probe, too. */
	assert_int_equal(framework_entry(GIVE, 32, 0), 0);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_are_in_the_order_of_their_probes),
		cmocka_unit_test(test_files_without_anything_to_probe),
		cmocka_unit_test(test_a_mapping_is_known_by_its_name_if_its_device_is_another),
#ifdef __x86_64__
		cmocka_unit_test(test_a_frameworks_function_is_probed_where_it_is_cheap),
#endif
	};

	return unit_run("library", tests);
}
