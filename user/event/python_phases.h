/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Python functions as phases: markers made from the call stacks of the calls that threads make. A
 * thread is in a function while its stacks have it. Between two calls nothing is seen, so a phase
 * lasts from the first call in the function to the end of the last one.
 *
 * A function that is called again, with no call of another function between, is told by its line:
 * a phase ends if the function goes back from another line to that of the phase's first call. A
 * loop in the function that has this line does the same. If a function calls itself, only the
 * outermost call counts.
 *
 * A stack that is cut does not have the outermost functions. The thread may be in them still: such
 * a stack ends only what lies inside the functions that it has.
 */
#ifndef MEMSCOPE_EVENT_PYTHON_PHASES_H
#define MEMSCOPE_EVENT_PYTHON_PHASES_H

#include <stdbool.h>
#include <stddef.h>

#define PYTHON_FUNCTIONS 16 /* that can be named */

struct python_function {
	char *file;       /* a path, or its end from a slash on; the same as `name`: any */
	const char *name; /* qualified, or its end from a dot on; in the memory of `file` */
};

struct python_functions {
	struct python_function list[PYTHON_FUNCTIONS];
	size_t count;
};

/*
 * Adds [FILE:]FUNCTION. Zeroed functions are empty. Returns 0, -EINVAL if the text has another
 * form, -ENOSPC if there are too many, or -ENOMEM.
 */
int python_functions_add(struct python_functions *functions, const char *text);
void python_functions_fini(struct python_functions *functions);

struct python_phases;

/*
 * `functions` outlive it. `feed` gets each marker: a nonzero result is what python_phases_take()
 * returns. NULL without memory.
 */
struct python_phases *python_phases_new(const struct python_functions *functions,
					int (*feed)(void *context, void *record, size_t length),
					void *context);

/*
 * Call it before a record is fed, of any kind. What has been checked (event/event.h), and what has
 * not, is the same to it. Returns 0, the result of `feed`, or -ENOMEM.
 */
int python_phases_take(struct python_phases *phases, const void *record, size_t length);

/*
 * The capture is over: what threads are in ends with their latest calls. Returns 0 or the result of
 * `feed`.
 */
int python_phases_end(struct python_phases *phases);

/* Whether a call was made in the function at that place of the list. */
bool python_phases_saw(const struct python_phases *phases, size_t place);

void python_phases_free(struct python_phases *phases);

#endif /* MEMSCOPE_EVENT_PYTHON_PHASES_H */
