/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the user of `memscope-bpf top` has chosen with keys: page, order, filter, the selected
 * process. top_screen.h draws accordingly; top_tty.h reads the keys. Pure.
 */
#ifndef MEMSCOPE_TOP_TOP_VIEW_H
#define MEMSCOPE_TOP_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "top/top.h"

/* Keys that are not characters of ASCII. */
enum top_key {
	TOP_KEY_NONE = 0,
	TOP_KEY_TAB = '\t',
	TOP_KEY_ENTER = '\n',
	TOP_KEY_ESCAPE = 27,
	TOP_KEY_UP = 256,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_BACKSPACE,
	TOP_KEY_BACK_TAB,
};

enum top_page {
	TOP_PAGE_LIST,
	TOP_PAGE_PROCESS,
	TOP_PAGE_HELP,
};

/* Parts of a process's page. */
enum top_tab {
	TOP_TAB_SPACES,
	TOP_TAB_SITES,
	TOP_TAB_BLOCKS,
	TOP_TABS,
};

#define TOP_FILTER_BYTES 64

struct top_view {
	enum top_page page, before; /* the help goes back to that */
	enum top_tab tab;
	enum top_sort sort;
	bool reversed;
	bool paused, quit;
	bool typing; /* the filter */
	char filter[TOP_FILTER_BYTES + 1];
	size_t filter_length;

	uint32_t *shown; /* positions of the rows that the filter lets through */
	size_t shown_count, shown_capacity;
	bool has_selected;
	uint64_t selected; /* number of that process */
	size_t cursor;     /* its place in `shown` */
	size_t first;      /* place of the first one on the screen */
	size_t scroll;     /* lines of a page that are above the screen */
	size_t height;     /* rows or lines that fit; the drawing function sets it */
	size_t lines;      /* all lines of the page, when it was last drawn */
};

void top_view_init(struct top_view *view, enum top_sort sort);
void top_view_fini(struct top_view *view);

/* Sorts the rows after a look, and finds the selected one again. Returns 0 or -ENOMEM. */
int top_view_arrange(struct top_view *view, struct top *top);

/* Does what the key means; other keys do nothing. Returns 0 or -ENOMEM. */
int top_view_key(struct top_view *view, struct top *top, int key);

/* The selected row; NULL: none. */
const struct top_row *top_view_row(const struct top_view *view, const struct top *top);

#endif /* MEMSCOPE_TOP_TOP_VIEW_H */
