// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_view.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "render/identity_words.h"
#include "top/top_words.h"

void top_view_init(struct top_view *view, enum top_sort sort)
{
	*view = (struct top_view){ .sort = sort, .height = 1 };
}

void top_view_fini(struct top_view *view)
{
	free(view->shown);
	view->shown = NULL;
	view->shown_count = view->shown_capacity = 0;
}

/* ---- which rows, in which order -------------------------------------------------------------- */

/* Everything in its row that is text. */
static void append_words(struct string *words, const struct top *top, const struct top_row *row)
{
	const struct process *process = top_process(top, row);
	struct string remarks = { 0 };

	string_append_u64(words, row->pid);
	string_append_char(words, ' ');
	if (process) {
		identity_words_user(words, &process->identity.known);
		string_append_char(words, ' ');
		identity_words_name(words, process);
		string_append_char(words, ' ');
	}
	top_words_remarks(&remarks, row, process);
	string_append(words, remarks.bytes, remarks.length);
	words->failed |= remarks.failed;
	string_fini(&remarks);
	string_append_char(words, '\0');
}

/* Without memory a row is rather shown. */
static bool lets_through(const struct top_view *view, const struct top *top,
			 const struct top_row *row, struct string *words)
{
	if (!view->filter_length)
		return true;
	string_clear(words);
	append_words(words, top, row);
	return words->failed || strcasestr(words->bytes, view->filter);
}

static void find_selected(struct top_view *view, const struct top *top)
{
	size_t i;

	for (i = 0; view->has_selected && i < view->shown_count; i++) {
		if (top->rows[view->shown[i]].number != view->selected)
			continue;
		view->cursor = i;
		return;
	}
	/* Its page goes on, and says that it is gone; in the list, the place is kept. */
	if (view->page == TOP_PAGE_PROCESS)
		return;
	if (view->cursor >= view->shown_count)
		view->cursor = view->shown_count ? view->shown_count - 1 : 0;
	view->has_selected = view->shown_count;
	if (view->has_selected)
		view->selected = top->rows[view->shown[view->cursor]].number;
}

int top_view_arrange(struct top_view *view, struct top *top)
{
	struct string words = { 0 };
	size_t i;

	view->shown_count = 0;
	if (memory_grow(&view->shown, &view->shown_capacity, top->rows_count + 1,
			sizeof(*view->shown)))
		return -ENOMEM;
	top_sort_rows(top, view->sort, view->reversed);
	for (i = 0; i < top->rows_count; i++)
		if (lets_through(view, top, &top->rows[i], &words))
			view->shown[view->shown_count++] = (uint32_t)i;
	string_fini(&words);
	find_selected(view, top);
	return 0;
}

const struct top_row *top_view_row(const struct top_view *view, const struct top *top)
{
	size_t i;

	for (i = 0; view->has_selected && i < top->rows_count; i++)
		if (top->rows[i].number == view->selected)
			return &top->rows[i];
	return NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* A place after a key that moves, out of `count`. */
static size_t move(size_t place, size_t count, size_t height, int key)
{
	const size_t last = count ? count - 1 : 0;

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		return place ? place - 1 : 0;
	case TOP_KEY_DOWN:
	case 'j':
		return place < last ? place + 1 : last;
	case TOP_KEY_PAGE_UP:
		return place > height ? place - height : 0;
	case TOP_KEY_PAGE_DOWN:
		return place + height < last ? place + height : last;
	case TOP_KEY_HOME:
	case 'g':
		return 0;
	case TOP_KEY_END:
	case 'G':
		return last;
	default:
		return place;
	}
}

static int sort_by(struct top_view *view, struct top *top, int step)
{
	view->sort = (view->sort + TOP_SORTS + step) % TOP_SORTS;
	view->reversed = false;
	return top_view_arrange(view, top);
}

static int change_filter(struct top_view *view, struct top *top, size_t length)
{
	view->filter_length = length;
	view->filter[length] = '\0';
	return top_view_arrange(view, top);
}

static int key_of_filter(struct top_view *view, struct top *top, int key)
{
	if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE)
		view->typing = false;
	if (key == TOP_KEY_ESCAPE)
		return change_filter(view, top, 0);
	if (key == TOP_KEY_BACKSPACE && view->filter_length)
		return change_filter(view, top, view->filter_length - 1);
	if (key >= ' ' && key < 127 && view->filter_length < TOP_FILTER_BYTES) {
		view->filter[view->filter_length] = (char)key;
		return change_filter(view, top, view->filter_length + 1);
	}
	return 0;
}

static void open_page(struct top_view *view, enum top_page page)
{
	view->before = view->page;
	view->page = page;
	view->scroll = 0;
}

static int key_of_list(struct top_view *view, struct top *top, int key)
{
	switch (key) {
	case 's':
	case '>':
		return sort_by(view, top, 1);
	case 'S':
	case '<':
		return sort_by(view, top, -1);
	case 'r':
		view->reversed = !view->reversed;
		return top_view_arrange(view, top);
	case '/':
		view->typing = true;
		return 0;
	case TOP_KEY_ESCAPE:
		return change_filter(view, top, 0);
	case TOP_KEY_ENTER:
	case TOP_KEY_RIGHT:
		if (view->has_selected)
			open_page(view, TOP_PAGE_PROCESS);
		return 0;
	default:
		view->cursor = move(view->cursor, view->shown_count, view->height, key);
		view->has_selected = view->cursor < view->shown_count;
		if (view->has_selected)
			view->selected = top->rows[view->shown[view->cursor]].number;
		return 0;
	}
}

static void show_tab(struct top_view *view, int tab)
{
	view->tab = (enum top_tab)((tab + TOP_TABS) % TOP_TABS);
	view->scroll = 0;
}

static int leave(struct top_view *view, struct top *top)
{
	view->page = view->page == TOP_PAGE_HELP ? view->before : TOP_PAGE_LIST;
	view->scroll = 0;
	return top_view_arrange(view, top);
}

/* For a page with lines. */
static int key_of_page(struct top_view *view, struct top *top, int key)
{
	const bool process = view->page == TOP_PAGE_PROCESS;
	const size_t places = view->lines > view->height ? view->lines - view->height + 1 : 1;

	if (key == TOP_KEY_ESCAPE || key == TOP_KEY_BACKSPACE || key == TOP_KEY_ENTER ||
	    (key == TOP_KEY_LEFT && !process))
		return leave(view, top);
	if (process && (key == TOP_KEY_TAB || key == TOP_KEY_RIGHT))
		show_tab(view, view->tab + 1);
	else if (process && (key == TOP_KEY_BACK_TAB || key == TOP_KEY_LEFT))
		show_tab(view, (int)view->tab - 1);
	else if (process && key >= '1' && key < '1' + TOP_TABS)
		show_tab(view, key - '1');
	else
		view->scroll = move(view->scroll, places, view->height, key);
	return 0;
}

int top_view_key(struct top_view *view, struct top *top, int key)
{
	if (view->typing)
		return key_of_filter(view, top, key);
	switch (key) {
	case TOP_KEY_NONE:
		return 0;
	case 'q':
	case 'Q':
		view->quit = true;
		return 0;
	case ' ':
	case 'p':
		view->paused = !view->paused;
		return 0;
	case 'h':
	case '?':
		if (view->page != TOP_PAGE_HELP)
			open_page(view, TOP_PAGE_HELP);
		return 0;
	}
	return view->page == TOP_PAGE_LIST ? key_of_list(view, top, key) :
					     key_of_page(view, top, key);
}
