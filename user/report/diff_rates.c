// SPDX-License-Identifier: BSD-2-Clause
/*
 * How fast things were done, and how long they took.
 */
#include "report/diff.h"

#include "ledger/call_times.h"

static const struct {
	const char *name, *title;
	enum finding_unit unit;
} rates[] = {
#define X(rate, name, title, unit) { name, title, FINDING_##unit },
	DIFF_RATES(X)
#undef X
};

const char *diff_rate_name(enum diff_rate rate)
{
	return rates[rate].name;
}

const char *diff_rate_title(enum diff_rate rate)
{
	return rates[rate].title;
}

enum finding_unit diff_rate_unit(enum diff_rate rate)
{
	return rates[rate].unit;
}

static struct call_total copies_of(const struct process *process)
{
	struct call_total sum = { 0 };
	size_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		sum.bytes += process->copies[i].bytes;
		sum.duration_ns += process->copies[i].duration_ns;
	}
	return sum;
}

static uint64_t allocs_of(const struct process *process)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++)
		if (diff_is_memory(i))
			sum += process->spaces[i].allocs;
	return sum;
}

uint64_t diff_rate_of(const struct diff_process *side, enum diff_rate rate)
{
	switch (rate) {
	case DIFF_RATE_ALLOCS:
		return finding_rate(allocs_of(side->process), side->length_ns);
	case DIFF_RATE_LAUNCHES:
		return finding_rate(side->process->launches, side->length_ns);
	case DIFF_RATE_COPY_BYTES:
		return finding_rate(copies_of(side->process).bytes, side->length_ns);
	case DIFF_RATE_COPY_NS:
		return copies_of(side->process).duration_ns;
	case DIFF_RATE_SYNC_NS:
		return side->process->syncs.duration_ns;
	case DIFF_RATES_COUNT:
		break;
	}
	return 0;
}

bool diff_rates_differ(const struct diff_pair *pair)
{
	enum diff_rate rate;

	if (pair->presence != DIFF_IN_BOTH)
		return false;
	for (rate = 0; rate < DIFF_RATES_COUNT; rate++)
		if (diff_rate_of(&pair->a, rate) != diff_rate_of(&pair->b, rate))
			return true;
	return false;
}

/* ---- times that are clearly others ----------------------------------------------------------- */

#define MS 1000000ull

static const struct {
	const char *name;
	enum ms_op op;
	uint64_t least_ns; /* to be apart by */
	unsigned int tenths;
} times[] = {
	[DIFF_TIME_RUN] = { "run", MS_OPS_COUNT, 500 * MS, 15 },
	[DIFF_TIME_SYNCS] = { "synchronisations", MS_OP_SYNC, 100 * MS, 20 },
	[DIFF_TIME_COPIES] = { "copies", MS_OP_COPY, 100 * MS, 20 },
};

const char *diff_time_name(enum diff_time which)
{
	return times[which].name;
}

static uint64_t time_of(const struct diff_process *side, enum diff_time which)
{
	if (which == DIFF_TIME_RUN)
		return side->length_ns;
	return diff_rate_of(side, which == DIFF_TIME_SYNCS ? DIFF_RATE_SYNC_NS : DIFF_RATE_COPY_NS);
}

/* Whether both sides know that time, of the same work. */
static bool is_comparable(const struct diff *diff, const struct diff_pair *pair,
			  enum diff_time which)
{
	size_t i;

	if (pair->presence != DIFF_IN_BOTH || pair->match == DIFF_MATCH_IDENTITY ||
	    pair->a.process->entries_only || pair->b.process->entries_only ||
	    diff_ends_differ(pair))
		return false;
	if (which == DIFF_TIME_RUN &&
	    (pair->basis != DIFF_PER_RUN || !pair->a.shown || !pair->b.shown ||
	     !pair->a.process->exited || !pair->b.process->exited))
		return false;
	if (which != DIFF_TIME_RUN && pair->not_compared >> times[which].op & 1)
		return false;
	for (i = 0; i < diff->rows_count; i++)
		if (diff->rows[i].pair == pair)
			return false;
	return true;
}

static uint64_t scale(uint64_t ns, uint64_t from, uint64_t to)
{
	return from && to > from ? (uint64_t)((unsigned __int128)ns * to / from) : ns;
}

/* Whether what took `longer` than `shorter` took clearly more than its time and work explain. */
static bool is_clearly_longer(const struct diff_pair *pair, const struct diff_process *shorter,
			      const struct diff_process *longer, enum diff_time which)
{
	const uint64_t ns = time_of(longer, which), base_ns = time_of(shorter, which);
	uint64_t due_ns = scale(base_ns, shorter->process->launches, longer->process->launches);
	uint64_t by_length_ns = scale(base_ns, shorter->length_ns, longer->length_ns);

	if (pair->basis != DIFF_PER_RUN && by_length_ns > due_ns)
		due_ns = by_length_ns;
	return ns > due_ns && ns - due_ns >= times[which].least_ns &&
	       (unsigned __int128)ns * 10 >= (unsigned __int128)due_ns * times[which].tenths;
}

static uint16_t longest_row(const struct process *process, enum ms_op op)
{
	const struct call_times *most = NULL;
	size_t i;

	for (i = 0; i < process->times_count; i++) {
		const struct call_times *one = &process->times[i];

		if (probe_at(one->row)->spec.op == op && (!most || one->total_ns > most->total_ns))
			most = one;
	}
	return most ? most->row : MS_NO_ROW;
}

static struct diff_time_change change_of(const struct diff_pair *pair, enum diff_time which)
{
	struct diff_time_change change = { .row = MS_NO_ROW,
					   .a_ns = time_of(&pair->a, which),
					   .b_ns = time_of(&pair->b, which) };
	const bool slower = change.b_ns > change.a_ns;
	const struct diff_process *longer = slower ? &pair->b : &pair->a;

	if (!is_clearly_longer(pair, slower ? &pair->a : &pair->b, longer, which))
		return change;
	change.pair = pair;
	if (which == DIFF_TIME_RUN)
		return change;
	change.row = longest_row(longer->process, times[which].op);
	change.uncertain = diff_pair_lacks_calls(pair, times[which].op);
	return change;
}

/* A slower B weighs more than a faster one, however much that is. */
static int64_t weight_of(const struct diff_time_change *change)
{
	const int64_t apart = (int64_t)(change->b_ns - change->a_ns);

	return apart > 0 ? apart : INT64_MIN - apart;
}

struct diff_time_change diff_time_change(const struct diff *diff, enum diff_time which)
{
	struct diff_time_change most = { .row = MS_NO_ROW }, one;
	size_t i;

	for (i = 0; i < diff->pairs_count; i++) {
		if (!is_comparable(diff, &diff->pairs[i], which))
			continue;
		one = change_of(&diff->pairs[i], which);
		if (one.pair && (!most.pair || weight_of(&one) > weight_of(&most)))
			most = one;
	}
	return most;
}

bool diff_times_changed(const struct diff *diff)
{
	enum diff_time which;

	for (which = 0; which < DIFF_TIMES_COUNT; which++)
		if (diff_time_change(diff, which).pair)
			return true;
	return false;
}
