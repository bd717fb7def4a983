// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report says of memory and of processes, as the model has it: from records through a dump
 * and back.
 */
#include "reported.h"

#include <stdlib.h>

#include "render/report_md.h"

#define OTHER_THREAD 101

/* ---- memory ---------------------------------------------------------------------------------- */

/* Device memory from two functions: the peak is 300 + 70, then less, then other blocks. */
static void test_a_peak_is_made_of_what_was_live_then(void **state)
{
	struct report_reader reader;
	const struct report_process *process;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(alloc("cudaMalloc", 0x2000, 50));
	add(record_free_begin(0x2000));
	/* It is gone when the free begins. */
	add(record_by(OTHER_THREAD, alloc("cudaMallocPitch", 0x3000, 70)));
	add(record_free("cuMemFree_v2", 0x2000));
	release(0x1000);
	add(alloc("cudaMallocPitch", 0x4000, 200));
	reader = end();
	process = &reader.report.recordings[0]->processes[0];
	assert_int_equal(process->process->spaces[MS_SPACE_DEVICE].peak_bytes, 370);
	assert_int_equal(process->process->spaces[MS_SPACE_DEVICE].peak_ts_ns, BEGIN + 4000000);
	assert_int_equal(cell_of(process, "cudaMalloc")->peak_bytes, 300);
	assert_int_equal(cell_of(process, "cudaMalloc")->peak_count, 1);
	assert_int_equal(cell_of(process, "cudaMalloc")->live_bytes, 0);
	assert_int_equal(cell_of(process, "cudaMalloc")->allocs, 2);
	assert_int_equal(cell_of(process, "cudaMalloc")->frees, 2);
	/* 2 ms and 5 ms, to the beginning of the record that ends the free. */
	assert_int_equal(cell_of(process, "cudaMalloc")->lifetime_ns, 3000000 + 6000000);
	assert_int_equal(cell_of(process, "cudaMallocPitch")->peak_bytes, 70);
	assert_int_equal(cell_of(process, "cudaMallocPitch")->live_bytes, 270);
	assert_int_equal(reader.report.recordings[0]->devices[0].peak_bytes, 370);
	assert_int_equal(reader.report.recordings[0]->devices[0].live_bytes, 270);
	done(&reader);
}

/* If nothing came after the peak, it is what is live. */
static void test_the_peak_may_be_the_end(void **state)
{
	struct report_reader reader;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(alloc("cudaMallocPitch", 0x3000, 70));
	reader = end();
	assert_int_equal(
		cell_of(&reader.report.recordings[0]->processes[0], "cudaMalloc")->peak_bytes, 300);
	assert_int_equal(
		cell_of(&reader.report.recordings[0]->processes[0], "cudaMallocPitch")->peak_bytes,
		70);
	done(&reader);
}

/* The free of the one never returned, and the other came meanwhile: nobody has seen more live. */
static void test_the_peak_may_be_the_end_of_a_process(void **state)
{
	struct report_reader reader;
	const struct report_process *process;
	const struct timeline_level *level;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_free_begin(0x1000));
	add(record_by(OTHER_THREAD, alloc("cudaMalloc", 0x2000, 50)));
	add(record_exit(9));
	reader = end();
	process = &reader.report.recordings[0]->processes[0];
	assert_int_equal(report_held(process->process, MS_SPACE_DEVICE).bytes, 350);
	assert_int_equal(process->process->spaces[MS_SPACE_DEVICE].peak_bytes, 350);
	assert_int_equal(process->largest_count, 2);
	assert_int_equal(cell_of(process, "cudaMalloc")->live_count, 2);
	level = process->series->levels[MS_SPACE_DEVICE];
	/* A moment before the recording ends. */
	assert_int_equal(level->max[level->filled - 2], 350);
	assert_int_equal(level->end[level->filled - 1], 0);
	done(&reader);
}

static void test_what_is_used_is_compared_with_what_was_live_then(void **state)
{
	struct report_reader reader;
	const struct report_device *device;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(alloc("cudaMallocManaged", 0x8000, 5000));
	add(alloc("cudaMallocHost", 0x9000, 7000));
	add(record_on(0, record_from(600, record_alloc("cudaMemGetInfo", 0, 1000))));
	add(alloc("cudaMalloc", 0x2000, 50));
	reader = end();
	assert_int_equal(reader.report.recordings[0]->devices_count, 1);
	device = &reader.report.recordings[0]->devices[0];
	assert_int_equal(device->live_bytes, 350);
	assert_int_equal(device->live[MS_SPACE_DEVICE], 350);
	assert_int_equal(device->live[MS_SPACE_MANAGED], 5000);
	assert_int_equal(device->live[MS_SPACE_PINNED], 0);
	assert_non_null(device->told);
	assert_int_equal(device->told->total_bytes, 1000);
	assert_int_equal(device->told->free_bytes, 600);
	assert_int_equal(device->told->explained_bytes, 300);
	assert_false(device->was_running);
	done(&reader);
}

/* Its peak lacks what the program before held, and so does what was explained then. */
static void test_a_device_that_an_earlier_program_used(void **state)
{
	struct report_reader reader;

	(void)state;
	begin();
	add(record_attach_running());
	add(record_on(0, record_alloc("cudaMalloc", 0x1000, 300)));
	add(record_process(MS_TYPE_EXEC, "train", 0));
	add(record_on(0, record_alloc("cudaMalloc", 0x1000, 50)));
	reader = end();
	assert_int_equal(reader.report.recordings[0]->devices_count, 1);
	assert_int_equal(reader.report.recordings[0]->devices[0].live_bytes, 50);
	assert_true(reader.report.recordings[0]->devices[0].was_running);
	done(&reader);
}

static void test_one_device_alone(void **state)
{
	struct report_reader reader = report_dump_reader();
	const struct report_recording *recording;

	(void)state;
	begin();
	add(record_on(0, record_alloc("cudaMalloc", 0x1000, 300)));
	add(record_on(1, record_alloc("cudaMalloc", 0x2000, 50)));
	report_dump_end(&dump, now_ns);
	reader.report.options.device = 1;
	report_dump_read(&dump, &reader);
	recording = reader.report.recordings[0];
	assert_int_equal(recording->devices_count, 1);
	assert_int_equal(recording->devices[0].live_bytes, 50);
	assert_int_equal(recording->processes[0].largest_count, 1);
	assert_int_equal(recording->processes[0].largest[0].size_bytes, 50);
	assert_int_equal(recording->processes[0].cells_count, 1);
	done(&reader);
}

static void test_growth_is_what_came_after_the_beginning(void **state)
{
	struct report_reader reader = report_dump_reader();
	const struct finding *finding;
	int i;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 3000));
	for (i = 0; i < 100; i++)
		add(record_call("cuCtxSynchronize"));
	add(alloc("cudaMalloc", 0x20000, 50));
	add(alloc("cudaMallocHost", 0x30000, 7));
	report_dump_end(&dump, now_ns + MILLISECOND);
	reader.report.options.growth_bytes = 50;
	report_dump_read(&dump, &reader);
	assert_int_equal(reader.report.recordings[0]->findings_count, 1);
	finding = reader.report.recordings[0]->findings[0].finding;
	assert_int_equal(finding->rule, FINDING_GROWTH);
	assert_int_equal(finding->bytes, 50);
	assert_int_equal(finding->evidence[0].value, 3000);
	assert_int_equal(finding->evidence[1].value, 3050);
	assert_int_equal(finding->confidence, FINDING_MEDIUM);
	done(&reader);
}

/* ---- the largest blocks ---------------------------------------------------------------------- */

/* Whether the table has the blocks at those addresses, in that order, and no others. */
static void assert_largest(struct report_reader *reader, size_t top, const uint64_t *addrs,
			   size_t count)
{
	struct string md = { 0 };
	const char *row, *addr;
	size_t i;

	reader->report.options.top = top;
	for (i = 0; i < reader->report.count; i++)
		reader->report.recordings[i]->options.blocks = true;
	report_md(&md, &reader->report, false, true);
	string_append(&md, "", 1);
	assert_false(md.failed);
	row = strstr(md.bytes, "\n| Size | Process |");
	assert_int_equal(row != NULL, count > 0);
	for (i = 0; row && i <= count; i++) {
		row = strchr(row + 1, '\n');
		addr = strstr(row, "| 0x");
		if (i) /* behind the line under the head */
			assert_int_equal(strtoull(addr + 2, NULL, 16), addrs[i - 1]);
	}
	assert_true(!row || strchr(row + 1, '\n')[1] != '|');
	string_fini(&md);
}

static void add_of(uint32_t pid, uint64_t addr, uint64_t size)
{
	add(record_of(pid, RECORD_START_NS, alloc("cudaMalloc", addr, size)));
}

/* Each process has a list of its own; of two of one size the older one is first. */
static void test_the_largest_are_those_of_all_processes(void **state)
{
	static const uint64_t expected[] = { 0x2050, 0x1050, 0x4045, 0x3040,
					     0x1030, 0x2020, 0x2010, 0x1010 };
	struct report_reader reader;
	size_t top;

	(void)state;
	begin();
	add_of(1, 0x1030, 30 * MIB);
	add_of(2, 0x2050, 50 * MIB);
	add_of(2, 0x2020, 20 * MIB);
	add_of(1, 0x1050, 50 * MIB);
	add_of(2, 0x2010, 10 * MIB);
	add_of(1, 0x1010, 10 * MIB);
	add_of(3, 0x3040, 40 * MIB);
	add_of(4, 0x4045, 45 * MIB);
	add(record_of(4, RECORD_START_NS, record_exit(0)));
	add(record_of(5, RECORD_START_NS, record_call("cuCtxSynchronize")));
	reader = end();
	for (top = 1; top <= 10; top++)
		assert_largest(&reader, top, expected, top < 8 ? top : 8);
	done(&reader);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void test_a_pid_that_is_used_again_is_another_process(void **state)
{
	struct report_reader reader;
	const struct report_recording *recording;

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_exit(0));
	add(record_of(RECORD_PID, RECORD_START_NS + 5 * MS_START_NS,
		      alloc("cudaMalloc", 0x1000, 40)));
	reader = end();
	recording = reader.report.recordings[0];
	assert_int_equal(recording->processes_count, 2);
	assert_int_equal(report_held(recording->processes[0].process, MS_SPACE_DEVICE).bytes, 300);
	assert_int_equal(report_held(recording->processes[1].process, MS_SPACE_DEVICE).bytes, 40);
	assert_int_equal(recording->devices[0].live_bytes, 40);
	assert_int_equal(recording->devices[0].peak_bytes, 300);
	assert_ptr_not_equal(recording->processes[0].series, recording->processes[1].series);
	done(&reader);
}

/* Thousands of processes come and go: what is said of all of them together stays right. */
static void test_processes_that_are_not_listed_are_summed_up(void **state)
{
	const uint32_t processes = 500;
	struct report_reader reader;
	const struct report_recording *recording;
	uint64_t allocs = 0, timed = 0;
	uint32_t i;

	(void)state;
	begin();
	for (i = 0; i < processes; i++) {
		uint64_t start_ns = (10 + i) * MS_START_NS;

		add(record_of(1000 + i, start_ns, alloc("cudaMalloc", 0x1000, 300)));
		add(record_of(1000 + i, start_ns, record_exit(0)));
	}
	reader = end();
	recording = reader.report.recordings[0];
	assert_true(recording->state->more_count > processes / 2);
	assert_int_equal(recording->state->more_count + recording->processes_count, processes);
	allocs = recording->state->more->spaces[MS_SPACE_DEVICE].allocs;
	timed = sum_of(recording->timeline.more->allocs);
	for (i = 0; i < recording->processes_count; i++) {
		allocs += recording->processes[i].process->spaces[MS_SPACE_DEVICE].allocs;
		timed += sum_of(recording->processes[i].series->allocs);
	}
	assert_int_equal(allocs, processes);
	assert_int_equal(timed, processes);
	/* Each was alone: at most 300 bytes, of whichever process. */
	assert_int_equal(recording->devices[0].peak_bytes, 300);
	assert_int_equal(recording->devices[0].live_bytes, 0);
	done(&reader);
}

static void test_one_process_alone(void **state)
{
	struct report_reader reader = report_dump_reader();

	(void)state;
	begin();
	add(alloc("cudaMalloc", 0x1000, 300));
	add(record_of(77, RECORD_START_NS, alloc("cudaMalloc", 0x1000, 40)));
	report_dump_end(&dump, now_ns);
	reader.report.options.pids[reader.report.options.pids_count++] = 77;
	report_dump_read(&dump, &reader);
	assert_int_equal(reader.report.recordings[0]->processes_count, 1);
	assert_int_equal(reader.report.recordings[0]->processes[0].process->pid, 77);
	done(&reader);
}

/* Each finds its own, also where many have the same pid. */
static void test_every_process_has_its_own_line(void **state)
{
	struct timeline timeline = { 0 };
	struct state known = { 0 };
	struct process *process;
	uint32_t i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		const struct ms_event event = { .pid = 1 + i % 10,
						.start_ns = (1 + i) * MS_START_NS };

		process = state_add(&known, &event);
		process->spaces[MS_SPACE_DEVICE].live_bytes = 1 + i;
	}
	timeline_begin(&timeline, BEGIN);
	timeline_state(&timeline, &known, BEGIN);
	assert_int_equal(timeline.count, 1000);
	for (i = 0; i < 1000; i++) {
		const struct timeline_series *series =
			timeline_find(&timeline, 1 + i % 10, (1 + i) * MS_START_NS);

		assert_non_null(series);
		assert_int_equal(series->levels[MS_SPACE_DEVICE]->end[0], 1 + i);
	}
	assert_null(timeline_find(&timeline, 11, MS_START_NS));
	assert_true(timeline_bytes(&timeline) > 1000 * sizeof(struct timeline_series));
	timeline_fini(&timeline);
	state_fini(&known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_peak_is_made_of_what_was_live_then),
		cmocka_unit_test(test_the_peak_may_be_the_end),
		cmocka_unit_test(test_the_peak_may_be_the_end_of_a_process),
		cmocka_unit_test(test_what_is_used_is_compared_with_what_was_live_then),
		cmocka_unit_test(test_a_device_that_an_earlier_program_used),
		cmocka_unit_test(test_one_device_alone),
		cmocka_unit_test(test_growth_is_what_came_after_the_beginning),
		cmocka_unit_test(test_the_largest_are_those_of_all_processes),
		cmocka_unit_test(test_a_pid_that_is_used_again_is_another_process),
		cmocka_unit_test(test_processes_that_are_not_listed_are_summed_up),
		cmocka_unit_test(test_one_process_alone),
		cmocka_unit_test(test_every_process_has_its_own_line),
	};

	return unit_run("report", tests);
}
