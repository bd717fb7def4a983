// SPDX-License-Identifier: BSD-2-Clause
#include "decoded.h"

#include <stdlib.h>

#include "event/event.h"

#define BLOCK 0x7f0000001000

/* A valid record of each type, and a launch merged with the driver's. */
static size_t samples(union record *out)
{
	size_t count = 0;

	out[count++] = record_merged("cuMemAlloc_v2", record_alloc("cudaMalloc", BLOCK, 4096));
	out[count++] = record_copy("cuMemcpyHtoD_v2", 100, MS_DIRECTION_HTOD);
	out[count++] = record_split(record_call("cuCtxSynchronize"), 100, 40, 60);
	out[count++] = record_launch("cuLaunchKernel", 0x1234);
	out[count++] = record_merged("cuLaunchKernel", record_launch("cudaLaunchKernel", 0x1234));
	out[count++] = record_free_begin(BLOCK);
	out[count++] = record_name(0x1234, "kernel");
	out[count++] = record_alias(0x1234, 0x5678);
	out[count++] = record_process(MS_TYPE_EXEC, "program", 0);
	out[count++] = record_process(MS_TYPE_FORK, "program", 0);
	out[count++] = record_exit(0);
	out[count++] = record_attach_running();
	out[count++] = record_launches("cuLaunchKernel", 0x1234, 1000);
	out[count++] = record_account(MS_OP_ALLOC, 10, 1);
	out[count++] = record_loss(MS_OP_ALLOC, 3);
	out[count++] = record_loss(MS_ACCOUNT_ABANDONED, 3);
	out[count++] = record_visible(1, 0);
	out[count++] = record_newer(3, 1, "cuMemNew");
	out[count++] = record_unread_library("/mnt/libcuda.so.1");
	out[count++] = record_identity("exe\0/usr/bin/python3.11\0script\0train.py\0uid\0"
				       "1000");
	out[count++] = record_object(0x5c000010, 1 << 21);
	out[count++] = record_device_memory("GPU-1", 4096);
	out[count++] = record_held("GPU-1", 1024);
	out[count++] = record_host(1 << 30, 1000);
	out[count++] = record_load(1000, 1000, 4096);
	out[count++] = record_numa_node(1, 4096);
	out[count++] = record_gpu_link("0000:81:00.0", 25, 8);
	out[count++] = record_placement(MS_SPACE_PINNED, 1, 8);
	out[count++] = record_limit("drm/0000:65:00.0/vram", 4096, 8192);
	out[count++] = record_budget(MS_BUDGET_OFF, MS_BUDGET_ENTRIES, 1000);
	out[count++] = record_range(MS_RANGE_MAP, 0x7f0000000000, 2 << 20, 0x5c000010);
	out[count++] = record_xid(79, "0000:65:00.0", 0, "GPU has fallen off the bus.");
	out[count++] = record_tensor(0x7f0000000000, 512, 512);
	out[count++] = record_nccl(MS_NCCL_ncclAllReduce, 0x5000, 8);
	out[count++] = record_launch_sample("cuLaunchKernel", 3, 100);
	out[count++] = record_activity(MS_ACTIVITY_KERNEL, 1, 1000, 10);
	out[count++] = record_gpu_name(7, "fill");
	out[count++] = record_gpu_status(MS_GPU_ON, MS_GPU_REASON_NONE);
	out[count++] = record_marker(MS_MARKER_PUSH, "step");
	out[count++] = record_frame(1, "main", "/usr/bin/program");
	out[count++] = record_stack(1, 1, 3);
	return count;
}

#define SAMPLES_MAX 48

/* ---- what event.h promises ------------------------------------------------------------------- */

static void assert_promises_of_call(const struct event *event)
{
	const struct ms_call *call = event->call;

	assert_true(call->row < probe_count());
	assert_ptr_equal(event->probe, probe_at(call->row));
	assert_int_not_equal(event->probe->spec.op, MS_OP_NAME);
	if (event->header->type != MS_TYPE_CALLS)
		assert_int_equal(event->probe->spec.op == MS_OP_LAUNCH, event->launch != NULL);
	assert_true(call->direction < MS_DIRECTIONS_COUNT);
	if (call->driver_row != MS_NO_ROW) {
		assert_true(call->driver_row < probe_count());
		assert_ptr_equal(event->driver_probe, probe_at(call->driver_row));
		assert_int_equal(event->driver_probe->spec.op, event->probe->spec.op);
	} else if (event->probe->layer == MS_LAYER_DRIVER) {
		assert_ptr_equal(event->driver_probe, event->probe);
	} else {
		assert_null(event->driver_probe);
	}
}

static void assert_promises(const struct event *event, const void *record, size_t length)
{
	uint16_t type = event->header->type;
	bool counted = type == MS_TYPE_CALLS;
	bool called = type == MS_TYPE_CALL || type == MS_TYPE_LAUNCH || counted;

	assert_ptr_equal(event->header, record);
	assert_int_equal(event->header->size, length);
	assert_true(type < MS_TYPES_COUNT);
	assert_ptr_equal(event->call, called ? record : NULL);
	assert_ptr_equal(event->launch, type == MS_TYPE_LAUNCH ? record : NULL);
	assert_ptr_equal(event->split,
			 type == MS_TYPE_CALL && length > sizeof(struct ms_call) ? record : NULL);
	assert_ptr_equal(event->free, type == MS_TYPE_FREE_BEGIN ? record : NULL);
	assert_ptr_equal(event->name, type == MS_TYPE_NAME ? record : NULL);
	assert_ptr_equal(event->process,
			 type >= MS_TYPE_EXEC && type <= MS_TYPE_ATTACH ? record : NULL);
	assert_ptr_equal(event->account, type == MS_TYPE_ACCOUNT ? record : NULL);
	assert_ptr_equal(event->loss, type == MS_TYPE_LOSS ? record : NULL);
	assert_ptr_equal(event->visible, type == MS_TYPE_VISIBLE ? record : NULL);
	assert_ptr_equal(event->newer, type == MS_TYPE_NEWER ? record : NULL);
	assert_ptr_equal(event->identity, type == MS_TYPE_IDENTITY ? record : NULL);
	assert_ptr_equal(event->stack, type == MS_TYPE_STACK ? record : NULL);
	assert_ptr_equal(event->frame, type == MS_TYPE_FRAME ? record : NULL);
	assert_int_equal(event->count, counted ? ((const struct ms_calls *)record)->count : 1);
	assert_int_not_equal(event->count, 0);
	if (called)
		assert_promises_of_call(event);
	else if (event->free)
		assert_int_equal(event->probe->spec.op, MS_OP_FREE);
	else
		assert_null(event->probe);
	if (event->name) {
		assert_int_equal(sizeof(struct ms_name) + event->name->length, length);
		assert_true(!event->name->length || !event->name->name[event->name->length - 1]);
	}
	if (event->process)
		assert_non_null(memchr(event->process->comm, '\0', MS_COMM_BYTES));
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_every_type_decodes(void **state)
{
	union record records[SAMPLES_MAX];
	bool seen[MS_TYPES_COUNT] = { false };
	size_t count = samples(records), i;

	(void)state;
	for (i = 0; i < count; i++) {
		struct event event;

		assert_int_equal(event_decode(&records[i], records[i].event.size, &event), 0);
		assert_promises(&event, &records[i], records[i].event.size);
		seen[records[i].event.type] = true;
	}
	for (i = 0; i < MS_TYPES_COUNT; i++)
		assert_int_equal(seen[i], event_size(i) != 0);
}

static void test_every_type_has_a_name_of_its_own(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < MS_TYPES_COUNT; i++) {
		if (!event_size(i))
			continue; /* there is no such number */
		assert_non_null(event_type_name(i));
		for (j = 0; j < i; j++)
			if (event_size(j))
				assert_string_not_equal(event_type_name(i), event_type_name(j));
	}
}

static void test_whom_a_record_is_about(void **state)
{
	union record account = record_account(MS_OP_COPY, 5, 1), alloc;
	struct event event;

	(void)state;
	assert_int_equal(event_decode(&account, account.event.size, &event), 0);
	assert_int_equal(event.subject, EVENT_OF_MACHINE);
	alloc = record_alloc("cuMemAlloc_v2", BLOCK, 1);
	assert_int_equal(event_decode(&alloc, alloc.event.size, &event), 0);
	assert_int_equal(event.subject, EVENT_OF_PROCESS);
}

static void test_every_row_decodes(void **state)
{
	uint32_t row;

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		union record record = record_call(probe_at(row)->symbol);

		if (probe_at(row)->spec.op == MS_OP_NAME)
			assert_refused(&record); /* those have records of their own */
		else
			assert_accepted(&record);
	}
}

static void test_driver_probe_is_the_row_itself_or_the_merged_one(void **state)
{
	union record driver = record_alloc("cuMemAlloc_v2", BLOCK, 1);
	union record runtime = record_alloc("cudaMalloc", BLOCK, 1);
	union record merged = record_merged("cuMemAlloc_v2", runtime);
	struct event event;

	(void)state;
	assert_int_equal(event_decode(&driver, driver.event.size, &event), 0);
	assert_string_equal(event.driver_probe->symbol, "cuMemAlloc_v2");
	assert_int_equal(event_decode(&runtime, runtime.event.size, &event), 0);
	assert_null(event.driver_probe);
	assert_int_equal(event_decode(&merged, merged.event.size, &event), 0);
	assert_string_equal(event.probe->symbol, "cudaMalloc");
	assert_string_equal(event.driver_probe->symbol, "cuMemAlloc_v2");
}

/* With its own idea of its size, and with one that agrees. */
static void test_every_other_length_is_refused(void **state)
{
	union record records[SAMPLES_MAX];
	size_t count = samples(records), i, length;

	(void)state;
	for (i = 0; i < count; i++) {
		union record *record = &records[i];
		uint16_t size = record->event.size;

		for (length = 0; length < sizeof(*record); length++) {
			if (length == size)
				continue;
			assert_int_equal(decode_copy(record, length), -EINVAL);
			/* Calls have a member at the end, or lack it. */
			if (record->event.type == MS_TYPE_CALL &&
			    (length == sizeof(struct ms_call) ||
			     length == sizeof(struct ms_split_call)))
				continue;
			record->event.size = length;
			assert_int_equal(decode_copy(record, length), -EINVAL);
			record->event.size = size;
		}
	}
}

static void test_a_wrong_size_member_is_refused(void **state)
{
	union record records[SAMPLES_MAX];
	size_t count = samples(records), i;
	uint32_t size;

	(void)state;
	for (i = 0; i < count; i++) {
		size_t length = records[i].event.size;

		for (size = 0; size <= UINT16_MAX; size++) {
			records[i].event.size = size;
			assert_int_equal(decode_copy(&records[i], length),
					 size == length ? 0 : -EINVAL);
		}
	}
}

static void test_types_out_of_range_are_refused(void **state)
{
	union record records[SAMPLES_MAX];
	size_t count = samples(records), i;
	uint32_t type;

	(void)state;
	for (i = 0; i < count; i++) {
		for (type = MS_TYPES_COUNT; type <= UINT16_MAX; type++) {
			records[i].event.type = type;
			assert_refused(&records[i]);
		}
	}
}

static void test_rows_out_of_range_are_refused(void **state)
{
	union record record = record_alloc("cudaMalloc", BLOCK, 1);
	union record merged = record;
	uint32_t row;

	(void)state;
	for (row = probe_count(); row <= UINT16_MAX; row++) {
		record.call.row = row;
		assert_refused(&record);
		merged.call.driver_row = row;
		if (row != MS_NO_ROW)
			assert_refused(&merged);
	}
}

static void test_directions_out_of_range_are_refused(void **state)
{
	union record record = record_copy("cudaMemcpy", 1, MS_DIRECTION_HTOD);
	int direction;

	(void)state;
	for (direction = 0; direction < 256; direction++) {
		record.call.direction = direction;
		if (direction < MS_DIRECTIONS_COUNT)
			assert_accepted(&record);
		else
			assert_refused(&record);
	}
}

static void test_a_driver_row_of_another_op_is_refused(void **state)
{
	union record record = record_alloc("cudaMalloc", BLOCK, 1);
	uint32_t row;

	(void)state;
	for (row = 0; row < probe_count(); row++) {
		if (probe_at(row)->layer != MS_LAYER_DRIVER)
			continue;
		record.call.driver_row = row;
		if (probe_at(row)->spec.op == MS_OP_ALLOC)
			assert_accepted(&record);
		else
			assert_refused(&record);
	}
}

static void test_no_call_waits_longer_than_it_takes(void **state)
{
	union record record = record_split(record_call("cuCtxSynchronize"), 100, 40, 60);

	(void)state;
	assert_accepted(&record);
	record.split.runnable_ns++;
	assert_refused(&record);
	record.split.runnable_ns = UINT64_MAX;
	assert_refused(&record);
	record.split.runnable_ns = 101;
	record.split.blocked_ns = 0;
	assert_refused(&record);
}

static void test_no_more_pages_lie_somewhere_than_were_asked_for(void **state)
{
	union record record = record_placement(MS_SPACE_PINNED, 1, 8);

	(void)state;
	assert_accepted(&record);
	record.placement.pages++;
	assert_refused(&record);
	record.placement.pages = 1;
	record.placement.space = MS_SPACES_COUNT;
	assert_refused(&record);
}

static void test_texts_of_limits_end(void **state)
{
	union record record = record_limit("drm/0000:65:00.0/vram", 4096, 8192);

	(void)state;
	assert_accepted(&record);
	record.limit.limit_path_bytes = MS_LIMIT_PATH_BYTES;
	assert_refused(&record);
	record.limit.limit_path_bytes = 1;
	record.limit.path[MS_LIMIT_PATH_BYTES - 1] = 'x';
	assert_refused(&record);
	record.limit.path[MS_LIMIT_PATH_BYTES - 1] = '\0';
	record.limit.region[MS_LIMIT_REGION_BYTES - 1] = 'x';
	assert_refused(&record);
}

static void test_texts_of_errors_of_devices_end(void **state)
{
	union record record = record_xid(79, "0000:65:00.0", 0, "");
	struct event event;

	(void)state;
	assert_int_equal(event_decode(&record, record.event.size, &event), 0);
	memset(record.xid.bdf, 'x', sizeof(record.xid.bdf));
	assert_int_equal(event_decode(&record, record.event.size, &event), -EINVAL);
	memset(record.xid.bdf, 0, sizeof(record.xid.bdf));
	memset(record.xid.text, 'x', sizeof(record.xid.text));
	assert_int_equal(event_decode(&record, record.event.size, &event), -EINVAL);
}

static void test_steps_of_budgets_are_known_ones(void **state)
{
	union record record = record_budget(MS_BUDGET_OFF, MS_BUDGET_ALL, 0);

	(void)state;
	assert_accepted(&record);
	record.budget.step = MS_BUDGET_STEPS;
	assert_refused(&record);
	record.budget.step = MS_BUDGET_ALL;
	record.budget.before = MS_BUDGET_STEPS;
	assert_refused(&record);
}

static void test_only_launches_are_chosen_by_chance(void **state)
{
	union record record = record_launch_sample("cudaLaunchKernel", 0, 1);

	(void)state;
	assert_accepted(&record);
	record.launch_sample.one_in = 0;
	assert_refused(&record);
	record = record_launch_sample("cuMemAlloc_v2", 1, 1);
	assert_refused(&record);
	record = record_launch_sample("cuGraphLaunch", 1, 1);
	assert_refused(&record);
	record.launch_sample.row = MS_NO_ROW;
	assert_refused(&record);
}

static void test_launch_rows_belong_into_launch_records_only(void **state)
{
	union record call = record_alloc("cuMemAlloc_v2", BLOCK, 1);
	union record launch = record_launch("cuLaunchKernel", 0x1234);
	uint16_t row = call.call.row;

	(void)state;
	call.call.row = launch.call.row;
	assert_refused(&call);
	launch.call.row = row;
	assert_refused(&launch);
}

static void test_what_is_more_than_a_number_is_not_counted(void **state)
{
	union record none = record_launches("cuLaunchKernel", 0x1234, 0);
	union record graph = record_launches("cuGraphLaunch", 0x1234, 1);
	union record alloc = record_launches("cuMemAlloc_v2", 0x1234, 1);
	union record copy = record_launches("cuMemcpyHtoD_v2", 0x1234, 1);

	(void)state;
	assert_refused(&none);
	assert_refused(&graph);
	assert_refused(&alloc);
	assert_accepted(&copy);
}

/* Each kind has a number of its own, and so have calls that were not tracked, or abandoned. */
static void test_accounts_are_of_something(void **state)
{
	union record record = record_account(MS_OP_ALLOC, 2, 1);
	int op, others = 0;

	(void)state;
	for (op = 0; op < 256; op++) {
		record.account.op = op;
		if (op < MS_OPS_COUNT)
			assert_accepted(&record);
		else if (op < MS_ACCOUNT_FREE_BEGIN)
			assert_refused(&record);
		else
			others += !decode_copy(&record, record.event.size);
	}
	assert_int_equal(others, MS_KINDS_COUNT - MS_OPS_COUNT + 2);
}

static void test_of_processes_that_cannot_be(void **state)
{
	union record record = record_of((1u << MS_PID_BITS) - 1, 3 * MS_START_NS, record_exit(0));

	(void)state;
	assert_accepted(&record);
	record.event.pid++;
	assert_refused(&record);
	record.event.pid = 7;
	record.event.start_ns++;
	assert_refused(&record);
	/* The number of a process says which it is. */
	assert_true(event_process_key(7, MS_START_NS) != event_process_key(8, MS_START_NS));
	assert_true(event_process_key((1u << MS_PID_BITS) - 1, 0) <
		    event_process_key(0, MS_START_NS));
	assert_true(event_process_key(0, UINT64_MAX / MS_START_NS * MS_START_NS) >> MS_PID_BITS ==
		    UINT64_MAX / MS_START_NS);
}

static void test_comm_must_be_terminated(void **state)
{
	enum ms_type type;

	(void)state;
	for (type = MS_TYPE_EXEC; type <= MS_TYPE_ATTACH; type++) {
		union record record = record_process(type, "fifteen letters", 0);

		assert_accepted(&record);
		record.process.comm[MS_COMM_BYTES - 1] = 'x';
		assert_refused(&record);
	}
}

/* Every value of every byte of every record: refused, or all promises hold. */
static void test_no_corrupted_byte_breaks_a_promise(void **state)
{
	union record records[SAMPLES_MAX];
	size_t count = samples(records), i, place;
	int value;

	(void)state;
	for (i = 0; i < count; i++) {
		size_t length = records[i].event.size;
		unsigned char *copy = malloc(length);

		memcpy(copy, &records[i], length);
		for (place = 0; place < length; place++) {
			for (value = 0; value < 256; value++) {
				struct event event;

				copy[place] = value;
				if (!event_decode(copy, length, &event))
					assert_promises(&event, copy, length);
			}
			copy[place] = records[i].bytes[place];
		}
		free(copy);
	}
}

/* Several at once, and random lengths: what a fuzzer would begin with. */
static void test_no_random_record_breaks_a_promise(void **state)
{
	union record records[SAMPLES_MAX];
	size_t count = samples(records), accepted = 0, i;
	uint64_t random = 9;
	int round;

	(void)state;
	for (round = 0; round < 200000; round++) {
		union record record = records[round % count];
		size_t length = record.event.size;
		struct event event;

		for (i = 0; i < 4; i++) {
			random = unit_random(random);
			record.bytes[(random >> 32) % length] = random;
		}
		if (event_decode(&record, length, &event))
			continue;
		assert_promises(&event, &record, length);
		accepted++;
	}
	assert_true(accepted > 1000);
}

static void test_success(void **state)
{
	struct ms_call call = { .known = MS_KNOWN_RESULT, .result = MS_CUDA_SUCCESS };

	(void)state;
	assert_true(event_succeeded(&call));
	call.result = 2;
	assert_false(event_succeeded(&call));
	call.known = 0;
	assert_true(event_succeeded(&call));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_decodes),
		cmocka_unit_test(test_every_type_has_a_name_of_its_own),
		cmocka_unit_test(test_whom_a_record_is_about),
		cmocka_unit_test(test_every_row_decodes),
		cmocka_unit_test(test_driver_probe_is_the_row_itself_or_the_merged_one),
		cmocka_unit_test(test_every_other_length_is_refused),
		cmocka_unit_test(test_a_wrong_size_member_is_refused),
		cmocka_unit_test(test_types_out_of_range_are_refused),
		cmocka_unit_test(test_rows_out_of_range_are_refused),
		cmocka_unit_test(test_directions_out_of_range_are_refused),
		cmocka_unit_test(test_a_driver_row_of_another_op_is_refused),
		cmocka_unit_test(test_no_call_waits_longer_than_it_takes),
		cmocka_unit_test(test_no_more_pages_lie_somewhere_than_were_asked_for),
		cmocka_unit_test(test_texts_of_limits_end),
		cmocka_unit_test(test_texts_of_errors_of_devices_end),
		cmocka_unit_test(test_steps_of_budgets_are_known_ones),
		cmocka_unit_test(test_only_launches_are_chosen_by_chance),
		cmocka_unit_test(test_launch_rows_belong_into_launch_records_only),
		cmocka_unit_test(test_what_is_more_than_a_number_is_not_counted),
		cmocka_unit_test(test_accounts_are_of_something),
		cmocka_unit_test(test_of_processes_that_cannot_be),
		cmocka_unit_test(test_comm_must_be_terminated),
		cmocka_unit_test(test_no_corrupted_byte_breaks_a_promise),
		cmocka_unit_test(test_no_random_record_breaks_a_promise),
		cmocka_unit_test(test_success),
	};

	return unit_run("event", tests);
}
