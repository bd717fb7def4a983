// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/file_reader.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "symbols/embedded_symbols.h"
#include "symbols/file_protocol.h"
#include "symbols/file_service.h"

#define TABLE_MS 20000  /* of a large library on a busy machine it takes a second */
#define WAIT_MS 200     /* for lines; the rings fill meanwhile */
#define HANG_MS 60000   /* debug information of some GB takes seconds */
#define BEGUN_MS 1000   /* the rest of an answer that has begun */
#define READY_MS 5000   /* until it has given up its privileges */
#define MAX_FAILURES 16 /* of the process, of which one is forgotten in a while */
#define FORGET_NS (60 * 1000000000ull)
#define MAX_AHEAD 256 /* questions that are not answered yet */

struct file_reader {
	pid_t child;        /* 0: there is none */
	int fd;             /* of a pair of sockets, the other of which the child has */
	uint64_t ticket;    /* of the last question */
	uint64_t answered;  /* that of the last answer */
	uint64_t behind_ns; /* since when an answer is late; 0: none is */
	bool lines;         /* the child loads libdw */
	bool ready;         /* the child has said so */
	bool used;          /* the child has been given a file */
	unsigned int failures;
	uint64_t failed_ns;        /* the last one */
	uint64_t used_cpu_ns;      /* by those that are gone */
	uint32_t asked[MAX_AHEAD]; /* by ticket: the number of the file */
	struct map prepared;       /* numbers of files that this child has been given */
	struct map refused;        /* over which a child has failed */
};

/* ---- its parent ------------------------------------------------------------------------------ */

static int start(struct file_reader *reader)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	reader->child = fork();
	if (reader->child < 0) {
		err = -errno;
		reader->child = 0;
		close(pair[0]);
		close(pair[1]);
		return err;
	}
	if (!reader->child)
		file_service_run(pair[1], reader->lines);
	close(pair[1]);
	reader->fd = pair[0];
	reader->ready = reader->used = false;
	reader->answered = reader->ticket;
	map_fini(&reader->prepared);
	return 0;
}

static uint64_t child_cpu_ns(const struct file_reader *reader)
{
	struct timespec used = { 0 };
	clockid_t clock;

	if (reader->child && !clock_getcpuclockid(reader->child, &clock))
		clock_gettime(clock, &used);
	return used.tv_sec * 1000000000ull + used.tv_nsec;
}

uint64_t file_reader_cpu_ns(const struct file_reader *reader)
{
	return reader ? reader->used_cpu_ns + child_cpu_ns(reader) : 0;
}

static void stop(struct file_reader *reader)
{
	if (!reader->child)
		return;
	reader->behind_ns = 0;
	reader->used_cpu_ns += child_cpu_ns(reader);
	close(reader->fd);
	kill(reader->child, SIGKILL);
	while (waitpid(reader->child, NULL, 0) < 0 && errno == EINTR)
		;
	reader->child = 0;
}

void file_reader_renew(struct file_reader *reader)
{
	if (reader->used)
		stop(reader);
}

/* It is of no more use. Returns the error for who asked. */
static int give_up(struct file_reader *reader, int err)
{
	stop(reader);
	reader->failed_ns = clock_monotonic_ns();
	if (++reader->failures == MAX_FAILURES)
		log_warning("the process that reads symbols has failed over %u files: fewer"
			    " are read from now on, so call stacks may lack names",
			    MAX_FAILURES);
	return err == -ETIMEDOUT ? err : -EIO;
}

/* One that cannot give up its privileges is not asked, and no other one could. */
static int await_ready(struct file_reader *reader)
{
	struct file_answer answer = { 0 };
	int err = file_protocol_receive(reader->fd, &answer, sizeof(answer),
					clock_monotonic_ns() + READY_MS * 1000000ull);

	if (err)
		return give_up(reader, err);
	reader->ready = true;
	if (!answer.err)
		return 0;
	log_warning("the process that reads symbols cannot give up its privileges (%s), so it reads"
		    " none: call stacks have no names and end early",
		    strerror(answer.err < 0 ? -answer.err : EPROTO));
	stop(reader);
	reader->failures = UINT_MAX;
	return -ECONNABORTED;
}

static int begin(struct file_reader *reader)
{
	int err = 0;

	if (reader->failures >= MAX_FAILURES && reader->failures < UINT_MAX &&
	    clock_monotonic_ns() - reader->failed_ns > FORGET_NS)
		reader->failures = MAX_FAILURES - 1;
	if (reader->failures >= MAX_FAILURES)
		return -ECONNABORTED;
	if (!reader->child)
		err = start(reader);
	return err || reader->ready ? err : await_ready(reader);
}

/* The items of an answer; `most` bounds what the process may say. */
static int take_items(struct file_reader *reader, const struct file_answer *answer, void **items,
		      size_t item_bytes, size_t most, uint64_t until_ns)
{
	int err;

	*items = NULL;
	if (answer->count > most)
		return -EPIPE;
	if (!answer->count)
		return 0;
	*items = malloc(answer->count * item_bytes);
	err = *items ? file_protocol_receive(reader->fd, *items, answer->count * item_bytes,
					     until_ns) :
		       -ENOMEM;
	if (err) {
		free(*items);
		*items = NULL;
	}
	return err;
}

/* Asks, and waits for the whole answer. */
static int ask(struct file_reader *reader, enum file_question_kind kind, int fd, size_t item_bytes,
	       size_t most, void **items, size_t *count)
{
	const uint64_t until_ns = clock_monotonic_ns() + TABLE_MS * 1000000ull;
	struct file_question question = { .kind = kind };
	struct file_answer answer;
	int err = begin(reader);

	*items = NULL;
	*count = 0;
	if (err)
		return err;
	reader->used = true;
	question.ticket = ++reader->ticket;
	err = file_protocol_ask(reader->fd, &question, fd);
	if (!err)
		err = file_protocol_receive(reader->fd, &answer, sizeof(answer), until_ns);
	if (!err && answer.ticket != question.ticket)
		err = -EPIPE;
	if (!err)
		err = take_items(reader, &answer, items, item_bytes, most, until_ns);
	if (err)
		return give_up(reader, err);
	reader->answered = answer.ticket;
	*count = answer.count;
	return answer.err < 0 ? answer.err : 0;
}

int file_reader_functions(struct file_reader *reader, int fd, bool by_address,
			  struct function_table *table)
{
	void *items;
	int err = ask(reader, by_address ? FILE_FUNCTIONS_BY_ADDRESS : FILE_FUNCTIONS, fd,
		      sizeof(*table->entries), FUNCTION_TABLE_MOST, &items, &table->count);

	table->entries = items;
	table->capacity = table->count;
	return err;
}

int file_reader_embedded(struct file_reader *reader, int fd, void **bytes, size_t *length)
{
	return ask(reader, FILE_EMBEDDED, fd, 1, EMBEDDED_SYMBOLS_MOST, bytes, length);
}

int file_reader_unwind(struct file_reader *reader, int fd, struct unwind_table *table)
{
	void *items;
	int err = ask(reader, FILE_UNWIND, fd, sizeof(*table->rows), MS_UNWIND_ROWS_MOST, &items,
		      &table->count);

	table->rows = items;
	table->capacity = table->count;
	return err;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/*
 * Takes the next answer about lines; those of questions that nobody waits for any more are dropped.
 * Returns how many lines, or -errno.
 */
static int take_lines(struct file_reader *reader, uint64_t until_ns, struct source_line *found,
		      size_t most, int *err)
{
	struct file_answer answer;
	void *items = NULL;
	size_t i, count;

	*err = file_protocol_receive(reader->fd, &answer, sizeof(answer), until_ns);
	if (*err)
		return 0;
	/* What has begun to come comes whole, if nothing is wrong. */
	*err = answer.ticket == reader->answered + 1 ?
		       take_items(reader, &answer, &items, sizeof(*found), SOURCE_LINES_MOST,
				  clock_monotonic_ns() + BEGUN_MS * 1000000ull) :
		       -EPIPE;
	if (*err)
		return 0;
	reader->answered = answer.ticket;
	count = answer.count < most ? answer.count : most;
	if (count)
		memcpy(found, items, count * sizeof(*found));
	free(items);
	for (i = 0; i < count; i++) {
		found[i].function[SOURCE_LINE_TEXT_BYTES - 1] = '\0';
		found[i].file[SOURCE_LINE_TEXT_BYTES - 1] = '\0';
	}
	return answer.err < 0 ? answer.err : (int)count;
}

/* Takes answers up to the last question's. Returns the last one. */
static int catch_up(struct file_reader *reader, struct source_line *found, size_t most)
{
	const uint64_t now = clock_monotonic_ns();
	const uint64_t until_ns = reader->behind_ns ? now : now + WAIT_MS * 1000000ull;
	int result = 0, err = 0;

	while (!err && reader->answered < reader->ticket)
		result = take_lines(reader, until_ns, found, most, &err);
	if (!err) {
		reader->behind_ns = 0;
		return result;
	}
	if (err == -ETIMEDOUT && !reader->behind_ns)
		reader->behind_ns = now;
	if (err == -ETIMEDOUT && now - reader->behind_ns < HANG_MS * 1000000ull)
		return -EAGAIN;
	map_set(&reader->refused, reader->asked[(reader->answered + 1) % MAX_AHEAD], 1);
	return give_up(reader, err);
}

static int ask_lines(struct file_reader *reader, struct file_question *question, int fd)
{
	int err;

	if (reader->ticket - reader->answered >= MAX_AHEAD)
		return -EAGAIN;
	question->ticket = reader->ticket + 1;
	err = file_protocol_ask(reader->fd, question, fd);
	if (err)
		return err == -EAGAIN ? err : give_up(reader, err);
	reader->ticket++;
	reader->asked[reader->ticket % MAX_AHEAD] = question->number;
	return 0;
}

int file_reader_prepare_lines(struct file_reader *reader, uint32_t number, int fd)
{
	struct file_question question = { .kind = FILE_PREPARE_LINES, .number = number };
	int err = begin(reader);

	if (!err)
		err = ask_lines(reader, &question, fd);
	return err ? err : map_set(&reader->prepared, number, 1);
}

int file_reader_forget_lines(struct file_reader *reader, uint32_t number)
{
	struct file_question question = { .kind = FILE_FORGET_LINES, .number = number };
	int err;

	if (!reader->child || !map_get(&reader->prepared, number))
		return 0;
	err = file_protocol_ask(reader->fd, &question, -1);
	if (err == -EAGAIN)
		return err;
	if (err)
		give_up(reader, err);
	else
		map_remove(&reader->prepared, number);
	return 0;
}

int file_reader_lines(struct file_reader *reader, uint32_t number, int fd, uint64_t address,
		      struct source_line *found, size_t most)
{
	struct file_question question = { .kind = FILE_LINES,
					  .number = number,
					  .address = address };
	int err = begin(reader);

	if (!err && map_get(&reader->refused, number))
		return -ENODATA;
	if (!err && !map_get(&reader->prepared, number))
		err = file_reader_prepare_lines(reader, number, fd);
	if (!err)
		err = catch_up(reader, found, most);
	/* How the file was prepared does not matter: the next answer says it again. */
	if (err == -EAGAIN || !reader->child)
		return err;
	err = ask_lines(reader, &question, -1);
	return err ? err : catch_up(reader, found, most);
}

int file_reader_open(struct file_reader **result, bool lines)
{
	struct file_reader *reader = calloc(1, sizeof(*reader));
	int err = -ENOMEM;

	if (reader) {
		reader->lines = lines;
		err = start(reader);
	}
	if (err)
		free(reader);
	else
		*result = reader;
	return err;
}

void file_reader_close(struct file_reader *reader)
{
	if (!reader)
		return;
	stop(reader);
	map_fini(&reader->prepared);
	map_fini(&reader->refused);
	free(reader);
}
