/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the probes of a library go in one process: which of its functions get one, at which
 * instruction, and which do not because the process has changed their code. What the best
 * instruction is, elf/prologue.h decides.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_PLACEMENT_H
#define MEMSCOPE_CAPTURE_ATTACH_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "capture/attach/library.h"

/* Which functions are wanted, as in struct programs_options. */
struct placement_wants {
	uint32_t ops, return_ops, layers;
	/*
	 * Bit sets of enum ms_row_kind. The runtime's functions of a kind that is in both are not
	 * wanted: `spared` may be left to the driver, and `below` is seen there in this process.
	 */
	uint32_t spared, below;
	const bool *named; /* by row: wanted all the same; NULL: none are */
};

bool placement_wants_return(const struct placement_wants *wants, uint32_t row);

/* Any function that the library has of that layer. */
bool placement_wants_of(const struct placement_wants *wants, const struct library *library,
			enum ms_layer layer);

/* Whether the library has functions that may be left to the driver. */
bool placement_may_spare(const struct placement_wants *wants, const struct library *library);

/* The point of a function that is probed there, whatever the process has made of its code. */
const struct prologue_point *placement_point(const struct placement_wants *wants,
					     const struct library_point *function);

struct placement {
	uint64_t *offsets; /* in the file; the library's points in order, but for the first */
	uint64_t *cookies; /* MS_COOKIE() */
	size_t count;
	size_t changed;          /* functions left out: their code is not the file's any more */
	uint32_t changed_row;    /* the first of them */
	uint32_t changed_driver; /* kinds (bit set) of those that are the driver's */
};

/*
 * Returns 0 or -ENOMEM; free it in any case. The kernel carries out the instruction that the file
 * has at the place of a probe: in a function that an inline hook has patched in memory that would
 * undo the hook, so it gets none. What cannot be looked at (no permission, not mapped yet) counts
 * as unchanged.
 *
 * The first one is of a function that is hardly ever called: it is to be the last one to be
 * detached, once the kernel has waited for the others. A thread that a probe has trapped just
 * before it was removed is only known to be one of these as long as its process has any probe; else
 * it gets SIGTRAP (kernel/events/uprobes.c, uprobe_pre_sstep_notifier()). docs/cost-and-safety.md
 * says where that was seen.
 */
int placement_init(struct placement *placement, const struct placement_wants *wants,
		   const struct library *library, pid_t pid);
void placement_fini(struct placement *placement);

/* What a process has of a function's code, up to the point that would be chosen. */
enum placement_code {
	PLACEMENT_UNKNOWN, /* not mapped, or not wanted */
	PLACEMENT_PLAIN,   /* the file's; the kernel probes no shared mapping, for one */
	PLACEMENT_PROBED,  /* the point has a probe, ours or not; the rest is the file's */
	PLACEMENT_CHANGED, /* not the file's */
};

/*
 * Says so of all of the library's functions: `code[i]` for `library->points[i]`, and of several
 * mappings what comes last above. Returns 0 or -errno.
 */
int placement_look(const struct placement_wants *wants, const struct library *library, pid_t pid,
		   enum placement_code *code);

/*
 * Whether the process has another code of each of these functions of the library, which are of no
 * row of the probe table. The process' mappings are read once, however many functions there are.
 */
void placement_find_changed(const struct library *library, const struct library_point *functions,
			    size_t count, pid_t pid, bool *changed);

#endif /* MEMSCOPE_CAPTURE_ATTACH_PLACEMENT_H */
