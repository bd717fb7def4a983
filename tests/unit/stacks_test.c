// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks and frames: kept once each, within bounds, and through an anchor.
 */
#include "records.h"

#include "ledger/checkpoint.h"
#include "ledger/limits.h"
#include "ledger/stack_upkeep.h"
#include "ledger/stacks.h"
#include "ledger/state.h"
#include "render/stack_words.h"

#define UNKNOWN_FRAME 1000000000

static void apply(struct state *state, union record record)
{
	struct event event;

	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	assert_int_equal(state_apply(state, &event), 0);
}

/* cudaMalloc, called by libtorch, called by the program. */
static void apply_stack(struct state *state)
{
	apply(state, record_frame(1, "cudaMalloc", "/lib/libcudart.so.12"));
	apply(state, record_frame(2, "raw_alloc", "/opt/lib/libc10_cuda.so"));
	apply(state, record_frame(3, "main", "/usr/bin/train"));
	apply(state, record_stack(7, 1, 3));
}

static void assert_stack(const struct state *state)
{
	const struct stack *stack = stacks_find(&state->stacks, 7);

	assert_non_null(stack);
	assert_int_equal(stack->count, 3);
	assert_int_equal(stack->end, MS_STACK_END_COMPLETE);
	assert_string_equal(stack->owner, "libc10_cuda.so");
	assert_string_equal(stacks_frame(&state->stacks, stack, 0)->function, "cudaMalloc");
	assert_string_equal(stacks_frame(&state->stacks, stack, 2)->module, "/usr/bin/train");
	assert_string_equal(stacks_frame(&state->stacks, stack, 2)->build_id, "c0ffee");
	assert_int_equal(stacks_frame(&state->stacks, stack, 2)->offset, 3);
}

static union record python_frame(uint32_t id, const char *function, const char *source,
				 uint32_t line)
{
	const char *const texts[] = { function, "", "", source };
	union record record = record_frame(id, "", "");
	size_t i;

	record.frame.kind = MS_FRAME_PYTHON;
	record.frame.address = record.frame.offset = record.frame.length = 0;
	record.frame.line = line;
	for (i = 0; i < MS_FRAME_TEXTS_COUNT; i++) {
		strcpy(record.frame.texts + record.frame.length, texts[i]);
		record.frame.length += strlen(texts[i]) + 1;
	}
	record.event.size = sizeof(record.frame) + record.frame.length;
	return record;
}

static void assert_chain(const struct state *state, uint32_t id, const char *expected)
{
	struct string words = { 0 };

	stack_words_append_chain(&words, &state->stacks, stacks_find(&state->stacks, id));
	string_append_char(&words, '\0');
	assert_string_equal(words.bytes, expected);
	string_fini(&words);
}

/* What the interpreter does between lines of Python is told by these. */
static void test_frames_of_the_interpreter(void **unused)
{
	struct state state = { 0 };
	const struct stack *stack;

	(void)unused;
	apply(&state, record_frame(1, "launch", "/lib/libtorch.so"));
	apply(&state, record_frame(2, "cfunction_call", "/usr/lib/libpython3.12.so.1.0"));
	apply(&state, record_frame(3, "_PyObject_Call", "/usr/bin/python3.12"));
	apply(&state, python_frame(4, "step", "/train.py", 7));
	apply(&state, record_frame(5, "main", "/usr/lib/libpythonic.so"));
	apply(&state, record_stack(1, 1, 5));
	apply(&state, record_stack(2, 1, 3));
	stack = stacks_find(&state.stacks, 1);
	assert_int_equal(stack_words_interpreter(&state.stacks, stack, 0), 0);
	assert_int_equal(stack_words_interpreter(&state.stacks, stack, 1), 2);
	assert_int_equal(stack_words_interpreter(&state.stacks, stack, 2), 1);
	assert_int_equal(stack_words_interpreter(&state.stacks, stack, 3), 0);
	assert_int_equal(stack_words_interpreter(&state.stacks, stack, 4), 0);
	/* Without lines of Python they are all that is known. */
	stack = stacks_find(&state.stacks, 2);
	assert_int_equal(stack_words_interpreter(&state.stacks, stack, 1), 0);
	state_fini(&state);
}

/* Lines of Python say more than functions of libraries, and the program's own the most. */
static void test_a_stack_in_words(void **unused)
{
	static const char torch[] = "/venv/lib/python3.12/site-packages/torch/nn/functional.py";
	struct state state = { 0 };
	uint32_t id;

	(void)unused;
	apply_stack(&state);
	assert_chain(&state, 7, "raw_alloc < main");
	apply(&state, record_frame(4, "raw_alloc", "/opt/lib/libc10_cuda.so"));
	apply(&state, python_frame(5, "linear", torch, 10));
	apply(&state, python_frame(6, "forward", "/home/u/model.py", 88));
	apply(&state, python_frame(7, "<module>", "/home/u/train.py", 22));
	apply(&state, record_stack(8, 4, 4));
	assert_chain(&state, 8,
		     "linear (functional.py:10) < forward (model.py:88) < <module> (train.py:22)");
	apply(&state, python_frame(8, "__call__", torch, 20));
	apply(&state, python_frame(9, "allocate", "/home/u/model.py", 12));
	apply(&state, python_frame(10, "__call__", torch, 30));
	apply(&state, record_stack(11, 5, 6));
	assert_chain(&state, 11,
		     "linear (functional.py:10) < forward (model.py:88) < <module> (train.py:22)"
		     " < ... < allocate (model.py:12)");
	for (id = 20; id < 26; id++)
		apply(&state, python_frame(id, "f", "/home/u/deep.py", id));
	apply(&state, record_stack(12, 20, 4));
	assert_chain(&state, 12,
		     "f (deep.py:20) < f (deep.py:21) < f (deep.py:22) < f (deep.py:23)");
	apply(&state, record_stack(13, 20, 6));
	assert_chain(&state, 13,
		     "f (deep.py:20) < f (deep.py:21) < f (deep.py:22) < f (deep.py:23) < ...");
	apply(&state, record_stack(9, 6, 2));
	assert_chain(&state, 9, "forward (model.py:88) < <module> (train.py:22)");
	apply(&state, record_stack(10, 4, 2));
	assert_chain(&state, 10, "linear (functional.py:10)");
	state_fini(&state);
}

static void test_allocations_have_stacks(void **unused)
{
	struct state state = { 0 };
	const struct allocation *found;

	(void)unused;
	apply_stack(&state);
	assert_stack(&state);
	assert_null(stacks_find(&state.stacks, 8));
	assert_null(stacks_find(&state.stacks, 0));
	apply(&state, record_called_from(7, record_alloc("cudaMalloc", 0x1000, 64)));
	apply(&state, record_alloc("cudaMalloc", 0x2000, 64));
	found = ledger_find(&state.processes[0]->ledgers[MS_KEY_POINTER], 0x1000);
	assert_int_equal(found->stack, 7);
	found = ledger_find(&state.processes[0]->ledgers[MS_KEY_POINTER], 0x2000);
	assert_int_equal(found->stack, 0);
	assert_true(state_bytes(&state) > stacks_bytes(&state.stacks));
	state_fini(&state);
}

static void test_frames_that_are_not_known(void **unused)
{
	struct state state = { 0 };
	const struct stack *stack;

	(void)unused;
	apply(&state, record_frame(1, "f", "/lib/f.so"));
	apply(&state, record_stack(1, 1, 2));
	stack = stacks_find(&state.stacks, 1);
	assert_non_null(stacks_frame(&state.stacks, stack, 0));
	assert_null(stacks_frame(&state.stacks, stack, 1));
	/* Behind the CUDA stack there is a frame that is not known: so is the owner. */
	apply(&state, record_frame(5, "cuMemAlloc_v2", "/lib/libcuda.so.1"));
	apply(&state, record_stack(2, 5, 2));
	assert_null(stacks_find(&state.stacks, 2)->owner);
	/* What Python calls C through is no owner. */
	apply(&state, record_frame(7, "ffi_call", "/lib/libffi.so.8"));
	apply(&state, record_frame(8, "PyCFuncPtr_call", "/lib/_ctypes.cpython-311.so"));
	apply(&state, record_frame(9, "main", "/usr/bin/python3.11"));
	apply(&state, record_stack(3, 7, 3));
	assert_string_equal(stacks_find(&state.stacks, 3)->owner, "python3.11");
	state_fini(&state);
}

static void test_what_comes_again_changes_nothing(void **unused)
{
	struct state state = { 0 };

	(void)unused;
	apply_stack(&state);
	apply(&state, record_frame(1, "other", "/lib/other.so"));
	apply(&state, record_stack(7, 2, 1));
	assert_stack(&state);
	assert_int_equal(state.stacks.stacks_count, 1);
	assert_int_equal(state.stacks.frames_count, 3);
	state_fini(&state);
}

static void test_too_many(void **unused)
{
	struct stacks stacks = { 0 };
	union record record;
	uint32_t i;

	(void)unused;
	for (i = 1; i <= LIMIT_STACKS + 2; i++) {
		record = record_stack(i, 1, 1);
		assert_int_equal(stacks_add(&stacks, &record.stack), 0);
	}
	assert_int_equal(stacks.stacks_count, LIMIT_STACKS);
	assert_int_equal(stacks.others, 2);
	for (i = 1; i <= LIMIT_FRAMES + 1; i++) {
		record = record_frame(i, "f", "/g");
		assert_int_equal(stacks_add_frame(&stacks, &record.frame), 0);
	}
	assert_int_equal(stacks.frames_count, LIMIT_FRAMES);
	assert_int_equal(stacks.others, 3);
	stacks_fini(&stacks);
}

static void test_what_is_not_wanted_is_forgotten(void **unused)
{
	struct state state = { 0 };
	struct map wanted = { 0 };
	const struct stack *stack;
	size_t bytes;

	(void)unused;
	apply_stack(&state);
	apply(&state, record_frame(4, "only_of_the_other", "/opt/lib/libother.so"));
	apply(&state, record_stack(8, 3, 2));
	apply(&state, record_stack(9, 2, 3));
	bytes = state.stacks.texts.bytes;
	assert_int_equal(map_set(&wanted, 7, 1), 0);
	assert_int_equal(stacks_keep(&state.stacks, &wanted), 0);
	assert_stack(&state);
	assert_int_equal(state.stacks.stacks_count, 1);
	assert_int_equal(state.stacks.frames_count, 3);
	assert_int_equal(state.stacks.links_count, 3);
	assert_null(stacks_find(&state.stacks, 8));
	assert_true(state.stacks.texts.bytes < bytes);
	assert_int_equal(stacks_first_alike(&state.stacks, 7), 7);
	/* There is room again, and what comes again has other ids. */
	apply(&state, record_frame(5, "only_of_the_other", "/opt/lib/libother.so"));
	apply(&state, record_stack(10, 5, 1));
	stack = stacks_find(&state.stacks, 10);
	assert_string_equal(stack->owner, "libother.so");
	/* Frames have other places now: what is the same as one that was kept is found to be so. */
	apply(&state, record_stack(11, 1, 3));
	assert_int_equal(stacks_first_alike(&state.stacks, 11), 7);
	map_fini(&wanted);
	assert_int_equal(stacks_keep(&state.stacks, &wanted), 0);
	assert_int_equal(state.stacks.stacks_count + state.stacks.frames_count, 0);
	state_fini(&state);
}

/* Stack 7 of frames 1 and 2, and the same as 8 of 101 and 102. */
static void apply_twice(struct state *state)
{
	union record again = record_frame(1, "same", "/lib/same.so");

	apply(state, again);
	apply(state, record_frame(2, "main", "/usr/bin/train"));
	apply(state, record_stack(7, 1, 2));
	again.frame.id = 101;
	apply(state, again);
	again = record_frame(2, "main", "/usr/bin/train");
	again.frame.id = 102;
	apply(state, again);
	apply(state, record_stack(8, 101, 2));
}

/* What an agent that forgot it has recorded again, under other ids. */
static void test_the_same_by_other_ids(void **unused)
{
	union record again = record_frame(2, "main", "/usr/bin/train"), ended;
	struct state state = { .stacks.joins = true };
	struct map wanted = { 0 };

	(void)unused;
	apply_twice(&state);
	assert_int_equal(state.stacks.frames_count, 2);
	assert_int_equal(state.stacks.stacks_count, 1);
	assert_int_equal(state.stacks.links_count, 2);
	assert_ptr_equal(stacks_find(&state.stacks, 8), stacks_find(&state.stacks, 7));
	assert_int_equal(stacks_use(&state.stacks, 8), 7);
	assert_int_equal(stacks_use(&state.stacks, 9), 9);
	assert_int_equal(stacks_first_alike(&state.stacks, 8), 7);
	/* Others, by their end, their length, or a frame's line. */
	ended = record_stack(9, 101, 2);
	ended.stack.end = !ended.stack.end;
	apply(&state, ended);
	apply(&state, record_stack(10, 101, 1));
	again.frame.id = 103;
	again.frame.line++;
	apply(&state, again);
	apply(&state, record_stack(11, 102, 2));
	assert_int_equal(state.stacks.frames_count, 3);
	assert_int_equal(state.stacks.stacks_count, 4);
	/* After upkeep, what is kept is found to be the same again. */
	assert_int_equal(map_set(&wanted, 7, 1), 0);
	assert_int_equal(stacks_keep(&state.stacks, &wanted), 0);
	assert_null(stacks_find(&state.stacks, 8));
	apply(&state, record_stack(12, 1, 2));
	assert_int_equal(stacks_use(&state.stacks, 12), 7);
	assert_int_equal(state.stacks.stacks_count, 1);
	assert_int_equal(state.stacks.others, 0);
	map_fini(&wanted);
	state_fini(&state);
}

/* Of two containers with one image, say: what a live allocation was made by stays known. */
static void test_who_makes_the_ids_keeps_each(void **unused)
{
	struct state state = { 0 };
	struct map wanted = { 0 };

	(void)unused;
	apply_twice(&state);
	assert_int_equal(map_set(&wanted, 8, 1), 0);
	assert_int_equal(stacks_keep(&state.stacks, &wanted), 0);
	assert_non_null(stacks_find(&state.stacks, 8));
	assert_null(stacks_find(&state.stacks, 7));
	assert_int_equal(stacks_find(&state.stacks, 8)->id, 8);
	map_fini(&wanted);
	state_fini(&state);
}

/* Days of an agent's ring: ids that it has given up make way for those that it gives. */
static void test_ids_do_not_pile_up(void **unused)
{
	const uint32_t first = 7, many = 5 * LIMIT_STACK_ALIASES;
	struct state state = { .stacks.joins = true };
	uint32_t id;

	(void)unused;
	apply_stack(&state);
	for (id = 8; id < many; id++) {
		const union record again = record_stack(id, 1, 3);

		assert_int_equal(stacks_add(&state.stacks, &again.stack), 0);
		/* Something happens with one of them all the time. */
		if (id % 1000 == 0)
			assert_int_equal(stacks_use(&state.stacks, 8), first);
	}
	assert_int_equal(state.stacks.stacks_count, 1);
	assert_int_equal(state.stacks.links_count, 3);
	assert_int_equal(stacks_use(&state.stacks, 8), first);
	assert_int_equal(stacks_use(&state.stacks, id - 1), first);
	assert_int_equal(stacks_use(&state.stacks, id - LIMIT_STACK_ALIASES / 2), first);
	assert_true(state.stacks.stack_aliases.recent.count <= LIMIT_STACK_ALIASES);
	assert_true(state.stacks.stack_aliases.before.count <= LIMIT_STACK_ALIASES);
	assert_int_equal(state.stacks.others, 0);
	/* Who asks for one that has made way is counted, and does not get another's stack. */
	assert_int_equal(stacks_use(&state.stacks, 9), 9);
	assert_null(stacks_find(&state.stacks, 9));
	assert_int_equal(state.stacks.others, 1);
	state_fini(&state);
}

static void test_upkeep(void **unused)
{
	struct stack_upkeep upkeep = { 0 };
	const uint64_t now_ns = 2 * STACK_UPKEEP_NS;
	struct state state = { 0 };
	const struct usage *usage;
	uint32_t i;

	(void)unused;
	assert_int_equal(state_follow_usage(&state), 0);
	apply_stack(&state);
	apply(&state, record_called_from(7, record_alloc("cuMemAlloc_v2", 0x1000, 100)));
	apply(&state, record_stack(8, 1, 2));
	apply(&state, record_called_from(8, record_alloc("cuMemAlloc_v2", 0x2000, 20)));
	apply(&state, record_free("cuMemFree_v2", 0x2000));
	assert_false(stack_upkeep_is_due(&upkeep, &state, now_ns));
	/* Of a frame that is not known, so that none is the same as another. */
	for (i = 9; state.stacks.stacks_count < LIMIT_STACKS / 2; i++)
		apply(&state, record_stack(i, UNKNOWN_FRAME, 1));
	assert_true(stack_upkeep_is_due(&upkeep, &state, now_ns));
	assert_int_equal(stack_upkeep_forget(&upkeep, &state, now_ns), 0);
	assert_int_equal(upkeep.forgotten, LIMIT_STACKS / 2 - 1);
	assert_stack(&state);
	/* What was allocated and freed is in the function's sums, without a stack. */
	usage = state.processes[0]->usage;
	assert_int_equal(usage->parts_count, 1);
	assert_int_equal(usage->cells[0].allocs, 2);
	assert_int_equal(usage->parts[usage->cells[0].parts - 1].stack, 7);
	assert_int_equal(usage->parts[usage->cells[0].parts - 1].live_bytes, 100);
	assert_int_equal(usage->parts[usage->cells[0].parts - 1].next, 0);
	/* It goes on: a part is found, and another is made. */
	apply(&state, record_called_from(7, record_alloc("cuMemAlloc_v2", 0x3000, 11)));
	apply(&state, record_stack(i, 1, 2));
	apply(&state, record_called_from(i, record_alloc("cuMemAlloc_v2", 0x4000, 5)));
	assert_int_equal(usage->parts_count, 2);
	assert_int_equal(usage->parts[0].live_bytes, 111);
	/* Not at once again. */
	for (i++; state.stacks.stacks_count < LIMIT_STACKS; i++)
		apply(&state, record_stack(i, UNKNOWN_FRAME, 1));
	assert_false(stack_upkeep_is_due(&upkeep, &state, now_ns + 1));
	assert_true(stack_upkeep_is_due(&upkeep, &state, now_ns + STACK_UPKEEP_NS));
	state_fini(&state);
}

static int load(void *context, const void *record, size_t length)
{
	return checkpoint_load(context, record, length);
}

static void test_through_an_anchor(void **unused)
{
	struct state state = { 0 }, loaded = { 0 };
	struct checkpoint anchor;

	(void)unused;
	apply_stack(&state);
	apply(&state, record_called_from(7, record_alloc("cudaMalloc", 0x1000, 64)));
	checkpoint_init(&anchor, &loaded);
	assert_int_equal(checkpoint_save(&state, 1, load, &anchor), 0);
	assert_true(anchor.complete);
	assert_stack(&loaded);
	assert_int_equal(ledger_find(&loaded.processes[0]->ledgers[MS_KEY_POINTER], 0x1000)->stack,
			 7);
	state_fini(&loaded);
	/* An anchor of no process has them, too. */
	state_fini(&state);
	apply_stack(&state);
	checkpoint_init(&anchor, &loaded);
	assert_int_equal(checkpoint_save(&state, 1, load, &anchor), 0);
	assert_stack(&loaded);
	state_fini(&loaded);
	state_fini(&state);
}

static void test_whose_it_is(void **unused)
{
	(void)unused;
	assert_true(stacks_is_cuda("/usr/lib/libcuda.so.550.54"));
	assert_true(stacks_is_cuda("libcudart.so.12"));
	assert_true(stacks_is_cuda("/usr/lib/libnvidia-ptxjitcompiler.so.1"));
	assert_false(stacks_is_cuda("/opt/libcudnn.so.9"));
	assert_false(stacks_is_cuda("/opt/libcublas.so.12"));
	assert_false(stacks_is_cuda("/opt/libcuda.so/train"));
	assert_string_equal(stacks_name_of("/a/b.so"), "b.so");
	assert_string_equal(stacks_name_of("b.so"), "b.so");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocations_have_stacks),
		cmocka_unit_test(test_a_stack_in_words),
		cmocka_unit_test(test_frames_of_the_interpreter),
		cmocka_unit_test(test_frames_that_are_not_known),
		cmocka_unit_test(test_what_comes_again_changes_nothing),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_what_is_not_wanted_is_forgotten),
		cmocka_unit_test(test_the_same_by_other_ids),
		cmocka_unit_test(test_who_makes_the_ids_keeps_each),
		cmocka_unit_test(test_ids_do_not_pile_up),
		cmocka_unit_test(test_upkeep),
		cmocka_unit_test(test_through_an_anchor),
		cmocka_unit_test(test_whose_it_is),
	};

	return unit_run("stacks", tests);
}
