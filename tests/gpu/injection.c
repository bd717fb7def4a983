// SPDX-License-Identifier: BSD-2-Clause
/*
 * A library for CUDA_INJECTION64_PATH that only says that it was called, and returns RESULT: what
 * does the driver make of that?
 */
#include <stdio.h>

int InitializeInjection(void);

int InitializeInjection(void)
{
	fprintf(stderr, "InitializeInjection returns %d\n", RESULT);
	return RESULT;
}
