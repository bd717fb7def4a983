// SPDX-License-Identifier: BSD-2-Clause
#include "capture/mark.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/string.h"

#define RANGE_SEED 0x6d61726b /* the same in every run: ranges are begun and ended by two */

/*
 * The kernel counts the probes here, in each process that has the file mapped. That takes memory
 * with a place in the file, which static memory that begins as 0 has not by itself. The section is
 * the one that static probes have.
 */
__attribute__((section(".probes"), used)) static volatile uint16_t listeners;

unsigned int mark_listeners(void)
{
	return listeners;
}

/* The probe reads its arguments. */
__attribute__((noinline)) static void say(uint64_t action, uint64_t pid, const char *name)
{
	__asm__ volatile("" : : "r"(action), "r"(pid), "r"(name) : "memory");
}

/* So that there is one such function, and it is called. */
static void (*const volatile said)(uint64_t action, uint64_t pid, const char *name) = say;

void mark(enum ms_marker_action action, pid_t pid, const char *name)
{
	said(action, (uint64_t)pid, name);
}

uint64_t mark_range(const char *name)
{
	return string_hash(RANGE_SEED, name, strlen(name)) | 1;
}

/* ---- where it is ----------------------------------------------------------------------------- */

/* In the file, if it is loaded from there. */
static bool offset_of(const struct dl_phdr_info *program, uintptr_t address, uint64_t *offset)
{
	size_t i;

	for (i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &program->dlpi_phdr[i];
		const uintptr_t begin = program->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || address < begin || address - begin >= part->p_filesz)
			continue;
		*offset = part->p_offset + (address - begin);
		return true;
	}
	return false;
}

/* The program itself is the first. */
static int find(struct dl_phdr_info *program, size_t size, void *context)
{
	struct mark_place *place = context;

	(void)size;
	return offset_of(program, (uintptr_t)say, &place->function) &&
			       offset_of(program, (uintptr_t)&listeners, &place->counter) ?
		       1 :
		       -1;
}

bool mark_place_find(struct mark_place *place)
{
	return dl_iterate_phdr(find, place) == 1;
}
