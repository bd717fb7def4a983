// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/tensor_growth.h"

#include "analysis/held_growth.h"
#include "analysis/leaks.h"
#include "analysis/tensor_lines.h"

#define LINES_ALIKE 8 /* that one finding is about */

/* ---- what grows ------------------------------------------------------------------------------ */

/* As it is; else as it was before what looks like a shutdown. */
static bool find_growth(struct process_activity *activity, const struct family *family,
			const struct analysis_options *options, struct growth *growth, bool *freed)
{
	const struct growth_view now = growth_view_last(activity),
				 before = growth_view_before(activity, &activity->tensors_ending);

	*freed = false;
	if (held_growth_of(&now, family, options, growth))
		return true;
	*freed = true;
	return process_activity_has_ended(activity, &activity->tensors_ending) &&
	       held_growth_of(&before, family, options, growth);
}

/*
 * Lines of the function that grow alike, as keys and values of a cache do: they are one finding.
 * Fills in `alike` after the first, and returns how many there are.
 */
static size_t gather(struct process_activity *activity, const struct tensor_line *line,
		     const struct analysis_options *options, const struct growth *growth,
		     bool freed, struct tensor_line *alike[LINES_ALIKE])
{
	struct tensor_lines *tensors = activity->tensors;
	size_t count = 1, i;

	for (i = line - tensors->list + 1; line->function && i < tensors->count; i++) {
		struct tensor_line *other = &tensors->list[i];
		struct group *member = &other->group;
		const struct family one = { .members = &member, .count = 1 };
		struct growth its;
		bool its_freed;

		if (count == LINES_ALIKE || other->grows || other->function != line->function ||
		    other->framework != line->framework ||
		    other->group.device != line->group.device ||
		    other->is_estimate != line->is_estimate ||
		    !find_growth(activity, &one, options, &its, &its_freed) || its_freed != freed ||
		    its.left.count != growth->left.count || its.left.bytes != growth->left.bytes)
			continue;
		alike[count++] = other;
	}
	return count;
}

/* That line, with those that grow like it if there are any. */
static bool find_alike(struct process_activity *activity, struct tensor_line *line,
		       const struct analysis_options *options, struct family *family,
		       struct growth *growth, bool *freed)
{
	struct tensor_line *alike[LINES_ALIKE] = { line };
	struct growth together;
	bool together_freed;
	size_t i;

	family->count = 1;
	family->members[0] = &line->group;
	if (line->grows || !find_growth(activity, family, options, growth, freed))
		return false;
	family->count = gather(activity, line, options, growth, *freed, alike);
	for (i = 0; i < family->count; i++)
		family->members[i] = &alike[i]->group;
	if (family->count > 1 &&
	    find_growth(activity, family, options, &together, &together_freed) &&
	    together_freed == *freed)
		*growth = together;
	else
		family->count = 1;
	for (i = 0; i < family->count; i++)
		alike[i]->grows = true;
	return true;
}

static const char *says_of(const struct tensor_line *line, const struct growth *growth, bool freed)
{
	static const char *const words[][2] = {
		{ "leaves %B behind in tensors: %0 blocks in %3",
		  "leaves about %B behind in tensors: some %0 blocks in %3" },
		{ "keeps %B more in tensors until it ends: %0 blocks in %3",
		  "keeps about %B more in tensors until it ends: some %0 blocks in %3" },
		{ "leaves %B behind in tensors until memory is refused: %0 blocks in %3",
		  "leaves about %B behind in tensors until memory is refused: some %0 blocks in"
		  " %3" },
	};

	return words[growth->refused_ns ? 2 : freed][line->is_estimate];
}

static int report(struct process_activity *activity, struct tensor_line *line,
		  const struct analysis_options *options, struct findings *findings)
{
	struct group *members[LINES_ALIKE];
	struct family family = { .members = members };
	struct growth growth;
	struct finding finding;
	bool freed;

	if (!find_alike(activity, line, options, &family, &growth, &freed))
		return 0;
	finding = leaks_growth_finding(activity, &family, &growth);
	if (family.count > 1)
		finding_say(&finding, "lines of the function that left as much each", FINDING_COUNT,
			    family.count);
	finding.is_of_tensors = true;
	finding.framework = line->framework;
	finding.stack = line->stack;
	finding.freed = freed;
	finding.says = says_of(line, &growth, freed);
	leaks_growth_confidence(&growth, options, &finding);
	if (freed)
		finding_lower(&finding, FINDING_MEDIUM,
			      "it was freed when the program ended, and may be meant to grow");
	if (activity->process && !tensors_are_exact(&activity->process->tensors))
		finding_lower(&finding, FINDING_LOW,
			      "what the allocator said does not add up: records may be missing");
	return findings_add(findings, &finding);
}

/* Whether one of the lines grows that are a part of it. */
static bool has_line(const struct tensor_lines *tensors, const struct tensor_line *all)
{
	size_t i;

	for (i = 0; i < tensors->count; i++)
		if (tensors->list[i].grows && tensors->list[i].framework == all->framework &&
		    tensors->list[i].group.device == all->group.device)
			return true;
	return false;
}

/* All of a device, only if none of its lines tells where. */
int tensor_growth_report(struct process_activity *activity, const struct analysis_options *options,
			 struct findings *findings)
{
	struct tensor_lines *tensors = activity->tensors;
	size_t i;
	int err = 0;

	for (i = 0; tensors && i < tensors->count && !err; i++)
		if (tensors->list[i].lines)
			err = report(activity, &tensors->list[i], options, findings);
	for (i = 0; tensors && i < tensors->count && !err; i++)
		if (!tensors->list[i].lines && !has_line(tensors, &tensors->list[i]))
			err = report(activity, &tensors->list[i], options, findings);
	return err;
}

/* ---- segments -------------------------------------------------------------------------------- */

bool tensor_growth_explains(const struct growth_view *view, const struct family *family,
			    const struct growth *growth)
{
	const struct process_activity *activity = view->activity;
	const struct group *first = family->members[0];
	struct tensor_source source;
	struct amount others = { 0 }, segments;
	size_t i;

	if (!activity->process || !activity->process->tensors.devices_count ||
	    !tensors_are_exact(&activity->process->tensors))
		return false;
	if (!tensor_sources_of(&activity->process->tensors.sources, first->space, first->row,
			       first->device, &source))
		return false;
	segments.count = view->before ? source.made : source.live;
	segments.bytes = view->before ? source.made_bytes : source.live_bytes;
	for (i = 0; i < family->count; i++) {
		const struct amount live = growth_live(view, family->members[i]);

		others.count += live.count;
		others.bytes += live.bytes;
	}
	others.count -= segments.count < others.count ? segments.count : others.count;
	others.bytes -= segments.bytes < others.bytes ? segments.bytes : others.bytes;
	/* What else the function made, and is live, is no leak of its own. */
	return others.count < activity->options->leak_count ||
	       others.bytes < activity->options->leak_bytes ||
	       others.bytes < growth->left.bytes / 4;
}
