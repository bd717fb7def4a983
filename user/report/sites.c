// SPDX-License-Identifier: BSD-2-Clause
#include "report/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/tensor_worth.h"
#include "ledger/usage.h"

#define SITES_OF_TENSORS (SITES_BY_TENSORS - SITES_BY_MEMORY_COUNT + 1)

#define MOST 262144 /* sites of all processes: several times the stacks that a program has */

/* Blocks that may be looked at again: so many, and so many for each event. */
#define EFFORT (1u << 20)
#define EFFORT_PER_EVENT 16

void sites_fini(struct sites *sites)
{
	free(sites->list);
	map_fini(&sites->places);
	map_fini(&sites->processes);
	string_table_fini(&sites->owners);
	*sites = (struct sites){ 0 };
}

size_t sites_bytes(const struct sites *sites)
{
	return sites->capacity * sizeof(*sites->list) + map_bytes(&sites->places) +
	       map_bytes(&sites->processes) + sites->owners.bytes;
}

/* ---- the list -------------------------------------------------------------------------------- */

static uint64_t key_of(const struct site *site)
{
	const struct {
		uint64_t process, key, by;
		uintptr_t owner;
	} what = { site->process, site->key, site->by, (uintptr_t)site->owner };

	return string_hash(map_secret(), &what, sizeof(what));
}

static struct site *add(struct sites *sites, uint64_t key, const struct site *site)
{
	const uint64_t *newest = map_get(&sites->processes, site->process);
	struct site *added;

	if (sites->count >= MOST) {
		sites->others++;
		return NULL;
	}
	if (memory_grow(&sites->list, &sites->capacity, sites->count + 1, sizeof(*sites->list)))
		return NULL;
	added = &sites->list[sites->count];
	*added = *site;
	added->next = newest ? (uint32_t)*newest + 1 : 0;
	if (map_set(&sites->places, key, sites->count) ||
	    map_set(&sites->processes, site->process, sites->count))
		return NULL;
	sites->count++;
	return added;
}

static bool is_by_lines(enum sites_by by)
{
	return by == SITES_BY_LINES || by == SITES_BY_TENSOR_LINES;
}

static bool is_of_tensors(enum sites_by by)
{
	return by >= SITES_BY_TENSOR_STACK;
}

/* NULL: there is no memory, or no place. */
static struct site *site_of(struct sites *sites, uint64_t process, const struct stack *stack,
			    enum sites_by by)
{
	struct site site = { .process = process, .by = by };
	const uint64_t *place;
	struct site *found;

	if (by == SITES_BY_OWNER && stack->owner) {
		site.owner = string_intern(&sites->owners, stack->owner, strlen(stack->owner));
		if (!site.owner)
			return NULL;
	}
	if (by != SITES_BY_OWNER && by != SITES_BY_TENSORS) {
		site.stack = stack->id;
		site.key = is_by_lines(by) ? stack->lines : stack->id;
	}
	place = map_get(&sites->places, key_of(&site));
	found = place ? &sites->list[*place] : add(sites, key_of(&site), &site);
	/* One that was found as a whole tells more. */
	if (found && site.stack && stack->end == MS_STACK_END_COMPLETE)
		found->stack = stack->id;
	return found;
}

/* Whether a stack has a site of that kind. */
static bool has_site(const struct stack *stack, enum sites_by by)
{
	return !is_by_lines(by) || stack->lines;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Blocks are counted in parts, as tensors are. */
static struct tensor_worth worth_of(uint64_t bytes)
{
	return (struct tensor_worth){ .bytes = bytes, .parts = TENSOR_WORTH_PARTS };
}

static int apply(struct sites *sites, const struct state *state, uint64_t process,
		 const struct allocation *allocation, bool freed)
{
	const struct stack *stack = stacks_find(&state->stacks, allocation->stack);
	const struct tensor_worth worth = worth_of(allocation->size_bytes);
	enum sites_by by;

	if (!stack)
		return 0;
	for (by = 0; by < SITES_BY_MEMORY_COUNT; by++) {
		struct site *site = has_site(stack, by) ? site_of(sites, process, stack, by) : NULL;

		if (!has_site(stack, by))
			continue;
		if (!site)
			return sites->others ? 0 : -ENOMEM;
		if (freed) {
			site_total_release(&site->total, &worth);
			continue;
		}
		site->row = allocation->row;
		site_total_add_alloc(&site->total, &worth);
	}
	return 0;
}

/* Each site of a process. */
static struct site *first_of(const struct sites *sites, uint64_t process)
{
	const uint64_t *newest = map_get(&sites->processes, process);

	return newest ? &sites->list[*newest] : NULL;
}

static struct site *next_of(const struct sites *sites, const struct site *site)
{
	return site->next ? &sites->list[site->next - 1] : NULL;
}

/* What is live of its allocations, or of its tensors. */
static void clear_live(struct sites *sites, uint64_t process, bool tensors)
{
	struct site *site;

	for (site = first_of(sites, process); site; site = next_of(sites, site))
		if (is_of_tensors(site->by) == tensors)
			site_total_clear(&site->total);
}

static void end(struct sites *sites, uint64_t process)
{
	struct site *site;

	for (site = first_of(sites, process); site; site = next_of(sites, site))
		site->ended = true;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/*
 * What each had when all of them came to most is noted down when it changes next: until then it has
 * as much.
 */
static void note_peak(struct site *site, const struct site *all)
{
	if (site->peaks == all->peaks)
		return;
	site->peaks = all->peaks;
	site_total_note_peak(&site->total);
}

static struct site *all_tensors(const struct sites *sites, uint64_t process)
{
	const struct site site = { .process = process, .by = SITES_BY_TENSORS };
	const uint64_t *place = map_get(&sites->places, key_of(&site));

	return place ? &sites->list[*place] : NULL;
}

/* Before they change at once. */
static void note_peaks(struct sites *sites, uint64_t process)
{
	const struct site *all = all_tensors(sites, process);
	struct site *site;

	for (site = all ? first_of(sites, process) : NULL; site; site = next_of(sites, site))
		if (is_of_tensors(site->by))
			note_peak(site, all);
}

/* Its sites, those of its lines and of all; the list may move while they are made. */
static int tensor_sites(struct sites *sites, uint64_t process, const struct stack *stack,
			size_t places[SITES_OF_TENSORS])
{
	size_t count = 0;
	enum sites_by by;

	for (by = SITES_BY_TENSOR_STACK; by <= SITES_BY_TENSORS; by++) {
		const struct site *site;

		if (!has_site(stack, by))
			continue;
		site = site_of(sites, process, stack, by);
		if (!site)
			return sites->others ? 0 : -ENOMEM;
		places[count++] = (size_t)(site - sites->list);
	}
	return (int)count;
}

/* Whether its stack was taken or not. Returns 0 or -ENOMEM. */
static int note_chance(struct sites *sites, uint64_t process, const struct tensor_block *block)
{
	const struct tensor_worth worth = tensor_worth(block);
	struct site *all;

	if (!block->by_chance || !block->bytes)
		return 0;
	all = site_of(sites, process, NULL, SITES_BY_TENSORS);
	if (all && worth.bytes > all->total.chance.most)
		all->total.chance.most = worth.bytes;
	return all || sites->others ? 0 : -ENOMEM;
}

static int apply_block(struct sites *sites, const struct state *state, uint64_t process,
		       const struct tensor_block *block, bool given)
{
	const struct stack *stack = stacks_find(&state->stacks, block->stack);
	const struct tensor_worth worth = tensor_worth(block);
	size_t places[SITES_OF_TENSORS];
	struct site *all;
	int count, i;

	if (note_chance(sites, process, block))
		return -ENOMEM;
	if (!block->bytes || !stack) {
		/* Chance chose one that has a stack's number all the same. */
		given = given && block->bytes && (!block->by_chance || block->stack);
		sites->unknown_tensors += given;
		sites->lost_tensors += given && block->by_chance;
		return 0;
	}
	count = tensor_sites(sites, process, stack, places);
	if (count <= 0)
		return count;
	all = &sites->list[places[count - 1]];
	for (i = 0; i < count; i++) {
		struct site *site = &sites->list[places[i]];

		note_peak(site, all);
		if (given)
			site_total_add_alloc(&site->total, &worth);
		else
			site_total_release(&site->total, &worth);
	}
	all->peaks += given && all->total.live_bytes == all->total.peak_bytes;
	return 0;
}

static int apply_tensor(struct sites *sites, const struct state *state, uint64_t process,
			const struct tensor_change *change)
{
	const int err = apply_block(sites, state, process, &change->ended, false);

	return err ? err : apply_block(sites, state, process, &change->given, true);
}

/* What is live, without what came to it. */
static int look_at_tensors(struct sites *sites, const struct state *state,
			   const struct process *process, uint64_t key)
{
	const struct tensors *tensors = &process->tensors;
	size_t places[SITES_OF_TENSORS], i;
	struct site *all;
	int count = 0, j;

	note_peaks(sites, key);
	clear_live(sites, key, true);
	for (i = 0; i < tensors->count && count >= 0; i++) {
		const struct tensor_block *block = &tensors->blocks[i];
		const struct stack *stack = stacks_find(&state->stacks, block->stack);
		const struct tensor_worth worth = tensor_worth(block);

		if (note_chance(sites, key, block))
			return -ENOMEM;
		count = stack ? tensor_sites(sites, key, stack, places) : 0;
		for (j = 0; j < count; j++)
			site_total_hold(&sites->list[places[j]].total, &worth);
	}
	all = all_tensors(sites, key);
	if (all)
		all->peaks += all->total.live_bytes == all->total.peak_bytes;
	return count < 0 ? count : 0;
}

/* ---- what is live, looked at anew ------------------------------------------------------------ */

static int look_at_memory(struct sites *sites, const struct state *state,
			  const struct process *process, uint64_t key)
{
	enum sites_by by;
	size_t which, i;

	clear_live(sites, key, false);
	for (which = 0; which < LEDGERS_COUNT; which++)
		for (i = 0; i < process->ledgers[which].count; i++) {
			const struct allocation *block = &process->ledgers[which].entries[i];
			const struct stack *stack = stacks_find(&state->stacks, block->stack);
			const struct tensor_worth worth = worth_of(block->size_bytes);

			if (!stack || !usage_is_held(block->space))
				continue;
			for (by = 0; by < SITES_BY_MEMORY_COUNT; by++) {
				struct site *site =
					has_site(stack, by) ? site_of(sites, key, stack, by) : NULL;

				if (site) {
					site->row = block->row;
					site_total_hold(&site->total, &worth);
				} else if (has_site(stack, by) && !sites->others) {
					return -ENOMEM;
				}
			}
		}
	return 0;
}

int sites_look(struct sites *sites, const struct state *state, const struct process *process)
{
	const uint64_t key = event_process_key(process->pid, process->start_ns);
	int err;

	if (process->exited || !state->stacks.stacks_count)
		return 0;
	err = look_at_memory(sites, state, process, key);
	return err ? err : look_at_tensors(sites, state, process, key);
}

/* Blocks of it have ended that are not told one by one. */
static int look_again(struct sites *sites, const struct state *state, const struct process *process)
{
	size_t which;

	for (which = 0; which < LEDGERS_COUNT; which++)
		sites->effort += process->ledgers[which].count;
	if (sites->effort > EFFORT + EFFORT_PER_EVENT * sites->events) {
		sites->inexact = true;
		return 0;
	}
	return look_at_memory(sites, state, process,
			      event_process_key(process->pid, process->start_ns));
}

static void count_end(struct sites *sites, const struct state *state, const struct event *event,
		      const struct change *change)
{
	if (event->call && change->has_allocation && usage_is_held(change->allocation.space) &&
	    event->probe->spec.op == MS_OP_ALLOC)
		site_ends_count(&sites->ends, change->process,
				stacks_find(&state->stacks, change->allocation.stack));
}

int sites_event(struct sites *sites, const struct state *state, const struct event *event,
		const struct change *change)
{
	const struct allocation *allocation = &change->allocation;
	uint64_t process;

	sites->events++;
	if (!change->process)
		return 0;
	count_end(sites, state, event, change);
	if (!state->stacks.stacks_count)
		return 0;
	process = event_process_key(change->process->pid, change->process->start_ns);
	if (event->header->type == MS_TYPE_EXIT)
		end(sites, process);
	if (event->header->type == MS_TYPE_EXEC) {
		note_peaks(sites, process);
		clear_live(sites, process, false);
		clear_live(sites, process, true);
	}
	if (change->has_tensor)
		return apply_tensor(sites, state, process, &change->tensor);
	if (event->call && change->has_amounts && look_again(sites, state, change->process))
		return -ENOMEM;
	if (!event->call || !change->has_allocation || !usage_is_held(allocation->space))
		return 0;
	if (event->probe->spec.op == MS_OP_ALLOC)
		return apply(sites, state, process, allocation, false);
	return change->free == FREE_KNOWN ? apply(sites, state, process, allocation, true) : 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

struct sorting {
	struct site_row row;
	uint64_t likeness; /* of its stack, or owner: those of two processes can be alike */
	uint64_t process;
};

static int by_place(const void *one, const void *other)
{
	const struct sorting *a = one, *b = other;
	int order = compare_numbers(a->likeness, b->likeness);

	return order ? order : compare_numbers(a->process, b->process);
}

static int by_peak(const void *one, const void *other)
{
	const struct site_row *a = one, *b = other;
	int order = compare_numbers(b->total.peak_bytes, a->total.peak_bytes);

	if (!order)
		order = compare_numbers(b->total.alloc_bytes, a->total.alloc_bytes);
	if (!order && a->stack && b->stack)
		order = compare_numbers(a->stack->id, b->stack->id);
	return order ? order : strcmp(a->owner ? a->owner : "", b->owner ? b->owner : "");
}

/* Whether it is one of those that all memory is divided into. */
static bool is_row(const struct site *site, const struct stack *stack, enum sites_by by)
{
	if (site->by == by)
		return by == SITES_BY_OWNER || stack;
	return is_by_lines(by) &&
	       site->by + 0u == (is_of_tensors(by) ? SITES_BY_TENSOR_STACK : SITES_BY_STACK) &&
	       stack && !stack->lines;
}

/* The last peak may have come after its last change. */
static void end_peak(const struct sites *sites, const struct site *site, struct site_total *total)
{
	const struct site *all = all_tensors(sites, site->process);

	if (!all)
		return;
	total->chance.most = all->total.chance.most;
	if (site->peaks != all->peaks)
		site_total_note_peak(total);
}

static size_t collect(const struct sites *sites, const struct state *state, enum sites_by by,
		      struct sorting *list)
{
	size_t count = 0, i;

	for (i = 0; i < sites->count; i++) {
		const struct site *site = &sites->list[i];
		const struct stack *stack = stacks_find(&state->stacks, site->stack);
		struct sorting sorting = { .row = { .stack = stack,
						    .owner = stack ? stack->owner : site->owner,
						    .total = site->total },
					   .likeness = (uintptr_t)site->owner,
					   .process = site->process };

		if (!is_row(site, stack, by))
			continue;
		if (is_of_tensors(by))
			end_peak(sites, site, &sorting.row.total);
		site_total_round(&sorting.row.total);
		if (stack && by != SITES_BY_OWNER)
			sorting.likeness = is_by_lines(by) ? stacks_lines(stack) : stack->likeness;
		list[count++] = sorting;
	}
	return count;
}

/* The stack that is shown is the one with the highest peak. */
static void merge(struct site_row *row, uint64_t *peak, const struct site_row *from)
{
	if (from->total.peak_bytes >= *peak) {
		*peak = from->total.peak_bytes;
		row->stack = from->stack;
		row->owner = from->owner;
	}
	site_total_add(&row->total, &from->total);
}

struct site_row *sites_rows(const struct sites *sites, const struct state *state, enum sites_by by,
			    size_t *count)
{
	struct sorting *list = calloc(sites->count + 1, sizeof(*list));
	struct site_row *rows = calloc(sites->count + 1, sizeof(*rows));
	uint64_t peak = 0;
	size_t all, i;

	*count = 0;
	if (!list || !rows) {
		free(list);
		free(rows);
		return NULL;
	}
	all = collect(sites, state, by, list);
	qsort(list, all, sizeof(*list), by_place);
	for (i = 0; i < all; i++) {
		if (!i || list[i - 1].likeness != list[i].likeness) {
			(*count)++;
			peak = 0;
		}
		rows[*count - 1].processes +=
			!rows[*count - 1].processes || list[i - 1].process != list[i].process;
		merge(&rows[*count - 1], &peak, &list[i].row);
	}
	free(list);
	qsort(rows, *count, sizeof(*rows), by_peak);
	return rows;
}

void sites_each(const struct sites *sites, const struct state *state, const struct process *process,
		void (*call)(void *context, const struct stack *stack,
			     const struct site_total *total),
		void *context)
{
	const uint64_t key = event_process_key(process->pid, process->start_ns);
	const struct site *site;

	for (site = first_of(sites, key); site; site = next_of(sites, site)) {
		const struct stack *stack = stacks_find(&state->stacks, site->stack);

		struct site_total total = site->total;

		site_total_round(&total);
		if (is_row(site, stack, SITES_BY_LINES) && stack)
			call(context, stack, &total);
	}
}

/* How likely what is live at a place is those bytes, or a good part of them; 0: any. */
static double fit(uint64_t live_bytes, uint64_t wanted_bytes)
{
	const double live = (double)live_bytes, wanted = (double)wanted_bytes;
	const bool is_part = live <= wanted * 9 / 8 && live >= wanted / 4;

	if (!wanted_bytes)
		return live;
	return is_part ? 1 + live / wanted : live < wanted ? live / wanted : wanted / live;
}

const struct stack *sites_fitting(const struct sites *sites, const struct state *state,
				  uint64_t process, uint16_t row, uint64_t wanted_bytes,
				  uint64_t *bytes)
{
	const struct stack *fitting = NULL;
	const struct site *site;

	*bytes = 0;
	for (site = first_of(sites, process); site; site = next_of(sites, site)) {
		const struct stack *stack = stacks_find(&state->stacks, site->stack);
		const uint64_t live = site->total.live_bytes;

		if (!is_row(site, stack, SITES_BY_LINES) ||
		    (row != MS_NO_ROW && site->row != row) || !live ||
		    (fitting && fit(live, wanted_bytes) <= fit(*bytes, wanted_bytes)))
			continue;
		fitting = stack;
		*bytes = live;
	}
	return fitting;
}

const struct frame *sites_frame(const struct stacks *stacks, const struct stack *stack)
{
	const struct frame *native = NULL;
	size_t i;

	for (i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack, i);

		if (frame && frame->kind == MS_FRAME_PYTHON)
			return frame;
		if (frame && !native && !stacks_is_cuda(frame->module))
			native = frame;
	}
	return native;
}
