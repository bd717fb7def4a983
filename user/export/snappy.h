/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compresses into Snappy's block format (google/snappy, format_description.txt), which Prometheus'
 * remote write wants.
 */
#ifndef MEMSCOPE_EXPORT_SNAPPY_H
#define MEMSCOPE_EXPORT_SNAPPY_H

#include "base/string.h"

/*
 * Appends the block. `length` is at most UINT32_MAX. If there is no memory, `out` says that
 * something is missing.
 */
void snappy_compress(struct string *out, const char *bytes, size_t length);

#endif /* MEMSCOPE_EXPORT_SNAPPY_H */
