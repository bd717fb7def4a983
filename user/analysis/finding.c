// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/finding.h"

#include "analysis/oom_watch.h"

void finding_say(struct finding *finding, const char *what, enum finding_unit unit, uint64_t value)
{
	finding_say_of(finding, what, NULL, unit, value);
}

void finding_say_of(struct finding *finding, const char *what, const char *name,
		    enum finding_unit unit, uint64_t value)
{
	if (finding->evidence_count < FINDING_EVIDENCE_MAX)
		finding->evidence[finding->evidence_count++] = (struct finding_evidence){
			.what = what,
			.name = name,
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

bool finding_ended_well(const struct finding *finding)
{
	return finding->rule == FINDING_OOM &&
	       (finding->outcome == OOM_RECOVERED || finding->outcome == OOM_BACKED_OFF);
}

uint64_t finding_rate(uint64_t amount, uint64_t length_ns)
{
	unsigned __int128 rate = (unsigned __int128)amount * 1000000000;

	if (!length_ns)
		return 0;
	rate /= length_ns;
	return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

const char *finding_confidence_name(enum finding_confidence confidence)
{
	switch (confidence) {
	case FINDING_LOW:
		return "low";
	case FINDING_MEDIUM:
		return "medium";
	case FINDING_HIGH:
		return "high";
	}
	return "low";
}

const char *finding_topic_name(enum finding_topic topic)
{
	switch (topic) {
	case FINDING_TOPIC_LEAK:
		return "leak";
	case FINDING_TOPIC_KEPT:
		return "kept";
	case FINDING_TOPIC_OOM:
		return "out-of-memory";
	case FINDING_TOPIC_CHURN:
		return "churn";
	case FINDING_TOPIC_COPIES:
		return "copies";
	case FINDING_TOPIC_BOTTLENECK:
		return "bottleneck";
	case FINDING_TOPIC_NOTE:
		return "note";
	case FINDING_TOPICS_COUNT:
		break;
	}
	return "";
}

/* ---- the rules ------------------------------------------------------------------------------- */

#define BIT(op) (1u << MS_OP_##op)

static const struct {
	const char *name;
	enum finding_topic topic;
	uint32_t needs;
	enum rule_blind blind;
	const char *says, *suggestion;
} rules[FINDING_RULES_COUNT] = {
#define RULE(id, rule, of, needed, blinded, function, words, ...) \
	[FINDING_##id] = { .name = (rule), \
			   .topic = FINDING_TOPIC_##of, \
			   .needs = (needed), \
			   .blind = RULE_BLIND_##blinded, \
			   .says = (words), \
			   .suggestion = (__VA_ARGS__) },
#include "analysis/rules.def"
#undef RULE
};

const char *finding_rule_name(enum finding_rule rule)
{
	return rules[rule].name;
}

enum finding_topic finding_topic_of(enum finding_rule rule)
{
	return rules[rule].topic;
}

uint32_t finding_rule_needs(enum finding_rule rule)
{
	return rules[rule].needs;
}

enum rule_blind finding_rule_blind(enum finding_rule rule)
{
	return rules[rule].blind;
}

const char *finding_says(const struct finding *finding)
{
	return finding->says ? finding->says : rules[finding->rule].says;
}

const char *finding_rule_suggestion(enum finding_rule rule)
{
	return rules[rule].suggestion;
}
