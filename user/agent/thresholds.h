/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Amounts of memory at which the flight recorder writes a bundle: of a device, by NVML, and of a
 * process. Each is said once when it is reached, and again only after it has been left by a tenth.
 */
#ifndef MEMSCOPE_AGENT_THRESHOLDS_H
#define MEMSCOPE_AGENT_THRESHOLDS_H

#include <stdbool.h>

#include "base/string.h"
#include "ledger/state.h"

enum threshold_kind {
	THRESHOLD_USED,        /* of a device's memory, in percent */
	THRESHOLD_FREE,        /* of a device: so much, or less */
	THRESHOLD_PROCESS,     /* what a process has on devices */
	THRESHOLD_GROWTH,      /* by so much more than within the last ten minutes */
	THRESHOLD_UNEXPLAINED, /* of a process: NVML counts it, and no call explains it */
	THRESHOLDS_COUNT,
};

struct thresholds_options {
	uint64_t at[THRESHOLDS_COUNT]; /* percent, or bytes; 0: none */
};

struct thresholds {
	struct thresholds_options options;
	struct map reached;        /* see key_of() */
	struct map least, earlier; /* what processes held in these minutes, and in those before */
	uint64_t renewed_ns;
};

/* "used=95%,process=40G". Returns NULL, or what is wrong, for people. */
const char *thresholds_parse(struct thresholds_options *options, const char *text);

/*
 * To be called about once a second. Returns whether one has been reached since the last time, and
 * appends to `why` what, for people.
 */
bool thresholds_look(struct thresholds *thresholds, const struct state *state, uint64_t now_ns,
		     struct string *why);

void thresholds_fini(struct thresholds *thresholds);

#endif /* MEMSCOPE_AGENT_THRESHOLDS_H */
