/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the agent's clients get of its history.
 */
#ifndef MEMSCOPE_AGENT_HISTORY_ANSWER_H
#define MEMSCOPE_AGENT_HISTORY_ANSWER_H

#include "agent/request.h"
#include "base/writer.h"
#include "history/reader.h"

/*
 * The moments in seconds since 1970, into the query: without the first, `default_s` before the
 * second, and without that, `end_s`. The history is that of `first_s` to `end_s`. Returns 0, or
 * -EINVAL if there is nothing in between.
 */
int history_answer_range(struct history_query *query, const struct report_time *from,
			 const struct report_time *to, uint64_t first_s, uint64_t end_s,
			 uint64_t default_s);

/*
 * Writes it as JSON; `path` is the database. Returns 0 or -errno: -ENOENT if there is no history,
 * -EINVAL if it is not of that time.
 */
int history_answer_write(const char *path, const struct request *request, struct writer *writer);

#endif /* MEMSCOPE_AGENT_HISTORY_ANSWER_H */
