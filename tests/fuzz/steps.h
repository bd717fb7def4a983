/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A short notation of event records for the fuzzer. Of random bytes hardly any make a record that
 * the decoder lets pass, and of random addresses no two are equal; so an input is a list of steps
 * of 16 bytes, each of which becomes one record with few different processes, addresses and sizes:
 * blocks get freed, mapped and displaced. One kind of step is the bytes of a record as they are.
 */
#ifndef MEMSCOPE_TESTS_STEPS_H
#define MEMSCOPE_TESTS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline.h"

struct fuzz_steps {
	const uint8_t *bytes; /* of the input that are left */
	size_t size;
	uint64_t now_ns;
};

/* The most that a step makes: a name. */
#define STEPS_RECORD_MAX 1024

/*
 * The next record, as long as it is and no longer: reading behind it is a finding. The caller frees
 * it. NULL at the end of the input.
 */
void *steps_next(struct fuzz_steps *steps, size_t *length);

/* Feeds the next record; returns false at the end of the input. Aborts if the pipeline fails. */
bool steps_feed(struct fuzz_steps *steps, struct pipeline *pipeline);

#endif /* MEMSCOPE_TESTS_STEPS_H */
