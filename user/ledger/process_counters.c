// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/process_counters.h"

enum group { PLAIN, OTHERS };
enum exactness { EXACT, INEXACT };
enum duration { LASTING, PASSING };
enum where { SUMMARY, REPORT };

const struct process_counter_info process_counters[COUNTERS_COUNT] = {
#define COUNTER(id, of_number, called, group, exact, lasts, where, of_one, of_many) \
	[COUNTER_##id] = { .name = (called), \
			   .number = (of_number), \
			   .is_of_others = (group) == OTHERS, \
			   .is_inexact = (exact) == INEXACT, \
			   .is_passing = (lasts) == PASSING, \
			   .in_report = (where) == REPORT, \
			   .one = (of_one), \
			   .many = (of_many) },
#include "ledger/process_counters.def"
#undef COUNTER
};

const char *process_counter_words(enum process_counter counter, uint64_t count)
{
	return count == 1 ? process_counters[counter].one : process_counters[counter].many;
}

int process_counter_find(uint64_t number)
{
	int counter;

	for (counter = 0; counter < COUNTERS_COUNT; counter++)
		if (process_counters[counter].number == number)
			return counter;
	return -1;
}

bool process_counters_are_inexact(const uint64_t counters[COUNTERS_COUNT])
{
	enum process_counter counter;

	for (counter = 0; counter < COUNTERS_COUNT; counter++)
		if (process_counters[counter].is_inexact && counters[counter])
			return true;
	return false;
}
