// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_pages.h"

#include <string.h>

#include "render/document_text.h"
#include "render/report_words.h"
#include "top/top_bar.h"
#include "top/top_detail.h"

#define ROWS_MOST 1000
#define WORDS_WIDTH 40 /* around the graph of a minute */

/* ---- a process ------------------------------------------------------------------------------- */

static void draw_numbers(struct string *line, const struct top *top, const struct top_row *row)
{
	string_append_text(line, "Live ");
	top_words_live(line, row);
	string_append_text(line, ", peak ");
	top_words_peak(line, row);
	string_append_text(line, ", growth ");
	top_words_growth(line, row->growth_bytes);
	string_append_text(line, "; ");
	top_words_rate(line, top, row->allocs);
	string_append_text(line, " allocs/s, ");
	top_words_rate(line, top, row->launches);
	string_append_text(line, " launches/s");
}

static void draw_samples(struct top_lines *lines, struct string *line, const struct top *top,
			 const struct top_row *row)
{
	uint64_t samples[TOP_SAMPLES], highest = 0;
	const size_t count = top_samples(top, row, samples);
	const size_t width = lines->width < TOP_SAMPLES + WORDS_WIDTH ? 30 : TOP_SAMPLES;
	size_t i;

	for (i = 0; i < count; i++)
		highest = samples[i] > highest ? samples[i] : highest;
	string_append_text(line, "60 s " TOP_STYLE_LIVE);
	top_bar_samples(line, samples, count, width, lines->ascii);
	string_append_format(line, TOP_STYLE_PLAIN " up to %s, growth ", REPORT_SIZE(highest));
	top_words_growth(line, row->minute_bytes);
}

static void draw_tabs(struct string *line, const struct top_view *view)
{
	int tab;

	for (tab = 0; tab < TOP_TABS; tab++) {
		const bool open = tab == (int)view->tab;

		string_append_format(line, "%s%s%c %s%s" TOP_STYLE_PLAIN, tab ? "  " : "",
				     open ? TOP_STYLE_STRONG "[" : "", '1' + tab,
				     top_detail_tab_name(tab), open ? "]" : "");
	}
}

static void make_document(struct string *out, const struct top_lines *lines,
			  const struct top_view *view, const struct state *state,
			  const struct process *process, const struct top_status *status)
{
	const struct document_text_options options = {
		.width = lines->width,
		.look = { .ascii = lines->ascii },
	};
	struct document_text text;

	document_text_init(&text, out, ROWS_MOST, &options);
	top_detail_who(&text.document, process);
	top_detail_append(&text.document, view->tab, state, process, status);
	document_text_fini(&text);
}

void top_pages_process(struct top_lines *lines, size_t from, size_t height, struct top_view *view,
		       const struct top *top, const struct top_status *status)
{
	const struct top_row *row = top_view_row(view, top);
	const struct process *process = row ? top_process(top, row) : NULL;
	struct string text = { 0 };

	view->lines = 0;
	if (!process) {
		string_append_text(&lines->lines[from],
				   "The process has ended. Esc goes back to the list.");
		return;
	}
	draw_numbers(&lines->lines[from], top, row);
	draw_samples(lines, &lines->lines[from + 1], top, row);
	draw_tabs(&lines->lines[from + 2], view);
	make_document(&text, lines, view, top->sink.state, process, status);
	view->height = height - 3;
	view->lines = top_lines_scroll(lines, from + 3, view->height, &text, &view->scroll);
	string_fini(&text);
}

/* ---- help ------------------------------------------------------------------------------------ */

static const char help[] =
	"\n"
	"  up, down, j, k     the process before or after; also PgUp, PgDn, Home, End\n"
	"  Enter              a process: its spaces, call sites and largest blocks\n"
	"  Tab, 1, 2, 3       the next of these; that one\n"
	"  Esc                back; in the list: no filter\n"
	"  s, S, <, >         sort by another column: live, growth, rate, peak, PID\n"
	"  r                  the other way round\n"
	"  /                  show only processes that have this text in their row\n"
	"  Space, p           stop looking, and go on\n"
	"  h, ?               this page\n"
	"  q                  end\n"
	"\n"
	"  Live: what a process has allocated on devices and not freed. A + behind it:\n"
	"  it may hold more, from before it was attached to; a ~: it is not exact.\n"
	"  Memory: what NVML says that it holds; Unexplained: what of that nothing\n"
	"  explains. Growth: since the last look.\n"
	"  Device unknown, or ?: the context was made before memscope-bpf attached, or\n"
	"  was not seen. If NVML has one device alone, it is taken to be that one.\n"
	"\n";

static void append_legend(struct string *out, bool ascii)
{
	size_t part;

	string_append_text(out, "  Memory of a device: ");
	for (part = 0; part < TOP_PARTS; part++) {
		string_append_text(out, part == 4 ? ",\n    " : part ? ", " : "");
		top_bar_sample(out, part, ascii);
		string_append_char(out, ' ');
		string_append_text(out, top_words_part(part));
	}
	string_append_char(out, '\n');
}

void top_pages_help(struct top_lines *lines, size_t from, size_t height, struct top_view *view)
{
	struct string text = { 0 };

	string_append_text(&text, help);
	append_legend(&text, lines->ascii);
	view->height = height;
	view->lines = top_lines_scroll(lines, from, height, &text, &view->scroll);
	string_fini(&text);
}
