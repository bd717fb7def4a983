// SPDX-License-Identifier: BSD-2-Clause
#include "store/report_time.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/duration.h"

#define SECOND 1000000000ull
#define DAY (86400 * SECOND)

/* ---- what it says ---------------------------------------------------------------------------- */

static int parse_relative(struct report_time *time, const char *text)
{
	time->kind = *text == '-' ? REPORT_TIME_BEFORE_END : REPORT_TIME_SINCE_BEGIN;
	text += *text == '-' || *text == '+';
	return duration_parse(text, &time->ns);
}

static bool is_digits(const char *text, size_t length)
{
	return strspn(text, "0123456789") >= length;
}

static long two_digits(const char *text)
{
	return (text[0] - '0') * 10l + (text[1] - '0');
}

/* "Z", "+hh:mm", "+hhmm", "+hh" or nothing, which is UTC. */
static int parse_zone(const char *text, long *seconds)
{
	const long sign = *text == '-' ? -1 : 1;
	const char *minutes;

	*seconds = 0;
	if (!*text || !strcmp(text, "Z") || !strcmp(text, "z"))
		return 0;
	if ((*text != '+' && *text != '-') || !is_digits(text + 1, 2))
		return -EINVAL;
	minutes = text + 3;
	minutes += *minutes == ':';
	if (*minutes && (!is_digits(minutes, 2) || minutes[2]))
		return -EINVAL;
	*seconds = sign * two_digits(text + 1) * 3600;
	*seconds += *minutes ? sign * two_digits(minutes) * 60 : 0;
	return 0;
}

/* "15:04", "15:04:05", "15:04:05.5" and a zone: into nanoseconds after midnight, UTC. */
static int parse_clock(const char *text, int64_t *ns)
{
	struct tm parts = { 0 };
	double fraction = 0;
	const char *rest;
	char *end;
	long zone;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	rest = strptime(text, "%H:%M:%S", &parts);
	if (rest && *rest == '.' && isdigit((unsigned char)rest[1])) {
		fraction = strtod(rest, &end);
		rest = end;
	}
	if (!rest) {
		parts = (struct tm){ 0 };
		rest = strptime(text, "%H:%M", &parts);
	}
	if (!rest || parse_zone(rest, &zone))
		return -EINVAL;
	*ns = (parts.tm_hour * 3600 + parts.tm_min * 60 + parts.tm_sec - zone) * (int64_t)SECOND +
	      (int64_t)(fraction * SECOND);
	return 0;
}

static int parse_of_day(struct report_time *time, const char *text)
{
	int64_t ns;
	int err = parse_clock(text, &ns);

	time->kind = REPORT_TIME_OF_DAY;
	time->ns = err ? 0 : (uint64_t)(ns + (int64_t)(2 * DAY)) % DAY;
	return err;
}

static int parse_wall(struct report_time *time, const char *text)
{
	struct tm parts = { 0 };
	const char *rest = strptime(text, "%Y-%m-%d", &parts);
	int64_t days, ns;

	if (!rest || (*rest && *rest != 'T' && *rest != 't' && *rest != ' '))
		return -EINVAL;
	/* A day is when it begins. */
	ns = 0;
	if (*rest && parse_clock(rest + 1, &ns))
		return -EINVAL;
	days = timegm(&parts) / (time_t)(DAY / SECOND);
	if (days < -1 || days >= INT64_MAX / (int64_t)DAY - 2)
		return -EINVAL;
	ns += days * (int64_t)DAY;
	time->kind = REPORT_TIME_WALL;
	time->ns = (uint64_t)ns;
	return ns < 0 ? -EINVAL : 0;
}

/* "@1764000000.5", as `date +%s` has it. */
static int parse_epoch(struct report_time *time, const char *text)
{
	unsigned long long seconds;
	double fraction = 0;
	char *rest;

	if (*text != '@' || !isdigit((unsigned char)text[1]))
		return -EINVAL;
	seconds = strtoull(text + 1, &rest, 10);
	if (*rest == '.' && isdigit((unsigned char)rest[1]))
		fraction = strtod(rest, &rest);
	if (*rest || seconds > INT64_MAX / SECOND - 1)
		return -EINVAL;
	time->kind = REPORT_TIME_WALL;
	time->ns = seconds * SECOND + (uint64_t)(fraction * SECOND);
	return 0;
}

/* When that day begins, or began, by this machine's clock; UTC. */
static int parse_day(struct report_time *time, bool before)
{
	const uint64_t now_ns = clock_monotonic_ns() + clock_realtime_offset_ns();

	time->kind = REPORT_TIME_WALL;
	time->ns = now_ns - now_ns % DAY - (before ? DAY : 0);
	return 0;
}

/* "start", "end"; "now" and "now-5m", of which a recording knows no later moment than its end. */
static int parse_word(struct report_time *time, const char *text)
{
	if (!strncmp(text, "now-", 4))
		return parse_relative(time, text + 3);
	if (!strcmp(text, "today") || !strcmp(text, "yesterday"))
		return parse_day(time, *text == 'y');
	if (strcmp(text, "start") != 0 && strcmp(text, "end") != 0 && strcmp(text, "now") != 0)
		return -EINVAL;
	time->kind = *text == 's' ? REPORT_TIME_SINCE_BEGIN : REPORT_TIME_BEFORE_END;
	time->ns = 0;
	return 0;
}

int report_time_parse(struct report_time *time, const char *text)
{
	struct report_time parsed;
	int err = *text == '@' ? parse_epoch(&parsed, text) : parse_relative(&parsed, text);

	if (err)
		err = parse_word(&parsed, text);

	if (err)
		err = parse_of_day(&parsed, text);
	if (err)
		err = parse_wall(&parsed, text);
	if (!err)
		*time = parsed;
	return err;
}

/* ---- when that was --------------------------------------------------------------------------- */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Times of CLOCK_REALTIME. */
static uint64_t on_the_day(uint64_t of_day_ns, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t after = first_ns / DAY * DAY + of_day_ns;

	if (after < first_ns)
		after += DAY;
	if (after <= last_ns || after < DAY)
		return after;
	return first_ns - (after - DAY) < after - last_ns ? after - DAY : after;
}

uint64_t report_time_moment(const struct report_time *time, const struct report_time_frame *frame)
{
	uint64_t ns = time->ns;

	switch (time->kind) {
	case REPORT_TIME_NONE:
		return 0;
	case REPORT_TIME_MARK:
	case REPORT_TIME_OOM:
	case REPORT_TIME_PEAK:
		break;
	case REPORT_TIME_SINCE_BEGIN:
		ns += frame->first_ns;
		break;
	case REPORT_TIME_BEFORE_END:
		ns = less(frame->last_ns, ns);
		break;
	case REPORT_TIME_OF_DAY:
		ns = on_the_day(ns, frame->first_ns + frame->wall_offset_ns,
				frame->last_ns + frame->wall_offset_ns);
		ns = less(ns, frame->wall_offset_ns);
		break;
	case REPORT_TIME_WALL:
		ns = less(ns, frame->wall_offset_ns);
		break;
	}
	return ns ? ns : 1; /* 0 would mean that it was not asked for */
}

bool report_time_needs_end(const struct report_time *time)
{
	return time->kind == REPORT_TIME_BEFORE_END || time->kind == REPORT_TIME_OF_DAY;
}
