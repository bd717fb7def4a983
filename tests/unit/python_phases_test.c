// SPDX-License-Identifier: BSD-2-Clause
/*
 * Python functions as phases: which markers are made from the call stacks of calls.
 */
#include "records.h"

#include <errno.h>
#include <stdio.h>

#include "base/string.h"
#include "event/event.h"
#include "event/python_phases.h"

enum { MAIN_10 = 1, MAIN_11, STEP_3, STEP_4, STEP_5, MODEL_8, OTHER_STEP, NATIVE, INFERRED };

struct fixture {
	struct python_functions functions;
	struct python_phases *phases;
	struct string markers; /* what is fed, a word for each */
	uint32_t stacks;       /* ids */
	uint64_t ts_ns;
	uint32_t tid;
};

static int on_marker(void *context, void *record, size_t length)
{
	const struct ms_marker *marker = record;
	struct fixture *f = context;
	struct event event;

	assert_int_equal(event_decode(record, length, &event), 0);
	assert_int_equal(marker->event.type, MS_TYPE_MARKER);
	assert_int_equal(marker->source, MS_MARKER_BY_PYTHON);
	string_append_format(&f->markers, "%s%s@%llu", f->markers.length ? " " : "",
			     marker->action == MS_MARKER_PUSH ? marker->name : "/",
			     (unsigned long long)marker->event.ts_ns);
	if (marker->event.tid != 1)
		string_append_format(&f->markers, "#%u", marker->event.tid);
	return 0;
}

static void take(struct fixture *f, union record record)
{
	assert_int_equal(python_phases_take(f->phases, &record, record.event.size), 0);
}

static void frame(struct fixture *f, uint32_t id, const char *function, uint32_t line,
		  const char *source)
{
	union record record = record_frame(id, function, "");
	char *texts = record.frame.texts + strlen(function) + 1 + 1 + sizeof("c0ffee");

	record.frame.kind = MS_FRAME_PYTHON;
	record.frame.line = line;
	strcpy(texts, source);
	record.frame.length += strlen(source);
	record.event.size += strlen(source);
	take(f, record);
}

static void begin(struct fixture *f, const char *const *functions)
{
	union record inferred;

	*f = (struct fixture){ .tid = 1, .ts_ns = 90 };
	for (; *functions; functions++)
		assert_int_equal(python_functions_add(&f->functions, *functions), 0);
	f->phases = python_phases_new(&f->functions, on_marker, f);
	assert_non_null(f->phases);
	frame(f, MAIN_10, "main", 10, "/srv/train.py");
	frame(f, MAIN_11, "main", 11, "/srv/train.py");
	frame(f, STEP_3, "Trainer.step", 3, "/srv/train.py");
	frame(f, STEP_4, "Trainer.step", 4, "/srv/train.py");
	frame(f, STEP_5, "Trainer.step", 5, "/srv/train.py");
	frame(f, MODEL_8, "Model.forward", 8, "/srv/model.py");
	frame(f, OTHER_STEP, "Adam.step", 70, "/lib/adam.py");
	take(f, record_frame(NATIVE, "step", "/lib/libtorch.so"));
	inferred = record_frame(INFERRED, "step", "");
	inferred.frame.kind = MS_FRAME_PYTHON;
	inferred.frame.flags = MS_FRAME_INFERRED;
	take(f, inferred);
}

static void finish(struct fixture *f)
{
	python_phases_free(f->phases);
	python_functions_fini(&f->functions);
	string_fini(&f->markers);
}

static uint32_t stack(struct fixture *f, const uint32_t *frames, enum ms_stack_end end)
{
	union record record = record_stack(++f->stacks, 0, 0);

	record.stack.end = end;
	for (; *frames; frames++, record.stack.count++)
		memcpy(record.stack.frames + 4 * record.stack.count, frames, sizeof(*frames));
	record.event.size += 4 * record.stack.count;
	take(f, record);
	return f->stacks;
}

/* A call from these frames, the innermost first: 10 ns after the last one, for 5 ns. */
#define CALL(f, ...) called((f), (const uint32_t[]){ __VA_ARGS__, 0 }, MS_STACK_END_COMPLETE)

static void called_from(struct fixture *f, uint32_t id)
{
	union record record =
		record_called_from(id, record_copy("cuMemcpyHtoD_v2", 1, MS_DIRECTION_HTOD));

	record.event.ts_ns = f->ts_ns += 10;
	record.event.tid = f->tid;
	record.call.duration_ns = 5;
	take(f, record);
}

static void called(struct fixture *f, const uint32_t *frames, enum ms_stack_end end)
{
	called_from(f, stack(f, frames, end));
}

static void assert_markers(struct fixture *f, const char *expected)
{
	string_append_char(&f->markers, '\0');
	assert_string_equal(f->markers.bytes, expected);
}

#define FUNCTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void test_from_the_first_call_to_the_last(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, FUNCTIONS("Trainer.step", "never"));
	CALL(&f, MAIN_10);
	CALL(&f, STEP_3, MAIN_10);
	CALL(&f, MODEL_8, NATIVE, STEP_4, MAIN_10);
	CALL(&f, MAIN_11);
	CALL(&f, STEP_3, MAIN_10);
	assert_true(python_phases_saw(f.phases, 0));
	assert_false(python_phases_saw(f.phases, 1));
	assert_markers(&f, "Trainer.step@110 /@125 Trainer.step@140");
	finish(&f);
}

/* With no call elsewhere between, the lines tell calls of the function apart, or its caller's. */
static void test_a_function_that_is_called_again(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, FUNCTIONS("Trainer.step"));
	CALL(&f, STEP_3, MAIN_10);
	CALL(&f, STEP_3, MAIN_10);
	CALL(&f, STEP_4, MAIN_10);
	CALL(&f, STEP_5, MAIN_10);
	CALL(&f, STEP_4, MAIN_10);
	CALL(&f, STEP_3, MAIN_10);
	CALL(&f, STEP_3, MAIN_11);
	assert_markers(&f, "Trainer.step@100 /@145 Trainer.step@150 /@155 Trainer.step@160");
	finish(&f);
}

static void test_functions_in_functions(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, FUNCTIONS("forward", "train.py:main", "train.py:step"));
	CALL(&f, MODEL_8, STEP_4, MAIN_10);
	CALL(&f, OTHER_STEP, STEP_5, MAIN_10);
	CALL(&f, MODEL_8, STEP_4, STEP_5, MAIN_10);
	CALL(&f, OTHER_STEP, MAIN_11);
	CALL(&f, OTHER_STEP);
	assert_markers(&f, "main@100 step@100 forward@100 /@105 forward@120 /@125 /@125"
			   " /@135");
	finish(&f);
}

/* What is not known of a stack says nothing; nor do frames that are only likely. */
static void test_stacks_that_are_cut(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, FUNCTIONS("step"));
	CALL(&f, STEP_3, MAIN_10);
	called(&f, (const uint32_t[]){ MODEL_8, 0 }, MS_STACK_END_DEPTH);
	called(&f, (const uint32_t[]){ NATIVE, 0 }, MS_STACK_END_NO_TABLE);
	called(&f, (const uint32_t[]){ 0 }, MS_STACK_END_UNREADABLE);
	take(&f, record_called_from(999, record_copy("cuMemcpyHtoD_v2", 1, MS_DIRECTION_HTOD)));
	take(&f, record_copy("cuMemcpyHtoD_v2", 1, MS_DIRECTION_HTOD));
	CALL(&f, STEP_4, MAIN_10);
	f.tid = 2;
	CALL(&f, INFERRED);
	CALL(&f, NATIVE);
	f.tid = 1;
	called(&f, (const uint32_t[]){ MAIN_11, NATIVE, 0 }, MS_STACK_END_NO_TABLE);
	assert_markers(&f, "step@100 /@145");
	finish(&f);
}

#define CUT(f, ...) called((f), (const uint32_t[]){ __VA_ARGS__, 0 }, MS_STACK_END_DEPTH)

/* Which of the outer frames a cut stack still has differs from call to call. */
static void test_cut_stacks_that_have_the_function(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, FUNCTIONS("Trainer.step", "main", "forward"));
	CUT(&f, STEP_3, MAIN_10);
	CUT(&f, STEP_4, OTHER_STEP);
	CUT(&f, MODEL_8, STEP_5);
	CUT(&f, STEP_4);
	CALL(&f, STEP_4, MAIN_10);
	CUT(&f, OTHER_STEP, STEP_4);
	CALL(&f, STEP_4, MAIN_10);
	CUT(&f, STEP_3); /* once more */
	CUT(&f, MAIN_11);
	CUT(&f, MAIN_11, MODEL_8);
	assert_markers(&f, "main@100 Trainer.step@100 forward@120 /@125 /@165 Trainer.step@170"
			   " /@175 forward@190");
	finish(&f);
}

static void test_a_cut_stack_comes_first(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, FUNCTIONS("Trainer.step"));
	CUT(&f, STEP_3, OTHER_STEP);
	CALL(&f, STEP_4, OTHER_STEP, MAIN_10);
	CALL(&f, STEP_5, OTHER_STEP, MAIN_10);
	CALL(&f, STEP_5, OTHER_STEP, MAIN_11); /* another call of its caller */
	assert_markers(&f, "Trainer.step@100 /@125 Trainer.step@130");
	finish(&f);
}

#define THREADS 65536 /* that are kept */

static void test_very_many_threads(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, FUNCTIONS("Trainer.step"));
	CALL(&f, STEP_3, MAIN_10);
	for (f.tid = 2; f.tid <= THREADS; f.tid++) {
		called_from(&f, f.stacks);
		string_fini(&f.markers);
	}
	f.tid = 1;
	called_from(&f, f.stacks);
	for (f.tid = THREADS + 1; f.tid < THREADS + 3; f.tid++)
		called_from(&f, f.stacks);
	f.tid = 1;
	CALL(&f, MAIN_10);
	assert_markers(&f, "/@115#2 Trainer.step@655470#65537 /@125#3 Trainer.step@655480#65538"
			   " /@655465");
	finish(&f);
}

/* The programs go on. */
static void test_the_capture_ends(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, FUNCTIONS("step", "main"));
	assert_int_equal(python_phases_end(f.phases), 0);
	CALL(&f, STEP_3, MAIN_10);
	f.tid = 2;
	CALL(&f, STEP_3);
	f.tid = 3;
	CALL(&f, STEP_3);
	CALL(&f, NATIVE);
	assert_int_equal(python_phases_end(f.phases), 0);
	assert_int_equal(python_phases_end(f.phases), 0);
	assert_markers(&f, "main@100 step@100 step@110#2 step@120#3 /@125#3 /@105 /@105 /@115#2");
	finish(&f);
}

static void test_threads_and_ends(void **state)
{
	union record exit = record_exit(0);
	struct fixture f;

	(void)state;
	begin(&f, FUNCTIONS("step"));
	CALL(&f, STEP_3, MAIN_10);
	f.tid = 2;
	CALL(&f, STEP_3, MAIN_10);
	f.tid = 1;
	CALL(&f, MAIN_10);
	exit.event.pid++;
	take(&f, exit);
	assert_null(strstr(f.markers.bytes, "/@115"));
	exit.event.pid--;
	take(&f, exit);
	take(&f, exit);
	assert_markers(&f, "step@100 step@110#2 /@105 /@115#2");
	finish(&f);
}

static void test_what_is_a_name(void **state)
{
	static const char *const wrong[] = { "", ":", "a:", ":a" };
	struct python_functions functions = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(python_functions_add(&functions, wrong[i]), -EINVAL);
	for (i = 0; i < PYTHON_FUNCTIONS; i++)
		assert_int_equal(python_functions_add(&functions, "a:b:<lambda>"), 0);
	assert_string_equal(functions.list[0].file, "a:b");
	assert_string_equal(functions.list[0].name, "<lambda>");
	assert_int_equal(python_functions_add(&functions, "a"), -ENOSPC);
	python_functions_fini(&functions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_the_first_call_to_the_last),
		cmocka_unit_test(test_a_function_that_is_called_again),
		cmocka_unit_test(test_functions_in_functions),
		cmocka_unit_test(test_stacks_that_are_cut),
		cmocka_unit_test(test_cut_stacks_that_have_the_function),
		cmocka_unit_test(test_a_cut_stack_comes_first),
		cmocka_unit_test(test_threads_and_ends),
		cmocka_unit_test(test_very_many_threads),
		cmocka_unit_test(test_the_capture_ends),
		cmocka_unit_test(test_what_is_a_name),
	};

	return unit_run("Python functions as phases", tests);
}
