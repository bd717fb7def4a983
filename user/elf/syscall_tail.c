// SPDX-License-Identifier: BSD-2-Clause
#include "elf/syscall_tail.h"

#include <string.h>

static bool has(const uint8_t *code, size_t length, size_t at, const void *bytes, size_t count)
{
	return count <= length && at <= length - count && !memcmp(code + at, bytes, count);
}

/* Where they stand in the first `end` bytes; `end`: nowhere, or in several places. */
static size_t find_once(const uint8_t *code, size_t end, const void *bytes, size_t count)
{
	size_t i, found = end;

	for (i = 0; i < end; i++) {
		if (!has(code, end, i, bytes, count))
			continue;
		if (found != end)
			return end;
		found = i;
	}
	return found;
}

/* `add` or `sub` of the stack pointer, by a byte or a word. */
static bool moves_stack(const uint8_t *code, size_t begin, size_t end)
{
	size_t i;

	for (i = begin; i < end; i++)
		if (has(code, end, i, "\x48\x83\xec", 3) || has(code, end, i, "\x48\x81\xec", 3) ||
		    has(code, end, i, "\x48\x83\xc4", 3) || has(code, end, i, "\x48\x81\xc4", 3))
			return true;
	return false;
}

bool syscall_tail_find(const uint8_t *code, size_t length, struct syscall_tail *tail)
{
	size_t call, save, at;

	for (call = 0; call < length && !has(code, length, call, "\x0f\x05", 2); call++)
		;
	if (call == length)
		return false;
	save = find_once(code, call, "\x48\x89\x54\x24", 4); /* mov %rdx,N(%rsp) */
	if (save + 5 > call || code[save + 4] % 8 || code[save + 4] > 0x78 ||
	    moves_stack(code, save, call))
		return false;
	at = call + 2;
	if (has(code, length, at, "\x89\xc2", 2)) /* mov %eax,%edx */
		at += 2;
	if (has(code, length, at, "\x48", 1))
		at++;
	if (!has(code, length, at, "\x3d\x00\xf0\xff\xff", 5)) /* cmp $0xfffff000,%eax */
		return false;
	at += 5;
	if (!has(code, length, at, "\x77", 1) && !has(code, length, at, "\x0f\x87", 2)) /* ja */
		return false;
	tail->jump = (uint32_t)at;
	tail->saved = code[save + 4];
	return true;
}
