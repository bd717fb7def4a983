// SPDX-License-Identifier: BSD-2-Clause
#include "render/json_process.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "ledger/call_splits.h"
#include "ledger/call_times.h"
#include "ledger/driver_devices.h"
#include "ledger/driver_joins.h"

void json_process_exit(struct json *json, uint32_t status)
{
	const bool known = status != MS_EXIT_UNKNOWN, killed = known && WIFSIGNALED(status);

	json_put_if(json, "exit_code", known && !killed, WEXITSTATUS(status));
	json_put_if(json, "signal", killed, WTERMSIG(status));
}

void json_process_space_totals(struct json *json, const struct space_total *total, bool known)
{
	json_put_u64(json, "allocs", total->allocs);
	json_put_u64(json, "alloc_bytes", total->alloc_bytes);
	json_put_if(json, "frees", known, total->frees);
	json_put_if(json, "free_bytes", known, total->free_bytes);
	json_put_if(json, "implicit_frees", known, total->implicit_frees);
	json_put_if(json, "implicit_free_bytes", known, total->implicit_bytes);
}

static void put_driver_total(struct json *json, const char *name, const struct driver_total *total)
{
	json_name(json, name);
	json_open(json, '{');
	json_put_u64(json, "live_bytes", total->live_bytes);
	json_put_u64(json, "live_objects", total->live_count);
	json_put_u64(json, "peak_bytes", total->peak_bytes);
	json_put_u64(json, "exit_bytes", total->exit_bytes);
	json_close(json, '}');
}

static void put_driver_device(struct json *json, const struct process *process, int32_t device)
{
	uint64_t causes[DRIVER_CAUSES_COUNT];
	size_t i;

	json_open(json, '{');
	json_put_if(json, "device", device >= 0, (uint64_t)device);
	json_put_u64(json, "bytes", driver_devices_bytes(process, device, causes));
	json_put_u64(json, "objects", driver_devices_objects(process, device));
	json_name(json, "causes");
	json_open(json, '{');
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		json_put_u64(json, driver_cause_name(i), causes[i]);
	json_close(json, '}');
	json_close(json, '}');
}

static void put_driver_devices(struct json *json, const struct process *process)
{
	int32_t device = DRIVER_DEVICES_BEGIN;

	json_name(json, "devices");
	json_open(json, '[');
	while ((device = driver_devices_next(process, device)) != DRIVER_DEVICES_END)
		put_driver_device(json, process, device);
	json_close(json, ']');
}

static void put_join(struct json *json, const struct driver_join *join)
{
	const struct probe *probe = join->block_row == MS_NO_ROW ? NULL : probe_at(join->block_row);

	json_open(json, '{');
	json_put_u64(json, "client", join->client);
	json_put_u64(json, "object", join->object);
	json_put_u64(json, "bytes", join->bytes);
	json_put_text(json, "cause", driver_cause_name(join->cause));
	json_put_bool(json, "counts_elsewhere", join->is_alias);
	json_name(json, "addr");
	if (join->mapped_bytes)
		json_hex(json, join->base);
	else
		json_null(json);
	json_put_u64(json, "mapped_bytes", join->mapped_bytes);
	json_put_u64(json, "blocks", join->blocks);
	json_put_u64(json, "block_bytes", join->block_bytes);
	json_name(json, "largest_block");
	if (join->blocks) {
		json_open(json, '{');
		json_name(json, "addr");
		json_hex(json, join->block_addr);
		json_put_u64(json, "size_bytes", join->block_largest);
		json_put_text(json, "call", probe ? probe->symbol : "unknown");
		json_close(json, '}');
	} else {
		json_null(json);
	}
	json_close(json, '}');
}

static void put_causes(struct json *json, const char *name,
		       const uint64_t causes[DRIVER_CAUSES_COUNT])
{
	size_t i;

	json_name(json, name);
	json_open(json, '{');
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		json_put_u64(json, driver_cause_name(i), causes[i]);
	json_close(json, '}');
}

/* Which objects are behind which allocations, by their addresses. */
static void put_joins(struct json *json, const struct process *process)
{
	struct driver_joins joins;
	size_t i;

	json_name(json, "by_address");
	if (!driver_joins_of(process, &joins)) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "behind_objects", joins.behind_objects);
	json_put_u64(json, "behind_bytes", joins.behind_bytes);
	json_put_u64(json, "blocks", joins.blocks);
	json_put_u64(json, "block_bytes", joins.block_bytes);
	json_put_u64(json, "empty_objects", joins.empty_objects);
	json_put_u64(json, "empty_bytes", joins.empty_bytes);
	put_causes(json, "empty_causes", joins.empty);
	json_put_u64(json, "unmapped_objects", joins.unmapped_objects);
	json_put_u64(json, "unmapped_bytes", joins.unmapped_bytes);
	put_causes(json, "unmapped_causes", joins.unmapped);
	json_put_u64(json, "outside_blocks", joins.outside_blocks);
	json_put_u64(json, "outside_bytes", joins.outside_bytes);
	json_put_u64(json, "managed_blocks", joins.managed_blocks);
	json_put_u64(json, "managed_bytes", joins.managed_bytes);
	json_put_u64(json, "managed_outside_blocks", joins.managed_outside_blocks);
	json_put_u64(json, "managed_outside_bytes", joins.managed_outside_bytes);
	json_name(json, "largest");
	json_open(json, '[');
	for (i = 0; i < joins.largest_count; i++)
		put_join(json, &joins.largest[i]);
	json_close(json, ']');
	json_close(json, '}');
}

/* Of addresses that live: a process that has ended has none. */
static void put_ranges(struct json *json, const struct driver_objects *driver)
{
	struct driver_ranges_totals totals;

	json_name(json, "ranges");
	if (!driver->ranges.seen) {
		json_null(json);
		return;
	}
	driver_ranges_sum(&driver->ranges, &totals);
	json_open(json, '{');
	json_put_u64(json, "external", totals.external_count);
	json_put_u64(json, "external_bytes", totals.external_bytes);
	json_put_u64(json, "mapped", totals.mapped_count);
	json_put_u64(json, "mapped_bytes", totals.mapped_bytes);
	json_put_u64(json, "managed", totals.managed_count);
	json_put_u64(json, "managed_bytes", totals.managed_bytes);
	json_close(json, '}');
}

void json_process_driver(struct json *json, const struct process *process)
{
	const struct driver_objects *driver = &process->driver;
	size_t i;

	json_name(json, "driver");
	if (!driver->seen && !driver->missed_ns) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	put_driver_total(json, "device", &driver->device);
	put_driver_total(json, "host", &driver->host);
	put_driver_total(json, "shared", &driver->shared);
	json_name(json, "causes");
	json_open(json, '{');
	for (i = 0; i < DRIVER_CAUSES_COUNT; i++)
		put_driver_total(json, driver_cause_name(i), &driver->causes[i]);
	json_close(json, '}');
	put_driver_devices(json, process);
	put_ranges(json, driver);
	put_joins(json, process);
	json_put_u64(json, "out_of_memory", driver->failures);
	json_put_if(json, "missed_until_ns", driver->missed_ns, driver->missed_ns);
	json_close(json, '}');
}

void json_process_allocation(struct json *json, const struct allocation *allocation)
{
	json_put_u64(json, "alloc_id", allocation->id);
	json_name(json, "addr");
	json_hex(json, allocation->addr);
	json_put_if(json, "size_bytes", allocation->size_known, allocation->size_bytes);
	json_put_text(json, "space", probe_space_name(allocation->space));
	json_put_if(json, "device", allocation->device >= 0, (uint64_t)allocation->device);
}

void json_process_failures(struct json *json, const struct process *process)
{
	size_t i;

	json_name(json, "failures");
	json_open(json, '[');
	for (i = 0; i < process->failures_count; i++) {
		const struct failure *failure = &process->failures[i];
		const struct probe *probe = probe_at(failure->row);

		json_open(json, '{');
		json_put_text(json, "api", probe->symbol);
		json_name(json, "result");
		json_i64(json, failure->result);
		json_put_text(json, "result_name",
			      probe_result_name(probe->layer, failure->result));
		json_put_u64(json, "count", failure->count);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_percentile(struct json *json, const char *name, const struct call_times *times,
			   unsigned int percent)
{
	uint64_t ns = 0;
	const bool known = call_times_percentile(times, percent, &ns);

	json_put_if(json, name, known, ns);
}

void json_process_functions(struct json *json, const struct process *process)
{
	const struct call_times **sorted = call_times_sorted(process);
	const bool known = !process->entries_only;
	size_t i;

	json->out->failed |= !sorted;
	json_name(json, "functions");
	json_open(json, '[');
	for (i = 0; sorted && i < process->times_count; i++) {
		uint64_t any;

		json_open(json, '{');
		json_put_text(json, "api", probe_at(sorted[i]->row)->symbol);
		json_put_u64(json, "calls", sorted[i]->calls);
		json_put_if(json, "failed", known, sorted[i]->failed);
		json_put_u64(json, "timed", sorted[i]->timed);
		json_put_if(json, "total_ns", sorted[i]->timed, sorted[i]->total_ns);
		put_percentile(json, "p50_ns", sorted[i], 50);
		put_percentile(json, "p99_ns", sorted[i], 99);
		json_put_if(json, "max_ns", call_times_percentile(sorted[i], 100, &any),
			    sorted[i]->max_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(sorted);
}

void json_process_splits(struct json *json, const struct process *process)
{
	uint32_t op;

	json_name(json, "time_in_calls");
	json_open(json, '[');
	for (op = 0; op < MS_OPS_COUNT; op++) {
		const struct call_split *split = &process->splits[op];

		if (!split->calls)
			continue;
		json_open(json, '{');
		json_put_text(json, "op", probe_op_name(op));
		json_put_u64(json, "calls", split->calls);
		json_put_u64(json, "total_ns", split->total_ns);
		json_put_u64(json, "running_ns", call_splits_running_ns(split));
		json_put_u64(json, "runnable_ns", split->runnable_ns);
		json_put_u64(json, "blocked_ns", split->blocked_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_counters(struct json *json, const struct process *process, bool of_others)
{
	enum process_counter counter;

	for (counter = 0; counter < COUNTERS_COUNT; counter++)
		if (process_counters[counter].is_of_others == of_others)
			json_put_u64(json, process_counters[counter].name,
				     process->counters[counter]);
}

void json_process_counters(struct json *json, const struct process *process)
{
	put_counters(json, process, false);
	json_name(json, "others");
	json_open(json, '{');
	put_counters(json, process, true);
	json_close(json, '}');
}

void json_untraced_forks(struct json *json, const struct untraced_forks *forks)
{
	size_t i, j;

	json_name(json, "untraced_forks");
	if (!forks) {
		json_null(json);
		return;
	}
	json_open(json, '[');
	for (i = 0; i < forks->count; i++) {
		const struct untraced_forks_parent *parent = &forks->parents[i];

		json_open(json, '{');
		json_put_u64(json, "pid", parent->pid);
		json_put_u64(json, "children", parent->count);
		json_name(json, "children_pids");
		json_open(json, '[');
		for (j = 0; j < parent->children_count; j++)
			json_u64(json, parent->children[j]);
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

void json_left_cgroup(struct json *json, const struct cgroup_leavers *leavers)
{
	size_t i;

	json_name(json, "left_cgroup");
	if (!leavers) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "processes", leavers->count);
	json_name(json, "pids");
	json_open(json, '[');
	for (i = 0; i < leavers->pids_count; i++)
		json_u64(json, leavers->pids[i]);
	json_close(json, ']');
	json_close(json, '}');
}
