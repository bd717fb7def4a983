/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When the agent's flight recorder writes a bundle besides when memory runs out: on SIGUSR1, and at
 * amounts of memory that the configuration names; so many an hour at most.
 */
#ifndef MEMSCOPE_AGENT_BUNDLE_REQUESTS_H
#define MEMSCOPE_AGENT_BUNDLE_REQUESTS_H

#include <time.h>

#include "agent/thresholds.h"
#include "base/loop.h"
#include "store/recorder.h"

#define BUNDLE_REQUESTS_AN_HOUR 12

struct bundle_requests {
	struct thresholds thresholds; /* whose options are the caller's */
	struct recorder *recorder;
	const struct state *state;
	const char *directory; /* of the bundles */
	uint64_t written_ns[BUNDLE_REQUESTS_AN_HOUR];
	unsigned int next;
	uint64_t left_out;       /* there were too many */
	bool told;               /* that there were too many */
	struct timespec changed; /* the directory, when old bundles in it were last looked for */
};

/* The caller has blocked SIGUSR1, and set what is above. Returns 0 or -errno. */
int bundle_requests_start(struct bundle_requests *requests, struct loop *loop);

void bundle_requests_fini(struct bundle_requests *requests);

#endif /* MEMSCOPE_AGENT_BUNDLE_REQUESTS_H */
