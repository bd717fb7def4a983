// SPDX-License-Identifier: BSD-2-Clause
#include "render/document.h"

#include <assert.h>
#include <string.h>

#include "render/field.h"
#include "render/identity_words.h"
#include "render/report_words.h"

void document_fini(struct document *document)
{
	string_fini(&document->text);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static const char *text_of(struct document *document)
{
	document->failed |= document->text.failed;
	return document->text.length ? document->text.bytes : "";
}

void document_heading(struct document *document, int level, const char *name)
{
	document->format->heading(document, level, name, text_of(document), document->text.length);
	string_clear(&document->text);
}

void document_block(struct document *document, enum document_block kind)
{
	document->format->block(document, kind, text_of(document), document->text.length);
	string_clear(&document->text);
}

void document_paragraph(struct document *document)
{
	document_block(document, DOCUMENT_PARAGRAPH);
}

void document_say(struct document *document, const char *text)
{
	string_append_text(&document->text, text);
	document_paragraph(document);
}

void document_title(struct document *document)
{
	if (document->format->browsable)
		string_clear(&document->text);
	else
		document_paragraph(document);
}

/* ---- tables ---------------------------------------------------------------------------------- */

void document_table(struct document *document, const char *name, const char *caption,
		    const struct document_column *columns)
{
	size_t i;

	for (i = 0; columns[i].name; i++) {
		assert(i < DOCUMENT_COLUMNS);
		document->columns[i] = columns[i];
	}
	document->columns[i].name = NULL;
	document->table = (struct document_table){ name, caption, document->columns };
	document->limit = SIZE_MAX;
	document->open = false;
	document->rows = 0;
}

void document_table_top(struct document *document, const char *name, const char *caption,
			const struct document_column *columns)
{
	document_table(document, name, caption, columns);
	document->limit = document->top;
}

void document_table_open(struct document *document)
{
	if (!document->open)
		document->format->table(document, &document->table);
	document->open = true;
}

void document_table_end(struct document *document)
{
	const size_t rows = document->rows, limit = document->limit;

	if (document->open)
		document->format->table_end(document, rows > limit ? rows - limit : 0);
	document->open = false;
}

bool document_row(struct document *document)
{
	if (document->rows++ >= document->limit)
		return false;
	document_table_open(document);
	document->format->row(document);
	return true;
}

void document_row_end(struct document *document)
{
	document->format->row_end(document);
}

/* ---- cells ----------------------------------------------------------------------------------- */

void document_cell_as(struct document *document, struct document_cell cell)
{
	cell.text = text_of(document);
	cell.length = document->text.length;
	document->format->cell(document, &cell);
	string_clear(&document->text);
}

void document_cell(struct document *document)
{
	document_cell_as(document, (struct document_cell){ 0 });
}

void document_cell_words(struct document *document, const char *text)
{
	string_append_text(&document->text, text);
	document_cell(document);
}

void document_cell_text(struct document *document, const char *text)
{
	document_append(document, text, "?");
	document_cell(document);
}

void document_cell_process(struct document *document, const struct process *process)
{
	identity_words_process(&document->text, process);
	document_cell(document);
}

void document_cell_device(struct document *document, int32_t device)
{
	document_cell_count(document, device >= 0, (uint64_t)device);
}

void document_cell_address(struct document *document, uint64_t address)
{
	string_append_hex(&document->text, address);
	document_cell(document);
}

void document_cell_time(struct document *document, const struct report_recording *recording,
			uint64_t ts_ns)
{
	const uint64_t begin_ns = report_begin_ns(recording);
	const uint64_t apart_ns = ts_ns < begin_ns ? begin_ns - ts_ns : ts_ns - begin_ns;
	struct string brief = { 0 };

	string_append_format(&brief, "%c%.3f s%c", ts_ns < begin_ns ? '-' : '+',
			     (double)apart_ns / 1e9, '\0');
	document->failed |= brief.failed;
	report_append_time(&document->text, recording, ts_ns);
	document_cell_as(document,
			 (struct document_cell){ .sorted = true,
						 .value = (int64_t)ts_ns,
						 .brief = brief.failed ? NULL : brief.bytes });
	string_fini(&brief);
}

void document_cell_value(struct document *document, bool known, enum finding_unit unit,
			 uint64_t value)
{
	if (!known) {
		document_cell_words(document, "?");
		return;
	}
	report_append_value(&document->text, NULL, unit, value);
	document_cell_as(document, (struct document_cell){ .sorted = true,
							   .value = (int64_t)value,
							   .exact = unit == FINDING_BYTES ?
									    REPORT_COUNT(value) :
									    NULL });
}

void document_cell_size(struct document *document, bool known, uint64_t bytes)
{
	document_cell_value(document, known, FINDING_BYTES, bytes);
}

void document_cell_count(struct document *document, bool known, uint64_t count)
{
	document_cell_value(document, known, FINDING_COUNT, count);
}

void document_cell_duration(struct document *document, bool known, uint64_t ns)
{
	document_cell_value(document, known, FINDING_NS, ns);
}

void document_cell_absent(struct document *document)
{
	document_cell_as(document, (struct document_cell){ .absent = true });
}

/* ---- text ------------------------------------------------------------------------------------ */

void document_append(struct document *document, const char *text, const char *otherwise)
{
	if (text)
		field_append_safe(&document->text, text, strlen(text));
	else
		string_append_text(&document->text, otherwise);
}

void document_append_device(struct document *document, int32_t device)
{
	if (device >= 0)
		string_append_i64(&document->text, device);
	else
		string_append_char(&document->text, '?');
}
