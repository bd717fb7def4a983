// SPDX-License-Identifier: BSD-2-Clause
#include "agent/history_sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/held_sum.h"
#include "agent/history_events.h"
#include "agent/history_names.h"
#include "agent/history_used.h"
#include "analysis/oom_watch.h"
#include "base/map.h"
#include "base/memory.h"

#define SECOND_NS 1000000000ull
#define STEP_NS (10 * SECOND_NS)
#define MS_NS 1000000ull
/* Events come out of order, and the clock is adjusted, by less. */
#define LATE_NS SECOND_NS
#define DEVICES_MOST 1024

struct cell {
	uint8_t space;
	int32_t device; /* as the process calls it; INT32_MIN: it calls another one so now */
	size_t place;   /* of the device in the state's; SIZE_MAX: not known */
	struct held_sum sum;
	uint64_t live_now;
	struct {
		uint64_t allocs, alloc_bytes, frees, free_bytes;
	} now, then; /* counts of the ledger, now and when the interval began */
};

struct entry {
	uint32_t pid;
	uint64_t start_ns;
	struct cell *cells;
	size_t count, capacity;
	uint64_t live[MS_SPACES_COUNT];                 /* as the ledger had it */
	uint64_t launches, graph_launches, untraced_ms; /* when the interval began */
	struct history_process *ended; /* what is to be said of one that has ended; else NULL */
	bool launched, unknown;        /* of one that has ended */
	uint32_t position;             /* in the batch that is made */
};

struct history_sampler {
	struct sink sink; /* first: the pipeline hands copies over */
	struct history_sampler_options options;
	struct entry **entries;
	size_t count, capacity;
	struct map places; /* event_process_key() -> struct entry */
	struct held_sum devices[DEVICES_MOST];
	uint64_t begin_ns, end_ns; /* of the interval, CLOCK_MONOTONIC */
	uint64_t start_ms;         /* of the interval, since 1970 */
	uint64_t missed;

	struct history_events events;
	struct history_used used;

	/* The batch that is made. */
	struct string bytes;
	struct history_device *out_devices;
	size_t out_devices_count, out_devices_capacity;
	struct history_process *out_processes;
	size_t out_processes_count, out_processes_capacity;
	struct history_memory *out_memory;
	size_t out_memory_count, out_memory_capacity;
	uint32_t device_positions[DEVICES_MOST];
};

/* ---- processes ------------------------------------------------------------------------------- */

static void free_entry(struct entry *entry)
{
	free(entry->cells);
	free(entry->ended);
	free(entry);
}

/*
 * NULL: there is no memory, or too many. One that has ended is not begun anew: what is said of it
 * was in the interval in which it did.
 */
static struct entry *entry_of(struct history_sampler *sampler, const struct process *process)
{
	const uint64_t key = event_process_key(process->pid, process->start_ns);
	const uint64_t *place = map_get(&sampler->places, key);
	struct entry *entry;

	if (place)
		return (struct entry *)(uintptr_t)*place;
	if (sampler->count >= HISTORY_SAMPLER_PROCESSES ||
	    (process->exited && process->exit_ts_ns < sampler->begin_ns) ||
	    memory_grow(&sampler->entries, &sampler->capacity, sampler->count + 1,
			sizeof(*sampler->entries)))
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry || map_set(&sampler->places, key, (uintptr_t)entry)) {
		free(entry);
		return NULL;
	}
	entry->pid = process->pid;
	entry->start_ns = process->start_ns;
	sampler->entries[sampler->count++] = entry;
	return entry;
}

static size_t root_of(const struct history_sampler *sampler, size_t place)
{
	const struct usage_totals *totals = sampler->sink.state->usage;

	return totals && place < totals->count ? usage_device_root(totals, place) : SIZE_MAX;
}

/* What a process calls by one number can become another device: then a new cell goes on. */
static struct cell *cell_of(struct history_sampler *sampler, struct entry *entry,
			    const struct process *process, const struct usage_cell *usage)
{
	const size_t place =
		usage_device_place(sampler->sink.state->usage, &process->devices, usage->device);
	const size_t root = root_of(sampler, place);
	struct cell *cell;
	struct cell begun = { .space = usage->space, .device = usage->device, .place = place };
	size_t i;

	for (i = 0; i < entry->count; i++) {
		cell = &entry->cells[i];
		if (cell->space != usage->space || cell->device != usage->device)
			continue;
		if (cell->place == SIZE_MAX)
			cell->place = place;
		if (root == SIZE_MAX || root_of(sampler, cell->place) == root)
			return cell;
		cell->device = INT32_MIN;
		begun.then = cell->then;
	}
	if (entry->count >= HISTORY_SAMPLER_CELLS ||
	    memory_grow(&entry->cells, &entry->capacity, entry->count + 1, sizeof(*entry->cells))) {
		sampler->missed++;
		return NULL;
	}
	entry->cells[entry->count] = begun;
	return &entry->cells[entry->count++];
}

static void look_at_device(struct history_sampler *sampler, size_t place, uint64_t ts_ns)
{
	const size_t root = root_of(sampler, place);

	if (root < DEVICES_MOST)
		held_sum_set(&sampler->devices[root],
			     sampler->sink.state->usage->devices[root].live_bytes, ts_ns);
}

/* Takes the ledger's numbers, of a process that holds something else now. */
static void look_at_cells(struct history_sampler *sampler, struct entry *entry,
			  const struct process *process, uint64_t ts_ns)
{
	const struct usage *usage = process->usage;
	size_t i;

	for (i = 0; i < entry->count; i++) {
		entry->cells[i].live_now = 0;
		memset(&entry->cells[i].now, 0, sizeof(entry->cells[i].now));
	}
	for (i = 0; usage && i < usage->count; i++) {
		const struct usage_cell *from = &usage->cells[i];
		struct cell *cell;

		/* Addresses are no memory. */
		if (from->space == MS_SPACE_RESERVED || from->space == MS_SPACE_MAPPED)
			continue;
		cell = cell_of(sampler, entry, process, from);
		if (!cell)
			continue;
		cell->live_now += process->exited ? 0 : from->live_bytes;
		cell->now.allocs += from->allocs;
		cell->now.alloc_bytes += from->alloc_bytes;
		cell->now.frees += from->frees;
		cell->now.free_bytes += from->free_bytes;
	}
	for (i = 0; i < entry->count; i++) {
		struct cell *cell = &entry->cells[i];

		if (!cell->sum.there || cell->live_now != cell->sum.live)
			held_sum_set(&cell->sum, cell->live_now, ts_ns);
		if (usage_is_on_device(cell->space))
			look_at_device(sampler, cell->place, ts_ns);
	}
}

/* What it has launched in the interval, and whether all of that is known. */
static void count_work(struct entry *entry, const struct process *process,
		       struct history_process *out)
{
	const uint64_t untraced_ms = process->counters[COUNTER_UNTRACED_MS];

	out->launches = held_sum_counted(process->launches, entry->launches);
	out->graph_launches = held_sum_counted(process->graph_launches, entry->graph_launches);
	out->untraced_ms = held_sum_counted(untraced_ms, entry->untraced_ms);
	entry->launches = process->launches;
	entry->graph_launches = process->graph_launches;
	entry->untraced_ms = untraced_ms;
	entry->launched = out->launches || out->graph_launches;
	entry->unknown =
		!entry->launched && (out->untraced_ms || process->budget_step == MS_BUDGET_OFF);
}

/* ---- the batch ------------------------------------------------------------------------------- */

static struct history_device *find_device(struct history_sampler *sampler, const char *key)
{
	size_t i;

	for (i = 0; i < sampler->out_devices_count; i++)
		if (!strcmp(sampler->out_devices[i].key, key))
			return &sampler->out_devices[i];
	return NULL;
}

/* Those of one key are one: of devices of which only the number is known, there can be several. */
static struct history_device *put_device(struct history_sampler *sampler,
					 const struct history_device *device)
{
	struct history_device *there = find_device(sampler, device->key);

	if (!there) {
		if (memory_grow(&sampler->out_devices, &sampler->out_devices_capacity,
				sampler->out_devices_count + 1, sizeof(*device)))
			return NULL;
		there = &sampler->out_devices[sampler->out_devices_count++];
		*there = *device;
		return there;
	}
	held_sum_join(&there->held, &device->held);
	return there;
}

static int put_devices(struct history_sampler *sampler, uint64_t end_ns)
{
	const struct usage_totals *totals = sampler->sink.state->usage;
	size_t i;
	int err = 0;

	sampler->out_devices_count = 0;
	for (i = 0; !err && totals && i < totals->count && i < DEVICES_MOST; i++) {
		const struct usage_device *device = &totals->devices[i];
		struct held_sum *sum = &sampler->devices[i];
		struct history_device out = { 0 };
		const struct history_device *there;

		sampler->device_positions[i] = HISTORY_NONE;
		if (usage_device_root(totals, i) != i) {
			*sum = (struct held_sum){ 0 };
			continue;
		}
		if (!sum->there)
			continue;
		held_sum_set(sum, device->live_bytes, end_ns);
		history_names_device(&out, totals, i);
		history_names_copy(out.name, sizeof(out.name), device->identity.name);
		out.total_bytes = device->identity.total_bytes;
		out.held = held_sum_take(sum);
		/* Most that were ever seen hold nothing. */
		if (!out.held.max_bytes)
			continue;
		there = put_device(sampler, &out);
		if (there)
			sampler->device_positions[i] = (uint32_t)(there - sampler->out_devices);
		else
			err = -ENOMEM;
	}
	return err;
}

/* What NVML said of each device, unless it has not answered for long. */
static int put_used(struct history_sampler *sampler, uint64_t ms, uint64_t end_ns)
{
	struct history_device *out, made;
	size_t i;

	for (i = 0; i < sampler->used.count; i++) {
		if (history_used_take(&sampler->used.devices[i], end_ns, &made))
			continue;
		made.held.ms = ms;
		out = put_device(sampler, &made);
		if (!out)
			return -ENOMEM;
		out->total_bytes = out->total_bytes ? out->total_bytes : made.total_bytes;
		out->used_known = 1;
		out->used = made.used;
	}
	return 0;
}

static uint32_t device_position(const struct history_sampler *sampler, size_t place)
{
	const size_t root = root_of(sampler, place);

	return root < DEVICES_MOST ? sampler->device_positions[root] : HISTORY_NONE;
}

static int put_cell(struct history_sampler *sampler, const struct entry *entry, struct cell *cell)
{
	struct history_memory out = {
		.process = entry->position,
		.device = device_position(sampler, cell->place),
		.on_device = usage_is_on_device(cell->space),
		.held = held_sum_take(&cell->sum),
		.allocs = held_sum_counted(cell->now.allocs, cell->then.allocs),
		.alloc_bytes = held_sum_counted(cell->now.alloc_bytes, cell->then.alloc_bytes),
		.frees = held_sum_counted(cell->now.frees, cell->then.frees),
		.free_bytes = held_sum_counted(cell->now.free_bytes, cell->then.free_bytes),
	};

	cell->then = cell->now;
	if (!out.held.max_bytes && !out.allocs && !out.frees)
		return 0;
	history_names_copy(out.space, sizeof(out.space), probe_space_name(cell->space));
	if (entry->unknown)
		out.unknown_byte_ms = out.held.byte_ms;
	else if (!entry->launched)
		out.idle_byte_ms = out.held.byte_ms;
	if (memory_grow(&sampler->out_memory, &sampler->out_memory_capacity,
			sampler->out_memory_count + 1, sizeof(out)))
		return -ENOMEM;
	sampler->out_memory[sampler->out_memory_count++] = out;
	return 0;
}

static int put_entry(struct history_sampler *sampler, struct entry *entry, uint64_t end_ns)
{
	const struct process *process =
		entry->ended ? NULL : state_find(sampler->sink.state, entry->pid, entry->start_ns);
	struct history_process out;
	size_t i;
	int err = 0;

	entry->position = HISTORY_NONE;
	if (!entry->ended && !process)
		return 0;
	if (memory_grow(&sampler->out_processes, &sampler->out_processes_capacity,
			sampler->out_processes_count + 1, sizeof(out)))
		return -ENOMEM;
	if (entry->ended) {
		out = *entry->ended;
	} else {
		history_names_process(process, &out);
		look_at_cells(sampler, entry, process, end_ns);
		count_work(entry, process, &out);
		for (i = 0; i < entry->count; i++)
			held_sum_advance(&entry->cells[i].sum, end_ns);
	}
	entry->position = (uint32_t)sampler->out_processes_count;
	sampler->out_processes[sampler->out_processes_count++] = out;
	for (i = 0; !err && i < entry->count; i++)
		err = put_cell(sampler, entry, &entry->cells[i]);
	return err;
}

static void hand_over(struct history_sampler *sampler, uint64_t ms)
{
	struct history_event events[HISTORY_EVENTS];
	struct history_batch batch = {
		.start_ms = sampler->start_ms,
		.ms = ms,
		.devices = sampler->out_devices,
		.processes = sampler->out_processes,
		.memory = sampler->out_memory,
		.events = events,
		.devices_count = (uint32_t)sampler->out_devices_count,
		.processes_count = (uint32_t)sampler->out_processes_count,
		.memory_count = (uint32_t)sampler->out_memory_count,
		.events_count = (uint32_t)sampler->events.count,
	};
	size_t i;

	for (i = 0; i < sampler->events.count; i++) {
		const struct history_noted *noted = &sampler->events.noted[i];
		const uint64_t *place = map_get(&sampler->places, noted->process);

		events[i] = noted->row;
		events[i].process =
			place ? ((struct entry *)(uintptr_t)*place)->position : HISTORY_NONE;
		events[i].device = device_position(sampler, noted->device);
	}
	memcpy(batch.boot, sampler->options.boot, sizeof(batch.boot));
	string_clear(&sampler->bytes);
	history_batch_append(&sampler->bytes, &batch);
	if (sampler->bytes.failed)
		sampler->missed++;
	else
		sampler->options.take(sampler->options.context, &sampler->bytes);
	sampler->bytes.failed = false;
}

static void drop_ended(struct history_sampler *sampler)
{
	size_t i = 0;

	while (i < sampler->count) {
		struct entry *entry = sampler->entries[i];

		if (entry->position != HISTORY_NONE && !entry->ended) {
			i++;
			continue;
		}
		map_remove(&sampler->places, event_process_key(entry->pid, entry->start_ns));
		sampler->entries[i] = sampler->entries[--sampler->count];
		free_entry(entry);
	}
}

/*
 * The next interval ends with a multiple of ten seconds of the wall clock. `slack_ns`: it is the
 * following one if the clock lacks less than that of it, because the clock is adjusted.
 */
static void begin_interval(struct history_sampler *sampler, uint64_t now_ns, uint64_t slack_ns)
{
	const uint64_t wall_ns = now_ns + sampler->options.wall_offset_ns() + slack_ns;
	const uint64_t start_ns = wall_ns - wall_ns % STEP_NS;

	sampler->begin_ns = now_ns;
	sampler->start_ms = start_ns / MS_NS;
	sampler->end_ns = now_ns + (start_ns + STEP_NS + slack_ns - wall_ns);
}

static void close_interval(struct history_sampler *sampler, uint64_t end_ns)
{
	const uint64_t ms = (end_ns - sampler->begin_ns + MS_NS / 2) / MS_NS;
	size_t i;
	int err = put_devices(sampler, end_ns);

	sampler->out_processes_count = sampler->out_memory_count = 0;
	for (i = 0; !err && i < sampler->count; i++)
		err = put_entry(sampler, sampler->entries[i], end_ns);
	if (!err)
		err = put_used(sampler, ms, end_ns);
	if (err)
		sampler->missed++;
	else
		hand_over(sampler, ms);
	sampler->events.count = 0;
	drop_ended(sampler);
	begin_interval(sampler, end_ns, LATE_NS);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void pass_time(struct history_sampler *sampler, uint64_t now_ns)
{
	while (now_ns >= sampler->end_ns)
		close_interval(sampler, sampler->end_ns);
}

static uint64_t wall_ms(const struct history_sampler *sampler, uint64_t ts_ns)
{
	return (ts_ns + sampler->options.wall_offset_ns()) / MS_NS;
}

/* The moment in the interval that is open: some events come late. */
static uint64_t moment(const struct history_sampler *sampler, uint64_t ts_ns)
{
	return ts_ns > sampler->begin_ns ? ts_ns : sampler->begin_ns;
}

/* Before the state has it: what the intervals before it are closed with is without it. */
static int take_record(struct sink *sink, const struct event *event)
{
	struct history_sampler *sampler = (struct history_sampler *)sink;
	const uint64_t ts_ns = event->header->ts_ns;

	pass_time(sampler, ts_ns);
	if (event->loss && event->loss->op != MS_ACCOUNT_ABANDONED)
		history_events_loss(&sampler->events, event, wall_ms(sampler, ts_ns));
	if (history_used_note(&sampler->used, event, moment(sampler, ts_ns)))
		sampler->missed++;
	return 0;
}

static bool holds_other(const struct entry *entry, const struct process *process)
{
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++)
		if (entry->live[space] != process->spaces[space].live_bytes)
			return true;
	return false;
}

static struct entry *look(struct history_sampler *sampler, const struct process *process,
			  uint64_t ts_ns)
{
	struct entry *entry = entry_of(sampler, process);
	uint32_t space;

	if (!entry) {
		sampler->missed += !process->exited;
		return NULL;
	}
	if (!process->exited && !holds_other(entry, process))
		return entry;
	look_at_cells(sampler, entry, process, ts_ns);
	for (space = 0; space < MS_SPACES_COUNT; space++)
		entry->live[space] = process->spaces[space].live_bytes;
	return entry;
}

static int take_call(struct sink *sink, const struct event *event, const struct change *change)
{
	struct history_sampler *sampler = (struct history_sampler *)sink;
	const uint64_t ts_ns = moment(sampler, event->header->ts_ns);
	struct entry *entry = look(sampler, change->process, ts_ns);

	if (entry && oom_watch_is_failure(event))
		history_events_oom(&sampler->events, event, change, sink->state->usage,
				   wall_ms(sampler, ts_ns));
	return 0;
}

static int take_process(struct sink *sink, const struct event *event, const struct change *change)
{
	struct history_sampler *sampler = (struct history_sampler *)sink;
	const uint64_t ts_ns = moment(sampler, event->header->ts_ns);
	const struct process *process = change->process;
	struct entry *entry = look(sampler, process, ts_ns);
	struct history_process *ended;

	if (!entry || event->header->type != MS_TYPE_EXIT || entry->ended)
		return 0;
	ended = calloc(1, sizeof(*ended));
	if (!ended) {
		sampler->missed++;
		return 0;
	}
	history_names_process(process, ended);
	count_work(entry, process, ended);
	entry->ended = ended;
	history_events_exit(&sampler->events, process, wall_ms(sampler, ts_ns));
	return 0;
}

static int tick(struct sink *sink, uint64_t now_ns)
{
	if (now_ns > LATE_NS)
		pass_time((struct history_sampler *)sink, now_ns - LATE_NS);
	return 0;
}

/* ---------------------------------------------------------------------------------------------- */

struct history_sampler *history_sampler_new(const struct history_sampler_options *options,
					    uint64_t now_ns)
{
	struct history_sampler *sampler = calloc(1, sizeof(*sampler));

	if (!sampler)
		return NULL;
	sampler->options = *options;
	sampler->sink = (struct sink){
		.record = take_record, .call = take_call, .process = take_process, .tick = tick
	};
	begin_interval(sampler, now_ns, 0);
	return sampler;
}

void history_sampler_free(struct history_sampler *sampler)
{
	if (!sampler)
		return;
	while (sampler->count)
		free_entry(sampler->entries[--sampler->count]);
	free(sampler->entries);
	map_fini(&sampler->places);
	free(sampler->out_devices);
	free(sampler->out_processes);
	free(sampler->out_memory);
	history_used_fini(&sampler->used);
	string_fini(&sampler->bytes);
	free(sampler);
}

struct sink *history_sampler_sink(struct history_sampler *sampler)
{
	return &sampler->sink;
}

void history_sampler_finish(struct history_sampler *sampler, uint64_t now_ns)
{
	pass_time(sampler, now_ns);
	if (now_ns > sampler->begin_ns)
		close_interval(sampler, now_ns);
}

uint64_t history_sampler_missed(const struct history_sampler *sampler)
{
	return sampler->missed + sampler->events.missed;
}
