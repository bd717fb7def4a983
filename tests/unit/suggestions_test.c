// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is suggested to a process goes by what was found of it, and not of another one.
 */
#include "diffs.h"

#define CACHED (200 * MIB)
#define WANTED (100 * MIB)

/* PyTorch has taken memory, all of which came back to it; then the driver has none left. */
static void fill_and_fail(struct side *side, uint32_t pid)
{
	uint64_t addr;
	union record record;

	add_process(side, pid, "train");
	addr = add_alloc(side, pid, "cudaMalloc", CACHED);
	record = record_tensor(addr, CACHED, CACHED);
	record.tensor.reserved = CACHED;
	add_of(side, pid, record);
	record = record_tensor(addr, -(int64_t)CACHED, 0);
	record.tensor.reserved = CACHED;
	add_of(side, pid, record);
	record = record_without(MS_KNOWN_ADDR, record_alloc("cudaMalloc", 0, WANTED));
	add_of(side, pid, record_failed(2, record_on(0, record)));
}

/* And PyTorch itself says so: it could not give back what it has. */
static void run_out(struct side *side, uint32_t pid)
{
	union record record = record_tensor(0, WANTED, 0);

	record.tensor.reserved = CACHED;
	record.tensor.action = MS_TENSOR_OUT_OF_MEMORY;
	add_of(side, pid, record);
}

static const char *suggested(const struct report_recording *recording, uint32_t pid)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding->rule == FINDING_OOM && finding->pid == pid)
			return report_suggestion_of(recording, finding);
	}
	return NULL;
}

static void test_of_two_processes(void **state)
{
	const struct report_recording *recording;
	struct side side;

	(void)state;
	side_begin(&side, 7, "host");
	side_segment(&side);
	fill_and_fail(&side, 10);
	run_out(&side, 10);
	add_exit(&side, 10, "train");
	fill_and_fail(&side, 11);
	side_read(&side);
	recording = side.reader.report.recordings[0];
	assert_non_null(suggested(recording, 10));
	assert_non_null(strstr(suggested(recording, 10), "belongs to private pools"));
	assert_non_null(suggested(recording, 11));
	assert_non_null(strstr(suggested(recording, 11), "empty its cache"));
	/* The report as a whole has both. */
	assert_non_null(strstr(report_suggestion(recording, FINDING_OOM, 0), "empty its cache"));
	assert_non_null(strstr(report_suggestion(recording, FINDING_OOM, 1), "private pools"));
	assert_null(report_suggestion(recording, FINDING_OOM, 2));
	side_done(&side);
}

/* The driver's blocks alone: nothing says whose allocator it is that keeps them. */
static void test_of_an_allocator_of_its_own(void **state)
{
	const struct report_recording *recording;
	const char *text;
	struct side side;
	union record record;
	uint64_t last = 0;
	int i;

	(void)state;
	side_begin(&side, 7, "host");
	side_segment(&side);
	add_process(&side, 10, "render");
	for (i = 0; i < 8; i++)
		last = add_alloc(&side, 10, "cudaMalloc", CACHED);
	record = record_without(MS_KNOWN_ADDR, record_alloc("cudaMalloc", 0, WANTED));
	add_of(&side, 10, record_failed(2, record_on(0, record)));
	add_of(&side, 10, record_free_begin(last));
	add_of(&side, 10, record_free("cudaFree", last));
	add_exit(&side, 10, "render");
	side_read(&side);
	recording = side.reader.report.recordings[0];
	assert_int_equal(recording->ooms[0]->cause, OOM_CACHED);
	text = suggested(recording, 10);
	assert_non_null(strstr(text, "let it give that back"));
	assert_null(strstr(text, "torch"));
	side_done(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_two_processes),
		cmocka_unit_test(test_of_an_allocator_of_its_own),
	};

	return unit_run("suggestions", tests);
}
