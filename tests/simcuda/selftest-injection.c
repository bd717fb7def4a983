/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library that the selftest injects through CUDA_INJECTION64_PATH.
 */
#include <stdlib.h>

int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	return setenv("SELFTEST_INJECTED", "yes", 1);
}
