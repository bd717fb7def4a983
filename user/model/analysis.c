// SPDX-License-Identifier: BSD-2-Clause
#include "model/analysis.h"

#include <stdlib.h>

struct analysis {
	const struct state *state;
	struct analysis_options options;
	struct analysis_account account;
};

static const struct analysis_threshold thresholds[] = {
#define X(member, name, value, unit, help) \
	{ name, FINDING_##unit, value, help, offsetof(struct analysis_options, member) },
	ANALYSIS_THRESHOLDS(X)
#undef X
};

const struct analysis_threshold *analysis_threshold_at(size_t i)
{
	return &thresholds[i];
}

struct analysis_options analysis_defaults(void)
{
	return (struct analysis_options){
#define X(member, name, value, unit, help) .member = value,
		ANALYSIS_THRESHOLDS(X)
#undef X
			.captured_ops = (1u << MS_OPS_COUNT) - 1,
	};
}

const char *analysis_oom_cause_name(enum oom_cause cause)
{
	static const char *const names[] = {
#define X(cause, name) name,
		OOM_CAUSES(X)
#undef X
	};

	return names[cause];
}

struct analysis *analysis_new(const struct state *state, const struct analysis_options *options)
{
	struct analysis *analysis = calloc(1, sizeof(*analysis));

	if (!analysis)
		return NULL;
	analysis->state = state;
	analysis->options = *options;
	return analysis;
}

void analysis_free(struct analysis *analysis)
{
	free(analysis);
}

int analysis_event(struct analysis *analysis, const struct event *event,
		   const struct change *change)
{
	(void)analysis;
	(void)event;
	(void)change;
	return 0;
}

void analysis_gap(struct analysis *analysis)
{
	(void)analysis;
}

int analysis_finish(struct analysis *analysis, uint64_t end_ns, const struct ms_counters *counters)
{
	(void)analysis;
	(void)end_ns;
	(void)counters;
	return 0;
}

const struct finding *analysis_findings(const struct analysis *analysis, size_t *count)
{
	(void)analysis;
	*count = 0;
	return NULL;
}

const struct analysis_oom *analysis_ooms(const struct analysis *analysis, size_t *count)
{
	(void)analysis;
	*count = 0;
	return NULL;
}

const struct analysis_account *analysis_account(const struct analysis *analysis)
{
	return &analysis->account;
}
