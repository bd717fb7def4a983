// SPDX-License-Identifier: BSD-2-Clause
#include "report/suppressions.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/probe.h"

#define BLANKS " \t\r"
#define LONGEST 200 /* of a pattern: what it is held against is shorter */

/* In percent of what a finding is about: what has to come from a frame that describes it. */
#define SHARE_LEAST 90

void suppressions_fini(struct suppressions *suppressions)
{
	free(suppressions->text);
	free(suppressions->list);
	*suppressions = (struct suppressions){ 0 };
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_of_a_rule(const char *pattern)
{
	enum finding_topic topic;
	enum finding_rule rule;

	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		if (!fnmatch(pattern, finding_rule_name(rule), 0))
			return true;
	for (topic = 0; topic < FINDING_TOPICS_COUNT; topic++)
		if (!strcmp(pattern, finding_topic_name(topic)))
			return true;
	return false;
}

/* The next word of a line; an empty one is the end. */
static char *next_word(char **line)
{
	char *word = *line + strspn(*line, BLANKS);

	*line = word + strcspn(word, BLANKS);
	if (**line)
		*(*line)++ = '\0';
	return word;
}

static int refuse(struct string *why, size_t line, const char *what, const char *word)
{
	string_append_format(why, "line %zu: %s", line, what);
	if (word)
		string_append_format(why, " \"%s\"", word);
	return -EINVAL;
}

static int take_words(struct suppressions *suppressions, char *line, size_t number,
		      struct string *why)
{
	struct suppression one = { .rule = next_word(&line),
				   .process = next_word(&line),
				   .function = next_word(&line),
				   .frame = next_word(&line),
				   .line = number };
	const char *rest = next_word(&line);

	if (!*one.rule)
		return 0;
	if (*rest)
		return refuse(why, number,
			      "it takes a rule, a process, a function and a frame, not also", rest);
	if (strlen(one.rule) > LONGEST || strlen(one.process) > LONGEST ||
	    strlen(one.function) > LONGEST || strlen(one.frame) > LONGEST)
		return refuse(why, number, "a pattern is too long", NULL);
	if (!is_of_a_rule(one.rule))
		return refuse(why, number, "there is no rule", one.rule);
	if (memory_grow(&suppressions->list, &suppressions->capacity, suppressions->count + 1,
			sizeof(*suppressions->list)))
		return -ENOMEM;
	suppressions->list[suppressions->count++] = one;
	return 0;
}

static bool is_text(char c)
{
	return (unsigned char)c >= ' ' || c == '\t' || c == '\r';
}

static int take_line(struct suppressions *suppressions, char *line, size_t number,
		     struct string *why)
{
	const char *c;

	for (c = line; *c; c++)
		if (!is_text(*c))
			return refuse(why, number, "it is not text", NULL);
	line[strcspn(line, "#")] = '\0';
	return take_words(suppressions, line, number, why);
}

int suppressions_parse(struct suppressions *suppressions, const char *bytes, size_t length,
		       struct string *why)
{
	size_t number = 0;
	char *rest, *line;
	int err = 0;

	suppressions->text = malloc(length + 1);
	if (!suppressions->text)
		return -ENOMEM;
	if (length)
		memcpy(suppressions->text, bytes, length);
	suppressions->text[length] = '\0';
	if (memchr(bytes, '\0', length))
		return refuse(why, 1, "the file is not text", NULL);
	rest = suppressions->text;
	while (!err && (line = strsep(&rest, "\n")))
		err = take_line(suppressions, line, ++number, why);
	return err;
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool matches_rule(const char *pattern, enum finding_rule rule)
{
	return !fnmatch(pattern, finding_rule_name(rule), 0) ||
	       !strcmp(pattern, finding_topic_name(finding_topic_of(rule)));
}

/* What was left out matches anything. */
static bool matches(const char *pattern, const char *text)
{
	return !*pattern || !fnmatch(pattern, text, 0);
}

/* By its function, its source file or its library. */
static bool is_frame(const char *pattern, const struct frame *frame)
{
	return frame && (!fnmatch(pattern, frame->function, 0) ||
			 !fnmatch(pattern, stacks_name_of(frame->source), 0) ||
			 !fnmatch(pattern, stacks_name_of(frame->module), 0));
}

static bool has_frame(const char *pattern, const struct stacks *stacks, const struct stack *stack)
{
	size_t i;

	if (!*pattern)
		return true;
	for (i = 0; stack && i < stack->count; i++)
		if (is_frame(pattern, stacks_frame(stacks, stack, i)))
			return true;
	return false;
}

static bool suppresses(const struct suppression *one, const struct finding *finding,
		       const struct stacks *stacks, const struct stack *stack)
{
	char comm[MS_COMM_BYTES + 1] = "";

	memcpy(comm, finding->comm, MS_COMM_BYTES);
	return matches_rule(one->rule, finding->rule) &&
	       (matches(one->process, comm) || matches(one->process, finding->name)) &&
	       matches(one->function,
		       finding->row == MS_NO_ROW ? "" : probe_at(finding->row)->symbol) &&
	       has_frame(one->frame, stacks, stack);
}

/* A finding has one stack, but what it is about may come from several. */
static bool is_nearly_all(const struct suppression_source *source)
{
	return source->whole && (double)source->part * 100 >= (double)source->whole * SHARE_LEAST;
}

static void note_partly(struct suppression *one, const struct finding *finding,
			const struct suppression_source *source)
{
	if (one->partly++)
		return;
	one->partly_rule = finding->rule;
	memcpy(one->partly_comm, finding->comm, MS_COMM_BYTES);
	one->partly_source = *source;
	one->partly_source.stack = NULL;
}

bool suppressions_take(struct suppressions *suppressions, const struct finding *finding,
		       const struct stacks *stacks, const struct suppression_source *source,
		       bool counts)
{
	size_t i;

	for (i = 0; i < suppressions->count; i++) {
		struct suppression *one = &suppressions->list[i];

		if (!suppresses(one, finding, stacks, source->stack))
			continue;
		if (!*one->frame || is_nearly_all(source)) {
			one->used += counts;
			return true;
		}
		if (counts)
			note_partly(one, finding, source);
	}
	return false;
}
