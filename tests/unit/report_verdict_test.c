// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says first: what was found, why, whether others had it, too, and what to do.
 */
#include "reported.h"

#include "render/report_words.h"

#define MODULES 200

static void assert_says(const struct verdict *verdict, size_t sentence, const char *text)
{
	if (sentence < verdict->count && has(&verdict->sentences[sentence], text))
		return;
	fail_msg("sentence %zu does not say: %s", sentence, text);
}

static void load_modules(void)
{
	union record record;
	uint64_t i;

	for (i = 0; i < MODULES; i++) {
		record = record_call("cuModuleLoadData");
		record.call.addr = 0x7000000 + i * 64;
		record.call.known |= MS_KNOWN_ADDR;
		add(record_on(0, record));
		add(record_on(0, record_call("cuLaunchKernel")));
		now_ns += 10 * MILLISECOND;
	}
}

/* It is not an allocation that takes the memory. */
static void test_what_grew_is_named_if_nothing_explains_a_failure(void **state)
{
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(alloc("cuMemAlloc_v2", 0x100000000, 64 * MIB));
	load_modules();
	add(record_failed(MS_CUDA_OUT_OF_MEMORY, record_on(0, record_call("cuLaunchKernel"))));
	add(record_exit(1 << 8));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, "Out of memory: cuLaunchKernel in process (100) failed");
	assert_says(
		&verdict, 0,
		"Cause: unknown (nothing that was recorded says why); but process (100) piles up"
		" 200 modules (pile, cuModuleLoadData, device 0; ");
	verdict_fini(&verdict);
	done(&reader);
}

/* Two processes of one name; a third one is called otherwise. */
static void test_what_recurs_is_said_once(void **state)
{
	static const char *const names[] = { "worker", "worker", "other" };
	struct report_reader reader;
	struct verdict verdict;
	uint32_t i;

	(void)state;
	begin();
	for (i = 0; i < 3; i++) {
		add(record_of(200 + i, 0, record_process(MS_TYPE_EXEC, names[i], 0)));
		add(record_of(200 + i, 0, record_failed(700, record_call("cuCtxSynchronize"))));
	}
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(
		&verdict, 0,
		"worker (200) had CUDA_ERROR_ILLEGAL_ADDRESS (700), after which no call works any"
		" more (failed-calls, cuCtxSynchronize; high confidence); the same 1 time in other"
		" processes of that name; 1 more finding below.");
	assert_says(&verdict, 1, "What to do: Look at the results of these calls");
	verdict_fini(&verdict);
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_grew_is_named_if_nothing_explains_a_failure),
		cmocka_unit_test(test_what_recurs_is_said_once),
	};

	return unit_run("report_verdict", tests);
}
