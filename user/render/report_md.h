/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as Markdown (CommonMark with tables): for terminals, tickets and chat.
 */
#ifndef MEMSCOPE_RENDER_REPORT_MD_H
#define MEMSCOPE_RENDER_REPORT_MD_H

#include <stdbool.h>

#include "base/string.h"
#include "report/report.h"
#include "render/report_words.h"

/* `ascii`: for a terminal that cannot show anything else. */
void report_md(struct string *out, const struct report *report, bool ascii);

/* ---- for its parts (render/report_document_*.c) ---------------------------------------------------- */

struct md {
	struct string *out;
	struct string scratch;
	const struct report *report;
	const struct report_recording *recording;
	bool ascii;
};

#define MD_SIZE REPORT_SIZE
#define MD_COUNT REPORT_COUNT
#define MD_DURATION REPORT_DURATION

/* Text that is not ours: nothing in it is special to Markdown, a table or a terminal. */
void md_text(struct md *md, const char *text, size_t length);
void md_escaped(struct string *out, const char *text, size_t length); /* is safe for terminals */
void md_process(struct md *md, uint32_t pid, const char comm[MS_COMM_BYTES]);
void md_time(struct md *md, uint64_t ts_ns);
void md_device(struct md *md, int32_t device);
void md_text_or(struct md *md, const char *text, const char *otherwise);

void md_memory(struct md *md);
void md_timeline(struct md *md);
void md_findings(struct md *md);

#endif /* MEMSCOPE_RENDER_REPORT_MD_H */
