/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions of which files are markers, and what each means: NVTX's functions, and those that
 * the user names. The kernel side has the same rows.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_MARKER_ROWS_H
#define MEMSCOPE_CAPTURE_ATTACH_MARKER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

struct marker_row {
	struct ms_marker_row kernel;
	char *library;        /* as the user named it; NULL: any that exports the function */
	const char *function; /* a constant, or in the memory of `library`, after it */
	const char *provider; /* of a static probe (USDT) named `function`; NULL: a function */
	bool on_return;
};

struct marker_rows {
	struct marker_row rows[MS_MARKER_ROWS];
	size_t count;
	bool nvtx; /* the functions of NVTX are among them */
};

/*
 * Adds the rows of NVTX's functions; a second call adds nothing. If our library is loaded into the
 * program (`injected`), adds its function, and of NVTX only version 2, which does not use our
 * library. Zeroed rows are empty. Returns 0, -ENOSPC or -ENOMEM.
 */
int marker_rows_add_nvtx(struct marker_rows *rows, bool injected);

/* The function of our library; and its row, -1: none. */
#define MARKER_ROWS_INJECTED "memscope_nvtx_marker"
int marker_rows_injected(const struct marker_rows *rows);

/* Of MS_MARKER_ROW_COMMAND, which is in no struct marker_rows. */
extern const struct ms_marker_row marker_row_command;

/*
 * Adds a function, LIBRARY:FUNCTION, which is a phase from its entry to its return. Returns 0,
 * -EINVAL if the text has another form, -EEXIST if the function has a row in the table of probes
 * (its call would begin before its phase), -ENOSPC if there are too many rows, or -ENOMEM.
 */
int marker_rows_add_function(struct marker_rows *rows, const char *text);

/*
 * Adds static probes: usdt:LIBRARY:PROVIDER:NAME is an instant, and usdt:LIBRARY:PROVIDER:BEGIN,END
 * a phase between the two. Returns the same.
 */
int marker_rows_add_probe(struct marker_rows *rows, const char *text);

void marker_rows_fini(struct marker_rows *rows);

/*
 * Whether the row is that function of the file. The user names a library by its path, by its file's
 * name, or by the beginning of this name: "libfoo" and "libfoo.so" are libfoo.so.1.2.
 */
bool marker_row_is_of(const struct marker_row *row, const char *path, const char *function);

/* The same for a static probe; and whether any row is a static probe of the file. */
bool marker_row_is_probe(const struct marker_row *row, const char *path, const char *provider,
			 const char *name);
bool marker_rows_have_probes(const struct marker_rows *rows, const char *path);

#endif /* MEMSCOPE_CAPTURE_ATTACH_MARKER_ROWS_H */
