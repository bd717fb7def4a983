// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory that grows, is given back at once, and grows again: no leak, but what looks like one on a
 * curve. docs/rules.md explains it (sawtooth). It is looked for in what is not reported as a leak.
 */
#include "analysis/findings.h"
#include "analysis/growth.h"
#include "analysis/tensor_growth.h"

#define RISES_MIN 3   /* buckets in which it grew, in one tooth: else it is a step */
#define STEP_MAX 60   /* percent of a tooth that may come in one bucket */
#define VALLEYS_MIN 3 /* that each leave more behind */

/* The tooth under way, as far as it has been looked at. */
struct tooth {
	uint64_t bottom, top, step; /* bytes; `step`: the most that came in one bucket */
	unsigned int bottom_at, top_at, rises;
};

struct swings {
	unsigned int teeth, others;   /* `others`: falls after something that is no tooth */
	unsigned int from, to;        /* buckets */
	uint64_t top, rise;           /* of the highest tooth, of the last one */
	uint64_t valley, last_valley; /* what was left after the first and the last tooth */
	unsigned int valleys;         /* so many, each above the one before; */
	bool sinks;                   /* but then one was not */
	struct tooth tooth;
};

/* Whether it grew bit by bit, for long enough, and until it was given back. */
static bool is_tooth(const struct process_activity *activity, const struct tooth *tooth,
		     unsigned int end, const struct analysis_options *options)
{
	const uint64_t rise = tooth->top - tooth->bottom;
	const unsigned int rose = tooth->top_at - tooth->bottom_at, all = end - tooth->bottom_at;

	return rise >= options->leak_bytes && tooth->rises >= RISES_MIN &&
	       (double)tooth->step * 100 <= (double)rise * STEP_MAX &&
	       (uint64_t)rose << activity->shift >= options->leak_time_ns && rose * 4 >= all * 3;
}

static void note_valley(struct swings *swings, uint64_t left)
{
	if (!swings->valleys)
		swings->valley = left;
	else if (left <= swings->last_valley)
		swings->sinks = true;
	swings->valleys++;
	swings->last_valley = left;
}

static void begin_tooth(struct tooth *tooth, unsigned int bucket, uint64_t bytes)
{
	*tooth = (struct tooth){
		.bottom = bytes, .top = bytes, .bottom_at = bucket, .top_at = bucket
	};
}

/* More than half of it has been given back. */
static void end_tooth(struct swings *swings, const struct process_activity *activity,
		      unsigned int bucket, uint64_t bytes, const struct analysis_options *options)
{
	const struct tooth *tooth = &swings->tooth;

	if (is_tooth(activity, tooth, bucket, options)) {
		if (!swings->teeth++)
			swings->from = tooth->bottom_at;
		else
			note_valley(swings, tooth->bottom);
		swings->to = bucket;
		swings->rise = tooth->top - tooth->bottom;
		if (tooth->top > swings->top)
			swings->top = tooth->top;
	} else if (tooth->top - tooth->bottom >= options->leak_bytes) {
		swings->others++;
	}
	begin_tooth(&swings->tooth, bucket, bytes);
}

static void swings_add(struct swings *swings, const struct process_activity *activity,
		       unsigned int bucket, uint64_t bytes, const struct analysis_options *options)
{
	struct tooth *tooth = &swings->tooth;

	if (bytes > tooth->top) {
		if (bytes - tooth->top > tooth->step)
			tooth->step = bytes - tooth->top;
		tooth->rises++;
		tooth->top = bytes;
		tooth->top_at = bucket;
	} else if (tooth->top == tooth->bottom) {
		begin_tooth(tooth, bucket, bytes);
	} else if (bytes <= tooth->bottom + (tooth->top - tooth->bottom) / 2) {
		end_tooth(swings, activity, bucket, bytes, options);
	}
}

static uint64_t lowest_of(const struct growth_view *view, const struct family *family,
			  unsigned int bucket)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < family->count; i++)
		bytes += growth_lowest(view, family->members[i], bucket).bytes;
	return bytes;
}

/* What was set up at first and stays, until the program ends: it is no part of what swings. */
static uint64_t kept_of(const struct growth_view *view, const struct family *family,
			const struct analysis_options *options)
{
	const struct process_activity *activity = view->activity;
	const uint64_t end_ns = process_activity_has_ended(activity, &activity->ending) ?
					activity->ending.begin_ns :
					activity->now_ns;
	const unsigned int first = process_activity_bucket_at(activity, activity->first_alloc_ns),
			   end = process_activity_bucket_at(activity, end_ns);
	uint64_t kept = UINT64_MAX;
	unsigned int i;

	for (i = first + 1 + (end - first) * options->init_share / 100; i < end; i++) {
		const uint64_t bytes = lowest_of(view, family, i);

		if (bytes < kept)
			kept = bytes;
	}
	return kept == UINT64_MAX ? 0 : kept;
}

/* Whether it goes up and down, and will again or was about to. */
static bool swings_of(const struct process_activity *activity, const struct family *family,
		      const struct analysis_options *options, struct swings *swings)
{
	const struct growth_view view = growth_view_now(activity);
	const struct tooth *last = &swings->tooth;
	const uint64_t kept = kept_of(&view, family, options);
	unsigned int i;

	*swings = (struct swings){ 0 };
	for (i = 0; i <= activity->bucket; i++) {
		const uint64_t bytes = lowest_of(&view, family, i);

		swings_add(swings, activity, i, bytes > kept ? bytes - kept : 0, options);
	}
	if (swings->teeth && last->bottom)
		note_valley(swings, last->bottom);
	if (swings->teeth < 2 &&
	    (last->rises < RISES_MIN || (last->top - last->bottom) * 2 < swings->rise))
		return false;
	return swings->teeth > swings->others;
}

/* ---- findings -------------------------------------------------------------------------------- */

static void say_swings(struct finding *finding, const struct process_activity *activity,
		       const struct swings *swings)
{
	const uint64_t begin_ns = process_activity_bucket_begin(activity, swings->from);
	const unsigned int buckets = swings->to - swings->from;

	finding->first_ts_ns = begin_ns;
	finding_say(finding, "times it grew and was given back", FINDING_COUNT, swings->teeth);
	finding_say(finding, "length of one cycle", FINDING_NS,
		    ((uint64_t)buckets << activity->shift) / swings->teeth);
	finding_say(finding, "bytes at the highest, at least", FINDING_BYTES, swings->top);
	finding_say(finding, "bytes at the last beginning", FINDING_BYTES, swings->tooth.bottom);
	finding_say(finding, "bytes that it has grown by since", FINDING_BYTES,
		    swings->tooth.top - swings->tooth.bottom);
}

/* Cycles that each leave a little more behind are a leak that they hide. */
static bool leaves_more(const struct swings *swings, const struct analysis_options *options)
{
	return swings->valleys >= VALLEYS_MIN && !swings->sinks &&
	       swings->last_valley - swings->valley >= options->leak_bytes;
}

static int report(const struct process_activity *activity, const struct family *family,
		  const struct swings *swings, const struct analysis_options *options,
		  struct findings *findings)
{
	const struct growth_view view = growth_view_last(activity);
	const struct growth left = { .left.bytes = swings->last_valley - swings->valley };
	const bool leaks =
		leaves_more(swings, options) && !tensor_growth_explains(&view, family, &left);
	struct finding finding =
		family_finding(activity, family, leaks ? FINDING_LEAK_GROWTH : FINDING_SAWTOOTH);

	finding.bytes = swings->top;
	finding.pattern = "sawtooth: it grows, is given back, and grows again";
	if (leaks) {
		finding.bytes = swings->last_valley - swings->valley;
		finding.pattern = "sawtooth: each time, more is left when it is given back";
		finding.says = "leaves %B behind, more each time it gives its memory back";
		finding_say(&finding, "more left after the last time than after the first",
			    FINDING_BYTES, finding.bytes);
		finding_lower(&finding, FINDING_MEDIUM,
			      "most of it is given back, again and again: it may level off");
	}
	say_swings(&finding, activity, swings);
	return findings_add(findings, &finding);
}

int swings_report(struct process_activity *activity, const struct analysis_options *options,
		  struct findings *findings)
{
	struct families families;
	struct family family = { 0 };
	struct swings swings;
	int err = families_init(&families, activity);

	while (!err && families_next(&families, &family))
		if (!family_is_reported(&family) && swings_of(activity, &family, options, &swings))
			err = report(activity, &family, &swings, options, findings);
	families_fini(&families);
	return err;
}
