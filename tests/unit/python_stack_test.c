// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where Python frames come among native ones. A stack is written as a text: p a Python frame, P one
 * that ends what a call evaluates, i an inferred one, e a call of the evaluating function, and n
 * anything else.
 */
#include "unit.h"

#include <string.h>

#include "symbols/python_stack.h"

static bool evaluates(const struct ms_stack_frame *frame, void *context)
{
	(void)context;
	return frame->detail == 'e';
}

static void expect(const char *stack, const char *expected)
{
	struct ms_stack_frame frames[MS_STACK_MOST] = { 0 };
	__u16 order[MS_STACK_MOST];
	char found[MS_STACK_MOST + 1] = "";
	size_t count = strlen(stack), length, i;

	for (i = 0; i < count; i++) {
		frames[i].detail = stack[i];
		if (strchr("pPi", stack[i]))
			frames[i].kind = MS_FRAME_PYTHON;
		if (stack[i] == 'P')
			frames[i].flags = MS_FRAME_ENTRY;
		if (stack[i] == 'i')
			frames[i].flags = MS_FRAME_INFERRED;
	}
	length = python_stack_order(frames, count, evaluates, NULL, order);
	for (i = 0; i < length; i++)
		found[i] = (char)frames[order[i]].detail;
	assert_string_equal(found, expected);
}

static void test_python_frames_stand_for_evaluations(void **state)
{
	(void)state;
	expect("", "");
	expect("nn", "nn");
	expect("PPPnnenene", "nnPnPnP");
	expect("ppPnnenn", "nnppPnn");
	expect("ppPpPnnenennn", "nnppPnpPnnn");
	expect("nnePe", "nnPe"); /* in whichever order they come */
}

static void test_what_does_not_match_is_kept(void **state)
{
	(void)state;
	expect("pPPnn", "nnpPP");      /* the native frames end too early */
	expect("pPPnen", "npPnP");     /* or some */
	expect("pPnenen", "npPnen");   /* the Python frames do */
	expect("pppnenen", "npppnen"); /* and have no end */
	expect("iinnen", "nnenii");    /* of another thread */
	expect("pP", "pP");
}

static void test_names(void **state)
{
	(void)state;
	assert_true(python_stack_is_evaluation("_PyEval_EvalFrameDefault"));
	assert_true(python_stack_is_evaluation("_PyEval_EvalFrameDefault.cold"));
	assert_false(python_stack_is_evaluation("_PyEval_EvalFrameDefaults"));
	assert_false(python_stack_is_evaluation("PyEval_EvalFrame"));
	assert_false(python_stack_is_evaluation(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_frames_stand_for_evaluations),
		cmocka_unit_test(test_what_does_not_match_is_kept),
		cmocka_unit_test(test_names),
	};

	return unit_run("python_stack", tests);
}
