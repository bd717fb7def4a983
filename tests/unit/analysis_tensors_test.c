// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that keep more and more tensors, and those whose allocator alone takes more.
 */
#include "analysed.h"

#define SEGMENT (20 * MIB)
#define TENSOR (2 * MIB)
#define LOSSES 1 /* stacks */
#define FORWARD 2

static uint64_t allocated, reserved;
static int32_t device;

static void say(struct run *run, uint32_t stack, uint64_t addr, int64_t bytes)
{
	union record record = record_tensor(addr, bytes, allocated);

	record.tensor.reserved = reserved;
	record.tensor.device = device;
	record.event.stack = stack;
	record.tensor.flags = stack ? MS_TENSOR_STACK : 0;
	feed(run, record);
	wait_for(run, US);
}

static uint64_t take(struct run *run)
{
	reserved += SEGMENT;
	return device ? alloc_on(run, device, SEGMENT) : alloc_new(run, SEGMENT);
}

static void give(struct run *run, uint32_t stack, uint64_t addr, uint64_t bytes)
{
	allocated += bytes;
	say(run, stack, addr, (int64_t)bytes);
}

static void get_back(struct run *run, uint64_t addr, uint64_t bytes)
{
	allocated -= bytes;
	say(run, 0, addr, -(int64_t)bytes);
}

static void begin(struct run *run)
{
	allocated = reserved = 0;
	device = 0;
	feed(run, record_frame(1, "append_loss", "/opt/model.so"));
	feed(run, record_frame(2, "forward", "/opt/model.so"));
	feed(run, record_stack(LOSSES, 1, 1));
	feed(run, record_stack(FORWARD, 2, 1));
	set_up(run);
	launch(run);
}

/* A segment each time, in which most comes and goes. */
static uint64_t work_by(struct run *run, void (*calls)(struct run *run))
{
	const uint64_t addr = take(run);

	give(run, FORWARD, addr + SEGMENT / 2, SEGMENT / 2);
	calls(run);
	get_back(run, addr + SEGMENT / 2, SEGMENT / 2);
	return addr;
}

static uint64_t work(struct run *run)
{
	const uint64_t addr = work_by(run, step);

	wait_for(run, 100 * MS);
	return addr;
}

static void run_losses_from(struct run *run, uint32_t stack)
{
	int i;

	begin(run);
	for (i = 0; i < 200; i++)
		give(run, stack, work(run), TENSOR);
	launch(run);
}

static void run_losses(struct run *run)
{
	run_losses_from(run, LOSSES);
}

static void run_losses_anywhere(struct run *run)
{
	run_losses_from(run, 0);
}

/* No segment can be had any more, for twice as long: each step fails before it keeps its losses. */
static void run_losses_until_refused(struct run *run)
{
	int i;

	run_losses(run);
	for (i = 0; i < 400; i++) {
		fail_alloc(run, SEGMENT);
		steps(run, 10);
	}
}

/* Whoever comes late knows nothing of what was there, but that it does not grow. */
static void run_losses_late(struct run *run)
{
	int i;

	begin(run);
	allocated = reserved = 100 * MIB;
	for (i = 0; i < 200; i++)
		give(run, LOSSES, work(run), TENSOR);
	launch(run);
}

/* What is kept at first is given back in the end. */
static void run_kept_until_the_end(struct run *run)
{
	uint64_t blocks[200];
	int i;

	begin(run);
	for (i = 0; i < 200; i++) {
		blocks[i] = work(run);
		give(run, LOSSES, blocks[i], TENSOR);
	}
	launch(run);
	for (i = 0; i < 200; i++)
		get_back(run, blocks[i], TENSOR);
	end_process(run, 0);
}

/* Each of them is told by itself. */
static void memsets(struct run *run)
{
	int i;

	for (i = 0; i < 4; i++) {
		feed(run, record_summed(1, record_alloc("cuMemsetD8_v2", 0x7000, MIB)));
		wait_for(run, 25 * MS);
	}
}

/* They are told once a second: some of the last after what is given back, though made before. */
static void count_launches(struct run *run)
{
	feed(run, record_launches("cuLaunchKernel", 0xf00d, 1000));
}

static void run_kept_while_launches_were_counted(struct run *run)
{
	uint64_t blocks[190];
	int i, j;

	begin(run);
	for (i = 0; i < 190; i++) {
		blocks[i] = work_by(run, memsets);
		for (j = 0; j < 40; j++) {
			give(run, FORWARD, blocks[i] + SEGMENT / 2, MIB);
			get_back(run, blocks[i] + SEGMENT / 2, MIB);
		}
		give(run, LOSSES, blocks[i], TENSOR);
		if (i % 10 == 5)
			count_launches(run);
	}
	for (i = 0; i < 190; i++)
		get_back(run, blocks[i], TENSOR);
	wait_for(run, 500 * MS);
	count_launches(run);
	end_process(run, 0);
}

/* A window of the last ones: as many come back as are given. */
static void run_window(struct run *run)
{
	uint64_t blocks[16] = { 0 };
	int i;

	begin(run);
	for (i = 0; i < 200; i++) {
		if (blocks[i % 16])
			get_back(run, blocks[i % 16], TENSOR);
		blocks[i % 16] = work(run);
		give(run, LOSSES, blocks[i % 16], TENSOR);
	}
	launch(run);
}

static void run_cache_grows(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 200; i++)
		work(run);
	launch(run);
}

/* Nothing says what lies in the segments. */
static void run_without_records(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 200; i++) {
		take(run);
		step(run);
		wait_for(run, 101 * MS);
	}
	launch(run);
}

/* The same function makes what no tensor lies in. */
static void run_leak_beside_cache(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 200; i++) {
		work(run);
		alloc_new(run, SEGMENT);
	}
	launch(run);
}

/* What the allocator says does not add up, so a block may have been missed. */
static void run_lossy(struct run *run)
{
	int i;

	begin(run);
	for (i = 0; i < 200; i++) {
		give(run, LOSSES, work(run), TENSOR);
		allocated += i == 100 ? TENSOR : 0;
	}
	launch(run);
}

/* What was there before is not known to be there since: nothing says that it came back. */
static void run_losses_with_gap(struct run *run)
{
	int i;

	run_losses(run);
	analysis_gap(run->analysis);
	for (i = 0; i < 10; i++) {
		work(run);
		launch(run);
	}
}

/* And what a program keeps after it is seen as before. */
static void run_losses_behind_a_gap(struct run *run)
{
	int i;

	begin(run);
	analysis_gap(run->analysis);
	for (i = 0; i < 200; i++)
		give(run, LOSSES, work(run), TENSOR);
	launch(run);
}

#define PARTS 8 /* of a model */

static void make_models(struct run *run, int count, bool is_deleted)
{
	uint64_t addr[PARTS] = { 0 };
	int i, model;

	for (model = 0; model < count; model++) {
		for (i = 0; i < PARTS; i++) {
			if (is_deleted && model)
				get_back(run, addr[i], (i + 1) * MIB);
		}
		for (i = 0; i < PARTS; i++) {
			addr[i] = take(run);
			give(run, LOSSES, addr[i], (i + 1) * MIB);
		}
		for (i = 0; i < 30; i++)
			work(run);
	}
	launch(run);
}

static void run_models(struct run *run, int count, bool is_deleted)
{
	begin(run);
	make_models(run, count, is_deleted);
}

static void rest(struct run *run)
{
	wait_for(run, 70 * MS);
}

/* What the last step freed is no part of the end, a second later, if launches are only counted. */
static void run_second_model_given_back(struct run *run)
{
	uint64_t addr[2][PARTS];
	int i, model;

	begin(run);
	for (model = 0; model < 2; model++) {
		for (i = 0; i < PARTS; i++) {
			addr[model][i] = take(run);
			give(run, LOSSES, addr[model][i], (i + 1) * MIB);
		}
		for (i = 0; i < 30; i++) {
			work_by(run, rest);
			if (i % 10 != 9)
				continue;
			wait_for(run, 70 * MS);
			count_launches(run);
		}
	}
	wait_for(run, 1000 * MS);
	for (model = 0; model < 2; model++)
		for (i = 0; i < PARTS; i++)
			get_back(run, addr[model][i], (i + 1) * MIB);
	end_process(run, 0);
}

/* On each of two devices. */
static void run_second_models(struct run *run)
{
	begin(run);
	make_models(run, 2, false);
	device = 1;
	allocated = reserved = 0;
	make_models(run, 2, false);
}

/* That the first came back may have been lost; the segments are judged by themselves, too. */
static void run_second_model_lossy(struct run *run)
{
	begin(run);
	give(run, FORWARD, take(run), TENSOR);
	allocated += TENSOR;
	make_models(run, 2, false);
}

/* As many blocks with as many bytes, of other sizes: it is another model. */
static void run_another_model(struct run *run)
{
	static const uint64_t sizes[2][4] = { { 1, 3, 3, 9 }, { 2, 2, 4, 8 } };
	int model, i;

	begin(run);
	for (model = 0; model < 2; model++) {
		for (i = 0; i < 4; i++)
			give(run, LOSSES, take(run), sizes[model][i] * 2 * MIB);
		for (i = 0; i < 30; i++)
			work(run);
	}
	launch(run);
}

static union record python_frame(uint32_t id, const char *function, uint32_t line)
{
	union record record = record_frame(id, function, "");

	record.frame.kind = MS_FRAME_PYTHON;
	record.frame.line = line;
	return record;
}

/* Keys and values of each token, by two lines of a function, or of two. */
static void run_cache_of(struct run *run, uint32_t second)
{
	int i;

	begin(run);
	for (i = 0; i < 3; i++) {
		static const char *const functions[] = { "append", "append", "extend" };

		feed(run, python_frame(11 + i, functions[i], 20 + i));
		feed(run, record_stack(11 + i, 11 + i, 1));
	}
	for (i = 0; i < 200; i++) {
		const uint64_t addr = work(run);

		give(run, 11, addr, TENSOR);
		give(run, second, addr + TENSOR, TENSOR);
	}
	launch(run);
}

static void run_keys_and_values(struct run *run)
{
	run_cache_of(run, 12);
}

static void run_two_functions(struct run *run)
{
	run_cache_of(run, 13);
}

static void run_second_model(struct run *run)
{
	run_models(run, 2, false);
}

static void run_model_after_another(struct run *run)
{
	run_models(run, 2, true);
}

/* What is made again and again is no second model. */
static void run_many_layers(struct run *run)
{
	run_models(run, 4, false);
}

static const struct program programs[] = {
	/* clang-format off */
	{ "losses until memory is refused", run_losses_until_refused, { { FINDING_LEAK_GROWTH, M, 200 * TENSOR }, { FINDING_OOM, M, SEGMENT } }, 2 },
	{ "a list of losses", run_losses, { { FINDING_LEAK_GROWTH, H, 0 } }, 1 },
	{ "without stacks", run_losses_anywhere, { { FINDING_LEAK_GROWTH, H, 0 } }, 1 },
	{ "attached late", run_losses_late, { { FINDING_LEAK_GROWTH, H, 0 } }, 1 },
	{ "given back in the end", run_kept_until_the_end, { { FINDING_LEAK_GROWTH, M, 0 } }, 1 },
	{ "given back, and launches were only counted", run_kept_while_launches_were_counted,
	  { { FINDING_LEAK_GROWTH, M, 0 } }, 1 },
	{ "a window of the last ones", run_window, {}, 0 },
	{ "a cache that grows", run_cache_grows, {}, 0 },
	{ "segments alone", run_without_records, { { FINDING_LEAK_GROWTH, H, 200 * SEGMENT } }, 1 },
	{ "with a gap", run_losses_with_gap, {}, 0 },
	{ "behind a gap", run_losses_behind_a_gap, { { FINDING_LEAK_GROWTH, M, 0 } }, 1 },
	{ "a second model", run_second_model, { { FINDING_MADE_TWICE, M, 36 * MIB } }, 1 },
	{ "a second model, given back", run_second_model_given_back,
	  { { FINDING_MADE_TWICE, M, 36 * MIB } }, 1 },
	{ "a second one on each device", run_second_models,
	  { { FINDING_MADE_TWICE, M, 36 * MIB }, { FINDING_MADE_TWICE, M, 36 * MIB } }, 2 },
	{ "records were lost", run_second_model_lossy,
	  { { FINDING_LEAK_GROWTH, M, 0 }, { FINDING_MADE_TWICE, L, 36 * MIB } }, 2 },
	{ "a model after another", run_model_after_another, {}, 0 },
	{ "a model of other sizes", run_another_model, {}, 0 },
	{ "keys and values", run_keys_and_values, { { FINDING_LEAK_GROWTH, H, 400 * TENSOR } }, 1 },
	{ "two functions", run_two_functions,
	  { { FINDING_LEAK_GROWTH, H, 200 * TENSOR }, { FINDING_LEAK_GROWTH, H, 200 * TENSOR } }, 2 },
	{ "many layers", run_many_layers, {}, 0 },
	{ "beside a cache", run_leak_beside_cache, { { FINDING_LEAK_GROWTH, H, 0 } }, 1 },
	/* clang-format on */
};

static void test_programs(void **state)
{
	(void)state;
	run_all(programs);
}

static void test_the_line_is_known(void **state)
{
	struct run run = { 0 };
	struct finding finding = only_finding(&run, run_losses);

	(void)state;
	assert_true(finding.is_of_tensors);
	assert_int_equal(finding.stack, LOSSES);
	run_end(&run);
}

static void test_what_does_not_add_up(void **state)
{
	struct run run = { 0 };

	(void)state;
	assert_true(run_begin(&run));
	run_lossy(&run);
	/* Then the segments are judged by themselves, too. */
	expect_findings(&run, { FINDING_LEAK_GROWTH, FINDING_HIGH, 200 * SEGMENT },
			{ FINDING_LEAK_GROWTH, FINDING_LOW, 200 * TENSOR });
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_the_line_is_known),
		cmocka_unit_test(test_what_does_not_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
