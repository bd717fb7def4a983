// SPDX-License-Identifier: BSD-2-Clause
/*
 * Marks what it does by NVTX, and keeps an account of it that an observer has to come to, too.
 *
 * usage: markers tree THREADS ROUNDS   four levels deep, and ranges that the next thread ends
 *        markers names                 what names can be
 *        markers rate RANGES           so many pushes and pops, as fast as they can be made
 *        markers functions ROUNDS      functions that call each other, without NVTX
 *        markers probes ROUNDS         static probes (USDT), one of them only if it is looked at
 *        markers wait ROUNDS           as tree of one thread, after a line on standard input
 *
 * Threads take turns, so that what the process holds at each marker is known. A line of the output
 * is
 * "PATH TIMES HELD MOST_HELD PEAK ALLOCS ALLOCATED FREES FREED COPIES COPIED LAUNCHES WAITS".
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvtx.h"
#include "simcuda.h"

#define LEVELS 4
#define PATHS 512
#define BLOCKS 64

struct sums {
	int64_t allocs, allocated, frees, freed, copies, copied, launches, waits;
};

struct path {
	char name[256];
	int64_t times, held, most, peak;
	struct sums sums;
};

struct running {
	struct path *path;
	int64_t held, peak;
	struct sums before;
	nvtxRangeId_t id;
};

struct worker {
	pthread_t thread;
	unsigned int random;
	int number, depth;
	char place[256];
	struct sums sums;
	struct running running[LEVELS];
	CUdeviceptr blocks[BLOCKS];
	int64_t sizes[BLOCKS];
	int blocks_count;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct path paths[PATHS];
static int paths_count, workers_count, rounds;
static struct worker *workers;
static struct sums all;
static struct running ranges[64];
static int64_t held;
static CUcontext context;
static CUfunction kernel;

static void need(CUresult result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "markers: %s: %d\n", what, result);
	exit(1);
}

#define NEED(call) need(call, #call)

static struct path *path_of(const char *name)
{
	int i;

	for (i = 0; i < paths_count; i++)
		if (!strcmp(paths[i].name, name))
			return &paths[i];
	if (paths_count == PATHS)
		exit(2);
	paths[paths_count].most = INT64_MIN;
	strcpy(paths[paths_count].name, name);
	return &paths[paths_count++];
}

#define ADD(member) path->sums.member += now->member - running->before.member

static void end(struct running *running, const struct sums *now)
{
	struct path *path = running->path;

	path->times++;
	path->held += held - running->held;
	if (held - running->held > path->most)
		path->most = held - running->held;
	if (running->peak > path->peak)
		path->peak = running->peak;
	ADD(allocs), ADD(allocated), ADD(frees), ADD(freed);
	ADD(copies), ADD(copied), ADD(launches), ADD(waits);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void raise_peaks(void)
{
	int i, j;

	for (i = 0; i < workers_count; i++)
		for (j = 0; j < workers[i].depth; j++)
			if (held > workers[i].running[j].peak)
				workers[i].running[j].peak = held;
	for (i = 0; i < 64; i++)
		if (ranges[i].path && held > ranges[i].peak)
			ranges[i].peak = held;
}

#define BOTH(member, by) (worker->sums.member += (by), all.member += (by))

static void alloc(struct worker *worker)
{
	int64_t bytes = 512 * (1 + rand_r(&worker->random) % 64);

	if (worker->blocks_count == BLOCKS)
		return;
	NEED(cuMemAlloc_v2(&worker->blocks[worker->blocks_count], bytes));
	worker->sizes[worker->blocks_count++] = bytes;
	held += bytes;
	BOTH(allocs, 1), BOTH(allocated, bytes);
	raise_peaks();
}

static void give_back(struct worker *worker)
{
	if (!worker->blocks_count)
		return;
	NEED(cuMemFree_v2(worker->blocks[--worker->blocks_count]));
	held -= worker->sizes[worker->blocks_count];
	BOTH(frees, 1), BOTH(freed, worker->sizes[worker->blocks_count]);
}

static void copy(struct worker *worker)
{
	static const char source[512];
	int64_t bytes = 1 + rand_r(&worker->random) % 512;

	if (!worker->blocks_count)
		return;
	NEED(cuMemcpyHtoD_v2(worker->blocks[0], source, bytes));
	BOTH(copies, 1), BOTH(copied, bytes);
}

static void do_something(struct worker *worker)
{
	switch (rand_r(&worker->random) % 6) {
	case 0:
	case 1:
		alloc(worker);
		return;
	case 2:
		give_back(worker);
		return;
	case 3:
		copy(worker);
		return;
	case 4:
		NEED(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
		BOTH(launches, 1);
		return;
	default:
		NEED(cuCtxSynchronize());
		BOTH(waits, 1);
	}
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* By each of the ways to push. */
static void push(struct worker *worker, const char *name)
{
	struct running *running = &worker->running[worker->depth];
	nvtxEventAttributes_t attributes = { .version = 3, .size = sizeof(attributes) };
	wchar_t wide[64];

	if (worker->depth % 3 == 0) {
		nvtxRangePushA(name);
	} else if (worker->depth % 3 == 1) {
		attributes.messageType = NVTX_MESSAGE_ASCII;
		attributes.message.ascii = name;
		nvtxRangePushEx(&attributes);
	} else {
		mbstowcs(wide, name, 64);
		nvtxRangePushW(wide);
	}
	sprintf(worker->place + strlen(worker->place), "%s%s", worker->depth ? "/" : "", name);
	*running = (struct running){
		.path = path_of(worker->place), .held = held, .peak = held, .before = worker->sums
	};
	worker->depth++;
}

static void pop(struct worker *worker)
{
	char *slash = strrchr(worker->place, '/');

	end(&worker->running[--worker->depth], &worker->sums);
	nvtxRangePop();
	*(slash ? slash : worker->place) = '\0';
}

static void start(struct worker *worker)
{
	struct running *range = &ranges[worker->number % 64];
	char name[32];

	if (range->path)
		return;
	sprintf(name, "range %d", worker->number % 3);
	*range = (struct running){ .path = path_of(name),
				   .held = held,
				   .peak = held,
				   .before = all,
				   .id = nvtxRangeStartA(name) };
}

/* Of the thread before this one. */
static void end_other(const struct worker *worker)
{
	struct running *range = &ranges[(worker->number + workers_count - 1) % workers_count % 64];

	if (!range->path)
		return;
	end(range, &all);
	nvtxRangeEnd(range->id);
	range->path = NULL;
}

/* One at a time: each step is a turn of the thread. */
static void step(struct worker *worker)
{
	static const char *const names[] = { "forward", "backward", "optimizer step", "load" };
	unsigned int what;

	pthread_mutex_lock(&turn);
	what = rand_r(&worker->random) % 16;
	if (what < 3 && worker->depth < LEVELS)
		push(worker, names[rand_r(&worker->random) % (worker->depth < 2 ? 4 : 2)]);
	else if (what < 6 && worker->depth)
		pop(worker);
	else if (what == 6)
		start(worker);
	else if (what == 7)
		end_other(worker);
	else
		do_something(worker);
	pthread_mutex_unlock(&turn);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	int i;

	NEED(cuCtxSetCurrent(context));
	for (i = 0; i < rounds; i++)
		step(worker);
	pthread_mutex_lock(&turn);
	while (worker->depth)
		pop(worker);
	pthread_mutex_unlock(&turn);
	return NULL;
}

static void run_tree(int threads)
{
	struct worker ends;
	int i;

	workers = calloc(threads, sizeof(*workers));
	workers_count = threads;
	for (i = 0; i < threads; i++) {
		workers[i].number = i;
		workers[i].random = 7 * i + 1;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < threads; i++) {
		ends = (struct worker){ .number = i };
		end_other(&ends);
	}
}

static void say_paths(void)
{
	int i;

	for (i = 0; i < paths_count; i++) {
		const struct path *path = &paths[i];
		const struct sums *sums = &path->sums;

		printf("%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64
		       "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64
		       "\t%" PRId64 "\n",
		       path->name, path->times, path->held, path->most, path->peak, sums->allocs,
		       sums->allocated, sums->frees, sums->freed, sums->copies, sums->copied,
		       sums->launches, sums->waits);
	}
}

/* ---- others ---------------------------------------------------------------------------------- */

static void mark_names(void)
{
	nvtxEventAttributes_t registered = { .version = 3,
					     .size = sizeof(registered),
					     .messageType = NVTX_MESSAGE_REGISTERED,
					     .message.registered = "a handle" };
	nvtxEventAttributes_t in_domain = { .version = 3,
					    .size = sizeof(in_domain),
					    .messageType = NVTX_MESSAGE_ASCII,
					    .message.ascii = "in a domain" };
	nvtxDomainHandle_t domain = nvtxDomainCreateA("libnvtx");
	char *text = malloc(4097), number[32];
	int i;

	nvtxRangePushA("\033[31mred\a\r\nline | `tick` <b>&amp;");
	nvtxRangePushA("broken \xff\xfe\xc3( utf-8");
	memset(text, 'x', 4096);
	text[4096] = '\0';
	nvtxRangePushA(text);
	text[255] = '\0';
	nvtxMarkA(text);
	nvtxRangePushA("");
	nvtxRangePushA(NULL);
	nvtxRangePushA((const char *)8);
	nvtxRangePushEx(&registered);
	for (i = 0; i < 7; i++)
		nvtxRangePop();
	registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
	nvtxDomainRangePushEx(domain, &registered);
	nvtxDomainRangePop(domain);
	nvtxRangePop(); /* of none */
	nvtxRangeEnd(12345);
	nvtxDomainRangePushEx(domain, &in_domain);
	nvtxRangePushA("outer");
	nvtxDomainRangePop(domain);
	nvtxRangePop();
	nvtxRangeStartA("never ended");
	for (i = 0; i < 100; i++)
		nvtxRangePushA("deeper");
	for (i = 0; i < 100; i++)
		nvtxRangePop();
	for (i = 0; i < 1000; i++) {
		sprintf(number, "name %d", i);
		nvtxRangePushA(number);
		nvtxRangePop();
	}
}

/* What a push and a pop return. */
static void say_levels(void)
{
	nvtxEventAttributes_t one = { .version = 3,
				      .size = sizeof(one),
				      .messageType = NVTX_MESSAGE_ASCII,
				      .message.ascii = "one" };
	nvtxDomainHandle_t domain = nvtxDomainCreateA("levels"), others[16];
	int i, last = 0;

	printf("%d", nvtxRangePop());
	printf(" %d", nvtxRangePushA("a"));
	printf(" %d", nvtxRangePushEx(&one));
	printf(" %d", nvtxDomainRangePushEx(domain, &one));
	printf(" %d", nvtxRangePushW(L"c"));
	printf(" %d", nvtxDomainRangePop(domain));
	printf(" %d", nvtxDomainRangePop(domain));
	for (i = 3; i; i--)
		printf(" %d", nvtxRangePop());
	for (i = 0; i < 16; i++) {
		others[i] = nvtxDomainCreateA("one of many");
		last = nvtxDomainRangePushEx(others[i], &one);
	}
	printf(" %d", last);
	while (i--)
		last = nvtxDomainRangePop(others[i]);
	printf(" %d\n", last);
}

static void mark_fast(long count)
{
	while (count--) {
		nvtxRangePushA("fast");
		nvtxRangePop();
	}
}

int marked_inner(struct worker *worker);
int marked_outer(struct worker *worker);

__attribute__((noinline)) int marked_inner(struct worker *worker)
{
	alloc(worker);
	return worker->blocks_count;
}

__attribute__((noinline)) int marked_outer(struct worker *worker)
{
	int result = marked_inner(worker);

	give_back(worker);
	return result + marked_inner(worker);
}

static void call_functions(int count)
{
	struct worker worker = { .random = 1 };

	while (count--) {
		marked_outer(&worker);
		give_back(&worker);
	}
}

/* ---- static probes --------------------------------------------------------------------------- */

/* Counted up by the kernel as long as the gated probe is looked at. */
extern uint16_t markers_counter;
__attribute__((section(".probes"))) uint16_t markers_counter;

#define PROBE(name, counter) \
	__asm__ volatile( \
		"990: nop\n" \
		".pushsection .note.stapsdt, \"\", \"note\"\n" \
		".balign 4\n" \
		".4byte 992f - 991f, 994f - 993f, 3\n" \
		"991: .asciz \"stapsdt\"\n" \
		"992: .balign 4\n" \
		"993: .8byte 990b, _.stapsdt.base, " counter "\n" \
		".asciz \"markers\"\n" \
		".asciz \"" name "\"\n" \
		".asciz \"\"\n" \
		"994: .balign 4\n" \
		".popsection\n" \
		".ifndef _.stapsdt.base\n" \
		".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
		".weak _.stapsdt.base\n" \
		".hidden _.stapsdt.base\n" \
		"_.stapsdt.base: .space 1\n" \
		".size _.stapsdt.base, 1\n" \
		".popsection\n" \
		".endif" :: \
			: "memory")

static void pass_probes(int count)
{
	struct worker worker = { .random = 1 };
	int gated = 0;

	while (count--) {
		PROBE("begin", "0");
		alloc(&worker);
		PROBE("end", "0");
		PROBE("instant", "0");
		if (__atomic_load_n(&markers_counter, __ATOMIC_RELAXED)) {
			PROBE("gated", "markers_counter");
			gated++;
		}
		give_back(&worker);
	}
	printf("gated %d\n", gated);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static const char image[64] = "any kernel";
	CUmodule module;
	char line[16];

	rounds = argc > 2 ? atoi(argv[argc - 1]) : 0;
	NEED(cuInit(0));
	NEED(cuCtxCreate_v2(&context, 0, 0));
	NEED(cuModuleLoadData(&module, image));
	NEED(cuModuleGetFunction(&kernel, module, "kernel"));
	if (!strcmp(what, "wait")) {
		puts("waiting");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 2;
		run_tree(1);
	} else if (!strcmp(what, "tree") && argc == 4) {
		run_tree(atoi(argv[2]));
	} else if (!strcmp(what, "names")) {
		mark_names();
	} else if (!strcmp(what, "levels")) {
		say_levels();
	} else if (!strcmp(what, "rate")) {
		mark_fast(rounds);
	} else if (!strcmp(what, "probes")) {
		pass_probes(rounds);
	} else if (!strcmp(what, "functions")) {
		call_functions(rounds);
	} else {
		fprintf(stderr, "usage: markers tree|names|levels|rate|functions|wait ...\n");
		return 2;
	}
	say_paths();
	return 0;
}
