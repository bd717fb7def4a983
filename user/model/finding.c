// SPDX-License-Identifier: BSD-2-Clause
#include "model/finding.h"

const char *finding_rule_name(enum finding_rule rule)
{
	static const char *const names[] = {
#define X(rule, name, topic) name,
		FINDING_RULES(X)
#undef X
	};

	return names[rule];
}

enum finding_topic finding_topic_of(enum finding_rule rule)
{
	static const enum finding_topic topics[] = {
#define X(rule, name, topic) FINDING_TOPIC_##topic,
		FINDING_RULES(X)
#undef X
	};

	return topics[rule];
}
