/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of CUPTI that exist here. What each returns can be chosen (README.md).
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "simcupti.h"

#define EXPORT __attribute__((visibility("default")))

enum {
	OK = 0,
	INVALID = 1,
	END_OF_BUFFER = 12,
	NOT_SUPPORTED = 27,
	SUBSCRIBED = 39,
	UNKNOWN = 999
};

static bool subscribed;

/* The result to return, or OK: go on. */
static int injected(const char *function)
{
	if (strcmp(function, settings()->fails) != 0)
		return OK;
	if (settings()->crashes)
		raise(SIGSEGV);
	return settings()->result;
}

#define API(name, parameters) \
	EXPORT int cupti##name parameters; \
	static int do_##name parameters; \
	EXPORT int cupti##name parameters

#define DEFINE(name, parameters, arguments) \
	API(name, parameters) \
	{ \
		const int result = injected(#name); \
\
		return result ? result : do_##name arguments; \
	} \
	static int do_##name parameters

DEFINE(GetVersion, (uint32_t * version), (version))
{
	*version = settings()->version;
	return OK;
}

DEFINE(GetTimestamp, (uint64_t * ns), (ns))
{
	*ns = clock_now();
	return OK;
}

static bool observe(void)
{
	int (*get_table)(const void **, const void *) =
		(int (*)(const void **, const void *))dlsym(RTLD_DEFAULT, "cuGetExportTable");
	void *driver = get_table ? NULL : dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	const struct observer_table *table = NULL;

	if (driver)
		get_table = (int (*)(const void **, const void *))dlsym(driver, "cuGetExportTable");
	if (!get_table || get_table((const void **)&table, OBSERVER_ID))
		return false;
	table->set(activity_observer());
	return true;
}

static int subscribe(void **subscriber)
{
	if (settings()->has_other || subscribed)
		return SUBSCRIBED;
	subscribed = true;
	*subscriber = &subscribed;
	return OK;
}

DEFINE(Subscribe, (void **subscriber, void *callback, void *user), (subscriber, callback, user))
{
	return callback || user ? subscribe(subscriber) : INVALID;
}

struct parameters {
	size_t size;
	const char *name;
	char *other;
	size_t other_size;
};

/* From CUDA 13 on; it is there in any version here. */
DEFINE(Subscribe_v2, (void **subscriber, void *callback, void *user, struct parameters *p),
       (subscriber, callback, user, p))
{
	const int result = callback || user ? subscribe(subscriber) : INVALID;

	if (result == SUBSCRIBED && p && p->other)
		snprintf(p->other, p->other_size, "%s", settings()->other);
	return result;
}

DEFINE(Unsubscribe, (void *subscriber), (subscriber))
{
	if (subscriber != &subscribed)
		return INVALID;
	subscribed = false;
	return OK;
}

DEFINE(SetThreadIdType, (int type), (type))
{
	return type == 0 || type == 1 ? OK : INVALID;
}

DEFINE(ActivityRegisterTimestampCallback, (clock_fn * clock), (clock))
{
	return clock_register(clock) ? OK : NOT_SUPPORTED;
}

DEFINE(ActivitySetAttribute, (int attribute, size_t *size, void *value), (attribute, size, value))
{
	return attribute >= 0 && size && value ? OK : INVALID;
}

DEFINE(ActivityRegisterCallbacks,
       (void (*request)(uint8_t **, size_t *, size_t *),
	void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t)),
       (request, complete))
{
	activity_buffers(request, complete);
	return OK;
}

DEFINE(ActivityEnable, (int kind), (kind))
{
	if (kind < 0 || kind >= 64)
		return INVALID;
	enabled[kind] = true;
	return observe() ? OK : UNKNOWN;
}

DEFINE(ActivityDisable, (int kind), (kind))
{
	if (kind < 0 || kind >= 64)
		return INVALID;
	enabled[kind] = false;
	return OK;
}

DEFINE(ActivityEnableDriverApi, (uint32_t cbid, uint8_t enable), (cbid, enable))
{
	if (cbid >= 2048)
		return INVALID;
	enabled_api[cbid] = enable;
	return OK;
}

DEFINE(ActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record),
       (buffer, valid, record))
{
	uint8_t *next = *record ? (uint8_t *)*record + record_size(*record) : buffer;

	if (next >= buffer + valid)
		return END_OF_BUFFER;
	*record = next;
	return OK;
}

DEFINE(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped),
       (context, stream, dropped))
{
	if (context || stream)
		return INVALID;
	*dropped = activity_dropped();
	return OK;
}

DEFINE(ActivityFlushAll, (uint32_t flags), (flags))
{
	while (flags & 1 && settings()->hangs)
		pause();
	activity_flush(flags & 1);
	return OK;
}
