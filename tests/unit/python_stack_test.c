// SPDX-License-Identifier: BSD-2-Clause
/*
 * Where Python frames come among native ones. A stack is written as a text: p a Python frame, P one
 * that ends what a call evaluates, i an inferred one, e a call of the evaluating function, c
 * another one of the interpreter's, and n anything else.
 */
#include "unit.h"

#include <string.h>

#include "symbols/python_stack.h"

static enum python_stack_part part_of(const struct ms_stack_frame *frame, void *context)
{
	(void)context;
	return frame->detail == 'e' ? PYTHON_STACK_EVALUATION :
	       frame->detail == 'c' ? PYTHON_STACK_INTERPRETER :
				      PYTHON_STACK_OTHER;
}

static void expect(const char *stack, const char *expected)
{
	struct ms_stack_frame frames[MS_STACK_MOST] = { 0 };
	__u16 order[MS_STACK_MOST];
	char found[MS_STACK_MOST + 1] = "";
	size_t count = strlen(stack), length, i;

	for (i = 0; i < count; i++) {
		frames[i].detail = (unsigned char)stack[i];
		if (strchr("pPi", stack[i]))
			frames[i].kind = MS_FRAME_PYTHON;
		if (stack[i] == 'P')
			frames[i].flags = MS_FRAME_ENTRY;
		if (stack[i] == 'i')
			frames[i].flags = MS_FRAME_INFERRED;
	}
	length = python_stack_order(frames, count, part_of, NULL, order);
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
	expect("PPncecec", "ncPcPc");
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

/* A stripped interpreter that is made of tail calls. */
static void test_an_evaluation_without_a_name(void **state)
{
	(void)state;
	expect("ppPnnccnc", "nnppPccnc");
	expect("pPcnn", "pPcnn");
	expect("iincn", "ncnii");
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(python_stack_part_of("_PyEval_EvalFrameDefault", ""),
			 PYTHON_STACK_EVALUATION);
	assert_int_equal(python_stack_part_of("_PyEval_EvalFrameDefault.cold", ""),
			 PYTHON_STACK_EVALUATION);
	assert_int_equal(python_stack_part_of("_TAIL_CALL_CALL.llvm.123", ""),
			 PYTHON_STACK_EVALUATION);
	assert_int_equal(python_stack_part_of("_PyEval_EvalFrameDefaults", "/bin/program"),
			 PYTHON_STACK_OTHER);
	assert_int_equal(python_stack_part_of("PyEval_EvalFrame", "/usr/lib/libpython3.9.so.1.0"),
			 PYTHON_STACK_INTERPRETER);
	assert_int_equal(python_stack_part_of("", "/a/_ctypes.cpython-311-x86_64-linux-gnu.so"),
			 PYTHON_STACK_OTHER);
	assert_int_equal(python_stack_part_of("", "/a/libtorch_python.so"), PYTHON_STACK_OTHER);
	assert_int_equal(python_stack_part_of("", ""), PYTHON_STACK_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_frames_stand_for_evaluations),
		cmocka_unit_test(test_what_does_not_match_is_kept),
		cmocka_unit_test(test_an_evaluation_without_a_name),
		cmocka_unit_test(test_names),
	};

	return unit_run("python_stack", tests);
}
