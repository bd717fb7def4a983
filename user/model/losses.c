// SPDX-License-Identifier: BSD-2-Clause
#include "model/losses.h"

#include "model/event.h"

#define X(op, name, ring) | (MS_RING_##ring << MS_OP_##op)
#define MS_RING_CRITICAL 0u
#define MS_RING_BULK 1u
static const uint32_t bulk_ops = 0 MS_OPS(X);
#undef X

struct losses losses_of(const struct ms_counters *counters)
{
	struct losses losses = { .untracked = counters->untracked };
	uint32_t kind;

	for (kind = 0; kind < MS_KINDS_COUNT; kind++) {
		if (kind >= MS_OPS_COUNT || kind == MS_OP_NAME) {
			losses.others += counters->lost[kind];
			continue;
		}
		losses.seen += counters->seen[kind];
		losses.calls += counters->lost[kind];
		if (bulk_ops >> kind & 1)
			losses.bulk += counters->lost[kind];
	}
	return losses;
}

uint64_t losses_count(const struct losses *losses)
{
	return losses->calls + losses->others;
}

bool losses_overran(const struct losses *losses)
{
	return losses_count(losses) > losses->untracked;
}

void losses_add_account(struct ms_counters *counters, const struct ms_account *account)
{
	int kind = event_account_kind(account->op);

	if (account->op == MS_ACCOUNT_UNTRACKED) {
		counters->untracked += account->lost;
	} else if (account->op == MS_ACCOUNT_ABANDONED) {
		counters->abandoned += account->seen;
	} else if (kind >= 0) {
		counters->seen[kind] += account->seen;
		counters->lost[kind] += account->lost;
	}
}
