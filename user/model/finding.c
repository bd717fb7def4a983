// SPDX-License-Identifier: BSD-2-Clause
#include "model/finding.h"

void finding_say(struct finding *finding, const char *what, enum finding_unit unit, uint64_t value)
{
	if (finding->evidence_count < FINDING_EVIDENCE_MAX)
		finding->evidence[finding->evidence_count++] = (struct finding_evidence){
			.what = what,
			.unit = unit,
			.value = value,
		};
}

void finding_lower(struct finding *finding, enum finding_confidence confidence, const char *why)
{
	if (finding->confidence <= confidence)
		return;
	finding->confidence = confidence;
	finding->lowered_by = why;
}

uint64_t finding_rate(uint64_t amount, uint64_t length_ns)
{
	unsigned __int128 rate = (unsigned __int128)amount * 1000000000;

	if (!length_ns)
		return 0;
	rate /= length_ns;
	return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

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
