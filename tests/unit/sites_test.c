// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds memory by call stack and by owner, as a recording is replayed.
 */
#include "records.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/state.h"
#include "report/sites.h"

#define TORCH 1 /* stacks */
#define NCCL 2
#define TORCH_TOO 3 /* the same frames as TORCH */

struct fixture {
	struct state state;
	struct sites sites;
	uint64_t ts_ns;
};

static void feed(struct fixture *f, union record record)
{
	struct event event;

	record.event.ts_ns = ++f->ts_ns;
	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	assert_int_equal(state_apply(&f->state, &event), 0);
	assert_int_equal(sites_event(&f->sites, &f->state, &event, &f->state.change), 0);
}

static void begin(struct fixture *f)
{
	union record alike = record_stack(TORCH_TOO, 1, 2);

	*f = (struct fixture){ 0 };
	feed(f, record_frame(1, "cudaMalloc", "/lib/libcudart.so.12"));
	feed(f, record_frame(2, "raw_alloc", "/opt/libc10_cuda.so"));
	feed(f, record_frame(3, "ncclInit", "/opt/libnccl.so.2"));
	feed(f, record_stack(TORCH, 1, 2));
	feed(f, record_stack(NCCL, 3, 1));
	/* The same frames, but it is not the same one: its end is another. */
	alike.stack.end = MS_STACK_END_LOOP;
	feed(f, alike);
}

static void finish(struct fixture *f)
{
	sites_fini(&f->sites);
	state_fini(&f->state);
}

static void alloc(struct fixture *f, uint32_t stack, uint64_t addr, uint64_t size)
{
	feed(f, record_called_from(stack, record_alloc("cudaMalloc", addr, size)));
}

static void free_block(struct fixture *f, uint64_t addr)
{
	feed(f, record_free_begin(addr));
	feed(f, record_free("cuMemFree_v2", addr));
}

/* The row with that owner, of all rows: by stack or by owner. */
static struct site_row row_of(const struct fixture *f, bool owners, const char *owner)
{
	struct site_row found = { 0 };
	size_t count, i;
	struct site_row *rows = sites_rows(&f->sites, &f->state, owners, &count);

	assert_non_null(rows);
	for (i = 0; i < count; i++)
		if (!strcmp(rows[i].owner ? rows[i].owner : "", owner)) {
			assert_int_equal(found.processes, 0);
			found = rows[i];
		}
	free(rows);
	return found;
}

static void assert_total(struct site_row row, uint64_t live, uint64_t blocks, uint64_t peak,
			 uint64_t allocated, uint64_t allocs)
{
	assert_int_equal(row.total.live_bytes, live);
	assert_int_equal(row.total.live_count, blocks);
	assert_int_equal(row.total.peak_bytes, peak);
	assert_int_equal(row.total.alloc_bytes, allocated);
	assert_int_equal(row.total.allocs, allocs);
}

static void test_by_stack_and_by_owner(void **state)
{
	struct fixture f;
	int owners;

	(void)state;
	begin(&f);
	alloc(&f, TORCH, 0x1000, 100);
	alloc(&f, TORCH, 0x2000, 50);
	free_block(&f, 0x1000);
	alloc(&f, TORCH, 0x3000, 20);
	alloc(&f, NCCL, 0x4000, 1000);
	feed(&f, record_alloc("cudaMalloc", 0x5000, 7)); /* of no stack */
	feed(&f, record_called_from(NCCL, record_alloc("cudaMallocHost", 0x6000, 9)));
	for (owners = 0; owners < 2; owners++) {
		assert_total(row_of(&f, owners, "libc10_cuda.so"), 70, 2, 150, 170, 3);
		assert_total(row_of(&f, owners, "libnccl.so.2"), 1000, 1, 1000, 1000, 1);
	}
	assert_int_equal(f.sites.ends.none, 1);
	finish(&f);
}

/* What the stack of an allocation does not tell, and why; a line of Python is enough. */
static void test_stacks_that_tell_little(void **state)
{
	struct identity known = { .items = { [IDENTITY_EXE] = "/usr/bin/python3.11" } };
	const struct process python = { .identity.known = known }, other = { 0 };
	struct stack stack = { .end = MS_STACK_END_NO_TABLE };
	struct site_ends ends = { 0 };

	(void)state;
	site_ends_count(&ends, &python, NULL);
	site_ends_count(&ends, &python, &stack);
	site_ends_count(&ends, &other, &stack);
	stack.lines = 1;
	site_ends_count(&ends, &python, &stack);
	stack = (struct stack){ .end = MS_STACK_END_COMPLETE };
	site_ends_count(&ends, &python, &stack);
	stack.end = MS_STACK_END_DEPTH;
	site_ends_count(&ends, NULL, &stack);
	assert_int_equal(ends.allocs, 6);
	assert_int_equal(ends.none, 1);
	assert_int_equal(site_ends_lineless(&ends), 2);
	ends.lined = 0; /* as where only native frames were asked for */
	assert_int_equal(site_ends_lineless(&ends), 0);
	assert_int_equal(ends.early[MS_STACK_END_NO_TABLE], 2);
	assert_int_equal(site_ends_early(&ends), 2);
	assert_true(site_ends_lack(&ends));
	ends = (struct site_ends){ 0 };
	stack.end = MS_STACK_END_COMPLETE;
	site_ends_add(&ends, &python, &stack, 7);
	assert_int_equal(ends.allocs, 7);
	assert_false(site_ends_lack(&ends));
	/* Without a stack of any, none was asked for. */
	ends = (struct site_ends){ 0 };
	site_ends_add(&ends, &python, NULL, 7);
	assert_false(site_ends_lack(&ends));
}

/* Two workers, and two stacks of one, come from the same place. */
static void test_the_same_frames_are_one_site(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	alloc(&f, TORCH, 0x1000, 100);
	alloc(&f, TORCH_TOO, 0x2000, 10);
	feed(&f, record_of(RECORD_PID + 1, RECORD_START_NS,
			   record_called_from(TORCH, record_alloc("cudaMalloc", 0x1000, 1))));
	assert_total(row_of(&f, false, "libc10_cuda.so"), 111, 3, 111, 111, 3);
	assert_int_equal(row_of(&f, true, "libc10_cuda.so").processes, 2);
	finish(&f);
}

static union record python(uint32_t id, const char *function)
{
	union record record = record_frame(id, function, "/usr/bin/python3");

	record.frame.kind = MS_FRAME_PYTHON;
	return record;
}

/* Through a library, and without: the line's peak is not the sum of theirs. */
static void test_a_line_of_python_is_one_site(void **state)
{
	struct site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	feed(&f, record_frame(10, "a", "/opt/liba.so"));
	feed(&f, python(11, "step"));
	feed(&f, record_stack(7, 10, 2));
	feed(&f, record_stack(8, 11, 1));
	alloc(&f, 7, 0x1000, 100);
	free_block(&f, 0x1000);
	alloc(&f, 8, 0x1000, 90);
	alloc(&f, NCCL, 0x4000, 5);
	rows = sites_rows(&f.sites, &f.state, SITES_BY_LINES, &count);
	assert_int_equal(count, 2);
	assert_total(rows[0], 90, 1, 100, 190, 2);
	assert_int_equal(rows[0].processes, 1);
	assert_total(rows[1], 5, 1, 5, 5, 1);
	free(rows);
	rows = sites_rows(&f.sites, &f.state, SITES_BY_STACK, &count);
	assert_int_equal(count, 3);
	free(rows);
	finish(&f);
}

static void test_what_ends_with_its_context(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	feed(&f, record_context("cuCtxCreate_v2", 0xc000, 0));
	feed(&f,
	     record_called_from(TORCH, record_in(0xc000, record_alloc("cudaMalloc", 0x1000, 100))));
	alloc(&f, NCCL, 0x2000, 5);
	feed(&f, record_context("cuCtxDestroy_v2", 0xc000, 0));
	assert_total(row_of(&f, false, "libc10_cuda.so"), 0, 0, 100, 100, 1);
	assert_total(row_of(&f, false, "libnccl.so.2"), 5, 1, 5, 5, 1);
	assert_false(f.sites.inexact);
	finish(&f);
}

/* What it held when it ended stays; another program of it has nothing. */
static void test_ends_of_processes(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	alloc(&f, TORCH, 0x1000, 100);
	feed(&f, record_process(MS_TYPE_EXEC, "next", 0));
	assert_total(row_of(&f, false, "libc10_cuda.so"), 0, 0, 100, 100, 1);
	alloc(&f, NCCL, 0x2000, 5);
	feed(&f, record_exit(0));
	assert_int_equal(sites_look(&f.sites, &f.state, f.state.processes[0]), 0);
	assert_total(row_of(&f, false, "libnccl.so.2"), 5, 1, 5, 5, 1);
	finish(&f);
}

/* A reader that begins in the middle. */
static void test_what_is_live_already(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	alloc(&f, TORCH, 0x1000, 100);
	sites_fini(&f.sites);
	assert_int_equal(sites_look(&f.sites, &f.state, f.state.processes[0]), 0);
	assert_total(row_of(&f, true, "libc10_cuda.so"), 100, 1, 100, 0, 0);
	free_block(&f, 0x1000);
	assert_total(row_of(&f, true, "libc10_cuda.so"), 0, 0, 100, 0, 0);
	finish(&f);
}

static void tensor(struct fixture *f, uint32_t stack, uint64_t addr, int64_t bytes,
		   uint64_t allocated)
{
	union record record = record_tensor(addr, bytes, allocated);

	record.event.stack = stack;
	record.tensor.flags = stack ? MS_TENSOR_STACK : 0;
	feed(f, record);
}

/* A block that one place makes after the peak is not in it, and one that it freed since is. */
static void test_tensors_at_the_peak(void **state)
{
	struct site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	tensor(&f, TORCH, 0x1000, 1024, 1024);
	tensor(&f, NCCL, 0x2000, 2048, 3072);
	tensor(&f, TORCH_TOO, 0x3000, 512, 3584);
	tensor(&f, 0, 0x2000, -2048, 1536);
	tensor(&f, TORCH, 0x4000, 1024, 2560);
	tensor(&f, 0, 0x5000, 512, 3072);
	rows = sites_rows(&f.sites, &f.state, SITES_BY_TENSOR_LINES, &count);
	assert_int_equal(count, 2);
	assert_total(rows[0], 2560, 3, 2560, 2560, 3);
	assert_int_equal(rows[0].total.at_peak_bytes, 1536);
	assert_total(rows[1], 0, 0, 2048, 2048, 1);
	assert_int_equal(rows[1].total.at_peak_bytes, 2048);
	free(rows);
	assert_int_equal(f.sites.unknown_tensors, 1);
	/* No memory of the driver's. */
	free(sites_rows(&f.sites, &f.state, SITES_BY_STACK, &count));
	assert_int_equal(count, 0);
	/* A peak that comes last is that of what has not changed since, too. */
	tensor(&f, NCCL, 0x6000, 4096, 7168);
	assert_int_equal(sites_look(&f.sites, &f.state, f.state.processes[0]), 0);
	rows = sites_rows(&f.sites, &f.state, SITES_BY_TENSOR_LINES, &count);
	assert_int_equal(rows[0].total.at_peak_bytes, 4096);
	assert_int_equal(rows[1].total.at_peak_bytes, 2560);
	free(rows);
	feed(&f, record_exit(0));
	rows = sites_rows(&f.sites, &f.state, SITES_BY_TENSOR_LINES, &count);
	assert_int_equal(rows[1].total.live_bytes, 2560);
	free(rows);
	finish(&f);
}

/* A reader that begins in the middle: if no tensor comes after that, the peak is what there was. */
static void test_tensors_that_are_there_already(void **state)
{
	struct site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	tensor(&f, TORCH, 0x1000, 1024, 1024);
	tensor(&f, NCCL, 0x2000, 2048, 3072);
	sites_fini(&f.sites);
	assert_int_equal(sites_look(&f.sites, &f.state, f.state.processes[0]), 0);
	rows = sites_rows(&f.sites, &f.state, SITES_BY_TENSOR_LINES, &count);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].total.at_peak_bytes, 2048);
	assert_int_equal(rows[1].total.at_peak_bytes, 1024);
	free(rows);
	/* Less is no peak, also if it is looked at. */
	tensor(&f, 0, 0x2000, -2048, 1024);
	assert_int_equal(sites_look(&f.sites, &f.state, f.state.processes[0]), 0);
	rows = sites_rows(&f.sites, &f.state, SITES_BY_TENSOR_LINES, &count);
	assert_int_equal(rows[0].total.at_peak_bytes, 2048);
	free(rows);
	finish(&f);
}

static void test_where_most_is_live(void **state)
{
	const uint64_t process = event_process_key(RECORD_PID, RECORD_START_NS);
	const uint16_t row = record_row("cudaMalloc");
	struct fixture f;
	uint64_t bytes;

	(void)state;
	begin(&f);
	assert_null(sites_fitting(&f.sites, &f.state, process, MS_NO_ROW, 0, &bytes));
	alloc(&f, TORCH, 0x1000, 100);
	alloc(&f, NCCL, 0x2000, 1000);
	feed(&f, record_called_from(TORCH_TOO, record_alloc("cudaMallocManaged", 0x3000, 5000)));
	assert_int_equal(sites_fitting(&f.sites, &f.state, process, row, 0, &bytes)->id, NCCL);
	assert_int_equal(bytes, 1000);
	assert_int_equal(sites_fitting(&f.sites, &f.state, process, MS_NO_ROW, 0, &bytes)->id,
			 TORCH_TOO);
	/* What keeps 90 bytes is not where there are 1000, nor the other way round. */
	assert_int_equal(sites_fitting(&f.sites, &f.state, process, row, 90, &bytes)->id, TORCH);
	assert_int_equal(bytes, 100);
	assert_int_equal(sites_fitting(&f.sites, &f.state, process, row, 1100, &bytes)->id, NCCL);
	assert_int_equal(sites_fitting(&f.sites, &f.state, process, MS_NO_ROW, 4900, &bytes)->id,
			 TORCH_TOO);
	free_block(&f, 0x2000);
	assert_int_equal(sites_fitting(&f.sites, &f.state, process, row, 0, &bytes)->id, TORCH);
	assert_null(sites_fitting(&f.sites, &f.state, process + 1, MS_NO_ROW, 0, &bytes));
	finish(&f);
}

#define RUNS 1000

static uint64_t chance;

static uint64_t draw(uint64_t below)
{
	chance = chance * 6364136223846793005u + 1442695040888963407u;
	return (chance >> 33) % below;
}

static bool is_within(uint64_t estimate, uint64_t truth, uint64_t error)
{
	return (estimate > truth ? estimate - truth : truth - estimate) <= error;
}

/* As the kernel takes stacks. Returns the bytes that stay. */
static uint64_t give_by_chance(struct fixture *f, uint32_t stack, uint64_t *allocated,
			       uint64_t *addr, uint64_t *made)
{
	const uint64_t bytes = 512ull * (1 + draw(1ull << draw(12)));
	const uint64_t odds = bytes < MS_TENSOR_LEAST_BYTES ? MS_TENSOR_LEAST_BYTES : bytes;
	union record record;

	*addr += bytes;
	*allocated += bytes;
	*made += bytes;
	record = record_tensor(*addr, (int64_t)bytes, *allocated);
	if (bytes < MS_TENSOR_ALWAYS_BYTES)
		record.tensor.flags = MS_TENSOR_CHANCE;
	if (bytes >= MS_TENSOR_ALWAYS_BYTES || draw(MS_TENSOR_ALWAYS_BYTES) < odds) {
		record.tensor.flags |= MS_TENSOR_STACK;
		record.event.stack = stack;
	}
	feed(f, record);
	if (draw(3))
		return bytes;
	*allocated -= bytes;
	feed(f, record_tensor(*addr, -(int64_t)bytes, *allocated));
	return 0;
}

static const struct site_row *row_at(const struct site_row *rows, size_t count, const char *owner)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(rows[i].owner, owner))
			return &rows[i];
	return NULL;
}

/* Two lines, of few blocks and of many: sums by stacks that were taken by chance. */
static void test_estimates_are_right_on_average_and_within_their_error(void **state)
{
	static const char *const owners[] = { "libc10_cuda.so", "libnccl.so.2" };
	uint64_t within = 0, within_made = 0, cases = 0;
	double estimated = 0, true_bytes = 0;
	size_t run, line, count;

	(void)state;
	chance = 33;
	for (run = 0; run < RUNS; run++) {
		uint64_t kept[2] = { 0 }, made[2] = { 0 }, allocated = 0, addr = 1 << 20;
		const uint64_t blocks[2] = { 1 + draw(200), 1 + draw(10) };
		struct site_row *rows;
		struct fixture f;

		begin(&f);
		for (line = 0; line < 2; line++)
			for (count = 0; count < blocks[line]; count++)
				kept[line] += give_by_chance(&f, line ? NCCL : TORCH, &allocated,
							     &addr, &made[line]);
		rows = sites_rows(&f.sites, &f.state, SITES_BY_TENSOR_LINES, &count);
		for (line = 0; line < 2; line++) {
			const struct site_row *row = row_at(rows, count, owners[line]);

			true_bytes += (double)kept[line];
			if (!row)
				continue; /* none of its stacks was taken: it is not in the list */
			cases++;
			estimated += (double)row->total.live_bytes;
			within += is_within(row->total.live_bytes, kept[line],
					    site_total_live_error(&row->total));
			within_made += is_within(row->total.alloc_bytes, made[line],
						 site_total_alloc_error(&row->total));
		}
		free(rows);
		finish(&f);
	}
	assert_true(cases > RUNS);
	assert_true(within * 100 >= cases * 95);
	assert_true(within_made * 100 >= cases * 95);
	assert_true(estimated > true_bytes * 0.98 && estimated < true_bytes * 1.02);
}

/* Of blocks whose stacks are taken in any case, sums are exact. */
static void test_without_chance_there_is_no_error(void **state)
{
	struct site_row *rows;
	struct fixture f;
	size_t count;

	(void)state;
	begin(&f);
	tensor(&f, TORCH, 0x1000, 1024, 1024);
	rows = sites_rows(&f.sites, &f.state, SITES_BY_TENSOR_LINES, &count);
	assert_int_equal(count, 1);
	assert_int_equal(site_total_live_error(&rows[0].total), 0);
	free(rows);
	finish(&f);
}

/* Chance chose the block, but its stack found no place: the sum lacks it. */
static void test_what_chance_chose_in_vain_is_counted(void **state)
{
	union record record = record_tensor(0x1000, 1024, 1024);
	struct fixture f;

	(void)state;
	begin(&f);
	record.tensor.flags = MS_TENSOR_CHANCE;
	feed(&f, record);
	assert_int_equal(f.sites.lost_tensors, 0);
	record = record_tensor(0x2000, 1024, 2048);
	record.tensor.flags = MS_TENSOR_CHANCE | MS_TENSOR_STACK;
	record.event.stack = 12345;
	feed(&f, record);
	assert_int_equal(f.sites.lost_tensors, 1);
	assert_int_equal(f.sites.unknown_tensors, 1);
	finish(&f);
}

static void test_the_frame_that_tells_most(void **state)
{
	struct fixture f;
	const struct stacks *stacks = &f.state.stacks;
	union record python = record_frame(9, "step", "");

	(void)state;
	begin(&f);
	assert_string_equal(sites_frame(stacks, stacks_find(stacks, TORCH))->function, "raw_alloc");
	python.frame.kind = MS_FRAME_PYTHON;
	feed(&f, record_frame(8, "raw_alloc", "/opt/libc10_cuda.so"));
	feed(&f, python);
	feed(&f, record_stack(10, 8, 2));
	assert_string_equal(sites_frame(stacks, stacks_find(stacks, 10))->function, "step");
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_stack_and_by_owner),
		cmocka_unit_test(test_stacks_that_tell_little),
		cmocka_unit_test(test_the_same_frames_are_one_site),
		cmocka_unit_test(test_a_line_of_python_is_one_site),
		cmocka_unit_test(test_what_ends_with_its_context),
		cmocka_unit_test(test_ends_of_processes),
		cmocka_unit_test(test_what_is_live_already),
		cmocka_unit_test(test_where_most_is_live),
		cmocka_unit_test(test_tensors_at_the_peak),
		cmocka_unit_test(test_tensors_that_are_there_already),
		cmocka_unit_test(test_estimates_are_right_on_average_and_within_their_error),
		cmocka_unit_test(test_without_chance_there_is_no_error),
		cmocka_unit_test(test_what_chance_chose_in_vain_is_counted),
		cmocka_unit_test(test_the_frame_that_tells_most),
	};

	return unit_run("sites", tests);
}
