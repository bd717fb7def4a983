/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recordings of each version of the format that are kept (dump_golden_test.c).
 */
#ifndef MEMSCOPE_TESTS_GOLDEN_DUMPS_H
#define MEMSCOPE_TESTS_GOLDEN_DUMPS_H

#include "dumps.h"

static const char *const golden_dumps[] = { "1.0", "1.1", "1.2", "1.3", "1.4" };

#define GOLDEN_DUMPS (sizeof(golden_dumps) / sizeof(*golden_dumps))

static inline struct dump_reader *golden_dump_open(const char *version)
{
	struct dump_reader *reader;
	char path[128];

	snprintf(path, sizeof(path), "tests/golden/dump-%s.mscope", version);
	assert_int_equal(dump_reader_open(&reader, path), 0);
	return reader;
}

#endif /* MEMSCOPE_TESTS_GOLDEN_DUMPS_H */
