// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/oom_outcome.h"

const char *oom_outcome_name(enum oom_outcome outcome)
{
	static const char *const names[] = {
#define X(outcome, name) name,
		OOM_OUTCOMES(X)
#undef X
	};

	return names[outcome];
}
