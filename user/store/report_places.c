// SPDX-License-Identifier: BSD-2-Clause
#include "store/report_places.h"

#include <errno.h>

#include "base/log.h"

bool report_places_is(const struct report_time *time)
{
	return time->kind == REPORT_TIME_OOM || time->kind == REPORT_TIME_PEAK;
}

/* Of many failures, some are described: a number can name no other. */
static void say_too_far(struct string *why, const struct report_recording *whole, size_t number)
{
	const uint64_t more = analysis_account(whole->analysis)->oom_not_listed;
	const unsigned long long all = more + whole->ooms_count;

	if (more)
		string_append_format(why,
				     "memory ran out %llu times, of which %zu are described: oom:1"
				     " to oom:%zu name these, and a time (--at) any other",
				     all, whole->ooms_count, whole->ooms_count);
	else
		string_append_format(why, "memory ran out %zu time%s, not %zu", whole->ooms_count,
				     whole->ooms_count > 1 ? "s" : "", number);
}

static int set_oom(struct report_time *time, const struct report_recording *whole, const char *path,
		   struct string *why)
{
	const size_t count = whole->ooms_count;
	size_t place = time->number ? time->number - 1 : report_gravest_oom(whole);

	if (!count) {
		string_append_format(why, "memory never ran out%s",
				     whole->suppressed ?
					     ", or --suppress leaves out all times that it did" :
					     "");
		return -ESRCH;
	}
	if (place >= count) {
		say_too_far(why, whole, time->number);
		return -ESRCH;
	}
	if (count > 1 && !time->number)
		log_warning("%s: memory ran out %zu times; failure %zu, %s, is taken (oom:1 to"
			    " oom:%zu choose one)",
			    path, count, place + 1,
			    report_is_for_oom(whole) ? "which this was written for" :
			    place                    ? "the gravest" :
						       "the first",
			    count);
	time->ns = whole->ooms[place]->last_ts_ns;
	return 0;
}

static int set_peak(struct report_time *time, const struct report_recording *whole,
		    struct string *why)
{
	uint64_t most_bytes = 0;
	size_t i;

	for (i = 0; i < whole->devices_count; i++) {
		if (whole->devices[i].peak_bytes <= most_bytes)
			continue;
		most_bytes = whole->devices[i].peak_bytes;
		time->ns = whole->devices[i].peak_ts_ns;
	}
	if (most_bytes)
		return 0;
	string_append_text(why, "no memory of a device was allocated, so there is no peak");
	return -ESRCH;
}

int report_places_set(struct report_time *time, const struct report_recording *whole,
		      const char *path, struct string *why)
{
	switch (time->kind) {
	case REPORT_TIME_OOM:
		return set_oom(time, whole, path, why);
	case REPORT_TIME_PEAK:
		return set_peak(time, whole, why);
	default:
		return 0;
	}
}
