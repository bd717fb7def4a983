// SPDX-License-Identifier: BSD-2-Clause
/*
 * Walks copies of stacks, which the sampler has made, with libdw. `walk_copies COPIES MAPS` prints
 * a line for each: its number, then of each frame FILE+ADDRESS, as the file's symbols have it.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"

#define MOST 4096 /* frames: more than a trace takes */
#define THREAD 1  /* the id of the only one that a copy has */

struct copy {
	struct sample sample;
	unsigned char stack[SAMPLE_STACK_BYTES];
};

static struct copy copy;
static int frames;

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	(void)dwfl;
	(void)context;
	if (*thread)
		return 0;
	*thread = &copy;
	return THREAD;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *context)
{
	const uint64_t from = copy.sample.registers[SAMPLE_SP] - SAMPLE_RED_ZONE;

	(void)dwfl;
	(void)context;
	if (address < from || address - from > SAMPLE_STACK_BYTES - sizeof(*result))
		return false;
	memcpy(result, copy.stack + (address - from), sizeof(*result));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	Dwarf_Word words[SAMPLE_REGISTERS];
	int i;

	(void)context;
	for (i = 0; i < SAMPLE_REGISTERS; i++)
		words[i] = copy.sample.registers[i];
	return dwfl_thread_state_registers(thread, 0, SAMPLE_REGISTERS, words);
}

static int print_frame(Dwfl_Frame *frame, void *context)
{
	Dwfl *dwfl = context;
	Dwfl_Module *module;
	GElf_Addr bias = 0;
	Dwarf_Addr address;
	bool exact;

	if (!dwfl_frame_pc(frame, &address, &exact))
		return DWARF_CB_ABORT;
	if (!address)
		return DWARF_CB_ABORT;
	module = dwfl_addrmodule(dwfl, exact ? address : address - 1);
	if (module && dwfl_module_getelf(module, &bias))
		printf(" %s+%#lx",
		       dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
		       (unsigned long)(address - bias));
	else
		printf(" ?+%#lx", (unsigned long)address);
	return ++frames < MOST ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static int find_nothing(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	*found = NULL;
	return -1;
}

static Dwfl *open_process(const char *path)
{
	/* The frames are to be found by .eh_frame alone, as the kernel side does. */
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
						  .find_debuginfo = find_nothing };
	static const Dwfl_Thread_Callbacks threads = { .next_thread = next_thread,
						       .memory_read = read_memory,
						       .set_initial_registers = set_registers };
	Dwfl *dwfl = dwfl_begin(&callbacks);
	FILE *maps = fopen(path, "re");

	if (!dwfl || !maps || dwfl_linux_proc_maps_report(dwfl, maps) ||
	    dwfl_report_end(dwfl, NULL, NULL) ||
	    !dwfl_attach_state(dwfl, NULL, getpid(), &threads, NULL)) {
		fprintf(stderr, "%s: %s\n", path, dwfl_errmsg(-1));
		exit(2);
	}
	fclose(maps);
	return dwfl;
}

int main(int argc, char **argv)
{
	FILE *copies = argc == 3 ? fopen(argv[1], "re") : NULL;
	Dwfl *dwfl;

	if (!copies) {
		fprintf(stderr, "usage: walk_copies COPIES MAPS\n");
		return 2;
	}
	dwfl = open_process(argv[2]);
	memset(&copy, 0, sizeof(copy));
	while (fread(&copy, 1, sizeof(copy), copies) > sizeof(copy.sample)) {
		frames = 0;
		printf("%u", copy.sample.number);
		dwfl_getthread_frames(dwfl, THREAD, print_frame, dwfl);
		printf("\n");
		memset(&copy, 0, sizeof(copy));
	}
	dwfl_end(dwfl);
	return 0;
}
