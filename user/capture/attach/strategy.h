/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways to attach programs to functions, one of which a capture uses.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_STRATEGY_H
#define MEMSCOPE_CAPTURE_ATTACH_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/attach/features.h"

enum strategy {
	STRATEGY_SESSION, /* two links per library and process: the last to go, all others */
	STRATEGY_MULTI,   /* up to three: of returns, of entries */
	STRATEGY_SINGLE,  /* two per function */
	STRATEGIES_COUNT,
};

const char *strategy_name(enum strategy strategy); /* "uprobe_session" */

/* The cheapest strategy that works here, or -errno: none does, the last one for this reason. */
int strategy_choose(struct features *features, bool entries_only);

/* Of programs and links; an entry alone needs no session. 0: they are not on multi links. */
uint32_t strategy_attach_type(enum strategy strategy, bool entry_alone);

#endif /* MEMSCOPE_CAPTURE_ATTACH_STRATEGY_H */
