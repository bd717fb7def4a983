// SPDX-License-Identifier: BSD-2-Clause
/*
 * What tracing costs: `make bench`, as root. Every table is printed by a file of its own.
 *
 * usage: bench DIRECTORY MEMSCOPE LIBCUDA [ROUNDS [TABLE ...]]
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"

void bench_die(const char *what, int err)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static char *path_of(const char *directory, const char *name)
{
	char *absolute = realpath(directory, NULL), *path = NULL;

	if (!absolute || asprintf(&path, "%s/%s", absolute, name) < 0)
		bench_die(directory, ENOENT);
	free(absolute);
	return path;
}

static void print_machine(void)
{
	char line[256], model[200] = "unknown";
	FILE *file = fopen("/proc/cpuinfo", "re");
	struct utsname kernel;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "model name : %199[^\n]", model) == 1)
			break;
	if (file)
		fclose(file);
	uname(&kernel);
	printf("%s, %ld CPUs, Linux %s\n\n", model, sysconf(_SC_NPROCESSORS_ONLN), kernel.release);
}

static const struct {
	const char *name;
	void (*print)(struct bench *bench);
} tables[] = {
	{ "calls", bench_calls },   { "bystander", bench_bystander }, { "attach", bench_attach },
	{ "first", bench_first },   { "consumer", bench_consumer },   { "rates", bench_rates },
	{ "record", bench_record },
};

static bool is_table(const char *name)
{
	size_t table;

	for (table = 0; table < sizeof(tables) / sizeof(*tables); table++)
		if (!strcmp(name, tables[table].name))
			return true;
	return false;
}

/* All of them if none is named. */
static void print_tables(struct bench *bench, char **names, int count)
{
	size_t table;
	int i;

	for (table = 0; table < sizeof(tables) / sizeof(*tables); table++) {
		for (i = 0; i < count && strcmp(names[i], tables[table].name) != 0; i++)
			;
		if (!count || i < count)
			tables[table].print(bench);
	}
}

int main(int argc, char **argv)
{
	struct bench bench = { .rounds = argc > 4 ? atoi(argv[4]) : 15 };
	int i;

	if (argc < 4 || bench.rounds < 1 || bench.rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: bench DIRECTORY MEMSCOPE LIBCUDA [ROUNDS [TABLE ...]]\n");
		return 2;
	}
	for (i = 5; i < argc; i++) {
		if (is_table(argv[i]))
			continue;
		fprintf(stderr, "bench: there is no table \"%s\"\n", argv[i]);
		return 2;
	}
	log_set_level(LOG_WARNING);
	setlinebuf(stdout);
	bench.directory = argv[1];
	bench.target_path = path_of(argv[1], "target");
	bench.library_path = path_of(argv[1], "libtarget.so");
	bench.interposer_path = path_of(argv[1], "libinterposer.so");
	bench.errors_path = path_of(argv[1], "trace.err");
	bench.memscope_path = argv[2];
	bench.libcuda_path = argv[3];
	bench.cache.nops = !feature_test(&bench.features, FEATURE_UPROBE_NOPS);
	targets_start(&bench);
	print_machine();
	print_tables(&bench, argv + 5, argc > 5 ? argc - 5 : 0);
	targets_end(&bench);
	library_cache_fini(&bench.cache);
	free(bench.target_path);
	free(bench.library_path);
	free(bench.interposer_path);
	free(bench.errors_path);
	return 0;
}
