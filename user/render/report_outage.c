// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_outage.h"

#include "ledger/state.h"
#include "render/report_words.h"

/* As far as it is known: of a process that is kept no longer, what the failure itself says. */
static struct refused refused_of(const struct report_recording *recording,
				 const struct analysis_oom *oom)
{
	const struct process *process = state_find(recording->state, oom->pid, oom->start_ns);

	if (process && process->refused.count)
		return process->refused;
	return (struct refused){ oom->failures, oom->ts_ns, oom->last_ts_ns };
}

static bool are_of_one(const struct analysis_oom *oom, const struct analysis_oom *other)
{
	return oom->pid == other->pid && oom->start_ns == other->start_ns;
}

/* Whether none before it is of the same process. */
static bool is_first_of(const struct report_recording *recording, size_t place)
{
	size_t i;

	for (i = 0; i < place; i++)
		if (are_of_one(recording->ooms[i], recording->ooms[place]))
			return false;
	return true;
}

struct refused report_outage_of(const struct report_recording *recording)
{
	struct refused all = { 0 };
	size_t i;

	for (i = 0; i < recording->ooms_count; i++) {
		const struct refused one = refused_of(recording, recording->ooms[i]);

		if (!is_first_of(recording, i))
			continue;
		if (!all.count || one.first_ts_ns < all.first_ts_ns)
			all.first_ts_ns = one.first_ts_ns;
		if (one.last_ts_ns > all.last_ts_ns)
			all.last_ts_ns = one.last_ts_ns;
		all.count += one.count;
	}
	return all;
}

void report_outage_append_all(struct string *out, const struct report_recording *recording,
			      const struct analysis_oom *oom)
{
	const struct refused refused = refused_of(recording, oom);
	const bool went_on = refused.last_ts_ns > oom->last_ts_ns;

	if (refused.count < 2)
		return;
	string_append_format(out, " (%s%s times %s ",
			     recording->coverage.has_beginning ? "" : "at least ",
			     REPORT_COUNT(refused.count), went_on ? "from" : "since");
	report_append_time(out, recording, refused.first_ts_ns);
	if (went_on) {
		string_append_text(out, " to ");
		report_append_time(out, recording, refused.last_ts_ns);
	}
	string_append_char(out, ')');
}
