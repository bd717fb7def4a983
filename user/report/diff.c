// SPDX-License-Identifier: BSD-2-Clause
#include "report/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const struct threshold thresholds[] = {
#define X(member, name, value, unit, help) \
	{ name, FINDING_##unit, value, help, offsetof(struct diff_options, member) },
	DIFF_THRESHOLDS(X)
#undef X
};

#define THRESHOLDS_COUNT (sizeof(thresholds) / sizeof(*thresholds))

const struct threshold *diff_threshold_at(size_t i)
{
	return i < THRESHOLDS_COUNT ? &thresholds[i] : NULL;
}

struct diff_options diff_defaults(void)
{
	return (struct diff_options){
#define X(member, name, value, unit, help) .member = (value),
		DIFF_THRESHOLDS(X)
#undef X
	};
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *diff_dimension_name(enum diff_dimension dimension)
{
	static const char *const names[] = {
#define X(dimension, name) name,
		DIFF_DIMENSIONS(X)
#undef X
	};

	return names[dimension];
}

static const struct {
	const char *name;
	enum finding_unit unit;
	bool level;
} metrics[] = {
#define X(metric, name, unit, level) { name, FINDING_##unit, level },
	DIFF_METRICS(X)
#undef X
};

const char *diff_metric_name(enum diff_metric metric)
{
	return metrics[metric].name;
}

enum finding_unit diff_metric_unit(enum diff_metric metric)
{
	return metrics[metric].unit;
}

bool diff_metric_is_level(enum diff_metric metric)
{
	return metrics[metric].level;
}

const char *diff_call_name(enum diff_call call)
{
	static const char *const names[DIFF_CALLS_COUNT] = {
		[DIFF_CALL_GRAPH_LAUNCHES] = "graph launches",
		[DIFF_CALL_MEMSETS] = "memsets",
		[DIFF_CALL_SYNCS] = "synchronisations",
	};

	return names[call];
}

const char *diff_basis_name(enum diff_basis basis)
{
	static const char *const names[] = { "auto", "run", "second", "launch" };

	return names[basis];
}

const char *diff_presence_name(enum diff_presence presence)
{
	static const char *const names[] = { "changed", "gone", "new" };

	return names[presence];
}

/* ---- noise ----------------------------------------------------------------------------------- */

int64_t diff_change(const struct diff_row *row, enum diff_metric metric)
{
	return (int64_t)(row->b[metric] - row->a[metric]);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

bool diff_is_beyond(const struct diff_options *options, enum finding_unit unit, uint64_t a,
		    uint64_t b)
{
	uint64_t apart = distance(a, b), larger = a > b ? a : b;
	uint64_t least = unit == FINDING_BYTES ? options->min_bytes : options->min_count;

	return apart && apart >= least &&
	       (unsigned __int128)apart * 100 >= (unsigned __int128)larger * options->min_share;
}

/* What `value` would be if there had been `more` launches and not `launches`. */
static uint64_t scaled(uint64_t value, uint64_t launches, uint64_t more)
{
	unsigned __int128 product = (unsigned __int128)value * more / launches;

	return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}

bool diff_is_one_sided(const struct diff_row *row)
{
	return row->presence != DIFF_IN_BOTH && row->dimension != DIFF_SIZE &&
	       row->dimension != DIFF_SITE;
}

static bool metric_is_beyond(const struct diff *diff, const struct diff_row *row,
			     enum diff_metric metric)
{
	const struct diff_pair *pair = row->pair;
	uint64_t a = row->a[metric], b = row->b[metric];

	if (diff_is_one_sided(row))
		return a != b;
	/* What is only on one side is not a matter of how long either was. */
	if (!pair || metrics[metric].level || pair->basis == DIFF_PER_RUN ||
	    row->presence != DIFF_IN_BOTH)
		return diff_is_beyond(&diff->options, metrics[metric].unit, a, b);
	if (pair->basis == DIFF_PER_LAUNCH) {
		uint64_t in_a = pair->a.process->launches, in_b = pair->b.process->launches;
		uint64_t more = in_a > in_b ? in_a : in_b;

		return diff_is_beyond(&diff->options, metrics[metric].unit, scaled(a, in_a, more),
				      scaled(b, in_b, more));
	}
	return false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool has_any(const uint64_t values[DIFF_METRICS_COUNT])
{
	size_t i;

	for (i = 0; i < DIFF_METRICS_COUNT; i++)
		if (values[i])
			return true;
	return false;
}

int diff_add_row(struct diff *diff, struct diff_row *row)
{
	bool differs = false;
	enum diff_metric metric;

	row->presence = !has_any(row->a) ? DIFF_NEW : !has_any(row->b) ? DIFF_GONE : DIFF_IN_BOTH;
	for (metric = 0; metric < DIFF_METRICS_COUNT; metric++) {
		if (!(row->known >> metric & 1))
			continue;
		differs |= row->a[metric] != row->b[metric];
		if (metric_is_beyond(diff, row, metric))
			row->beyond |= 1u << metric;
	}
	diff->below_noise += differs && !row->beyond;
	if (!row->beyond)
		return 0;
	if (memory_grow(&diff->rows, &diff->rows_capacity, diff->rows_count + 1,
			sizeof(*diff->rows)))
		return -ENOMEM;
	diff->rows[diff->rows_count++] = *row;
	return 0;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Whether all of the program's run is in the recording, and in the time that is reported. */
static bool is_whole_run(const struct diff_process *side)
{
	const struct report_coverage *coverage = &side->recording->coverage;

	return side->process->exited && !side->process->was_running &&
	       !side->process->was_running_earlier && coverage->has_beginning &&
	       !coverage->from_ns && !coverage->until_ns;
}

static enum diff_basis basis_of(const struct diff *diff, const struct diff_pair *pair)
{
	if (pair->presence != DIFF_IN_BOTH || pair->match == DIFF_MATCH_IDENTITY)
		return DIFF_PER_RUN;
	if (diff->options.basis == DIFF_PER_AUTO)
		return is_whole_run(&pair->a) && is_whole_run(&pair->b) ? DIFF_PER_RUN :
									  DIFF_PER_SECOND;
	/* Without any there is nothing to compare. */
	if (diff->options.basis == DIFF_PER_LAUNCH &&
	    (!pair->a.process->launches || !pair->b.process->launches))
		return DIFF_PER_SECOND;
	return diff->options.basis;
}

static void describe_side(struct diff_pair *pair, const struct diff_process *side)
{
	if (!side->process)
		return;
	pair->not_compared |= ~side->recording->coverage.captured_ops & ((1u << MS_OPS_COUNT) - 1);
	pair->no_graph_launches |= !side->recording->coverage.graph_launches;
	pair->no_levels |= side->process->entries_only;
}

static void describe_pair(const struct diff *diff, struct diff_pair *pair)
{
	describe_side(pair, &pair->a);
	describe_side(pair, &pair->b);
	pair->no_levels |= pair->not_compared >> MS_OP_FREE & 1;
	pair->not_compared &= ~(1u << MS_OP_NAME);
	pair->basis = basis_of(diff, pair);
	pair->mixed = __builtin_popcount(diff_kinds(pair)) > 1;
	pair->uncertain = diff_pair_is_uncertain(pair);
}

/* ---- order ----------------------------------------------------------------------------------- */

#define WEIGHTS 5

/* By what rows are sorted, the gravest first: what is held, then what was, then what was done. */
static void weigh(const struct diff_row *row, uint64_t weights[WEIGHTS])
{
	static const enum diff_metric order[WEIGHTS] = { DIFF_LIVE_BYTES, DIFF_PEAK_BYTES,
							 DIFF_CALL_BYTES, DIFF_ALLOC_BYTES,
							 DIFF_CALLS };
	size_t i;

	for (i = 0; i < WEIGHTS; i++)
		weights[i] = row->known >> order[i] & 1 ?
				     distance(row->a[order[i]], row->b[order[i]]) :
				     0;
}

static int compare_weights(const struct diff_row *a, const struct diff_row *b)
{
	uint64_t of_a[WEIGHTS], of_b[WEIGHTS];
	size_t i;

	weigh(a, of_a);
	weigh(b, of_b);
	for (i = 0; i < WEIGHTS; i++)
		if (of_a[i] != of_b[i])
			return of_a[i] < of_b[i] ? 1 : -1;
	return 0;
}

static int compare_keys(const struct diff_row *a, const struct diff_row *b)
{
#define ORDER(member) \
	if (a->member != b->member) \
	return a->member < b->member ? -1 : 1
	ORDER(space);
	ORDER(row);
	ORDER(device);
	ORDER(size_class);
	ORDER(result);
	ORDER(direction);
	ORDER(call);
	ORDER(site);
	ORDER(pair);
#undef ORDER
	return diff_compare_names(a->kernel, b->kernel);
}

static int by_weight(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	int order;

	if (x->dimension != y->dimension)
		return x->dimension < y->dimension ? -1 : 1;
	order = compare_weights(x, y);
	return order ? order : compare_keys(x, y);
}

/* How much more or less memory the process holds, of all kinds: what pairs are sorted by. */
static uint64_t pair_weight(const struct diff_pair *pair)
{
	uint64_t weight = 0, a, b;
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!diff_is_memory(space))
			continue;
		a = pair->a.process ? report_held(pair->a.process, space).bytes : 0;
		b = pair->b.process ? report_held(pair->b.process, space).bytes : 0;
		weight += distance(a, b);
		a = pair->a.process ? pair->a.process->spaces[space].peak_bytes : 0;
		b = pair->b.process ? pair->b.process->spaces[space].peak_bytes : 0;
		weight += distance(a, b);
	}
	return weight;
}

static const struct process *either(const struct diff_pair *pair)
{
	return pair->a.process ? pair->a.process : pair->b.process;
}

static int by_change(const void *a, const void *b)
{
	const struct diff_pair *x = a, *y = b;
	uint64_t of_x = pair_weight(x), of_y = pair_weight(y);
	int order = strncmp(either(x)->comm, either(y)->comm, MS_COMM_BYTES);

	if (of_x != of_y)
		return of_x < of_y ? 1 : -1;
	if (order)
		return order;
	if (either(x)->start_ns != either(y)->start_ns)
		return either(x)->start_ns < either(y)->start_ns ? -1 : 1;
	return either(x)->pid < either(y)->pid ? -1 : either(x)->pid > either(y)->pid;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int compare_pairs(struct diff *diff)
{
	size_t i;
	int err = 0;

	for (i = 0; i < diff->pairs_count; i++)
		describe_pair(diff, &diff->pairs[i]);
	qsort(diff->pairs, diff->pairs_count, sizeof(*diff->pairs), by_change);
	for (i = 0; !err && i < diff->pairs_count; i++)
		err = diff_compare_pair(diff, &diff->pairs[i]);
	return err;
}

static void note_differences(struct diff *diff)
{
	size_t i;

	for (i = 0; i < diff->rows_count; i++)
		if (diff->rows[i].pair)
			diff->pairs[diff->rows[i].pair - diff->pairs].differs = true;
	for (i = 0; i < diff->findings_count; i++)
		if (diff->findings[i].pair && diff->findings[i].beyond)
			diff->pairs[diff->findings[i].pair - diff->pairs].differs = true;
	for (i = 0; i < diff->pairs_count; i++)
		diff->pairs[i].differs |= diff_ends_differ(&diff->pairs[i]);
}

struct diff *diff_new(const struct report *a, const struct report *b,
		      const struct diff_options *options)
{
	struct diff *diff = calloc(1, sizeof(*diff));
	int err;

	if (!diff)
		return NULL;
	diff->a = a;
	diff->b = b;
	diff->options = *options;
	err = diff_match(diff);
	if (!err)
		err = compare_pairs(diff);
	if (!err)
		err = diff_compare_devices(diff);
	if (!err)
		err = diff_compare_findings(diff);
	if (!err) {
		note_differences(diff);
		if (diff->rows_count)
			qsort(diff->rows, diff->rows_count, sizeof(*diff->rows), by_weight);
		return diff;
	}
	diff_free(diff);
	return NULL;
}

void diff_free(struct diff *diff)
{
	if (!diff)
		return;
	free(diff->pairs);
	free(diff->rows);
	free(diff->findings);
	free(diff);
}

/* ---- questions ------------------------------------------------------------------------------- */

bool diff_has_losses(const struct report *side)
{
	size_t i;

	for (i = 0; i < side->count; i++)
		if (report_has_losses(side->recordings[i]))
			return true;
	return side->refused;
}

bool diff_is_inexact(const struct report *side)
{
	size_t i;

	for (i = 0; i < side->count; i++)
		if (report_is_inexact(side->recordings[i]))
			return true;
	return side->refused;
}

bool diff_has_missed(const struct report *side)
{
	size_t i;

	for (i = 0; i < side->count; i++)
		if (side->recordings[i]->coverage.missed_processes)
			return true;
	return false;
}

bool diff_has_untraced(const struct report *side)
{
	size_t i;

	for (i = 0; i < side->count; i++)
		if (side->recordings[i]->coverage.untraced)
			return true;
	return false;
}

bool diff_lacks_children(const struct report *side)
{
	size_t i;

	for (i = 0; i < side->count; i++)
		if (report_lacks_children(side->recordings[i]))
			return true;
	return false;
}

bool diff_is_memory(uint8_t space)
{
	return space != MS_SPACE_NONE && space != MS_SPACE_RESERVED && space != MS_SPACE_MAPPED;
}

bool diff_is_device_memory(uint8_t space)
{
	return usage_is_held(space);
}

/* When the level rose above `bytes` and stayed there until bucket `last`. */
static uint64_t stays_above_ns(const struct timeline *timeline, const struct timeline_level *level,
			       uint64_t bytes, size_t last)
{
	size_t i = last < level->filled ? last : level->filled;

	while (i && level->end[i - 1] > bytes)
		i--;
	return i < level->filled ? timeline->begin_ns + i * timeline->width_ns : 0;
}

/* The bucket in which the process ended, whose end is that of its memory too. */
static size_t last_bucket(const struct timeline *timeline, const struct process *process)
{
	if (!process->exited || !timeline->width_ns)
		return SIZE_MAX;
	return process->exit_ts_ns > timeline->begin_ns ?
		       (process->exit_ts_ns - timeline->begin_ns) / timeline->width_ns :
		       0;
}

static uint64_t first_above_ns(const struct timeline *timeline, const struct timeline_level *level,
			       uint64_t bytes)
{
	size_t i = 0;

	while (i < level->filled && level->max[i] <= bytes)
		i++;
	return i < level->filled ? timeline->begin_ns + i * timeline->width_ns : 0;
}

uint64_t diff_since_ns(const struct diff_row *row)
{
	const struct diff_process *side = row->pair ? &row->pair->b : NULL;
	const struct timeline_level *level;
	const struct timeline *timeline;

	if (row->dimension != DIFF_SPACE || !side || !side->shown || !side->shown->series)
		return 0;
	level = side->shown->series->levels[row->space];
	timeline = &side->recording->timeline;
	if (!level)
		return 0;
	if (diff_change(row, DIFF_LIVE_BYTES) > 0)
		return stays_above_ns(timeline, level, row->a[DIFF_LIVE_BYTES],
				      last_bucket(timeline, side->process));
	if (diff_change(row, DIFF_PEAK_BYTES) <= 0)
		return 0;
	return first_above_ns(timeline, level, row->a[DIFF_PEAK_BYTES]);
}

bool diff_is_part(const struct diff_row *row)
{
	return row->dimension == DIFF_SPACE && row->pair->mixed &&
	       diff_is_device_memory(row->space);
}

static bool is_within(const struct diff_row *part, const struct diff_row *row)
{
	return row->dimension == DIFF_MEMORY ? diff_is_device_memory(part->space) :
					       part->space == row->space;
}

const struct diff_row *diff_part(const struct diff *diff, const struct diff_row *row,
				 enum diff_dimension dimension, enum diff_metric metric)
{
	const bool grew = diff_change(row, metric) > 0;
	const struct diff_row *most = NULL;
	size_t i;

	for (i = 0; i < diff->rows_count; i++) {
		const struct diff_row *part = &diff->rows[i];

		if (part->dimension != dimension || part->pair != row->pair ||
		    !is_within(part, row) || !(part->known >> metric & 1) ||
		    !diff_change(part, metric) || (diff_change(part, metric) > 0) != grew)
			continue;
		if (!most || distance(part->a[metric], part->b[metric]) >
				     distance(most->a[metric], most->b[metric]))
			most = part;
	}
	return most;
}
