/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simcupti.h"

static struct settings all = { .version = 130000, .kernel_ns = 10000, .delay_ns = 2000 };

static void fatal(const char *what)
{
	fprintf(stderr, "simcupti: SIMCUPTI: %s\n", what);
	abort();
}

/* "5us", "3s", "-1ms", "12" */
static int64_t time_of(const char *text)
{
	char *unit;
	const double number = strtod(text, &unit);

	return (int64_t)(number * (!strcmp(unit, "s")  ? 1e9 :
				   !strcmp(unit, "ms") ? 1e6 :
				   !strcmp(unit, "us") ? 1e3 :
							 1));
}

static void set(const char *key, char *value)
{
	const struct {
		const char *key;
		uint64_t *place;
	} numbers[] = { { "drop", &all.drop },
			{ "untimed", &all.untimed },
			{ "inverted", &all.inverted },
			{ "keep", &all.keep } };
	const struct {
		const char *key;
		int64_t *place;
	} times[] = { { "kernel", (int64_t *)&all.kernel_ns },
		      { "copy", (int64_t *)&all.copy_ns },
		      { "delay", (int64_t *)&all.delay_ns },
		      { "offset", &all.offset_ns },
		      { "drift_ppm", &all.drift_ppm },
		      { "noise", &all.noise_ns },
		      { "seed", &all.seed } };
	const struct {
		const char *key;
		bool *place;
	} flags[] = { { "shuffle", &all.shuffle },
		      { "refuses_clock", &all.refuses_clock },
		      { "ignores_clock", &all.ignores_clock },
		      { "hangs", &all.hangs },
		      { "timed", &all.timed },
		      { "realtime", &all.realtime } };
	char *colon = strchr(value, ':');
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strcmp(key, numbers[i].key))
			*numbers[i].place = strtoull(value, NULL, 10);
	for (i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (!strcmp(key, times[i].key))
			*times[i].place = time_of(value);
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(key, flags[i].key))
			*flags[i].place = *value == '1';
	if (!strcmp(key, "version"))
		all.version = (uint32_t)strtoul(value, NULL, 10);
	if (!strcmp(key, "subscriber")) {
		snprintf(all.other, sizeof(all.other), "%s", value);
		all.has_other = true;
	}
	if (strcmp(key, "fail") != 0 && strcmp(key, "slow") != 0)
		return;
	if (!colon)
		fatal("expected fail=FUNCTION:RESULT or slow=KERNEL:TIME");
	*colon = '\0';
	if (!strcmp(key, "slow")) {
		snprintf(all.slow, sizeof(all.slow), "%s", value);
		all.slow_ns = (uint64_t)time_of(colon + 1);
		return;
	}
	snprintf(all.fails, sizeof(all.fails), "%s", value);
	all.crashes = !strcmp(colon + 1, "crash");
	all.result = atoi(colon + 1);
}

__attribute__((constructor)) static void read_settings(void)
{
	const char *variable = getenv("SIMCUPTI");
	char *copy = variable ? strdup(variable) : NULL, *rest = copy, *word, *equals;

	while (rest && (word = strsep(&rest, ",")) && *word) {
		equals = strchr(word, '=');
		if (!equals)
			fatal("expected KEY=VALUE");
		*equals = '\0';
		set(word, equals + 1);
	}
	free(copy);
	all.log = getenv("SIMCUPTI_LOG");
}

const struct settings *settings(void)
{
	return &all;
}
