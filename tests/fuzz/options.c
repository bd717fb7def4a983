// SPDX-License-Identifier: BSD-2-Clause
/*
 * How AddressSanitizer shall run in the fuzz targets; ASAN_OPTIONS goes first.
 */
#include "fuzz.h"

const char *__asan_default_options(void);

/*
 * An input is over in microseconds: a small quarantine keeps what was freed long enough, stays in
 * the processor's caches and doubles the speed.
 */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8:malloc_context_size=8";
}
