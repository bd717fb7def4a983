/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as one JSON object (docs/report.schema.json).
 */
#ifndef MEMSCOPE_RENDER_REPORT_JSON_H
#define MEMSCOPE_RENDER_REPORT_JSON_H

#include "base/string.h"
#include "report/report.h"
#include "analysis/threshold.h"
#include "render/json_writer.h"

#define JSON_REPORT_SCHEMA "memscope-bpf/report/1"

void report_json(struct string *out, const struct report *report);

/* The same within something else. */
void report_json_object(struct json *json, const struct report *report);

/* ---- for its parts (output/report_json_*.c) -------------------------------------------------- */

/* Those that `at` knows, NULL behind the last one, with their values in `options`. */
void report_json_thresholds(struct json *json, const struct threshold *(*at)(size_t i),
			    const void *options);
void report_json_device(struct json *json, int32_t device);
void report_json_comm(struct json *json, const char comm[MS_COMM_BYTES]);
void report_json_name(struct json *json, const char *name); /* "": null */
void report_json_allocation(struct json *json, const struct allocation *allocation,
			    uint64_t now_ns);

/* The functions that hold most of it, at most so many; returns how many more there are. */
size_t report_json_cells(struct json *json, const struct report_process *shown, size_t most);

void report_json_coverage(struct json *json, const struct report_recording *recording);
void report_json_sites(struct json *json, const struct report_recording *recording);
void report_json_memory(struct json *json, const struct report_recording *recording);
void report_json_timeline(struct json *json, const struct report_recording *recording);
void report_json_phases(struct json *json, const struct report_recording *recording);
void report_json_steps(struct json *json, const struct report_recording *recording);
void report_json_findings(struct json *json, const struct report_recording *recording);

#endif /* MEMSCOPE_RENDER_REPORT_JSON_H */
