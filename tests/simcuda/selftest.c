/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the tests of the selftest-*.c file that it is linked with: each one by executing this
 * program again with the test's name.
 */
#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest.h"

#define MAX_THREADS 64
#define LINE_BYTES 4096

static char log_path[] = "/tmp/simcuda-selftest-XXXXXX";

unsigned int selftest_count(const char *lines, const char *regex)
{
	unsigned int count = 0;
	char line[LINE_BYTES];
	const char *end;
	regex_t compiled;

	if (regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB))
		abort();
	for (; (end = strchr(lines, '\n')); lines = end + 1) {
		size_t length = (size_t)(end - lines);

		CHECK(length < sizeof(line));
		memcpy(line, lines, length);
		line[length] = 0;
		count += !regexec(&compiled, line, 0, NULL, 0);
	}
	regfree(&compiled);
	return count;
}

struct thread {
	pthread_t id;
	void (*fn)(unsigned int index);
	unsigned int index;
};

static void *thread_main(void *argument)
{
	struct thread *thread = argument;

	thread->fn(thread->index);
	return NULL;
}

void selftest_threads(unsigned int count, void (*fn)(unsigned int index))
{
	struct thread threads[MAX_THREADS];

	CHECK(count <= MAX_THREADS);
	for (unsigned int i = 0; i < count; i++) {
		threads[i].fn = fn;
		threads[i].index = i;
		CHECK(!pthread_create(&threads[i].id, NULL, thread_main, &threads[i]));
	}
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i].id, NULL);
}

static char *read_log(void)
{
	FILE *file = fopen(log_path, "r");
	char *lines = NULL;
	size_t size = 0;

	CHECK(file);
	if (getdelim(&lines, &size, 0, file) < 0)
		lines = strdup("");
	fclose(file);
	return lines;
}

static void execute(const char *self, const struct selftest *test)
{
	for (size_t i = 0; i < sizeof(test->env) / sizeof(*test->env) && test->env[i]; i++)
		putenv((char *)test->env[i]);
	if (test->check_log)
		setenv("SIMCUDA_LOG", log_path, 1);
	if (test->signal) /* its message is expected, and no news */
		CHECK(freopen("/dev/null", "w", stderr));
	execl("/proc/self/exe", self, test->name, (char *)NULL);
	_exit(127);
}

/* The status of a child that runs fn(self, test). */
static int child(void (*fn)(const char *self, const struct selftest *test), const char *self,
		 const struct selftest *test)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		fn(self, test);
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void check_log(const char *self, const struct selftest *test)
{
	char *lines = read_log();

	(void)self;
	test->check_log(lines);
	free(lines);
}

static int passes(const char *self, const struct selftest *test)
{
	int status;

	CHECK(!truncate(log_path, 0));
	status = child(execute, self, test);
	if (test->signal)
		return WIFSIGNALED(status) && WTERMSIG(status) == test->signal;
	return !status && (!test->check_log || !child(check_log, self, test));
}

static int run_one(const char *name)
{
	for (const struct selftest *test = selftests; test->name; test++) {
		if (strcmp(test->name, name))
			continue;
		test->run();
		return 0;
	}
	fprintf(stderr, "no such test: %s\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	unsigned int count = 0, failed = 0;
	int fd;

	if (argc == 2)
		return run_one(argv[1]);
	fd = mkstemp(log_path);
	CHECK(fd >= 0);
	close(fd);
	for (const struct selftest *test = selftests; test->name; test++) {
		count++;
		if (passes(argv[0], test))
			continue;
		failed++;
		fprintf(stderr, "%s: %s: failed\n", argv[0], test->name);
	}
	unlink(log_path);
	printf("%s: %u of %u tests passed\n", argv[0], count - failed, count);
	return failed ? 1 : 0;
}
