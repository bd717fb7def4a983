/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tables of processes that run have in common (`who`, `top`): the names of their columns, and
 * remarks.
 */
#ifndef MEMSCOPE_RENDER_PROCESS_CELLS_H
#define MEMSCOPE_RENDER_PROCESS_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "event/identity.h"
#include "render/document.h"

/* clang-format off */
#define PROCESS_CELLS_PID { "PID", DOCUMENT_NUMBER }
#define PROCESS_CELLS_USER { "User", DOCUMENT_TEXT }
#define PROCESS_CELLS_MEMORY { "Memory", DOCUMENT_NUMBER } /* that NVML says it holds */
#define PROCESS_CELLS_COMMAND { "Command", DOCUMENT_TEXT }
#define PROCESS_CELLS_REMARKS { "Remarks", DOCUMENT_TEXT }
/* clang-format on */

/* Begins another remark in `out`, which has nothing but remarks, and returns it. */
struct string *process_cells_next_remark(struct string *out);

/* The same with its text, of ours. */
void process_cells_remark(struct string *out, bool applies, const char *text);

/* The process's container, its pod and its job. */
void process_cells_identity(struct string *out, uint32_t pid, const struct identity *identity);

#endif /* MEMSCOPE_RENDER_PROCESS_CELLS_H */
