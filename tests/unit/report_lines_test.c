// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which line of code a report names for what it found: of a call that failed, and of memory that
 * the process does not have in the end, or that is the host's.
 */
#include "reported.h"

#include "render/report_github.h"
#include "render/report_md.h"
#include "render/report_words.h"

#define KEEPS 1 /* stacks */
#define OTHER 2

/* A line of the program: the frame and the stack have the same id. */
static void add_line(uint32_t id, const char *function, const char *source, uint32_t line)
{
	const char *const texts[] = { function, "/opt/train", "c0ffee", source };
	union record record = record_frame(id, "", "");
	size_t i;

	record.frame.line = line;
	record.frame.length = 0;
	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++) {
		memcpy(record.frame.texts + record.frame.length, texts[i], strlen(texts[i]) + 1);
		record.frame.length += strlen(texts[i]) + 1;
	}
	record.event.size = sizeof(record.frame) + record.frame.length;
	add(record);
	add(record_stack(id, id, 1));
}

static void begin_with_lines(void)
{
	begin();
	add_line(KEEPS, "keep", "/src/keep.c", 12);
	add_line(OTHER, "other", "/src/other.c", 34);
}

/* Ends the recording, and looks for words in what is said first, and in the annotations. */
static void assert_said(const char *verdict_has, const char *annotations_have)
{
	const struct gate gate = { 0 };
	struct string annotations = { 0 };
	struct report_reader reader;
	struct verdict verdict;

	add(record_exit(1 << 8));
	reader = end();
	report_verdict(&verdict, &reader.report);
	report_github(&annotations, &reader.report, &gate);
	if (!has(&verdict.sentences[0], verdict_has))
		fail_msg("%.*s", (int)verdict.sentences[0].length, verdict.sentences[0].bytes);
	if (!has(&annotations, annotations_have))
		fail_msg("%.*s", (int)annotations.length, annotations.bytes);
	string_fini(&annotations);
	verdict_fini(&verdict);
	done(&reader);
}

static void test_a_call_that_failed(void **state)
{
	(void)state;
	begin_with_lines();
	add(record_called_from(OTHER, alloc("cuMemAlloc_v2", 0x80000000, MIB)));
	add(record_called_from(KEEPS, record_failed(MS_CUDA_OUT_OF_MEMORY,
						    alloc("cuMemAlloc_v2", 0, 64 * MIB))));
	assert_said(". The call was made in keep (keep.c:12).",
		    "file=/src/keep.c,line=12,title=memscope-bpf%3A oom::");
}

/*
 * Stacks that differ in what their words leave out, as in what called main(), are one row; so are
 * those with the same frames and different ids.
 */
static void test_equal_words_are_one_row(void **state)
{
	struct report_reader reader;
	struct string text = { 0 };
	uint32_t stack;

	(void)state;
	begin();
	add(record_frame(1, "main", "/opt/train"));
	add(record_frame(2, "start_thread", "/opt/train"));
	add(record_stack(1, 1, 1));
	add(record_stack(2, 1, 2));
	add(record_stack(3, 1, 1));
	for (stack = 1; stack <= 3; stack++)
		add(record_called_from(stack, alloc("cuMemAlloc_v2", stack * 64 * MIB, MIB)));
	add(record_failed(MS_CUDA_OUT_OF_MEMORY, alloc("cuMemAlloc_v2", 0, 64 * MIB)));
	add(record_exit(1 << 8));
	reader = end();
	report_md(&text, &reader.report, false, true);
	assert_true(has(&text, "| Allocated in | Held | Blocks |\n|---|--:|--:|\n"
			       "| main | 3 MiB | 3 |\n\n"));
	string_fini(&text);
	done(&reader);
}

#define LEFT 40

/* `symbol` from one line, while another line fills and empties a buffer of the same size. */
static void grow(const char *symbol, const char *free_symbol)
{
	uint64_t i;

	for (i = 0; i < LEFT; i++) {
		add(record_called_from(KEEPS,
				       record_alloc(symbol, 0x100000000 + i * 4 * MIB, 2 * MIB)));
		add(record_called_from(OTHER, record_alloc(symbol, 0x80000000, 2 * MIB)));
		add(record_on(0, record_call("cuLaunchKernel")));
		add(record_free_begin(0x80000000));
		add(record_free(free_symbol, 0x80000000));
		now_ns += 50 * MILLISECOND;
	}
}

static void test_memory_of_the_host(void **state)
{
	(void)state;
	begin_with_lines();
	grow("cuMemHostAlloc", "cuMemFreeHost");
	assert_said(". 80 MiB of what is live was allocated in keep (keep.c:12).",
		    "file=/src/keep.c,line=12,title=memscope-bpf%3A leak-growth::");
}

static void test_what_was_freed_in_the_end(void **state)
{
	uint64_t i;

	(void)state;
	begin_with_lines();
	grow("cuMemAlloc_v2", "cuMemFree_v2");
	for (i = 0; i < LEFT; i++)
		release(0x100000000 + i * 4 * MIB);
	assert_said(" 80 MiB of what was live before it ended was allocated in keep (keep.c:12).",
		    "file=/src/keep.c,line=12,title=memscope-bpf%3A leak-growth::");
}

/* As by an agent that had forgotten it meanwhile: what was made there is together. */
static void test_a_stack_that_comes_again_by_another_id(void **state)
{
	const struct state *read;
	struct report_reader reader;

	(void)state;
	begin_with_lines();
	add(record_called_from(KEEPS, alloc("cuMemAlloc_v2", 0x10000, MIB)));
	add(record_stack(77, KEEPS, 1));
	add(record_called_from(77, alloc("cuMemAlloc_v2", 0x900000, MIB)));
	reader = end();
	read = reader.report.recordings[0]->state;
	assert_int_equal(read->stacks.stacks_count, 2);
	assert_int_equal(read->processes[0]->usage->parts_count, 1);
	assert_int_equal(read->processes[0]->usage->parts[0].stack, KEEPS);
	assert_int_equal(read->processes[0]->usage->parts[0].live_bytes, 2 * MIB);
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_call_that_failed),
		cmocka_unit_test(test_equal_words_are_one_row),
		cmocka_unit_test(test_memory_of_the_host),
		cmocka_unit_test(test_what_was_freed_in_the_end),
		cmocka_unit_test(test_a_stack_that_comes_again_by_another_id),
	};

	return unit_run("report_lines", tests);
}
