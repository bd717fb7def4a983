// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/growth.h"

/* ---- as of a moment -------------------------------------------------------------------------- */

struct growth_view growth_view_now(const struct process_activity *activity)
{
	return (struct growth_view){ .activity = activity,
				     .last = activity->bucket,
				     .end_ns = activity->now_ns };
}

/* Until the last work; until `end_ns` of a process that does none, or may go on. */
static struct growth_view view_until(const struct process_activity *activity, uint64_t work_ns,
				     uint64_t end_ns)
{
	if (activity->exited && work_ns)
		end_ns = work_ns;
	return (struct growth_view){ .activity = activity,
				     .last = process_activity_bucket_at(activity, end_ns),
				     .end_ns = end_ns };
}

struct growth_view growth_view_last(const struct process_activity *activity)
{
	return view_until(activity, activity->last_work_ns, activity->now_ns);
}

struct growth_view growth_view_before(const struct process_activity *activity,
				      const struct activity_ending *ending)
{
	struct growth_view view = view_until(activity, ending->work_ns, ending->begin_ns);

	view.before = ending;
	return view;
}

static const struct group_freed *freed_of(const struct growth_view *view, const struct group *group)
{
	return view->before ? group_freed_since(group, view->before->number) : NULL;
}

struct amount growth_live(const struct growth_view *view, const struct group *group)
{
	const struct group_freed *freed = freed_of(view, group);
	struct amount live = group->live;

	if (freed) {
		live.count += freed->live.count;
		live.bytes += freed->live.bytes;
	}
	return live;
}

struct amount growth_born(const struct growth_view *view, const struct group *group,
			  unsigned int bucket)
{
	const struct group_freed *freed = freed_of(view, group);
	struct amount born = group->born[bucket];

	if (freed) {
		born.count += freed->born[bucket].count;
		born.bytes += freed->born[bucket].bytes;
	}
	return born;
}

struct amount growth_lowest(const struct growth_view *view, const struct group *group,
			    unsigned int bucket)
{
	const struct group_freed *freed = freed_of(view, group);

	/* Since its last change, nothing has. */
	if (bucket > group->newest)
		return group->live;
	return freed && bucket == freed->from ? freed->lowest : group->lowest[bucket];
}

static uint64_t frees_of(const struct growth_view *view, const struct group *group)
{
	const struct group_freed *freed = freed_of(view, group);

	return group->frees - (freed && freed->frees <= group->frees ? freed->frees : 0);
}

#define STEPS_MIN 5
#define STEP_BUCKETS 3 /* that two of them are apart at least */

/* ---- windows --------------------------------------------------------------------------------- */

/* A stretch of buckets, as windows. */
struct windows {
	struct amount left[GROWTH_WINDOWS];   /* born in it, and alive */
	struct amount lowest[GROWTH_WINDOWS]; /* that lived in it */
};

static void windows_fill(const struct growth_view *view, const struct group *group,
			 unsigned int first, struct windows *windows)
{
	const unsigned int span = view->last + 1 - first;
	unsigned int i, w;

	for (w = 0; w < GROWTH_WINDOWS; w++) {
		windows->left[w] = (struct amount){ 0 };
		windows->lowest[w] = (struct amount){ UINT64_MAX, UINT64_MAX };
	}
	for (i = first; i <= view->last; i++) {
		const struct amount born = growth_born(view, group, i),
				    lowest = growth_lowest(view, group, i);

		w = (i - first) * GROWTH_WINDOWS / span;
		windows->left[w].count += born.count;
		windows->left[w].bytes += born.bytes;
		if (lowest.count < windows->lowest[w].count)
			windows->lowest[w].count = lowest.count;
		if (lowest.bytes < windows->lowest[w].bytes)
			windows->lowest[w].bytes = lowest.bytes;
	}
}

static void windows_add(struct windows *sum, const struct windows *windows, bool with_last)
{
	unsigned int w;

	for (w = 0; w < GROWTH_WINDOWS; w++) {
		sum->lowest[w].count += windows->lowest[w].count;
		sum->lowest[w].bytes += windows->lowest[w].bytes;
		if (w == GROWTH_WINDOWS - 1 && !with_last)
			break;
		sum->left[w].count += windows->left[w].count;
		sum->left[w].bytes += windows->left[w].bytes;
	}
}

static uint64_t rise_since(const struct windows *windows, unsigned int from)
{
	const uint64_t before = windows->lowest[from].bytes,
		       after = windows->lowest[GROWTH_WINDOWS - 1].bytes;

	return after > before ? after - before : 0;
}

/*
 * Whether what is live has grown from window to the last one by what the windows between have left
 * behind, or half of it: where old blocks give way to new ones, the amount stays.
 */
static bool grew_since(const struct windows *windows, unsigned int from)
{
	const uint64_t rise = rise_since(windows, from);
	uint64_t left = 0;
	unsigned int w;

	for (w = from; w < GROWTH_WINDOWS - 1; w++)
		left += windows->left[w].bytes;
	return rise && rise >= left / 2;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/*
 * Frees with which a process ends say nothing of what came and went while it worked: where they
 * begin, buckets are not told apart from them.
 */
static unsigned int last_of_frees(const struct process_activity *activity)
{
	return process_activity_has_ended(activity, &activity->ending) ?
		       process_activity_bucket_at(activity, activity->ending.begin_ns) :
		       ACTIVITY_BUCKETS;
}

static void note_work(const struct process_activity *activity, const struct growth_view *view,
		      unsigned int first, struct growth *growth)
{
	const unsigned int ending = last_of_frees(activity);
	unsigned int i;

	for (i = first; i <= view->last; i++) {
		const struct activity_slice *slice = &activity->slices[i];

		growth->launches += slice->launches;
		if (i < ending && slice->allocs > activity->allocs[i])
			growth->frees += slice->allocs - activity->allocs[i];
	}
}

static void note_group(const struct growth_view *view, struct group *group, struct growth *growth)
{
	const struct amount live = growth_live(view, group);

	group->picked = true;
	growth->classes++;
	growth->live.count += live.count;
	growth->live.bytes += live.bytes;
	growth->allocs += group->allocs;
	growth->freed += frees_of(view, group);
	if (!growth->largest || group->smallest < growth->smallest)
		growth->smallest = group->smallest;
	if (group->largest > growth->largest)
		growth->largest = group->largest;
}

static void pick_none(const struct family *family)
{
	size_t i;

	for (i = 0; i < family->count; i++)
		family->members[i]->picked = false;
}

/* Picks those of which more lives in the end, and adds up what they left; `*all` is of all. */
static void pick(const struct growth_view *view, const struct family *family, unsigned int first,
		 struct windows *all, struct windows *picked, struct growth *growth)
{
	struct windows windows;
	size_t i;

	for (i = 0; i < family->count; i++) {
		struct group *group = family->members[i];

		windows_fill(view, group, first, &windows);
		windows_add(all, &windows, true);
		if (group->reported || !rise_since(&windows, 1))
			continue;
		/*
		 * The last window's are young; but where nothing is ever freed, they stay as well.
		 */
		windows_add(picked, &windows, !frees_of(view, group));
		note_group(view, group, growth);
	}
}

static void sum_up(const struct windows *picked, struct growth *growth)
{
	unsigned int w;

	for (w = 0; w < GROWTH_WINDOWS; w++) {
		growth->by_window[w] = picked->left[w];
		growth->left.count += picked->left[w].count;
		growth->left.bytes += picked->left[w].bytes;
		growth->windows += w < GROWTH_WINDOWS - 1 && picked->left[w].count > 0;
	}
}

/* The sum of the picked ones, or of all. */
static uint64_t first_ns_of(const struct family *family, bool picked)
{
	uint64_t first_ns = UINT64_MAX;
	size_t i;

	for (i = 0; i < family->count; i++)
		if ((!picked || family->members[i]->picked) &&
		    family->members[i]->first_ts_ns < first_ns)
			first_ns = family->members[i]->first_ts_ns;
	return first_ns;
}

static uint64_t born_of_picked(const struct growth_view *view, const struct family *family,
			       unsigned int bucket)
{
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < family->count; i++)
		if (family->members[i]->picked)
			count += growth_born(view, family->members[i], bucket).count;
	return count;
}

/*
 * Whether it becomes more in steps that are far apart, and one as far as another, to the end: large
 * blocks of one size, of which none is ever freed. They may be too few for the windows.
 */
static bool grows_in_steps(const struct growth_view *view, const struct family *family,
			   unsigned int first, const struct growth *growth)
{
	unsigned int i, before = 0, steps = 0, least = ACTIVITY_BUCKETS, most = 0;

	if (growth->freed || growth->classes != 1)
		return false;
	for (i = first; i <= view->last; i++) {
		if (!born_of_picked(view, family, i))
			continue;
		if (steps && i - before < least)
			least = i - before;
		if (steps && i - before > most)
			most = i - before;
		before = i;
		steps++;
	}
	return steps >= STEPS_MIN && least >= STEP_BUCKETS && most <= least + least / 2 &&
	       view->last - before <= most;
}

static bool grows_since(const struct growth_view *view, const struct family *family,
			unsigned int first, const struct analysis_options *options,
			struct growth *growth)
{
	struct windows all = { 0 }, picked = { 0 };

	*growth = (struct growth){ .last_ns = view->end_ns };
	pick_none(family);
	pick(view, family, first, &all, &picked, growth);
	sum_up(&picked, growth);
	growth->first_ns = process_activity_bucket_begin(view->activity, first);
	if (growth->first_ns < first_ns_of(family, false))
		growth->first_ns = first_ns_of(family, false);
	note_work(view->activity, view, first, growth);
	/* That some sizes become more while others become fewer is no growth. */
	return (growth->windows >= options->leak_windows ||
		(growth->windows + 1 >= options->leak_windows &&
		 grows_in_steps(view, family, first, growth))) &&
	       growth->left.count >= options->leak_count &&
	       growth->left.bytes >= options->leak_bytes && grew_since(&picked, 1) &&
	       grew_since(&picked, GROWTH_WINDOWS / 2) &&
	       rise_since(&all, 1) >= rise_since(&picked, 1) / 2;
}

static void growth_add(struct growth *sum, const struct growth *growth)
{
	unsigned int w;

	for (w = 0; w < GROWTH_WINDOWS; w++) {
		sum->by_window[w].count += growth->by_window[w].count;
		sum->by_window[w].bytes += growth->by_window[w].bytes;
	}
	if (!sum->classes || (growth->first_ns && growth->first_ns < sum->first_ns)) {
		sum->first_ns = growth->first_ns;
		sum->launches = growth->launches;
		sum->frees = growth->frees;
	}
	if (growth->last_ns > sum->last_ns)
		sum->last_ns = growth->last_ns;
	sum->left.count += growth->left.count;
	sum->left.bytes += growth->left.bytes;
	if (growth->windows > sum->windows)
		sum->windows = growth->windows;
	sum->live.count += growth->live.count;
	sum->live.bytes += growth->live.bytes;
	sum->allocs += growth->allocs;
	sum->freed += growth->freed;
	if (!sum->classes || growth->smallest < sum->smallest)
		sum->smallest = growth->smallest;
	if (growth->largest > sum->largest)
		sum->largest = growth->largest;
	sum->classes += growth->classes;
}

/*
 * Where each is larger than the one before, the first and the last ones have size classes of their
 * own, which do not grow, or not for long: they belong to the others, if they are as few.
 */
static void pick_outer_ones(const struct growth_view *view, const struct family *family,
			    unsigned int first, struct growth *growth)
{
	const uint64_t most = growth->left.count * 2 / GROWTH_WINDOWS + 1,
		       smallest = growth->smallest, largest = growth->largest;
	size_t i;

	for (i = 0; i < family->count; i++) {
		struct group *group = family->members[i];
		struct growth outer = { 0 };
		struct windows sum = { 0 }, windows;

		if (group->picked || group->reported || frees_of(view, group) ||
		    !growth_live(view, group).count || growth_live(view, group).count > most ||
		    (group->largest >= smallest && group->smallest <= largest))
			continue;
		windows_fill(view, group, first, &windows);
		windows_add(&sum, &windows, true);
		note_group(view, group, &outer);
		sum_up(&sum, &outer);
		growth_add(growth, &outer);
	}
}

/* Whether so much time is enough to speak of growth. */
static bool is_long(const struct growth_view *view, unsigned int first,
		    const struct analysis_options *options)
{
	const uint64_t begin_ns = process_activity_bucket_begin(view->activity, first),
		       length_ns = view->end_ns > begin_ns ? view->end_ns - begin_ns : 0;
	/* What came after the last work is a part of the time for which it was seen. */
	const uint64_t buckets = view->last + 1 - first, all = view->activity->bucket + 1;

	return first <= view->last && buckets >= GROWTH_WINDOWS &&
	       length_ns >= options->leak_time_ns && buckets * 100 >= all * options->leak_share;
}

/* Nothing can have come of it, or its beginning is not to be looked for. */
static bool is_little(const struct growth_view *view, const struct family *family,
		      const struct analysis_options *options, bool *freed)
{
	struct amount sum = { 0 };
	size_t i;

	*freed = false;
	for (i = 0; i < family->count; i++) {
		const struct amount live = growth_live(view, family->members[i]);

		sum.count += live.count;
		sum.bytes += live.bytes;
		*freed |= frees_of(view, family->members[i]) > 0;
	}
	return sum.count < options->leak_count || sum.bytes < options->leak_bytes;
}

/* What was set up before the growth began does not belong to it; its first blocks do. */
static void look_closer(const struct growth_view *view, const struct family *family,
			unsigned int first, const struct analysis_options *options,
			struct growth *growth)
{
	const unsigned int begin =
		process_activity_bucket_at(view->activity, first_ns_of(family, true));
	uint64_t smallest, largest;

	if (growth_rises(growth, &smallest, &largest)) {
		pick_outer_ones(view, family, first, growth);
		return;
	}
	/* If it is too short then, it was none too short before. */
	if (begin > first && is_long(view, begin, options) &&
	    !grows_since(view, family, begin, options, growth))
		grows_since(view, family, first, options, growth);
}

static bool grows_together(const struct growth_view *view, const struct family *family,
			   const struct analysis_options *options, struct growth *growth)
{
	unsigned int first;
	bool freed;

	if (is_little(view, family, options, &freed))
		return false;
	first = process_activity_bucket_at(view->activity, first_ns_of(family, false));
	/*
	 * A leak may have begun long after the first allocation. Where frees occur, a later
	 * beginning is not looked for: anything that comes and goes grows for a while.
	 */
	for (; is_long(view, first, options); first += (view->last + 1 - first) / 2) {
		if (grows_since(view, family, first, options, growth)) {
			look_closer(view, family, first, options, growth);
			return true;
		}
		if (freed)
			return false;
	}
	return false;
}

/*
 * Whether the others of the family become fewer, little by little, as the picked ones grow: then
 * these only take their place. (What was set up and freed once is none of that.)
 */
static bool take_their_place(const struct growth_view *view, const struct family *family)
{
	const unsigned int first =
		process_activity_bucket_at(view->activity, first_ns_of(family, true));
	struct windows others = { 0 }, picked = { 0 }, windows;
	unsigned int w, falls = 0;
	size_t i;

	for (i = 0; i < family->count; i++) {
		windows_fill(view, family->members[i], first, &windows);
		windows_add(family->members[i]->picked ? &picked : &others, &windows, true);
	}
	for (w = 2; w < GROWTH_WINDOWS; w++)
		falls += others.lowest[w].bytes < others.lowest[w - 1].bytes;
	return falls >= GROWTH_WINDOWS / 2 &&
	       others.lowest[1].bytes > others.lowest[GROWTH_WINDOWS - 1].bytes &&
	       others.lowest[1].bytes - others.lowest[GROWTH_WINDOWS - 1].bytes >=
		       rise_since(&picked, 1) / 2;
}

/* Those of which nothing was ever freed, and that only if there are others. */
static bool grow_unfreed(const struct growth_view *view, const struct family *family,
			 const struct analysis_options *options, struct growth *growth)
{
	struct group *members[USAGE_CLASSES]; /* a family has one of each at most */
	struct family unfreed = { .members = members };
	size_t i;

	for (i = 0; i < family->count; i++)
		if (!frees_of(view, family->members[i]))
			members[unfreed.count++] = family->members[i];
	pick_none(family);
	return unfreed.count && unfreed.count < family->count &&
	       grows_together(view, &unfreed, options, growth) && !take_their_place(view, family);
}

/* What else the function allocates may come and go: then those that grow are found one by one. */
static bool grow_alone(const struct growth_view *view, const struct family *family,
		       const struct analysis_options *options, struct growth *growth)
{
	uint64_t grows = 0; /* by size class */
	size_t i;

	*growth = (struct growth){ 0 };
	for (i = 0; i < family->count; i++) {
		const struct family alone = { .members = &family->members[i], .count = 1 };
		struct growth one;

		pick_none(family);
		if (!grows_together(view, &alone, options, &one) || take_their_place(view, family))
			continue;
		growth_add(growth, &one);
		grows |= 1ull << family->members[i]->size_class;
	}
	for (i = 0; i < family->count; i++)
		family->members[i]->picked = grows >> family->members[i]->size_class & 1;
	return grows;
}

bool growth_of(const struct growth_view *view, const struct family *family,
	       const struct analysis_options *options, struct growth *growth)
{
	const bool grows = grows_together(view, family, options, growth) ||
			   (family->count > 1 && (grow_unfreed(view, family, options, growth) ||
						  grow_alone(view, family, options, growth)));

	growth->until_end = view->before;
	return grows;
}

/* ---- how the sizes change -------------------------------------------------------------------- */

#define RISES_MIN 4 /* windows with anything; in fewer, no rise can be told from chance */

/* Mean sizes, window by window, of those that have any. Returns how many. */
static unsigned int means_of(const struct growth *growth, uint64_t means[GROWTH_WINDOWS])
{
	unsigned int w, count = 0;

	for (w = 0; w < GROWTH_WINDOWS; w++)
		if (growth->by_window[w].count)
			means[count++] = growth->by_window[w].bytes / growth->by_window[w].count;
	return count;
}

bool growth_rises(const struct growth *growth, uint64_t *first, uint64_t *last)
{
	uint64_t means[GROWTH_WINDOWS];
	const unsigned int count = means_of(growth, means);
	unsigned int i, rises = 0;

	for (i = 1; i < count; i++)
		rises += means[i] > means[i - 1];
	if (count < RISES_MIN || rises + 1 < count - 1)
		return false;
	*first = means[0];
	*last = means[count - 1];
	return (double)*last >= (double)*first * 1.25;
}

/* Whether it becomes ever larger by the same factor, not by the same amount. */
static bool is_geometric(const struct growth *growth)
{
	uint64_t means[GROWTH_WINDOWS];
	const unsigned int count = means_of(growth, means), middle = (count - 1) / 2;
	double early, late;

	if (!means[0] || !means[middle])
		return false;
	early = (double)means[middle] / (double)means[0];
	late = (double)means[count - 1] / (double)means[middle];
	return late >= 1.5 && late >= early * 0.9;
}

const char *growth_pattern(const struct growth *growth)
{
	uint64_t first, last;

	if (growth_rises(growth, &first, &last))
		return is_geometric(growth) ?
			       "geometric: each larger than the one before by about the same factor" :
			       "rising: each larger than the one before";
	if (growth->smallest == growth->largest)
		return "all of one size";
	return growth->classes > 1 ? "mixed sizes" : "similar sizes";
}
