// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says first of calls that failed because memory had run out: who held what, as far
 * as that is known.
 */
#include "reported.h"

#include "render/report_words.h"

static union record refused(uint64_t size)
{
	return record_failed(MS_CUDA_OUT_OF_MEMORY,
			     record_without(MS_KNOWN_ADDR, alloc("cuMemAlloc_v2", 0, size)));
}

static void assert_says(const struct verdict *verdict, size_t sentence, const char *text)
{
	if (sentence < verdict->count && has(&verdict->sentences[sentence], text))
		return;
	fail_msg("sentence %zu does not say: %s", sentence, text);
}

/* After a restart of the recorder, what it recorded before is in another recording. */
static void what_was_held_before_attaching_is_not_known(void **state)
{
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(record_process(MS_TYPE_ATTACH, "leak", MS_ATTACH_RUNNING));
	add(alloc("cuMemAlloc_v2", 0x100000000, MIB));
	add(record_from(76 * MIB, alloc("cuMemGetInfo_v2", 0, 1024 * MIB)));
	add(refused(200 * MIB));
	add(record_exit(1 << 8));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0,
		    ", when leak (100) held at least 1 MiB, all of what is known from"
		    " cuMemAlloc_v2; leak (100) ran before it was attached to, and what it held by"
		    " then is not known. It was fatal");
	assert_says(&verdict, 0,
		    "Cause: unknown (what the process held when it was attached to is not known;"
		    " the device has 1 GiB)");
	assert_says(&verdict, 1, "is not in this recording: look into the one before");
	verdict_fini(&verdict);
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_held_before_attaching_is_not_known),
	};

	return unit_run("report: words of failed allocations", tests);
}
