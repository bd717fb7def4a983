// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is said of a diff in sentences, whatever they are part of.
 */
#include "diff_example.h"

#include "render/diff_words.h"

static void say(struct string *out)
{
	struct verdict verdict;
	size_t i;

	diff_verdict(&verdict, diffs.diff);
	for (i = 0; i < verdict.count; i++) {
		string_append(out, verdict.sentences[i].bytes, verdict.sentences[i].length);
		string_append_char(out, '\n');
	}
	verdict_fini(&verdict);
}

static void test_what_shrank(void **state)
{
	struct string said = { 0 };

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	add_alloc(&diffs.a, 10, "cudaMalloc", 3 * MIB);
	add_alloc(&diffs.a, 10, "cudaMalloc", 3 * MIB);
	add_alloc(&diffs.b, 10, "cudaMalloc", 3 * MIB);
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "train (10) holds 3 MiB less device memory at the end: 6 MiB before,"
			       " 3 MiB now; all of it by cudaMalloc on device 0 (-3 MiB), in blocks"
			       " of 2 MiB to 4 MiB (-3 MiB in 1 block less).\n"));
	assert_true(has(&said, "Nothing was lost on either side: the numbers are exact.\n"));
	string_fini(&said);
	diffs_done(&diffs);
}

/* What an interpreter runs tells programs apart, where both sides know it. */
static void test_different_programs_of_one_interpreter(void **state)
{
	static const struct {
		const char *script;
		bool other;
	} cases[] = { { "job.py", false }, { "svc.py", true } };
	struct string said = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		char texts[64] = "script\0job.py";

		string_clear(&said);
		diffs_begin(&diffs);
		add_process(&diffs.a, 10, "python3");
		add_process(&diffs.b, 10, "python3");
		add_of(&diffs.a, 10, record_identity_of(texts, sizeof("script") + 7));
		memcpy(texts + sizeof("script"), cases[i].script, 7);
		add_of(&diffs.b, 10, record_identity_of(texts, sizeof("script") + 7));
		add_alloc(&diffs.a, 10, "cudaMalloc", 3 * MIB);
		add_alloc(&diffs.b, 10, "cudaMalloc", 9 * MIB);
		diffs_end(&diffs);
		say(&said);
		assert_int_equal(has(&said,
				     "python3 job.py (10) in A and python3 svc.py (10) in B are"
				     " different programs by their names, and are compared"
				     " because both are python3.\n"),
				 cases[i].other);
		diffs_done(&diffs);
	}
	string_fini(&said);
}

static void assert_shared(unsigned int mib, unsigned int other_mib, unsigned int third_mib,
			  const char *words)
{
	struct string said = { 0 };

	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	add_alloc(&diffs.b, 10, "cudaMalloc", mib * MIB);
	add_alloc(&diffs.b, 10, "cudaMallocPitch", other_mib * MIB);
	if (third_mib)
		add_alloc(&diffs.b, 10, "cuMemAlloc_v2", third_mib * MIB);
	diffs_end(&diffs);
	say(&said);
	if (!has(&said, words))
		fail_msg("%.*s", (int)said.length, said.bytes);
	string_fini(&said);
	diffs_done(&diffs);
}

/* What is exactly half is not most, and the largest of three may be less. */
static void test_how_much_of_it(void **state)
{
	(void)state;
	assert_shared(96, 96, 0, "; half of it by cudaMalloc");
	assert_shared(97, 96, 0, "; most of it by cudaMalloc on device 0 (+97 MiB)");
	assert_shared(96, 64, 64, "; the largest part of it by cudaMalloc on device 0 (+96 MiB)");
}

/* A part that is more than the whole says why. */
static void test_parts_that_others_make_up_for(void **state)
{
	struct string said = { 0 };
	int i;

	(void)state;
	begin_alike();
	for (i = 0; i < 10; i++)
		add_alloc(&diffs.a, 10, "cudaMalloc", 10 * MIB);
	add_alloc(&diffs.b, 10, "cudaMalloc", 140 * MIB);
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "holds 40 MiB more device memory at the end: 100 MiB before, 140"));
	assert_true(has(&said, "; all of it by cudaMalloc on device 0 (+40 MiB), in blocks of 128"
			       " MiB to 256 MiB (+140 MiB in 1 block more, while other sizes"
			       " shrank).\n"));
	diffs_done(&diffs);

	string_clear(&said);
	begin_alike();
	add_alloc(&diffs.a, 10, "cuMemAlloc_v2", 20 * MIB);
	add_alloc(&diffs.b, 10, "cudaMalloc", 60 * MIB);
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "holds 40 MiB more device memory at the end: 20 MiB before, 60"));
	assert_true(has(&said, "; all of it by cudaMalloc on device 0 (+60 MiB, while others"
			       " shrank), in blocks of 32 MiB to 64 MiB (+60 MiB in 1 block"
			       " more).\n"));
	string_fini(&said);
	diffs_done(&diffs);
}

/* The same in another way: most of it is not less. */
static void test_what_took_the_place_of_others(void **state)
{
	struct string said = { 0 };
	int i;

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	for (i = 0; i < 20; i++)
		add_alloc(&diffs.a, 10, "cudaMalloc", 3 * MIB);
	for (i = 0; i < 19; i++)
		add_alloc(&diffs.b, 10, "cuMemAlloc_v2", 3 * MIB);
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "3 MiB less device memory at the end: 60 MiB before, 57 MiB now;"
			       " what changed most, and others made up for, is cudaMalloc on device"
			       " 0 (-60 MiB).\n"));
	string_fini(&said);
	diffs_done(&diffs);
}

static void end_train(struct side *side, uint32_t pid, uint32_t status)
{
	add_process(side, pid, "train");
	add_of(side, pid, record_process(MS_TYPE_EXIT, "train", status));
}

static void test_how_processes_ended(void **state)
{
	struct string said = { 0 };

	(void)state;
	diffs_begin(&diffs);
	end_train(&diffs.a, 10, 0);
	end_train(&diffs.b, 10, 0);
	end_train(&diffs.a, 20, 1 << 8);
	end_train(&diffs.b, 20, 0);
	end_train(&diffs.a, 30, 0);
	end_train(&diffs.b, 30, 9);
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "train (30) ended otherwise: killed by signal 9 now, exited with 0"
			       " before; so did 1 more process.\n"));
	assert_true(has(&said, "Apart from how processes ended, nothing differs"));
	assert_true(diff_differs(diffs.diff));
	assert_true(diff_is_worse(diffs.diff));
	diffs_done(&diffs);

	/* What a process was doing when the recording ended is not how it ended. */
	string_fini(&said);
	diffs_begin(&diffs);
	end_train(&diffs.a, 10, 0);
	add_process(&diffs.b, 10, "train");
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "Nothing differs."));
	diffs_done(&diffs);

	/* It was killed, and is not any more. */
	string_fini(&said);
	diffs_begin(&diffs);
	end_train(&diffs.a, 10, 9);
	add_process(&diffs.b, 10, "train");
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "train (10) ended otherwise: still running at the end now, killed by"
			       " signal 9 before.\n"));
	assert_false(diff_is_worse(diffs.diff));
	string_fini(&said);
	diffs_done(&diffs);
}

static void test_missed_processes(void **state)
{
	struct string said = { 0 };

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	diffs.b.dump.missed = 1;
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "Nothing was lost on either side; of processes that could not be"
			       " attached to in time in B, calls may be missing.\n"));
	diffs_done(&diffs);

	string_fini(&said);
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	diffs.a.dump.untraced = 3;
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "Nothing was lost on either side; descendants of the recorded"
			       " processes in A used CUDA and were not recorded.\n"));
	diffs_done(&diffs);

	string_fini(&said);
	diffs_begin(&diffs);
	add_of(&diffs.a, 10, record_process(MS_TYPE_ATTACH, "train", MS_ATTACH_RUNNING));
	add_process(&diffs.b, 10, "train");
	diffs.a.dump.missed = diffs.b.dump.missed = 1;
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "but what is live and the peaks are not exact in A; of processes"
			       " that could not be attached to in time in either, calls may be"
			       " missing.\n"));
	string_fini(&said);
	diffs_done(&diffs);
}

/* Their numbers would be others' than those that are compared. */
static void test_children_that_were_not_recorded(void **state)
{
	struct string said = { 0 };

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	diffs.b.dump.forks = "10 2 11 12";
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said, "Nothing was lost on either side: the numbers of the recorded"
			       " processes are exact; whether children that they forked in B used"
			       " CUDA is not known (record -f includes children).\n"));
	string_fini(&said);
	diffs_done(&diffs);
}

static void test_other_differences(void **state)
{
	struct string said = { 0 };
	int i;

	(void)state;
	diffs_begin(&diffs);
	add_process(&diffs.a, 10, "train");
	add_process(&diffs.b, 10, "train");
	for (i = 0; i < 20; i++)
		add_of(&diffs.b, 10, record_launch("cuLaunchKernel", 0x77));
	diffs_end(&diffs);
	say(&said);
	assert_true(has(&said,
			"No process holds more or less beyond noise; other numbers differ, in"
			" 1 row: Kernels.\n"));
	string_fini(&said);
	diffs_done(&diffs);
}

static bool begins(const struct string *string, const char *text)
{
	return string->length >= strlen(text) && !memcmp(string->bytes, text, strlen(text));
}

/* That a function fails for want of memory is no reason to keep quiet about why else it fails. */
static void test_another_failure_of_what_ran_out_of_memory(void **state)
{
	struct string said = { 0 };

	(void)state;
	begin_alike();
	add_oom(&diffs.b, 10);
	add_of(&diffs.b, 10, record_failed(801, record_call("cudaMalloc")));
	diffs_end(&diffs);
	say(&said);
	assert_true(begins(&said, "New: oom in train (10) by cudaMalloc (8 GiB)."
				  " Also new: cudaMalloc failed with cudaErrorNotSupported (801)"));
	diffs_done(&diffs);
	string_fini(&said);
}

/* Before what grew; and a failure for want of memory is said once. */
static void test_what_is_wrong_comes_first(void **state)
{
	struct string said = { 0 };
	int i;

	(void)state;
	begin_alike();
	add_oom(&diffs.b, 10);
	add_of(&diffs.b, 10, record_failed(801, record_call("cuCtxSynchronize")));
	add_alloc(&diffs.b, 10, "cudaMalloc", 9 * MIB);
	for (i = 0; i < 20; i++)
		add_of(&diffs.b, 10, record_launch("cuLaunchKernel", 0x77));
	diffs_end(&diffs);
	say(&said);
	assert_true(begins(&said, "New: oom in train (10) by cudaMalloc (8 GiB)."
				  " Also new: cuCtxSynchronize failed with CUDA_ERROR_NOT_SUPPORTED"
				  " (801) in train (10).\ntrain (10) holds 9 MiB more"));
	diff_free(diffs.diff);
	/* That it is gone comes after. */
	diffs.diff = diff_new(&diffs.b.reader.report, &diffs.a.reader.report, &diffs.options);
	assert_non_null(diffs.diff);
	string_clear(&said);
	say(&said);
	assert_true(begins(&said, "train (10) holds 9 MiB less"));
	assert_true(has(&said, "\nGone: oom in train (10) by cudaMalloc (8 GiB).\n"));
	/* Findings alone. */
	diffs.diff->rows_count = 0;
	diffs.diff->below_noise = 2;
	string_clear(&said);
	say(&said);
	assert_true(begins(&said, "Apart from findings, nothing differs by more than noise; 2 rows"
				  " differ by less.\nGone: oom"));
	string_fini(&said);
	diffs_done(&diffs);
}

/* A service without a name in B, as the recording began while it ran: A may know it. */
static void test_the_name_of_either_side(void **state)
{
	static const char *const names[][3] = {
		{ "ffmpeg", "ffmpeg", "ffmpeg (10, now 20)" },
		{ "ffmpeg", "", "ffmpeg (10, now 20)" },
		{ "", "ffmpeg", "ffmpeg (10, now 20)" },
		{ "old", "new", "new (10, now 20)" },
		{ "", "", "process (10, now 20)" },
	};
	struct process a = { .pid = 10 }, b = { .pid = 20 };
	struct report_process shown = { 0 };
	struct finding finding = { .pid = 20, .rule = FINDING_OOM, .row = MS_NO_ROW };
	struct diff_pair pair = { .a = { .process = &a, .shown = &shown },
				  .b = { .process = &b, .shown = &shown } };
	struct diff_finding one = { .pair = &pair, .b = &finding };
	struct string said = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		strcpy(a.name, names[i][0]);
		strcpy(b.name, names[i][1]);
		strcpy(finding.name, names[i][1]);
		string_clear(&said);
		diff_append_pair(&said, &pair);
		assert_int_equal(said.length, strlen(names[i][2]));
		assert_true(has(&said, names[i][2]));
	}
	string_clear(&said);
	strcpy(a.name, "ffmpeg");
	diff_append_finding(&said, &one);
	assert_true(has(&said, "oom in ffmpeg (20)"));
	string_fini(&said);
}

static void test_growth_in_words(void **state)
{
	struct diff_growth growth;
	struct string said = { 0 };

	(void)state;
	make_example();
	growth = diff_growth(diffs.diff);
	diff_append_growth(&said, &growth);
	assert_true(has(&said, "train (10, now 50) holds 15.0 MiB more device memory at the end"
			       " (64 MiB before, 79.0 MiB now)"));
	string_clear(&said);
	growth.peak = true;
	growth.space = MS_SPACE_DEVICE;
	diff_append_growth(&said, &growth);
	assert_true(has(&said, "train (10, now 50): its peak of device memory is 15.0 MiB higher"));
	string_clear(&said);
	growth.pair = NULL;
	growth.device = 3;
	diff_append_growth(&said, &growth);
	assert_true(has(&said, "device 3: the peak of what is held on it is 15.0 MiB higher"));
	string_fini(&said);
	diffs_done(&diffs);
}

static void test_classes_in_words(void **state)
{
	struct string said = { 0 };

	(void)state;
	diff_append_class(&said, 0);
	string_append_char(&said, '|');
	diff_append_class(&said, 20);
	string_append_char(&said, '|');
	diff_append_class(&said, 62);
	string_append_char(&said, '|');
	diff_append_class(&said, 63);
	assert_true(has(&said, "1 B or unknown|1 MiB to 2 MiB|4 EiB to 8 EiB|8 EiB or more"));
	string_fini(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_different_programs_of_one_interpreter),
		cmocka_unit_test(test_what_shrank),
		cmocka_unit_test(test_how_much_of_it),
		cmocka_unit_test(test_what_took_the_place_of_others),
		cmocka_unit_test(test_parts_that_others_make_up_for),
		cmocka_unit_test(test_how_processes_ended),
		cmocka_unit_test(test_missed_processes),
		cmocka_unit_test(test_children_that_were_not_recorded),
		cmocka_unit_test(test_other_differences),
		cmocka_unit_test(test_another_failure_of_what_ran_out_of_memory),
		cmocka_unit_test(test_what_is_wrong_comes_first),
		cmocka_unit_test(test_the_name_of_either_side),
		cmocka_unit_test(test_growth_in_words),
		cmocka_unit_test(test_classes_in_words),
	};

	return unit_run("diff_words", tests);
}
