// SPDX-License-Identifier: BSD-2-Clause
#include "event/losses.h"

#include <assert.h>

#include "event/event.h"

struct losses losses_of(const struct ms_counters *counters)
{
	struct losses losses = { 0 };
	uint64_t count;
	uint32_t kind;

	for (kind = 0; kind < MS_KINDS_COUNT; kind++) {
		if (kind >= MS_OPS_COUNT || kind == MS_OP_NAME) {
			losses.others += counters->lost[kind];
			continue;
		}
		losses.seen += counters->seen[kind];
		losses.calls += counters->lost[kind];
		if (MS_BULK_OPS >> kind & 1)
			losses.bulk += counters->lost[kind];
	}
	/* They are still counting when they are read, and not all at one moment. */
	count = losses_count(&losses);
	losses.untracked = counters->untracked < count ? counters->untracked : count;
	return losses;
}

void losses_leave_out(struct losses *losses, uint64_t calls)
{
	losses->seen -= calls < losses->seen ? calls : losses->seen;
}

uint64_t losses_count(const struct losses *losses)
{
	return losses->calls + losses->others;
}

uint64_t losses_kept(const struct losses *losses)
{
	return losses->seen > losses->calls ? losses->seen - losses->calls : 0;
}

bool losses_matter(int kind)
{
	static const bool matters[MS_KINDS_COUNT] = { [MS_OP_ALLOC] = true,
						      [MS_OP_FREE] = true,
						      [MS_OP_MEMORY] = true,
						      [MS_OP_CONTEXT] = true,
#define X(kind, number, ring, matters) [MS_KIND_##kind] = (matters),
						      MS_OTHER_KINDS(X)
#undef X
	};

	return matters[kind];
}

uint64_t losses_of_memory(const struct ms_counters *counters)
{
	uint64_t lost = 0;
	int kind;

	for (kind = 0; kind < MS_KINDS_COUNT; kind++)
		if (losses_matter(kind))
			lost += counters->lost[kind];
	return lost;
}

void losses_add_account(struct ms_counters *counters, const struct ms_account *account)
{
	int kind = event_account_kind(account->op);

	if (account->op == MS_ACCOUNT_UNTRACKED) {
		counters->untracked += account->lost;
	} else if (account->op == MS_ACCOUNT_ABANDONED) {
		counters->abandoned += account->seen;
	} else {
		assert(kind >= 0);
		counters->seen[kind] += account->seen;
		counters->lost[kind] += account->lost;
	}
}
