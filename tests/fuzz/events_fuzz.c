// SPDX-License-Identifier: BSD-2-Clause
/*
 * The path of an event from the record's bytes into the state: what it makes of the ledgers must
 * add up. The first byte of the input chooses what is looked at, the rest is a list of steps.
 */
#include "fuzz.h"

#include <string.h>

#include "invariants.h"
#include "pipeline.h"
#include "steps.h"

enum watch {
	WATCH_EACH_STEP = 1 << 0, /* not only the end */
	WATCH_SOME_OPS = 1 << 1,
};

struct tally {
	struct sink sink;
	uint64_t calls, records;
};

static int count(struct sink *sink, const struct event *event, const struct change *change)
{
	fuzz_check(change->process && (event->call || event->process));
	fuzz_check(!change->has_allocation || change->allocation.space < MS_SPACES_COUNT);
	((struct tally *)sink)->calls += event->call ? event->count : 0;
	((struct tally *)sink)->records++;
	return 0;
}

/* Every record is refused, filtered or shown, and every call is counted with its process. */
static void check_account(const struct pipeline *pipeline, const struct tally *tally,
			  uint64_t records)
{
	uint64_t calls = tally->calls, counted = 0;
	size_t op, i;

	fuzz_check(tally->calls == pipeline->shown);
	for (op = 0; op < MS_OPS_COUNT; op++)
		calls += pipeline->filtered[op];
	for (i = 0; i < pipeline->state.processes_count; i++)
		for (op = 0; op < MS_OPS_COUNT; op++)
			counted += pipeline->state.processes[i]->calls[op];
	fuzz_check(calls == counted);
	fuzz_check(tally->records + pipeline->refused <= records);
	invariants_check(&pipeline->state);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct tally tally = { .sink = { .call = count, .process = count } };
	struct sink *sink = &tally.sink;
	struct pipeline pipeline = { .sinks = { sink }, .sinks_count = 1, .shows_sums = true };
	struct fuzz_steps steps = { bytes + 1, size ? size - 1 : 0, 1000 };
	uint64_t records = 0;

	if (!size)
		return 0;
	pipeline.filter.ops = bytes[0] & WATCH_SOME_OPS ? 0x55 : ~0u;
	while (steps_feed(&steps, &pipeline)) {
		records++;
		if (bytes[0] & WATCH_EACH_STEP)
			check_account(&pipeline, &tally, records);
	}
	check_account(&pipeline, &tally, records);
	state_fini(&pipeline.state);
	return 0;
}
