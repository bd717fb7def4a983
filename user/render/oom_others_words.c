// SPDX-License-Identifier: BSD-2-Clause
#include "render/oom_others_words.h"

#include <string.h>

#include "render/field.h"
#include "render/identity_words.h"
#include "render/report_words.h"

#define NAMED 3 /* in a sentence */

typedef void part_fn(struct string *out, const struct identity *identity);

static void append_job(struct string *out, const struct identity *identity)
{
	if (identity->items[IDENTITY_JOB])
		field_append_safe(out, identity->items[IDENTITY_JOB],
				  strlen(identity->items[IDENTITY_JOB]));
}

/* What is the same for both says nothing. Returns whether it was said. */
static bool append_part(struct string *out, const char *before, part_fn *part,
			const struct process *whose, const struct process *failed)
{
	struct string words = { 0 }, other = { 0 };
	bool differs;

	part(&words, &whose->identity.known);
	if (failed)
		part(&other, &failed->identity.known);
	differs = words.length && (words.length != other.length ||
				   memcmp(words.bytes, other.bytes, words.length) != 0);
	if (differs) {
		string_append_text(out, before);
		string_append(out, words.bytes, words.length);
	}
	out->failed |= words.failed || other.failed;
	string_fini(&words);
	string_fini(&other);
	return differs;
}

static void append_whose(struct string *out, const struct report_recording *recording,
			 const struct analysis_oom *oom, const struct process *whose)
{
	const struct process *failed = state_find(recording->state, oom->pid, oom->start_ns);
	bool said = append_part(out, " of user ", identity_words_user, whose, failed);

	if (append_part(out, said ? ", pod " : " of pod ", identity_words_pod, whose, failed))
		said = true;
	else
		said |= append_part(out, said ? ", container " : " of container ",
				    identity_words_container, whose, failed);
	append_part(out, said ? ", job " : " of job ", append_job, whose, failed);
}

static void append_holder(struct string *out, const struct report_recording *recording,
			  const struct analysis_oom *oom, const struct oom_holder *holder)
{
	const struct process *process = state_find(recording->state, holder->pid, holder->start_ns);

	report_append_process(out, holder->pid, process ? process->name : holder->comm);
	if (process)
		append_whose(out, recording, oom, process);
	string_append_format(out, " %s", REPORT_SIZE(holder->bytes));
}

void oom_others_words_first(struct string *out, const struct report_recording *recording,
			    const struct analysis_oom *oom)
{
	if (oom->others.count)
		append_holder(out, recording, oom, &oom->others.list[0]);
}

void oom_others_words(struct string *out, const struct report_recording *recording,
		      const struct analysis_oom *oom)
{
	const struct oom_others *others = &oom->others;
	const size_t named = others->count < NAMED ? others->count : NAMED;
	size_t i;

	string_append_format(out, "others held %s, %.0f %% of what was in use",
			     REPORT_SIZE(others->bytes),
			     (double)others->bytes * 100 / (double)others->in_use_bytes);
	for (i = 0; i < named; i++) {
		string_append_text(out, i ? ", " : ": ");
		append_holder(out, recording, oom, &others->list[i]);
	}
	if (others->count + others->more > named)
		string_append_format(out, " and %zu more", others->count + others->more - named);
	if (others->untraced)
		string_append_format(out, "%s%u process%s that %s not recorded %s", i ? ", " : ": ",
				     others->untraced, others->untraced == 1 ? "" : "es",
				     others->untraced == 1 ? "was" : "were",
				     REPORT_SIZE(others->untraced_bytes));
	if (others->sampled && others->sample_ns < oom->figures_ts_ns)
		string_append_format(out, ", by NVML's numbers from %s before",
				     REPORT_DURATION(oom->figures_ts_ns - others->sample_ns));
}
