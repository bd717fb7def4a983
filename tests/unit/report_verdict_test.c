// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says first: what was found, why, whether others had it, too, and what to do.
 */
#include "reported.h"

#include "render/report_html.h"
#include "render/report_json.h"
#include "render/report_md.h"
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

static union record refused(uint64_t size)
{
	return record_failed(MS_CUDA_OUT_OF_MEMORY,
			     record_without(MS_KNOWN_ADDR, alloc("cuMemAlloc_v2", 0, size)));
}

/* What no device could have granted does not lead, if another process really ran out of memory. */
static void test_an_absurd_request_does_not_lead(void **state)
{
	union record other = refused(100 * MIB), ended = record_exit(1 << 8);
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(alloc("cuMemAlloc_v2", 0x100000000, 64 * MIB));
	add(refused(1ull << 50));
	other.event.pid = other.event.tid = ended.event.pid = ended.event.tid = 200;
	add(other);
	add(record_exit(1 << 8));
	add(ended);
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, "cuMemAlloc_v2(100 MiB) in process (200) failed");
	assert_int_equal(report_gravest_oom(reader.report.recordings[0]), 1);
	verdict_fini(&verdict);
	done(&reader);
}

/* A ring still has the failure before, for which there is another bundle. */
static void test_a_bundle_begins_with_what_it_was_written_for(void **state)
{
	union record other = refused(100 * MIB), ended = record_exit(0);
	struct report_recording *recording;
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(alloc("cuMemAlloc_v2", 0x100000000, 64 * MIB));
	add(refused(200 * MIB));
	add(record_exit(1 << 8));
	other.event.pid = other.event.tid = ended.event.pid = ended.event.tid = 200;
	add(other);
	add(ended);
	reader = end();
	recording = reader.report.recordings[0];
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, "cuMemAlloc_v2(200 MiB) in process (100) failed");
	assert_int_equal(report_gravest_oom(recording), 0);
	verdict_fini(&verdict);
	free(recording->coverage.reason);
	recording->coverage.reason = strdup("oom");
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, "cuMemAlloc_v2(100 MiB) in process (200) failed");
	assert_int_equal(report_gravest_oom(recording), 1);
	verdict_fini(&verdict);
	done(&reader);
}

static void assert_advice(bool beside_another, const char *expected)
{
	union record other = record_process(MS_TYPE_ATTACH, "other", MS_ATTACH_RUNNING);
	struct report_reader reader;
	struct verdict verdict;

	begin();
	other.event.pid = other.event.tid = 200;
	if (beside_another)
		add(other);
	add(alloc("cuMemAlloc_v2", 0x100000000, MIB));
	add(record_from(76 * MIB, alloc("cuMemGetInfo_v2", 0, 1024 * MIB)));
	add(refused(200 * MIB));
	add(record_exit(1 << 8));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, "Cause: unexplained");
	assert_says(&verdict, 1, expected);
	verdict_fini(&verdict);
	done(&reader);
}

/* Whoever recorded all processes is not told to do so. */
static void test_who_was_there_before_may_hold_it(void **state)
{
	(void)state;
	assert_advice(false, "look for processes that were not recorded");
	assert_advice(true, "processes that ran before they were recorded may hold it");
}

/* It leads if there is no other. */
static void test_an_absurd_request_alone(void **state)
{
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(alloc("cuMemAlloc_v2", 0x100000000, 64 * MIB));
	add(refused(1ull << 50));
	add(record_exit(1 << 8));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, "cuMemAlloc_v2(1 PiB) in process (100) failed");
	assert_says(&verdict, 0, "too-large (it asked for more than any device has");
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

static void leak(void)
{
	uint64_t i;

	for (i = 0; i < 200; i++) {
		add(alloc("cuMemAlloc_v2", 0x100000000 + i * 2 * MIB, MIB));
		add(record_on(0, record_call("cuLaunchKernel")));
		now_ns += 10 * MILLISECOND;
	}
}

/* What the end of a process gave back did not go earlier, and stacks have to be asked for. */
static void test_a_leak_without_call_stacks(void **state)
{
	struct report_reader reader;
	struct verdict verdict;
	size_t ends;

	(void)state;
	for (ends = 0; ends < 2; ends++) {
		begin();
		leak();
		if (ends)
			add(record_exit(0));
		reader = end();
		report_verdict(&verdict, &reader.report);
		assert_says(&verdict, 0, "leaves 200 MiB behind");
		assert_says(
			&verdict, 1,
			"without freeing. To see where in the code, record with --stacks=alloc.");
		assert_says(
			&verdict, 2,
			ends ? "; at the end it was 0 B, as all processes had ended (200 MiB had not been"
			       " freed); the" :
			       "; at the end it was 200 MiB; the");
		verdict_fini(&verdict);
		done(&reader);
	}
}

static void test_a_leak_with_call_stacks(void **state)
{
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(record_frame(1, "run", "/usr/bin/train"));
	add(record_stack(1, 1, 1));
	add(record_called_from(1, alloc("cuMemAlloc_v2", 0x80000000, MIB)));
	leak();
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, "MiB behind");
	assert_false(has(&verdict.sentences[1], "--stacks"));
	verdict_fini(&verdict);
	done(&reader);
}

/* Of a process that was gone before it could be looked at, a call's stack has a number alone. */
static void test_out_of_memory_with_stacks_that_are_not_known(void **state)
{
	struct report_reader reader;
	struct string text = { 0 }, json = { 0 };

	(void)state;
	begin();
	add(record_frame(1, "run", "/usr/bin/train"));
	add(record_stack(1, 1, 1));
	add(record_called_from(1, alloc("cuMemAlloc_v2", 0x80000000, MIB)));
	add(record_called_from(2, alloc("cuMemAlloc_v2", 0x90000000, 2 * MIB)));
	add(record_called_from(3, record_failed(MS_CUDA_OUT_OF_MEMORY,
						alloc("cuMemAlloc_v2", 0, 64 * MIB))));
	add(record_exit(1 << 8));
	reader = end();
	report_md(&text, &reader.report, false, true);
	report_json(&json, &reader.report);
	assert_true(has(&text, "| run | 1 MiB | 1 |"));
	assert_true(has(&json, "\"failed_in\":null"));
	string_fini(&text);
	string_fini(&json);
	done(&reader);
}

static void test_a_device_that_no_call_has_named(void **state)
{
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(record_attach_running());
	add(record_alloc("cudaMalloc", 0x1000, 5 * MIB));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 1,
		    "Most was held on a device that no recorded call has named (a process was"
		    " running before; its next call like cuCtxGetDevice would name it): 5 MiB at ");
	verdict_fini(&verdict);
	done(&reader);
}

/* Managed memory is of a device, too. */
static void test_managed_memory_is_not_denied(void **state)
{
	struct string page = { 0 };
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(alloc("cuMemAllocManaged", 0x100000000, 64 * MIB));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 1, "recorded, except of managed memory, which may be");
	verdict_fini(&verdict);
	report_html(&page, &reader.report, NULL);
	assert_true(has(&page,
			"<p>No allocation on a device was recorded, except of managed memory,"
			" which may be there or on the host.</p>"));
	string_fini(&page);
	done(&reader);
}

/* The place of a leak may hold more than what grew. */
static void test_a_part_is_not_larger_than_the_whole(void **state)
{
	struct report_reader reader;
	struct verdict verdict;
	uint64_t i;

	(void)state;
	begin();
	add(record_frame(1, "run", "/usr/bin/train"));
	add(record_stack(1, 1, 1));
	add(record_called_from(1, alloc("cuMemAlloc_v2", 0x80000000, 64 * MIB)));
	for (i = 0; i < 200; i++) {
		add(record_called_from(1, alloc("cuMemAlloc_v2", 0x100000000 + i * MIB, MIB)));
		add(record_on(0, record_call("cuLaunchKernel")));
		now_ns += 10 * MILLISECOND;
	}
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, "leaves 200 MiB behind");
	assert_says(&verdict, 0, "In all, 264 MiB of what is live was allocated in run");
	verdict_fini(&verdict);
	done(&reader);
}

#define NOWHEN \
	{ \
		.kind = REPORT_TIME_NONE \
	}
#define SINCE(at) \
	{ \
		.kind = REPORT_TIME_SINCE_BEGIN, .ns = (at) \
	}
#define BEFORE_END(at) \
	{ \
		.kind = REPORT_TIME_BEFORE_END, .ns = (at) \
	}
#define EXACT "Nothing was lost: the numbers are exact"
#define NOT_HOW_MANY \
	"; but how many copies were in this time is not known, as they were only counted."

/* Copies that were only counted are told a while after they were made: all of the time has all. */
static void test_a_part_of_the_time_may_lack_what_was_counted(void **state)
{
	static const struct {
		struct report_time from, until;
		const char *words;
	} parts[] = {
		{ NOWHEN, NOWHEN, EXACT "." },
		{ NOWHEN, SINCE(3 * MILLISECOND / 2), EXACT NOT_HOW_MANY },
		{ SINCE(3 * MILLISECOND / 2), NOWHEN, EXACT NOT_HOW_MANY },
		/* These cut nothing. */
		{ SINCE(0), NOWHEN, EXACT "." },
		{ BEFORE_END(3600 * SECOND), NOWHEN, EXACT "." },
		{ NOWHEN, SINCE(3600 * SECOND), EXACT "." },
		{ SINCE(0), SINCE(3600 * SECOND), EXACT "." },
	};
	size_t part;

	(void)state;
	for (part = 0; part < sizeof(parts) / sizeof(*parts); part++) {
		struct report_reader reader = report_dump_reader();
		struct verdict verdict;

		begin_as(REPORT_DUMP_OPS, "summary", NULL);
		add(alloc("cuMemAlloc_v2", 0x100000000, MIB));
		add(alloc("cuMemAlloc_v2", 0x200000000, MIB));
		report_dump_end(&dump, now_ns);
		reader.from = parts[part].from;
		reader.until = parts[part].until;
		report_dump_read(&dump, &reader);
		report_verdict(&verdict, &reader.report);
		assert_says(&verdict, 2, parts[part].words);
		verdict_fini(&verdict);
		done(&reader);
	}
}

#define UNWRITTEN \
	"700 records could not be written when this was recorded (a full disk?): all that is said" \
	" here is of the rest. Nothing wrong was found"

static void test_what_could_not_be_written_is_said(void **state)
{
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(alloc("cuMemAlloc_v2", 0x100000000, MIB));
	dump.unwritten = 700;
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_int_equal(strncmp(verdict.sentences[0].bytes, UNWRITTEN, strlen(UNWRITTEN)), 0);
	assert_says(&verdict, 2,
		    "The recording lacks something: 700 records could not be written, and what is"
		    " live and the peaks are not exact.");
	verdict_fini(&verdict);
	done(&reader);
}

/* A program that ends without an error may have wanted no more. */
static void test_a_good_end_is_not_said_to_be_fatal(void **state)
{
	static const char *const words[] = { "It may have been fatal: ", "It was fatal: " };
	struct string text = { 0 }, json = { 0 };
	struct report_reader reader;
	struct verdict verdict;
	int code;

	(void)state;
	for (code = 0; code < 2; code++) {
		begin();
		add(alloc("cuMemAlloc_v2", 0x100000000, 64 * MIB));
		add(refused(1ull << 50));
		add(record_exit((uint32_t)code << 8));
		reader = end();
		report_verdict(&verdict, &reader.report);
		assert_says(&verdict, 0, words[code]);
		verdict_fini(&verdict);
		report_md(&text, &reader.report, false, true);
		report_json(&json, &reader.report);
		assert_true(has(&text, code ? "How it ended: fatal: " : "How it ended: gave-up: "));
		assert_true(has(&json, code ? "\"outcome\":\"fatal\"" : "\"outcome\":\"gave-up\""));
		string_fini(&text);
		string_fini(&json);
		done(&reader);
	}
}

/* It has not gone on without it: it waits. */
static void test_a_process_that_did_nothing_more(void **state)
{
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(alloc("cuMemAlloc_v2", 0x100000000, 64 * MIB));
	add(refused(1ull << 50));
	now_ns += 60 * SECOND;
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(
		&verdict, 0,
		"It may have been fatal: nothing was granted after that; the process did nothing"
		" more with its devices.");
	verdict_fini(&verdict);
	done(&reader);
}

/* What the verdict's first sentence is about the blocks of a process that lives for `seconds`. */
static void assert_of_leaks(unsigned int seconds, const char *text)
{
	struct report_reader reader;
	struct verdict verdict;

	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	now_ns += seconds * SECOND;
	add(alloc("cudaMalloc", 0x2000, 300));
	add(record_exit(0));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_says(&verdict, 0, text);
	verdict_fini(&verdict);
	done(&reader);
}

/* NVML's numbers, which a machine without NVML lacks, are not what leaks are found by. */
static void test_no_leak_is_said_if_that_could_be_seen(void **state)
{
	(void)state;
	assert_of_leaks(2, "Nothing wrong was found: no leak, no out-of-memory failure, no churn");
	assert_of_leaks(2, ". Not looked for: unexplained-growth");
	assert_of_leaks(0, "Nothing wrong was found: no out-of-memory failure, no churn");
	assert_of_leaks(0, ". Not looked for: leak-growth, ");
}

#define SINCE_THEN \
	"Nothing wrong was found in what was recorded, which lacks what processes held before they" \
	" were attached to: no leak"
#define NONE_SINCE_THEN \
	"None found, but what processes held before they were attached to was not seen."

/* Of a program that ran before, in what it allocated before there may be one. */
static void test_what_was_before_comes_before_that_there_is_no_leak(void **state)
{
	struct string text = { 0 }, page = { 0 }, json = { 0 };
	struct report_reader reader;
	struct verdict verdict;

	(void)state;
	begin();
	add(record_attach_running());
	add(alloc("cudaMalloc", 0x1000, 300));
	now_ns += 2 * SECOND;
	add(alloc("cudaMalloc", 0x2000, 300));
	reader = end();
	report_verdict(&verdict, &reader.report);
	assert_int_equal(strncmp(verdict.sentences[0].bytes, SINCE_THEN, strlen(SINCE_THEN)), 0);
	report_md(&text, &reader.report, false, true);
	report_html(&page, &reader.report, NULL);
	report_json(&json, &reader.report);
	assert_true(has(&text, SINCE_THEN) && has(&text, NONE_SINCE_THEN));
	assert_true(has(&page, SINCE_THEN));
	assert_true(has(&json, "\"verdict\":[\"" SINCE_THEN));
	string_fini(&text);
	string_fini(&page);
	string_fini(&json);
	verdict_fini(&verdict);
	done(&reader);
}

/* Which of two findings leads, whatever their order. */
static void assert_leads(const struct finding *leader, const struct finding *other)
{
	struct report_finding findings[] = { { .finding = leader }, { .finding = other } };
	struct report_recording recording = { .findings = findings, .findings_count = 2 };
	struct report_recording *recordings[] = { &recording };
	const struct report report = { .recordings = recordings, .count = 1 };
	const struct report_recording *where;

	assert_ptr_equal(report_gravest(&report, false, &where), leader);
	findings[0].finding = other;
	findings[1].finding = leader;
	assert_ptr_equal(report_gravest(&report, false, &where), leader);
}

/* On a busy machine, any program waits for a CPU. */
static void test_what_is_about_memory_comes_before_a_busy_machine(void **state)
{
	static const enum finding_rule of_memory[] = { FINDING_LEAK_GROWTH, FINDING_FRAGMENTATION,
						       FINDING_OOM, FINDING_TEMPORARY };
	const struct finding busy = { .rule = FINDING_CPU_CONTENTION,
				      .confidence = FINDING_HIGH,
				      .bytes = 1 };
	struct finding finding = { .rule = FINDING_OOM, .outcome = OOM_RECOVERED };
	size_t i;

	(void)state;
	assert_true(finding_ended_well(&finding));
	assert_leads(&finding, &busy);
	for (i = 0; i < sizeof(of_memory) / sizeof(of_memory[0]); i++) {
		finding = (struct finding){ .rule = of_memory[i], .confidence = FINDING_LOW };
		assert_leads(&finding, &busy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_absurd_request_does_not_lead),
		cmocka_unit_test(test_a_bundle_begins_with_what_it_was_written_for),
		cmocka_unit_test(test_who_was_there_before_may_hold_it),
		cmocka_unit_test(test_an_absurd_request_alone),
		cmocka_unit_test(test_what_grew_is_named_if_nothing_explains_a_failure),
		cmocka_unit_test(test_what_recurs_is_said_once),
		cmocka_unit_test(test_a_leak_without_call_stacks),
		cmocka_unit_test(test_a_leak_with_call_stacks),
		cmocka_unit_test(test_out_of_memory_with_stacks_that_are_not_known),
		cmocka_unit_test(test_a_device_that_no_call_has_named),
		cmocka_unit_test(test_managed_memory_is_not_denied),
		cmocka_unit_test(test_a_part_is_not_larger_than_the_whole),
		cmocka_unit_test(test_a_part_of_the_time_may_lack_what_was_counted),
		cmocka_unit_test(test_what_could_not_be_written_is_said),
		cmocka_unit_test(test_no_leak_is_said_if_that_could_be_seen),
		cmocka_unit_test(test_what_was_before_comes_before_that_there_is_no_leak),
		cmocka_unit_test(test_what_is_about_memory_comes_before_a_busy_machine),
		cmocka_unit_test(test_a_good_end_is_not_said_to_be_fatal),
		cmocka_unit_test(test_a_process_that_did_nothing_more),
	};

	return unit_run("report_verdict", tests);
}
