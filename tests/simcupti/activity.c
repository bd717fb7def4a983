/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the simulated driver does becomes activity on a simulated GPU: each stream does one thing
 * after the other, from some time after its call on, and a call that waits for it does wait.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "simcupti.h"

#define KEPT 4096 /* handed over by themselves then, as full buffers are */
#define STREAMS 256
#define COPY_BYTES_A_US 10000
#define NAMES 4096

bool enabled[64];
bool enabled_api[2048];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct activity *kept;
static size_t kept_count, kept_room;
static struct {
	uint64_t stream;
	unsigned int context;
	uint64_t free_ns;
} streams[STREAMS];
static uint64_t last_ns; /* when everything is done, CLOCK_MONOTONIC */
static uint64_t made, lost;
static uint32_t correlations;
static FILE *log_file;
static void (*buffer_request)(uint8_t **, size_t *, size_t *);
static void (*buffer_complete)(void *, uint32_t, uint8_t *, size_t, size_t);

/* Of the thread: the outermost call that it is in. */
static __thread unsigned int depth;
static __thread uint64_t entered;
static __thread uint32_t correlation;
static __thread uint64_t wait_until_ns;

/* By name; of the functions that programs here call. */
static const struct {
	const char *name;
	uint32_t cbid;
} cbids[] = {
	{ "cuLaunchKernel", 307 },
	{ "cuLaunchKernel_ptsz", 442 },
	{ "cuLaunchKernelEx", 652 },
	{ "cuLaunchKernelEx_ptsz", 653 },
	{ "cuLaunchCooperativeKernel", 477 },
	{ "cuGraphLaunch", 514 },
	{ "cuGraphLaunch_ptsz", 515 },
	{ "cuMemcpy", 305 },
	{ "cuMemcpyAsync", 306 },
	{ "cuMemcpyHtoD_v2", 276 },
	{ "cuMemcpyHtoDAsync_v2", 277 },
	{ "cuMemcpyDtoH_v2", 278 },
	{ "cuMemcpyDtoHAsync_v2", 279 },
	{ "cuMemcpyDtoD_v2", 280 },
	{ "cuMemcpyDtoDAsync_v2", 281 },
	{ "cuMemsetD8_v2", 249 },
	{ "cuMemsetD16_v2", 250 },
	{ "cuMemsetD32_v2", 251 },
	{ "cuMemsetD8Async", 216 },
	{ "cuMemsetD32Async", 220 },
};

static uint32_t cbid_of(const char *function)
{
	size_t i;

	for (i = 0; i < sizeof(cbids) / sizeof(*cbids); i++)
		if (!strcmp(cbids[i].name, function))
			return cbids[i].cbid;
	return 0;
}

void activity_buffers(void (*request)(uint8_t **, size_t *, size_t *),
		      void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t))
{
	buffer_request = request;
	buffer_complete = complete;
}

/* ---- handing over ---------------------------------------------------------------------------- */

static FILE *log_open(void)
{
	if (!log_file && settings()->log)
		log_file = fopen(settings()->log, "ae");
	return log_file;
}

static uint64_t thread_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* What the user of CUPTI takes for each buffer is logged, if asked for. */
static void give_back(uint8_t *buffer, size_t size, size_t valid, size_t records)
{
	const uint64_t before_ns = thread_ns();
	uint64_t took_ns;

	buffer_complete(NULL, 0, buffer, size, valid);
	took_ns = thread_ns() - before_ns;
	if (settings()->timed && log_open())
		fprintf(log_file, "complete records=%zu ns=%llu\n", records,
			(unsigned long long)took_ns);
}

/* Without the lock: the callbacks may call back. `list` is as in records, in order. */
static void hand_over(const struct activity *list, size_t count)
{
	uint8_t *buffer = NULL;
	size_t size = 0, most, valid = 0, records = 0, bytes, i;

	for (i = 0; i < count; i++) {
		bytes = buffer ? record_put(buffer + valid, size - valid, &list[i]) : 0;
		if (!bytes) {
			if (buffer)
				give_back(buffer, size, valid, records);
			buffer = NULL;
			buffer_request(&buffer, &size, &most);
			valid = records = 0;
			if (!buffer)
				return;
			bytes = record_put(buffer, size, &list[i]);
		}
		valid += bytes;
		records++;
	}
	if (buffer)
		give_back(buffer, size, valid, records);
}

static void shuffle(struct activity *list, size_t count)
{
	uint32_t seed = 99;
	size_t i;

	for (i = count; i > 1; i--) {
		struct activity swapped = list[i - 1];
		size_t other;

		seed = seed * 1103515245 + 12345;
		other = (seed >> 8) % i;
		list[i - 1] = list[other];
		list[other] = swapped;
	}
}

void activity_flush(bool all)
{
	const uint64_t now_ns = clock_ours();
	struct activity *ready;
	size_t count = 0, left = 0, i;

	if (!buffer_request)
		return;
	pthread_mutex_lock(&lock);
	ready = malloc((kept_count + 1) * sizeof(*ready));
	for (i = 0; ready && i < kept_count; i++) {
		if (all || kept[i].ready_ns <= now_ns)
			ready[count++] = kept[i];
		else
			kept[left++] = kept[i];
	}
	kept_count = left;
	pthread_mutex_unlock(&lock);
	if (settings()->shuffle)
		shuffle(ready, count);
	hand_over(ready, count);
	free(ready);
}

uint64_t activity_dropped(void)
{
	return __atomic_exchange_n(&lost, 0, __ATOMIC_RELAXED);
}

/* With the lock. */
static void keep(const struct activity *activity)
{
	if (kept_count == kept_room) {
		kept_room = kept_room ? 2 * kept_room : 1024;
		kept = realloc(kept, kept_room * sizeof(*kept));
		if (!kept)
			abort();
	}
	kept[kept_count++] = *activity;
}

/* ---- what happens ---------------------------------------------------------------------------- */

struct known_name {
	struct known_name *next;
	char text[];
};

/* With the lock. What CUPTI points to is the same for equal names, and stays. */
static const char *name_of(const char *text)
{
	static struct known_name *names[NAMES];
	struct known_name **place, *name;
	uint32_t hash = 5381;
	const char *c;

	for (c = text; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	place = &names[hash % NAMES];
	for (name = *place; name; name = name->next)
		if (!strcmp(name->text, text))
			return name->text;
	name = malloc(sizeof(*name) + strlen(text) + 1);
	if (!name)
		abort();
	strcpy(name->text, text);
	name->next = *place;
	*place = name;
	return name->text;
}

/* With the lock: when the stream will have done what it was given; for the caller to raise. */
static uint64_t *stream_free_ns(const struct observer_work *work)
{
	size_t i;

	for (i = 0; i < STREAMS - 1 && streams[i].free_ns; i++)
		if (streams[i].stream == work->stream && streams[i].context == work->context)
			break;
	streams[i].stream = work->stream;
	streams[i].context = work->context;
	return &streams[i].free_ns;
}

static bool every(uint64_t n)
{
	return n && made % n == 0;
}

static void log_activity(const struct activity *a, uint64_t begin_ns, uint64_t end_ns)
{
	static const char *const kinds[] = { "kernel", "copy", "memset" };

	if (!log_open())
		return;
	fprintf(log_file, "%s %s begin=%llu end=%llu bytes=%llu device=%d graph=%u tid=%ld\n",
		kinds[a->work.kind], a->work.name ? a->work.name : "-",
		(unsigned long long)begin_ns, (unsigned long long)end_ns,
		(unsigned long long)a->work.bytes, a->work.device, a->work.graph,
		syscall(SYS_gettid));
	fflush(log_file);
}

static uint64_t duration_of(const struct observer_work *work)
{
	if (work->kind == OBSERVER_KERNEL && work->name && !strcmp(work->name, settings()->slow))
		return settings()->slow_ns;
	if (work->kind == OBSERVER_KERNEL)
		return settings()->kernel_ns;
	if (work->kind == OBSERVER_COPY && settings()->copy_ns)
		return settings()->copy_ns;
	return 1000 + work->bytes * 1000 / COPY_BYTES_A_US;
}

static int kind_of(const struct observer_work *work)
{
	return work->kind == OBSERVER_KERNEL ? KIND_KERNEL :
	       work->kind == OBSERVER_COPY   ? KIND_COPY :
					       KIND_MEMSET;
}

static void work(const struct observer_work *done)
{
	static const int numbers[] = { 10, 1, 22, 2 };
	struct activity activity = { .kind = kind_of(done), .work = *done };
	uint64_t begin_ns, end_ns, *free_ns;

	if (!enabled[numbers[activity.kind]])
		return;
	pthread_mutex_lock(&lock);
	made++;
	free_ns = stream_free_ns(done);
	begin_ns = clock_ours() + settings()->delay_ns;
	if (begin_ns < *free_ns)
		begin_ns = *free_ns;
	end_ns = begin_ns + duration_of(done);
	*free_ns = end_ns;
	if (end_ns > last_ns)
		last_ns = end_ns;
	if (done->waited_for)
		wait_until_ns = end_ns;
	activity.ready_ns = end_ns;
	activity.correlation = correlation;
	activity.name = done->name ? name_of(done->name) : NULL;
	if (!every(settings()->untimed)) {
		activity.begin = clock_at(begin_ns);
		activity.end = every(settings()->inverted) ? activity.begin - 1 : clock_at(end_ns);
	}
	log_activity(&activity, begin_ns, end_ns);
	if (every(settings()->drop))
		lost++;
	else
		keep(&activity);
	pthread_mutex_unlock(&lock);
}

static void enter(const char *function)
{
	(void)function;
	if (depth++)
		return;
	correlation = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
	wait_until_ns = 0;
	entered = clock_now();
}

static void wait_until(uint64_t ns)
{
	uint64_t now_ns;

	while ((now_ns = clock_ours()) < ns)
		if (ns - now_ns > 100000)
			usleep((useconds_t)((ns - now_ns) / 2000));
}

static void leave(const char *function)
{
	const uint32_t cbid = cbid_of(function);
	struct activity activity = { .kind = KIND_CALL,
				     .begin = entered,
				     .cbid = cbid,
				     .correlation = correlation,
				     .thread = (uint32_t)syscall(SYS_gettid) };
	bool full;

	/* The observer may have come while the call was under way. */
	if (!depth || --depth)
		return;
	wait_until(strstr(function, "Synchronize") ? last_ns : wait_until_ns);
	if (!cbid || !enabled_api[cbid])
		return;
	activity.end = clock_now();
	activity.ready_ns = clock_ours();
	pthread_mutex_lock(&lock);
	keep(&activity);
	full = kept_count >= (settings()->keep ? settings()->keep : KEPT);
	pthread_mutex_unlock(&lock);
	if (full)
		activity_flush(false);
}

const struct observer *activity_observer(void)
{
	static const struct observer observer = { enter, leave, work };

	return &observer;
}
