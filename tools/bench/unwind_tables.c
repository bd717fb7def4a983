// SPDX-License-Identifier: BSD-2-Clause
/* How fast unwind tables are made: `unwind_tables FILE...`, of each the median of five. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "symbols/unwind_table.h"

#define ROUNDS 5

static double cpu_seconds(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static int compare(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	double seconds[ROUNDS];
	size_t rows = 0;
	int i, round;

	for (i = 1; i < argc; i++) {
		for (round = 0; round < ROUNDS; round++) {
			const int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
			const double before = cpu_seconds();
			struct unwind_table table;

			if (unwind_table_make(&table, fd))
				return 2;
			seconds[round] = cpu_seconds() - before;
			rows = table.count;
			unwind_table_fini(&table);
			close(fd);
		}
		qsort(seconds, ROUNDS, sizeof(*seconds), compare);
		printf("%s %zu %.4f\n", argv[i], rows, seconds[ROUNDS / 2]);
	}
	return 0;
}
