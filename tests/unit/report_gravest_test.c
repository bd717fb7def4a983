// SPDX-License-Identifier: BSD-2-Clause
/*
 * The failure that a report begins with is the one that `--at oom` shows.
 */
#include "reported.h"

#include "render/report_words.h"

static void run_out(uint32_t pid, uint64_t bytes)
{
	union record refused =
		record_failed(MS_CUDA_OUT_OF_MEMORY,
			      record_without(MS_KNOWN_ADDR, alloc("cuMemAlloc_v2", 0, bytes)));
	union record ended = record_exit(1 << 8);

	refused.event.pid = refused.event.tid = ended.event.pid = ended.event.tid = pid;
	add(refused);
	add(ended);
}

/* All were fatal: what was asked for decides, wherever that is among them. */
static void the_same_for_the_verdict_and_the_moment(void **state)
{
	size_t most, i;

	(void)state;
	for (most = 0; most < 3; most++) {
		struct report_reader reader;
		struct verdict verdict;

		begin();
		for (i = 0; i < 3; i++)
			run_out(200 + (uint32_t)i, i == most ? 300 * MIB : 100 * MIB);
		reader = end();
		report_verdict(&verdict, &reader.report);
		assert_true(has(&verdict.sentences[0], "Out of memory: cuMemAlloc_v2(300 MiB)"));
		assert_int_equal(report_gravest_oom(reader.report.recordings[0]), most);
		verdict_fini(&verdict);
		done(&reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_for_the_verdict_and_the_moment),
	};

	return unit_run("report_gravest", tests);
}
