// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/leaks.h"

#include <string.h>
#include <sys/wait.h>

#define SHORT_FACTOR 10 /* growth seen for less than so many times leak_time may be a beginning */

/* ---- growth ---------------------------------------------------------------------------------- */

/* A stretch of buckets, as windows. */
struct windows {
	struct amount left[LEAKS_WINDOWS]; /* born in it, and alive */
	uint64_t lowest[LEAKS_WINDOWS];    /* number of live allocations in it */
};

static void windows_fill(const struct process_activity *activity, const struct group *group,
			 unsigned int first, struct windows *windows)
{
	const unsigned int span = activity->bucket + 1 - first;
	unsigned int i, w;

	for (w = 0; w < LEAKS_WINDOWS; w++) {
		windows->left[w] = (struct amount){ 0 };
		windows->lowest[w] = UINT64_MAX;
	}
	for (i = first; i <= activity->bucket; i++) {
		w = (i - first) * LEAKS_WINDOWS / span;
		windows->left[w].count += group->born[i].count;
		windows->left[w].bytes += group->born[i].bytes;
		if (group->lowest[i] < windows->lowest[w])
			windows->lowest[w] = group->lowest[i];
	}
}

/*
 * Whether what is live has grown from window to the last one by what the windows between have left
 * behind, or half of it: where old blocks give way to new ones, the number stays.
 */
static bool grew_since(const struct windows *windows, unsigned int from)
{
	uint64_t left = 0, lowest = windows->lowest[LEAKS_WINDOWS - 1];
	unsigned int w;

	for (w = from; w < LEAKS_WINDOWS - 1; w++)
		left += windows->left[w].count;
	return lowest > windows->lowest[from] && (lowest - windows->lowest[from]) * 2 >= left;
}

static uint64_t launches_since(const struct process_activity *activity, unsigned int first)
{
	uint64_t launches = 0;
	unsigned int i;

	for (i = first; i <= activity->bucket; i++)
		launches += activity->slices[i].launches;
	return launches;
}

static bool grows_since(const struct process_activity *activity, const struct group *group,
			unsigned int first, const struct analysis_options *options,
			struct growth *growth)
{
	struct windows windows;
	unsigned int w;

	windows_fill(activity, group, first, &windows);
	*growth = (struct growth){ .last_ns = activity->now_ns };
	for (w = 0; w < LEAKS_WINDOWS; w++) {
		/*
		 * The last window's are young; but where nothing is ever freed, they stay as well.
		 */
		if (w == LEAKS_WINDOWS - 1 && group->frees)
			break;
		growth->left.count += windows.left[w].count;
		growth->left.bytes += windows.left[w].bytes;
		growth->windows += w < LEAKS_WINDOWS - 1 && windows.left[w].count > 0;
	}
	growth->first_ns = process_activity_bucket_begin(activity, first);
	if (growth->first_ns < group->first_ts_ns)
		growth->first_ns = group->first_ts_ns;
	growth->launches = launches_since(activity, first);
	return growth->windows >= options->leak_windows &&
	       growth->left.count >= options->leak_count &&
	       growth->left.bytes >= options->leak_bytes && grew_since(&windows, 1) &&
	       grew_since(&windows, LEAKS_WINDOWS / 2);
}

/* Whether so much time is enough to speak of growth. */
static bool is_long(const struct process_activity *activity, unsigned int first,
		    const struct analysis_options *options)
{
	uint64_t length = activity->now_ns - process_activity_bucket_begin(activity, first);
	uint64_t buckets = activity->bucket + 1 - first, all = activity->bucket + 1;

	return buckets >= LEAKS_WINDOWS && length >= options->leak_time_ns &&
	       buckets * 100 >= all * options->leak_share;
}

bool leaks_grows(const struct process_activity *activity, struct group *group,
		 const struct analysis_options *options, struct growth *growth)
{
	unsigned int first;

	if (group->live.count < options->leak_count || group->live.bytes < options->leak_bytes)
		return false;
	process_activity_group_advance(activity, group);
	first = process_activity_bucket_at(activity, group->first_ts_ns);
	/*
	 * A leak may have begun long after the first allocation. Where frees occur, a later
	 * beginning is not looked for: anything that comes and goes grows for a while.
	 */
	for (; is_long(activity, first, options); first += (activity->bucket + 1 - first) / 2) {
		if (grows_since(activity, group, first, options, growth))
			return true;
		if (group->frees)
			return false;
	}
	return false;
}

static void about_group(struct finding *finding, const struct group *group)
{
	finding->space = group->space;
	finding->row = group->row;
	finding->device = group->device;
}

/* What there was of it altogether; `level` is how much at a time. */
static void say_group(struct finding *finding, const struct group *group, const char *level,
		      enum finding_unit unit, uint64_t value)
{
	finding_say(finding, "allocations of this kind", FINDING_COUNT, group->allocs);
	finding_say(finding, "frees of this kind", FINDING_COUNT, group->frees);
	finding_say(finding, level, unit, value);
	finding_say(finding, "smallest size of this kind", FINDING_BYTES,
		    1ull << group->size_class);
}

static void growth_confidence(const struct growth *growth, const struct analysis_options *options,
			      struct finding *finding)
{
	uint64_t length = growth->last_ns - growth->first_ns;
	bool captured = options->captured_ops >> MS_OP_LAUNCH & 1;

	/* Some, of graphs, are there in any case. */
	if (!growth->launches || !captured)
		finding_lower(finding, FINDING_LOW,
			      captured ?
				      "nothing was launched meanwhile: the program may be loading" :
				      "launches were not recorded: the program may be loading");
	if (length / SHORT_FACTOR < options->leak_time_ns)
		finding_lower(finding, FINDING_MEDIUM,
			      "it was seen for a short time only: it may level off");
	if (growth->windows < LEAKS_WINDOWS - 1)
		finding_lower(finding, FINDING_MEDIUM, "it did not grow all the time");
}

static int report_growth(struct process_activity *activity, struct group *group,
			 const struct growth *growth, const struct analysis_options *options,
			 struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_LEAK_GROWTH);
	uint64_t length = growth->last_ns - growth->first_ns;

	about_group(&finding, group);
	group->reported = true;
	finding.first_ts_ns = growth->first_ns;
	finding.bytes = growth->left.bytes;
	finding_say(&finding, "allocations left behind", FINDING_COUNT, growth->left.count);
	finding_say(&finding, "bytes left behind", FINDING_BYTES, growth->left.bytes);
	finding_say(&finding, "growth", FINDING_BYTES_PER_SECOND,
		    finding_rate(growth->left.bytes, length));
	finding_say(&finding, "seen growing for", FINDING_NS, length);
	finding_say(&finding, "of 7 windows, left something behind", FINDING_COUNT,
		    growth->windows);
	say_group(&finding, group, "live bytes of this kind", FINDING_BYTES, group->live.bytes);
	finding_say(&finding, "launches meanwhile", FINDING_COUNT, growth->launches);
	growth_confidence(growth, options, &finding);
	return findings_add(findings, &finding);
}

int leaks_growth(struct process_activity *activity, const struct analysis_options *options,
		 struct findings *findings)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < activity->groups_count; i++) {
		struct group *group = &activity->groups[i];
		struct growth growth;

		if (!group->reported && leaks_grows(activity, group, options, &growth))
			err = report_growth(activity, group, &growth, options, findings);
	}
	return err;
}

/* ---- at the end of a process ----------------------------------------------------------------- */

/* The buckets of a process's time in which it is taken to have set itself up. */
static unsigned int init_buckets(const struct process_activity *activity,
				 const struct analysis_options *options)
{
	return (unsigned int)(((activity->bucket + 1ull) * options->init_share + 99) / 100);
}

static struct amount born_before(const struct group *group, unsigned int bucket)
{
	struct amount born = { 0 };
	unsigned int i;

	for (i = 0; i < bucket && i < ACTIVITY_BUCKETS; i++) {
		born.count += group->born[i].count;
		born.bytes += group->born[i].bytes;
	}
	return born;
}

/*
 * Whether it freed most of what it had set up, and has little left: then that, it has forgotten. A
 * program that once emptied a cache has filled it again.
 */
static bool tears_down(const struct process_activity *activity, unsigned int init)
{
	uint64_t made = 0, left = 0;
	size_t i;

	for (i = 0; i < init && i < ACTIVITY_BUCKETS; i++)
		made += activity->allocs[i];
	for (i = 0; i < activity->groups_count; i++)
		left += born_before(&activity->groups[i], init).count;
	return made > 0 && left * 2 <= made && activity->live_count * 2 <= activity->peak_count;
}

/* What was followed, by space: if it is what the state says was live, it is all. */
static void count_live(const struct process_activity *activity, uint64_t live[MS_SPACES_COUNT])
{
	size_t i;

	memset(live, 0, MS_SPACES_COUNT * sizeof(*live));
	for (i = 0; i < activity->groups_count; i++)
		live[activity->groups[i].space] += activity->groups[i].live.count;
}

static int report_exit(struct process_activity *activity, struct group *group,
		       const struct amount *early, bool torn, const struct process *process,
		       uint32_t status, struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_LEAK_AT_EXIT);

	about_group(&finding, group);
	group->reported = true;
	finding.first_ts_ns = group->first_ts_ns;
	finding.bytes = group->live.bytes;
	finding_say(&finding, "allocations not freed", FINDING_COUNT, group->live.count);
	finding_say(&finding, "bytes not freed", FINDING_BYTES, group->live.bytes);
	finding_say(&finding, "those allocated during initialisation", FINDING_COUNT, early->count);
	say_group(&finding, group, "most of this kind at a time", FINDING_COUNT, group->peak_count);
	if (status)
		finding_lower(&finding, FINDING_LOW, "the program ended with an error");
	if (process->was_running)
		finding_lower(&finding, FINDING_LOW,
			      "it ran before it was traced: what it set up is not known");
	if (!torn)
		finding_lower(&finding, FINDING_MEDIUM,
			      "the program does not free what it set up, either");
	else if (early->count == group->live.count)
		finding_lower(&finding, FINDING_MEDIUM,
			      "all of it was set up at the beginning: it may be meant to stay");
	return findings_add(findings, &finding);
}

int leaks_at_exit(struct process_activity *activity, const struct analysis_options *options,
		  const struct change *change, uint32_t status, struct findings *findings)
{
	unsigned int init = init_buckets(activity, options);
	bool torn = tears_down(activity, init);
	uint64_t live[MS_SPACES_COUNT];
	size_t i;
	int err = 0;

	/* One that was killed could not free anything. */
	if (status == MS_EXIT_UNKNOWN || !WIFEXITED(status))
		return 0;
	count_live(activity, live);
	for (i = 0; !err && i < activity->groups_count; i++) {
		struct group *group = &activity->groups[i];
		struct amount early = born_before(group, init);
		bool most_freed = group->frees && group->live.count * 2 <= group->peak_count;

		if (group->reported || group->live.bytes < options->leak_bytes ||
		    live[group->space] != change->implicit[group->space].count)
			continue;
		if (torn || (early.count < group->live.count && most_freed))
			err = report_exit(activity, group, &early, torn, change->process, status,
					  findings);
	}
	return err;
}

/* ---- the A-B-C window ------------------------------------------------------------------------ */

static int report_window(struct process_activity *activity, const struct group *group,
			 const struct analysis_options *options, struct findings *findings)
{
	struct finding finding = process_activity_finding(activity, FINDING_LEAK_WINDOW);

	about_group(&finding, group);
	finding.first_ts_ns = options->window_a_ns;
	finding.last_ts_ns = options->window_c_ns;
	finding.bytes = group->window.bytes;
	finding_say(&finding, "allocations alive after C", FINDING_COUNT, group->window.count);
	finding_say(&finding, "bytes alive after C", FINDING_BYTES, group->window.bytes);
	finding_say(&finding, "A", FINDING_TIME, options->window_a_ns);
	finding_say(&finding, "B", FINDING_TIME, options->window_b_ns);
	finding_say(&finding, "C", FINDING_TIME, options->window_c_ns);
	return findings_add(findings, &finding);
}

int leaks_window(struct process_activity *activity, const struct analysis_options *options,
		 struct findings *findings)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < activity->groups_count; i++)
		if (activity->groups[i].window.count)
			err = report_window(activity, &activity->groups[i], options, findings);
	return err;
}
