// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reader of function prologues. The first byte of the input says what the kernel can do and how
 * much of the function is missing, the rest is code.
 */
#include <stdlib.h>
#include <string.h>

#include "elf/prologue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_point(const struct prologue_point *point, const struct prologue_point *first,
			size_t length)
{
	check(point->offset < PROLOGUE_REACH && point->offset + point->length <= length);
	check(point->offset + point->length <= PROLOGUE_BYTES);
	check(point->form < PROLOGUE_FORMS_COUNT && prologue_form_name(point->form));
	check(point->price < PROLOGUE_PRICES_COUNT && prologue_price_name(point->price));
	/* It is only ever moved to what is cheaper. */
	check(!point->offset || (first->price == PROLOGUE_STEPPED && point->price < first->price));
	check(point->offset || !point->stack_bytes);
}

static void check_branch(size_t place, int64_t target, void *context)
{
	const struct prologue_point *point = context;

	(void)place;
	check(!point->offset || target <= 0 || target > point->offset);
}

static bool is_trampoline(uint64_t address, const void *context)
{
	(void)context;
	return address & 1;
}

/* The same bytes are no change, and neither is a breakpoint at the point. */
static void check_compared(const uint8_t *code, const struct prologue_point *point)
{
	uint8_t memory[PROLOGUE_BYTES];
	size_t length = point->offset + point->length;

	memcpy(memory, code, length);
	check(prologue_compare(code, memory, length, 0, is_trampoline, NULL) == PROLOGUE_SAME);
	if (!point->length)
		return;
	memory[point->offset] = 0xcc;
	check(prologue_compare(code, memory, length, 0, is_trampoline, NULL) == PROLOGUE_SAME);
	memory[point->offset] = code[point->offset] ^ 1;
	if (memory[point->offset] != 0xcc && memory[point->offset] != 0xe8)
		check(prologue_compare(code, memory, length, 0, is_trampoline, NULL) ==
		      PROLOGUE_CHANGED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prologue prologue;
	const uint8_t *code;

	if (!size)
		return 0;
	code = data + 1;
	size--;
	prologue_read(&prologue, code, size, size + (data[0] >> 1), data[0] & 1);
	check(!prologue.first.offset && !prologue.first.stack_bytes);
	check_point(&prologue.entry, &prologue.first, size);
	check_point(&prologue.result, &prologue.first, size);
	check(!prologue.result.stack_bytes);
	check(!(data[0] >> 1) || !prologue.entry.offset); /* cut off */
	prologue_find_branches(code, size, check_branch, &prologue.entry);
	check_compared(code, &prologue.entry);
	prologue_distrust(&prologue);
	check(!prologue.entry.offset && !prologue.result.offset);
	return 0;
}
