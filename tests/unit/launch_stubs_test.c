// SPDX-License-Identifier: BSD-2-Clause
/*
 * This program has stubs like nvcc's itself; files that mean harm are put together by hand.
 */
#include "elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/proc.h"
#include "symbols/launch_stubs.h"

static const char code[] __attribute__((section(".nv_fatbin"), used)) = "code";

/* A kernel's host function and the variable of its stub. */
#define KERNEL(name, host, variable) \
	void name(void) __asm__(host); \
	void name(void) \
	{ \
		__asm__ volatile(""); \
	} \
	static uint64_t name##_handle __asm__(variable) __attribute__((used));

KERNEL(add, "_Z3addPfi", "_ZZ23__device_stub__Z3addPfiPfiE8__handle")
KERNEL(plain, "plain", "_ZZ24__device_stub__Z5plainPfPfE8__handle")
KERNEL(hidden, "_ZL6hiddenPf", "_ZZL25__device_stub__Z6hiddenPfPfE8__handle")
KERNEL(inner, "_ZN2nsL5innerEPf", "_ZZN2nsL5innerEPfE8__handle")
KERNEL(nested, "_ZN2nsL6nestedEPf", "_ZZL30__device_stub__ZN2ns6nestedEPfPfE8__handle")
/* There is a function of C that is called like it. */
KERNEL(both, "_Z4bothPf", "_ZZ23__device_stub__Z4bothPfPfE8__handle")
void of_c(void) __asm__("both");
void of_c(void)
{
	__asm__ volatile("nop");
}
/* None of these is the variable of a stub. */
static uint64_t others[4] __asm__("_ZZ23__device_stub__Z3addPfiPfiE3__f") __attribute__((used));
static uint64_t longer __asm__("_ZZ99__device_stub__Z3oddPfPfE8__handle") __attribute__((used));
static uint64_t another __asm__("_ZZ7another_Z3oddPfPfE8__handle") __attribute__((used));
/* A stub without one, as nvcc 12 makes them. */
void older(void) __asm__("_Z5olderPf");
void older(void)
{
	__asm__ volatile("");
}
void stub_of_older(void) __asm__("_Z24__device_stub__Z5olderPfPf");
void stub_of_older(void)
{
	__asm__ volatile("");
}

static uint64_t bias;

static int find_bias(const struct proc_mapping *mapping, void *context)
{
	const uint64_t here = (uintptr_t)add;
	uint64_t linked;

	if (here < mapping->start || here >= mapping->end)
		return 0;
	assert_int_equal(launch_stubs_linked(*(int *)context, mapping->offset, &linked), 0);
	bias = mapping->start - linked;
	return 1;
}

static const struct launch_stub *stub_called(const struct launch_stubs *stubs, const char *kernel)
{
	const struct launch_stub *all, *found = NULL;
	size_t count, i;

	all = launch_stubs_all(stubs, &count);
	for (i = 0; i < count; i++) {
		assert_true(!i || all[i].handle >= all[i - 1].handle);
		if (!strcmp(all[i].kernel, kernel)) {
			assert_null(found);
			found = &all[i];
		}
	}
	return found;
}

static void assert_stub(const struct launch_stubs *stubs, const char *kernel, uint64_t *handle,
			void (*function)(void))
{
	const struct launch_stub *stub = stub_called(stubs, kernel);

	assert_non_null(stub);
	if (handle)
		assert_int_equal(stub->handle + bias, (uintptr_t)handle);
	else
		assert_int_equal(stub->handle, 0);
	assert_int_equal(stub->function + bias, (uintptr_t)function);
	assert_ptr_equal(launch_stubs_of_function(stubs, stub->function), stub);
}

static void test_our_own(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), result;
	struct launch_stubs *stubs;
	size_t count;

	(void)state;
	assert_true(launch_stubs_are_likely(fd));
	assert_int_equal(proc_each_mapping(getpid(), find_bias, &fd), 1);
	assert_int_equal(launch_stubs_open(&stubs, fd), 0);
	while ((result = launch_stubs_step(stubs)) > 0)
		;
	assert_int_equal(result, 0);
	launch_stubs_all(stubs, &count);
	assert_int_equal(count, 6);
	assert_stub(stubs, "_Z3addPfi", &add_handle, add);
	assert_stub(stubs, "plain", &plain_handle, plain);
	assert_stub(stubs, "_Z6hiddenPf", &hidden_handle, hidden);
	assert_stub(stubs, "_ZN2ns6nestedEPf", &nested_handle, nested);
	assert_stub(stubs, "_Z4bothPf", &both_handle, both);
	assert_stub(stubs, "_Z5olderPf", NULL, older);
	assert_null(stub_called(stubs, "both"));
	assert_null(launch_stubs_of_function(stubs, 1));
	launch_stubs_close(stubs);
	close(fd);
	(void)code, (void)others, (void)longer, (void)another;
}

/* ---- files that mean harm -------------------------------------------------------------------- */

static void read_all(int fd)
{
	struct launch_stubs *stubs;
	uint64_t linked;

	launch_stubs_are_likely(fd);
	launch_stubs_linked(fd, 0, &linked);
	if (launch_stubs_open(&stubs, fd))
		return;
	while (launch_stubs_step(stubs) > 0)
		;
	launch_stubs_close(stubs);
}

static void test_damaged(void **state)
{
	(void)state;
	elf_image_each_damage(read_all);
	elf_image_each_truncation(read_all);
}

#define MILLION 1000000

struct many {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[MILLION];
};

/* Symbols of `count` variables of stubs; so many of them one after the other are of one kernel. */
static int many_file(size_t count, size_t alike)
{
	struct many *many = calloc(1, sizeof(*many));
	const size_t each = 48;
	char *names = calloc(MILLION + 1, each);
	int fd = elf_image_file();
	size_t i;

	assert_true(many && names);
	for (i = 0; i < count; i++) {
		snprintf(names + each * i + 1, each, "_ZZ23__device_stub__Z%07zuE8__handle",
			 i / alike);
		many->symbols[i] = (Elf64_Sym){ .st_name = each * i + 1,
						.st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
						.st_shndx = 1,
						.st_value = 8 * (MILLION - i),
						.st_size = 8 };
	}
	memcpy(many->header.e_ident, ELFMAG "\2\1\1", 7);
	many->header.e_type = ET_DYN;
	many->header.e_machine = ELF_IMAGE_MACHINE;
	many->header.e_version = 1;
	many->header.e_shoff = offsetof(struct many, sections);
	many->header.e_ehsize = sizeof(Elf64_Ehdr);
	many->header.e_shentsize = sizeof(Elf64_Shdr);
	many->header.e_shnum = 3;
	many->sections[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
					  .sh_offset = offsetof(struct many, symbols),
					  .sh_size = count * sizeof(*many->symbols),
					  .sh_link = 2,
					  .sh_entsize = sizeof(Elf64_Sym) };
	many->sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					  .sh_offset = sizeof(*many),
					  .sh_size = each * MILLION };
	assert_int_equal(pwrite(fd, many, sizeof(*many), 0), sizeof(*many));
	assert_int_equal(pwrite(fd, names, each * MILLION, sizeof(*many)), each * MILLION);
	free(names);
	free(many);
	return fd;
}

static void test_templates(void **state)
{
	const struct launch_stub *all;
	struct launch_stubs *stubs;
	int fd = many_file(6, 3);
	size_t count, i;

	(void)state;
	assert_int_equal(launch_stubs_open(&stubs, fd), 0);
	while (launch_stubs_step(stubs) > 0)
		;
	all = launch_stubs_all(stubs, &count);
	assert_int_equal(count, 6);
	for (i = 0; i < count; i++) {
		assert_int_equal(all[i].handle, 8 * (MILLION - 5 + i));
		assert_string_equal(all[i].kernel, i < 3 ? "_Z0000001" : "_Z0000000");
	}
	launch_stubs_close(stubs);
	close(fd);
}

static void test_a_million(void **state)
{
	const struct launch_stub *all;
	struct launch_stubs *stubs;
	int fd = many_file(MILLION, 1), steps = 0, result;
	size_t count;

	(void)state;
	assert_int_equal(launch_stubs_open(&stubs, fd), 0);
	while ((result = launch_stubs_step(stubs)) > 0)
		steps++;
	assert_int_equal(result, 0);
	/* Not all in one go. */
	assert_true(steps >= 2);
	all = launch_stubs_all(stubs, &count);
	assert_int_equal(count, LAUNCH_STUBS_MOST);
	assert_true(all[0].handle < all[1].handle);
	launch_stubs_close(stubs);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_our_own),
		cmocka_unit_test(test_templates),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_a_million),
	};

	return unit_run("launch stubs", tests);
}
