/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose the clients of NVIDIA's kernel driver are. What is made for a client belongs to the process
 * that made the client, for the driver and for NVML, even if another process asks for it: a child,
 * or one that was handed the file. A part of state_apply().
 */
#ifndef MEMSCOPE_LEDGER_DRIVER_CLIENTS_H
#define MEMSCOPE_LEDGER_DRIVER_CLIENTS_H

#include "abi.h"
#include "base/map.h"

struct process;
struct state;

struct driver_clients {
	struct map owners; /* client << 32 | the open file it was made by -> event_process_key() */
	struct map shared; /* those that another process has used, too */
	/* An object that was passed on by a file: how large it is, and whose. */
	struct map passed_bytes, passed_by;
	uint32_t *passed_files; /* LIMIT_PASSED_FILES of them, by their ages; NULL: there is none */
	size_t passed_next;     /* position of the oldest */
};

/*
 * Returns 0 or -ENOMEM. `process` has asked for it; the client is another's only if the file says
 * so, too: what a process has in its memory, it can forge.
 */
int driver_clients_apply(struct state *state, struct process *process,
			 const struct ms_event *record);

/*
 * The process is gone, or executes another program: its objects end, and so do its clients. After
 * an exec, those that another process has used by the same file go on.
 */
void driver_clients_exit(struct state *state, struct process *process);
void driver_clients_exec(struct state *state, struct process *process);

void driver_clients_fini(struct driver_clients *clients);

#endif /* MEMSCOPE_LEDGER_DRIVER_CLIENTS_H */
