// SPDX-License-Identifier: BSD-2-Clause
#include "history/process_words.h"

#include <sqlite3.h>

const char process_words_find[] =
	"SELECT pid, name, user, container, pod, namespace, job, inexact FROM process WHERE id = ?1";

const char *process_words_column(struct sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return text ? text : "";
}

/* "namespace/pod" */
static void append_pod(struct string *out, struct sqlite3_stmt *statement)
{
	if (*process_words_column(statement, PROCESS_NAMESPACE))
		string_append_format(out, "%s/",
				     process_words_column(statement, PROCESS_NAMESPACE));
	string_append_text(out, process_words_column(statement, PROCESS_POD));
}

char *process_words_place(struct sqlite3_stmt *statement)
{
	struct string out = { 0 };

	if (*process_words_column(statement, PROCESS_POD)) {
		string_append_text(&out, "pod ");
		append_pod(&out, statement);
	} else if (*process_words_column(statement, PROCESS_CONTAINER)) {
		string_append_format(&out, "container %.12s",
				     process_words_column(statement, PROCESS_CONTAINER));
	}
	if (*process_words_column(statement, PROCESS_JOB))
		string_append_format(&out, "%sjob %s", out.length ? ", " : "",
				     process_words_column(statement, PROCESS_JOB));
	string_append_char(&out, '\0');
	if (out.failed || out.length == 1) {
		string_fini(&out);
		return NULL;
	}
	return out.bytes;
}

void process_words_group(struct string *out, struct sqlite3_stmt *statement, enum history_by by)
{
	static const int columns[] = {
		[HISTORY_BY_PROCESS] = PROCESS_NAME,
		[HISTORY_BY_CONTAINER] = PROCESS_CONTAINER,
		[HISTORY_BY_USER] = PROCESS_USER,
		[HISTORY_BY_JOB] = PROCESS_JOB,
	};

	if (by == HISTORY_BY_POD && *process_words_column(statement, PROCESS_POD))
		append_pod(out, statement);
	else if (by != HISTORY_BY_POD)
		string_append_text(out, process_words_column(statement, columns[by]));
	string_append_char(out, '\0');
}
