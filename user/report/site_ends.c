// SPDX-License-Identifier: BSD-2-Clause
#include "report/site_ends.h"

#include <string.h>

static bool is_python(const struct process *process)
{
	const char *exe = process->identity.known.items[IDENTITY_EXE];
	const char *slash = exe ? strrchr(exe, '/') : NULL;

	return slash && !strncmp(slash + 1, "python", 6);
}

void site_ends_count(struct site_ends *ends, const struct process *process,
		     const struct stack *stack)
{
	ends->allocs++;
	if (!stack) {
		ends->none++;
		return;
	}
	if (stack->lines) {
		ends->lined++;
		return;
	}
	/* What has more frames than are kept has its innermost ones. */
	if (stack->end == MS_STACK_END_DEPTH)
		return;
	if (process && is_python(process))
		ends->lineless++;
	if (stack->end != MS_STACK_END_COMPLETE && stack->end < MS_STACK_ENDS_COUNT)
		ends->early[stack->end]++;
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
