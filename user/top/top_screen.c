// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_screen.h"

#include <string.h>

#include "render/field.h"
#include "render/report_words.h"
#include "top/top_bar.h"
#include "top/top_chosen.h"
#include "top/top_devices.h"
#include "top/top_list.h"
#include "top/top_pages.h"

#define DEVICES_MOST 64
#define WIDE 120
#define LABEL_WIDTH 14
#define LABEL_WIDTH_WIDE 24
#define NUMBERS_WIDTH 30
#define NUMBERS_WIDTH_WIDE 94

/* ---- the first line -------------------------------------------------------------------------- */

static void draw_title(struct top_lines *lines, const struct top_view *view, const struct top *top,
		       const struct top_status *status)
{
	struct string *line = &lines->lines[0];

	string_append_format(
		line, TOP_STYLE_STRONG "memscope-bpf top" TOP_STYLE_PLAIN " %s: ",
		REPORT_DURATION((status->now_ns - status->begin_ns) / 1000000000 * 1000000000));
	if (view->paused)
		string_append_text(line, TOP_STYLE_WARNING "paused" TOP_STYLE_PLAIN ", ");
	if (status->stale)
		string_append_text(line, TOP_STYLE_WARNING
				   "the agent does not answer" TOP_STYLE_PLAIN ", ");
	top_words_status(line, top, status);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* "0 H200", or the beginning of the UUID. */
static void append_label(struct string *out, const struct top_device *device)
{
	static const char vendor[] = "NVIDIA ";
	const char *name = device->name;

	if (!strncmp(name, vendor, sizeof(vendor) - 1))
		name += sizeof(vendor) - 1;
	if (device->ordinal >= 0) {
		string_append_i64(out, device->ordinal);
		string_append_char(out, ' ');
	}
	if (!*name)
		name = *device->uuid ? device->uuid : "";
	field_append_safe(out, name, strlen(name));
	if (!out->length)
		string_append_text(out, "unknown");
}

static void append_amount(struct string *out, uint64_t bytes, const char *what)
{
	string_append_format(out, "%s %s, ", REPORT_SIZE(bytes), what);
}

static void append_numbers(struct string *out, const struct top_device *device, bool wide)
{
	const uint64_t *parts = device->parts;

	append_amount(out, device->live_bytes, "live");
	if (wide && device->chosen)
		append_amount(out, device->chosen_bytes, "of these");
	if (wide && device->nvml_known) {
		append_amount(out, parts[TOP_OF_TRACED], "more");
		append_amount(out, parts[TOP_OF_OTHERS], "others");
		append_amount(out, parts[TOP_OF_NONE], "no process");
	}
	if (top_device_is_divided(device))
		append_amount(out, parts[TOP_FREE], "free");
	out->length -= out->length >= 2 ? 2 : 0;
	if (top_device_is_unknown(device))
		string_append_text(out, " in contexts that were not seen");
	if (wide && device->total_known)
		string_append_format(out, " of %s", REPORT_SIZE(device->total_bytes));
}

static void draw_device(struct top_lines *lines, size_t at, const struct top_device *device)
{
	const bool wide = lines->width >= WIDE;
	const size_t label_width = wide ? LABEL_WIDTH_WIDE : LABEL_WIDTH;
	struct string label = { 0 }, numbers = { 0 }, *line = &lines->lines[at];
	size_t taken;

	append_label(&label, device);
	append_numbers(&numbers, device, wide);
	top_lines_put(line, &label, label_width, false);
	taken = label_width + 4 + (wide ? NUMBERS_WIDTH_WIDE : NUMBERS_WIDTH);
	string_append_char(line, ' ');
	if (device->total_known && lines->width > taken + 4) {
		string_append_char(line, '[');
		top_bar_ladder(line, device, lines->width - taken, lines->ascii);
		string_append_text(line, "] ");
	}
	string_append(line, numbers.bytes, numbers.length);
	line->failed |= numbers.failed;
	string_fini(&label);
	string_fini(&numbers);
}

/* Returns how many lines they take, at most a quarter of the screen. */
static size_t draw_devices(struct top_lines *lines, size_t from, const struct top *top)
{
	struct top_device devices[DEVICES_MOST];
	size_t left_out, others, most = lines->height / 4, i;
	size_t count = top_devices_list(top->sink.state, devices, DEVICES_MOST, &left_out);
	struct string *line;

	count = top_chosen_devices(top, devices, count, &others);
	most -= count > most || left_out || others;
	if (count > most) {
		left_out += count - most;
		count = most;
	}
	for (i = 0; i < count; i++)
		draw_device(lines, from + i, &devices[i]);
	if (!left_out && !others)
		return count;
	line = &lines->lines[from + count];
	if (left_out)
		string_append_format(line, "%zu more devices%s", left_out, others ? "; " : "");
	if (others)
		top_words_others(line, others);
	return count + 1;
}

/* ---- the last line --------------------------------------------------------------------------- */

static void draw_bottom(struct top_lines *lines, const struct top_view *view, const char *message)
{
	struct string *line = &lines->lines[lines->height - 1];

	if (view->typing) {
		string_append_format(line, "Filter: %s_   (Enter: keep it, Esc: none)",
				     view->filter);
	} else if (message) {
		string_append_format(line, TOP_STYLE_WARNING "%s" TOP_STYLE_PLAIN, message);
	} else if (view->page != TOP_PAGE_LIST) {
		string_append_text(line, view->page == TOP_PAGE_HELP ?
						 "Esc back  q quit" :
						 "Tab next part  Esc back  Space pause  q quit");
	} else {
		string_append_text(line,
				   "Enter details  s sort  / filter  Space pause  h help  q quit");
		if (view->filter_length)
			string_append_format(line, "   filter: %s", view->filter);
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void draw_body(struct top_lines *lines, size_t from, struct top_view *view,
		      const struct top *top, const struct top_status *status)
{
	const size_t height = lines->height - 1 - from;

	switch (view->page) {
	case TOP_PAGE_PROCESS:
		top_pages_process(lines, from, height, view, top, status);
		break;
	case TOP_PAGE_HELP:
		top_pages_help(lines, from, height, view);
		break;
	default:
		top_list_draw(lines, from, height, view, top, status);
	}
}

void top_screen_draw(struct top_lines *lines, struct top_view *view, const struct top *top,
		     const struct top_status *status, const char *message)
{
	size_t from = 1;

	if (lines->width < TOP_SCREEN_LEAST_WIDTH || lines->height < TOP_SCREEN_LEAST_HEIGHT) {
		if (lines->height)
			string_append_text(&lines->lines[0], "The terminal is too small.");
		return;
	}
	draw_title(lines, view, top, status);
	if (view->page == TOP_PAGE_LIST)
		from += draw_devices(lines, from, top);
	draw_body(lines, from, view, top, status);
	draw_bottom(lines, view, message);
}
