// SPDX-License-Identifier: BSD-2-Clause
#include "report/gate.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/nearest.h"

_Static_assert(FINDING_RULES_COUNT <= 64, "a set of rules has 64 bits");

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const kind_names[GATE_KINDS_COUNT] = {
	[GATE_LOSS] = "loss", [GATE_INEXACT] = "inexact", [GATE_EMPTY] = "empty",
	[GATE_NEW] = "new",   [GATE_ANY] = "any",         [GATE_LEFT] = "left",
};

bool gate_is_leak(enum finding_rule rule)
{
	return finding_topic_of(rule) == FINDING_TOPIC_LEAK && rule != FINDING_GROWTH;
}

/* A word alone: what most people mean by it. */
static bool take_short_word(struct gate_condition *condition, const char *word)
{
	enum finding_rule rule;

	condition->least = FINDING_MEDIUM;
	if (!strcmp(word, "leak")) {
		condition->is_topic = true;
		for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
			condition->rules |= (uint64_t)gate_is_leak(rule) << rule;
		return true;
	}
	/* How sure it is concerns the cause. */
	if (!strcmp(word, "oom") || !strcmp(word, "oom=any")) {
		condition->rules = 1ull << FINDING_OOM;
		condition->least = FINDING_LOW;
		condition->any_oom = word[3];
		return true;
	}
	return false;
}

static bool is_word(const char *name, const char *word, size_t length)
{
	return strlen(name) == length && !memcmp(name, word, length);
}

/* A rule's name, or a topic's. */
static bool take_rules(struct gate_condition *condition, const char *word, size_t length)
{
	enum finding_topic topic;
	enum finding_rule rule;

	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		if (rule != FINDING_GROWTH && is_word(finding_rule_name(rule), word, length))
			condition->rules = 1ull << rule;
	for (topic = 0; !condition->rules && topic < FINDING_TOPICS_COUNT; topic++) {
		if (!is_word(finding_topic_name(topic), word, length))
			continue;
		condition->is_topic = true;
		for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
			condition->rules |= (uint64_t)(finding_topic_of(rule) == topic) << rule;
	}
	return condition->rules;
}

static int take_confidence(struct gate_condition *condition, const char *name, struct string *why)
{
	enum finding_confidence confidence;

	for (confidence = FINDING_LOW; confidence <= FINDING_HIGH; confidence++)
		if (!strcmp(finding_confidence_name(confidence), name)) {
			condition->least = confidence;
			return 0;
		}
	string_append_format(why, "\"%s\" is not low, medium or high", name);
	return -EINVAL;
}

/* A share would be of another number in each process; returns -EINVAL. */
static int refuse_size(struct string *why, const char *name, const char *size,
		       const char *otherwise)
{
	const size_t length = strlen(size);

	if (length && size[length - 1] == '%')
		string_append_format(why,
				     "\"%s\" is a percentage, and %s takes bytes; write %s=64M, or"
				     " another size",
				     size, name, name);
	else
		string_append_format(why, "\"%s\" is not a size; write 4096, 64K, 1.5M or 2G%s",
				     size, otherwise);
	return -EINVAL;
}

static int take_growth(struct gate_condition *condition, const char *size, struct string *why)
{
	condition->rules = 1ull << FINDING_GROWTH;
	condition->least = FINDING_LOW;
	if (string_parse_size(size, &condition->growth_bytes))
		return refuse_size(why, "growth", size, "");
	if (condition->growth_bytes)
		return 0;
	string_append_text(why, "growth by 0 is none; growth=1 is any");
	return -EINVAL;
}

static int take_left(struct gate_condition *condition, const char *size, struct string *why)
{
	condition->kind = GATE_LEFT;
	condition->left_bytes = 1;
	if (!size || (!string_parse_size(size, &condition->left_bytes) && condition->left_bytes))
		return 0;
	return refuse_size(why, "left", size, ", or left for anything");
}

static int take_peak(struct gate_condition *condition, const char *size, struct string *why)
{
	condition->kind = GATE_PEAK;
	if (!string_parse_size(size, &condition->peak_bytes) && condition->peak_bytes)
		return 0;
	return refuse_size(why, "peak", size, "");
}

/* Returns whether a word is like it. */
static bool suggest(struct string *why, const char *word, uint32_t kinds)
{
	struct nearest nearest = { .word = word };
	enum finding_topic topic;
	enum finding_rule rule;
	enum gate_kind kind;

	nearest_offer(&nearest, "leak");
	nearest_offer(&nearest, "oom");
	nearest_offer(&nearest, "unknown=pass");
	for (kind = 0; kind < GATE_KINDS_COUNT; kind++)
		if (kind_names[kind] && kinds >> kind & 1)
			nearest_offer(&nearest, kind_names[kind]);
	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		if (rule != FINDING_GROWTH)
			nearest_offer(&nearest, finding_rule_name(rule));
	for (topic = 0; topic < FINDING_TOPICS_COUNT; topic++)
		nearest_offer(&nearest, finding_topic_name(topic));
	if (!nearest.found || nearest.distance > 1 + strlen(word) / 8)
		return false;
	string_append_format(why, "there is no condition \"%s\"; did you mean %s", word,
			     nearest.found);
	if (!strcmp(nearest.found, "leak"))
		string_append_format(why, " (a finding that it leaks, which takes leak-time)%s",
				     kinds >> GATE_LEFT & 1 ?
					     ", or left=SIZE (so much was held at the end, leak or"
					     " not)" :
					     "");
	string_append_char(why, '?');
	return true;
}

static bool begins_with_name(const char *word, const char *name)
{
	const size_t length = strlen(name);

	return !strncmp(word, name, length) && (!word[length] || strchr("=:<>", word[length]));
}

/* What depends on the machine and its other work is shown, and no reason to fail. */
static bool explain_times(struct string *why, const char *word, uint32_t kinds)
{
	static const char *const names[] = { "slow",    "slower",   "slowdown", "time",
					     "runtime", "duration", "latency",  "speed" };
	size_t i = 0;

	while (i < sizeof(names) / sizeof(*names) && !begins_with_name(word, names[i]))
		i++;
	if (i == sizeof(names) / sizeof(*names))
		return false;
	string_append_format(why,
			     "\"%s\" is none: times are not judged, as they depend on the machine"
			     " and its other work; %s",
			     word,
			     kinds >> GATE_LEFT & 1 ?
				     "the report's tables of calls say how long they took" :
				     "see the table of rates and times in what diff writes, and the"
				     " tables of calls in report A and report B");
	return true;
}

/* A condition's name with something else than its own value. Returns whether it is one. */
static bool correct(struct string *why, const char *word, uint32_t kinds)
{
	const char *value = word + strcspn(word, "=:<>");
	uint64_t bytes;

	value += strspn(value, "=:<>");
	if (string_parse_size(value, &bytes) || !bytes)
		value = "10M";
	if (begins_with_name(word, "left") && !(kinds >> GATE_LEFT & 1))
		string_append_format(why,
				     "what is left is looked for in one recording: report --fail-on"
				     " left=%s B; how much more than in A: growth=%s",
				     value, value);
	else if (begins_with_name(word, "left"))
		string_append_format(why, "\"%s\" is none; write left=%s", word, value);
	else if (begins_with_name(word, "growth"))
		string_append_format(why, "\"%s\" is none; write growth=%s", word, value);
	else if (begins_with_name(word, "leak") && kinds >> GATE_LEFT & 1)
		string_append_format(
			why,
			"leak has no size; write growth=%s (it grew by so much), or"
			" left=%s (that was left at the end); leak>=high is by confidence",
			value, value);
	else if (begins_with_name(word, "leak"))
		string_append_format(why, "leak has no size; write growth=%s (B has so much more)",
				     value);
	else if (begins_with_name(word, "peak") || begins_with_name(word, "memory"))
		string_append_format(
			why,
			kinds >> GATE_PEAK & 1 ?
				"\"%s\" is none; write peak=%s" :
				"\"%s\" is looked for in one recording: report --fail-on"
				" peak=%s B",
			word, value);
	else if (!strcmp(word, "all") || !strcmp(word, "error") || !strcmp(word, "any"))
		string_append_text(why,
				   "write leak,oom,loss: leaks, memory that ran out, and events"
				   " that were lost");
	else if (!strcmp(word, "regression"))
		string_append_text(why, "write leak,oom,growth=10M");
	else
		return explain_times(why, word, kinds);
	return true;
}

/* Sizes may have capital letters, names of conditions have none. */
static bool correct_case(struct string *why, const char *word)
{
	const size_t length = strcspn(word, "=<>");
	bool has_capitals = false;
	char small[32];
	size_t i;

	if (length >= sizeof(small))
		return false;
	for (i = 0; i < length; i++) {
		const bool is_capital = word[i] >= 'A' && word[i] <= 'Z';

		small[i] = (char)(is_capital ? word[i] - 'A' + 'a' : word[i]);
		has_capitals |= is_capital;
	}
	if (has_capitals)
		string_append_format(why, "conditions are in small letters: write %.*s%s",
				     (int)length, small, word + length);
	return has_capitals;
}

static void list_words(struct string *why, const char *word, uint32_t kinds)
{
	enum gate_kind kind;

	if (correct(why, word, kinds) || correct_case(why, word) || suggest(why, word, kinds))
		return;
	if (strchr(word, ' ')) {
		string_append_text(why, "write commas between conditions: leak,oom");
		return;
	}
	string_append_format(why, "\"%s\" is not one of growth=SIZE, leak, oom, oom=any", word);
	for (kind = 0; kind < GATE_KINDS_COUNT; kind++)
		if (kind_names[kind] && kinds >> kind & 1)
			string_append_format(why, ", %s", kind_names[kind]);
	string_append_text(why, kinds >> GATE_PEAK & 1 ? ", peak=SIZE" : "");
	string_append_text(why, ", unknown=pass, or a rule or topic of docs/rules.md, as in"
				" leak-growth>=high");
}

static int parse(struct gate_condition *condition, const char *word, uint32_t kinds,
		 struct string *why)
{
	const char *least = strstr(word, ">=");
	enum gate_kind kind;

	for (kind = 0; kind < GATE_KINDS_COUNT; kind++)
		if (kind_names[kind] && kinds >> kind & 1 && !strcmp(word, kind_names[kind])) {
			condition->kind = kind;
			return kind == GATE_LEFT ? take_left(condition, NULL, why) : 0;
		}
	if (kinds >> GATE_PEAK & 1 && !strncmp(word, "peak=", 5))
		return take_peak(condition, word + 5, why);
	if (kinds >> GATE_LEFT & 1 && !strncmp(word, "left=", 5))
		return take_left(condition, word + 5, why);
	if (!strncmp(word, "growth=", 7))
		return take_growth(condition, word + 7, why);
	if (take_short_word(condition, word))
		return 0;
	if (take_rules(condition, word, least ? (size_t)(least - word) : strlen(word)))
		return least ? take_confidence(condition, least + 2, why) : 0;
	list_words(why, word, kinds);
	return -EINVAL;
}

int gate_add(struct gate *gate, const char *word, uint32_t kinds, struct string *why)
{
	struct gate_condition condition = { .kind = GATE_RULES };
	int err;

	if (!strcmp(word, "unknown=pass")) {
		gate->unknown_passes = true;
		return 0;
	}
	err = parse(&condition, word, kinds, why);
	if (err)
		return err;
	if (gate->count == GATE_CONDITIONS || strlen(word) >= sizeof(condition.text)) {
		string_append_text(why, "there are too many conditions");
		return -EINVAL;
	}
	memcpy(condition.text, word, strlen(word) + 1);
	gate->list[gate->count++] = condition;
	return 0;
}

struct gate gate_default(void)
{
	struct gate gate = { .unknown_passes = true };
	struct string why = { 0 };
	int err = gate_add(&gate, "leak", 0, &why);

	if (!err)
		err = gate_add(&gate, "oom", 0, &why);
	assert(!err);
	string_fini(&why);
	return gate;
}

uint64_t gate_growth_bytes(const struct gate *gate)
{
	uint64_t least = 0;
	size_t i;

	for (i = 0; i < gate->count; i++) {
		const uint64_t bytes = gate->list[i].growth_bytes;

		if (bytes && (!least || bytes < least))
			least = bytes;
	}
	return least;
}

/* ---- findings -------------------------------------------------------------------------------- */

bool gate_takes(const struct gate_condition *condition, const struct report_recording *recording,
		const struct finding *finding)
{
	(void)recording;
	if (condition->kind != GATE_RULES || !(condition->rules >> finding->rule & 1))
		return false;
	if (finding->rule == FINDING_GROWTH)
		return condition->growth_bytes && finding->bytes >= condition->growth_bytes;
	return finding->confidence >= condition->least &&
	       (condition->any_oom || !finding_ended_well(finding));
}

bool gate_has(const struct gate *gate, const struct report_recording *recording,
	      const struct finding *finding)
{
	size_t i;

	for (i = 0; i < gate->count; i++)
		if (gate_takes(&gate->list[i], recording, finding))
			return true;
	return false;
}

const struct gate_condition *gate_spares(const struct gate *gate,
					 const struct report_recording *recording,
					 const struct finding *finding)
{
	size_t i;

	if (gate_has(gate, recording, finding))
		return NULL;
	for (i = 0; i < gate->count; i++) {
		struct gate_condition doubtful = gate->list[i];

		doubtful.least = FINDING_LOW;
		if (gate_takes(&doubtful, recording, finding))
			return &gate->list[i];
	}
	return NULL;
}

static size_t count_findings(const struct gate_condition *condition,
			     const struct report_recording *recording)
{
	size_t count = 0, i;

	for (i = 0; i < recording->findings_count; i++)
		count += gate_takes(condition, recording, recording->findings[i].finding);
	return count;
}

/* The operations of a topic that may be missing in an ordinary run. */
static bool is_by_the_way(enum finding_rule rule)
{
	return finding_rule_blind(rule) == RULE_BLIND_TO_EXIT ||
	       finding_rule_blind(rule) == RULE_BLIND_TO_ROOM ||
	       finding_rule_blind(rule) == RULE_BLIND_TO_USE;
}

/* Why a rule that was named cannot look, although nothing is wrong with the recording. */
static const char *not_asked(const struct gate_condition *condition, enum finding_rule rule)
{
	if (condition->is_topic)
		return NULL;
	switch (finding_rule_blind(rule)) {
	case RULE_BLIND_TO_GPU_TIMES:
		return "when GPUs had work was not measured: record with --gpu-time";
	case RULE_BLIND_TO_TENSORS:
		return "no framework was seen to say what its allocator does: record PyTorch,"
		       " TensorFlow or JAX with --tensors=sites";
	default:
		return NULL;
	}
}

const char *gate_blind(const struct gate_condition *condition,
		       const struct report_recording *recording, enum finding_rule *rule)
{
	const char *why;
	size_t asked = 0;

	for (*rule = 0; *rule < FINDING_RULES_COUNT; (*rule)++) {
		if (!(condition->rules >> *rule & 1))
			continue;
		if (report_not_asked(recording, *rule)) {
			why = not_asked(condition, *rule);
			if (why)
				return why;
			continue;
		}
		asked++;
		if (condition->is_topic && is_by_the_way(*rule))
			continue;
		why = report_blind(recording, *rule, condition->least);
		if (why)
			return why;
	}
	*rule = FINDING_LEAK_WINDOW;
	return asked ? NULL : "no window was given with --leak-window";
}

/* ---- recordings ------------------------------------------------------------------------------ */

static bool is_met(const struct gate_condition *condition, const struct report *report,
		   const struct report_recording *recording)
{
	size_t count;

	switch (condition->kind) {
	case GATE_LOSS:
		return report_has_losses(recording);
	case GATE_INEXACT:
		return report_has_losses(recording) || report_is_inexact(recording) ||
		       recording->coverage.missed_processes || recording->coverage.untraced ||
		       report_lacks_children(recording);
	case GATE_EMPTY:
		return report_is_empty(report);
	case GATE_LEFT:
		return report_left_most(recording, condition->left_bytes, &count);
	case GATE_PEAK:
		/* Of a device also other processes than the chosen ones have a part. */
		if (report_selects(&recording->options))
			return report_highest_peak(recording, condition->peak_bytes, &count)
				.process;
		return report_fullest(recording) &&
		       report_fullest(recording)->peak_bytes >= condition->peak_bytes;
	case GATE_RULES:
	case GATE_NEW:
	case GATE_ANY:
	case GATE_KINDS_COUNT:
		break;
	}
	return false;
}

struct gate_result gate_judge(const struct gate_condition *condition, const struct report *report,
			      const struct report_recording *recording)
{
	struct gate_result result = { .findings = count_findings(condition, recording) };

	if (result.findings || is_met(condition, report, recording)) {
		result.outcome = GATE_FAILED;
		return result;
	}
	/* One of several in which nothing happened says nothing about the others. */
	if ((condition->kind != GATE_RULES && condition->kind != GATE_LEFT &&
	     condition->kind != GATE_PEAK) ||
	    (!recording->called && !report_is_empty(report)))
		return result;
	if (condition->kind == GATE_LEFT)
		result.why = report_blind_to_left(recording, condition->left_bytes);
	else if (condition->kind == GATE_PEAK)
		result.why = report_blind_to_peak(recording, condition->peak_bytes);
	else
		result.why = gate_blind(condition, recording, &result.blind);
	result.outcome = result.why ? GATE_UNKNOWN : GATE_PASSED;
	return result;
}

bool gate_is_failure(const struct gate *gate, enum gate_outcome outcome)
{
	return outcome == GATE_FAILED || (outcome == GATE_UNKNOWN && !gate->unknown_passes);
}
