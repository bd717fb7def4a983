// SPDX-License-Identifier: BSD-2-Clause
#include "elf_image.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "elf/elf_stub.h"

#define SLOT 0x602018ull
#define OTHER_SLOT 0x602020ull
#define TABLE ELF_IMAGE_FIRST /* address of the table of stubs */

enum kind {
	PLAIN,  /* jmp *(slot) */
	LANDED, /* a landing pad before it, as for indirect branches */
};

static const char section_names[] = "\0.plt.sec";

/* Returns how many bytes the stub has that jumps through the slot, at `address`. */
static size_t put_stub(unsigned char *code, uint64_t address, uint64_t slot, enum kind kind)
{
	size_t at = kind == LANDED ? 4 : 0;
#ifdef __x86_64__
	const int32_t apart = (int32_t)(slot - (address + at + 6));

	if (kind == LANDED)
		memcpy(code, "\xf3\x0f\x1e\xfa", 4);
	memcpy(code + at, "\xff\x25", 2);
	memcpy(code + at + 2, &apart, sizeof(apart));
#else
	const uint64_t pages = (slot >> 12) - ((address + at) >> 12);
	const uint32_t page =
		0x90000010 | (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2 & 0x7ffff) << 5;
	const uint32_t load = 0xf9400211 | (uint32_t)(slot & 0xfff) / 8 << 10;

	if (kind == LANDED)
		memcpy(code, "\x5f\x24\x03\xd5", 4);
	memcpy(code + at, &page, sizeof(page));
	memcpy(code + at + 4, &load, sizeof(load));
#endif
	return 16;
}

/* It calls malloc, its first symbol, and another function before that. */
static void make(struct elf_image *image, enum kind kind)
{
#ifdef __x86_64__
	const uint32_t type = R_X86_64_JUMP_SLOT;
#else
	const uint32_t type = R_AARCH64_JUMP_SLOT;
#endif
	const Elf64_Rela relocations[] = {
		{ .r_offset = OTHER_SLOT, .r_info = ELF64_R_INFO(2ull, type) },
		{ .r_offset = SLOT, .r_info = ELF64_R_INFO(1ull, type) },
	};
	unsigned char code[48] = { 0 };
	size_t bytes;

	elf_image_init(image);
	bytes = 16; /* what only leads to the loader */
	bytes += put_stub(code + bytes, TABLE + bytes, OTHER_SLOT, kind);
	put_stub(code + bytes, TABLE + bytes, SLOT, kind);
	elf_image_section(image, ELF_IMAGE_SYMTAB, SHT_RELA, relocations, sizeof(relocations),
			  sizeof(*relocations), ELF_IMAGE_DYNSYM);
	elf_image_section(image, ELF_IMAGE_STRTAB, SHT_PROGBITS, code, sizeof(code), 16, 0);
	image->sections[ELF_IMAGE_STRTAB].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	image->sections[ELF_IMAGE_STRTAB].sh_addr = TABLE;
	image->sections[ELF_IMAGE_STRTAB].sh_name = 1;
	elf_image_section(image, ELF_IMAGE_SHSTRTAB, SHT_STRTAB, section_names,
			  sizeof(section_names), 0, 0);
}

static uint64_t find_in(const struct elf_image *image, const char *function)
{
	int fd = elf_image_file();
	uint64_t found;

	elf_image_write(image, fd, image->size);
	found = elf_stub_find(fd, function);
	close(fd);
	return found;
}

static void test_the_stub_is_the_one_of_the_function(void **state)
{
	struct elf_image image;
	enum kind kind;

	(void)state;
	for (kind = PLAIN; kind <= LANDED; kind++) {
		make(&image, kind);
		assert_int_equal(find_in(&image, "malloc"),
				 image.sections[ELF_IMAGE_STRTAB].sh_offset + 32);
	}
}

static void test_what_is_not_called_through_a_stub(void **state)
{
	struct elf_image image;

	(void)state;
	make(&image, PLAIN);
	assert_int_equal(find_in(&image, "calloc"), 0);
	assert_int_equal(find_in(&image, "mallo"), 0);
	/* Defined here: whoever calls it through that slot may come to another function. */
	assert_int_equal(find_in(&image, "cuMemAlloc_v2"), 0);
	image.sections[ELF_IMAGE_STRTAB].sh_flags = SHF_ALLOC;
	assert_int_equal(find_in(&image, "malloc"), 0);
	make(&image, PLAIN);
	image.sections[ELF_IMAGE_STRTAB].sh_name = 0;
	assert_int_equal(find_in(&image, "malloc"), 0);
	elf_image_init(&image);
	assert_int_equal(find_in(&image, "malloc"), 0);
}

/* One that a linker has made. */
static void test_a_real_file(void **state)
{
	FILE *pipe;
	char line[256] = "", path[] = "/tmp/elf_stub_XXXXXX";
	const int fd = mkstemp(path);
	char command[512];

	(void)state;
	assert_true(fd >= 0);
	snprintf(
		command, sizeof(command),
		"echo 'int ioctl(int, unsigned long, ...); int f(void) { return ioctl(0, 0) + 1; }' |"
		" cc -O0 -shared -fPIC -x c - -o %s 2> /dev/null && objdump -d -F %s |"
		" sed -n 's/.*<ioctl@plt> (File Offset: \\(0x[0-9a-f]*\\)):/\\1/p' | tail -1",
		path, path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	if (fgets(line, sizeof(line), pipe)) {
		const int file = open(path, O_RDONLY | O_CLOEXEC);

		assert_int_equal(elf_stub_find(file, "ioctl"), strtoull(line, NULL, 16));
		close(file);
	}
	pclose(pipe);
	close(fd);
	unlink(path);
	if (!line[0])
		skip(); /* no compiler, or it makes no stubs */
}

static void read_damaged(int fd)
{
	assert_true(elf_stub_find(fd, "malloc") <= ELF_IMAGE_MAX);
}

static void test_no_damage_does_harm(void **state)
{
	struct elf_image image;
	int fd = elf_image_file(), i;
	size_t place;

	(void)state;
	make(&image, LANDED);
	for (place = 0; place < image.size; place++) {
		elf_image_write(&image, fd, place);
		read_damaged(fd);
	}
	elf_image_write(&image, fd, image.size);
	for (place = 0; place < image.size; place++) {
		const unsigned char right = image.bytes[place];

		for (i = 0; i < 10; i++) {
			const unsigned char wrong = i < 8 ? right ^ 1 << i : i == 8 ? 0 : 0xff;

			assert_int_equal(pwrite(fd, &wrong, 1, place), 1);
			read_damaged(fd);
		}
		assert_int_equal(pwrite(fd, &right, 1, place), 1);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_stub_is_the_one_of_the_function),
		cmocka_unit_test(test_what_is_not_called_through_a_stub),
		cmocka_unit_test(test_a_real_file),
		cmocka_unit_test(test_no_damage_does_harm),
	};

	alarm(120); /* a hang is a failure, not a wait */
	return unit_run("elf_stub", tests);
}
