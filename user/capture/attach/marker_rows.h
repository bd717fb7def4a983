/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions of which files are markers, and what each means: those of NVTX, by their names,
 * and those that the user has named. A row is what the kernel side has of it, too.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_MARKER_ROWS_H
#define MEMSCOPE_CAPTURE_ATTACH_MARKER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

struct marker_row {
	struct ms_marker_row kernel;
	char *library;        /* as the user has named it; NULL: any that exports the function */
	const char *function; /* of NVTX: a constant; the user's: behind `library`, in its memory */
	const char *
		provider; /* of a static probe (USDT), whose name is `function`; NULL: it is none */
	bool on_return;
};

struct marker_rows {
	struct marker_row rows[MS_MARKER_ROWS];
	size_t count;
	bool nvtx; /* the functions of NVTX are among them */
};

/*
 * Zeroed rows are none. Adds those of NVTX, once; if our library is loaded into the program
 * (`injected`), that of its function, and else only those of NVTX 2, which knows nothing of it.
 * Returns 0, -ENOSPC or -ENOMEM.
 */
int marker_rows_add_nvtx(struct marker_rows *rows, bool injected);

/* That function; and which row it has; -1: none. */
#define MARKER_ROWS_INJECTED "memscope_nvtx_marker"
int marker_rows_injected(const struct marker_rows *rows);

/*
 * Adds a function as the user names it, LIBRARY:FUNCTION: from its entry to its return it is a
 * phase. Returns 0, -EINVAL if it is not of that form, -EEXIST if the function has a row of its own
 * in the table of probes (its call begins before the phase would, and is not in it), -ENOSPC if
 * there are too many, or -ENOMEM.
 */
int marker_rows_add_function(struct marker_rows *rows, const char *text);

/*
 * The same of static probes, usdt:LIBRARY:PROVIDER:NAME, an instant, or :BEGIN,END, from the one to
 * the other a phase.
 */
int marker_rows_add_probe(struct marker_rows *rows, const char *text);

void marker_rows_fini(struct marker_rows *rows);

/*
 * Whether the row is of that function of the file. A library is named by its path, by its file's
 * name, or by the beginning of that: "libfoo" and "libfoo.so" are libfoo.so.1.2.
 */
bool marker_row_is_of(const struct marker_row *row, const char *path, const char *function);

/* The same of a static probe; and whether any of the rows is of one of the file. */
bool marker_row_is_probe(const struct marker_row *row, const char *path, const char *provider,
			 const char *name);
bool marker_rows_have_probes(const struct marker_rows *rows, const char *path);

#endif /* MEMSCOPE_CAPTURE_ATTACH_MARKER_ROWS_H */
