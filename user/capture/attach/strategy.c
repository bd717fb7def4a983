// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/strategy.h"

#include <string.h>

#include "base/log.h"
#include "capture/attach/link.h"

static const struct {
	const char *name;
	enum feature feature;
	uint32_t attach_type; /* of programs and links; 0: not on multi links */
} strategies[STRATEGIES_COUNT] = {
	[STRATEGY_SESSION] = { "uprobe_session", FEATURE_UPROBE_SESSION, LINK_UPROBE_SESSION },
	[STRATEGY_MULTI] = { "uprobe_multi", FEATURE_UPROBE_MULTI, LINK_UPROBE_MULTI },
	[STRATEGY_SINGLE] = { "uprobe_single", FEATURE_UPROBE_SINGLE, 0 },
};

const char *strategy_name(enum strategy strategy)
{
	return strategies[strategy].name;
}

int strategy_choose(struct features *features, bool entries_only)
{
	/* A session costs less than two links, and more than one. */
	static const enum strategy orders[2][STRATEGIES_COUNT] = {
		{ STRATEGY_SESSION, STRATEGY_MULTI, STRATEGY_SINGLE },
		{ STRATEGY_MULTI, STRATEGY_SESSION, STRATEGY_SINGLE },
	};
	int i, err = 0;

	for (i = 0; i < STRATEGIES_COUNT; i++) {
		enum strategy strategy = orders[entries_only][i];

		err = feature_ask(features, strategies[strategy].feature);
		if (!err)
			return strategy;
		log_debug("%s does not work here: %s", strategies[strategy].name, strerror(-err));
	}
	return err;
}

uint32_t strategy_attach_type(enum strategy strategy, bool entry_alone)
{
	return strategies[strategy == STRATEGY_SESSION && entry_alone ? STRATEGY_MULTI : strategy]
		.attach_type;
}
