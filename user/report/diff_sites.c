// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rows by call stack. Two stacks are the same if their functions are, Python's alone if there are
 * any: lines, addresses and versions of files are others after each change of a program, which is
 * what is compared. Each line of the functions that has a counterpart is a row; if which is which
 * is not known, a row has no line. Code without a name is told apart by its address, in files with
 * the same build ID.
 */
#include "report/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/string.h"

#define BIT(metric) (1u << DIFF_##metric)

/* Sites of one process whose functions, and for members whose lines, are the same, as one. */
struct place {
	uint64_t key; /* of the stack's functions */
	const struct stacks *stacks;
	const struct stack *stack;
	struct site_total total;
	const struct place *members; /* of one with several lines: each by itself, by line */
	size_t members_count;
};

/* Of a file, and whether the other side has it, too. */
struct build {
	const char *id; /* interned */
	bool same;
};

struct places {
	struct place *list; /* by key */
	size_t count;
	struct place *members; /* by key and line */
	size_t members_count;
	uint64_t unplaced_bytes; /* allocated with stacks that are not whole, or not comparable */
	const struct stacks *stacks, *others; /* of the other side */
	struct build *builds;
	size_t builds_count, builds_capacity;
};

/* Any: rows that are equal otherwise are in the same order each time. */
#define KEY_SECRET 0x9e3779b97f4a7c15

static bool has_same_build(const struct stacks *others, const struct frame *frame)
{
	size_t i;

	for (i = 0; i < others->frames_count && frame->build_id[0]; i++)
		if (!strcmp(others->frames[i].build_id, frame->build_id))
			return true;
	return false;
}

/* Each file is looked for once. Without memory: not the same. */
static bool is_same_build(struct places *places, const struct frame *frame)
{
	size_t i;

	for (i = 0; i < places->builds_count; i++)
		if (places->builds[i].id == frame->build_id)
			return places->builds[i].same;
	if (memory_grow(&places->builds, &places->builds_capacity, places->builds_count + 1,
			sizeof(*places->builds)))
		return false;
	places->builds[places->builds_count++] =
		(struct build){ frame->build_id, has_same_build(places->others, frame) };
	return places->builds[i].same;
}

/* Libraries of CUDA are another build on each machine: what happens inside them is one place. */
static bool is_told_by_address(const struct frame *frame)
{
	return frame->kind != MS_FRAME_PYTHON && !frame->function[0] && frame->module[0] &&
	       !stacks_is_cuda(frame->module);
}

static void append_frame(struct string *text, const struct frame *frame)
{
	string_append_text(text, frame->function);
	string_append_char(text, '\0');
	if (frame->kind == MS_FRAME_PYTHON)
		string_append_text(text, stacks_name_of(frame->source));
	else if (!frame->function[0])
		string_append_text(text, stacks_name_of(frame->module));
	string_append_char(text, '\0');
	if (is_told_by_address(frame))
		string_append_format(text, "%llx", (unsigned long long)frame->address);
}

/* In another run of the program the rest of it may have been found: it can be any of the others. */
static bool is_whole(const struct stack *stack)
{
	return stack->lines || stack->end == MS_STACK_END_COMPLETE ||
	       stack->end == MS_STACK_END_DEPTH;
}

/* What is put into what, and where lines are, changes from build to build. */
static bool is_compared(const struct stack *stack, const struct frame *frame)
{
	return frame && !(frame->flags & MS_FRAME_INLINED) &&
	       (!stack->lines || frame->kind == MS_FRAME_PYTHON);
}

/* `text` is scratch. Without a place, or one that the other side can be asked for: 0. */
static uint64_t key_of(struct places *places, const struct stack *stack, struct string *text)
{
	size_t i;

	string_clear(text);
	for (i = 0; i < stack->count && is_whole(stack); i++) {
		const struct frame *frame = stacks_frame(places->stacks, stack, i);

		if (!is_compared(stack, frame))
			continue;
		if (is_told_by_address(frame) && !is_same_build(places, frame))
			return 0;
		append_frame(text, frame);
	}
	return text->length ? string_hash(KEY_SECRET, text->bytes, text->length) : 0;
}

/* The next one out, from the `*i`-th; NULL: there is none. */
static const struct frame *next_frame(const struct place *place, size_t *i)
{
	while (*i < place->stack->count) {
		const struct frame *frame = stacks_frame(place->stacks, place->stack, (*i)++);

		if (is_compared(place->stack, frame))
			return frame;
	}
	return NULL;
}

static int by_line(const struct place *x, const struct place *y)
{
	size_t i = 0, j = 0;

	for (;;) {
		const struct frame *a = next_frame(x, &i), *b = next_frame(y, &j);

		if (!a || !b)
			return (a != NULL) - (b != NULL);
		if (a->line != b->line)
			return a->line > b->line ? 1 : -1;
		if (!a->line && a->address != b->address)
			return a->address > b->address ? 1 : -1;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static int by_key_and_line(const void *a, const void *b)
{
	return by_key(a, b) ? by_key(a, b) : by_line(a, b);
}

static void add_place(void *context, const struct stack *stack, const struct site_total *total)
{
	struct places *places = context;

	places->members[places->members_count++] =
		(struct place){ .stacks = places->stacks, .stack = stack, .total = *total };
}

static bool has_more(const struct site_total *a, const struct site_total *b)
{
	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes;
	return a->peak_bytes > b->peak_bytes;
}

/* Members whose lines are the same become one. */
static void join_lines(struct places *places)
{
	size_t count = places->members_count, i;

	qsort(places->members, count, sizeof(*places->members), by_key_and_line);
	places->members_count = 0;
	for (i = 0; i < count; i++) {
		struct place *last = places->members + places->members_count - 1;

		if (!places->members[i].key)
			places->unplaced_bytes += places->members[i].total.alloc_bytes;
		else if (places->members_count && !by_key_and_line(last, &places->members[i]))
			site_total_add(&last->total, &places->members[i].total);
		else
			places->members[places->members_count++] = places->members[i];
	}
}

/* Members whose functions are the same become one, with the stack of what has most memory. */
static void join_functions(struct places *places)
{
	const struct place *most = NULL;
	size_t i;

	for (i = 0; i < places->members_count; i++) {
		const struct place *member = &places->members[i];

		if (!most || by_key(most, member)) {
			most = member;
			places->list[places->count] = *member;
			places->list[places->count].members = member;
			places->list[places->count++].members_count = 1;
			continue;
		}
		if (has_more(&member->total, &most->total))
			most = member;
		places->list[places->count - 1].stack = most->stack;
		places->list[places->count - 1].members_count++;
		site_total_add(&places->list[places->count - 1].total, &member->total);
	}
}

static int collect(struct places *places, const struct diff_process *side,
		   const struct diff_process *other)
{
	const struct sites *sites = &side->recording->sites;
	struct string text = { 0 };
	size_t i;

	places->stacks = &side->recording->state->stacks;
	places->others = &other->recording->state->stacks;
	places->list = calloc(sites->count + 1, sizeof(*places->list));
	places->members = calloc(sites->count + 1, sizeof(*places->members));
	if (!places->list || !places->members)
		return -ENOMEM;
	sites_each(sites, side->recording->state, side->process, add_place, places);
	for (i = 0; i < places->members_count; i++)
		places->members[i].key = key_of(places, places->members[i].stack, &text);
	string_fini(&text);
	join_lines(places);
	join_functions(places);
	return 0;
}

static void places_fini(struct places *places)
{
	free(places->list);
	free(places->members);
	free(places->builds);
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

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t members_count(const struct place *place)
{
	return place ? place->members_count : 0;
}

/* How many lines are on both sides. */
static size_t lines_in_both(const struct place *a, const struct place *b)
{
	size_t i = 0, j = 0, both = 0;

	while (i < members_count(a) && j < members_count(b)) {
		int order = by_line(&a->members[i], &b->members[j]);

		both += !order;
		i += order <= 0;
		j += order >= 0;
	}
	return both;
}

static int add_row(struct diff *diff, const struct diff_pair *pair, const struct place *a,
		   const struct place *b, bool no_line)
{
	const struct place *place = b ? b : a;
	struct diff_row row = { .dimension = DIFF_SITE,
				.pair = pair,
				.device = -1,
				.site = place ? place->key : 0,
				.stack = place ? place->stack : NULL,
				.stacks = place ? place->stacks : NULL,
				.no_line = no_line,
				.known = diff_memory_known(pair) & ~(BIT(FREES) | BIT(FREE_BYTES)),
				.uncertain = diff_pair_lacks_memory(pair) ||
					     diff_pair_lacks_beginning(pair) ||
					     pair->a.recording->sites.inexact ||
					     pair->b.recording->sites.inexact };

	take(row.a, a);
	take(row.b, b);
	return diff_add_row(diff, &row);
}

/*
 * Each line by itself: sums of several would stand under the name of one. If lines have moved, the
 * n-th of one side is the n-th of the other; if there are more on one side then, which is which is
 * not known, and all lines of the functions are one row.
 */
static int compare_place(struct diff *diff, const struct diff_pair *pair, const struct place *a,
			 const struct place *b)
{
	const size_t as = members_count(a), bs = members_count(b), both = lines_in_both(a, b);
	const bool moved = both < as && both < bs;
	size_t i = 0, j = 0;
	int err = 0;

	if (moved && as != bs)
		return add_row(diff, pair, a, b, true);
	while (!err && (i < as || j < bs)) {
		int order = i == as ? 1 :
			    j == bs ? -1 :
			    moved   ? 0 :
				      by_line(&a->members[i], &b->members[j]);
		const struct place *x = order <= 0 ? &a->members[i++] : NULL;
		const struct place *y = order >= 0 ? &b->members[j++] : NULL;

		err = add_row(diff, pair, x, y, false);
	}
	return err;
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
	err = collect(&a, &pair->a, &pair->b);
	if (!err)
		err = collect(&b, &pair->b, &pair->a);
	while (!err && (i < a.count || j < b.count)) {
		int order = i == a.count ? 1 : j == b.count ? -1 : by_key(&a.list[i], &b.list[j]);

		const struct place *x = order <= 0 ? &a.list[i] : NULL;
		const struct place *y = order >= 0 ? &b.list[j] : NULL;

		if (!may_be_unplaced(x, y, &a, &b))
			err = compare_place(diff, pair, x, y);
		i += order <= 0;
		j += order >= 0;
	}
	places_fini(&a);
	places_fini(&b);
	return err;
}
