/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors of devices that NVIDIA's driver reported (Xid), for people.
 */
#ifndef MEMSCOPE_RENDER_REPORT_XIDS_H
#define MEMSCOPE_RENDER_REPORT_XIDS_H

#include "render/document.h"
#include "render/json_writer.h"

/* A table of them; nothing if there were none. */
void report_xids(struct document *document, const struct report_recording *recording);

/* The member "xids" of a recording. */
void report_xids_json(struct json *json, const struct report_recording *recording);

/* A sentence about the first, and how many there were; appends nothing if there were none. */
void report_xids_append(struct string *out, const struct report_recording *recording);

#endif /* MEMSCOPE_RENDER_REPORT_XIDS_H */
