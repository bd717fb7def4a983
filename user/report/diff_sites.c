// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rows by call stack. Two stacks are the same if their functions are, Python's alone if there are
 * any: lines, addresses and versions of files are others after each change of a program, which is
 * what is compared. The lines that a row shows are of the stack that matters most.
 */
#include "report/diff.h"

#include <errno.h>
#include <stdlib.h>

#include "base/string.h"

#define BIT(metric) (1u << DIFF_##metric)

/* All sites of one process whose stacks are the same, as one. */
struct place {
	uint64_t key;              /* of the stack's functions */
	const struct stack *stack; /* of those, the one with most memory */
	struct site_total most;    /* its own */
	struct site_total total;
};

struct places {
	struct place *list; /* by key */
	size_t count;
	uint64_t unplaced_bytes; /* allocated with stacks that are not whole */
};

/* Any: rows that are equal otherwise are in the same order each time. */
#define KEY_SECRET 0x9e3779b97f4a7c15

static void append_frame(struct string *text, const struct frame *frame)
{
	string_append_text(text, frame->function);
	string_append_char(text, '\0');
	if (frame->kind == MS_FRAME_PYTHON)
		string_append_text(text, stacks_name_of(frame->source));
	else if (!frame->function[0])
		string_append_text(text, stacks_name_of(frame->module));
	string_append_char(text, '\0');
}

/* In another run of the program the rest of it may have been found: it can be any of the others. */
static bool is_whole(const struct stack *stack)
{
	return stack->lines || stack->end == MS_STACK_END_COMPLETE ||
	       stack->end == MS_STACK_END_DEPTH;
}

/* `text` is scratch. Without a place: 0. */
static uint64_t key_of(const struct stacks *stacks, const struct stack *stack, struct string *text)
{
	size_t i;

	string_clear(text);
	for (i = 0; i < stack->count && is_whole(stack); i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		/* What is put into what, and where lines are, changes from build to build. */
		if (frame && !(frame->flags & MS_FRAME_INLINED) &&
		    (!stack->lines || frame->kind == MS_FRAME_PYTHON))
			append_frame(text, frame);
	}
	return text->length ? string_hash(KEY_SECRET, text->bytes, text->length) : 0;
}

static int by_key(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static void add_place(void *context, const struct stack *stack, const struct site_total *total)
{
	struct places *places = context;

	places->list[places->count++] =
		(struct place){ .stack = stack, .most = *total, .total = *total };
}

static bool has_more(const struct site_total *a, const struct site_total *b)
{
	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes;
	return a->peak_bytes > b->peak_bytes;
}

static void join(struct place *place, const struct place *other)
{
	site_total_add(&place->total, &other->total);
	if (!has_more(&other->most, &place->most))
		return;
	place->stack = other->stack;
	place->most = other->most;
}

static int collect(struct places *places, const struct diff_process *side)
{
	const struct sites *sites = &side->recording->sites;
	const struct stacks *stacks = &side->recording->state->stacks;
	struct string text = { 0 };
	size_t count, i;

	places->list = calloc(sites->count + 1, sizeof(*places->list));
	if (!places->list)
		return -ENOMEM;
	sites_each(sites, side->recording->state, side->process, add_place, places);
	for (i = 0; i < places->count; i++)
		places->list[i].key = key_of(stacks, places->list[i].stack, &text);
	string_fini(&text);
	qsort(places->list, places->count, sizeof(*places->list), by_key);
	count = places->count;
	places->count = 0;
	for (i = 0; i < count; i++) {
		if (!places->list[i].key)
			places->unplaced_bytes += places->list[i].total.alloc_bytes;
		else if (places->count &&
			 !by_key(&places->list[places->count - 1], &places->list[i]))
			join(&places->list[places->count - 1], &places->list[i]);
		else
			places->list[places->count++] = places->list[i];
	}
	return 0;
}

static void take(uint64_t values[DIFF_METRICS_COUNT], const struct place *place)
{
	if (!place)
		return;
	values[DIFF_LIVE_BYTES] = place->total.live_bytes;
	values[DIFF_LIVE_COUNT] = place->total.live_count;
	values[DIFF_PEAK_BYTES] = place->total.peak_bytes;
	values[DIFF_ALLOCS] = place->total.allocs;
	values[DIFF_ALLOC_BYTES] = place->total.alloc_bytes;
}

/* Whether what is more on one side can be among what has no place on the other. */
static bool may_be_unplaced(const struct place *a, const struct place *b, const struct places *as,
			    const struct places *bs)
{
	const uint64_t x = a ? a->total.alloc_bytes : 0, y = b ? b->total.alloc_bytes : 0;

	return x > y ? x - y <= bs->unplaced_bytes : y > x && y - x <= as->unplaced_bytes;
}

static int compare_place(struct diff *diff, const struct diff_pair *pair, const struct place *a,
			 const struct place *b)
{
	const struct diff_process *side = b ? &pair->b : &pair->a;
	const struct place *place = b ? b : a;
	struct diff_row row = { .dimension = DIFF_SITE,
				.pair = pair,
				.device = -1,
				.site = place ? place->key : 0,
				.stack = place ? place->stack : NULL,
				.stacks = &side->recording->state->stacks,
				.known = diff_memory_known(pair) & ~(BIT(FREES) | BIT(FREE_BYTES)),
				.uncertain = diff_pair_lacks_memory(pair) ||
					     diff_pair_lacks_beginning(pair) ||
					     pair->a.recording->sites.inexact ||
					     pair->b.recording->sites.inexact };

	take(row.a, a);
	take(row.b, b);
	return diff_add_row(diff, &row);
}

/* For a side without stacks, the only row would be that it has none. */
static bool has_stacks(const struct diff_process *side)
{
	return side->process && side->recording->state->stacks.stacks_count;
}

int diff_compare_sites(struct diff *diff, const struct diff_pair *pair)
{
	struct places a = { 0 }, b = { 0 };
	size_t i = 0, j = 0;
	int err;

	if (!has_stacks(&pair->a) || !has_stacks(&pair->b))
		return 0;
	err = collect(&a, &pair->a);
	if (!err)
		err = collect(&b, &pair->b);
	while (!err && (i < a.count || j < b.count)) {
		int order = i == a.count ? 1 : j == b.count ? -1 : by_key(&a.list[i], &b.list[j]);

		const struct place *x = order <= 0 ? &a.list[i] : NULL;
		const struct place *y = order >= 0 ? &b.list[j] : NULL;

		if (!may_be_unplaced(x, y, &a, &b))
			err = compare_place(diff, pair, x, y);
		i += order <= 0;
		j += order >= 0;
	}
	free(a.list);
	free(b.list);
	return err;
}
