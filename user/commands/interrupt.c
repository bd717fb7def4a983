// SPDX-License-Identifier: BSD-2-Clause
#include "commands/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static const int held[] = { SIGINT, SIGTERM, SIGHUP };

static void remember(int number)
{
	came = number;
}

void interrupt_hold(void)
{
	const struct sigaction hold = { .sa_handler = remember, .sa_flags = (int)SA_RESETHAND };
	struct sigaction now;
	size_t i;

	/* What is ignored stays so: nohup means it. */
	for (i = 0; i < sizeof(held) / sizeof(*held); i++)
		if (!sigaction(held[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaction(held[i], &hold, NULL);
}

bool interrupt_came(void)
{
	return came;
}

void interrupt_let(void)
{
	if (!came)
		return;
	signal(came, SIG_DFL);
	raise(came);
}

void interrupt_block(bool blocked)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &signals, NULL);
}

bool interrupt_waits(void)
{
	sigset_t signals;

	return !sigpending(&signals) &&
	       (sigismember(&signals, SIGINT) > 0 || sigismember(&signals, SIGTERM) > 0);
}
