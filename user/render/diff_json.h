/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A diff as one JSON object (docs/diff.schema.json).
 */
#ifndef MEMSCOPE_RENDER_DIFF_JSON_H
#define MEMSCOPE_RENDER_DIFF_JSON_H

#include "base/string.h"
#include "report/diff.h"

#define JSON_DIFF_SCHEMA "memscope-bpf/diff/1"

void diff_json(struct string *out, const struct diff *diff);

#endif /* MEMSCOPE_RENDER_DIFF_JSON_H */
