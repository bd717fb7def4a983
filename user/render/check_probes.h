/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of `memscope-bpf check -p` about where the probes of each function would go, and what
 * they would cost.
 */
#ifndef MEMSCOPE_RENDER_CHECK_PROBES_H
#define MEMSCOPE_RENDER_CHECK_PROBES_H

#include "base/string.h"
#include "render/check.h"
#include "render/json_writer.h"

/* What the columns mean; once, before the libraries. */
void check_probes_append_legend(struct string *out);

/* How many go where and, if `verbose`, each of them. */
void check_probes_append_text(struct string *out, const struct check_library *library,
			      bool verbose);

/* Members of the library's object. */
void check_probes_put_json(struct json *json, const struct check_library *library);

#endif /* MEMSCOPE_RENDER_CHECK_PROBES_H */
