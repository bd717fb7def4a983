// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/host_evidence.h"

#include "analysis/finding.h"
#include "ledger/call_splits.h"

/* What lies on a node, of all kinds of memory that were asked about. */
static uint64_t bytes_on(const struct process *process, uint32_t node)
{
	enum host_placed_space space;
	uint64_t bytes = 0;
	size_t i;

	for (space = 0; space < HOST_PLACED_SPACES; space++) {
		const struct host_placed *placed = &process->host.placed[space];

		for (i = 0; i < placed->nodes_count; i++)
			if (placed->nodes[i].node == node)
				bytes += host_account_bytes(placed, placed->nodes[i].pages);
	}
	return bytes;
}

static void take_node(struct host_evidence *evidence, const struct process *process, uint32_t node,
		      uint64_t bytes)
{
	if (node == evidence->gpu_node) {
		evidence->near_bytes += bytes;
		return;
	}
	if (!evidence->far_bytes || bytes_on(process, node) > bytes_on(process, evidence->far_node))
		evidence->far_node = node;
	evidence->far_bytes += bytes;
}

static void take_placement(struct host_evidence *evidence, const struct state *state,
			   const struct process *process)
{
	enum host_placed_space space;
	size_t i;

	evidence->has_gpu_node =
		state->host.nodes_count > 1 &&
		host_account_gpu_node(&state->host, &process->devices, &evidence->gpu_node);
	for (space = 0; evidence->has_gpu_node && space < HOST_PLACED_SPACES; space++) {
		const struct host_placed *placed = &process->host.placed[space];

		for (i = 0; i < placed->nodes_count; i++)
			take_node(evidence, process, placed->nodes[i].node,
				  host_account_bytes(placed, placed->nodes[i].pages));
	}
}

/*
 * What PCI Express can carry in one direction: links encode 128 bits in 130 from 8 GT/s on, and 8
 * in 10 before. Which of several GPUs a process uses is not known here.
 */
static uint64_t link_rate(const struct host_account *host)
{
	const struct host_gpu *gpu = &host->gpus[0];
	const uint64_t bits = (uint64_t)gpu->most_speed * gpu->most_width * 100000000;

	if (host->gpus_count != 1)
		return 0;
	return gpu->most_speed >= 80 ? bits / 130 * 128 / 8 : bits / 10;
}

void host_evidence_take(struct host_evidence *evidence, const struct state *state,
			const struct process *process)
{
	*evidence = (struct host_evidence){ .has_used = false };
	evidence->has_pressure = host_account_pressure(&state->host, &evidence->pressure);
	evidence->link_rate = link_rate(&state->host);
	if (!process)
		return;
	evidence->calls = call_splits_sum(process);
	evidence->syncs = process->splits[MS_OP_SYNC];
	evidence->allocs = process->splits[MS_OP_ALLOC];
	call_splits_add(&evidence->allocs, &process->splits[MS_OP_FREE]);
	evidence->has_used = host_account_used(&process->host, &evidence->used);
	evidence->cgroup_bytes = process->host.last.cgroup_bytes;
	if (process->host.last.known & MS_LOAD_CGROUP_LIMIT)
		evidence->limit_bytes = process->host.last.cgroup_limit_bytes;
	take_placement(evidence, state, process);
}

uint64_t host_evidence_percent(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((double)part * 100 / (double)whole) : 0;
}

bool host_evidence_computed(const struct host_evidence *evidence, uint64_t *percent)
{
	const uint64_t in_calls_ns = call_splits_running_ns(&evidence->calls);
	const uint64_t cpu_ns = evidence->used.cpu_ns;

	*percent = host_evidence_percent(cpu_ns > in_calls_ns ? cpu_ns - in_calls_ns : 0,
					 evidence->used.ns);
	return evidence->has_used && evidence->used.has_cpu;
}

void host_evidence_say_split(struct finding *finding, const struct call_split *split)
{
	const uint64_t total_ns = split->total_ns;

	if (!total_ns)
		return;
	finding_say(finding, "share of the time in them that threads ran", FINDING_PERCENT,
		    host_evidence_percent(call_splits_running_ns(split), total_ns));
	finding_say(finding, "share that threads were blocked", FINDING_PERCENT,
		    host_evidence_percent(split->blocked_ns, total_ns));
	finding_say(finding, "share that threads waited for a CPU", FINDING_PERCENT,
		    host_evidence_percent(split->runnable_ns, total_ns));
}
