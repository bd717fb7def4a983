/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who holds memory, by user, container, pod, job or name (`report --by`): as a table, and as JSON.
 */
#ifndef MEMSCOPE_RENDER_REPORT_GROUPS_H
#define MEMSCOPE_RENDER_REPORT_GROUPS_H

#include "render/document.h"
#include "render/json_writer.h"

/* Nothing if it was not asked for. */
void report_groups_document(struct document *document, const struct report_recording *recording);

/* The member "groups": null if it was not asked for. */
void report_groups_json(struct json *json, const struct report_recording *recording);

#endif /* MEMSCOPE_RENDER_REPORT_GROUPS_H */
