// SPDX-License-Identifier: BSD-2-Clause
#include "report/call_sites.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/string.h"
#include "event/probe.h"
#include "ledger/tensor_worth.h"

#define MOST 262144 /* places of all processes: several times the stacks that a program has */

void call_sites_fini(struct call_sites *sites)
{
	free(sites->list);
	map_fini(&sites->places);
	*sites = (struct call_sites){ 0 };
}

size_t call_sites_bytes(const struct call_sites *sites)
{
	return sites->capacity * sizeof(*sites->list) + map_bytes(&sites->places);
}

/* A recording may say anything. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t result;

	return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

static void add_total(struct call_site_total *to, const struct call_site_total *from)
{
	to->calls = sum(to->calls, from->calls);
	to->failed = sum(to->failed, from->failed);
	to->duration_ns = sum(to->duration_ns, from->duration_ns);
	to->bytes = sum(to->bytes, from->bytes);
	to->chosen += from->chosen;
	to->one_in = from->one_in > to->one_in ? from->one_in : to->one_in;
	to->variance += from->variance;
}

/* One of which each was taken is exact. */
uint64_t call_sites_error(const struct call_site_total *total)
{
	return tensor_worth_error(total->variance, total->one_in > 1 ? total->one_in : 0);
}

uint64_t call_sites_mean_ns(const struct call_site_total *total)
{
	return total->calls ? total->duration_ns / total->calls : 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* NULL: there is no memory, or no place. */
static struct call_site *site_of(struct call_sites *sites, const struct call_site *site)
{
	const uint64_t what[] = { site->process, (uint64_t)site->row << 32 | site->stack };
	const uint64_t key = string_hash(map_secret(), what, sizeof(what));
	const uint64_t *place = map_get(&sites->places, key);

	if (place)
		return &sites->list[*place];
	if (sites->count >= MOST ||
	    memory_grow(&sites->list, &sites->capacity, sites->count + 1, sizeof(*sites->list)) ||
	    map_set(&sites->places, key, sites->count))
		return NULL;
	sites->list[sites->count] = *site;
	return &sites->list[sites->count++];
}

/* `added`: where, and what. */
static int add(struct call_sites *sites, const struct state *state, const struct call_site *added)
{
	const enum ms_op op = probe_at(added->row)->spec.op;
	struct call_site key = *added, *site;

	if (!stacks_find(&state->stacks, added->stack)) {
		add_total(&sites->unplaced[op], &added->total);
		return 0;
	}
	key.total = (struct call_site_total){ 0 };
	site = site_of(sites, &key);
	if (!site) {
		sites->others = sum(sites->others, added->total.calls);
		return sites->count >= MOST ? 0 : -ENOMEM;
	}
	add_total(&site->total, &added->total);
	add_total(&sites->placed[op], &added->total);
	sites->waits |= op != MS_OP_ALLOC;
	return 0;
}

int call_sites_event(struct call_sites *sites, const struct state *state, const struct event *event)
{
	const struct ms_call *call = event->call;
	struct call_site site;

	if (!call || !(call->known & MS_KNOWN_RESULT) ||
	    call->flags & (MS_CALL_NESTED | MS_CALL_PART))
		return 0;
	site = (struct call_site){
		.process = event_process_key(call->event.pid, call->event.start_ns),
		.stack = event_stack_id(call),
		.row = call->row,
		.total = { .calls = event->count,
			   .failed = event_succeeded(call) ? 0 : event->count,
			   .duration_ns = call->duration_ns,
			   .bytes = call->known & MS_KNOWN_SIZE ? call->size : 0 },
	};
	return add(sites, state, &site);
}

int call_sites_sample(struct call_sites *launches, const struct state *state,
		      const struct event *event)
{
	const struct ms_launch_sample *sample = (const struct ms_launch_sample *)event->sample;
	struct call_site site;
	double one_in;

	if (event->header->type != MS_TYPE_LAUNCH_SAMPLE)
		return 0;
	one_in = sample->one_in;
	site = (struct call_site){
		.process = event_process_key(sample->event.pid, sample->event.start_ns),
		.stack = sample->event.stack,
		.row = sample->row,
		.total = { .calls = sample->one_in,
			   .chosen = 1,
			   .one_in = sample->one_in,
			   .variance = one_in * (one_in - 1) },
	};
	return add(launches, state, &site);
}

struct call_site_total call_sites_unplaced(const struct call_sites *sites)
{
	struct call_site_total sum = { 0 };
	size_t op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (sites->placed[op].calls)
			add_total(&sum, &sites->unplaced[op]);
	return sum;
}

struct call_site_total call_sites_without_stack(const struct call_sites *sites)
{
	struct call_site_total sum = { 0 };
	size_t op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		add_total(&sum, &sites->unplaced[op]);
	return sum;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int by_duration(const void *one, const void *other)
{
	const struct call_site_row *a = one, *b = other;
	const uint64_t x[] = { b->total.duration_ns, b->total.calls, a->stack->id, a->row };
	const uint64_t y[] = { a->total.duration_ns, a->total.calls, b->stack->id, b->row };
	size_t i;

	for (i = 0; i < sizeof(x) / sizeof(x[0]); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

struct sorting {
	struct call_site_row row;
	uint64_t likeness; /* of its stack */
	uint64_t process;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_place(const void *one, const void *other)
{
	const struct sorting *a = one, *b = other;
	int order = compare_numbers(a->likeness, b->likeness);

	if (!order)
		order = compare_numbers(a->row.row, b->row.row);
	return order ? order : compare_numbers(a->process, b->process);
}

static size_t collect(const struct call_sites *sites, const struct state *state, bool lines,
		      struct sorting *list)
{
	size_t count = 0, i;

	for (i = 0; i < sites->count; i++) {
		const struct call_site *site = &sites->list[i];
		const struct stack *stack = stacks_find(&state->stacks, site->stack);

		if (!stack)
			continue;
		list[count++] = (struct sorting){
			.row = { .stack = stack, .row = site->row, .total = site->total },
			.likeness = lines ? stacks_lines(stack) : stack->likeness,
			.process = site->process,
		};
	}
	return count;
}

/* The stack that is shown is the one in which most time is spent; of launches, with most. */
static void merge(struct call_site_row *row, uint64_t *most, const struct sorting *from)
{
	const struct call_site_total *total = &from->row.total;
	const uint64_t amount = total->chosen ? total->calls : total->duration_ns;

	if (amount >= *most) {
		*most = amount;
		row->stack = from->row.stack;
	}
	row->row = from->row.row;
	add_total(&row->total, &from->row.total);
}

struct call_site_row *call_sites_rows(const struct call_sites *sites, const struct state *state,
				      bool lines, size_t *count)
{
	struct sorting *list = calloc(sites->count + 1, sizeof(*list));
	struct call_site_row *rows = calloc(sites->count + 1, sizeof(*rows));
	uint64_t most = 0;
	size_t all, i;

	*count = 0;
	if (!list || !rows) {
		free(list);
		free(rows);
		return NULL;
	}
	all = collect(sites, state, lines, list);
	qsort(list, all, sizeof(*list), by_place);
	for (i = 0; i < all; i++) {
		if (!i || list[i - 1].likeness != list[i].likeness ||
		    list[i - 1].row.row != list[i].row.row) {
			(*count)++;
			most = 0;
		}
		rows[*count - 1].processes +=
			!rows[*count - 1].processes || list[i - 1].process != list[i].process;
		merge(&rows[*count - 1], &most, &list[i]);
	}
	free(list);
	qsort(rows, *count, sizeof(*rows), by_duration);
	return rows;
}

static bool is_of(const struct call_site *site, uint64_t process, uint32_t ops, uint16_t row)
{
	return site->process == process && ops >> probe_at(site->row)->spec.op & 1 &&
	       (row == MS_NO_ROW || site->row == row);
}

uint64_t call_sites_ns(const struct call_sites *sites, uint64_t process, uint32_t ops, uint16_t row)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0; ops && i < sites->count; i++)
		if (is_of(&sites->list[i], process, ops, row))
			ns = sum(ns, sites->list[i].total.duration_ns);
	return ns;
}

/* Which line it is, then which of its stacks. */
const struct stack *call_sites_longest(const struct call_sites *sites, const struct state *state,
				       uint64_t process, uint32_t ops, uint16_t row,
				       uint64_t *duration_ns)
{
	const struct stack *longest = NULL;
	uint64_t line = 0, most_ns = 0;
	struct map times = { 0 }; /* by line */
	size_t i;

	*duration_ns = 0;
	for (i = 0; ops && i < sites->count; i++) {
		const struct call_site *site = &sites->list[i];
		const struct stack *stack = stacks_find(&state->stacks, site->stack);
		const uint64_t *known;
		uint64_t ns;

		if (!stack || !is_of(site, process, ops, row))
			continue;
		known = map_get(&times, stacks_lines(stack));
		ns = sum(known ? *known : 0, site->total.duration_ns);
		if (map_set(&times, stacks_lines(stack), ns))
			break;
		if (ns <= *duration_ns)
			continue;
		line = stacks_lines(stack);
		*duration_ns = ns;
	}
	map_fini(&times);
	for (i = 0; *duration_ns && i < sites->count; i++) {
		const struct call_site *site = &sites->list[i];
		const struct stack *stack = stacks_find(&state->stacks, site->stack);

		if (!stack || !is_of(site, process, ops, row) || stacks_lines(stack) != line ||
		    (longest && site->total.duration_ns <= most_ns))
			continue;
		longest = stack;
		most_ns = site->total.duration_ns;
	}
	return longest;
}
