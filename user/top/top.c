// SPDX-License-Identifier: BSD-2-Clause
#include "top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/process.h"

#define SECOND 1000000000ull

static struct top *of(struct sink *sink)
{
	return (struct top *)sink;
}

/* ---- what is remembered ---------------------------------------------------------------------- */

/* Makes one; NULL without memory. Valid until the next one is made. */
static struct top_history *history_of(struct top *top, const struct process *process)
{
	const uint64_t *place = map_get(&top->places, process->number);
	struct top_history *history;

	if (place)
		return &top->histories[*place];
	if (memory_grow(&top->histories, &top->histories_capacity, top->histories_count + 1,
			sizeof(*top->histories)) ||
	    map_set(&top->places, process->number, top->histories_count)) {
		top->err = -ENOMEM;
		return NULL;
	}
	history = &top->histories[top->histories_count++];
	/* What it called before it was seen here is no part of an interval. */
	*history = (struct top_history){ .number = process->number, .look = top->look };
	/* The agent has followed it for longer than `top` has. */
	if (top->told_peaks && top->look <= 1)
		history->first_bytes = history->live_bytes = process_on_devices_bytes(process);
	return history;
}

/* Another takes its place. */
static void forget(struct top *top, size_t place)
{
	const struct top_history *last = &top->histories[--top->histories_count];

	map_remove(&top->places, top->histories[place].number);
	if (place == top->histories_count)
		return;
	top->histories[place] = *last;
	*map_get(&top->places, last->number) = place;
}

/* Those that the state no longer has. */
static void forget_gone(struct top *top)
{
	size_t place = 0;

	while (place < top->histories_count)
		if (top->histories[place].look != top->look)
			forget(top, place);
		else
			place++;
}

static int call(struct sink *sink, const struct event *event, const struct change *change)
{
	struct top_history *history;
	uint64_t live_bytes;

	(void)event;
	if (!change->has_allocation && !change->has_amounts)
		return 0;
	history = history_of(of(sink), change->process);
	live_bytes = process_on_devices_bytes(change->process);
	if (history && live_bytes > history->peak_bytes)
		history->peak_bytes = live_bytes;
	return 0;
}

static int tick(struct sink *sink, uint64_t now_ns)
{
	struct top *top = of(sink);
	size_t i;

	(void)now_ns;
	for (i = 0; i < sink->state->processes_count; i++) {
		const struct process *process = sink->state->processes[i];
		struct top_history *history = process->exited ? NULL : history_of(top, process);

		if (!history)
			continue;
		history->samples[top->seconds % TOP_SAMPLES] = process_on_devices_bytes(process);
		if (history->samples_count < TOP_SAMPLES)
			history->samples_count++;
	}
	top->seconds++;
	return 0;
}

static size_t bytes(const struct sink *sink)
{
	const struct top *top = (const struct top *)sink;

	return map_bytes(&top->places) + top->histories_capacity * sizeof(*top->histories) +
	       top->rows_capacity * sizeof(*top->rows);
}

void top_init(struct top *top, uint64_t now_ns)
{
	*top = (struct top){ .sink = { .call = call, .tick = tick, .bytes = bytes },
			     .at_ns = now_ns };
}

void top_fini(struct top *top)
{
	map_fini(&top->places);
	free(top->histories);
	free(top->rows);
	top->histories = NULL;
	top->rows = NULL;
	top->histories_count = top->rows_count = 0;
}

/* ---- a look ---------------------------------------------------------------------------------- */

/* Before it was seen, nothing that it held was known. */
static uint64_t minute_ago(const struct top *top, const struct top_history *history)
{
	if (history->samples_count < TOP_SAMPLES)
		return history->first_bytes;
	return history->samples[top->seconds % TOP_SAMPLES];
}

static uint64_t launches_of(const struct process *process)
{
	return process->launches + process->graph_launches;
}

static void fill_nvml(struct top_row *row, const struct process *process)
{
	struct nvml_parts parts;

	row->nvml_known = nvml_account_parts(process, &parts);
	if (!row->nvml_known)
		return;
	row->nvml_bytes = parts.used_bytes;
	row->unexplained_bytes = parts.unexplained_bytes;
}

static uint64_t exit_bytes(const struct process *process)
{
	uint64_t total = 0;
	uint32_t space;

	for (space = 0; process->exited && space < MS_SPACES_COUNT; space++)
		if (usage_is_on_device((uint8_t)space))
			total += process->spaces[space].exit_bytes;
	return total;
}

/* An agent that was restarted counts from 0 again. */
static uint64_t calls_since(uint64_t calls, uint64_t before)
{
	return calls >= before ? calls - before : calls;
}

/* Returns whether it is known: of an agent's answer, if the agent says it. */
static bool find_peak(const struct top *top, struct top_history *history, uint64_t live_bytes)
{
	const uint64_t *told = top->told_peaks ? map_get(top->told_peaks, history->number) : NULL;

	if (told && *told > history->peak_bytes)
		history->peak_bytes = *told;
	if (live_bytes > history->peak_bytes)
		history->peak_bytes = live_bytes;
	return told || !top->told_peaks;
}

static void fill(struct top *top, struct top_row *row, const struct process *process,
		 struct top_history *history)
{
	const uint64_t live_bytes = process_on_devices_bytes(process);
	const uint64_t allocs = process->calls[MS_OP_ALLOC], launches = launches_of(process);
	const bool peak_known = find_peak(top, history, live_bytes);

	*row = (struct top_row){
		.number = process->number,
		.start_ns = process->start_ns,
		.pid = process->pid,
		.history = (uint32_t)(history - top->histories),
		.live_bytes = live_bytes,
		.peak_bytes = history->peak_bytes,
		.peak_known = peak_known && !process->entries_only,
		.growth_bytes = (int64_t)(live_bytes - history->live_bytes),
		.minute_bytes = (int64_t)(live_bytes - minute_ago(top, history)),
		.allocs = calls_since(allocs, history->allocs),
		.launches = calls_since(launches, history->launches),
		.exit_bytes = exit_bytes(process),
		.held_before = state_may_hold_more(process),
		.inexact = process_counters_are_inexact(process->counters),
		.entries_only = process->entries_only,
		.ended = process->exited,
	};
	if (!process->exited)
		fill_nvml(row, process);
	history->live_bytes = live_bytes;
	history->allocs = allocs;
	history->launches = launches;
}

/* A launcher that is followed does not, for one. */
static bool uses_cuda(const struct process *process)
{
	size_t op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (process->calls[op])
			return true;
	return state_may_hold_more(process) || process->nvml.count || process->driver.seen;
}

/* A process that has ended is shown once more. */
static int add(struct top *top, const struct process *process)
{
	struct top_history *history = history_of(top, process);

	if (!history)
		return -ENOMEM;
	history->look = top->look;
	if (history->ended || !uses_cuda(process))
		return 0;
	if (top->selection && !process_selection_has(top->selection, process)) {
		top->left_out += !process->exited;
		return 0;
	}
	top->running += !process->exited;
	top->ended += process->exited;
	if (memory_grow(&top->rows, &top->rows_capacity, top->rows_count + 1, sizeof(*top->rows)))
		return -ENOMEM;
	fill(top, &top->rows[top->rows_count], process, history);
	top->live_bytes += top->rows[top->rows_count].live_bytes;
	top->nvml_known |= top->rows[top->rows_count].nvml_known;
	top->rows_count++;
	history->ended = process->exited;
	return 0;
}

static void renumber(struct top *top)
{
	size_t i;

	for (i = 0; i < top->rows_count; i++)
		top->rows[i].history = (uint32_t)*map_get(&top->places, top->rows[i].number);
}

int top_look(struct top *top, uint64_t now_ns)
{
	const struct state *state = top->sink.state;
	size_t i;
	int err = 0;

	top->look++;
	top->interval_ns = now_ns > top->at_ns ? now_ns - top->at_ns : 0;
	top->at_ns = now_ns;
	top->rows_count = top->running = top->left_out = 0;
	top->live_bytes = 0;
	top->nvml_known = false;
	for (i = 0; i < state->processes_count && !err; i++)
		err = add(top, state->processes[i]);
	if (!err) {
		forget_gone(top);
		renumber(top);
	}
	return err ? err : top->err;
}

const struct process *top_process(const struct top *top, const struct top_row *row)
{
	return state_find(top->sink.state, row->pid, row->start_ns);
}

size_t top_samples(const struct top *top, const struct top_row *row, uint64_t samples[TOP_SAMPLES])
{
	const struct top_history *history = &top->histories[row->history];
	const size_t count = history->samples_count;
	size_t i;

	for (i = 0; i < count; i++)
		samples[i] = history->samples[(top->seconds - count + i) % TOP_SAMPLES];
	return count;
}

uint64_t top_per_second(const struct top *top, uint64_t count)
{
	unsigned __int128 rate = (unsigned __int128)count * SECOND + top->interval_ns / 2;

	if (!top->interval_ns)
		return 0;
	rate /= top->interval_ns;
	return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

/* ---- order ----------------------------------------------------------------------------------- */

const char *top_sort_name(enum top_sort sort)
{
	static const char *const names[] = { "live", "growth", "rate", "peak", "pid" };

	return names[sort];
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_i64(int64_t a, int64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

struct order {
	enum top_sort sort;
	bool reversed;
};

static int compare_by(const struct top_row *a, const struct top_row *b, enum top_sort sort)
{
	switch (sort) {
	case TOP_LIVE:
		return compare_u64(a->live_bytes, b->live_bytes);
	case TOP_GROWTH:
		return compare_i64(a->growth_bytes, b->growth_bytes);
	case TOP_RATE:
		return a->allocs == b->allocs ? compare_u64(a->launches, b->launches) :
						compare_u64(a->allocs, b->allocs);
	case TOP_PEAK:
		return compare_u64(a->peak_bytes, b->peak_bytes);
	default:
		return 0;
	}
}

static int compare(const void *one, const void *other, void *context)
{
	const struct top_row *a = one, *b = other;
	const struct order *order = context;
	int result = compare_by(a, b, order->sort);

	if (!result)
		result = a->pid == b->pid ? compare_u64(b->number, a->number) :
					    compare_u64(b->pid, a->pid);
	return order->reversed ? -result : result;
}

void top_sort_rows(struct top *top, enum top_sort sort, bool reversed)
{
	struct order order = { sort, reversed };

	if (top->rows_count)
		qsort_r(top->rows, top->rows_count, sizeof(*top->rows), compare, &order);
}
