// SPDX-License-Identifier: BSD-2-Clause
#include "store/loss_records.h"

#include "event/event.h"

struct feed {
	int (*fn)(void *context, void *record, size_t length);
	void *context;
	uint64_t now_ns;
};

/* Unless nothing was counted. */
static void add(const struct feed *feed, uint16_t op, uint64_t seen, uint64_t lost)
{
	struct ms_account account = {
		.event = { .ts_ns = feed->now_ns,
			   .type = MS_TYPE_ACCOUNT,
			   .size = sizeof(account) },
		.op = op,
		.seen = seen,
		.lost = lost,
	};

	if (seen || lost)
		feed->fn(feed->context, &account, sizeof(account));
}

void loss_records_feed(struct ms_counters *before, const struct ms_counters *now, uint64_t now_ns,
		       int (*fn)(void *context, void *record, size_t length), void *context)
{
	const struct feed feed = { fn, context, now_ns };
	uint32_t kind;

	for (kind = 0; kind < MS_KINDS_COUNT; kind++)
		add(&feed, event_account_op(kind), now->seen[kind] - before->seen[kind],
		    now->lost[kind] - before->lost[kind]);
	add(&feed, MS_ACCOUNT_UNTRACKED, 0, now->untracked - before->untracked);
	add(&feed, MS_ACCOUNT_ABANDONED, now->abandoned - before->abandoned, 0);
	*before = *now;
}
