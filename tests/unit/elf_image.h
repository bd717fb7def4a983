/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small ELF file, put together by hand: two segments, a dynamic and a full symbol table, a
 * dynamic section. Tests damage it and let the readers loose on it.
 */
#ifndef MEMSCOPE_TESTS_ELF_IMAGE_H
#define MEMSCOPE_TESTS_ELF_IMAGE_H

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#ifdef __x86_64__
#define ELF_IMAGE_MACHINE EM_X86_64
#define ELF_IMAGE_OTHER_MACHINE EM_AARCH64
#else
#define ELF_IMAGE_MACHINE EM_AARCH64
#define ELF_IMAGE_OTHER_MACHINE EM_X86_64
#endif

#define ELF_IMAGE_MAX 4096

/* Addresses; what lies at 0x600000 + n is at offset 0x200 + n of the file, and 0x100 bytes long. */
#define ELF_IMAGE_FIRST 0x400000
#define ELF_IMAGE_SECOND 0x600000
#define ELF_IMAGE_SECOND_OFFSET 0x200
#define ELF_IMAGE_SECOND_BYTES 0x100

enum elf_image_section {
	ELF_IMAGE_NULL,
	ELF_IMAGE_DYNSYM,
	ELF_IMAGE_DYNSTR,
	ELF_IMAGE_SYMTAB,
	ELF_IMAGE_STRTAB,
	ELF_IMAGE_DYNAMIC,
	ELF_IMAGE_SHSTRTAB,
	ELF_IMAGE_SECTIONS,
};

struct elf_image {
	union {
		unsigned char bytes[ELF_IMAGE_MAX];
		Elf64_Ehdr header;
	};
	size_t size;
	Elf64_Shdr *sections; /* into `bytes` */
	Elf64_Phdr *segments;
};

/* Returns where it begins. */
static inline size_t elf_image_append(struct elf_image *image, const void *bytes, size_t size)
{
	size_t begin = (image->size + 7) / 8 * 8;

	assert_true(begin + size <= ELF_IMAGE_MAX);
	memcpy(image->bytes + begin, bytes, size);
	image->size = begin + size;
	return begin;
}

static inline void elf_image_section(struct elf_image *image, enum elf_image_section section,
				     uint32_t type, const void *bytes, size_t size,
				     size_t entry_size, uint32_t link)
{
	image->sections[section] = (Elf64_Shdr){
		.sh_type = type,
		.sh_offset = elf_image_append(image, bytes, size),
		.sh_size = size,
		.sh_entsize = entry_size,
		.sh_link = link,
		.sh_addralign = 8,
	};
}

/* Where `name` lies in a string table's bytes. */
static inline uint32_t elf_image_string(const char *strings, size_t size, const char *name)
{
	const char *found = memmem(strings, size, name, strlen(name) + 1);

	assert_non_null(found);
	return found - strings;
}

static const char elf_image_dynstr[] =
	"\0malloc\0free\0cuMemAlloc_v2\0table\0outside\0"
	"second\0begin\0behind\0libcuda.so.1\0libc.so.6\0$ORIGIN/../lib\0"
	"/opt/rpath";
static const char elf_image_strtab[] = "\0local\0cuMemAlloc_v2\0absent";

#define ELF_IMAGE_DYN(name) elf_image_string(elf_image_dynstr, sizeof(elf_image_dynstr), name)
#define ELF_IMAGE_STR(name) elf_image_string(elf_image_strtab, sizeof(elf_image_strtab), name)

static inline void elf_image_add_symbols(struct elf_image *image)
{
	const unsigned char function = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	const unsigned char object = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	/* clang-format off */
	const Elf64_Sym dynamic[] = {
		{ 0 },
		{ .st_name = ELF_IMAGE_DYN("malloc"), .st_info = function },
		{ .st_name = ELF_IMAGE_DYN("free"), .st_info = function, .st_value = 0x400040 },
		{ .st_name = ELF_IMAGE_DYN("cuMemAlloc_v2"), .st_info = function, .st_shndx = 1,
		  .st_value = 0x400100, .st_size = 32 },
		{ .st_name = ELF_IMAGE_DYN("table"), .st_info = object, .st_shndx = 1,
		  .st_value = 0x400180, .st_size = 64 },
		{ .st_name = ELF_IMAGE_DYN("outside"), .st_info = function, .st_shndx = 1,
		  .st_value = 0x900000 },
		{ .st_name = ELF_IMAGE_DYN("second"), .st_info = function, .st_shndx = 1,
		  .st_value = ELF_IMAGE_SECOND + 0x10 },
		{ .st_name = ELF_IMAGE_DYN("begin"), .st_info = function, .st_shndx = 1,
		  .st_value = ELF_IMAGE_SECOND },
		{ .st_name = ELF_IMAGE_DYN("behind"), .st_info = function, .st_shndx = 1,
		  .st_value = ELF_IMAGE_SECOND + ELF_IMAGE_SECOND_BYTES },
	};
	const Elf64_Sym full[] = {
		{ 0 },
		{ .st_name = ELF_IMAGE_STR("local"), .st_shndx = 1, .st_value = 0x400140,
		  .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_size = 5 },
		{ .st_name = ELF_IMAGE_STR("cuMemAlloc_v2"), .st_info = function, .st_shndx = 1,
		  .st_value = 0x400100, .st_size = 32 },
		{ .st_name = ELF_IMAGE_STR("absent"), .st_info = function, .st_shndx = 1 },
	};

	/* clang-format on */
	elf_image_section(image, ELF_IMAGE_DYNSYM, SHT_DYNSYM, dynamic, sizeof(dynamic),
			  sizeof(*dynamic), ELF_IMAGE_DYNSTR);
	elf_image_section(image, ELF_IMAGE_DYNSTR, SHT_STRTAB, elf_image_dynstr,
			  sizeof(elf_image_dynstr), 0, 0);
	elf_image_section(image, ELF_IMAGE_SYMTAB, SHT_SYMTAB, full, sizeof(full), sizeof(*full),
			  ELF_IMAGE_STRTAB);
	elf_image_section(image, ELF_IMAGE_STRTAB, SHT_STRTAB, elf_image_strtab,
			  sizeof(elf_image_strtab), 0, 0);
}

static inline void elf_image_add_dynamic(struct elf_image *image)
{
	const Elf64_Dyn entries[] = {
		{ .d_tag = DT_NEEDED, .d_un.d_val = ELF_IMAGE_DYN("libcuda.so.1") },
		{ .d_tag = DT_NEEDED, .d_un.d_val = ELF_IMAGE_DYN("libc.so.6") },
		{ .d_tag = DT_RPATH, .d_un.d_val = ELF_IMAGE_DYN("/opt/rpath") },
		{ .d_tag = DT_RUNPATH, .d_un.d_val = ELF_IMAGE_DYN("$ORIGIN/../lib") },
		{ .d_tag = DT_STRTAB, .d_un.d_val = 0x12345678 },
		{ .d_tag = DT_NULL },
		{ .d_tag = DT_NEEDED, .d_un.d_val = ELF_IMAGE_DYN("table") }, /* behind the end */
	};

	elf_image_section(image, ELF_IMAGE_DYNAMIC, SHT_DYNAMIC, entries, sizeof(entries),
			  sizeof(*entries), ELF_IMAGE_DYNSTR);
}

static inline void elf_image_init(struct elf_image *image)
{
	const Elf64_Shdr no_sections[ELF_IMAGE_SECTIONS] = { { 0 } };
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_LOAD, .p_vaddr = ELF_IMAGE_FIRST, .p_filesz = 0x1000 },
		{ .p_type = PT_PHDR, .p_vaddr = 0x900000, .p_filesz = 0x1000 },
		{ .p_type = PT_LOAD,
		  .p_vaddr = ELF_IMAGE_SECOND,
		  .p_memsz = 0x1000,
		  .p_offset = ELF_IMAGE_SECOND_OFFSET,
		  .p_filesz = ELF_IMAGE_SECOND_BYTES },
	};

	memset(image, 0, sizeof(*image));
	image->size = sizeof(Elf64_Ehdr);
	image->header = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = ELF_IMAGE_MACHINE,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = ELF_IMAGE_SECTIONS,
		.e_shstrndx = ELF_IMAGE_SHSTRTAB,
	};
	image->header.e_phoff = elf_image_append(image, segments, sizeof(segments));
	image->header.e_shoff = elf_image_append(image, no_sections, sizeof(no_sections));
	image->segments = (Elf64_Phdr *)(image->bytes + image->header.e_phoff);
	image->sections = (Elf64_Shdr *)(image->bytes + image->header.e_shoff);
	elf_image_add_symbols(image);
	elf_image_add_dynamic(image);
	elf_image_section(image, ELF_IMAGE_SHSTRTAB, SHT_STRTAB, "", 1, 0, 0);
}

/* ---- files ----------------------------------------------------------------------------------- */

static inline int elf_image_file(void)
{
	int fd = memfd_create("elf_image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* The file becomes the first `size` bytes of the image. */
static inline void elf_image_write(const struct elf_image *image, int fd, size_t size)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, image->bytes, size, 0), size);
}

/*
 * Calls `read` with every version of the file in which one byte is another: each bit of it turned
 * over, and the bytes that are extremes.
 */
static inline void elf_image_each_damage(void (*read)(int fd))
{
	struct elf_image image;
	int fd = elf_image_file(), i;
	size_t place;

	elf_image_init(&image);
	elf_image_write(&image, fd, image.size);
	for (place = 0; place < image.size; place++) {
		const unsigned char right = image.bytes[place];
		const unsigned char extremes[] = { 0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff };

		for (i = 0; i < 8 + 6; i++) {
			unsigned char wrong = i < 8 ? right ^ 1 << i : extremes[i - 8];

			assert_int_equal(pwrite(fd, &wrong, 1, place), 1);
			read(fd);
		}
		assert_int_equal(pwrite(fd, &right, 1, place), 1);
	}
	close(fd);
}

/* ... and with every shorter version. */
static inline void elf_image_each_truncation(void (*read)(int fd))
{
	struct elf_image image;
	int fd = elf_image_file();
	size_t size;

	elf_image_init(&image);
	for (size = 0; size < image.size; size++) {
		elf_image_write(&image, fd, size);
		read(fd);
	}
	close(fd);
}

#endif /* MEMSCOPE_TESTS_ELF_IMAGE_H */
