// SPDX-License-Identifier: BSD-2-Clause
#include "base/duration.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NS 1e18

/* Longer ones before those that they begin with. */
static const struct unit {
	const char *name;
	double ns;
} units[] = {
	{ "days", 86400e9 }, { "day", 86400e9 }, { "d", 86400e9 },    { "hours", 3600e9 },
	{ "hour", 3600e9 },  { "h", 3600e9 },    { "minutes", 60e9 }, { "minute", 60e9 },
	{ "mins", 60e9 },    { "min", 60e9 },    { "ms", 1e6 },       { "m", 60e9 },
	{ "seconds", 1e9 },  { "second", 1e9 },  { "secs", 1e9 },     { "sec", 1e9 },
	{ "s", 1e9 },        { "us", 1e3 },      { "ns", 1 },
};

static const struct unit *unit_of(const char *text)
{
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strncmp(text, units[i].name, strlen(units[i].name)))
			return &units[i];
	return NULL;
}

/* A number without what strtod() takes besides: exponents, "0x", "inf". */
static int parse_number(const char **text, double *number)
{
	const size_t digits = strspn(*text, "0123456789.");
	char *end;

	if (!isdigit((unsigned char)(*text)[**text == '.']))
		return -EINVAL;
	*number = strtod(*text, &end);
	if (end != *text + digits)
		return -EINVAL;
	*text = end;
	return 0;
}

/* What a number behind the last unit is in: "1h30" is half an hour more, "1m30" half a minute. */
static double unit_behind(double unit_ns)
{
	return unit_ns == 86400e9 ? 3600e9 : unit_ns == 3600e9 ? 60e9 : unit_ns == 60e9 ? 1e9 : 0;
}

int duration_parse(const char *text, uint64_t *ns)
{
	double sum = 0, number, without_unit_ns = 1e9;

	do {
		const struct unit *unit;
		double unit_ns;

		if (parse_number(&text, &number))
			return -EINVAL;
		unit = unit_of(text);
		unit_ns = unit ? unit->ns : *text ? 0 : without_unit_ns;
		if (!unit_ns)
			return -EINVAL;
		sum += number * unit_ns;
		without_unit_ns = unit_behind(unit_ns);
		text += unit ? strlen(unit->name) : 0;
		if (!(sum < LONGEST_NS))
			return -EINVAL;
	} while (*text);
	*ns = (uint64_t)sum;
	return 0;
}
