// SPDX-License-Identifier: BSD-2-Clause
/*
 * Times as people say them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/report_reader.h"

#define SECOND 1000000000ull

static int parse_relative(struct report_time *time, const char *text)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e9 },   { "s", 1e9 },    { "ms", 1e6 },
		      { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 } };
	char *end;
	double value;
	size_t i;

	text += *text == '+';
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	value = strtod(text, &end);
	for (i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(end, units[i].unit) != 0 || value * units[i].ns >= 1e18)
			continue;
		*time = (struct report_time){ .set = true,
					      .relative = true,
					      .ns = (uint64_t)(value * units[i].ns) };
		return 0;
	}
	return -EINVAL;
}

/* "Z", "+hh:mm" or nothing, which is UTC. */
static int parse_zone(const char *text, long *seconds)
{
	int sign = *text == '-' ? -1 : 1;

	*seconds = 0;
	if (!*text || !strcmp(text, "Z") || !strcmp(text, "z"))
		return 0;
	if ((*text != '+' && *text != '-') || strlen(text) != 6 || text[3] != ':' ||
	    strspn(text + 1, "0123456789") != 2 || strspn(text + 4, "0123456789") != 2)
		return -EINVAL;
	*seconds = sign * (strtol(text + 1, NULL, 10) * 3600 + strtol(text + 4, NULL, 10) * 60);
	return 0;
}

static int parse_wall(struct report_time *time, const char *text)
{
	struct tm parts = { 0 };
	const char *rest = strptime(text, "%Y-%m-%d", &parts);
	double fraction = 0;
	char *end;
	time_t seconds;
	long zone;

	if (!rest || (*rest != 'T' && *rest != ' '))
		return -EINVAL;
	rest = strptime(rest + 1, "%H:%M:%S", &parts);
	if (!rest)
		return -EINVAL;
	if (*rest == '.' && isdigit((unsigned char)rest[1])) {
		fraction = strtod(rest, &end);
		rest = end;
	}
	if (parse_zone(rest, &zone))
		return -EINVAL;
	seconds = timegm(&parts) - zone;
	if (seconds < 0 || (uint64_t)seconds > INT64_MAX / SECOND)
		return -EINVAL;
	*time = (struct report_time){ .set = true,
				      .ns = seconds * SECOND + (uint64_t)(fraction * SECOND) };
	return 0;
}

int report_time_parse(struct report_time *time, const char *text)
{
	return parse_relative(time, text) ? parse_wall(time, text) : 0;
}
