// SPDX-License-Identifier: BSD-2-Clause
#include "render/outsiders_words.h"

#include "render/identity_words.h"
#include "render/report_words.h"

/* Its pid may have been another's before. */
static const struct process *last_with_pid(const struct state *state, uint32_t pid)
{
	const struct process *last = NULL;
	size_t i;

	for (i = 0; i < state->processes_count; i++)
		if (state->processes[i]->pid == pid)
			last = state->processes[i];
	return last;
}

/* Workers of a data loader have the driver from their parent and never call it. */
static void append_forks(struct string *out, const struct report_recording *recording)
{
	const struct untraced_forks *forks = &recording->coverage.forks;
	size_t i;

	for (i = 0; i < forks->count; i++) {
		const struct untraced_forks_parent *parent = &forks->parents[i];
		const struct process *process = last_with_pid(recording->state, parent->pid);
		const bool one = parent->count == 1;

		string_append_format(out, "whether at least %s child%s of ",
				     REPORT_COUNT(parent->count), one ? "" : "ren");
		if (process)
			identity_words_process(out, process);
		else
			string_append_format(out, "process %u", parent->pid);
		string_append_text(out, " used CUDA: forked while it was recorded, with the driver"
					" mapped, and not recorded (");
		untraced_forks_append_pids(out, parent);
		string_append_text(out, "; record -f includes children)\n");
	}
}

static void append_leavers(struct string *out, const struct report_recording *recording)
{
	const struct cgroup_leavers *leavers = &recording->coverage.leavers;
	const struct process *process;

	if (!leavers->count)
		return;
	string_append_text(out, "since when ");
	process = leavers->count == 1 ? last_with_pid(recording->state, leavers->pids[0]) : NULL;
	if (process)
		identity_words_process(out, process);
	else
		string_append_format(out, "%s process%s", REPORT_COUNT(leavers->count),
				     leavers->count == 1 ? "" : "es");
	string_append_text(out, leavers->count == 1 ? " was" : " were");
	string_append_text(out,
			   " outside of what was chosen: left while recorded, and recorded to the"
			   " end all the same (");
	cgroup_leavers_append_pids(out, leavers);
	string_append_text(out, ")\n");
}

void outsiders_words(struct string *out, const struct report_recording *recording)
{
	append_forks(out, recording);
	append_leavers(out, recording);
}
