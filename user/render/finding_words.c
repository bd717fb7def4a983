// SPDX-License-Identifier: BSD-2-Clause
#include "render/finding_words.h"

#include <string.h>

#include "ledger/objects.h"
#include "render/field.h"
#include "render/report_words.h"
#include "render/stack_words.h"

const char *finding_words_objects(const struct finding *finding)
{
	return finding->count == 1 ? objects_name(finding->object) :
				     objects_plural(finding->object);
}

/* What has a handle and is no memory. */
static void append_objects(struct string *out, const struct finding *finding)
{
	const char *verb = finding->rule == FINDING_IDLE_CONTEXT ? " has" :
			   finding->freed                        ? ", until it ends, piles up" :
								   " piles up";

	string_append_format(out, "%s %s %s", verb, REPORT_COUNT(finding->count),
			     finding_words_objects(finding));
	if (finding->rule == FINDING_IDLE_CONTEXT)
		string_append_format(out, " on device %d, to which it gives no work",
				     finding->device);
}

void finding_words_evidence(struct string *out, const struct finding_evidence *evidence)
{
	string_append_text(out, evidence->what);
	if (!evidence->name)
		return;
	string_append_char(out, ' ');
	field_append_safe(out, evidence->name, strlen(evidence->name));
}

/* What keeps segments from being given back, before where it was made. */
static void append_pins(struct string *out, const struct report_recording *recording,
			const struct report_finding *numbered)
{
	const struct tensor_segments *at = report_finding_segments(recording, numbered->finding);

	if (at && !at->pins_count)
		string_append_text(out,
				   "blocks in the segments with most free memory were made in ");
	else if (at && at->pins_count && !at->pins->stack)
		string_append_text(out, "of those whose call stack was taken, most were made in ");
	else if (at && at->pins_count == 1 && !at->pins_more)
		string_append_text(out, at->pins_blocks == 1 ? "it was made in " :
							       "these were made in ");
	else
		string_append_format(out, "%s of the blocks in these segments were made in ",
				     REPORT_SIZE(numbered->stack_bytes));
}

/* Where most of its calls were made, before the place. */
static void append_calls(struct string *out, const struct report_finding *numbered)
{
	const char *what = numbered->finding->rule == FINDING_STORM ? "allocations" : "calls";

	if (numbered->whole == 1)
		string_append_text(out, "it was made in ");
	else if (numbered->stack_calls == numbered->whole)
		string_append_format(out, "all of these %s were made in ", what);
	else
		string_append_format(out, "%s%s of these %s %s were made in ",
				     numbered->at_least ? "at least " : "",
				     REPORT_COUNT(numbered->stack_calls),
				     REPORT_COUNT(numbered->whole), what);
}

/* Where most of it was allocated, before the place. */
static void append_bytes(struct string *out, const struct report_finding *numbered)
{
	const char *often = numbered->stack_bytes > numbered->whole ? "in all, " :
			    numbered->at_least                      ? "at least " :
								      "";

	string_append_format(out, "%s%s of what %s was allocated in ", often,
			     REPORT_SIZE(numbered->stack_bytes),
			     numbered->finding->freed ? "was live before it ended" : "is live");
}

void finding_words_site(struct string *out, const struct report_recording *recording,
			const struct report_finding *numbered)
{
	struct string chain = { 0 };

	stack_words_append_chain(&chain, &recording->state->stacks, numbered->stack);
	if (numbered->finding->rule == FINDING_FRAGMENTATION)
		append_pins(out, recording, numbered);
	else if (numbered->finding->is_of_tensors)
		string_append_text(out, "these were made in ");
	else if (numbered->finding->rule == FINDING_PRIVATE_POOL)
		string_append_format(out, "%s of these segments was taken from the driver in ",
				     REPORT_SIZE(numbered->stack_bytes));
	else if (numbered->finding->rule == FINDING_OOM)
		string_append_text(out, "the call was made in ");
	else if (numbered->stack_calls)
		append_calls(out, numbered);
	else if (numbered->stack_bytes)
		append_bytes(out, numbered);
	else
		string_append_format(out, "%s%s of these calls' time was in ",
				     numbered->at_least ? "at least " : "",
				     REPORT_DURATION(numbered->stack_ns));
	field_append_safe(out, chain.bytes, chain.length);
	out->failed |= chain.failed;
	string_fini(&chain);
}

/* "a", "a and b", "a, b and c": all that its evidence is about. */
static void append_names(struct string *out, const struct finding *finding)
{
	size_t left = 0, i;

	for (i = 0; i < finding->evidence_count; i++)
		left += finding->evidence[i].name != NULL;
	for (i = 0; i < finding->evidence_count; i++) {
		const char *name = finding->evidence[i].name;

		if (!name)
			continue;
		field_append_safe(out, name, strlen(name));
		left--;
		string_append_text(out, left > 1 ? ", " : left ? " and " : "");
	}
}

/* What stands for a letter or digit of the rule's words. */
static void append_number(struct string *out, const struct report_recording *recording,
			  const struct finding *finding, char what)
{
	const size_t i = (size_t)(what - '0');

	if (what == 'N')
		append_names(out, finding);
	else if (what == 'B')
		string_append_text(out, REPORT_SIZE(finding->bytes));
	else if (i < finding->evidence_count)
		report_append_value(out, recording, finding->evidence[i].unit,
				    finding->evidence[i].value);
	else
		string_append_char(out, '?');
}

static void append_words(struct string *out, const struct report_recording *recording,
			 const struct finding *finding, const char *words)
{
	string_append_char(out, ' ');
	for (; *words; words++) {
		if (*words == '%' && words[1])
			append_number(out, recording, finding, *++words);
		else
			string_append_char(out, *words);
	}
}

/* Of no device, though one is current in the thread that allocates it. */
static bool is_host_memory(const struct finding *finding)
{
	return finding->space == MS_SPACE_PINNED || finding->space == MS_SPACE_REGISTERED;
}

void finding_words_append_says(struct string *out, const struct report_recording *recording,
			       const struct finding *finding)
{
	const char *words = finding_says(finding);

	if (words)
		append_words(out, recording, finding, words);
	else
		append_objects(out, finding);
}

void finding_words_append(struct string *out, const struct report_recording *recording,
			  const struct finding *finding)
{
	report_append_process(out, finding->pid, finding->name);
	finding_words_append_says(out, recording, finding);
	string_append_format(out, " (%s", finding_rule_name(finding->rule));
	if (finding->row != MS_NO_ROW)
		string_append_format(out, ", %s", probe_at(finding->row)->symbol);
	if (is_host_memory(finding))
		string_append_text(out, ", page-locked host memory");
	else if (finding->rule != FINDING_IDLE_CONTEXT && finding->device >= 0)
		string_append_format(out, ", device %d", finding->device);
	string_append_format(out, "; %s confidence)", report_confidence_name(finding->confidence));
}
