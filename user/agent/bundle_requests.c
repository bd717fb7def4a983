// SPDX-License-Identifier: BSD-2-Clause
#include "agent/bundle_requests.h"

#include <signal.h>
#include <sys/stat.h>

#include "agent/bundles.h"
#include "base/clock.h"
#include "base/log.h"

#define SECOND_NS 1000000000ull
#define HOUR_NS (3600 * SECOND_NS)

static bool are_too_many(struct bundle_requests *requests, uint64_t now_ns)
{
	uint64_t *oldest = &requests->written_ns[requests->next % BUNDLE_REQUESTS_AN_HOUR];

	if (*oldest && now_ns - *oldest < HOUR_NS) {
		if (!requests->told)
			log_warning("%d bundles were asked for within an hour: further ones are not"
				    " written until it is over",
				    BUNDLE_REQUESTS_AN_HOUR);
		requests->told = true;
		requests->left_out++;
		return true;
	}
	requests->told = false;
	*oldest = now_ns;
	requests->next++;
	return false;
}

static int on_signal(void *context, const struct signalfd_siginfo *info)
{
	struct bundle_requests *requests = context;

	if (are_too_many(requests, clock_monotonic_ns()))
		return 0;
	log_info("a bundle is written, because process %u of user %u asks for it", info->ssi_pid,
		 info->ssi_uid);
	bundles_prune(requests->directory);
	recorder_signal(requests->recorder);
	return 0;
}

/* The recorder writes bundles by itself, too, and knows none of those of earlier runs. */
static void prune_if_changed(struct bundle_requests *requests)
{
	struct stat status;

	if (stat(requests->directory, &status) ||
	    (status.st_mtim.tv_sec == requests->changed.tv_sec &&
	     status.st_mtim.tv_nsec == requests->changed.tv_nsec))
		return;
	requests->changed = status.st_mtim;
	bundles_prune(requests->directory);
}

static int pass_second(void *context, uint64_t data)
{
	struct bundle_requests *requests = context;
	const uint64_t now_ns = clock_monotonic_ns();
	struct string why = { 0 };

	(void)data;
	if (thresholds_look(&requests->thresholds, requests->state, now_ns, &why) &&
	    !are_too_many(requests, now_ns)) {
		log_info("a bundle is written (--bundle-on): %.*s", (int)why.length,
			 why.bytes ? why.bytes : "");
		bundles_prune(requests->directory);
		recorder_reached(requests->recorder);
	}
	string_fini(&why);
	prune_if_changed(requests);
	return 0;
}

int bundle_requests_start(struct bundle_requests *requests, struct loop *loop)
{
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	err = loop_add_signals(loop, &signals, on_signal, requests, NULL);
	return err ? err :
		     loop_add_timer(loop, SECOND_NS, SECOND_NS, pass_second, requests, 0, NULL);
}

void bundle_requests_fini(struct bundle_requests *requests)
{
	thresholds_fini(&requests->thresholds);
}
