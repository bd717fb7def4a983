/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long something takes, as people write it.
 */
#ifndef MEMSCOPE_BASE_DURATION_H
#define MEMSCOPE_BASE_DURATION_H

#include <stdint.h>

/*
 * "90" (seconds), "1.5s", "1m30s", "2h", "500ms", "1d": into nanoseconds, less than 1e18. Only the
 * last part may have no unit: it is in the next smaller one then, as in "1h30". Returns 0 or
 * -EINVAL.
 */
int duration_parse(const char *text, uint64_t *ns);

#endif /* MEMSCOPE_BASE_DURATION_H */
