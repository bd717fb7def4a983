// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/file_service.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "host/sandbox.h"
#include "symbols/embedded_symbols.h"
#include "symbols/file_protocol.h"
#include "symbols/function_table.h"
#include "symbols/source_lines.h"
#include "symbols/unwind_table.h"

#define MAX_OPEN 384 /* files with debug information; their descriptors have a limit */

struct opened {
	uint32_t number;
	int fd;
	struct source_lines *lines;
};

struct service {
	int fd;
	bool no_lines; /* libdw is not there */
	struct opened open[MAX_OPEN];
	size_t count;
};

static void answer(struct service *service, const struct file_question *question, int err,
		   const void *items, size_t count, size_t item_bytes)
{
	const struct file_answer answer = { .ticket = question->ticket,
					    .err = err,
					    .count = (uint32_t)count };

	if (file_protocol_send(service->fd, &answer, sizeof(answer)) ||
	    file_protocol_send(service->fd, items, count * item_bytes))
		_exit(0);
}

static void answer_functions(struct service *service, const struct file_question *question,
			     int file)
{
	struct function_table table;
	const bool by_address = question->kind == FILE_FUNCTIONS_BY_ADDRESS;
	const int err = function_table_make(&table, file, by_address);

	answer(service, question, err, table.entries, table.count, sizeof(*table.entries));
	function_table_fini(&table);
}

static void answer_embedded(struct service *service, const struct file_question *question, int file)
{
	void *bytes = NULL;
	size_t length = 0;
	const int err = embedded_symbols_read(file, &bytes, &length);

	answer(service, question, err, bytes, length, 1);
	free(bytes);
}

static void answer_unwind(struct service *service, const struct file_question *question, int file)
{
	struct unwind_table table;
	const int err = unwind_table_make(&table, file);

	answer(service, question, err, table.rows, table.count, sizeof(*table.rows));
	unwind_table_fini(&table);
}

/* Takes the file over. */
static int open_lines(struct service *service, uint32_t number, int file)
{
	struct opened opened = { .number = number, .fd = file };
	int err = service->no_lines          ? -ENOENT :
		  service->count == MAX_OPEN ? -ENOSPC :
					       source_lines_open(&opened.lines, file);

	if (err)
		close(file);
	else
		service->open[service->count++] = opened;
	return err;
}

static void answer_lines(struct service *service, const struct file_question *question)
{
	struct source_line found[SOURCE_LINES_MOST];
	size_t i, count = 0;

	for (i = 0; i < service->count; i++)
		if (service->open[i].number == question->number)
			break;
	if (i < service->count)
		count = source_lines_find(service->open[i].lines, question->address, found,
					  SOURCE_LINES_MOST);
	answer(service, question, i < service->count ? 0 : -ENODATA, found, count, sizeof(*found));
}

static void forget_lines(struct service *service, uint32_t number)
{
	size_t i;

	for (i = 0; i < service->count; i++) {
		if (service->open[i].number != number)
			continue;
		source_lines_close(service->open[i].lines);
		close(service->open[i].fd);
		service->open[i] = service->open[--service->count];
		return;
	}
}

static void answer_question(struct service *service, const struct file_question *question, int file)
{
	switch (question->kind) {
	case FILE_FUNCTIONS:
	case FILE_FUNCTIONS_BY_ADDRESS:
		answer_functions(service, question, file);
		break;
	case FILE_EMBEDDED:
		answer_embedded(service, question, file);
		break;
	case FILE_UNWIND:
		answer_unwind(service, question, file);
		break;
	case FILE_PREPARE_LINES:
		answer(service, question, open_lines(service, question->number, file), NULL, 0, 0);
		return;
	case FILE_FORGET_LINES:
		forget_lines(service, question->number);
		return;
	default:
		answer_lines(service, question);
	}
	if (file >= 0)
		close(file);
}

/* It keeps nothing of its parent's, and has nothing to say to its terminal. */
static void let_go(int fd)
{
	const int null = open("/dev/null", O_RDWR);
	sigset_t none;
	int i;

	for (i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	if (dup2(fd, 3) < 0)
		_exit(1);
	close_range(4, ~0u, 0);
	prctl(PR_SET_NAME, "memscope-files");
	signal(SIGINT, SIG_IGN); /* the parent ends it when it is done */
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void file_service_run(int fd, bool lines)
{
	struct service service = { .fd = 3 };
	struct file_question question = { 0 };
	int file;

	let_go(fd);
	embedded_symbols_load();
	service.no_lines = !lines || source_lines_load();
	answer(&service, &question, sandbox_enter_reading(), NULL, 0, 0);
	/* Without a parent there is no question either. */
	while (!file_protocol_take(service.fd, &question, &file))
		answer_question(&service, &question, file);
	_exit(0);
}
