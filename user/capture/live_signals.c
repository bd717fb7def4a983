// SPDX-License-Identifier: BSD-2-Clause
/*
 * Signals while it is captured: they are read like anything else that comes in.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "capture/live_internal.h"

int live_open_signals(struct live *live, loop_signal_fn *fn)
{
	sigset_t *signals = &live->signals, pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, FILE_PROBES_SIGNAL);
	if (live->options.signal)
		sigaddset(signals, live->options.signal);
	if (sigprocmask(SIG_BLOCK, signals, &live->original_mask))
		return -errno;
	/* A signal may have been held back until now; the command shall have it. */
	if (live->options.signal)
		sigdelset(&live->original_mask, live->options.signal);
	/* Blocked, it makes write() fail; ignored, the command would inherit that. */
	sigprocmask(SIG_BLOCK, &pipe, NULL);
	return loop_add_signals(live->loop, signals, fn, live, NULL);
}

void live_forget_signals(struct live *live)
{
	const struct timespec now = { 0 };

	while (sigtimedwait(&live->signals, NULL, &now) > 0)
		;
}
