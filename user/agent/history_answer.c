// SPDX-License-Identifier: BSD-2-Clause
#include "agent/history_answer.h"

#include <errno.h>

#include "render/history.h"

#define SECOND_NS 1000000000ull
#define DEFAULT_S 3600
#define DAY_S 86400
#define ROWS 50

/* A time of day is the last one before the end: a history can have a year of days. */
static uint64_t moment(const struct report_time *time, uint64_t first_s, uint64_t end_s,
		       uint64_t otherwise_s)
{
	const bool of_last_day = time->kind == REPORT_TIME_OF_DAY && end_s > first_s + DAY_S;
	const struct report_time_frame frame = {
		.first_ns = (of_last_day ? end_s - DAY_S : first_s) * SECOND_NS,
		.last_ns = end_s * SECOND_NS,
	};

	return time->kind == REPORT_TIME_NONE ? otherwise_s :
						report_time_moment(time, &frame) / SECOND_NS;
}

int history_answer_range(struct history_query *query, const struct report_time *from,
			 const struct report_time *to, uint64_t first_s, uint64_t end_s,
			 uint64_t default_s)
{
	query->to_s = moment(to, first_s, end_s, end_s);
	query->from_s =
		moment(from, first_s, end_s, query->to_s > default_s ? query->to_s - default_s : 0);
	/* "18:00" to "20:00" at seven: the same day. */
	if (from->kind == REPORT_TIME_OF_DAY && to->kind == REPORT_TIME_OF_DAY &&
	    query->to_s <= query->from_s)
		query->to_s += DAY_S;
	/* Nobody has asked for what was before. */
	if (from->kind == REPORT_TIME_NONE && query->from_s < first_s && first_s < query->to_s)
		query->from_s = first_s;
	return query->from_s < query->to_s ? 0 : -EINVAL;
}

static int write_usage(struct history_reader *reader, const struct history_query *query,
		       struct writer *writer)
{
	struct history_usage usage;
	const struct history_view view = { .query = query, .usage = &usage, .top = ROWS };
	int err = history_reader_query(reader, query, &usage);

	if (!err)
		history_append_json(&writer->text, &view);
	history_usage_fini(&usage);
	return err;
}

int history_answer_write(const char *path, const struct request *request, struct writer *writer)
{
	struct history_query query = { .by = (enum history_by)request->by,
				       .points = true,
				       .rows_pointed = ROWS };
	struct history_reader *reader;
	uint64_t first_s, end_s;
	int err = history_reader_open(&reader, path);

	if (err)
		return err;
	err = history_reader_range(reader, &first_s, &end_s);
	if (!err && !end_s)
		err = -ENOENT;
	if (!err)
		err = history_answer_range(&query, &request->from, &request->to, first_s, end_s,
					   DEFAULT_S);
	if (!err)
		err = write_usage(reader, &query, writer);
	history_reader_close(reader);
	return err;
}
