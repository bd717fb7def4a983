// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_outage.h"

#include "ledger/state.h"
#include "render/report_oom_words.h"
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

/* ---- a sentence ------------------------------------------------------------------------------ */

/* The process that was refused most often: its last failure that is described. */
static const struct analysis_oom *most_refused(const struct report_recording *recording)
{
	const struct analysis_oom *most = NULL;
	size_t i;

	for (i = 0; i < recording->ooms_count; i++) {
		const struct analysis_oom *oom = recording->ooms[i];

		if (!most || (are_of_one(oom, most) ? oom->last_ts_ns >= most->last_ts_ns :
						      refused_of(recording, oom).count >
							      refused_of(recording, most).count))
			most = oom;
	}
	return most;
}

static void append_times(struct string *out, uint64_t count)
{
	string_append_format(out, "%s time%s", REPORT_COUNT(count), count == 1 ? "" : "s");
}

static void append_others(struct string *out, const struct report_recording *recording,
			  const struct analysis_oom *most)
{
	uint64_t count = 0, processes = 0;
	const struct analysis_oom *last = NULL;
	size_t i;

	for (i = 0; i < recording->ooms_count; i++) {
		if (are_of_one(recording->ooms[i], most) || !is_first_of(recording, i))
			continue;
		last = recording->ooms[i];
		count += refused_of(recording, last).count;
		processes++;
	}
	if (!last)
		return;
	string_append_text(out, " It ran out ");
	append_times(out, count);
	string_append_text(out, " for ");
	if (processes == 1)
		report_append_process(out, last->pid, last->name);
	else
		string_append_format(out, "%s other processes", REPORT_COUNT(processes));
	string_append_text(out, ", too.");
}

static void say(struct string *out, const struct report_recording *recording)
{
	const struct analysis_oom *most = most_refused(recording);
	const struct refused refused = refused_of(recording, most);

	string_append_text(out, "Memory ran out ");
	append_times(out, refused.count);
	string_append_text(out, " for ");
	report_append_process(out, most->pid, most->name);
	string_append_text(out, refused.last_ts_ns > refused.first_ts_ns ? ", from " : ", at ");
	report_append_time(out, recording, refused.first_ts_ns);
	if (refused.last_ts_ns > refused.first_ts_ns) {
		string_append_text(out, " to ");
		report_append_time(out, recording, refused.last_ts_ns);
	}
	/* Of many, the last one may be none of those that are described. */
	if (most->last_ts_ns >= refused.last_ts_ns) {
		string_append_text(out, ". How that ended: ");
		report_append_oom_outcome(out, recording, most);
	}
	string_append_char(out, '.');
	append_others(out, recording, most);
}

/* Of the first recording that has any. */
void report_outage_say(struct verdict *verdict, const struct report *report)
{
	const struct report_recording *where = NULL;
	const struct finding *first = report_gravest(report, false, &where);
	size_t i;

	if (first && first->rule == FINDING_OOM)
		return;
	for (i = 0; i < report->count; i++)
		if (report->recordings[i]->ooms_count) {
			say(verdict_sentence(verdict), report->recordings[i]);
			return;
		}
}
