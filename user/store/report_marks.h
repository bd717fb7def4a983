/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When the marks of a recording were: for times that name one (`--from mark:NAME`). Finding them
 * takes reading the recording.
 */
#ifndef MEMSCOPE_STORE_REPORT_MARKS_H
#define MEMSCOPE_STORE_REPORT_MARKS_H

#include "base/string.h"
#include "report/report.h"
#include "store/dump_set.h"
#include "store/replay.h"
#include "store/report_time.h"

#define REPORT_MARKS_TIMES 8

struct report_marks {
	struct report_time *times[REPORT_MARKS_TIMES]; /* of kind REPORT_TIME_MARK; NULL: no more */
	const struct report_options *options;          /* whose marks count */
	/* 0 or -errno: ends the reading; NULL: none. */
	int (*go_on)(void *context);
	void *context;
	struct string *why; /* what is said of a mark that is not there is appended to it */
};

/*
 * Finds them in that recording and sets their `ns`. Returns 0; -ESRCH: it has no mark of a name,
 * and `why` has the names that it has; or -errno.
 */
int report_marks_find(const struct report_marks *marks, struct dump_set *set, size_t recording,
		      const struct replay_limits *limits);

#endif /* MEMSCOPE_STORE_REPORT_MARKS_H */
