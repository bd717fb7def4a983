// SPDX-License-Identifier: BSD-2-Clause
/*
 * What devices held over time, by NVML, and what that is made of.
 */
#include "timeline/nvml_series.h"

#include "scenario.h"

#define MIB (1ull << 20)

struct followed {
	struct scenario s;
	struct nvml_series series;
};

static void sample(struct followed *f, union record record)
{
	struct event event;

	apply(&f->s, record);
	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	nvml_series_record(&f->series, &f->s.state, &event);
}

static void device(struct followed *f, uint64_t ts_ns, uint64_t used, uint64_t processes)
{
	union record record = record_at(ts_ns, record_device_memory("GPU-a", used));

	record.device.processes_bytes = processes;
	sample(f, record);
}

static void held(struct followed *f, uint64_t ts_ns, uint64_t bytes)
{
	sample(f, record_at(ts_ns, record_held("GPU-a", bytes)));
}

static uint64_t share(const struct followed *f, size_t at, enum nvml_share share)
{
	assert_true(at < f->series.devices[0].count);
	return f->series.devices[0].moments[at].shares[share];
}

static uint64_t sum(const struct followed *f, size_t at)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < NVML_SHARES_COUNT; i++)
		bytes += share(f, at, i);
	return bytes;
}

static void end(struct followed *f)
{
	nvml_series_fini(&f->series);
	state_fini(&f->s.state);
}

static void test_shares_add_up(void **state)
{
	struct followed f = { 0 };
	union record piece = record_object(1, 500 * MIB);

	(void)state;
	piece.object.row = record_row("cuDevicePrimaryCtxRetain");
	apply(&f.s, piece);
	apply(&f.s, record_alloc("cuMemAlloc_v2", 0x1000, 3 * MIB));
	piece = record_object(2, 4 * MIB);
	piece.object.row = record_row("cuMemAlloc_v2");
	apply(&f.s, piece);
	device(&f, 1000, 900 * MIB, 800 * MIB);
	held(&f, 1000, 504 * MIB);
	device(&f, 2000, 1000 * MIB, 800 * MIB);
	held(&f, 2000, 600 * MIB);
	nvml_series_finish(&f.series, &f.s.state);
	assert_int_equal(f.series.count, 1);
	assert_int_equal(f.series.devices[0].count, 2);
	assert_int_equal(sum(&f, 0), 900 * MIB);
	assert_int_equal(share(&f, 0, NVML_SHARE_ALLOCATED), 3 * MIB);
	assert_int_equal(share(&f, 0, NVML_SHARE_SLACK), MIB);
	assert_int_equal(share(&f, 0, NVML_SHARE_CONTEXTS), 500 * MIB);
	assert_int_equal(share(&f, 0, NVML_SHARE_UNEXPLAINED), 0);
	assert_int_equal(share(&f, 0, NVML_SHARE_OTHERS), 296 * MIB);
	assert_int_equal(share(&f, 0, NVML_SHARE_NO_PROCESS), 100 * MIB);
	assert_int_equal(sum(&f, 1), 1000 * MIB);
	assert_int_equal(share(&f, 1, NVML_SHARE_UNEXPLAINED), 96 * MIB);
	nvml_series_finish(&f.series, &f.s.state);
	assert_int_equal(f.series.devices[0].count, 2);
	end(&f);
}

/* What is seen beyond NVML's number is not drawn above it. */
static void test_more_seen_than_said(void **state)
{
	struct followed f = { 0 };

	(void)state;
	apply(&f.s, record_alloc("cuMemAlloc_v2", 0x1000, 30 * MIB));
	device(&f, 1000, 20 * MIB, 20 * MIB);
	held(&f, 1000, 20 * MIB);
	nvml_series_finish(&f.series, &f.s.state);
	assert_int_equal(sum(&f, 0), 20 * MIB);
	assert_int_equal(share(&f, 0, NVML_SHARE_ALLOCATED), 20 * MIB);
	end(&f);
}

/* A process that is gone when its sample is counted: its bytes are still its own. */
static void test_numbers_of_processes_that_are_not_known(void **state)
{
	struct followed f = { 0 };

	(void)state;
	device(&f, 1000, 100 * MIB, 60 * MIB);
	held(&f, 1000, 60 * MIB);
	device(&f, 2000, 100 * MIB, 0);
	f.series.devices[0].traced_bytes = 70 * MIB;
	nvml_series_finish(&f.series, &f.s.state);
	assert_int_equal(share(&f, 0, NVML_SHARE_UNEXPLAINED), 60 * MIB);
	assert_int_equal(share(&f, 1, NVML_SHARE_UNKNOWN), 70 * MIB);
	assert_int_equal(sum(&f, 1), 100 * MIB);
	end(&f);
}

static void test_many_samples_are_thinned_out(void **state)
{
	struct followed f = { 0 };
	uint64_t i;
	size_t j;

	(void)state;
	for (i = 0; i < 5000; i++)
		device(&f, 1000 + i, i * MIB, 0);
	nvml_series_finish(&f.series, &f.s.state);
	assert_in_range(f.series.devices[0].count, NVML_SERIES_MOST / 2, NVML_SERIES_MOST);
	assert_int_equal(f.series.devices[0].step, 32);
	for (j = 0; j < f.series.devices[0].count; j++) {
		assert_int_equal(f.series.devices[0].moments[j].ts_ns, 1000 + 32 * j);
		assert_int_equal(sum(&f, j), 32 * j * MIB);
	}
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares_add_up),
		cmocka_unit_test(test_more_seen_than_said),
		cmocka_unit_test(test_numbers_of_processes_that_are_not_known),
		cmocka_unit_test(test_many_samples_are_thinned_out),
	};

	return cmocka_run_group_tests_name("NVML's numbers over time", tests, NULL, NULL);
}
