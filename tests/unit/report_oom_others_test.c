// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says of others that hold a part of a device on which a call failed: who they are,
 * how much that is, and what either side can do.
 */
#include "reported.h"

#include "render/report_words.h"

#define OTHER 200

static union record of_other(union record record)
{
	record.event.pid = record.event.tid = OTHER;
	return record;
}

/* So much in use and free at once; the process that fails holds nothing yet. */
static void sample(uint64_t other_bytes, uint64_t free_bytes)
{
	union record record = record_device_memory("GPU-1", other_bytes);

	record.device.free_bytes = free_bytes;
	record.device.processes = 1;
	record.device.processes_bytes = other_bytes;
	now_ns += MILLISECOND;
	report_dump_add(&dump, record_at(now_ns, record));
	report_dump_add(&dump, record_at(now_ns, of_other(record_held("GPU-1", other_bytes))));
}

static void check_after(uint64_t ns, uint64_t own_bytes, const char *cause, const char *remedy)
{
	struct report_reader reader;
	struct verdict verdict;

	begin();
	add(of_other(record_process(MS_TYPE_ATTACH, "server", MS_ATTACH_RUNNING)));
	add(of_other(record_identity("user\0bob\0namespace\0ml\0pod\0server-0\0SLURM_JOB_ID\0"
				     "17")));
	add(record_process(MS_TYPE_ATTACH, "train", 0));
	add(record_identity("user\0root\0namespace\0ml\0pod\0train-0"));
	sample(1900 * MIB, 2100 * MIB);
	now_ns += ns;
	add(alloc("cuMemAlloc_v2", 0x100000000, own_bytes));
	add(record_failed(MS_CUDA_OUT_OF_MEMORY,
			  record_without(MS_KNOWN_ADDR, alloc("cuMemAlloc_v2", 0, 1200 * MIB))));
	add(record_exit(1 << 8));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_true(verdict.count > 1);
	if (!has(&verdict.sentences[0], cause))
		print_message("%.*s\n", (int)verdict.sentences[0].length,
			      verdict.sentences[0].bytes);
	assert_true(has(&verdict.sentences[0], cause));
	if (!has(&verdict.sentences[1], remedy))
		print_message("%.*s\n", (int)verdict.sentences[1].length,
			      verdict.sentences[1].bytes);
	assert_true(has(&verdict.sentences[1], remedy));
	verdict_fini(&verdict);
	done(&reader);
}

static void check(uint64_t own_bytes, const char *cause, const char *remedy)
{
	check_after(0, own_bytes, cause, remedy);
}

static void it_and_others(void **state)
{
	(void)state;
	check(2000 * MIB,
	      "Cause: full (it and others together need more than there is: it held 1.95 GiB, and"
	      " asked for 1.17 GiB more; others held 1.86 GiB, 49 % of what was in use: server (200)"
	      " of user bob, pod ml/server-0, job 17 1.86 GiB, by NVML's numbers from 2 ms before;"
	      " the device has 3.91 GiB)",
	      "What to do: This process and others together need more than there is. Either");
	/* It would not have fit alone, either. */
	check(2900 * MIB,
	      "Cause: full (the process itself needs more than there is: it held 2.83 GiB, and asked"
	      " for 1.17 GiB more; others held 1.86 GiB, ",
	      "What to do: The program itself needs more than there is");
}

static void others_above_all(void **state)
{
	(void)state;
	check(1000 * MIB,
	      "Cause: co-tenant (other processes hold most of the device, server (200) of user bob,"
	      " pod ml/server-0, job 17 1.86 GiB; the device has 3.91 GiB)",
	      "if server (200) had held ");
}

/* How sure the cause is, is said beside what to do. */
static void long_after_the_sample(void **state)
{
	(void)state;
	check_after(30000 * MILLISECOND, 1000 * MIB, "Cause: co-tenant (",
		    "What to do (the cause is of low confidence): ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_and_others),
		cmocka_unit_test(others_above_all),
		cmocka_unit_test(long_after_the_sample),
	};

	return unit_run("report: who fills devices together", tests);
}
