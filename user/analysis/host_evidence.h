/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Evidence for the rules about a process's time: what its threads did during calls, and the
 * kernel's numbers for the process and the host. A part of the analysis.
 */
#ifndef MEMSCOPE_ANALYSIS_HOST_EVIDENCE_H
#define MEMSCOPE_ANALYSIS_HOST_EVIDENCE_H

#include "ledger/state.h"

struct finding;

struct host_evidence {
	struct call_split calls, syncs,
		allocs; /* all; of two kinds: waits, allocations and frees */
	bool has_used;  /* the process was looked at twice */
	struct host_used used;
	bool has_pressure;
	struct host_pressure pressure;
	uint64_t cgroup_bytes, limit_bytes; /* limit 0: none, or not known */
	bool has_gpu_node;                  /* and the machine has several nodes */
	uint32_t gpu_node;
	uint32_t far_node;              /* the one with most of `far_bytes` */
	uint64_t link_rate;             /* bytes/s to or from the only GPU, at most; 0: not known */
	uint64_t near_bytes, far_bytes; /* of the host, on the GPU's node or another one */
};

/* NULL: nothing is known of the process. */
void host_evidence_take(struct host_evidence *evidence, const struct state *state,
			const struct process *process);

/*
 * Percentage of the time that the process computed outside of calls. Returns whether it is known.
 */
bool host_evidence_computed(const struct host_evidence *evidence, uint64_t *percent);

/* `part` in percent of `whole`; 0 if `whole` is 0. */
uint64_t host_evidence_percent(uint64_t part, uint64_t whole);

/* What threads did in the calls that the finding is about, if that is known. */
void host_evidence_say_split(struct finding *finding, const struct call_split *split);

#endif /* MEMSCOPE_ANALYSIS_HOST_EVIDENCE_H */
