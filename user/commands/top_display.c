// SPDX-License-Identifier: BSD-2-Clause
#include "commands/top_display.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/writer.h"
#include "commands/terminal.h"
#include "top/top_screen.h"
#include "top/top_tty.h"

#define MESSAGES 64               /* are kept; more are counted */
#define MESSAGE_NS 10000000000ull /* that one is shown */

struct top_display {
	struct top_display_options options;
	struct top_tty *tty;
	struct top_view view;
	struct top_lines lines;
	struct loop_source *keys, *resizes;
	sigset_t mask; /* of signals, before */
	char *messages[MESSAGES];
	size_t messages_count;
	uint64_t more_messages;
	uint64_t message_ns; /* when the last one came */
};

bool top_display_is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

bool top_display_is_paused(const struct top_display *display)
{
	return display->view.paused;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void take_message(void *context, const char *line)
{
	struct top_display *display = context;
	char *copy = display->messages_count < MESSAGES ? strdup(line) : NULL;

	display->message_ns = clock_monotonic_ns();
	if (copy)
		display->messages[display->messages_count++] = copy;
	else
		display->more_messages++;
}

/* The last one, for a while; without what begins all of them. */
static const char *last_message(const struct top_display *display)
{
	static const char prefix[] = "memscope-bpf: ";
	const char *message;

	if (!display->messages_count || clock_monotonic_ns() - display->message_ns >= MESSAGE_NS)
		return NULL;
	message = display->messages[display->messages_count - 1];
	return strncmp(message, prefix, sizeof(prefix) - 1) != 0 ? message :
								   message + sizeof(prefix) - 1;
}

static void tell_messages(struct top_display *display)
{
	size_t i;

	for (i = 0; i < display->messages_count; i++) {
		fprintf(stderr, "%s\n", display->messages[i]);
		free(display->messages[i]);
	}
	if (display->more_messages)
		log_warning("%llu more messages were not kept",
			    (unsigned long long)display->more_messages);
	display->messages_count = 0;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* What the page needs besides the state. */
static int get_sites(struct top_display *display)
{
	const struct top_display_options *options = &display->options;
	const struct top_row *row = top_view_row(&display->view, options->top);
	const struct process *process = row ? top_process(options->top, row) : NULL;

	if (!options->sites || !process || display->view.page != TOP_PAGE_PROCESS ||
	    display->view.tab != TOP_TAB_SITES)
		return 0;
	return options->sites(options->context, process);
}

static int draw(struct top_display *display)
{
	size_t width, height;
	int err = get_sites(display);

	if (err)
		return err;
	top_tty_size(display->tty, &width, &height);
	err = top_lines_begin(&display->lines, width, height);
	if (err)
		return err;
	top_screen_draw(&display->lines, &display->view, display->options.top,
			display->options.status, last_message(display));
	if (top_lines_failed(&display->lines))
		return -ENOMEM;
	top_tty_show(display->tty, &display->lines);
	return 0;
}

int top_display_look(struct top_display *display)
{
	int err = top_view_arrange(&display->view, display->options.top);

	return err ? err : draw(display);
}

static int on_keys(void *context, uint64_t data)
{
	struct top_display *display = context;
	int key, err = 0;

	(void)data;
	while (!err && (key = top_tty_key(display->tty)) != TOP_KEY_NONE)
		err = top_view_key(&display->view, display->options.top, key);
	if (display->view.quit || top_tty_is_gone(display->tty)) {
		display->options.end(display->options.context);
		return err;
	}
	return err ? err : draw(display);
}

static int on_resize(void *context, const struct signalfd_siginfo *info)
{
	struct top_display *display = context;

	(void)info;
	top_tty_resize(display->tty);
	return draw(display);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int open_sources(struct top_display *display)
{
	struct loop *loop = display->options.loop;
	sigset_t resize;
	int err;

	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	sigprocmask(SIG_BLOCK, &resize, &display->mask);
	err = loop_add_signals(loop, &resize, on_resize, display, &display->resizes);
	if (!err)
		err = loop_add_fd(loop, STDIN_FILENO, EPOLLIN, on_keys, display, 0, &display->keys);
	if (err)
		log_error("cannot read keys: %s", strerror(-err));
	return err;
}

int top_display_open(struct top_display **result, const struct top_display_options *options)
{
	struct top_display *display = calloc(1, sizeof(*display));
	struct writer writer;
	int err;

	if (!display)
		return -ENOMEM;
	display->options = *options;
	sigprocmask(SIG_BLOCK, NULL, &display->mask);
	top_view_init(&display->view, options->sort);
	setlocale(LC_CTYPE, "");
	writer_init_stdout(&writer);
	display->lines.ascii = terminal_is_ascii(&writer);
	err = top_tty_open(&display->tty, writer.colour);
	if (!err) {
		log_divert(take_message, display);
		err = open_sources(display);
	}
	if (!err)
		err = top_display_look(display);
	if (err) {
		top_display_close(display);
		return err;
	}
	*result = display;
	return 0;
}

void top_display_close(struct top_display *display)
{
	if (!display)
		return;
	loop_remove(display->options.loop, display->keys);
	loop_remove(display->options.loop, display->resizes);
	top_tty_close(display->tty);
	sigprocmask(SIG_SETMASK, &display->mask, NULL);
	log_divert(NULL, NULL);
	tell_messages(display);
	top_lines_fini(&display->lines);
	top_view_fini(&display->view);
	free(display);
}
