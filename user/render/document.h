/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What people read, without saying how that looks: headings, sentences and tables, one after the
 * other. A report or a diff is described once, in these calls; a format (Markdown, HTML, text for a
 * terminal) draws what it is given. Where a format ends and what is escaped for it is its affair.
 *
 * Text is made in `document->text` and then handed over. It is safe to look at: names of any origin
 * have gone through field_append_safe(). The marks below are the only control characters in it.
 */
#ifndef MEMSCOPE_RENDER_DOCUMENT_H
#define MEMSCOPE_RENDER_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "report/report.h"

/* Marks in text. Between the first two, it is strong; between two of the others, it is ... */
#define DOCUMENT_STRONG "\1"
#define DOCUMENT_PLAIN "\2"
#define DOCUMENT_CODE "\3"    /* to be shown as it is, space for space */
#define DOCUMENT_CITE "\4"    /* the name of a finding's evidence: "E7" */
#define DOCUMENT_COMMAND "\5" /* to be typed: in a terminal without quotes, so that it pastes */

/* The same for those who read it. */
enum document_mark {
	DOCUMENT_MARK_STRONG = 1,
	DOCUMENT_MARK_PLAIN,
	DOCUMENT_MARK_CODE,
	DOCUMENT_MARK_CITE,
	DOCUMENT_MARK_COMMAND,
};

#define DOCUMENT_COLUMNS 16 /* of a table, at most */

/* What a column is of: bits. */
enum document_kind {
	DOCUMENT_TEXT = 0,
	DOCUMENT_NUMBER = 1,  /* aligned to the right */
	DOCUMENT_ADDRESS = 2, /* of memory */
	DOCUMENT_VALUE = 4,   /* not broken although it is text: a time */
	DOCUMENT_OBVIOUS = 8, /* its name goes without saying: it is for who cannot see the table */
};

struct document_column {
	const char *name; /* NULL: there are no more */
	uint32_t kind;
};

struct document_table {
	const char *name, *caption;
	const struct document_column *columns;
};

struct document_cell {
	const char *text;
	size_t length;
	bool strong; /* it differs by more than noise */
	bool absent; /* there is nothing to be said here */
	bool sorted; /* a number: by which rows are sorted, if they are; else by the text */
	int64_t value;
	const char *exact; /* in full, if the text is rounded; NULL: it is not */
	const char *brief; /* of a time: from the beginning; NULL: the text says no more */
	const char *link;  /* to an anchor; NULL: to none */
};

enum document_block {
	DOCUMENT_PARAGRAPH,
	DOCUMENT_ITEM,
	DOCUMENT_STEP, /* an item that has a number */
};

struct document;

struct document_format {
	/* `level`: 1 is the whole, 2 a part of it, 3 a part of that; `name` is its anchor. */
	void (*heading)(struct document *document, int level, const char *name, const char *text,
			size_t length);
	void (*block)(struct document *document, enum document_block kind, const char *text,
		      size_t length);
	void (*table)(struct document *document, const struct document_table *table);
	void (*row)(struct document *document);
	void (*cell)(struct document *document, const struct document_cell *cell);
	void (*row_end)(struct document *document);
	void (*table_end)(struct document *document, size_t left_out);
	const char *emphasis; /* how what is strong looks, in words */
	bool browsable;       /* its reader can sort, filter and fold: tables of all there is */
};

struct document {
	const struct document_format *format;
	size_t top;         /* of what there can be many of */
	bool ascii;         /* the reader cannot be shown anything else */
	size_t width;       /* columns of a line; 0: it may be of any length */
	bool failed;        /* there was no memory for some of it */
	struct string text; /* of the cell or block that is made */

	struct document_table table; /* that was begun */
	struct document_column columns[DOCUMENT_COLUMNS + 1];
	size_t limit; /* of its rows */
	size_t rows;  /* also those that are not drawn */
	bool open;    /* it has been drawn */
};

/* Frees what is in it; the format's own is the format's. */
void document_fini(struct document *document);

/* These take what is in `text`. */
void document_heading(struct document *document, int level, const char *name);
void document_block(struct document *document, enum document_block kind);
void document_paragraph(struct document *document);

/* The same of text of ours. */
void document_say(struct document *document, const char *text);

/*
 * A paragraph above the table that comes next, which says what its caption says: for formats that
 * have no captions.
 */
void document_title(struct document *document);

/*
 * Begins a table. It is drawn when it has a row or document_table_open() is called, and else not at
 * all. `name` is its anchor; `caption` says what it is, in formats that have captions. Both must
 * live until its end.
 */
void document_table(struct document *document, const char *name, const char *caption,
		    const struct document_column *columns);
void document_table_top(struct document *document, const char *name, const char *caption,
			const struct document_column *columns); /* of `top` rows, at most */
void document_table_open(struct document *document);
void document_table_end(struct document *document);

/* Whether the next row is drawn: there are not too many. If not, it has no cells and no end. */
bool document_row(struct document *document);
void document_row_end(struct document *document);

/* ---- cells ----------------------------------------------------------------------------------- */

/* What is in `text`. */
void document_cell(struct document *document);
void document_cell_as(struct document *document, struct document_cell cell);

void document_cell_words(struct document *document, const char *text); /* of ours */
void document_cell_text(struct document *document, const char *text);  /* of any; NULL: "?" */
void document_cell_process(struct document *document, const struct process *process);
void document_cell_device(struct document *document, int32_t device); /* -1: "?" */
void document_cell_address(struct document *document, uint64_t address);
void document_cell_time(struct document *document, const struct report_recording *recording,
			uint64_t ts_ns);

/* A number in its unit; what is not known is "?". */
void document_cell_value(struct document *document, bool known, enum finding_unit unit,
			 uint64_t value);
void document_cell_size(struct document *document, bool known, uint64_t bytes);
void document_cell_count(struct document *document, bool known, uint64_t count);
void document_cell_duration(struct document *document, bool known, uint64_t ns);
void document_cell_absent(struct document *document);

/* ---- text ------------------------------------------------------------------------------------ */

/* Appends text of any origin; NULL: `otherwise`. */
void document_append(struct document *document, const char *text, const char *otherwise);
void document_append_device(struct document *document, int32_t device);

#endif /* MEMSCOPE_RENDER_DOCUMENT_H */
