/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text of any origin in the formats of CI servers: XML, and commands of GitHub's workflows.
 */
#ifndef MEMSCOPE_RENDER_CI_H
#define MEMSCOPE_RENDER_CI_H

#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/*
 * Appends text as XML 1.0 has it, in an attribute or between tags: what is special is escaped, and
 * a byte that XML cannot have is shown as \xNN.
 */
void ci_xml(struct string *out, const char *text, size_t length);
void ci_xml_string(struct string *out, const struct string *text);

/* A line of a file; below GITHUB_WORKSPACE, GitHub shows the annotation beside it. */
struct ci_line {
	const char *path;
	uint32_t line;
};

/*
 * Appends one annotation; `level` is "error", "warning" or "notice"; `at` is NULL if it is about no
 * line. In no text can anything end the line or a property.
 */
void ci_annotation(struct string *out, const char *level, const struct ci_line *at,
		   const struct string *title, const struct string *text);

#endif /* MEMSCOPE_RENDER_CI_H */
