/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who holds memory, as a stack for formats made for call stacks: that of the calls, if recordings
 * have it, lies in it. And what such a format has to say besides the numbers.
 */
#ifndef MEMSCOPE_EXPORT_OWNERS_H
#define MEMSCOPE_EXPORT_OWNERS_H

#include "base/string.h"
#include "report/report.h"

/* From the root; without OWNER_HOST if all recordings are one. */
enum owner_frame {
	OWNER_HOST,
	OWNER_PROCESS, /* "train (4242)"; `stack` comes between it and the next */
	OWNER_PLACE,   /* "device 0", "device unknown", "host" */
	OWNER_SPACE,
	OWNER_API,
	OWNER_FRAMES,
};

struct owner {
	const struct report_recording *recording;
	const struct process *process;
	const struct usage_cell *cell; /* its amounts are those of the stack alone */
	const struct stack *stack;     /* of the recording's state; NULL: not known */
};

/*
 * All cells of memory (reserved and mapped addresses are none) of all processes whose allocations
 * are known, each stack of a cell by itself, and last of what no stack is known. Ends when `visit`
 * returns other than 0.
 */
int owners_visit(const struct report *report,
		 int (*visit)(void *context, const struct owner *owner), void *context);

/* Printable ASCII, whatever the names are. */
void owner_append_frame(struct string *out, const struct owner *owner, enum owner_frame frame);

/* What makes the numbers less than the truth, a sentence each; printable ASCII. As above. */
int owners_remarks(const struct report *report, int (*take)(void *context, const char *text),
		   void *context);

#endif /* MEMSCOPE_EXPORT_OWNERS_H */
