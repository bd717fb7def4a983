// SPDX-License-Identifier: BSD-2-Clause
/*
 * How processes ended: killed now, where they exited before. An exit with another code is no noise
 * either.
 */
#include "report/diff.h"

static bool is_known(const struct process *process)
{
	return process->exited && process->exit_status != MS_EXIT_UNKNOWN;
}

/* It was killed, or says itself that it failed. */
static bool is_bad(const struct process *process)
{
	return is_known(process) && process->exit_status;
}

static bool is_comparable(const struct diff_pair *pair)
{
	return pair->presence == DIFF_IN_BOTH && pair->a.shown && pair->b.shown;
}

bool diff_ends_differ(const struct diff_pair *pair)
{
	const struct process *a = pair->a.process, *b = pair->b.process;

	if (!is_comparable(pair))
		return false;
	/* What goes on for longer than it was recorded has not ended otherwise. */
	return is_known(a) && is_known(b) ? a->exit_status != b->exit_status :
					    is_bad(a) != is_bad(b);
}

bool diff_ended_badly(const struct diff_pair *pair)
{
	return is_comparable(pair) && is_bad(pair->b.process) && !is_bad(pair->a.process);
}
