// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where members are, by types that are made here, and by those of the running kernel.
 */
#include "unit.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/attach/who_layout.h"
#include "elf/btf.h"

#define STRINGS "\0outer\0first\0inner\0second\0table\0int"

enum {
	OUTER = 1,
	FIRST = 7,
	INNER = 13,
	SECOND = 19,
	TABLE = 26,
	INT = 32,
};

/*
 * 1: int; 2: int[5]; 3: struct inner { int first; int second; };
 * 4: unnamed union { struct inner inner; int[5] table; }; 5: const 4;
 * 6: struct outer { int first; const union at 8 }
 */
static const struct {
	struct btf_header header;
	struct btf_type number;
	uint32_t encoding;
	struct btf_type five;
	struct btf_array elements;
	struct btf_type inner;
	struct btf_member inners[2];
	struct btf_type either;
	struct btf_member eithers[2];
	struct btf_type constant;
	struct btf_type outer;
	struct btf_member outers[2];
	char strings[sizeof(STRINGS)];
} made = {
	.header = { .magic = BTF_MAGIC,
		    .version = BTF_VERSION,
		    .hdr_len = sizeof(struct btf_header),
		    .type_len = 6 * sizeof(struct btf_type) + 4 + sizeof(struct btf_array) +
				6 * sizeof(struct btf_member),
		    .str_off = 6 * sizeof(struct btf_type) + 4 + sizeof(struct btf_array) +
			       6 * sizeof(struct btf_member),
		    .str_len = sizeof(STRINGS) },
	.number = { .name_off = INT, .info = BTF_KIND_INT << 24, .size = 4 },
	.encoding = 32,
	.five = { .info = BTF_KIND_ARRAY << 24 },
	.elements = { .type = 1, .index_type = 1, .nelems = 5 },
	.inner = { .name_off = INNER, .info = BTF_KIND_STRUCT << 24 | 2, .size = 8 },
	.inners = { { FIRST, 1, 0 }, { SECOND, 1, 32 } },
	.either = { .info = BTF_KIND_UNION << 24 | 2, .size = 20 },
	.eithers = { { INNER, 3, 0 }, { TABLE, 2, 0 } },
	.constant = { .info = BTF_KIND_CONST << 24, .type = 4 },
	.outer = { .name_off = OUTER, .info = BTF_KIND_STRUCT << 24 | 2, .size = 28 },
	.outers = { { FIRST, 1, 0 }, { 0, 5, 64 } },
	.strings = STRINGS,
};

static void test_offsets_across_what_has_no_name(void **state)
{
	struct btf_types types;

	(void)state;
	assert_int_equal(btf_types_init(&types, &made, sizeof(made)), 0);
	assert_int_equal(types.count, 6);
	assert_int_equal(btf_types_find(&types, "outer.first"), 0);
	assert_int_equal(btf_types_find(&types, "inner.second"), 4);
	assert_int_equal(btf_types_find(&types, "outer.inner.second"), 12);
	assert_int_equal(btf_types_find(&types, "outer.table"), 8);
	assert_int_equal(btf_types_find(&types, "outer.table[]"), 5);
	assert_int_equal(btf_types_find(&types, "outer.third|outer.inner"), 8);
	assert_int_equal(btf_types_find(&types, "outer.third"), -ENOENT);
	assert_int_equal(btf_types_find(&types, "outer.second"), -ENOENT);
	assert_int_equal(btf_types_find(&types, "outer.inner[]"), -ENOENT);
	assert_int_equal(btf_types_find(&types, "oute.first"), -ENOENT);
	assert_int_equal(btf_types_find(&types, "int.first"), -ENOENT);
	assert_int_equal(btf_types_find(&types, ""), -ENOENT);
	btf_types_fini(&types);
}

/* Whatever the bytes are: the sanitizers look for reads outside of them. */
static void test_damaged_types(void **state)
{
	unsigned char *bytes = malloc(sizeof(made));
	struct btf_types types;
	size_t i;

	(void)state;
	for (i = 0; i < 8 * sizeof(made); i++) {
		memcpy(bytes, &made, sizeof(made));
		bytes[i / 8] ^= 1 << i % 8;
		if (!btf_types_init(&types, bytes, sizeof(made)))
			btf_types_find(&types, "outer.inner.second|outer.table[]|inner.first");
		btf_types_fini(&types);
	}
	for (i = 0; i < sizeof(made); i++) {
		unsigned char *cut = malloc(i);

		memcpy(cut, &made, i);
		assert_int_not_equal(btf_types_init(&types, cut, i), 0);
		btf_types_fini(&types);
		free(cut);
	}
	free(bytes);
}

static void test_the_running_kernel_has_all_that_is_asked(void **state)
{
	struct ms_who_layout layout = { 0 };

	(void)state;
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	who_layout_learn(&layout);
	assert_int_equal(layout.known, UINT32_MAX);
	/* It is the first member in all of them; what is not found has no offset either. */
	assert_int_equal(layout.state_group, 0);
	assert_true(layout.dentry_name > layout.dentry_parent);
	assert_true(layout.states_count > 4 && layout.states_count <= 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets_across_what_has_no_name),
		cmocka_unit_test(test_damaged_types),
		cmocka_unit_test(test_the_running_kernel_has_all_that_is_asked),
	};

	return cmocka_run_group_tests_name("types of the kernel", tests, NULL, NULL);
}
