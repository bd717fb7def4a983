/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON into a string: commas, escapes, nesting. What is written out of order comes out
 * wrong; the tests parse it.
 */
#ifndef MEMSCOPE_RENDER_JSON_WRITER_H
#define MEMSCOPE_RENDER_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"

struct json {
	struct string *out;
	bool comma; /* before the next value or name */

	/*
	 * For a <script> element: what could end it (HTML, 13.1.2.6) or ends lines in older scripts
	 * is escaped too.
	 */
	bool escapes_html;
};

void json_open(struct json *json, char bracket); /* { or [ */
void json_close(struct json *json, char bracket);
void json_name(struct json *json, const char *name); /* a constant of ours: not escaped */
void json_null(struct json *json);
void json_bool(struct json *json, bool value);
void json_u64(struct json *json, uint64_t value);
void json_i64(struct json *json, int64_t value);
void json_hex(struct json *json, uint64_t value); /* as a string: "0x7f00" */

/* Escapes what JSON demands; bytes that are not UTF-8 become U+FFFD. */
void json_text(struct json *json, const char *text, size_t length);

/* A name and its value; a NULL text is null. */
void json_put_text(struct json *json, const char *name, const char *text);
void json_put_u64(struct json *json, const char *name, uint64_t value);
void json_put_if(struct json *json, const char *name, bool known, uint64_t value); /* else null */
void json_put_bool(struct json *json, const char *name, bool value);

#endif /* MEMSCOPE_RENDER_JSON_WRITER_H */
