// SPDX-License-Identifier: BSD-2-Clause
#include "commands/capturing.h"

#include <errno.h>

#include "base/log.h"
#include "commands/requirements.h"

struct live_options capturing_options(struct capturing *capturing, bool entries_only)
{
	const struct selection *selection = &capturing->selection;

	return (struct live_options){
		.features = &capturing->features,
		.pids = selection->pids,
		.pids_count = selection->pids_count,
		.scope = { selection->all, selection->cgroup },
		.command = selection->command,
		.follow = selection->follow,
		.ops = selection_captured_ops(selection),
		.layers = selection_layers(selection, entries_only),
		.entries_only = entries_only,
		.duration_ns = capturing->duration_ns,
		.ring_bytes = capturing->buffer_bytes,
	};
}

int capturing_exit_code(const struct capturing *capturing, int err, uint64_t lost, int command_code)
{
	int code = exit_code_of(err);

	if (code == EXIT_OK && lost > capturing->max_loss) {
		log_error("%llu events were lost, more than --max-loss; a larger --buffer, or %s,"
			  " would help",
			  (unsigned long long)lost, capturing->fewer);
		return EXIT_LOST;
	}
	return command_code >= 0 && (code == EXIT_OK || err == -ECHILD) ? command_code : code;
}
