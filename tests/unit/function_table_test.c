// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions by a place in their file, and their names as people write them.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/string.h"
#include "elf/elf_image.h"
#include "elf/elf_symbols.h"
#include "base/demangle.h"
#include "symbols/function_table.h"

static void assert_base(const char *name, const char *expected)
{
	size_t length;
	const char *base = demangle_base(name, strlen(name), &length);

	assert_int_equal(length, strlen(expected));
	assert_memory_equal(base, expected, length);
}

static void test_base_names(void **state)
{
	(void)state;
	assert_base("work", "work");
	assert_base("at::empty()", "empty");
	assert_base("void at::native::elementwise_kernel<128, 4, at::Op<(int)1> >(int, at::Op)",
		    "elementwise_kernel");
	assert_base("void (anonymous namespace)::softmax<float>(float *)", "softmax");
	assert_base("void reduce<...>(...)", "reduce");
	assert_base("(lambda)", "(lambda)");
	assert_base("", "");
}

static void assert_demangled(const char *name, const char *expected)
{
	struct string out = { 0 };

	demangle_append(&out, name);
	string_append_char(&out, '\0');
	assert_string_equal(out.bytes, expected);
	string_fini(&out);
}

static void test_names(void **state)
{
	(void)state;
	assert_demangled("main", "main");
	assert_demangled("_ZN2at5emptyEv", "at::empty()");
	assert_demangled("_ZN2at5emptyEv.cold", "at::empty()");
	assert_demangled("_ZN2at5emptyEv.cold.123", "at::empty()");
	assert_demangled("_Znope", "_Znope");
	assert_demangled("", "");
}

static void assert_shortened(const char *name, const char *expected)
{
	char whole[400];
	struct string out = { 0 };

	/* Long enough to be shortened. */
	snprintf(whole, sizeof(whole), "%s_%0130d", name, 0);
	demangle_append_short(&out, whole);
	assert_true(out.length >= strlen(expected));
	assert_memory_equal(out.bytes, expected, strlen(expected));
	string_fini(&out);
}

static void test_long_names_have_no_parameters(void **state)
{
	(void)state;
	assert_shortened("std::vector<int, std::allocator<int> >::push(int const&)",
			 "std::vector<...>::push(...)_0");
	assert_shortened("(anonymous namespace)::f(int)", "(anonymous namespace)::f(...)_0");
	assert_shortened("a::operator()(int)", "a::operator()(...)_0");
	assert_shortened("a::operator<<(int)", "a::operator<<(...)_0");
	assert_shortened("a::operator->(b<c>)", "a::operator->(...)_0");
	assert_shortened("a<&(b::operator->)>::c()", "a<...>::c(...)_0");
	assert_shortened("a<b", "a<...>");
}

struct wanted {
	const char *name;
	uint64_t offset;
};

static int find(const struct elf_function *function, void *context)
{
	struct wanted *wanted = context;

	if (strcmp(function->name, wanted->name) != 0)
		return 0;
	wanted->offset = function->file_offset;
	return 1;
}

static void test_functions_of_this_program(void **state)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct wanted wanted = { .name = "function_table_make" };
	const struct function_entry *entry;
	struct function_table table;
	struct elf_image image;
	char name[FUNCTION_NAME_BYTES];
	uint64_t address;

	(void)state;
	assert_int_equal(elf_each_function(fd, find, &wanted, NULL), 1);
	assert_int_equal(function_table_make(&table, fd, false), 0);
	entry = function_table_find(&table, wanted.offset + 3);
	assert_non_null(entry);
	assert_int_equal(entry->begin, wanted.offset);
	assert_true(function_table_name(entry, fd, name));
	assert_string_equal(name, "function_table_make");
	assert_true(!function_table_find(&table, wanted.offset - 1) ||
		    function_table_find(&table, wanted.offset - 1) != entry);
	assert_null(function_table_find(&table, 0));
	assert_int_equal(elf_image_read(&image, fd), 0);
	assert_true(elf_image_address(&image, wanted.offset, &address));
	assert_false(elf_image_address(&image, UINT64_MAX, &address));
	function_table_fini(&table);
	close(fd);
}

static void test_no_file(void **state)
{
	struct function_table table;
	struct elf_image image;

	(void)state;
	assert_int_equal(function_table_make(&table, -1, false), -ENOEXEC);
	assert_null(function_table_find(&table, 1));
	assert_int_equal(elf_image_read(&image, -1), -ENOEXEC);
}

/* lld begins segments anywhere in a page; the kernel maps the page. */
static void test_mappings_begin_at_pages(void **state)
{
	const struct elf_image image = { .segments_count = 2,
					 .segments = { { 0x1800, 0x3800, 0x1900 },
						       { 0x3100, 0x9100, 0x2000 } } };
	uint64_t address;

	(void)state;
	assert_false(elf_image_address(&image, 0x1000, &address));
	assert_true(elf_image_mapping(&image, 0x1000, &address));
	assert_int_equal(address, 0x3000);
	/* A page that the end of one segment shares with the next one's beginning. */
	assert_true(elf_image_mapping(&image, 0x3000, &address));
	assert_int_equal(address, 0x9000);
	/* A part of a segment, whose protection was changed. */
	assert_true(elf_image_mapping(&image, 0x2000, &address));
	assert_int_equal(address, 0x4000);
	assert_false(elf_image_mapping(&image, 0x6000, &address));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base_names),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_long_names_have_no_parameters),
		cmocka_unit_test(test_functions_of_this_program),
		cmocka_unit_test(test_mappings_begin_at_pages),
		cmocka_unit_test(test_no_file),
	};

	return unit_run("functions", tests);
}
