// SPDX-License-Identifier: BSD-2-Clause
#include "report/site_ends.h"

#include <string.h>

static bool is_python(const struct process *process)
{
	const char *exe = process->identity.known.items[IDENTITY_EXE];
	const char *slash = exe ? strrchr(exe, '/') : NULL;

	return slash && !strncmp(slash + 1, "python", 6);
}

void site_ends_add(struct site_ends *ends, const struct process *process, const struct stack *stack,
		   uint64_t count)
{
	ends->allocs += count;
	if (!stack) {
		ends->none += count;
		return;
	}
	if (stack->lines) {
		ends->lined += count;
		return;
	}
	/* What has more frames than are kept has its innermost ones. */
	if (stack->end == MS_STACK_END_DEPTH)
		return;
	if (process && is_python(process))
		ends->lineless += count;
	if (stack->end != MS_STACK_END_COMPLETE && stack->end < MS_STACK_ENDS_COUNT)
		ends->early[stack->end] += count;
}

void site_ends_count(struct site_ends *ends, const struct process *process,
		     const struct stack *stack)
{
	site_ends_add(ends, process, stack, 1);
}

bool site_ends_lack(const struct site_ends *ends)
{
	return ends->none != ends->allocs &&
	       (ends->none || site_ends_lineless(ends) || site_ends_early(ends));
}

uint64_t site_ends_lineless(const struct site_ends *ends)
{
	return ends->lined ? ends->lineless : 0;
}

uint64_t site_ends_early(const struct site_ends *ends)
{
	uint64_t count = 0;
	size_t end;

	for (end = 0; end < MS_STACK_ENDS_COUNT; end++)
		count += ends->early[end];
	return count;
}
