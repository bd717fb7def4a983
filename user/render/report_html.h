/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as one HTML file that needs nothing else: for a browser, also without a network.
 *
 * What can be read without the page's script is written here: the verdict, the findings, all
 * tables. Charts are drawn by the script (render/html/), from the same JSON that report_json()
 * writes.
 */
#ifndef MEMSCOPE_RENDER_REPORT_HTML_H
#define MEMSCOPE_RENDER_REPORT_HTML_H

#include <stdbool.h>

#include "base/string.h"
#include "report/lanes.h"
#include "report/report.h"

/* `lanes` has followed the reading; NULL: then the page has neither single calls nor blocks. */
void report_html(struct string *out, const struct report *report, const struct lanes *lanes);

/* ---- for its parts (render/report_html_*.c) -------------------------------------------------- */

struct html {
	struct string *out;
	struct string scratch;
	const struct report *report;
	const struct lanes *lanes;
	const struct report_recording *recording;
	size_t number; /* of the recording, from 1 */
};

/* What one kind of page has in the frame that all have (render/html/page.html). */
struct html_page {
	void (*title)(struct html *html);
	void (*contents)(struct html *html); /* at the top, beside the name */
	void (*body)(struct html *html);
	void (*report)(struct html *html); /* JSON for the script: what charts show */
	void (*lanes)(struct html *html);  /* JSON: single calls and blocks, by recording */
};

/* Frees what is in `html`. */
void html_page_write(struct html *html, const struct html_page *page);

/* Text of any origin: nothing in it is special to HTML or to a reader's eyes. */
void html_text(struct html *html, const char *text, size_t length);
void html_text_or(struct html *html, const char *text, const char *otherwise);

/* Text that is already safe to look at, for content and attributes in double quotes. */
void html_escape(struct html *html, const char *text, size_t length);
void html_words(struct html *html, const char *text);

/* What is in `scratch`, as html_escape(). Clears it. */
void html_flush(struct html *html);

void html_process(struct html *html, uint32_t pid, const char *name);

/* "+1.234 s", with the time of day for who points at it. */
void html_time(struct html *html, uint64_t ts_ns);
void html_value(struct html *html, enum finding_unit unit, uint64_t value);

/* Opens a section with a heading; `name` is its anchor: "findings" becomes r1-findings. */
void html_section(struct html *html, const char *name, const char *heading);
void html_section_end(struct html *html);

/* Lines as from report_append_lost(), as a list. */
void html_list(struct html *html, const struct string *lines, const char *otherwise);

void html_overview(struct html *html);
void html_devices(struct html *html);
void html_memory(struct html *html);
void html_segments(struct html *html);
void html_calls(struct html *html);
void html_gpu(struct html *html);
void html_timeline(struct html *html);
void html_phases(struct html *html);
void html_steps(struct html *html);
void html_thresholds(struct html *html);
void html_findings(struct html *html);
void html_coverage(struct html *html);

#endif /* MEMSCOPE_RENDER_REPORT_HTML_H */
