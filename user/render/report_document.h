/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as a document: what there is in a recording, whatever it looks like. A table that is
 * added here is in the Markdown, in the text and in the HTML page.
 */
#ifndef MEMSCOPE_RENDER_REPORT_DOCUMENT_H
#define MEMSCOPE_RENDER_REPORT_DOCUMENT_H

#include "render/document.h"
#include "report/report.h"

/* All of it. `thresholds`: also those that are as they are by default. */
void report_document(struct document *document, const struct report *report, bool thresholds);

/* ---- its parts, for pages that have an order of their own (render/report_document_*.c) ------- */

/* Processes of all recordings. */
void report_document_fleet(struct document *document, const struct report *report);

/* Whether there are any to be shown. */
bool report_document_has_thresholds(const struct report *report, bool all);
/* Which entries of --suppress were of use; nothing if there are none. */
void report_document_suppressions(struct document *document, const struct report *report);

void report_document_thresholds(struct document *document, const struct report *report, bool all);

void report_document_devices(struct document *document, const struct report_recording *recording);

/* What goes for all of them: what their numbers mean, and pools. */
void report_document_all_devices(struct document *document,
				 const struct report_recording *recording);

/* In which section tables of processes are, if they are not shown one process after the other. */
enum report_document_section {
	REPORT_DOCUMENT_MEMORY,
	REPORT_DOCUMENT_CALLS,
};

/* For each thing that is reported of processes, one table of all of them. */
void report_document_all_processes(struct document *document,
				   const struct report_recording *recording,
				   enum report_document_section section);
/* One process after the other. */
void report_document_processes(struct document *document, const struct report_recording *recording);
void report_document_sites(struct document *document, const struct report_recording *recording);
/* From where kernels were launched, if the call stacks of some launches were taken by chance. */
bool report_document_has_launch_sites(const struct report_recording *recording);
void report_document_launch_sites(struct document *document,
				  const struct report_recording *recording);

void report_document_call_sites(struct document *document,
				const struct report_recording *recording);
/* A cell of a row: the stack's chain, "?" for NULL (render/stack_words.h). */
void report_document_cell_stack(struct document *document, const struct stacks *stacks,
				const struct stack *stack);
void report_document_largest(struct document *document, const struct report_recording *recording);

/* When CUPTI was asked what GPUs did, and when. */
bool report_document_has_gpu(const struct report_recording *recording);
void report_document_gpu(struct document *document, const struct report_recording *recording);

void report_document_timeline(struct document *document, const struct report_recording *recording);

/* Whether programs have set markers; what they did between these. */
/* A cell with bytes that may be fewer than before. */
void report_document_change(struct document *document, int64_t bytes);

/* A cell: the process by the name that other tables have for it, or by `comm`, if it is gone. */
void report_document_process(struct document *document, const struct report_recording *recording,
			     uint32_t pid, uint64_t start_ns, const char *comm);

bool report_document_has_steps(const struct report_recording *recording);
void report_document_steps(struct document *document, const struct report_recording *recording);
bool report_document_has_phases(const struct report_recording *recording);
void report_document_phases(struct document *document, const struct report_recording *recording);

void report_document_findings(struct document *document, const struct report_recording *recording);

/* Who held what when an allocation failed: the `place`th one, from 1. */
void report_document_oom_holders(struct document *document,
				 const struct report_recording *recording,
				 const struct analysis_oom *oom, size_t place);
/* When memory ran out, and where to look for who held what then. */
void report_document_oom_moments(struct document *document,
				 const struct report_recording *recording);
void report_document_oom_blocks(struct document *document, const struct report_recording *recording,
				const struct analysis_oom *oom, size_t place);

#endif /* MEMSCOPE_RENDER_REPORT_DOCUMENT_H */
