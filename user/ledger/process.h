/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is kept of one process, as a whole: a part of state.h, which has the list of them.
 */
#ifndef MEMSCOPE_LEDGER_PROCESS_H
#define MEMSCOPE_LEDGER_PROCESS_H

#include "ledger/state.h"

/* It ends, or executes another program: what only a living process has is freed. */
void process_forget(struct process *process);

/* Frees it and all that is in it. */
void process_free(struct process *process);

/* Totals and peaks are those of the time from now on. */
void process_restart(struct process *process, uint64_t now_ns);

/* About how much memory it takes. */
size_t process_bytes(const struct process *process);

/* What it has live in all spaces that usage_is_held() names. */
uint64_t process_held_bytes(const struct process *process);

/* The same when it exited. */
uint64_t process_left_held_bytes(const struct process *process);

/* What it has live in all spaces that usage_is_on_device() names. */
uint64_t process_on_devices_bytes(const struct process *process);

/* Of those: what was live when it exited. */
uint64_t process_left_bytes(const struct process *process);

/* Counts for how long less was traced than usual. Returns 0. */
int process_note_budget(struct process *process, const struct ms_budget *budget);

/* Of a process: what was lost, and which calls never returned, since the last one. */
void process_note_loss(struct process *process, const struct ms_loss *loss);

/* Whether copies, launches and synchronisation had no times for a while, or were not seen. */
bool process_was_budgeted(const struct process *process);

/* Its status, and when it was; the step of the budget has lasted until then. */
void process_note_exit(struct process *process, const struct event *exit);

#endif /* MEMSCOPE_LEDGER_PROCESS_H */
