// SPDX-License-Identifier: BSD-2-Clause
/*
 * CUPTI may crash while it is set up: then the program goes on as if it had not been asked for.
 * For that long, the signals of a crash in the thread that sets it up lead back to where that
 * began. What crashes in other threads meanwhile does so as it would have.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "inject/inject.h"

/* Not SIGABRT: libc aborts with its own locks held. */
static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
#define SIGNALS (sizeof(signals) / sizeof(*signals))

static struct sigaction before[SIGNALS];
static pthread_t guarded;
static sigjmp_buf back;

static void on_crash(int number, siginfo_t *info, void *context);

/* If somebody else has set a handler since, it stays. */
static void put_back(void)
{
	struct sigaction now;
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		if (!sigaction(signals[i], NULL, &now) && now.sa_flags & SA_SIGINFO &&
		    now.sa_sigaction == on_crash)
			sigaction(signals[i], &before[i], NULL);
}

/* In another thread, the instruction is tried again and crashes; what was sent is sent again. */
static void on_crash(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (pthread_equal(pthread_self(), guarded))
		siglongjmp(back, 1);
	put_back();
	if (info->si_code <= 0)
		raise(number);
}

bool guard_run(void (*what)(void))
{
	struct sigaction action;
	size_t i;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_crash;
	action.sa_flags = SA_SIGINFO;
	guarded = pthread_self();
	if (sigsetjmp(back, 1)) {
		put_back();
		return false;
	}
	for (i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &action, &before[i]);
	what();
	put_back();
	return true;
}
