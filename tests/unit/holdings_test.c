// SPDX-License-Identifier: BSD-2-Clause
/*
 * Peaks of several threads, of which the driver's order is not known; and what is suggested to
 * programs that use pools.
 */
#include "reported.h"

/* ---- the order of calls ---------------------------------------------------------------------- */

#define BLOCK (8 * MIB)

/* Thread 2 frees a block and `tid` allocates one; times are microseconds from a moment on. */
struct overlap {
	const char *name;
	uint32_t tid;
	uint64_t free_begin, free_end, alloc_begin, alloc_end;
	uint64_t unsure_bytes;
};

static void at(uint64_t us, union record record)
{
	report_dump_add(&dump, record_at(2 * SECOND + us * 1000, record));
}

static union record took(const struct overlap *overlap, bool is_free)
{
	const uint64_t us = is_free ? overlap->free_end - overlap->free_begin :
				      overlap->alloc_end - overlap->alloc_begin;

	return is_free ?
		       record_by(2, record_taking(us * 1000, record_free("cudaFree", 0x1000000))) :
		       record_by(overlap->tid,
				 record_taking(us * 1000, alloc("cudaMalloc", 0x8000000, BLOCK)));
}

/* Records come when what they are about ends; that of a free's beginning at once. */
static void play(const struct overlap *overlap)
{
	const bool free_first = overlap->free_end < overlap->alloc_end;

	if (overlap->free_begin < overlap->alloc_end)
		at(overlap->free_begin, record_by(2, record_free_begin(0x1000000)));
	if (free_first)
		at(overlap->free_begin, took(overlap, true));
	at(overlap->alloc_begin, took(overlap, false));
	if (overlap->free_begin >= overlap->alloc_end)
		at(overlap->free_begin, record_by(2, record_free_begin(0x1000000)));
	if (!free_first)
		at(overlap->free_begin, took(overlap, true));
}

static void test_peaks_of_threads(void **state)
{
	static const struct overlap cases[] = {
		{ "the free has not ended", 1, 100, 500, 200, 300, BLOCK },
		{ "the free has ended meanwhile", 1, 100, 250, 200, 300, BLOCK },
		{ "the free is within the allocation", 1, 220, 250, 200, 300, BLOCK },
		{ "the free came before", 1, 100, 150, 200, 300, 0 },
		{ "the free came after", 1, 400, 500, 200, 300, 0 },
		{ "one thread does both", 2, 100, 150, 200, 300, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct report_reader reader = report_dump_reader();
		const struct report_recording *recording;

		print_message("# %s\n", cases[i].name);
		begin();
		add(alloc("cudaMalloc", 0x1000000, BLOCK));
		play(&cases[i]);
		now_ns = 3 * SECOND;
		report_dump_end(&dump, now_ns);
		report_dump_read(&dump, &reader);
		recording = reader.report.recordings[0];
		assert_int_equal(report_peak_unsure(recording, recording->processes[0].process),
				 cases[i].unsure_bytes);
		done(&reader);
	}
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Allocations and frees that take most of the time; with pauses, only in some windows of it. */
static void run_storm(const char *alloc_by, const char *free_by, bool pauses)
{
	int i;

	for (i = 0; i < 6000; i++) {
		const uint64_t begin_ns = now_ns;

		report_dump_add(
			&dump, record_at(begin_ns,
					 record_taking(100000, alloc(alloc_by, 0x1000000, 65536))));
		report_dump_add(&dump, record_at(begin_ns + 150000, record_free_begin(0x1000000)));
		report_dump_add(&dump,
				record_at(begin_ns + 150000,
					  record_taking(100000, record_free(free_by, 0x1000000))));
		now_ns = begin_ns + 300000 + (pauses && i % 400 == 399 ? 3 * SECOND : 0);
	}
}

static void suggest(struct string *out, const struct report_recording *recording)
{
	enum finding_rule rule;
	const char *text;
	size_t i;

	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		for (i = 0; (text = report_suggestion(recording, rule, i)); i++)
			string_append_format(out, "%s\n", text);
}

static void test_who_uses_pools_is_not_advised_to(void **state)
{
	static const struct {
		const char *alloc_by, *free_by;
		bool pauses;
		const char *has, *has_not;
	} cases[] = {
		{ "cudaMalloc", "cudaFree", true, "cudaMallocAsync with a release threshold",
		  "from a stream-ordered pool already" },
		{ "cudaMallocAsync", "cudaFreeAsync", true, "from a stream-ordered pool already",
		  "cudaMallocAsync with" },
		{ "cudaMalloc", "cudaFree", false, "or use a pool", "of the pool that they" },
		{ "cudaMallocAsync", "cudaFreeAsync", false, "of the pool that they come from",
		  "or use a pool" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct report_reader reader = report_dump_reader();
		struct string text = { 0 };

		begin();
		run_storm(cases[i].alloc_by, cases[i].free_by, cases[i].pauses);
		report_dump_end(&dump, now_ns);
		report_dump_read(&dump, &reader);
		suggest(&text, reader.report.recordings[0]);
		if (!text.length || !has(&text, cases[i].has) || has(&text, cases[i].has_not))
			fail_msg("%s: %.*s", cases[i].alloc_by, (int)text.length,
				 text.length ? text.bytes : "");
		string_fini(&text);
		done(&reader);
	}
}

/* Blocks that stay, and a kernel of that name for each. */
static void run_growth(const char *kernel)
{
	int i;

	report_dump_add(&dump, record_at(now_ns, record_name(0x500, kernel)));
	for (i = 0; i < 200; i++) {
		report_dump_add(&dump,
				record_at(now_ns, alloc("cudaMalloc", 0x1000000 + i * 0x200000ull,
							0x100000)));
		report_dump_add(&dump,
				record_at(now_ns + 1000, record_launch("cuLaunchKernel", 0x500)));
		now_ns += 100000000;
	}
}

static void test_growth_with_pytorch_may_be_fragmentation(void **state)
{
	static const struct {
		const char *kernel;
		bool is_torch;
	} cases[] = {
		{ "void at::native::elementwise_kernel<128>(int)", true },
		{ "void step(int)", false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct report_reader reader = report_dump_reader();
		struct string text = { 0 };

		begin();
		run_growth(cases[i].kernel);
		report_dump_end(&dump, now_ns);
		report_dump_read(&dump, &reader);
		suggest(&text, reader.report.recordings[0]);
		assert_true(has(&text, "Look for what keeps these allocations alive"));
		assert_int_equal(has(&text, "memory_reserved() over time"), cases[i].is_torch);
		string_fini(&text);
		done(&reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peaks_of_threads),
		cmocka_unit_test(test_who_uses_pools_is_not_advised_to),
		cmocka_unit_test(test_growth_with_pytorch_may_be_fragmentation),
	};

	return unit_run("what processes hold", tests);
}
