/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of processes in tables: the memory that they had, what allocated it, what else they called.
 */
#ifndef MEMSCOPE_RENDER_PROCESS_ROWS_H
#define MEMSCOPE_RENDER_PROCESS_ROWS_H

#include "render/document.h"

/* What rows are made of. */
struct process_rows {
	struct document *document;
	const struct report_recording *recording;
	const struct report_process *shown;
	const struct process *process; /* of `shown`, or the sum of those that are not shown */
	const char *name;              /* of that sum; NULL: it is a process */
};

/* Whether the next row is drawn. Names the process if need be. */
bool process_rows_begin(const struct process_rows *rows);

/* In columns as the table of that name has them (render/report_document_processes.c). */
void process_rows_identity(const struct process_rows *rows);
void process_rows_spaces(const struct process_rows *rows);
void process_rows_driver(const struct process_rows *rows);
void process_rows_tensors(const struct process_rows *rows);
void process_rows_segments(const struct process_rows *rows);
void process_rows_pins(const struct process_rows *rows);
void process_rows_pieces(const struct process_rows *rows);
void process_rows_segment_sites(const struct process_rows *rows);
void process_rows_communicators(const struct process_rows *rows);
void process_rows_nccl_calls(const struct process_rows *rows);
void process_rows_nvml(const struct process_rows *rows);
void process_rows_host(const struct process_rows *rows);
void process_rows_cells(const struct process_rows *rows);
void process_rows_objects(const struct process_rows *rows);
void process_rows_functions(const struct process_rows *rows);
void process_rows_splits(const struct process_rows *rows);
void process_rows_failures(const struct process_rows *rows);
void process_rows_kernels(const struct process_rows *rows);
void process_rows_copies(const struct process_rows *rows);
void process_rows_waits(const struct process_rows *rows);

#endif /* MEMSCOPE_RENDER_PROCESS_ROWS_H */
