// SPDX-License-Identifier: BSD-2-Clause
#include "agent/own_metrics.h"

#include <stddef.h>

#include "agent/push_queue.h"

/* clang-format off */
#define FAMILIES(X) \
	X(READY, "memscope_agent_ready", "gauge", "", "1: the agent traces, and its books are exact") \
	X(INEXACT, "memscope_agent_books_inexact", "gauge", "", "1: something that the ledger rests on was lost") \
	X(PROCESSES, "memscope_agent_processes", "gauge", "", "Traced processes that live") \
	X(LATE, "memscope_agent_late_processes", "gauge", "", "Those of them that had CUDA loaded before they were attached to, and may hold more than was seen") \
	X(DENIED, "memscope_agent_denied_processes", "gauge", "", "Processes that use CUDA, live and are not traced because the configuration (allow, deny) says so, as far as it has been asked for them") \
	X(MOVED, "memscope_agent_moved_processes", "counter", "", "Processes that were moved to another cgroup, to where the configuration denies them (to: denied), or no longer does so (to: traced)") \
	X(START, "memscope_agent_start_time_seconds", "gauge", "seconds", "When the agent began, since 1970") \
	X(CPU, "memscope_agent_cpu_seconds", "counter", "seconds", "CPU time of the agent, by its process") \
	X(RESIDENT, "memscope_agent_resident_memory_bytes", "gauge", "bytes", "Resident memory of the agent, by its process") \
	X(DESCRIPTORS, "memscope_agent_open_descriptors", "gauge", "", "Open descriptors of the capture") \
	X(PAUSE, "memscope_agent_longest_pause_seconds", "gauge", "seconds", "The longest time, of the last 10 to 20 seconds, for which the capture was busy before it looked at its buffers again") \
	X(RING, "memscope_agent_ring_bytes", "gauge", "bytes", "Size of each ring buffer between kernel and agent") \
	X(RING_HIGHEST, "memscope_agent_ring_highest_bytes", "gauge", "bytes", "The most that ever waited in it") \
	X(BPF, "memscope_agent_bpf_seconds", "counter", "seconds", "Time in BPF programs, in the traced programs' threads, if the kernel counts it (kernel.bpf_stats_enabled)") \
	X(OVERHEAD, "memscope_agent_overhead_seconds", "counter", "seconds", "CPU time that tracing has cost the traced programs: an estimate on the high side, by their calls and what a trap takes here") \
	X(OVERHEAD_HIGHEST, "memscope_agent_overhead_highest_ratio", "gauge", "ratio", "The same of the live process that it costs most, over the last second, as a share of a CPU") \
	X(TRAP, "memscope_agent_trap_seconds", "gauge", "seconds", "CPU time of one probe, from which the overhead is estimated; source: measured or assumed") \
	X(BUDGET, "memscope_agent_budget_ratio", "gauge", "ratio", "What tracing may cost each process, as a share of a CPU; absent if there is no limit") \
	X(BUDGET_PROCESSES, "memscope_agent_budget_processes", "gauge", "", "Live processes by what is traced of their copies, memsets, launches and synchronisation: all, entries or (off) nothing") \
	X(BUDGET_OVER, "memscope_agent_budget_exceeded_processes", "gauge", "", "Live processes whose allocations and frees alone cost more than the budget") \
	X(BUDGET_STACKLESS, "memscope_agent_budget_stackless_processes", "gauge", "", "Live processes of whose allocations no call stacks are taken, because these cost more than the budget") \
	X(BUDGET_CHANGES, "memscope_agent_budget_changes", "counter", "", "Times that more or less was traced of a process, by what it was from then on") \
	X(BUDGET_OFF, "memscope_agent_budget_off_seconds", "counter", "seconds", "Time in which no copies, memsets, launches and synchronisation were traced") \
	X(RECORDED, "memscope_agent_recorder_bytes", "gauge", "bytes", "What the flight recorder has on disk") \
	X(RECORDED_MOST, "memscope_agent_recorder_limit_bytes", "gauge", "bytes", "The most that it may have") \
	X(BUNDLES, "memscope_agent_bundles", "counter", "", "Bundles of the flight recorder, by what became of them: written, failed (attempts, which are made again), withheld (there were too many in this hour)") \
	X(BUNDLES_WAITING, "memscope_agent_bundles_waiting", "gauge", "", "1: a bundle is due that has not been written, because that failed, or because of the limit for an hour; else 0") \
	X(HISTORY, "memscope_agent_history_intervals", "counter", "", "Intervals of the history, by what became of them: written, failed (the disk or the database), lost (the writer was too slow, or had ended)") \
	X(HISTORY_MISSED, "memscope_agent_history_missed", "counter", "", "Processes, kinds of memory and events that are not in the history, because there were too many") \
	X(HISTORY_ASIDE, "memscope_agent_history_set_aside", "counter", "", "Databases that were damaged, and set aside") \
	X(HISTORY_BYTES, "memscope_agent_history_bytes", "gauge", "bytes", "What the history has on disk") \
	X(HISTORY_MOST, "memscope_agent_history_limit_bytes", "gauge", "bytes", "The most that it may have") \
	X(ANSWERS, "memscope_agent_answers", "counter", "", "Answers that were made of the ledger, by how that ended") \
	X(RESPONSES, "memscope_agent_http_responses", "counter", "", "Responses to clients, by status") \
	X(CONNECTIONS, "memscope_agent_http_connections", "gauge", "", "Connections of clients that are open") \
	X(DROPPED, "memscope_agent_http_dropped_connections", "counter", "", "Connections of clients that were closed because they took too long") \
	X(RESTARTS, "memscope_agent_http_restarts", "counter", "", "Times that the process for clients was started again because it had ended: not those at SIGHUP") \
	X(PUSHED, "memscope_agent_otlp_batches", "counter", "", "Batches of metrics for the collector, one for each interval, by what became of them: sent, refused (by the collector, for good), dropped (the queue was full), missed (not made in time), damaged (in the queue's file), lost (the process that pushes ended, and the queue's file did not have it)") \
	X(PUSH_FAILURES, "memscope_agent_otlp_failed_attempts", "counter", "", "Attempts to send a batch that failed and are made again") \
	X(PUSH_QUEUED, "memscope_agent_otlp_queue_batches", "gauge", "", "Batches that wait to be sent") \
	X(PUSH_BYTES, "memscope_agent_otlp_queue_bytes", "gauge", "bytes", "Bytes of those") \
	X(PUSH_MOST, "memscope_agent_otlp_queue_limit_bytes", "gauge", "bytes", "The most that it may have") \
	X(PUSH_RESTORED, "memscope_agent_otlp_queue_restored_batches", "counter", "", "Batches of an earlier agent's that the queue had when this one began: each becomes one of the batches that were sent, refused or dropped") \
	X(PUSH_UNSAVED, "memscope_agent_otlp_queue_unsaved_batches", "counter", "", "Batches that the queue's file did not take, so that they were kept in memory only") \
	X(PUSH_TIME, "memscope_agent_otlp_last_sent_time_seconds", "gauge", "seconds", "When a batch was last sent, since 1970") \
	X(PUSH_RESTARTS, "memscope_agent_otlp_restarts", "counter", "", "Times that the process that pushes was started again") \
	X(PUSH_REJECTED, "memscope_agent_otlp_rejected_points", "counter", "", "Data points of sent batches that the collector did not take") \
	X(WRITTEN, "memscope_agent_remote_write_batches", "counter", "", "Batches of metrics for the receiver of remote write, one for each interval, by what became of them: sent, refused (by it, for good), dropped (the queue was full), missed (not made in time), damaged (in the queue's file), lost (the process that sends them ended, and the queue's file did not have it)") \
	X(WRITTEN_FAILURES, "memscope_agent_remote_write_failed_attempts", "counter", "", "Attempts to send a batch that failed and are made again") \
	X(WRITTEN_QUEUED, "memscope_agent_remote_write_queue_batches", "gauge", "", "Batches that wait to be sent") \
	X(WRITTEN_BYTES, "memscope_agent_remote_write_queue_bytes", "gauge", "bytes", "Bytes of those") \
	X(WRITTEN_MOST, "memscope_agent_remote_write_queue_limit_bytes", "gauge", "bytes", "The most that it may have") \
	X(WRITTEN_RESTORED, "memscope_agent_remote_write_queue_restored_batches", "counter", "", "Batches of an earlier agent's that the queue had when this one began: each becomes one of the batches that were sent, refused or dropped") \
	X(WRITTEN_UNSAVED, "memscope_agent_remote_write_queue_unsaved_batches", "counter", "", "Batches that the queue's file did not take, so that they were kept in memory only") \
	X(WRITTEN_TIME, "memscope_agent_remote_write_last_sent_time_seconds", "gauge", "seconds", "When a batch was last sent, since 1970") \
	X(WRITTEN_RESTARTS, "memscope_agent_remote_write_restarts", "counter", "", "Times that the process that sends them was started again") \
	X(RELOADS, "memscope_agent_reloads", "counter", "", "Times that the configuration was read again, by how that ended") \
	X(STACKS, "memscope_agent_stacks", "gauge", "", "Different call stacks that are kept") \
	X(STACKS_FORGOTTEN, "memscope_agent_stacks_forgotten", "counter", "", "Call stacks that were kept, and of which nothing was live when room for new ones was made") \
	X(STACKS_LEFT_OUT, "memscope_agent_stacks_left_out", "counter", "", "Call stacks and frames that there was no room for") \
	X(SERIES, "memscope_agent_series", "gauge", "", "Series of the ledger") \
	X(LIMITED, "memscope_agent_series_limited", "counter", "", "Values that had to share a series, because there were too many")

enum family {
#define X(family, name, type, unit, help) FAMILY_##family,
	FAMILIES(X)
#undef X
	FAMILIES_COUNT,
};

static const struct metrics_family families[] = {
#define X(family, metric, kind, base, words) \
	{ .name = metric, .type = kind, .unit = base, .help = words },
	FAMILIES(X)
#undef X
};
/* clang-format on */

void own_numbers_count(struct own_numbers *own, const struct state *state)
{
	size_t i;

	own->processes = own->late_processes = 0;
	own->stacks_kept = state->stacks.stacks_count;
	own->stacks_left_out = state->stacks.others;
	for (i = 0; i < state->processes_count; i++) {
		own->processes += !state->processes[i]->exited;
		own->late_processes +=
			!state->processes[i]->exited && state->processes[i]->was_running;
	}
}

static void add(struct metrics *metrics, enum family family, const char *label, const char *value,
		uint64_t number)
{
	metrics_label(metrics, label, value);
	metrics_add(metrics, family, number);
}

#define NS_OF_PPM 1000 /* a ratio is written as billionths */

static void add_overhead(struct metrics *metrics, const struct costs *costs)
{
	if (!costs)
		return;
	metrics_add(metrics, FAMILY_OVERHEAD, costs->spent_ns);
	metrics_add(metrics, FAMILY_OVERHEAD_HIGHEST, costs->highest_ppm * NS_OF_PPM);
	add(metrics, FAMILY_TRAP, "source", costs->measured ? "measured" : "assumed",
	    costs->trap_ns);
}

static void add_budget(struct metrics *metrics, const struct budget *budget)
{
	enum ms_budget_step step;

	if (!budget)
		return;
	if (budget->governor.options.budget_ppm)
		metrics_add(metrics, FAMILY_BUDGET,
			    budget->governor.options.budget_ppm * NS_OF_PPM);
	for (step = 0; step < MS_BUDGET_STEPS; step++) {
		const char *name = event_budget_step_name(step);

		add(metrics, FAMILY_BUDGET_PROCESSES, "traced", name, budget_at(budget, step));
		add(metrics, FAMILY_BUDGET_CHANGES, "traced", name, budget->counts.changes[step]);
	}
	metrics_add(metrics, FAMILY_BUDGET_OVER, budget_over(budget));
	metrics_add(metrics, FAMILY_BUDGET_STACKLESS, budget_stackless(budget));
	metrics_add(metrics, FAMILY_BUDGET_OFF, budget->counts.off_ns);
}

static void add_recorder(struct metrics *metrics, const struct own_numbers *numbers)
{
	metrics_add(metrics, FAMILY_RECORDED, numbers->recorded_bytes);
	metrics_add(metrics, FAMILY_RECORDED_MOST, numbers->recorded_most);
	add(metrics, FAMILY_BUNDLES, "result", "written", numbers->bundles.written);
	add(metrics, FAMILY_BUNDLES, "result", "failed", numbers->bundles.failed);
	add(metrics, FAMILY_BUNDLES, "result", "withheld", numbers->bundles.withheld);
	metrics_add(metrics, FAMILY_BUNDLES_WAITING, numbers->bundles.waits);
}

static void add_history(struct metrics *metrics, const struct history_feed *history)
{
	const struct history_writer *writer = &history->writer;
	const struct history_counts counts = history_writer_counts(writer);

	add(metrics, FAMILY_CPU, "process", "history", history_writer_cpu_ns(writer));
	add(metrics, FAMILY_HISTORY, "result", "written", counts.written);
	add(metrics, FAMILY_HISTORY, "result", "failed", counts.failed);
	add(metrics, FAMILY_HISTORY, "result", "lost", writer->lost);
	metrics_add(metrics, FAMILY_HISTORY_MISSED, history_sampler_missed(history->sampler));
	metrics_add(metrics, FAMILY_HISTORY_ASIDE, counts.set_aside);
	metrics_add(metrics, FAMILY_HISTORY_BYTES, counts.bytes);
	metrics_add(metrics, FAMILY_HISTORY_MOST, writer->options.most_bytes);
}

static void add_cost(struct metrics *metrics, const struct own_numbers *numbers)
{
	const struct summary_cost *cost = &numbers->cost;

	add(metrics, FAMILY_CPU, "process", "capture", cost->cpu_ns);
	add(metrics, FAMILY_CPU, "process", "answers", numbers->answers.cpu_ns);
	add(metrics, FAMILY_CPU, "process", "http", numbers->server.cpu_ns);
	add(metrics, FAMILY_RESIDENT, "process", "capture", numbers->resident_bytes);
	add(metrics, FAMILY_RESIDENT, "process", "http", numbers->server.resident_bytes);
	metrics_add(metrics, FAMILY_DESCRIPTORS, numbers->descriptors);
	metrics_add(metrics, FAMILY_PAUSE, numbers->pause_ns);
	add(metrics, FAMILY_RING, "ring", "critical", cost->ring_bytes);
	add(metrics, FAMILY_RING, "ring", "bulk", cost->ring_bytes);
	add(metrics, FAMILY_RING_HIGHEST, "ring", "critical", cost->highest_critical);
	add(metrics, FAMILY_RING_HIGHEST, "ring", "bulk", cost->highest_bulk);
	if (cost->bpf_runs)
		metrics_add(metrics, FAMILY_BPF, cost->bpf_ns);
	add_overhead(metrics, numbers->costs);
	add_budget(metrics, numbers->budget);
	add_recorder(metrics, numbers);
	if (numbers->history && numbers->history->sampler)
		add_history(metrics, numbers->history);
}

/* Each protocol has families of its own, in one order. */
static void add_push(struct metrics *metrics, const struct push_feed *push)
{
	const struct channel_push *now = &push->counts.now;
	const bool is_otlp = push->options.protocol == PUSH_OTLP;
	const unsigned int base = is_otlp ? 0 : FAMILY_WRITTEN - FAMILY_PUSHED;
	const char *process = is_otlp ? "push" : push_protocols[push->options.protocol].option;

	add(metrics, FAMILY_CPU, "process", process, now->cpu_ns);
	add(metrics, FAMILY_RESIDENT, "process", process, now->resident_bytes);
	add(metrics, FAMILY_PUSHED + base, "result", "sent", now->sent);
	add(metrics, FAMILY_PUSHED + base, "result", "refused", now->refused);
	add(metrics, FAMILY_PUSHED + base, "result", "dropped", now->dropped);
	add(metrics, FAMILY_PUSHED + base, "result", "missed", now->missed);
	add(metrics, FAMILY_PUSHED + base, "result", "damaged", now->damaged);
	add(metrics, FAMILY_PUSHED + base, "result", "lost", push->counts.lost);
	metrics_add(metrics, FAMILY_PUSH_FAILURES + base, now->failures);
	metrics_add(metrics, FAMILY_PUSH_QUEUED + base, now->queued);
	metrics_add(metrics, FAMILY_PUSH_BYTES + base, now->queued_bytes);
	metrics_add(metrics, FAMILY_PUSH_MOST + base, PUSH_QUEUE_BYTES);
	metrics_add(metrics, FAMILY_PUSH_RESTORED + base, now->restored);
	metrics_add(metrics, FAMILY_PUSH_UNSAVED + base, now->unsaved);
	if (now->sent_ns)
		metrics_add(metrics, FAMILY_PUSH_TIME + base, now->sent_ns);
	metrics_add(metrics, FAMILY_PUSH_RESTARTS + base, push->counts.restarts);
	if (is_otlp)
		metrics_add(metrics, FAMILY_PUSH_REJECTED, now->rejected);
}

static void add_clients(struct metrics *metrics, const struct own_numbers *numbers)
{
	static const char *const statuses[] = { "", "1xx", "2xx", "3xx", "4xx", "5xx" };
	size_t i;

	add(metrics, FAMILY_ANSWERS, "result", "made",
	    numbers->answers.answers - numbers->answers.failed);
	add(metrics, FAMILY_ANSWERS, "result", "failed", numbers->answers.failed);
	for (i = 2; i < sizeof(statuses) / sizeof(*statuses); i++)
		add(metrics, FAMILY_RESPONSES, "status", statuses[i], numbers->server.answered[i]);
	metrics_add(metrics, FAMILY_CONNECTIONS, numbers->server.connections);
	metrics_add(metrics, FAMILY_DROPPED, numbers->server.refused);
	metrics_add(metrics, FAMILY_RESTARTS, numbers->server_restarts);
}

struct metrics *own_metrics_make(const struct own_numbers *numbers, const char *host,
				 const struct metrics *ledger)
{
	struct metrics *metrics = metrics_new(families, FAMILIES_COUNT, 0);
	size_t i;

	if (!metrics)
		return NULL;
	metrics_label(metrics, "hostname", host);
	metrics_keep(metrics);
	metrics_add(metrics, FAMILY_READY, numbers->ready);
	metrics_add(metrics, FAMILY_INEXACT, numbers->inexact);
	metrics_add(metrics, FAMILY_PROCESSES, numbers->processes);
	metrics_add(metrics, FAMILY_LATE, numbers->late_processes);
	metrics_add(metrics, FAMILY_DENIED, numbers->denied);
	add(metrics, FAMILY_MOVED, "to", "denied", numbers->moved.denied);
	add(metrics, FAMILY_MOVED, "to", "traced", numbers->moved.admitted);
	metrics_add(metrics, FAMILY_START, numbers->start_ns);
	add_cost(metrics, numbers);
	add_clients(metrics, numbers);
	for (i = 0; numbers->pushes && i < PUSH_PROTOCOLS; i++)
		if (numbers->pushes[i].options.url)
			add_push(metrics, &numbers->pushes[i]);
	add(metrics, FAMILY_RELOADS, "result", "done", numbers->reloads);
	add(metrics, FAMILY_RELOADS, "result", "failed", numbers->failed_reloads);
	metrics_add(metrics, FAMILY_STACKS, numbers->stacks_kept);
	metrics_add(metrics, FAMILY_STACKS_FORGOTTEN, numbers->stacks.forgotten);
	metrics_add(metrics, FAMILY_STACKS_LEFT_OUT, numbers->stacks_left_out);
	metrics_add(metrics, FAMILY_SERIES, metrics_series(ledger));
	metrics_add(metrics, FAMILY_LIMITED, metrics_limited(ledger));
	return metrics;
}
