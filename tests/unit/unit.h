/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every unit test includes: cmocka, and a generator of numbers that are the same in every run.
 */
#ifndef MEMSCOPE_TESTS_UNIT_H
#define MEMSCOPE_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* xorshift64; never 0 for a seed that is not. */
static inline uint64_t unit_random(uint64_t seed)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^ seed << 17;
}

/*
 * From one case to the next in a loop over all of them, of which `make check` tries some and `make
 * stress` (STRESS=1) every one. What is prime has no period in common with the cases.
 */
static inline unsigned int unit_stride(unsigned int prime)
{
	return getenv("STRESS") ? 1 : prime;
}

/* Reports in TAP, which tests/run reads. */
#define unit_run(name, tests) \
	(cmocka_set_message_output(CM_OUTPUT_TAP), \
	 cmocka_run_group_tests_name(name, tests, NULL, NULL))

#endif /* MEMSCOPE_TESTS_UNIT_H */
