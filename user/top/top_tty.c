// SPDX-License-Identifier: BSD-2-Clause
#include "top/top_tty.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Functions alone: what is loaded has no macros. */
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "base/log.h"
#include "top/top_bar.h"
#include "top/top_view.h"

#define LIBRARY "libncursesw.so.6"
#define PACKAGE "libncursesw6"
#define ESCAPE_MS 25 /* in which the rest of a key's sequence comes */

/* clang-format off */
struct library {
	__typeof__(&newterm) newterm;
	__typeof__(&delscreen) delscreen;
	__typeof__(&endwin) endwin;
	__typeof__(&cbreak) cbreak;
	__typeof__(&noecho) noecho;
	__typeof__(&keypad) keypad;
	__typeof__(&nodelay) nodelay;
	__typeof__(&curs_set) curs_set;
	__typeof__(&set_escdelay) set_escdelay;
	__typeof__(&has_colors) has_colors;
	__typeof__(&start_color) start_color;
	__typeof__(&use_default_colors) use_default_colors;
	__typeof__(&init_pair) init_pair;
	__typeof__(&resizeterm) resizeterm;
	__typeof__(&wgetch) wgetch;
	__typeof__(&werase) werase;
	__typeof__(&wclear) wclear;
	__typeof__(&wmove) wmove;
	__typeof__(&waddnstr) waddnstr;
	__typeof__(&wattrset) wattrset;
	__typeof__(&wrefresh) wrefresh;
	__typeof__(&tigetstr) tigetstr;
	__typeof__(&COLOR_PAIR) COLOR_PAIR;
	WINDOW **screen; /* stdscr */
};

#define IN_LIBRARY(name) { #name, offsetof(struct library, name) }
static const struct {
	const char *name;
	size_t offset;
} functions[] = {
	IN_LIBRARY(newterm), IN_LIBRARY(delscreen), IN_LIBRARY(endwin), IN_LIBRARY(cbreak),
	IN_LIBRARY(noecho), IN_LIBRARY(keypad), IN_LIBRARY(nodelay), IN_LIBRARY(curs_set),
	IN_LIBRARY(set_escdelay), IN_LIBRARY(has_colors), IN_LIBRARY(start_color),
	IN_LIBRARY(use_default_colors), IN_LIBRARY(init_pair), IN_LIBRARY(resizeterm),
	IN_LIBRARY(wgetch), IN_LIBRARY(werase), IN_LIBRARY(wclear), IN_LIBRARY(wmove),
	IN_LIBRARY(waddnstr), IN_LIBRARY(wattrset), IN_LIBRARY(wrefresh), IN_LIBRARY(tigetstr),
	IN_LIBRARY(COLOR_PAIR),
	{ "stdscr", offsetof(struct library, screen) },
};
/* clang-format on */

struct top_tty {
	void *handle;
	struct library curses;
	SCREEN *terminal;
	int attributes[TOP_STYLES_COUNT];
};

/* ---- signals that kill ----------------------------------------------------------------------- */

/* Those that the event loop does not read. */
static const int deadly[] = { SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT, SIGSYS,
			      SIGTRAP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU };

#define DEADLY (sizeof(deadly) / sizeof(*deadly))

/* For their handler, which can have nothing else: what takes the terminal back. */
static struct {
	struct termios settings;
	char sequence[256];
	size_t length;
	struct sigaction before[DEADLY];
} restore;

static void on_deadly(int number)
{
	const ssize_t written = write(STDOUT_FILENO, restore.sequence, restore.length);

	(void)written;
	tcsetattr(STDIN_FILENO, TCSANOW, &restore.settings);
	raise(number); /* which is at its default now, and comes when this returns */
}

static void append_sequence(struct top_tty *tty, const char *capability)
{
	const char *text = tty->curses.tigetstr(capability);
	size_t length;

	if (!text || text == (const char *)-1)
		return;
	length = strlen(text);
	if (length > sizeof(restore.sequence) - restore.length)
		return;
	memcpy(restore.sequence + restore.length, text, length);
	restore.length += length;
}

static void watch_signals(struct top_tty *tty)
{
	struct sigaction action = { .sa_handler = on_deadly, .sa_flags = (int)SA_RESETHAND };
	size_t i;

	restore.length = 0;
	append_sequence(tty, "sgr0");
	append_sequence(tty, "cnorm");
	append_sequence(tty, "rmkx");
	append_sequence(tty, "rmcup");
	for (i = 0; i < DEADLY; i++)
		sigaction(deadly[i], &action, &restore.before[i]);
}

static void forget_signals(void)
{
	size_t i;

	for (i = 0; i < DEADLY; i++)
		sigaction(deadly[i], &restore.before[i], NULL);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int load(struct top_tty *tty)
{
	size_t i;

	tty->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!tty->handle) {
		log_error("%s; install the package " PACKAGE ", or use --batch", dlerror());
		return -ENOTSUP;
	}
	for (i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *found = dlsym(tty->handle, functions[i].name);

		if (!found) {
			log_error(LIBRARY " has no %s; install the package " PACKAGE
					  ", or use --batch",
				  functions[i].name);
			return -ENOTSUP;
		}
		memcpy((char *)&tty->curses + functions[i].offset, &found, sizeof(found));
	}
	return 0;
}

/* One of the eight colours that every terminal with colours has. */
static void choose_attributes(struct top_tty *tty, bool colour)
{
	static const struct {
		int attribute;
		short colour; /* -1: none */
	} looks[TOP_STYLES_COUNT] = {
		[TOP_STYLES_PLAIN] = { A_NORMAL, -1 },
		[TOP_STYLES_STRONG] = { A_BOLD, -1 },
		[TOP_STYLES_SELECTED] = { A_REVERSE, -1 },
		[TOP_STYLES_LIVE] = { A_NORMAL, COLOR_GREEN },
		[TOP_STYLES_TRACED] = { A_NORMAL, COLOR_CYAN },
		[TOP_STYLES_OTHERS] = { A_NORMAL, COLOR_YELLOW },
		[TOP_STYLES_DIM] = { A_NORMAL, -1 },
		[TOP_STYLES_WARNING] = { A_BOLD, COLOR_RED },
	};
	size_t i;

	colour = colour && tty->curses.has_colors() && tty->curses.start_color() != ERR &&
		 tty->curses.use_default_colors() != ERR;
	for (i = 0; i < TOP_STYLES_COUNT; i++) {
		tty->attributes[i] = looks[i].attribute;
		if (colour && looks[i].colour >= 0 && i &&
		    tty->curses.init_pair((short)i, looks[i].colour, -1) != ERR)
			tty->attributes[i] |= tty->curses.COLOR_PAIR((int)i);
	}
}

static int start(struct top_tty *tty, bool colour)
{
	WINDOW *screen;

	tcgetattr(STDIN_FILENO, &restore.settings);
	tty->terminal = tty->curses.newterm(NULL, stdout, stdin);
	if (!tty->terminal) {
		const char *type = getenv("TERM");

		log_error("ncurses does not know a terminal of type \"%s\"; use --batch",
			  type ? type : "");
		return -ENOTSUP;
	}
	screen = *tty->curses.screen;
	tty->curses.set_escdelay(ESCAPE_MS);
	tty->curses.cbreak();
	tty->curses.noecho();
	tty->curses.keypad(screen, TRUE);
	tty->curses.nodelay(screen, TRUE);
	tty->curses.curs_set(0);
	choose_attributes(tty, colour);
	watch_signals(tty);
	return 0;
}

int top_tty_open(struct top_tty **result, bool colour)
{
	struct top_tty *tty = calloc(1, sizeof(*tty));
	int err;

	if (!tty)
		return -ENOMEM;
	err = load(tty);
	if (!err)
		err = start(tty, colour);
	if (err) {
		top_tty_close(tty);
		return err;
	}
	*result = tty;
	return 0;
}

void top_tty_close(struct top_tty *tty)
{
	if (!tty)
		return;
	if (tty->terminal) {
		forget_signals();
		tty->curses.endwin();
		tty->curses.delscreen(tty->terminal);
	}
	if (tty->handle)
		dlclose(tty->handle);
	free(tty);
}

/* ---- size and keys --------------------------------------------------------------------------- */

void top_tty_size(const struct top_tty *tty, size_t *width, size_t *height)
{
	struct winsize size;

	(void)tty;
	*width = 80;
	*height = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return;
	*width = size.ws_col;
	*height = size.ws_row;
}

void top_tty_resize(struct top_tty *tty)
{
	size_t width, height;

	top_tty_size(tty, &width, &height);
	tty->curses.resizeterm((int)height, (int)width);
	tty->curses.wclear(*tty->curses.screen);
}

int top_tty_key(struct top_tty *tty)
{
	static const struct {
		int code, key;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_LEFT, TOP_KEY_LEFT },
		{ KEY_RIGHT, TOP_KEY_RIGHT },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },
		{ KEY_END, TOP_KEY_END },
		{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ 127, TOP_KEY_BACKSPACE },
		{ '\b', TOP_KEY_BACKSPACE },
		{ KEY_BTAB, TOP_KEY_BACK_TAB },
		{ KEY_ENTER, TOP_KEY_ENTER },
		{ '\r', TOP_KEY_ENTER },
	};
	int code;
	size_t i;

	/* A key that is none of ours does not end what has been typed. */
	while ((code = tty->curses.wgetch(*tty->curses.screen)) != ERR) {
		for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (keys[i].code == code)
				return keys[i].key;
		if (code > 0 && code < 127)
			return code;
	}
	return TOP_KEY_NONE;
}

bool top_tty_is_gone(const struct top_tty *tty)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	(void)tty;
	return poll(&input, 1, 0) < 0 || input.revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* What is no style and no character of text is not shown as it is, wherever it may come from. */
static bool is_text(char c)
{
	return (unsigned char)c >= ' ' && c != 127;
}

static void put_line(struct top_tty *tty, const struct string *line, size_t width)
{
	const size_t cut = top_lines_cut(line->bytes, line->length, width);
	WINDOW *screen = *tty->curses.screen;
	size_t i = 0, begin;

	while (i < cut) {
		const unsigned char c = line->bytes[i];

		if (c > 0 && c < TOP_STYLES_COUNT) {
			tty->curses.wattrset(screen, tty->attributes[c]);
			i++;
			continue;
		}
		if (!is_text((char)c)) {
			tty->curses.waddnstr(screen, "?", 1);
			i++;
			continue;
		}
		for (begin = i; i < cut && is_text(line->bytes[i]); i++)
			;
		tty->curses.waddnstr(screen, line->bytes + begin, (int)(i - begin));
	}
}

void top_tty_show(struct top_tty *tty, const struct top_lines *lines)
{
	WINDOW *screen = *tty->curses.screen;
	size_t i;

	tty->curses.werase(screen);
	for (i = 0; i < lines->height; i++) {
		tty->curses.wattrset(screen, tty->attributes[TOP_STYLES_PLAIN]);
		if (tty->curses.wmove(screen, (int)i, 0) != ERR)
			put_line(tty, &lines->lines[i], lines->width);
	}
	tty->curses.wrefresh(screen);
}
