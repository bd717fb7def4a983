// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbols/symbol_files.h"

#define LINKS 8 /* so many at each of 8 depths lead to more files than are taken */

/* A file may be a link; a directory that leads back up is not looked through again and again. */
static void test_links(void **state)
{
	char directory[] = "/tmp/memscope-symbols-XXXXXX", path[64], exe[PATH_MAX] = "";
	const struct symbol_files_options options = { .directory = directory };
	struct symbol_files *files = NULL;
	int i;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	for (i = 0; i <= LINKS; i++) {
		snprintf(path, sizeof(path), "%s/%d", directory, i);
		assert_int_equal(symlink(i ? "." : exe, path), 0);
	}
	assert_int_equal(symbol_files_open(&files, &options), 0);
	symbol_files_close(files);
	for (i = 0; i <= LINKS; i++) {
		snprintf(path, sizeof(path), "%s/%d", directory, i);
		unlink(path);
	}
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_links) };

	return cmocka_run_group_tests_name("files with symbols", tests, NULL, NULL);
}
