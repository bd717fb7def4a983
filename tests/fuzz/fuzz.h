/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all fuzz targets share. Each file tests/fuzz/NAME_fuzz.c is a target of its own: libFuzzer
 * calls its LLVMFuzzerTestOneInput() with one input after another. docs/fuzzing.md says the rest.
 */
#ifndef MEMSCOPE_TESTS_FUZZ_H
#define MEMSCOPE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What must hold whatever the input is. Aborting is what libFuzzer takes for a finding. */
#define fuzz_check(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, \
				#condition); \
			abort(); \
		} \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif /* MEMSCOPE_TESTS_FUZZ_H */
