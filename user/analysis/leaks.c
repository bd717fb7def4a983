// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/leaks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/held_growth.h"
#include "analysis/tensor_growth.h"
#include "ledger/kernels.h"
#include "ledger/usage.h"

#define SHORT_FACTOR 10 /* growth seen for less than so many times leak_time may be a beginning */
#define ENDED_MAX 8     /* of what ended with contexts, so much is remembered */
#define LOOP_SHARE 4    /* what was made in a loop was made in this part of the time or more */
#define SEGMENT_BYTES (1u << 20) /* a caching allocator takes no less at once */

/* ---- growth ---------------------------------------------------------------------------------- */

/* Whether it works, and does not only load what it will work with. */
static void work_confidence(const struct growth *growth, const struct analysis_options *options,
			    struct finding *finding)
{
	const bool captured = options->captured_ops >> MS_OP_LAUNCH & 1;

	/* Some, of graphs, are there in any case. */
	if (growth->launches && captured)
		return;
	if (growth->frees >= growth->left.count / 2)
		finding_lower(finding, FINDING_MEDIUM,
			      captured ?
				      "nothing was launched meanwhile, but other memory came and"
				      " went" :
				      "launches were not recorded, but other memory came and went");
	else
		finding_lower(finding, FINDING_LOW,
			      captured ?
				      "nothing was launched meanwhile: the program may be loading" :
				      "launches were not recorded: the program may be loading");
}

void leaks_growth_confidence(const struct growth *growth, const struct analysis_options *options,
			     struct finding *finding)
{
	const uint64_t length = growth->last_ns - growth->first_ns;

	work_confidence(growth, options, finding);
	if (growth->refused_ns)
		finding_lower(finding, FINDING_MEDIUM,
			      "memory was refused then: it may have levelled off");
	if (growth->less_granted)
		finding_lower(finding, FINDING_LOW,
			      "memory was refused then, but less was granted: it may do with that");
	if (length / SHORT_FACTOR < options->leak_time_ns)
		finding_lower(finding, FINDING_MEDIUM,
			      "it was seen for a short time only: it may level off");
	if (growth->windows < options->leak_windows)
		finding_lower(finding, FINDING_LOW,
			      "it grew in a few steps: it may be meant to have so many");
	else if (growth->windows < GROWTH_WINDOWS - 1)
		finding_lower(finding, FINDING_MEDIUM, "it did not grow all the time");
}

struct finding leaks_growth_finding(const struct process_activity *activity,
				    const struct family *family, const struct growth *growth)
{
	struct finding finding = family_finding(activity, family, FINDING_LEAK_GROWTH);
	const uint64_t length = growth->last_ns - growth->first_ns;
	uint64_t first, last;

	finding.first_ts_ns = growth->first_ns;
	finding.last_ts_ns = growth->last_ns;
	finding.bytes = growth->left.bytes;
	finding.pattern = growth_pattern(growth);
	finding_say(&finding, "allocations left behind", FINDING_COUNT, growth->left.count);
	finding_say(&finding, "bytes left behind", FINDING_BYTES, growth->left.bytes);
	finding_say(&finding, "growth", FINDING_BYTES_PER_SECOND,
		    finding_rate(growth->left.bytes, length));
	finding_say(&finding, "seen growing for", FINDING_NS, length);
	finding_say(&finding, "windows, out of 7, that left something behind", FINDING_COUNT,
		    growth->windows);
	finding_say(&finding, "allocations of this kind", FINDING_COUNT, growth->allocs);
	finding_say(&finding,
		    growth->until_end ? "frees of this kind before it ended" : "frees of this kind",
		    FINDING_COUNT, growth->freed);
	finding_say(&finding,
		    growth->until_end ? "live bytes of this kind then" : "live bytes of this kind",
		    FINDING_BYTES, growth->live.bytes);
	if (growth_rises(growth, &first, &last)) {
		finding_say(&finding, "mean size of the first ones", FINDING_BYTES, first);
		finding_say(&finding, "mean size of the last ones", FINDING_BYTES, last);
	} else {
		finding_say(&finding, "smallest of this kind", FINDING_BYTES, growth->smallest);
		finding_say(&finding, "largest of this kind", FINDING_BYTES, growth->largest);
	}
	finding_say(&finding, "launches meanwhile", FINDING_COUNT, growth->launches);
	if (growth->refused_ns) {
		finding.says = "leaves %B behind until memory is refused: %0 allocations in %3";
		finding_say(&finding, "memory was refused after that for", FINDING_NS,
			    growth->refused_ns);
	}
	return finding;
}

/*
 * Where what grew was allocated, if what the process has live in the end does not say that: it was
 * freed, or is memory of the host.
 */
static void note_lines(struct finding *finding, const struct growth_view *view,
		       const struct family *family)
{
	size_t i;

	for (i = 0; i < family->count; i++) {
		const struct group *group = family->members[i];
		const struct group_freed *freed =
			view->before ? group_freed_since(group, view->before->number) : NULL;

		if (!group->picked)
			continue;
		stack_tally_merge(&finding->lines, &group->lines);
		if (freed)
			stack_tally_merge(&finding->lines, &freed->lines);
	}
}

static void mark_picked(const struct family *family)
{
	size_t i;

	for (i = 0; i < family->count; i++)
		family->members[i]->reported |= family->members[i]->picked;
}

/* ---- growth that ends with a context --------------------------------------------------------- */

/*
 * What grew until its context ended. If the program begins again then, and fills it as before, that
 * is how it frees; else it was a leak.
 */
struct ended_growth {
	struct finding finding;
	uint64_t allocs; /* of the family until then */
	uint64_t left;
	bool again; /* it was so before */
};

static struct ended_growth *ended_find(const struct process_activity *activity,
				       const struct family *family)
{
	const struct group *group = family->members[0];
	size_t i;

	for (i = 0; i < activity->ended_count; i++) {
		const struct finding *finding = &activity->ended[i].finding;

		if (finding->space == group->space && finding->row == group->row &&
		    finding->device == group->device)
			return &activity->ended[i];
	}
	return NULL;
}

static int ended_note(struct process_activity *activity, const struct growth_view *view,
		      const struct family *family, const struct growth *growth,
		      const struct analysis_options *options)
{
	struct ended_growth *ended = ended_find(activity, family);
	const bool again = ended;

	if (!activity->ended) {
		activity->ended = calloc(ENDED_MAX, sizeof(*activity->ended));
		if (!activity->ended)
			return -ENOMEM;
	}
	if (!ended && activity->ended_count == ENDED_MAX)
		return 0;
	if (!ended)
		ended = &activity->ended[activity->ended_count++];
	*ended = (struct ended_growth){ .finding = leaks_growth_finding(activity, family, growth),
					.allocs = family_allocs(family),
					.left = growth->left.count,
					.again = again };
	note_lines(&ended->finding, view, family);
	leaks_growth_confidence(growth, options, &ended->finding);
	return 0;
}

/* Whether it is a leak, all in all. */
static bool ended_counts(const struct ended_growth *ended, const struct family *family)
{
	return !ended->again && (family_allocs(family) - ended->allocs) * 2 < ended->left;
}

int leaks_before_end(struct process_activity *activity, const struct analysis_options *options)
{
	const struct growth_view view = growth_view_now(activity);
	struct families families;
	struct family family = { 0 };
	struct growth growth;
	int err = families_init(&families, activity);

	while (!err && families_next(&families, &family))
		if (growth_of(&view, &family, options, &growth))
			err = ended_note(activity, &view, &family, &growth, options);
	families_fini(&families);
	return err;
}

/* ---- growth at the end ----------------------------------------------------------------------- */

static int report_growth(const struct growth_view *view, const struct family *family,
			 const struct growth *growth, const struct analysis_options *options,
			 struct findings *findings)
{
	const struct process_activity *activity = view->activity;
	struct finding finding = leaks_growth_finding(activity, family, growth);
	const bool freed = view->before;

	if (freed || !usage_is_held(finding.space))
		note_lines(&finding, view, family);
	leaks_growth_confidence(growth, options, &finding);
	finding.freed = freed;
	if (freed) {
		finding.says = growth->refused_ns ?
				       "grows by %B until memory is refused: %0 allocations in %3" :
				       "grows by %B until it ends: %0 allocations in %3";
		finding_say(&finding, "freed when the program ended", FINDING_BYTES,
			    activity->ending.last_ns ? growth->live.bytes : 0);
		finding_lower(&finding, FINDING_MEDIUM,
			      "it was freed when the program ended, and may be meant to grow");
	}
	mark_picked(family);
	return findings_add(findings, &finding);
}

/* As it is; else as it was before a context ended, or what looks like a shutdown. */
static int judge_growth(struct process_activity *activity, const struct family *family,
			const struct analysis_options *options, struct findings *findings)
{
	const struct growth_view now = growth_view_last(activity),
				 before = growth_view_before(activity, &activity->ending);
	const struct ended_growth *ended = ended_find(activity, family);
	struct growth growth;

	if (held_growth_of(&now, family, options, &growth))
		return tensor_growth_explains(&now, family, &growth) ?
			       0 :
			       report_growth(&now, family, &growth, options, findings);
	if (ended) {
		if (!ended_counts(ended, family))
			return 0;
		family->members[0]->reported = true;
		return findings_add(findings, &ended->finding);
	}
	if (process_activity_has_ended(activity, &activity->ending) &&
	    held_growth_of(&before, family, options, &growth) &&
	    !tensor_growth_explains(&before, family, &growth))
		return report_growth(&before, family, &growth, options, findings);
	return 0;
}

int leaks_growth(struct process_activity *activity, const struct analysis_options *options,
		 struct findings *findings)
{
	struct families families;
	struct family family = { 0 };
	int err = families_init(&families, activity);

	if (!err)
		err = tensor_growth_report(activity, options, findings);
	while (!err && families_next(&families, &family))
		err = judge_growth(activity, &family, options, findings);
	families_fini(&families);
	return err;
}

int leaks_each_growth(struct process_activity *activity, const struct analysis_options *options,
		      leaks_growth_fn *each, void *context)
{
	const struct growth_view view = growth_view_now(activity);
	struct families families;
	struct family family = { 0 };
	struct growth growth;
	int err = families_init(&families, activity);

	while (!err && families_next(&families, &family))
		if (held_growth_of(&view, &family, options, &growth) && !growth.less_granted)
			each(context, family.members[0], &growth);
	families_fini(&families);
	return err;
}

/* ---- at the end of a process ----------------------------------------------------------------- */

/*
 * The buckets of a process's time up to which it is taken to have set itself up: what comes before
 * the first allocation, importing a library for instance, is no part of what is shared out.
 */
static unsigned int init_buckets(const struct process_activity *activity,
				 const struct analysis_options *options)
{
	const unsigned int first = process_activity_bucket_at(activity, activity->first_alloc_ns);

	return first +
	       (unsigned int)(((activity->bucket + 1ull - first) * options->init_share + 99) / 100);
}

static struct amount born_before(const struct group *group, unsigned int bucket)
{
	struct amount born = group->born[GROUP_BEFORE];
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
	uint64_t made = activity->allocs_before, left = 0;
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

/* What a family did not free and looks as if it had been forgotten. */
struct forgotten {
	struct amount left, early; /* `early`: of it, set up at the beginning */
	uint64_t allocs, frees, peak_count, first_ts_ns, smallest, largest;
	uint64_t freed_last;      /* by the frees that the process ended with */
	uint64_t born_in;         /* buckets (bit set) in which some of it was made */
	struct stack_tally lines; /* bytes of `left`; of memory of the host alone */
};

_Static_assert(ACTIVITY_BUCKETS <= 64, "struct forgotten has a bit for each");

static void forgotten_add(struct forgotten *sum, const struct group *group,
			  const struct amount *early, const struct group_freed *freed)
{
	unsigned int i;

	for (i = 0; i < ACTIVITY_BUCKETS; i++)
		sum->born_in |= (uint64_t)(group->born[i].count > 0) << i;
	sum->freed_last += freed ? freed->frees : 0;
	if (!sum->left.count || group->first_ts_ns < sum->first_ts_ns)
		sum->first_ts_ns = group->first_ts_ns;
	if (!sum->left.count || group->smallest < sum->smallest)
		sum->smallest = group->smallest;
	if (group->largest > sum->largest)
		sum->largest = group->largest;
	if (!usage_is_held(group->space))
		stack_tally_merge(&sum->lines, &group->lines);
	sum->left.count += group->live.count;
	sum->left.bytes += group->live.bytes;
	sum->early.count += early->count;
	sum->early.bytes += early->bytes;
	sum->allocs += group->allocs;
	sum->frees += group->frees;
	sum->peak_count += group->peak_count;
}

static void say_forgotten(struct finding *finding, const struct forgotten *forgotten)
{
	finding->first_ts_ns = forgotten->first_ts_ns;
	finding->bytes = forgotten->left.bytes;
	finding->lines = forgotten->lines;
	finding_say(finding, "allocations not freed", FINDING_COUNT, forgotten->left.count);
	finding_say(finding, "bytes not freed", FINDING_BYTES, forgotten->left.bytes);
	finding_say(finding, "those allocated during initialisation", FINDING_COUNT,
		    forgotten->early.count);
	finding_say(finding, "allocations of this kind", FINDING_COUNT, forgotten->allocs);
	finding_say(finding, "frees of this kind", FINDING_COUNT, forgotten->frees);
	finding_say(finding, "most of this kind at a time", FINDING_COUNT, forgotten->peak_count);
	finding_say(finding, "smallest of this kind", FINDING_BYTES, forgotten->smallest);
	finding_say(finding, "largest of this kind", FINDING_BYTES, forgotten->largest);
}

/* What is looked at when a process ends. */
struct last_look {
	unsigned int init;
	bool torn;       /* it frees what it sets up, */
	bool tidied;     /* and did so at its end */
	bool caches;     /* its memory comes from an allocator that keeps what is freed */
	uint64_t ending; /* of the frees that it ended with; 0: there are none */
	uint64_t live[MS_SPACES_COUNT];
	const struct change *change;
	uint32_t status;
};

/* Whether what was left was made again and again, and not in a few goes. */
static bool is_of_loop(const struct process_activity *activity, const struct last_look *look,
		       const struct forgotten *forgotten, const struct analysis_options *options)
{
	const unsigned int end = activity->bucket + 1;
	unsigned int made = 0, i;

	for (i = look->init; i < end; i++)
		made += forgotten->born_in >> i & 1;
	return forgotten->left.count - forgotten->early.count >= options->leak_count &&
	       made * LOOP_SHARE >= end - look->init;
}

/*
 * Most programs leave the rest to the driver when they end: what they set up, what they need to the
 * last, what an allocator keeps for them. Forgotten is what a program has left that frees the rest
 * at its end, and what it made in a loop.
 */
static bool is_forgotten(const struct process_activity *activity, const struct last_look *look,
			 const struct forgotten *forgotten, const struct analysis_options *options)
{
	const bool loop = is_of_loop(activity, look, forgotten, options);

	if (forgotten->early.count == forgotten->left.count)
		return false;
	if (look->caches)
		return loop && forgotten->largest < SEGMENT_BYTES;
	return look->tidied || loop || forgotten->freed_last > forgotten->left.count;
}

static int report_exit(const struct process_activity *activity, const struct family *family,
		       const struct forgotten *forgotten, const struct last_look *look, bool kept,
		       struct findings *findings)
{
	struct finding finding =
		family_finding(activity, family, kept ? FINDING_KEPT_TO_END : FINDING_LEAK_AT_EXIT);

	say_forgotten(&finding, forgotten);
	if (look->status)
		finding_lower(&finding, FINDING_LOW, "the program ended with an error");
	if (look->change->process->was_running)
		finding_lower(&finding, FINDING_LOW,
			      "it ran before it was traced: what it set up is not known");
	if (!(kept ? look->torn : look->tidied))
		finding_lower(&finding, FINDING_MEDIUM,
			      "the program does not free what it set up, either");
	return findings_add(findings, &finding);
}

static int judge_exit(const struct process_activity *activity, const struct family *family,
		      const struct analysis_options *options, const struct last_look *look,
		      struct findings *findings)
{
	struct forgotten forgotten = { 0 };
	size_t i;

	for (i = 0; i < family->count; i++) {
		struct group *group = family->members[i];
		const struct amount early = born_before(group, look->init);
		const bool most_freed = group->frees && group->live.count * 2 <= group->peak_count;

		if (group->reported || !group->live.count ||
		    look->live[group->space] != look->change->implicit[group->space].count)
			continue;
		if (look->torn || (early.count < group->live.count && most_freed)) {
			forgotten_add(&forgotten, group, &early,
				      group_freed_since(group, look->ending));
			group->reported = true;
		}
	}
	if (forgotten.left.bytes < options->leak_bytes)
		return 0;
	return report_exit(activity, family, &forgotten, look,
			   !is_forgotten(activity, look, &forgotten, options), findings);
}

int leaks_at_exit(struct process_activity *activity, const struct analysis_options *options,
		  const struct change *change, uint32_t status, struct findings *findings)
{
	struct last_look look = { .init = init_buckets(activity, options),
				  .change = change,
				  .status = status };
	struct families families;
	struct family family = { 0 };
	int err;

	/* One that was killed could not free anything. */
	if (status == MS_EXIT_UNKNOWN || !WIFEXITED(status))
		return 0;
	look.torn = tears_down(activity, look.init);
	look.caches = kernels_are_of_torch(change->process);
	if (process_activity_has_ended(activity, &activity->ending)) {
		look.ending = activity->ending.number;
		look.tidied = look.torn && activity->ending.frees > activity->live_count;
	}
	count_live(activity, look.live);
	err = families_init(&families, activity);
	while (!err && families_next(&families, &family))
		err = judge_exit(activity, &family, options, &look, findings);
	families_fini(&families);
	return err;
}

/* ---- the A-B-C window ------------------------------------------------------------------------ */

static int report_window(const struct process_activity *activity, const struct family *family,
			 const struct analysis_options *options, struct findings *findings)
{
	struct finding finding = family_finding(activity, family, FINDING_LEAK_WINDOW);
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < family->count; i++) {
		count += family->members[i]->window.count;
		finding.bytes += family->members[i]->window.bytes;
	}
	if (!count)
		return 0;
	finding.first_ts_ns = options->window_a_ns;
	finding.last_ts_ns = options->window_c_ns;
	finding_say(&finding, "allocations alive after C", FINDING_COUNT, count);
	finding_say(&finding, "bytes alive after C", FINDING_BYTES, finding.bytes);
	finding_say(&finding, "A", FINDING_TIME, options->window_a_ns);
	finding_say(&finding, "B", FINDING_TIME, options->window_b_ns);
	finding_say(&finding, "C", FINDING_TIME, options->window_c_ns);
	return findings_add(findings, &finding);
}

int leaks_window(struct process_activity *activity, const struct analysis_options *options,
		 struct findings *findings)
{
	struct families families;
	struct family family = { 0 };
	int err = families_init(&families, activity);

	while (!err && families_next(&families, &family))
		err = report_window(activity, &family, options, findings);
	families_fini(&families);
	return err;
}
