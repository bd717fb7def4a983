/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who used how much of the memory of devices, and when: text for people, and JSON.
 */
#ifndef MEMSCOPE_RENDER_HISTORY_H
#define MEMSCOPE_RENDER_HISTORY_H

#include "history/reader.h"
#include "render/document.h"

#define HISTORY_SCHEMA "memscope-bpf/history/1"

struct history_view {
	const struct history_query *query;
	const struct history_usage *usage;
	size_t top;       /* rows, at most */
	bool only_events; /* no rows */
};

/* Names as options and JSON have them: "process". NULL: there are no more. */
const char *history_by_name(size_t by);

void history_append_text(struct document *document, const struct history_view *view);

/* A line. */
void history_append_json(struct string *out, const struct history_view *view);

#endif /* MEMSCOPE_RENDER_HISTORY_H */
