/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory of devices the cgroups of processes use and may use (host/dmem.h): for people and
 * as JSON. Without such counters there is nothing.
 */
#ifndef MEMSCOPE_RENDER_WHO_CGROUPS_H
#define MEMSCOPE_RENDER_WHO_CGROUPS_H

#include "render/json_writer.h"
#include "render/who.h"

/* A table, if there is anything to say. */
void who_cgroups_text(struct document *document, const struct who *who);

/* The member "cgroups". */
void who_cgroups_json(struct json *json, const struct who *who);

/* Whether the limit leaves so little that allocations may soon fail. */
bool who_cgroups_is_close(const struct dmem_region *region);

/* "/pods/one": the cgroup whose limit it is. Safe for terminals. */
void who_cgroups_append_limited(struct string *out, const struct dmem *cgroup,
				const struct dmem_region *region);

/* Whether a process of it is shown. */
bool who_cgroups_is_shown(const struct who *who, size_t cgroup);

#endif /* MEMSCOPE_RENDER_WHO_CGROUPS_H */
