// SPDX-License-Identifier: BSD-2-Clause
/*
 * The summary as the last JSON object of a run: the same numbers as render/summary_text.c.
 */
#include "render/json.h"

#include "render/identity_words.h"
#include "render/json_gpu.h"
#include "render/json_nvml.h"
#include "render/json_process.h"
#include "render/summary_sites.h"

static void put_spaces(struct json *json, const struct process *process)
{
	bool known = !process->entries_only;
	uint32_t i;

	json_name(json, "spaces");
	json_open(json, '[');
	for (i = 0; i < MS_SPACES_COUNT; i++) {
		const struct space_total *space = &process->spaces[i];

		if (!space->allocs)
			continue;
		json_open(json, '{');
		json_put_text(json, "space", probe_space_name(i));
		json_put_if(json, "live_bytes", known, space->live_bytes);
		json_put_if(json, "live_allocations", known, space->live_count);
		json_put_if(json, "peak_bytes", known, space->peak_bytes);
		json_put_if(json, "peak_ts_ns", known, space->peak_ts_ns);
		json_process_space_totals(json, space, known);
		json_put_if(json, "exit_allocations", known, space->exit_count);
		json_put_if(json, "exit_bytes", known, space->exit_bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_largest(struct json *json, const struct summary *summary,
			const struct process *process)
{
	struct allocation largest[PROCESS_LARGEST];
	size_t count = state_largest(process, largest, PROCESS_LARGEST), i;
	uint64_t end_ns = process->exited ? process->exit_ts_ns : summary->end_ns;

	json_name(json, "largest");
	json_open(json, '[');
	for (i = 0; i < count; i++) {
		json_open(json, '{');
		json_process_allocation(json, &largest[i]);
		json_put_u64(json, "age_ns", end_ns - largest[i].ts_ns);
		json_put_text(json, "api", probe_at(largest[i].row)->symbol);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_total(struct json *json, const struct summary *summary,
		      const struct call_total *total)
{
	uint64_t observed_ns = summary->end_ns - summary->start_ns;

	json_put_u64(json, "count", total->count);
	json_put_u64(json, "bytes", total->bytes);
	json_put_if(json, "bytes_per_second", observed_ns,
		    summary_per_second(summary, total->bytes));
	json_put_u64(json, "unknown_sizes", total->unknown_bytes);
	json_put_u64(json, "duration_ns", total->duration_ns);
}

static void put_copies(struct json *json, const struct summary *summary,
		       const struct process *process)
{
	uint32_t i;

	json_open(json, '[');
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		if (!process->copies[i].count)
			continue;
		json_open(json, '{');
		json_put_text(json, "direction",
			      i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : NULL);
		put_total(json, summary, &process->copies[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_memsets(struct json *json, const struct summary *summary,
			const struct process *process)
{
	json_open(json, '{');
	put_total(json, summary, &process->memsets);
	json_close(json, '}');
}

static void put_syncs(struct json *json, const struct summary *summary,
		      const struct process *process)
{
	(void)summary;
	json_open(json, '{');
	json_put_u64(json, "count", process->syncs.count);
	json_put_u64(json, "duration_ns", process->syncs.duration_ns);
	json_close(json, '}');
}

static void put_launches(struct json *json, const struct summary *summary,
			 const struct process *process)
{
	(void)summary;
	json_u64(json, process->launches);
}

static void put_kernels(struct json *json, const struct summary *summary,
			const struct process *process)
{
	size_t i;

	(void)summary;
	json_open(json, '[');
	for (i = 0; i < process->kernels_count; i++) {
		json_open(json, '{');
		json_put_text(json, "kernel", process->kernels[i].name);
		json_name(json, "handle");
		json_hex(json, process->kernels[i].handle);
		json_put_u64(json, "launches", process->kernels[i].launches);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_views(struct json *json, const struct process *process)
{
	size_t i;

	json_name(json, "told");
	json_open(json, '[');
	for (i = 0; i < process->views_count; i++) {
		const struct view *view = &process->views[i];

		json_open(json, '{');
		json_put_u64(json, "ts_ns", view->ts_ns);
		if (view->is_pool) {
			json_name(json, "pool");
			json_hex(json, view->handle);
			json_put_u64(json, "reserved_bytes", view->total_bytes);
			json_put_u64(json, "used_bytes", view->free_bytes);
		} else {
			json_put_if(json, "device", view->handle != UINT64_MAX, view->handle);
			json_put_u64(json, "total_bytes", view->total_bytes);
			json_put_u64(json, "free_bytes", view->free_bytes);
		}
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* What also makes sense of several processes. */
static void put_totals(struct json *json, const struct summary *summary,
		       const struct process *process)
{
	/* null if the operation was not captured */
	static const struct {
		const char *name;
		enum ms_op op;
		void (*put)(struct json *, const struct summary *, const struct process *);
	} members[] = {
		{ "copies", MS_OP_COPY, put_copies },
		{ "memsets", MS_OP_MEMSET, put_memsets },
		{ "syncs", MS_OP_SYNC, put_syncs },
		{ "launches", MS_OP_LAUNCH, put_launches },
		{ "kernels", MS_OP_LAUNCH, put_kernels },
	};
	size_t i;

	json_put_bool(json, "was_running", process->was_running);
	json_put_bool(json, "was_running_earlier", process->was_running_earlier);
	json_put_bool(json, "entries_only", process->entries_only);
	put_spaces(json, process);
	json_process_driver(json, process);
	json_process_tensors(json, process);
	json_process_nccl(json, process);
	json_gpu_process(json, process);
	for (i = 0; i < sizeof(members) / sizeof(*members); i++) {
		json_name(json, members[i].name);
		if (summary_captured(summary, members[i].op))
			members[i].put(json, summary, process);
		else
			json_null(json);
	}
	json_put_u64(json, "graph_launches", process->graph_launches);
	json_process_failures(json, process);
	json_process_functions(json, process);
	json_process_splits(json, process);
	json_process_counters(json, process);
}

void json_summary_process(struct json *json, const struct summary *summary,
			  const struct process *process)
{
	json_open(json, '{');
	json_put_u64(json, "pid", process->pid);
	json_put_text(json, "comm", process->comm);
	json_name(json, "identity");
	identity_words_json(json, &process->identity.known);
	json_put_bool(json, "exited", process->exited);
	json_process_exit(json, process->exited ? process->exit_status : MS_EXIT_UNKNOWN);
	put_totals(json, summary, process);
	json_nvml_process(json, process);
	put_largest(json, summary, process);
	put_views(json, process);
	json_close(json, '}');
}

static void put_more(struct json *json, const struct summary *summary)
{
	const struct state *state = summary->state;

	json_name(json, "more_processes");
	if (!state->more_count) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "count", state->more_count);
	put_totals(json, summary, state->more);
	json_close(json, '}');
}

static void put_lost(struct json *json, const struct summary *summary)
{
	uint32_t op;

	json_name(json, "lost_by_op");
	json_open(json, '{');
	for (op = 0; op < MS_OPS_COUNT; op++)
		json_put_u64(json, probe_op_name(op), summary->counters.lost[op]);
	json_close(json, '}');
	json_put_u64(json, "lost_free_begins", summary->counters.lost[MS_KIND_FREE_BEGIN]);
	json_put_u64(json, "lost_process_records", summary->counters.lost[MS_KIND_PROCESS]);
	json_put_u64(json, "lost_who_records", summary->counters.lost[MS_KIND_WHO]);
	json_put_u64(json, "lost_untracked", summary->losses.untracked);
}

static void put_cost(struct json *json, const struct summary_cost *cost)
{
	bool counted = cost->bpf_runs;

	json_name(json, "cost");
	if (!cost->cpu_ns) { /* not known of a recording */
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "cpu_ns", cost->cpu_ns);
	json_put_if(json, "bpf_runs", counted, cost->bpf_runs);
	json_put_if(json, "bpf_ns", counted, cost->bpf_ns);
	json_put_u64(json, "ring_bytes", cost->ring_bytes);
	json_put_u64(json, "highest_critical_bytes", cost->highest_critical);
	json_put_u64(json, "highest_bulk_bytes", cost->highest_bulk);
	json_close(json, '}');
}

void json_summary(struct json *json, const struct summary *summary)
{
	size_t i;

	json_put_bool(json, "final", !summary->interim);
	json_put_u64(json, "start_ns", summary->start_ns);
	json_put_u64(json, "end_ns", summary->end_ns);
	json_name(json, "events");
	json_open(json, '{');
	json_put_u64(json, "seen", summary->losses.seen);
	json_put_u64(json, "shown", summary->shown);
	json_put_u64(json, "filtered", summary->filtered);
	json_put_u64(json, "lost", summary->losses.calls);
	put_lost(json, summary);
	json_put_u64(json, "abandoned", summary->counters.abandoned);
	json_put_u64(json, "refused", summary->refused);
	json_close(json, '}');
	put_cost(json, &summary->cost);
	json_put_if(json, "missed_processes", summary->missed_known, summary->missed_processes);
	json_put_if(json, "untraced_descendants", summary->untraced_known, summary->untraced);
	json_untraced_forks(json, summary->forks);
	json_left_cgroup(json, summary->leavers);
	summary_sites_json(json, summary);
	json_name(json, "processes");
	json_open(json, '[');
	for (i = 0; i < summary->state->processes_count; i++)
		json_summary_process(json, summary, summary->state->processes[i]);
	json_close(json, ']');
	put_more(json, summary);
	json_nvml_devices(json, summary->state);
}
