// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is told to a format of timelines of calls, and in which order.
 */
#include "noted_traces.h"

#define MANY_DEVICES (2 * USAGE_CHANGED + 4)

static uint64_t on_all_devices(const struct noted *noted)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < noted->devices.capacity; i++)
		sum += map_is_used(&noted->devices, i) ? noted->devices.slots[i].value : 0;
	return sum;
}

static union record begin_at(uint64_t ts, uint64_t addr)
{
	return record_at(BASE + ts,
			 record_by(TID, record_of(PID, 5 * MS_START_NS,
						  record_begin_of("cuMemFree_v2", addr, 0))));
}

static union record sync_at(uint64_t begin, uint64_t end)
{
	return at(begin, end, record_call("cuCtxSynchronize"));
}

static union record inner(union record record)
{
	return record_flagged(MS_CALL_NESTED, record);
}

static void test_calls_inside_calls(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, inner(at(120, 130, record_call("cuStreamSynchronize"))));
	report_dump_add(&dump, inner(sync_at(110, 140)));
	report_dump_add(&dump, inner(sync_at(140, 150)));
	report_dump_add(&dump, at(100, 200, record_call("cudaDeviceSynchronize")));
	report_dump_add(&dump, sync_at(200, 210));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cudaDeviceSynchronize 100-200\n"
			   "  0> cuCtxSynchronize 110-140\n"
			   "    0> cuStreamSynchronize 120-130\n"
			   "  0> cuCtxSynchronize 140-150\n"
			   "0> cuCtxSynchronize 200-210\n");
}

/* The last one to return is the outermost. */
static void test_equal_times(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, inner(at(100, 200, record_call("cuStreamSynchronize"))));
	report_dump_add(&dump, inner(sync_at(100, 200)));
	report_dump_add(&dump, at(100, 200, record_call("cudaDeviceSynchronize")));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cudaDeviceSynchronize 100-200\n"
			   "  0> cuCtxSynchronize 100-200\n"
			   "    0> cuStreamSynchronize 100-200\n");
}

/* As nobody records them, but somebody may have written them into a file. */
static void test_impossible_times(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, inner(at(150, 250, record_call("cuStreamSynchronize"))));
	report_dump_add(&dump, at(100, 200, record_call("cudaDeviceSynchronize")));
	report_dump_add(&dump, sync_at(180, 300));
	report_dump_add(&dump, sync_at(190, 195));
	report_dump_add(&dump, sync_at(300, 310));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cudaDeviceSynchronize 100-200\n"
			   "  0> cuStreamSynchronize 150-200\n"
			   "thread 78 lane 1\n"
			   "1> cuCtxSynchronize 180-300\n"
			   "thread 78 lane 2\n"
			   "2> cuCtxSynchronize 190-195\n"
			   "0> cuCtxSynchronize 300-310\n");
}

static void test_no_call_is_forgotten(void **state)
{
	struct report_dump dump;
	struct noted noted;
	uint64_t i;

	(void)state;
	begin(&dump);
	for (i = 0; i < 1000; i++)
		report_dump_add(&dump, inner(sync_at(1000 + 10 * i, 1005 + 10 * i)));
	report_dump_add(&dump, at(100, 20000, record_call("cudaDeviceSynchronize")));
	/* What is around this one was lost. */
	report_dump_add(&dump, inner(sync_at(30000, 30001)));
	read_dump(&dump, &noted);
	assert_int_equal(noted.begun, 1002);
	assert_int_equal(noted.lanes, 1);
	noted_fini(&noted);
}

static void test_an_end_tells_what_was_kept(void **state)
{
	struct report_dump dump;
	const union record other = record_process(MS_TYPE_ATTACH, "b", 0);

	(void)state;
	begin(&dump);
	report_dump_add(&dump, inner(sync_at(100, 110)));
	report_dump_add(&dump,
			record_at(BASE + 120, record_of(PID, 5 * MS_START_NS, record_exit(0))));
	report_dump_add(&dump, record_at(BASE + 130, record_of(PID, 6 * MS_START_NS, other)));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cuCtxSynchronize 100-110\n"
			   "! exit 120\n"
			   "process 77 b again\n"
			   "! tracing begins 130\n");
}

static void test_counters_and_flows(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, at(100, 110, record_alloc("cuMemAlloc_v2", 0x1000, 100)));
	report_dump_add(&dump, at(120, 130, record_alloc("cuMemAlloc_v2", 0x2000, 7)));
	report_dump_add(&dump, at(140, 150, record_failed(2, record_alloc("cuMemAlloc_v2", 0, 9))));
	report_dump_add(&dump, begin_at(160, 0x1000));
	report_dump_add(&dump, at(160, 170, record_free("cuMemFree_v2", 0x1000)));
	report_dump_add(&dump, at(180, 180, record_launches("cuLaunchKernel", 0x6000, 500)));
	report_dump_add(&dump, at(190, 190, record_launches("cuLaunchKernel", 0x6000, 3)));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cuMemAlloc_v2 100-110 begins\n"
			   "live device 110: 100\n"
			   "0> cuMemAlloc_v2 120-130 begins\n"
			   "live device 130: 107\n"
			   "0> cuMemAlloc_v2 140-150\n"
			   "! out of memory 150\n"
			   "0> cuMemFree_v2 160-170 ends\n"
			   "live device 170: 7\n"
			   "calls only counted: launch 180: 500\n"
			   "calls only counted: launch 190: 503\n");
}

/* A viewer sorts by time, and would show what was told first as the last value. */
static void test_counters_do_not_go_back(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, at(100, 110, record_alloc("cuMemAlloc_v2", 0x1000, 100)));
	report_dump_add(&dump, at(490, 500, record_alloc("cuMemAlloc_v2", 0x2000, 7)));
	report_dump_add(&dump, begin_at(290, 0x1000));
	report_dump_add(&dump, at(290, 300, record_free("cuMemFree_v2", 0x1000)));
	report_dump_add(&dump, at(180, 180, record_launches("cuLaunchKernel", 0x6000, 500)));
	report_dump_add(&dump, at(170, 170, record_launches("cuLaunchKernel", 0x6000, 3)));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cuMemAlloc_v2 100-110 begins\n"
			   "live device 110: 100\n"
			   "0> cuMemAlloc_v2 490-500 begins\n"
			   "live device 500: 107\n"
			   "thread 78 lane 1\n"
			   "1> cuMemFree_v2 290-300 ends\n"
			   "live device 500: 7\n"
			   "calls only counted: launch 180: 500\n"
			   "calls only counted: launch 180: 503\n");
}

static union record instantiation(uint64_t executable, uint64_t graph)
{
	union record record = record_memory("cuGraphInstantiateWithFlags", executable, graph);

	record.call.known |= MS_KNOWN_SIZE;
	return record;
}

/* What a graph allocates and frees is seen during the launch that makes the peak, not after it. */
static void test_memory_in_a_launch(void **state)
{
	struct report_dump dump;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, at(10, 10, record_node(0x700, 0x1000, 100)));
	report_dump_add(&dump, at(20, 20, record_node(0x700, 0x1000, 0)));
	report_dump_add(&dump, at(30, 30, instantiation(0x800, 0x700)));
	report_dump_add(&dump, at(100, 150, record_launch("cuGraphLaunch", 0x800)));
	report_dump_add(&dump, at(200, 250, record_launch("cuGraphLaunch", 0x800)));
	assert_told(&dump, "thread 78 lane 0\n"
			   "0> cuGraphAddMemAllocNode 10-10\n"
			   "0> cuGraphAddMemFreeNode 20-20\n"
			   "0> cuGraphInstantiateWithFlags 30-30\n"
			   "0> cuGraphLaunch 100-150\n"
			   "live graph 100: 100\n"
			   "live graph 150: 0\n"
			   "0> cuGraphLaunch 200-250\n");
}

/* The state, and with it the names, is another one after the gap. */
static void test_a_gap(void **state)
{
	struct report_dump dump;
	struct noted noted;

	(void)state;
	begin(&dump);
	report_dump_add(&dump, record_at(BASE + 90, record_of(PID, 5 * MS_START_NS,
							      record_name(0x6000, "kernel"))));
	report_dump_add(&dump, at(91, 92, record_alloc("cuMemAlloc_v2", 0x1000, 100)));
	report_dump_add(&dump, inner(at(100, 110, record_launch("cuLaunchKernel", 0x6000))));
	report_dump_flush(&dump, BASE + 120);
	dump.files = 0;
	report_dump_add(&dump, at(200, 210, record_alloc("cuMemAlloc_v2", 0x2000, 7)));
	report_dump_flush(&dump, BASE + 300);
	dump.files = 1;
	report_dump_segment(&dump, BASE + 400);
	report_dump_add(&dump, begin_at(500, 0x2000));
	report_dump_add(&dump, at(500, 510, record_free("cuMemFree_v2", 0x2000)));
	read_dump(&dump, &noted);
	string_append_char(&noted.log, '\0');
	assert_string_equal(noted.kernel, "kernel");
	assert_string_equal(strstr(noted.log.bytes, "0> cuLaunchKernel"),
			    "0> cuLaunchKernel 100-110\n"
			    "lost\n"
			    "! gap in the recording 400\n"
			    "live device 400: 107\n"
			    "0> cuMemFree_v2 500-510\n"
			    "live device 510: 100\n");
	noted_fini(&noted);
}

/* The end of a process changes more of them at once than a call does. */
static void test_counters_of_many_devices(void **state)
{
	struct report_dump dump;
	struct noted noted;
	int32_t i;

	(void)state;
	begin(&dump);
	for (i = 0; i < MANY_DEVICES; i++)
		report_dump_add(&dump,
				at(100 + 10u * (uint64_t)i, 105 + 10u * (uint64_t)i,
				   record_on(i, record_alloc("cuMemAlloc_v2",
							     0x1000 * (1 + (uint64_t)i), 7))));
	report_dump_add(&dump, at(900, 900, record_exit(0)));
	read_dump(&dump, &noted);
	assert_int_equal(noted.devices.count, MANY_DEVICES);
	assert_int_equal(noted.of_devices, 2 * MANY_DEVICES);
	assert_int_equal(on_all_devices(&noted), 0);
	noted_fini(&noted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_inside_calls),
		cmocka_unit_test(test_equal_times),
		cmocka_unit_test(test_impossible_times),
		cmocka_unit_test(test_no_call_is_forgotten),
		cmocka_unit_test(test_an_end_tells_what_was_kept),
		cmocka_unit_test(test_counters_and_flows),
		cmocka_unit_test(test_counters_do_not_go_back),
		cmocka_unit_test(test_counters_of_many_devices),
		cmocka_unit_test(test_memory_in_a_launch),
		cmocka_unit_test(test_a_gap),
	};

	return unit_run("export_traces", tests);
}
