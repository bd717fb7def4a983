/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The few sentences with which a report or a diff begins: what a person should know first.
 *
 * Names in it are as the traced programs have them, but for what could confuse a terminal; the
 * format has to escape what is special to it.
 */
#ifndef MEMSCOPE_RENDER_VERDICT_H
#define MEMSCOPE_RENDER_VERDICT_H

#include <stddef.h>

#include "base/string.h"

struct document;
struct html;
struct json;

#define VERDICT_MAX 6

struct verdict {
	struct string sentences[VERDICT_MAX];
	size_t count;
};

/* One more, empty, for the caller to fill. */
struct string *verdict_sentence(struct verdict *verdict);
void verdict_fini(struct verdict *verdict);

/* One paragraph. */
void verdict_document(struct document *document, const struct verdict *verdict);

/* A member of the open object. */
void verdict_json(struct json *json, const struct verdict *verdict);

/* `grade` is the class that says how bad it is. Leaves the section open. */
void verdict_html(struct html *html, const char *grade, const char *title,
		  const struct verdict *verdict);

#endif /* MEMSCOPE_RENDER_VERDICT_H */
