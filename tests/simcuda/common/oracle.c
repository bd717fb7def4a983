/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See oracle.h. Each library that links this file has buffers of its own; O_APPEND and whole lines
 * are what lets them, and several processes, share one log.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "env.h"
#include "oracle.h"

#define BUFFER_BYTES (64 * 1024)
#define LINE_BYTES 4096   /* room that oracle_begin guarantees */
#define STRING_BYTES 1500 /* longest value; C++ kernel names do get long */

struct oracle_line {
	pthread_mutex_t lock; /* against the exit of the process while this thread still runs */
	struct oracle_line *next;
	struct oracle_line **link; /* what points here */
	pid_t tid;
	size_t used;
	char data[BUFFER_BYTES];
};

static int log_fd = -1;
static bool exiting; /* nobody will flush again: write every line at once */
static pid_t pid;
static pthread_key_t thread_key;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct oracle_line *list;
static __thread struct oracle_line *mine;

static void flush(struct oracle_line *line)
{
	size_t done = 0;

	while (done < line->used) {
		ssize_t n = write(log_fd, line->data + done, line->used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			env_fatal("SIMCUDA_LOG", getenv("SIMCUDA_LOG"), strerror(errno));
		done += (size_t)n;
	}
	line->used = 0;
}

static struct oracle_line *line_new(void)
{
	struct oracle_line *line = malloc(sizeof(*line));

	if (!line)
		env_fatal("SIMCUDA_LOG", getenv("SIMCUDA_LOG"), "out of memory");
	pthread_mutex_init(&line->lock, NULL);
	line->tid = (pid_t)syscall(SYS_gettid);
	line->used = 0;

	pthread_mutex_lock(&list_lock);
	line->next = list;
	line->link = &list;
	if (list)
		list->link = &line->next;
	list = line;
	pthread_mutex_unlock(&list_lock);
	return line;
}

static void thread_exit(void *value)
{
	struct oracle_line *line = value;

	pthread_mutex_lock(&list_lock);
	*line->link = line->next;
	if (line->next)
		line->next->link = line->link;
	pthread_mutex_unlock(&list_lock);
	flush(line);
	mine = NULL;
	free(line);
}

static void before_fork(void)
{
	pthread_mutex_lock(&list_lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&list_lock);
}

/* The lines collected so far are the parent's, and the other threads did not come along. */
static void after_fork_child(void)
{
	struct oracle_line *next;

	for (struct oracle_line *line = list; line; line = next) {
		next = line->next;
		if (line != mine)
			free(line);
	}
	list = mine;
	if (mine) {
		mine->next = NULL;
		mine->link = &list;
		mine->used = 0;
		mine->tid = (pid_t)syscall(SYS_gettid);
	}
	pid = getpid();
	pthread_mutex_unlock(&list_lock);
}

/* Runs after the program's own destructors and atexit functions, most of which still call CUDA. */
__attribute__((destructor)) static void process_exit(void)
{
	pthread_mutex_lock(&list_lock);
	__atomic_store_n(&exiting, true, __ATOMIC_RELAXED);
	for (struct oracle_line *line = list; line; line = line->next) {
		pthread_mutex_lock(&line->lock);
		flush(line);
		pthread_mutex_unlock(&line->lock);
	}
	pthread_mutex_unlock(&list_lock);
}

bool oracle_open(void)
{
	const char *path = getenv("SIMCUDA_LOG");

	if (!path)
		return false;
	log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (log_fd < 0)
		env_fatal("SIMCUDA_LOG", path, strerror(errno));
	pid = getpid();
	pthread_key_create(&thread_key, thread_exit);
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	return true;
}

uint64_t oracle_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void append(struct oracle_line *line, const char *text, size_t length)
{
	memcpy(line->data + line->used, text, length);
	line->used += length;
}

static void append_number(struct oracle_line *line, uint64_t value, unsigned int base)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	append(line, digits + at, sizeof(digits) - at);
}

static void append_dec(struct oracle_line *line, char before, uint64_t value)
{
	line->data[line->used++] = before;
	append_number(line, value, 10);
}

struct oracle_line *oracle_begin(const char *name, uint64_t start_ns, const char *via, int result)
{
	struct oracle_line *line = mine;
	uint64_t end_ns = oracle_now_ns();

	if (log_fd < 0)
		return NULL;
	if (!line) {
		mine = line = line_new();
		pthread_setspecific(thread_key, line);
	}
	pthread_mutex_lock(&line->lock);
	if (line->used > BUFFER_BYTES - LINE_BYTES)
		flush(line);
	append_number(line, start_ns, 10);
	append_dec(line, ' ', end_ns);
	append_dec(line, ' ', (uint64_t)pid);
	append_dec(line, ' ', (uint64_t)line->tid);
	oracle_str(line, " ", name);
	oracle_dec(line, " result=", result);
	if (via)
		oracle_str(line, " via=", via);
	return line;
}

void oracle_end(struct oracle_line *line)
{
	line->data[line->used++] = '\n';
	if (__atomic_load_n(&exiting, __ATOMIC_RELAXED))
		flush(line);
	pthread_mutex_unlock(&line->lock);
}

void oracle_hex(struct oracle_line *line, const char *key, uint64_t value)
{
	append(line, key, strlen(key));
	append(line, "0x", 2);
	append_number(line, value, 16);
}

void oracle_dec(struct oracle_line *line, const char *key, int64_t value)
{
	append(line, key, strlen(key));
	if (value < 0)
		line->data[line->used++] = '-';
	append_number(line, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10);
}

/* Spaces separate keys, so a value has none. */
void oracle_str(struct oracle_line *line, const char *key, const char *value)
{
	size_t length = value ? strnlen(value, STRING_BYTES) : 0;
	char *at;

	append(line, key, strlen(key));
	at = line->data + line->used;
	append(line, value ? value : "?", value ? length : 1);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)at[i] <= ' ')
			at[i] = '_';
}

void oracle_xyz(struct oracle_line *line, const char *key, uint64_t x, uint64_t y, uint64_t z)
{
	append(line, key, strlen(key));
	append_number(line, x, 10);
	append_dec(line, ',', y);
	append_dec(line, ',', z);
}
