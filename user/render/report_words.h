/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the formats of a report say alike: the verdict, how findings are called, times.
 */
#ifndef MEMSCOPE_RENDER_REPORT_WORDS_H
#define MEMSCOPE_RENDER_REPORT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "report/report.h"
#include "render/verdict.h"

/* Numbers as text that lives to the end of the block. */
#define REPORT_SIZE(bytes) string_size((char[STRING_NUMBER_BYTES]){ 0 }, (bytes))
#define REPORT_COUNT(count) string_count((char[STRING_NUMBER_BYTES]){ 0 }, (count))
#define REPORT_DURATION(ns) string_duration((char[STRING_NUMBER_BYTES]){ 0 }, (ns))

void report_verdict(struct verdict *verdict, const struct report *report);

/* "2026-11-21T15:04:05.123Z", or seconds since the recording began if the wall clock is unknown. */
void report_append_time(struct string *out, const struct report_recording *recording,
			uint64_t ts_ns);

/* Appends "train (4242)", or "process (4242)" if the name is not known; safe for terminals. */
void report_append_process(struct string *out, uint32_t pid, const char *name);

/*
 * Appends the processes that the options' selection leaves out only because it is not known who
 * they are: "sh (12), python3 (14) and 3 more". Returns how many they are.
 */
size_t report_append_unidentified(struct string *out, const struct report_recording *recording);

/*
 * Appends "3 of 12 processes: pid 7, user bob", or nothing if the report leaves out none; returns
 * whether.
 */
bool report_append_selection(struct string *out, const struct report_recording *recording);

/* Appends a number in its unit, as people read it. */
void report_append_value(struct string *out, const struct report_recording *recording,
			 enum finding_unit unit, uint64_t value);

/* Appends `before` and the kinds of calls that were not captured, if any; returns whether. */
bool report_append_not_captured(struct string *out, const struct report_recording *recording,
				const char *before);

const char *report_confidence_name(enum finding_confidence confidence);
const char *report_unit_name(enum finding_unit unit);

#endif /* MEMSCOPE_RENDER_REPORT_WORDS_H */
