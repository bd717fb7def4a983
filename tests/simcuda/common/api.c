/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads SIMCUDA_FAIL, SIMCUDA_DELAY and SIMCUDA_SPIN once, when the library is loaded, and attaches
 * what they say to the functions they name. See README.md for the syntax.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "env.h"

#define NS_PER_S 1000000000ull

struct api_rule {
	const struct api_rule *next;
	uint64_t nth; /* 0: every call */
	int result;
};

bool api_active;

/* Every API_SITE of this library: the bounds are the linker's. */
extern struct api __start_simcuda_api[] __attribute__((visibility("hidden")));
extern struct api __stop_simcuda_api[] __attribute__((visibility("hidden")));

/* name ends where length says. NULL: not ours. */
static struct api *find(const char *variable, const char *value, const char *name, size_t length)
{
	char copy[128];

	if (length >= sizeof(copy))
		env_fatal(variable, value, "function name too long");
	memcpy(copy, name, length);
	copy[length] = 0;
	if (!api_owns(copy))
		return NULL;
	for (struct api *api = __start_simcuda_api; api < __stop_simcuda_api; api++)
		if (!strcmp(api->name, copy))
			return api;
	env_fatal(variable, copy, "no such function");
}

static uint64_t number(const char *variable, const char *value, const char **at)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(*at, &end, 10);
	if (**at < '0' || **at > '9' || errno)
		env_fatal(variable, value, "expected a number");
	*at = end;
	return n;
}

/* "cuMemAlloc_v2:3=2": the third call returns 2. "cuMemAlloc_v2:*=2": every call does. */
static const char *parse_fail(const char *value, const char *at)
{
	size_t length = strcspn(at, ":=,");
	struct api *api = find("SIMCUDA_FAIL", value, at, length);
	struct api_rule *rule = calloc(1, sizeof(*rule));

	if (!rule || at[length] != ':')
		env_fatal("SIMCUDA_FAIL", value,
			  "expected FUNCTION:NUMBER=RESULT or FUNCTION:*=RESULT");
	at += length + 1;
	if (*at == '*') {
		at++;
	} else {
		rule->nth = number("SIMCUDA_FAIL", value, &at);
		if (!rule->nth)
			env_fatal("SIMCUDA_FAIL", value, "calls are counted from 1");
	}
	if (*at++ != '=')
		env_fatal("SIMCUDA_FAIL", value, "expected =RESULT");
	rule->result = (int)number("SIMCUDA_FAIL", value, &at);
	if (api) {
		rule->next = api->rules;
		api->rules = rule;
	} else {
		free(rule);
	}
	return at;
}

/* "cuStreamSynchronize=2ms": every call takes that much longer. */
static const char *parse_time(const char *variable, const char *value, const char *at, bool spins)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", NS_PER_S } };
	size_t length = strcspn(at, "=,");
	struct api *api = find(variable, value, at, length);
	uint64_t n;

	if (at[length] != '=')
		env_fatal(variable, value, "expected FUNCTION=TIME");
	at += length + 1;
	n = number(variable, value, &at);
	length = strcspn(at, ",");
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strlen(units[i].name) != length || strncmp(at, units[i].name, length))
			continue;
		if (api) {
			api->delay_ns = n * units[i].ns;
			api->spins = spins;
		}
		return at + length;
	}
	env_fatal(variable, value, "expected a time such as 500ns, 10us, 2ms or 1s");
}

static const char *parse_delay(const char *value, const char *at)
{
	return parse_time("SIMCUDA_DELAY", value, at, false);
}

static const char *parse_spin(const char *value, const char *at)
{
	return parse_time("SIMCUDA_SPIN", value, at, true);
}

static bool parse_list(const char *variable,
		       const char *(*parse)(const char *value, const char *at))
{
	const char *value = getenv(variable);
	const char *at = value;

	if (!value || !*value)
		return false;
	for (;;) {
		at = parse(value, at);
		if (!*at)
			return true;
		if (*at++ != ',')
			env_fatal(variable, value, "expected a comma");
	}
}

/* Before any ordinary constructor: those already register kernels. */
__attribute__((constructor(101))) static void api_init(void)
{
	bool fails = parse_list("SIMCUDA_FAIL", parse_fail);
	bool delays = parse_list("SIMCUDA_DELAY", parse_delay);
	bool spins = parse_list("SIMCUDA_SPIN", parse_spin);
	bool logged = oracle_open();

	api_active = fails || delays || spins || logged;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec left = { .tv_sec = (time_t)(ns / NS_PER_S),
				 .tv_nsec = (long)(ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

static uint64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* As a driver that spins does while it waits, however little of a CPU it gets. */
static void spin_ns(uint64_t ns)
{
	const uint64_t start_ns = cpu_ns();

	while (cpu_ns() - start_ns < ns)
		;
}

static int injected(struct api *api)
{
	uint64_t call = __atomic_add_fetch(&api->calls, 1, __ATOMIC_RELAXED);

	for (const struct api_rule *rule = api->rules; rule; rule = rule->next)
		if (!rule->nth || rule->nth == call)
			return rule->result;
	return 0;
}

int api_enter_active(struct api *api, uint64_t *start_ns)
{
	*start_ns = oracle_now_ns();
	if (api->spins)
		spin_ns(api->delay_ns);
	else if (api->delay_ns)
		sleep_ns(api->delay_ns);
	return api->rules ? injected(api) : 0;
}

void api_leave(struct oracle_line *line, const struct api_thread *thread)
{
	if (thread) {
		HEX(context, thread->context);
		if (thread->context)
			DEC(device, thread->device);
	}
	oracle_end(line);
}
