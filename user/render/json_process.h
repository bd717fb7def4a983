/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the summary, the report and the events say of a process in the same words: members of an
 * object that the caller has opened.
 */
#ifndef MEMSCOPE_RENDER_JSON_PROCESS_H
#define MEMSCOPE_RENDER_JSON_PROCESS_H

#include "event/cgroup_leavers.h"
#include "event/untraced_forks.h"
#include "ledger/state.h"
#include "render/json_writer.h"

/* How it ended: a wait status, or MS_EXIT_UNKNOWN. */
void json_process_exit(struct json *json, uint32_t status);

/* What was allocated and freed in a space; `known`: it is known which frees they were. */
/* "driver": what the driver holds for the process; null: not known. */
void json_process_driver(struct json *json, const struct process *process);
void json_process_tensors(struct json *json, const struct process *process);
/* "nccl": null: it was not seen to use it. */
void json_process_nccl(struct json *json, const struct process *process);

void json_process_space_totals(struct json *json, const struct space_total *total, bool known);

/* Which allocation it is: not when it was made, nor by whom. */
void json_process_allocation(struct json *json, const struct allocation *allocation);

void json_process_failures(struct json *json, const struct process *process);

/* What is counted of it: process_counters.def. */
void json_process_counters(struct json *json, const struct process *process);

/* How often each function was called and how long that took, as an array named "functions". */
void json_process_functions(struct json *json, const struct process *process);

/* What threads did in calls, by what these do, as an array named "time_in_calls". */
void json_process_splits(struct json *json, const struct process *process);

/* Children that may have used CUDA and were not traced, as "untraced_forks"; NULL: not known. */
void json_untraced_forks(struct json *json, const struct untraced_forks *forks);

/* Processes that were traced on outside of what was chosen, as "left_cgroup"; NULL: not known. */
void json_left_cgroup(struct json *json, const struct cgroup_leavers *leavers);

#endif /* MEMSCOPE_RENDER_JSON_PROCESS_H */
