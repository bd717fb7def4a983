// SPDX-License-Identifier: BSD-2-Clause
/*
 * Entry and end. The CUDA driver loads this library when the program initialises CUDA, because
 * CUDA_INJECTION64_PATH names it, and calls InitializeInjection() in that thread. It does nothing
 * unless MEMSCOPE_GPU_TIME is there as well:
 *
 *	MEMSCOPE_GPU_TIME=READER:ONLY:STOP
 *
 * READER is the process that has a probe in this library. ONLY is 1 if its own child is to be
 * measured alone, 0 if all that inherit the variable are. STOP is when to end, CLOCK_MONOTONIC in
 * ns (0: never).
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/inject.h"

#define FLUSH_NS 200000000ll
/*
 * If CUPTI's clock is converted: it may hand full buffers over at any time, so no time is far from
 * a comparison. The first ones are closer together: there is little yet to measure a rate by.
 */
#define COMPARE_NS 20000000ll
#define COMPARE_FIRST_NS 1000000ll
#define END_NS 1000000000ll /* that the end of the program waits at most for a flush */

INJECT_EXPORT int InitializeInjection(void);

static const int kinds[] = { CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_PEER_MEMCPY, CUPTI_MEMSET,
			     CUPTI_OVERHEAD };

/* CUpti_driver_api_trace_cbid of what launches, copies and sets memory: from, to. */
static const uint16_t calls[][2] = {
	{ 216, 216 }, { 218, 218 }, { 220, 220 }, { 222, 222 }, { 224, 224 },
	{ 226, 226 }, { 248, 254 }, { 276, 293 }, { 305, 307 }, { 318, 321 },
	{ 397, 416 }, { 418, 433 }, { 442, 442 }, { 477, 478 }, { 480, 480 },
	{ 514, 515 }, { 652, 653 }, { 776, 779 }, { 796, 799 },
};

static struct {
	struct cupti cupti;
	void *subscriber;
	pid_t pid;
	unsigned long reader, only;
	unsigned long long stop_ns;
	bool reader_seen;
	enum ms_gpu_reason reason; /* that it cannot be set up */
	sem_t end, ended;          /* that the helper is to end, and that it has */
	/* Once there is the helper, only it asks CUPTI, and has these: */
	uint64_t dropped;
	struct ms_gpu_status_body status;
} inject;

static void say_status(enum ms_gpu_state state, enum ms_gpu_reason reason)
{
	const struct buffers_counts counts = buffers_counts();
	struct ms_gpu_status_body *status = &inject.status;

	status->state = state;
	if (reason != MS_GPU_REASON_NONE)
		status->reason = reason;
	status->version = inject.cupti.version;
	status->handed = counts.handed;
	status->untimed = counts.untimed;
	status->no_buffer = counts.no_buffer;
	status->no_name = counts.no_name;
	status->dropped = inject.dropped;
	status->converted = clock_converts();
	status->clock_error = clock_error_ns();
	hand_status(status);
}

static void name_who(const char *who)
{
	snprintf(inject.status.who, sizeof(inject.status.who), "%s", who);
}

/* A function that failed: which, and how. */
static enum ms_gpu_reason refused(const char *function, int result)
{
	name_who(function);
	inject.status.result = result;
	return MS_GPU_REASON_REFUSED;
}

/* ---- while the program runs ------------------------------------------------------------------ */

/* Not while this library holds a lock that the callbacks take: CUPTI holds its own meanwhile. */
static void flush(uint32_t flags)
{
	size_t dropped = 0;

	clock_compare(&inject.cupti);
	inject.cupti.ActivityFlushAll(flags);
	if (inject.cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_OK)
		inject.dropped += dropped;
}

static void disable(void)
{
	size_t i;
	uint32_t cbid;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		inject.cupti.ActivityDisable(kinds[i]);
	for (i = 0; inject.cupti.ActivityEnableDriverApi && i < sizeof(calls) / sizeof(*calls); i++)
		for (cbid = calls[i][0]; cbid <= calls[i][1]; cbid++)
			inject.cupti.ActivityEnableDriverApi(cbid, 0);
}

/* Other tools may use CUPTI from then on. It stays loaded: its threads may be on their way. */
static void stop(enum ms_gpu_reason reason)
{
	disable();
	flush(CUPTI_FLUSH_FORCED);
	inject.cupti.Unsubscribe(inject.subscriber);
	say_status(MS_GPU_STOPPED, reason);
}

static bool reader_is_gone(void)
{
	return inject.reader_seen && kill((pid_t)inject.reader, 0) && errno == ESRCH;
}

/* Returns whether the semaphore was posted within that time. */
static bool wait_for(sem_t *semaphore, int64_t most_ns)
{
	struct timespec until;
	int err;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += most_ns / 1000000000;
	until.tv_nsec += most_ns % 1000000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	do
		err = sem_timedwait(semaphore, &until);
	while (err && errno == EINTR);
	return !err;
}

/* Returns whether CUPTI goes on. */
static bool look(uint64_t *said)
{
	if (inject.stop_ns && clock_now() >= inject.stop_ns) {
		stop(MS_GPU_REASON_TIME);
		return false;
	}
	if (reader_is_gone()) {
		stop(MS_GPU_REASON_READER);
		return false;
	}
	flush(0);
	if (*said != buffers_counts().handed)
		say_status(MS_GPU_ON, MS_GPU_REASON_NONE);
	*said = buffers_counts().handed;
	return true;
}

/* Waits until it is time to look. Returns whether the program ends. */
static bool wait_to_look(int64_t *compare_ns)
{
	const uint64_t until = clock_now() + FLUSH_NS;
	uint64_t now;

	while (clock_converts() && clock_now() + (uint64_t)*compare_ns < until) {
		if (wait_for(&inject.end, *compare_ns))
			return true;
		clock_compare(&inject.cupti);
		if (*compare_ns < COMPARE_NS)
			*compare_ns += *compare_ns / 8;
	}
	now = clock_now();
	return wait_for(&inject.end, now < until ? (int64_t)(until - now) : 0);
}

/* With all signals blocked. */
static void *helper(void *unused)
{
	int64_t compare_ns = COMPARE_FIRST_NS;
	uint64_t said = 0;
	bool on = true;

	(void)unused;
	while (on && !wait_to_look(&compare_ns))
		on = look(&said);
	if (on) {
		flush(CUPTI_FLUSH_FORCED);
		say_status(MS_GPU_ENDED, MS_GPU_REASON_NONE);
	}
	sem_post(&inject.ended);
	return NULL;
}

/*
 * The last that is heard of the program, if it ends by exit(). The helper asks CUPTI for it, so
 * that the program ends even if CUPTI never answers.
 */
static void at_exit(void)
{
	if (getpid() != inject.pid)
		return;
	sem_post(&inject.end);
	wait_for(&inject.ended, END_NS);
}

/* ---- setting up ------------------------------------------------------------------------------ */

static void ignore(void *user, int domain, uint32_t cbid, const void *data)
{
	(void)user;
	(void)domain;
	(void)cbid;
	(void)data;
}

/* To have CUPTI to ourselves, and to know who else has it. No callback is enabled. */
static enum ms_gpu_reason subscribe(void)
{
	struct cupti *cupti = &inject.cupti;
	char other[MS_GPU_WHO_BYTES] = "";
	struct cupti_subscriber parameters = { sizeof(parameters), "memscope-bpf", other,
					       sizeof(other) };
	int result = cupti->Subscribe_v2 ?
			     cupti->Subscribe_v2(&inject.subscriber, ignore, NULL, &parameters) :
			     cupti->Subscribe(&inject.subscriber, ignore, NULL);

	if (result == CUPTI_OK)
		return MS_GPU_REASON_NONE;
	if (result != CUPTI_ANOTHER_SUBSCRIBER)
		return refused(cupti->Subscribe_v2 ? "cuptiSubscribe_v2" : "cuptiSubscribe",
			       result);
	inject.status.result = result;
	other[sizeof(other) - 1] = '\0';
	name_who(other);
	return MS_GPU_REASON_SUBSCRIBER;
}

/* What has to be settled before anything is enabled. */
static enum ms_gpu_reason prepare(void)
{
	struct cupti *cupti = &inject.cupti;
	bool registered = cupti->ActivityRegisterTimestampCallback &&
			  cupti->ActivityRegisterTimestampCallback(clock_now) == CUPTI_OK;
	int result;

	if (cupti->SetThreadIdType)
		cupti->SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
	buffers_init(cupti);
	result = cupti->ActivityRegisterCallbacks(buffers_request, buffers_complete);
	if (result != CUPTI_OK)
		return refused("cuptiActivityRegisterCallbacks", result);
	return clock_open(cupti, registered);
}

static enum ms_gpu_reason enable(void)
{
	struct cupti *cupti = &inject.cupti;
	size_t i;
	uint32_t cbid;
	int result;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		result = cupti->ActivityEnable(kinds[i]);
		if (result != CUPTI_OK && i == 0)
			return refused("cuptiActivityEnable", result);
	}
	/* Which exist depends on the version: those that do not are refused. */
	for (i = 0; cupti->ActivityEnableDriverApi && i < sizeof(calls) / sizeof(*calls); i++)
		for (cbid = calls[i][0]; cbid <= calls[i][1]; cbid++)
			cupti->ActivityEnableDriverApi(cbid, 1);
	return MS_GPU_REASON_NONE;
}

static bool start_helper(void)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	pthread_t thread;
	int err;

	sem_init(&inject.end, 0, 0);
	sem_init(&inject.ended, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attributes, helper, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !err;
}

static enum ms_gpu_reason load_and_enable(void)
{
	enum ms_gpu_reason reason =
		find_cupti(&inject.cupti, inject.status.who, &inject.status.result);

	if (reason == MS_GPU_REASON_NONE)
		reason = subscribe();
	if (reason != MS_GPU_REASON_NONE)
		return reason;
	reason = prepare();
	if (reason == MS_GPU_REASON_NONE)
		reason = enable();
	if (reason != MS_GPU_REASON_NONE) {
		disable();
		inject.cupti.Unsubscribe(inject.subscriber);
	}
	return reason;
}

static void set_up(void)
{
	inject.reason = load_and_enable();
}

/* Always 1: whatever goes wrong here is no reason for the program not to get its CUDA. */
int InitializeInjection(void)
{
	const char *variable = getenv("MEMSCOPE_GPU_TIME");
	const uint64_t began_ns = clock_now();

	if (inject.pid || !variable ||
	    sscanf(variable, "%lu:%lu:%llu", &inject.reader, &inject.only, &inject.stop_ns) != 3)
		return 1;
	inject.pid = getpid();
	if (inject.only && getppid() != (pid_t)inject.reader)
		return 1;
	inject.reader_seen = !kill((pid_t)inject.reader, 0) || errno == EPERM;
	/* After a crash nothing of CUPTI is called any more: it may hold its own locks. */
	if (!guard_run(set_up))
		inject.reason = MS_GPU_REASON_CRASHED;
	inject.status.took = clock_now() - began_ns;
	say_status(inject.reason == MS_GPU_REASON_NONE ? MS_GPU_ON : MS_GPU_OFF, inject.reason);
	if (inject.reason != MS_GPU_REASON_NONE)
		return 1;
	if (start_helper())
		atexit(at_exit);
	else
		stop(MS_GPU_REASON_NO_MEMORY);
	return 1;
}
