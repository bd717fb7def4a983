// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that are refused memory again and again: whose memory only stays as it is because of
 * that, and whose memory has levelled off. Each with the leaks that it must have, and no others.
 */
#include "analysed.h"

#define BLOCKS 200
#define BLOCK (8 * MIB)
#define LEFT (BLOCKS * BLOCK)

/* ---- programs that leak ---------------------------------------------------------------------- */

/* Each request leaves something behind. */
static void leak(struct run *run, int requests)
{
	while (requests--) {
		alloc_new(run, BLOCK);
		steps(run, 10);
	}
}

/* Each asks for so much, and is refused. */
static void refused(struct run *run, int requests, uint64_t size)
{
	while (requests--) {
		fail_alloc(run, size);
		steps(run, 10);
	}
}

static void run_refused(struct run *run)
{
	leak(run, BLOCKS);
	refused(run, BLOCKS, BLOCK);
}

static void run_refused_for_long(struct run *run)
{
	leak(run, BLOCKS);
	refused(run, 20 * BLOCKS, BLOCK);
}

static void run_refused_and_ended(struct run *run)
{
	run_refused(run);
	end_process(run, 0);
}

/* It asks more and more seldom, but it asks. */
static void run_refused_seldom(struct run *run)
{
	int i;

	leak(run, BLOCKS);
	for (i = 0; i < 12; i++) {
		fail_alloc(run, BLOCK);
		steps(run, 200);
	}
}

/* What it frees in the end, it has had for as long as it was refused. */
static void run_refused_and_freed_at_shutdown(struct run *run)
{
	uint64_t blocks[BLOCKS];
	int i;

	for (i = 0; i < BLOCKS; i++) {
		blocks[i] = alloc_new(run, BLOCK);
		steps(run, 10);
	}
	refused(run, BLOCKS, BLOCK);
	free_all(run, blocks, BLOCKS);
	end_process(run, 0);
}

/* Now and then another process lets go of some memory, which is taken at once. */
static void run_granted_now_and_then(struct run *run)
{
	int i;

	leak(run, BLOCKS);
	for (i = 0; i < 5; i++) {
		refused(run, BLOCKS / 2, BLOCK);
		leak(run, 1);
	}
	refused(run, 4 * BLOCKS, BLOCK);
}

/* Another process lets go of more: it is not held any more, and then it is again. */
static void run_granted_more(struct run *run)
{
	int i;

	leak(run, BLOCKS);
	for (i = 0; i < 3; i++) {
		refused(run, BLOCKS / 4, BLOCK);
		leak(run, BLOCKS / 4);
	}
	refused(run, 4 * BLOCKS, BLOCK);
}

/* What a request works with is more than what it leaves behind, and is refused first. */
static void run_others_refused(struct run *run)
{
	int i;

	for (i = 0; i < BLOCKS; i++) {
		uint64_t scratch = alloc_new(run, 300 * MIB);

		alloc_new(run, BLOCK);
		steps(run, 10);
		free_at(run, scratch);
	}
	refused(run, BLOCKS, 300 * MIB);
}

/* It did not begin with it. */
static void run_refused_once_before(struct run *run)
{
	refused(run, 1, GIB);
	leak(run, BLOCKS);
	refused(run, BLOCKS, BLOCK);
}

/* ---- programs that do not -------------------------------------------------------------------- */

/* A cache that is full gives back some of what it has, and gets what it asks for. */
static void run_evicts(struct run *run)
{
	uint64_t blocks[BLOCKS];
	int i;

	for (i = 0; i < 2 * BLOCKS; i++) {
		if (i >= BLOCKS) {
			fail_alloc(run, BLOCK);
			free_at(run, blocks[i % BLOCKS]);
		}
		blocks[i % BLOCKS] = alloc_new(run, BLOCK);
		steps(run, 10);
	}
}

/* The same, of which less is lost each time. */
static void run_evicts_little(struct run *run)
{
	uint64_t blocks[BLOCKS];
	int i;

	for (i = 0; i < BLOCKS; i++) {
		blocks[i] = alloc_new(run, BLOCK);
		steps(run, 10);
	}
	for (i = 0; i < BLOCKS; i++) {
		fail_alloc(run, BLOCK);
		free_at(run, blocks[i % 8]);
		blocks[i % 8] = alloc_new(run, BLOCK);
		steps(run, 10);
	}
}

/* More and more users come, each for a while: the last ones are turned away until others go. */
static void run_is_busy(struct run *run)
{
	uint64_t blocks[BLOCKS], random = 7;
	int i;

	for (i = 0; i < BLOCKS; i++) {
		blocks[i] = alloc_new(run, BLOCK);
		steps(run, 10);
	}
	for (i = 0; i < 2 * BLOCKS; i++) {
		random = unit_random(random);
		free_at(run, blocks[random % BLOCKS]);
		blocks[random % BLOCKS] = alloc_new(run, BLOCK);
		refused(run, 1 + i % 3, BLOCK);
	}
}

/* It lets go of half of what it has, which another process takes. */
static void run_gives_back(struct run *run)
{
	uint64_t blocks[BLOCKS];
	int i;

	for (i = 0; i < BLOCKS; i++) {
		blocks[i] = alloc_new(run, BLOCK);
		steps(run, 10);
	}
	refused(run, 1, BLOCK);
	free_all(run, blocks, BLOCKS / 2);
	refused(run, 2 * BLOCKS, BLOCK);
}

/* It takes what there is, and works with that. */
static void run_takes_all(struct run *run)
{
	leak(run, BLOCKS);
	refused(run, 3, BLOCK);
	steps(run, 30 * BLOCKS);
}

/* Larger buffers would be better, and it does without. */
static void run_asks_for_too_much(struct run *run)
{
	leak(run, BLOCKS / 4);
	refused(run, 10 * BLOCKS, GIB);
}

/* That is refused from the beginning, and has nothing to do with where it levels off. */
static void run_levels_off(struct run *run)
{
	int i;

	leak(run, BLOCKS / 2);
	for (i = 0; i < BLOCKS / 2; i++) {
		fail_alloc(run, GIB);
		leak(run, 1);
	}
	refused(run, 2 * BLOCKS, GIB);
}

/* It loads first. */
static void run_loads(struct run *run)
{
	int i;

	for (i = 0; i < BLOCKS; i++) {
		alloc_new(run, BLOCK);
		wait_for(run, 100 * MS);
	}
	refused(run, BLOCKS, GIB);
}

/* It asks for less and less each time, and gives that back. */
static void run_backs_off(struct run *run)
{
	int i;

	leak(run, BLOCKS / 4);
	for (i = 0; i < BLOCKS; i++) {
		fail_alloc(run, GIB);
		fail_alloc(run, GIB / 2);
		free_at(run, alloc_new(run, GIB / 4));
		steps(run, 10);
	}
}

/* What is refused is on another device. */
static void run_refused_elsewhere(struct run *run)
{
	int i;

	for (i = 0; i < BLOCKS; i++) {
		alloc_on(run, 1, BLOCK);
		steps(run, 10);
	}
	refused(run, BLOCKS, BLOCK);
}

/* Memory of the host. */
static void run_pinned_is_refused(struct run *run)
{
	int i;

	leak(run, BLOCKS);
	for (i = 0; i < BLOCKS; i++) {
		feed(run,
		     record_failed(2, record_without(MS_KNOWN_ADDR,
						     record_alloc("cuMemHostAlloc", 0, BLOCK))));
		steps(run, 10);
	}
}

/* ---- what is found --------------------------------------------------------------------------- */

struct leaking {
	const char *name;
	void (*run)(struct run *run);
	uint64_t bytes; /* 0: nothing leaks */
};

static const struct leaking programs[] = {
	{ "refused", run_refused, LEFT },
	{ "refused for long", run_refused_for_long, LEFT },
	{ "refused and ended", run_refused_and_ended, LEFT },
	{ "refused seldom", run_refused_seldom, LEFT },
	{ "refused and freed at shutdown", run_refused_and_freed_at_shutdown, LEFT },
	{ "granted now and then", run_granted_now_and_then, LEFT },
	{ "granted more", run_granted_more, LEFT + BLOCKS / 4 * 3 * BLOCK },
	{ "others are refused", run_others_refused, LEFT },
	{ "refused once before", run_refused_once_before, LEFT },
	{ "evicts", run_evicts, 0 },
	{ "evicts little", run_evicts_little, 0 },
	{ "is busy", run_is_busy, 0 },
	{ "gives back", run_gives_back, 0 },
	{ "takes all", run_takes_all, 0 },
	{ "asks for too much", run_asks_for_too_much, 0 },
	{ "levels off", run_levels_off, 0 },
	{ "loads", run_loads, 0 },
	{ "backs off", run_backs_off, 0 },
	{ "refused elsewhere", run_refused_elsewhere, 0 },
	{ "pinned memory is refused", run_pinned_is_refused, 0 },
};

/* NULL: there is none. There are no two. */
static const struct finding *find_leak(const struct run *run)
{
	const struct finding *findings, *leak = NULL;
	size_t count, i;

	findings = analysis_findings(run->analysis, &count);
	for (i = 0; i < count; i++) {
		if (findings[i].rule != FINDING_LEAK_GROWTH)
			continue;
		assert_null(leak);
		leak = &findings[i];
	}
	return leak;
}

static void test_programs(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct finding *leak;
		struct run run = { 0 };

		print_message("# %s\n", programs[i].name);
		assert_true(run_begin(&run));
		programs[i].run(&run);
		finish(&run);
		leak = find_leak(&run);
		assert_int_equal(!leak, !programs[i].bytes);
		if (leak) {
			print_findings(leak, 1);
			assert_int_equal(leak->bytes, programs[i].bytes);
			/* Whether it would have gone on is not seen. */
			assert_int_equal(leak->confidence, FINDING_MEDIUM);
			assert_true(leak->evidence_count < FINDING_EVIDENCE_MAX);
		}
		run_end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
	};

	return unit_run("analysis: growth that is refused", tests);
}
