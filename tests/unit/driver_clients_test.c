// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whose the objects of the driver are, if several processes ask for them; and when they end without
 * an ioctl.
 */
#include "ledger/limits.h"
#include "scenario.h"

#define CLIENT 0xc1d00001u
#define CHILD 4712
#define OTHER 4713

static const struct driver_objects *driver_of(const struct scenario *s)
{
	return &first_process(s)->driver;
}

static void assert_held(const struct scenario *s, uint64_t count, uint64_t bytes)
{
	assert_int_equal(driver_of(s)->device.live_count, count);
	assert_int_equal(driver_of(s)->device.live_bytes, bytes);
}

static union record client_record(uint32_t file)
{
	union record record = record_object(CLIENT, 0);

	record.object.client = record.object.parent = 0;
	record.object.class_number = MS_NV_ROOT_CLIENT;
	record.object.file = file;
	return record;
}

static union record asked_by(uint32_t pid, uint32_t object, uint64_t bytes, uint32_t file)
{
	union record record = record_object(object, bytes);

	record.event.pid = record.event.tid = pid;
	record.object.file = file;
	return record;
}

static uint64_t bytes_of(const struct scenario *s, uint32_t pid)
{
	const struct process *process = state_find(&s->state, pid, first_process(s)->start_ns);

	return process ? process->driver.device.live_bytes : 0;
}

/* For the driver and for NVML it is its maker's, whoever asks by the same file. */
static void test_what_a_child_asks_for_by_its_parents_file(void **state)
{
	struct scenario s = { 0 };
	union record record;

	(void)state;
	apply(&s, client_record(7));
	apply(&s, asked_by(RECORD_PID, 1, 10, 7));
	apply(&s, asked_by(CHILD, 2, 20, 7));
	assert_held(&s, 2, 30);
	record = asked_by(CHILD, 1, 0, 7);
	record.object.action = MS_OBJECT_FREE;
	apply(&s, record);
	assert_held(&s, 1, 20);
	assert_int_equal(bytes_of(&s, CHILD), 0);
	state_fini(&s.state);
}

/* By a file of its own, it says that it had the client's: what is in its memory, it can forge. */
static void test_nobody_disturbs_the_account_of_another(void **state)
{
	struct scenario s = { 0 };
	union record record;
	uint32_t file;

	(void)state;
	apply(&s, client_record(7));
	apply(&s, asked_by(RECORD_PID, 1, 10, 7));
	for (file = 0; file < 10; file += 9) {
		apply(&s, asked_by(CHILD, 2, 20, file));
		assert_held(&s, 1, 10);
		assert_int_equal(bytes_of(&s, CHILD), 20);
		record = asked_by(CHILD, CLIENT, 0, file);
		record.object.action = MS_OBJECT_FREE;
		apply(&s, record);
		assert_held(&s, 1, 10);
		assert_int_equal(bytes_of(&s, CHILD), 0);
	}
	state_fini(&s.state);
}

static union record freed_by(uint32_t pid, uint32_t object, uint32_t file)
{
	union record record = asked_by(pid, object, 0, file);

	record.object.action = MS_OBJECT_FREE;
	return record;
}

/* Neither its free by another's own file, nor one made with the same handle by it. */
static void test_nobody_takes_the_client_of_another(void **state)
{
	struct scenario s = { 0 };
	union record record = client_record(9);

	(void)state;
	record.event.pid = record.event.tid = OTHER;
	apply(&s, client_record(7));
	apply(&s, asked_by(RECORD_PID, 1, 10, 7));
	apply(&s, asked_by(RECORD_PID, 2, 20, 7));
	apply(&s, freed_by(OTHER, CLIENT, 9));
	apply(&s, freed_by(CHILD, 1, 7));
	assert_held(&s, 1, 20);
	apply(&s, record);
	apply(&s, freed_by(CHILD, 2, 7));
	assert_held(&s, 0, 0);
	state_fini(&s.state);
}

static union record ends(uint16_t type, uint32_t pid)
{
	union record record = record_process(type, "other", 0);

	record.event.pid = record.event.tid = pid;
	return record;
}

static union record closes(void)
{
	union record record = record_object(0, 0);

	record.object.action = MS_OBJECT_CLOSED;
	return record;
}

static void test_clients_end_with_their_maker(void **state)
{
	struct scenario s = { 0 };
	uint32_t end, i;

	(void)state;
	for (end = 0; end < 3; end++) {
		for (i = 1; i <= 100; i++)
			apply(&s, client_record(i));
		assert_int_equal(s.state.driver_clients.owners.count, 100);
		apply(&s, end == 0 ? closes() :
			  end == 1 ? ends(MS_TYPE_EXEC, RECORD_PID) :
				     ends(MS_TYPE_EXIT, RECORD_PID));
		assert_int_equal(s.state.driver_clients.owners.count, 0);
	}
	state_fini(&s.state);
}

/* NVML still has what its child asks for by its file in its place. */
static void test_a_client_that_a_child_uses_outlives_its_makers_program(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, client_record(7));
	apply(&s, client_record(8));
	apply(&s, asked_by(CHILD, 1, 10, 7));
	apply(&s, ends(MS_TYPE_EXEC, RECORD_PID));
	assert_int_equal(s.state.driver_clients.owners.count, 1);
	apply(&s, asked_by(CHILD, 2, 20, 7));
	assert_held(&s, 1, 20);
	apply(&s, ends(MS_TYPE_EXIT, RECORD_PID));
	assert_int_equal(s.state.driver_clients.owners.count, 0);
	assert_int_equal(s.state.driver_clients.shared.count, 0);
	apply(&s, asked_by(CHILD, 3, 30, 7));
	assert_int_equal(bytes_of(&s, CHILD), 30);
	state_fini(&s.state);
}

static void test_clients_beyond_the_limit_are_counted(void **state)
{
	struct scenario s = { 0 };
	uint32_t i;

	(void)state;
	for (i = 1; i <= LIMIT_DRIVER_CLIENTS + 3; i++)
		apply(&s, client_record(i));
	apply(&s, client_record(1));
	assert_int_equal(first_process(&s)->counters[COUNTER_OTHER_DRIVER_OBJECTS], 3);
	state_fini(&s.state);
}

static void test_files_are_closed(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, client_record(7));
	apply(&s, asked_by(RECORD_PID, 1, 10, 7));
	apply(&s, asked_by(RECORD_PID, 2, 20, 7));
	apply(&s, closes());
	assert_held(&s, 0, 0);
	assert_int_equal(driver_of(&s)->device.peak_bytes, 30);
	state_fini(&s.state);
}

static void test_what_was_missed_is_from_before(void **state)
{
	struct scenario s = { 0 };
	union record record = record_object(0, 0);

	(void)state;
	record.object.action = MS_OBJECT_MISSED;
	record.event.ts_ns = 77;
	apply(&s, record);
	assert_int_equal(driver_of(&s)->missed_ns, 77);
	assert_false(driver_of(&s)->seen);
	apply(&s, record_process(MS_TYPE_EXEC, "other", 0));
	assert_int_equal(driver_of(&s)->missed_ns, 0);
	state_fini(&s.state);
}

/* What was made by a file ends when that is closed; all that was made by others goes on. */
static void test_one_file_is_closed(void **state)
{
	struct scenario s = { 0 };
	union record record;

	(void)state;
	apply(&s, client_record(7));
	apply(&s, asked_by(RECORD_PID, 1, 10, 7));
	record = client_record(8);
	record.object.object = CLIENT + 1;
	apply(&s, record);
	record = asked_by(RECORD_PID, 2, 20, 8);
	record.object.client = CLIENT + 1;
	apply(&s, record);
	assert_held(&s, 2, 30);
	record = asked_by(RECORD_PID, 0, 0, 9);
	record.object.action = MS_OBJECT_CLOSED;
	apply(&s, record);
	assert_held(&s, 2, 30);
	record.object.file = 7;
	apply(&s, record);
	assert_held(&s, 1, 20);
	apply(&s, record);
	assert_held(&s, 1, 20);
	/* A later client of that name is the asker's again. */
	apply(&s, asked_by(CHILD, 3, 40, 7));
	assert_int_equal(bytes_of(&s, CHILD), 40);
	assert_held(&s, 1, 20);
	state_fini(&s.state);
}

static union record dup_by_a_child(void)
{
	union record record = asked_by(CHILD, 60, 0, 0);

	record.object.action = MS_OBJECT_DUP;
	record.object.class_number = 0;
	record.object.source_client = CLIENT + 1;
	record.object.source_object = 1;
	return record;
}

static struct process *find(const struct scenario *s, uint32_t pid)
{
	size_t i;

	for (i = 0; s->state.processes[i]->pid != pid; i++)
		assert_true(i + 1 < s->state.processes_count);
	return s->state.processes[i];
}

static void give_memory_to_another(struct scenario *s)
{
	union record record = asked_by(OTHER, 1, 10, 0);

	record.object.client = CLIENT + 1;
	apply(s, record);
}

/* For a client of its parent's: the name is the child's, and ends with the child's free. */
static void test_a_name_that_a_child_gives_by_its_parents_file(void **state)
{
	struct scenario s = { 0 };

	(void)state;
	apply(&s, client_record(7));
	apply(&s, asked_by(RECORD_PID, 1, 20, 7));
	give_memory_to_another(&s);
	apply(&s, dup_by_a_child());
	assert_int_equal(find(&s, CHILD)->driver.shared.live_bytes, 10);
	apply(&s, freed_by(CHILD, 60, 7));
	assert_int_equal(find(&s, CHILD)->driver.shared.live_bytes, 0);
	assert_held(&s, 1, 20);
	state_fini(&s.state);
}

static union record passed_by_file(uint32_t pid, uint16_t action, uint32_t object, uint32_t file)
{
	union record record = asked_by(pid, object, 0, 0);

	record.object.action = action;
	record.object.class_number = 0;
	record.object.source_client = file;
	return record;
}

/* No ioctl says that they are closed: the newest are remembered. */
static void test_files_by_which_objects_go(void **state)
{
	struct scenario s = { 0 };
	const struct driver_objects *other;
	uint32_t i;

	(void)state;
	apply(&s, record_object(1, 1000));
	for (i = 1; i <= LIMIT_PASSED_FILES + 1; i++)
		apply(&s, passed_by_file(RECORD_PID, MS_OBJECT_EXPORT, 1, i));
	assert_int_equal(s.state.driver_clients.passed_bytes.count, LIMIT_PASSED_FILES);
	assert_int_equal(s.state.driver_clients.passed_by.count, LIMIT_PASSED_FILES);
	apply(&s, passed_by_file(OTHER, MS_OBJECT_IMPORT, 7, 1));
	other = &state_find(&s.state, OTHER, first_process(&s)->start_ns)->driver;
	assert_int_equal(other->shared.live_bytes, 0);
	apply(&s, passed_by_file(OTHER, MS_OBJECT_IMPORT, 8, 2));
	apply(&s, passed_by_file(OTHER, MS_OBJECT_IMPORT, 9, LIMIT_PASSED_FILES + 1));
	assert_int_equal(other->shared.live_bytes, 2000);
	state_fini(&s.state);
}

/*
 * Then it is said that the account is not exact: that of the process that asked, and of any that
 * made clients by the file, for one of which it may have been.
 */
static void test_ioctls_that_could_not_be_read(void **state)
{
	union record unread = record_object(0, 0), client;
	struct scenario s = { 0 };

	(void)state;
	apply(&s, client_record(7));
	apply(&s, asked_by(RECORD_PID, 1, 10, 7));
	assert_false(process_counters_are_inexact(first_process(&s)->counters));
	unread.object.action = MS_OBJECT_UNREAD;
	unread.object.file = 8;
	apply(&s, unread);
	unread.event.pid = unread.event.tid = CHILD;
	apply(&s, unread);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNREAD_IOCTLS], 1);
	/* Once, however many clients there are. */
	client = client_record(7);
	client.object.object = CLIENT + 1;
	apply(&s, client);
	unread.object.file = 7;
	apply(&s, unread);
	assert_held(&s, 1, 10);
	assert_int_equal(first_process(&s)->counters[COUNTER_UNREAD_IOCTLS], 2);
	assert_true(process_counters_are_inexact(first_process(&s)->counters));
	assert_int_equal(state_find(&s.state, CHILD, first_process(&s)->start_ns)
				 ->counters[COUNTER_UNREAD_IOCTLS],
			 2);
	state_fini(&s.state);
}

/* What looks through all processes or all clients can be asked for too often. */
static void test_work_that_is_too_much(void **state)
{
	struct scenario s = { 0 };
	union record record;

	(void)state;
	apply(&s, client_record(7));
	apply(&s, asked_by(RECORD_PID, 1, 20, 7));
	give_memory_to_another(&s);
	apply(&s, asked_by(CHILD, 2, 0, 0));
	find(&s, CHILD)->effort = UINT32_MAX;
	apply(&s, dup_by_a_child());
	assert_int_equal(find(&s, CHILD)->driver.shared.live_count, 0);
	assert_int_equal(find(&s, CHILD)->counters[COUNTER_OTHER_DRIVER_OBJECTS], 1);
	record = asked_by(CHILD, 0, 0, 7);
	record.object.action = MS_OBJECT_CLOSED;
	apply(&s, record);
	assert_held(&s, 1, 20);
	assert_int_equal(find(&s, CHILD)->counters[COUNTER_OTHER_DRIVER_OBJECTS], 1);
	assert_int_equal(find(&s, CHILD)->counters[COUNTER_UNFOLLOWED_FILES], 1);
	assert_true(process_counters_are_inexact(find(&s, CHILD)->counters));
	find(&s, CHILD)->effort = 0;
	apply(&s, record);
	assert_held(&s, 0, 0);
	state_fini(&s.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_child_asks_for_by_its_parents_file),
		cmocka_unit_test(test_nobody_disturbs_the_account_of_another),
		cmocka_unit_test(test_nobody_takes_the_client_of_another),
		cmocka_unit_test(test_clients_end_with_their_maker),
		cmocka_unit_test(test_a_client_that_a_child_uses_outlives_its_makers_program),
		cmocka_unit_test(test_clients_beyond_the_limit_are_counted),
		cmocka_unit_test(test_files_are_closed),
		cmocka_unit_test(test_what_was_missed_is_from_before),
		cmocka_unit_test(test_one_file_is_closed),
		cmocka_unit_test(test_a_name_that_a_child_gives_by_its_parents_file),
		cmocka_unit_test(test_files_by_which_objects_go),
		cmocka_unit_test(test_ioctls_that_could_not_be_read),
		cmocka_unit_test(test_work_that_is_too_much),
	};

	return cmocka_run_group_tests_name("clients of the driver", tests, NULL, NULL);
}
