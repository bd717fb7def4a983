// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rows of a diff: one number after the other, of both sides.
 */
#include "report/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BIT(metric) (1u << DIFF_##metric)
#define LEVELS (BIT(LIVE_BYTES) | BIT(LIVE_COUNT) | BIT(PEAK_BYTES))
#define MEMORY (LEVELS | BIT(ALLOCS) | BIT(ALLOC_BYTES) | BIT(FREES) | BIT(FREE_BYTES))

/* ---- what may be wrong ----------------------------------------------------------------------- */

static bool side_lacks_calls(const struct diff_process *side, enum ms_op op)
{
	return side->process && (report_lacks_blocks(side->recording) ||
				 side->recording->coverage.counters.lost[op]);
}

bool diff_pair_lacks_calls(const struct diff_pair *pair, enum ms_op op)
{
	return side_lacks_calls(&pair->a, op) || side_lacks_calls(&pair->b, op);
}

static bool side_lacks_memory(const struct diff_process *side)
{
	return side->process && report_process_is_inexact(side->recording, side->process);
}

static bool lacks_memory(const struct diff_pair *pair)
{
	return side_lacks_memory(&pair->a) || side_lacks_memory(&pair->b);
}

bool diff_pair_lacks_beginning(const struct diff_pair *pair)
{
	return (pair->a.process && !pair->a.recording->coverage.has_beginning) ||
	       (pair->b.process && !pair->b.recording->coverage.has_beginning);
}

uint32_t diff_memory_known(const struct diff_pair *pair)
{
	return pair->no_levels ? MEMORY & ~(LEVELS | BIT(FREES) | BIT(FREE_BYTES)) : MEMORY;
}

static bool is_captured(const struct diff_pair *pair, enum ms_op op)
{
	return !(pair->not_compared >> op & 1);
}

/* ---- by space -------------------------------------------------------------------------------- */

static void take_space(uint64_t values[DIFF_METRICS_COUNT], const struct process *process,
		       uint8_t space)
{
	const struct space_total *total;
	struct amount held;

	if (!process)
		return;
	total = &process->spaces[space];
	held = report_held(process, space);
	values[DIFF_LIVE_BYTES] = held.bytes;
	values[DIFF_LIVE_COUNT] = held.count;
	values[DIFF_PEAK_BYTES] = total->peak_bytes;
	values[DIFF_ALLOCS] = total->allocs;
	values[DIFF_ALLOC_BYTES] = total->alloc_bytes;
	values[DIFF_FREES] = total->frees;
	values[DIFF_FREE_BYTES] = total->free_bytes;
}

/* A process may have several kinds of it: one may have taken the place of another. */
static int compare_whole(struct diff *diff, const struct diff_pair *pair)
{
	struct diff_row row = { .dimension = DIFF_MEMORY,
				.pair = pair,
				.device = -1,
				.known = BIT(LIVE_BYTES) | BIT(PEAK_BYTES),
				.uncertain = lacks_memory(pair) };

	if (!pair->mixed || pair->no_levels)
		return 0;
	if (pair->a.process)
		row.a[DIFF_LIVE_BYTES] = report_held_on_devices(pair->a.process);
	if (pair->b.process)
		row.b[DIFF_LIVE_BYTES] = report_held_on_devices(pair->b.process);
	row.a[DIFF_PEAK_BYTES] = diff_peak_on_devices(&pair->a);
	row.b[DIFF_PEAK_BYTES] = diff_peak_on_devices(&pair->b);
	return diff_add_row(diff, &row);
}

static int compare_spaces(struct diff *diff, const struct diff_pair *pair)
{
	uint32_t space;
	int err = 0;

	for (space = 0; !err && space < MS_SPACES_COUNT; space++) {
		struct diff_row row = { .dimension = DIFF_SPACE,
					.pair = pair,
					.space = space,
					.device = -1,
					.known = diff_memory_known(pair),
					.uncertain = lacks_memory(pair) };

		take_space(row.a, pair->a.process, space);
		take_space(row.b, pair->b.process, space);
		err = diff_add_row(diff, &row);
	}
	return err;
}

/* ---- by function ----------------------------------------------------------------------------- */

/* A cell, or those of its allocations that are of one size class. */
struct part {
	const struct usage_cell *cell; /* NULL: there is none */
	const struct usage_size *size; /* NULL: all sizes */
	bool peak_known;
};

struct parts {
	struct part *list;
	size_t count;
};

static int compare_parts(const struct part *a, const struct part *b)
{
	if (!a->size != !b->size)
		return a->size ? 1 : -1;
	if (a->cell->row != b->cell->row)
		return a->cell->row < b->cell->row ? -1 : 1;
	if (a->cell->space != b->cell->space)
		return a->cell->space < b->cell->space ? -1 : 1;
	if (a->cell->device != b->cell->device)
		return a->cell->device < b->cell->device ? -1 : 1;
	if (!a->size || a->size->size_class == b->size->size_class)
		return 0;
	return a->size->size_class < b->size->size_class ? -1 : 1;
}

static int by_part(const void *a, const void *b)
{
	return compare_parts(a, b);
}

static int collect_parts(struct parts *parts, const struct diff_process *side)
{
	const struct report_process *shown = side->shown;
	size_t count = 0, i, j;

	for (i = 0; shown && i < shown->cells_count; i++)
		count += 1 + shown->cells[i].sizes_count;
	parts->list = calloc(count + 1, sizeof(*parts->list));
	if (!parts->list)
		return -ENOMEM;
	for (i = 0; shown && i < shown->cells_count; i++) {
		const struct usage_cell *cell = &shown->cells[i];
		const bool known = side->process->usage->spaces[cell->space].known;

		parts->list[parts->count++] = (struct part){ .cell = cell, .peak_known = known };
		for (j = 0; j < cell->sizes_count; j++)
			parts->list[parts->count++] = (struct part){ .cell = cell,
								     .size = &cell->sizes[j],
								     .peak_known = true };
	}
	qsort(parts->list, parts->count, sizeof(*parts->list), by_part);
	return 0;
}

static void take_part(uint64_t values[DIFF_METRICS_COUNT], const struct part *part)
{
	const struct usage_cell *cell = part ? part->cell : NULL;
	const struct usage_size *size = part ? part->size : NULL;

	if (!cell)
		return;
	values[DIFF_LIVE_BYTES] = size ? size->live_bytes : cell->live_bytes;
	values[DIFF_LIVE_COUNT] = size ? size->live_count : cell->live_count;
	values[DIFF_PEAK_BYTES] = size ? size->most_bytes : cell->peak_bytes;
	values[DIFF_ALLOCS] = size ? size->allocs : cell->allocs;
	values[DIFF_ALLOC_BYTES] = size ? size->alloc_bytes : cell->alloc_bytes;
	values[DIFF_FREES] = size ? size->frees : cell->frees;
	values[DIFF_FREE_BYTES] = size ? size->free_bytes : cell->free_bytes;
}

/* `one` is one that there is. */
static int compare_part(struct diff *diff, const struct diff_pair *pair, const struct part *one,
			const struct part *a, const struct part *b)
{
	struct diff_row row = { .dimension = one->size ? DIFF_SIZE : DIFF_API,
				.pair = pair,
				.row = one->cell->row,
				.space = one->cell->space,
				.device = one->cell->device,
				.size_class = one->size ? one->size->size_class : 0,
				.known = diff_memory_known(pair),
				.uncertain =
					lacks_memory(pair) || diff_pair_lacks_beginning(pair) };

	if ((a && !a->peak_known) || (b && !b->peak_known))
		row.known &= ~BIT(PEAK_BYTES);
	take_part(row.a, a);
	take_part(row.b, b);
	return diff_add_row(diff, &row);
}

/* By function, and of each function by size. */
static int compare_apis(struct diff *diff, const struct diff_pair *pair)
{
	struct parts a = { 0 }, b = { 0 };
	size_t i = 0, j = 0;
	int err = collect_parts(&a, &pair->a);

	if (!err)
		err = collect_parts(&b, &pair->b);
	while (!err && (i < a.count || j < b.count)) {
		int order = i == a.count ? 1 :
			    j == b.count ? -1 :
					   compare_parts(&a.list[i], &b.list[j]);

		err = compare_part(diff, pair, order <= 0 ? &a.list[i] : &b.list[j],
				   order <= 0 ? &a.list[i] : NULL, order >= 0 ? &b.list[j] : NULL);
		i += order <= 0;
		j += order >= 0;
	}
	free(a.list);
	free(b.list);
	return err;
}

/* ---- by kernel ------------------------------------------------------------------------------- */

struct kernels {
	struct kernel *list; /* by name; those without one come first, as one */
	size_t count;
};

int diff_compare_names(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

static int by_name(const void *a, const void *b)
{
	return diff_compare_names(((const struct kernel *)a)->name,
				  ((const struct kernel *)b)->name);
}

static int collect_kernels(struct kernels *kernels, const struct process *process)
{
	size_t count = process ? process->kernels_count : 0, i;

	kernels->list = calloc(count + 1, sizeof(*kernels->list));
	if (!kernels->list)
		return -ENOMEM;
	if (count)
		memcpy(kernels->list, process->kernels, count * sizeof(*kernels->list));
	qsort(kernels->list, count, sizeof(*kernels->list), by_name);
	for (i = 0; i < count; i++) {
		struct kernel *last = &kernels->list[kernels->count - !!kernels->count];

		if (kernels->count && !by_name(last, &kernels->list[i]))
			last->launches += kernels->list[i].launches;
		else
			kernels->list[kernels->count++] = kernels->list[i];
	}
	return 0;
}

static int compare_kernels(struct diff *diff, const struct diff_pair *pair)
{
	struct kernels a = { 0 }, b = { 0 };
	size_t i = 0, j = 0;
	int err = collect_kernels(&a, pair->a.process);

	if (!err)
		err = collect_kernels(&b, pair->b.process);
	while (!err && (i < a.count || j < b.count)) {
		int order = i == a.count ? 1 : j == b.count ? -1 : by_name(&a.list[i], &b.list[j]);
		struct diff_row row = { .dimension = DIFF_KERNEL,
					.pair = pair,
					.device = -1,
					.kernel = (order <= 0 ? &a.list[i] : &b.list[j])->name,
					.known = BIT(CALLS),
					.uncertain = diff_pair_lacks_calls(pair, MS_OP_LAUNCH) ||
						     diff_pair_lacks_calls(pair, MS_OP_NAME) };

		row.a[DIFF_CALLS] = order <= 0 ? a.list[i].launches : 0;
		row.b[DIFF_CALLS] = order >= 0 ? b.list[j].launches : 0;
		err = diff_add_row(diff, &row);
		i += order <= 0;
		j += order >= 0;
	}
	free(a.list);
	free(b.list);
	return err;
}

/* ---- copies and other calls ------------------------------------------------------------------ */

static void take_total(uint64_t values[DIFF_METRICS_COUNT], const struct call_total *total)
{
	values[DIFF_CALLS] = total->count;
	values[DIFF_CALL_BYTES] = total->bytes;
}

static int compare_copies(struct diff *diff, const struct diff_pair *pair)
{
	uint32_t direction;
	int err = 0;

	for (direction = 0; !err && direction <= MS_DIRECTIONS_COUNT; direction++) {
		struct diff_row row = { .dimension = DIFF_COPY,
					.pair = pair,
					.device = -1,
					.direction = direction,
					.known = BIT(CALLS) | BIT(CALL_BYTES),
					.uncertain = diff_pair_lacks_calls(pair, MS_OP_COPY) };

		if (pair->a.process)
			take_total(row.a, &pair->a.process->copies[direction]);
		if (pair->b.process)
			take_total(row.b, &pair->b.process->copies[direction]);
		err = diff_add_row(diff, &row);
	}
	return err;
}

static void take_call(uint64_t values[DIFF_METRICS_COUNT], const struct process *process,
		      enum diff_call call)
{
	if (!process)
		return;
	switch (call) {
	case DIFF_CALL_GRAPH_LAUNCHES:
		values[DIFF_CALLS] = process->graph_launches;
		break;
	case DIFF_CALL_MEMSETS:
		take_total(values, &process->memsets);
		break;
	case DIFF_CALL_SYNCS:
		values[DIFF_CALLS] = process->syncs.count;
		break;
	case DIFF_CALLS_COUNT:
		break;
	}
}

static int compare_calls(struct diff *diff, const struct diff_pair *pair)
{
	static const enum ms_op ops[DIFF_CALLS_COUNT] = {
		[DIFF_CALL_GRAPH_LAUNCHES] = MS_OP_LAUNCH,
		[DIFF_CALL_MEMSETS] = MS_OP_MEMSET,
		[DIFF_CALL_SYNCS] = MS_OP_SYNC,
	};
	enum diff_call call;
	int err = 0;

	for (call = 0; !err && call < DIFF_CALLS_COUNT; call++) {
		struct diff_row row = { .dimension = DIFF_CALL,
					.pair = pair,
					.device = -1,
					.call = call,
					.known = BIT(CALLS),
					.uncertain = diff_pair_lacks_calls(pair, ops[call]) };

		if (call == DIFF_CALL_GRAPH_LAUNCHES ? pair->no_graph_launches :
						       !is_captured(pair, ops[call]))
			continue;
		/* They travel with what is about memory; once they were lost as launches. */
		if (call == DIFF_CALL_GRAPH_LAUNCHES)
			row.uncertain |= diff_pair_lacks_calls(pair, MS_OP_MEMORY);
		if (call == DIFF_CALL_MEMSETS)
			row.known |= BIT(CALL_BYTES);
		take_call(row.a, pair->a.process, call);
		take_call(row.b, pair->b.process, call);
		err = diff_add_row(diff, &row);
	}
	return err;
}

/* ---- failures -------------------------------------------------------------------------------- */

struct failures {
	struct failure *list; /* by function and result */
	size_t count;
};

static int by_failure(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->result < y->result ? -1 : x->result > y->result;
}

static int collect_failures(struct failures *failures, const struct process *process)
{
	failures->count = process ? process->failures_count : 0;
	failures->list = calloc(failures->count + 1, sizeof(*failures->list));
	if (!failures->list)
		return -ENOMEM;
	if (failures->count)
		memcpy(failures->list, process->failures,
		       failures->count * sizeof(*failures->list));
	qsort(failures->list, failures->count, sizeof(*failures->list), by_failure);
	return 0;
}

/* `one` is one that there is. */
static int compare_failure(struct diff *diff, const struct diff_pair *pair,
			   const struct failure *one, const struct failure *a,
			   const struct failure *b)
{
	const enum ms_op op = probe_at(one->row)->spec.op;
	struct diff_row row = { .dimension = DIFF_FAILURE,
				.pair = pair,
				.device = -1,
				.row = one->row,
				.result = one->result,
				.known = BIT(CALLS),
				.uncertain = diff_pair_lacks_calls(pair, op) };

	row.a[DIFF_CALLS] = a ? a->count : 0;
	row.b[DIFF_CALLS] = b ? b->count : 0;
	return is_captured(pair, op) ? diff_add_row(diff, &row) : 0;
}

static int compare_failures(struct diff *diff, const struct diff_pair *pair)
{
	struct failures a = { 0 }, b = { 0 };
	size_t i = 0, j = 0;
	int err = collect_failures(&a, pair->a.process);

	if (!err)
		err = collect_failures(&b, pair->b.process);
	while (!err && (i < a.count || j < b.count)) {
		int order = i == a.count ? 1 :
			    j == b.count ? -1 :
					   by_failure(&a.list[i], &b.list[j]);

		err = compare_failure(diff, pair, order <= 0 ? &a.list[i] : &b.list[j],
				      order <= 0 ? &a.list[i] : NULL,
				      order >= 0 ? &b.list[j] : NULL);
		i += order <= 0;
		j += order >= 0;
	}
	free(a.list);
	free(b.list);
	return err;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* How many come before it that are called by the same number. */
static size_t rank_of(const struct report_recording *recording, const struct report_device *device)
{
	size_t rank = 0, i;

	for (i = 0; &recording->devices[i] != device; i++)
		rank += recording->devices[i].device == device->device;
	return rank;
}

static bool is_same_for_certain(const struct device_identity *a, const struct device_identity *b)
{
	const bool comparable = (a->has_uuid && b->has_uuid) || (a->pci.known && b->pci.known);

	return comparable && !device_identity_differs(a, b);
}

const struct report_device *diff_device(const struct report_recording *in,
					const struct report_recording *of,
					const struct report_device *device)
{
	const struct device_identity *known = &report_device_row(of, device)->identity;
	const size_t rank = rank_of(of, device);
	size_t i;

	for (i = 0; i < in->devices_count; i++)
		if (is_same_for_certain(&report_device_row(in, &in->devices[i])->identity, known))
			return &in->devices[i];
	for (i = 0; i < in->devices_count; i++) {
		const struct report_device *other = &in->devices[i];

		if (other->device == device->device && rank_of(in, other) == rank &&
		    !device_identity_differs(&report_device_row(in, other)->identity, known))
			return other;
	}
	return NULL;
}

static int compare_device(struct diff *diff, const struct report_device *a,
			  const struct report_device *b)
{
	struct diff_row row = { .dimension = DIFF_DEVICE,
				.device = a ? a->device : b->device,
				.known = BIT(LIVE_BYTES) | BIT(PEAK_BYTES),
				.uncertain = diff_is_inexact(diff->a) || diff_is_inexact(diff->b) };

	row.a[DIFF_LIVE_BYTES] = a ? a->live_bytes : 0;
	row.a[DIFF_PEAK_BYTES] = a ? a->peak_bytes : 0;
	row.b[DIFF_LIVE_BYTES] = b ? b->live_bytes : 0;
	row.b[DIFF_PEAK_BYTES] = b ? b->peak_bytes : 0;
	return diff_add_row(diff, &row);
}

static bool knows_levels(const struct report_recording *recording)
{
	const uint32_t ops = recording->coverage.captured_ops;

	return ops >> MS_OP_ALLOC & 1 && ops >> MS_OP_FREE & 1 &&
	       !report_unknown(recording).entries_only;
}

int diff_compare_devices(struct diff *diff)
{
	const struct report_recording *a, *b;
	size_t i;
	int err = 0;

	diff->devices_skipped = true;
	if (diff->a->count != 1 || diff->b->count != 1)
		return 0;
	a = diff->a->recordings[0];
	b = diff->b->recordings[0];
	if (!knows_levels(a) || !knows_levels(b))
		return 0;
	diff->devices_skipped = false;
	for (i = 0; !err && i < a->devices_count; i++)
		err = compare_device(diff, &a->devices[i], diff_device(b, a, &a->devices[i]));
	for (i = 0; !err && i < b->devices_count; i++)
		if (!diff_device(a, b, &b->devices[i]))
			err = compare_device(diff, NULL, &b->devices[i]);
	return err;
}

/* ---- the whole of a process ------------------------------------------------------------------ */

bool diff_pair_is_uncertain(const struct diff_pair *pair)
{
	enum ms_op op;

	if (lacks_memory(pair) || diff_pair_lacks_beginning(pair))
		return true;
	for (op = 0; op < MS_OPS_COUNT; op++)
		if (diff_pair_lacks_calls(pair, op))
			return true;
	return false;
}

bool diff_pair_lacks_memory(const struct diff_pair *pair)
{
	return lacks_memory(pair);
}

int diff_compare_pair(struct diff *diff, const struct diff_pair *pair)
{
	int err = 0;

	if (is_captured(pair, MS_OP_ALLOC)) {
		err = compare_whole(diff, pair);
		if (!err)
			err = compare_spaces(diff, pair);
		if (!err)
			err = compare_apis(diff, pair);
		if (!err)
			err = diff_compare_sites(diff, pair);
	}
	if (!err && is_captured(pair, MS_OP_LAUNCH))
		err = compare_kernels(diff, pair);
	if (!err && is_captured(pair, MS_OP_COPY))
		err = compare_copies(diff, pair);
	if (!err)
		err = compare_calls(diff, pair);
	return err ? err : compare_failures(diff, pair);
}
