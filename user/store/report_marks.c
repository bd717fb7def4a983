// SPDX-License-Identifier: BSD-2-Clause
#include "store/report_marks.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/string.h"
#include "pipeline.h"
#include "timeline/phases.h"

#define NAMES_TOLD 10

/* The reading of a recording for its marks. */
struct reading {
	struct sink sink; /* first: the pipeline hands copies over */
	struct pipeline pipeline;
	struct phases phases;
	struct replay *replay;
	const struct report_marks *marks;
	uint64_t anchors;
};

static int take(struct sink *sink, const struct event *event, const struct change *change)
{
	struct reading *reading = (struct reading *)sink;

	/* As in the report: only processes that it is about have phases, and an exec ends them. */
	if (event->header->type == MS_TYPE_EXIT || event->header->type == MS_TYPE_EXEC ||
	    (event->header->type == MS_TYPE_MARKER &&
	     report_wants(reading->marks->options, change->process)))
		phases_event(&reading->phases, event, change);
	return 0;
}

static size_t count_bytes(const struct sink *sink)
{
	return phases_bytes(&((const struct reading *)sink)->phases);
}

static int take_item(void *context, const struct dump_item *item)
{
	struct reading *reading = context;
	const struct report_marks *marks = reading->marks;
	int err = marks->go_on ? marks->go_on(marks->context) : 0;

	if (!err)
		err = replay_item(reading->replay, item);
	if (!err && replay_account(reading->replay)->anchors_used != reading->anchors) {
		reading->anchors = replay_account(reading->replay)->anchors_used;
		phases_gap(&reading->phases);
	}
	return err;
}

static int read_all(struct reading *reading, struct dump_set *set, size_t recording,
		    struct replay_limits *limits)
{
	const bool quiet = set->quiet;
	int err;

	reading->sink.sample = reading->sink.process = take;
	reading->sink.bytes = count_bytes;
	pipeline_add_sink(&reading->pipeline, &reading->sink);
	reading->replay = replay_new(&reading->pipeline, limits);
	if (!reading->replay)
		return -ENOMEM;
	/* What is wrong with its files is said when they are read for the report. */
	set->quiet = set->peeks = true;
	err = dump_set_read(set, recording, take_item, reading);
	set->quiet = quiet;
	set->peeks = false;
	phases_finish(&reading->phases, replay_account(reading->replay)->last_ts_ns);
	return err;
}

/* ---- what was found -------------------------------------------------------------------------- */

/*
 * Processes that `memscope-bpf mark` has marked at the same time have a phase each, for one mark:
 * how many these are is known only if one process has all.
 */
struct found {
	bool is_there, is_commanded;
	uint64_t first_ns, last_ns; /* last_ns: 0: it was only ever left without an end */
	uint64_t times, commanded;  /* by the program, and by the command */
	uint64_t commanded_ns;      /* when it was first, in the process that was seen first */
};

static bool can_be_named(const struct phase *phase)
{
	return phase->kind != PHASE_OTHERS && phase->name;
}

static void count_times(struct found *found, const struct phase *phase)
{
	if (phase->source != MS_MARKER_BY_COMMAND) {
		found->times += phase->count;
		return;
	}
	if (phase->count > found->commanded)
		found->commanded = phase->count;
	if (!found->is_commanded)
		found->commanded_ns = phase->first_ns;
	else if (found->commanded < 2 && found->commanded_ns != phase->first_ns)
		found->commanded = 2;
	found->is_commanded = true;
}

static struct found find(const struct phases *phases, const char *name)
{
	struct found found = { 0 };
	size_t i;

	for (i = 0; i < phases->count; i++) {
		const struct phase *phase = phases->phases[i];

		if (!can_be_named(phase) || strcmp(phase->name, name) != 0)
			continue;
		if (!found.is_there || phase->first_ns < found.first_ns)
			found.first_ns = phase->first_ns;
		if (phase->last_ns > found.last_ns)
			found.last_ns = phase->last_ns;
		count_times(&found, phase);
		found.is_there = true;
	}
	found.times += found.commanded;
	return found;
}

static bool is_named_before(const struct phases *phases, size_t place)
{
	size_t i;

	for (i = 0; i < place; i++)
		if (can_be_named(phases->phases[i]) && phases->phases[i]->count &&
		    !strcmp(phases->phases[i]->name, phases->phases[place]->name))
			return true;
	return false;
}

static void tell_missing(const struct phases *phases, const char *name, struct string *why)
{
	size_t told = 0, i;

	string_append_format(why, "no mark is called \"%s\"", name);
	for (i = 0; i < phases->count && told <= NAMES_TOLD; i++) {
		const struct phase *phase = phases->phases[i];

		if (!can_be_named(phase) || !phase->count || is_named_before(phases, i))
			continue;
		if (told++ == NAMES_TOLD)
			string_append_text(why, ", ...");
		else
			string_append_format(why, "%s%s",
					     told > 1 ? ", " : "; there are: ", phase->name);
	}
	if (!told)
		string_append_text(why, ": there are none; `memscope-bpf mark NAME` sets one while"
					" it is recorded");
}

static int set(struct report_time *time, const struct phases *phases, const char *path,
	       struct string *why)
{
	const struct found found = find(phases, time->mark);

	if (!found.is_there) {
		tell_missing(phases, time->mark, why);
		return -ESRCH;
	}
	if (time->takes_last && !found.last_ns) {
		string_append_format(
			why, "\"%s\" was left without an end, so when it ended is not known",
			time->mark);
		return -ESRCH;
	}
	time->ns = time->takes_last ? found.last_ns : found.first_ns;
	if (found.times > 1)
		log_warning("%s: %llu marks are called \"%s\"; the %s is taken", path,
			    (unsigned long long)found.times, time->mark,
			    time->takes_last ? "last" : "first");
	return 0;
}

int report_marks_find(const struct report_marks *marks, struct dump_set *set_of, size_t recording,
		      const struct replay_limits *limits)
{
	struct replay_limits own = *limits;
	struct reading reading = { .marks = marks };
	int err = state_follow_usage(&reading.pipeline.state);
	size_t i;

	reading.pipeline.filter.ops = ~0u;
	if (!err)
		err = read_all(&reading, set_of, recording, &own);
	for (i = 0; !err && i < REPORT_MARKS_TIMES && marks->times[i]; i++)
		err = set(marks->times[i], &reading.phases,
			  set_of->recordings[recording].files[0].path, marks->why);
	phases_fini(&reading.phases);
	replay_free(reading.replay);
	state_fini(&reading.pipeline.state);
	return err;
}
