// SPDX-License-Identifier: BSD-2-Clause
/*
 * The numbers that the rules go by: a table of what can be set, with what it is if it is not.
 */
#include "analysis/analysis.h"

static const struct threshold thresholds[] = {
#define X(member, name, value, unit, help) \
	{ name, FINDING_##unit, value, help, offsetof(struct analysis_options, member) },
	ANALYSIS_THRESHOLDS(X)
#undef X
};

const struct threshold *analysis_threshold_at(size_t i)
{
	return i < sizeof(thresholds) / sizeof(*thresholds) ? &thresholds[i] : NULL;
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
