// SPDX-License-Identifier: BSD-2-Clause
/*
 * Segments of frameworks' allocators as rows of blocks, as HTML: where what is in use lies when
 * memory runs out, and when most was reserved, in colours of the places that made it. Drawn without
 * a script.
 */
#include "event/framework.h"
#include "render/report_html.h"
#include "render/report_words.h"
#include "render/stack_words.h"

#define FIGURES 8 /* of a recording; with 48 rows of 128 cells, at most some 80 kB each */

struct figure {
	const struct process *process;
	const struct tensor_device *device;
	enum tensor_moment moment;
	const struct tensor_segments *at;
};

/* Four shades; the lightest is still to be seen. */
static unsigned int shade_of(uint8_t cell)
{
	return !cell ? 0 : cell < 32 ? 1 : cell < 128 ? 2 : cell < 255 ? 3 : 4;
}

static bool is_alike(const struct tensor_strip *strip, size_t cell, uint8_t maker,
		     unsigned int shade)
{
	return shade_of(strip->cells[cell]) == shade && strip->makers[cell] == maker;
}

/* All parts of one colour and shade. */
static void append_path(struct string *out, const struct tensor_strip *strip, uint8_t maker,
			unsigned int shade)
{
	bool any = false;
	size_t i, j;

	for (i = 0; i < TENSOR_CELLS; i = j) {
		for (j = i; j < TENSOR_CELLS && is_alike(strip, j, maker, shade); j++)
			;
		if (j == i) {
			j++;
			continue;
		}
		if (!any)
			string_append_format(out, "<path class=\"t%u s%u\" d=\"", maker, shade);
		any = true;
		string_append_format(out, "M%zu 0h%zuv1H%zuz", i, j - i, i);
	}
	if (any)
		string_append_text(out, "\"/>");
}

static void append_words(struct string *out, const struct tensor_strip *strip)
{
	string_append_format(out, "%s of %s in use, by %s block%s", REPORT_SIZE(strip->used),
			     REPORT_SIZE(strip->bytes), REPORT_COUNT(strip->blocks),
			     strip->blocks == 1 ? "" : "s");
}

static void append_strip(struct html *html, const struct tensor_strip *strip)
{
	struct string *out = html->out;
	unsigned int shade;
	uint8_t maker;

	string_append_format(out,
			     "<li><code>0x%llx</code> <svg viewBox=\"0 0 %d 1\""
			     " preserveAspectRatio=\"none\" aria-hidden=\"true\">",
			     (unsigned long long)strip->addr, TENSOR_CELLS);
	for (maker = 0; maker <= TENSOR_MAKERS; maker++)
		for (shade = 1; shade <= 4; shade++)
			append_path(out, strip, maker, shade);
	string_append_text(out, "</svg> <span>");
	append_words(out, strip);
	string_append_text(out, "</span></li>\n");
}

static void append_places(struct html *html, const struct figure *figure)
{
	const struct stacks *stacks = &html->recording->state->stacks;
	size_t i;

	for (i = 0; i < figure->at->makers_count; i++) {
		const struct stack *stack = stacks_find(stacks, figure->at->makers[i]);
		struct string words = { 0 };

		if (stack)
			stack_words_append_chain(&words, stacks, stack);
		string_append_format(html->out,
				     "<p class=\"place\"><span class=\"t%zu\"></span> made in ", i);
		if (stack && !words.failed)
			html_text(html, words.bytes, words.length);
		else
			string_append_text(html->out, "a place that is not known");
		html->out->failed |= words.failed;
		string_append_text(html->out, "</p>\n");
		string_fini(&words);
	}
}

static void append_heading(struct html *html, const struct figure *figure)
{
	const struct tensor_segments *at = figure->at;

	string_append_text(html->out, "<h4>Segments of ");
	html_words(html, framework_name(figure->device->framework));
	string_append_text(html->out, " in ");
	html_process(html, figure->process->pid, figure->process->name);
	if (figure->device->device >= 0)
		string_append_format(html->out, ", device %d", figure->device->device);
	string_append_format(html->out, ": %s, ", tensor_moment_words(figure->moment));
	html_time(html, at->ts_ns);
	string_append_text(html->out, "</h4>\n<p>Each row is a segment, filled where blocks lie.");
	if (at->strips_count < at->count)
		string_append_format(html->out, " Shown are the %zu of %s with most free memory.",
				     at->strips_count, REPORT_COUNT(at->count));
	string_append_text(html->out, "</p>\n");
}

static void append_figure(struct html *html, const struct figure *figure)
{
	size_t i;

	string_append_text(html->out, "<div class=\"segments\">\n");
	append_heading(html, figure);
	string_append_text(html->out, "<ul class=\"strips\">\n");
	for (i = 0; i < figure->at->strips_count; i++)
		append_strip(html, &figure->at->strips[i]);
	string_append_text(html->out, "</ul>\n");
	append_places(html, figure);
	string_append_text(html->out, "</div>\n");
}

/* Of a process; returns how many figures are left for others. */
static size_t append_process(struct html *html, const struct process *process, size_t left)
{
	static const enum tensor_moment moments[] = { TENSOR_AT_OUT_OF_MEMORY,
						      TENSOR_AT_FAILED_CALL, TENSOR_AT_PEAK };
	size_t i, j;

	for (i = 0; i < process->tensors.devices_count; i++)
		for (j = 0; j < sizeof(moments) / sizeof(*moments) && left; j++) {
			struct figure figure = { .process = process,
						 .device = &process->tensors.devices[i],
						 .moment = moments[j] };

			figure.at = figure.device->moments[figure.moment];
			if (!figure.at || !figure.at->strips_count)
				continue;
			append_figure(html, &figure);
			left--;
		}
	return left;
}

void html_segments(struct html *html)
{
	size_t left = FIGURES, i;

	for (i = 0; i < html->recording->processes_count && left; i++)
		left = append_process(html, html->recording->processes[i].process, left);
}
