/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as Markdown (CommonMark with tables): for terminals, tickets and chat.
 */
#ifndef MEMSCOPE_OUTPUT_REPORT_MD_H
#define MEMSCOPE_OUTPUT_REPORT_MD_H

#include <stdbool.h>

#include "base/string.h"
#include "model/report.h"

/* `ascii`: for a terminal that cannot show anything else. */
void report_md(struct string *out, const struct report *report, bool ascii);

/* ---- for its parts (output/report_md_*.c) ---------------------------------------------------- */

struct md {
	struct string *out;
	struct string scratch;
	const struct report *report;
	const struct report_recording *recording;
	bool ascii;
};

/* Numbers as text that lives to the end of the block. */
#define MD_SIZE(bytes) string_size((char[STRING_NUMBER_BYTES]){ 0 }, (bytes))
#define MD_COUNT(count) string_count((char[STRING_NUMBER_BYTES]){ 0 }, (count))
#define MD_DURATION(ns) string_duration((char[STRING_NUMBER_BYTES]){ 0 }, (ns))

/* Text that is not ours: nothing in it is special to Markdown, a table or a terminal. */
void md_text(struct md *md, const char *text, size_t length);
void md_process(struct md *md, uint32_t pid, const char comm[MS_COMM_BYTES]);
void md_time(struct md *md, uint64_t ts_ns);
void md_device(struct md *md, int32_t device);
void md_text_or(struct md *md, const char *text, const char *otherwise);

void md_memory(struct md *md);
void md_timeline(struct md *md);
void md_findings(struct md *md);

#endif /* MEMSCOPE_OUTPUT_REPORT_MD_H */
