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

/* A smaller block that another process let go of is not what was refused before. */
static void run_granted_less(struct run *run)
{
	int i;

	leak(run, BLOCKS);
	for (i = 0; i < BLOCKS; i++) {
		fail_alloc(run, BLOCK);
		fail_alloc(run, MIB);
		free_at(run, alloc_new(run, MIB));
		steps(run, 10);
	}
}

/* That is hardly anything. */
static void run_granted_hardly_anything(struct run *run)
{
	int i;

	leak(run, BLOCKS);
	for (i = 0; i < BLOCKS; i++) {
		fail_alloc(run, BLOCK);
		free_at(run, alloc_new(run, BLOCK / 64));
		steps(run, 10);
	}
}

static void fail_on(struct run *run, int32_t device)
{
	feed(run, record_failed(2, record_on(device, record_without(MS_KNOWN_ADDR,
								    record_alloc("cuMemAlloc_v2", 0,
										 GIB)))));
}

/* It had been refused something on many other devices before, and is on one more. */
static void run_devices(struct run *run)
{
	int i;

	for (i = 1; i <= 20; i++)
		fail_on(run, i);
	leak(run, BLOCKS);
	for (i = 0; i < BLOCKS; i++) {
		fail_on(run, 21);
		refused(run, 1, BLOCK);
	}
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

/* The same after a cache has filled for half of the time. */
static void run_backs_off_with(struct run *run, bool halves, uint64_t granted)
{
	int i;

	leak(run, BLOCKS);
	for (i = 0; i < BLOCKS; i++) {
		fail_alloc(run, GIB);
		if (halves)
			fail_alloc(run, GIB / 2);
		free_at(run, alloc_new(run, granted));
		steps(run, 10);
	}
}

static void run_backs_off_late(struct run *run)
{
	run_backs_off_with(run, false, GIB / 4);
}

static void run_backs_off_twice(struct run *run)
{
	run_backs_off_with(run, true, GIB / 4);
}

static void run_halves(struct run *run)
{
	run_backs_off_with(run, true, GIB / 2);
}

/* Only what is much smaller than its blocks. */
static void run_backs_off_far(struct run *run)
{
	run_backs_off_with(run, false, MIB);
}

/* It goes on without. */
static void run_asks_for_too_much_late(struct run *run)
{
	leak(run, BLOCKS);
	refused(run, BLOCKS, GIB);
}

/* What it asks for was there until the cache took it, and it does with less ever since. */
static void run_got_more_before(struct run *run, bool waits, uint64_t granted)
{
	int i;

	for (i = 0; i < BLOCKS; i++) {
		uint64_t scratch = alloc_new(run, GIB);

		alloc_new(run, BLOCK);
		steps(run, 10);
		free_at(run, scratch);
	}
	for (i = 0; i < (waits ? 8 : BLOCKS); i++) {
		fail_alloc(run, GIB);
		if (waits)
			wait_for(run, 1200 * MS);
		fail_alloc(run, GIB / 2);
		if (waits)
			wait_for(run, 1200 * MS);
		free_at(run, alloc_new(run, granted));
		steps(run, 10);
	}
}

static void run_had_more_before(struct run *run)
{
	run_got_more_before(run, false, GIB / 4);
}

/* Much less, but the blocks of its cache are smaller than that. */
static void run_had_much_more_before(struct run *run)
{
	run_got_more_before(run, false, 4 * BLOCK);
}

static void run_tries_for_long(struct run *run)
{
	run_got_more_before(run, true, GIB / 4);
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
	bool unsure;    /* it may do with less */
};

static const struct leaking programs[] = {
	{ "refused", run_refused, LEFT, false },
	{ "refused for long", run_refused_for_long, LEFT, false },
	{ "refused and ended", run_refused_and_ended, LEFT, false },
	{ "refused seldom", run_refused_seldom, LEFT, false },
	{ "refused and freed at shutdown", run_refused_and_freed_at_shutdown, LEFT, false },
	{ "granted now and then", run_granted_now_and_then, LEFT, false },
	{ "granted more", run_granted_more, LEFT + BLOCKS / 4 * 3 * BLOCK, false },
	{ "others are refused", run_others_refused, LEFT, false },
	{ "refused once before", run_refused_once_before, LEFT, false },
	{ "granted less", run_granted_less, LEFT, true },
	{ "granted hardly anything", run_granted_hardly_anything, LEFT, false },
	{ "refused on many devices", run_devices, LEFT, false },
	{ "evicts", run_evicts, 0, false },
	{ "evicts little", run_evicts_little, 0, false },
	{ "is busy", run_is_busy, 0, false },
	{ "gives back", run_gives_back, 0, false },
	{ "takes all", run_takes_all, 0, false },
	{ "asks for too much", run_asks_for_too_much, 0, false },
	{ "levels off", run_levels_off, 0, false },
	{ "loads", run_loads, 0, false },
	{ "backs off", run_backs_off, 0, false },
	{ "backs off late", run_backs_off_late, 0, false },
	{ "backs off twice", run_backs_off_twice, 0, false },
	{ "halves", run_halves, 0, false },
	{ "backs off far", run_backs_off_far, 0, false },
	{ "asks for too much late", run_asks_for_too_much_late, 0, false },
	{ "had more before", run_had_more_before, 0, false },
	{ "had much more before", run_had_much_more_before, 0, false },
	{ "tries for long", run_tries_for_long, 0, false },
	{ "refused elsewhere", run_refused_elsewhere, 0, false },
	{ "pinned memory is refused", run_pinned_is_refused, 0, false },
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
			assert_int_equal(leak->confidence,
					 programs[i].unsure ? FINDING_LOW : FINDING_MEDIUM);
			assert_true(leak->evidence_count < FINDING_EVIDENCE_MAX);
		}
		run_end(&run);
	}
}

/* Nor is it why memory ran out. */
static void test_who_backs_off_has_no_leak(void **state)
{
	static void (*const runs[])(struct run * run) = { run_backs_off_late, run_backs_off_twice,
							  run_had_more_before, run_granted_less };
	size_t i, count;

	(void)state;
	for (i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		const struct analysis_oom *ooms;
		struct run run = { 0 };

		assert_true(run_begin(&run));
		runs[i](&run);
		finish(&run);
		ooms = analysis_ooms(run.analysis, &count);
		assert_int_equal(count, 16);
		assert_int_not_equal(ooms[count - 1].cause, OOM_LEAK);
		run_end(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_backs_off_has_no_leak),
		cmocka_unit_test(test_programs),
	};

	return unit_run("analysis: growth that is refused", tests);
}
