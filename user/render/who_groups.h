/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who holds memory of devices now, summed up by user, container, pod, job, name or cgroup, as NVML
 * says.
 */
#ifndef MEMSCOPE_RENDER_WHO_GROUPS_H
#define MEMSCOPE_RENDER_WHO_GROUPS_H

#include "render/json_writer.h"
#include "render/who.h"

/* A table, if sums are asked for. */
void who_groups_text(struct document *document, const struct who *who);

/* The members "by" and "groups"; null if none are asked for. */
void who_groups_json(struct json *json, const struct who *who);

#endif /* MEMSCOPE_RENDER_WHO_GROUPS_H */
