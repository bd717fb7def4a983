// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds memory by user, container, pod, job and name, in a report.
 */
#include "reported.h"

#include "render/report_groups.h"
#include "render/report_md.h"

static union record of(uint32_t pid, union record record)
{
	record.event.pid = record.event.tid = pid;
	return record;
}

static void allocate(uint32_t pid, uint64_t mib)
{
	add(of(pid, alloc("cuMemAlloc_v2", (uint64_t)pid << 24, mib * MIB)));
}

static void allocate_more(uint32_t pid, uint64_t mib)
{
	add(of(pid, alloc("cuMemAlloc_v2", (uint64_t)pid << 24 | MIB, mib * MIB)));
}

static void release_of(uint32_t pid)
{
	add(of(pid, record_free_begin((uint64_t)pid << 24)));
	add(of(pid, record_free("cuMemFree_v2", (uint64_t)pid << 24)));
}

/*
 * bob: 10 MiB in one process and 20 in another, 30 at a time; then the first one ends. ann: 25,
 * later freed, and 24 after that. One process of which nothing is known: 1 MiB.
 */
static void record_users(void)
{
	begin();
	add(of(1, record_identity("user\0bob\0uid\0001000\0SLURM_JOB_ID\0007")));
	add(of(2, record_identity("user\0bob\0uid\0001000\0pod\0web-1\0namespace\0shop")));
	add(of(3, record_identity("user\0ann\0uid\0001001\0runtime\0docker\0container\0box")));
	allocate(1, 10);
	allocate(3, 25);
	allocate(2, 20);
	release_of(3);
	allocate(3, 24);
	allocate(4, 1);
	add(of(1, record_exit(0)));
}

static struct report_reader by(enum process_groups_by by)
{
	struct report_reader reader = report_dump_reader();

	reader.report.options.by = by;
	report_dump_end(&dump, now_ns + MILLISECOND);
	report_dump_read(&dump, &reader);
	return reader;
}

static const struct process_group *group_at(const struct report_reader *reader, size_t place)
{
	const struct process_groups *groups = &reader->report.recordings[0]->groups;

	assert_true(place < groups->count);
	return &groups->list[place];
}

static void assert_group(const struct report_reader *reader, size_t place, const char *name,
			 uint64_t processes, uint64_t live_mib, uint64_t peak_mib)
{
	const struct process_group *group = group_at(reader, place);

	if (name)
		assert_string_equal(group->name, name);
	else
		assert_null(group->name);
	assert_int_equal(group->processes, processes);
	assert_int_equal(group->live_bytes, live_mib * MIB);
	assert_int_equal(group->peak_bytes, peak_mib * MIB);
}

static void test_users(void **state)
{
	struct report_reader reader;

	(void)state;
	record_users();
	reader = by(PROCESS_GROUPS_USER);
	assert_group(&reader, 0, "bob", 2, 20, 30);
	assert_int_equal(group_at(&reader, 0)->running, 1);
	assert_int_equal(group_at(&reader, 0)->left_bytes, 10 * MIB);
	assert_group(&reader, 1, "ann", 1, 24, 25);
	assert_group(&reader, 2, NULL, 1, 1, 1);
	done(&reader);
}

static void test_others(void **state)
{
	struct report_reader reader;

	(void)state;
	record_users();
	reader = by(PROCESS_GROUPS_CONTAINER);
	/* Two processes are in none, together at most 30. */
	assert_group(&reader, 0, "", 2, 20, 30);
	assert_group(&reader, 1, "docker box", 1, 24, 25);
	done(&reader);

	record_users();
	reader = by(PROCESS_GROUPS_POD);
	assert_group(&reader, 0, "", 2, 24, 35);
	assert_group(&reader, 1, "shop/web-1", 1, 20, 20);
	done(&reader);

	record_users();
	reader = by(PROCESS_GROUPS_JOB);
	assert_group(&reader, 0, "", 2, 44, 45);
	assert_group(&reader, 1, "7", 1, 0, 10);
	done(&reader);
}

/* What a process held before it was known to be somebody's is that one's, too. */
static void test_known_later(void **state)
{
	struct report_reader reader;

	(void)state;
	begin();
	allocate(1, 10);
	add(of(1, record_identity("user\0bob\0uid\0001000")));
	allocate(2, 5);
	add(of(2, record_identity("user\0bob\0uid\0001000")));
	reader = by(PROCESS_GROUPS_USER);
	assert_int_equal(reader.report.recordings[0]->groups.count, 1);
	assert_group(&reader, 0, "bob", 2, 15, 15);
	done(&reader);
}

static void be_in(uint32_t pid, const char *container)
{
	char texts[32] = "container";
	const size_t length = strlen(container);

	memcpy(texts + sizeof("container"), container, length + 1);
	add(of(pid, record_identity_of(texts, sizeof("container") + length + 1)));
}

/* Each has what it held while it was there. */
static void test_moved(void **state)
{
	struct report_reader reader;

	(void)state;
	begin();
	be_in(1, "a");
	be_in(2, "a");
	be_in(3, "a");
	be_in(3, "c"); /* before it held anything: it was never of a's */
	allocate(1, 10);
	allocate(2, 1);
	allocate(3, 2);
	be_in(1, "b");
	allocate_more(1, 5);
	release_of(1);
	be_in(1, "a");
	be_in(1, "b");
	reader = by(PROCESS_GROUPS_CONTAINER);
	assert_int_equal(reader.report.recordings[0]->groups.count, 3);
	assert_group(&reader, 0, "b", 1, 5, 15);
	assert_int_equal(group_at(&reader, 0)->running, 1);
	assert_group(&reader, 1, "a", 2, 1, 11);
	assert_int_equal(group_at(&reader, 1)->running, 1);
	assert_group(&reader, 2, "c", 1, 2, 2);
	done(&reader);
}

/* It goes round, and once holds nothing where it has been before: it counts once everywhere. */
static void test_moved_round(void **state)
{
	struct report_reader reader;

	(void)state;
	begin();
	be_in(1, "a");
	allocate(1, 10);
	be_in(1, "b");
	be_in(1, "c");
	be_in(1, "a");
	release_of(1);
	be_in(1, "b");
	be_in(1, "c");
	allocate(1, 1);
	reader = by(PROCESS_GROUPS_CONTAINER);
	assert_int_equal(reader.report.recordings[0]->groups.count, 3);
	assert_group(&reader, 0, "a", 1, 0, 10);
	assert_group(&reader, 1, "b", 1, 0, 10);
	assert_group(&reader, 2, "c", 1, 1, 10);
	done(&reader);
}

/* What a program held that executes another one was its own. */
static void test_executed(void **state)
{
	struct report_reader reader;

	(void)state;
	begin();
	add(of(1, record_process(MS_TYPE_ATTACH, "first", 0)));
	allocate(1, 10);
	add(of(1, record_identity("script\0next.py\0exe\0/bin/second")));
	add(of(1, record_process(MS_TYPE_EXEC, "second", 0)));
	allocate(1, 3);
	reader = by(PROCESS_GROUPS_COMM);
	assert_int_equal(reader.report.recordings[0]->groups.count, 2);
	assert_group(&reader, 0, "first", 1, 0, 10);
	assert_group(&reader, 1, "second next.py", 1, 3, 3);
	done(&reader);
}

static void test_table(void **state)
{
	struct report_reader reader;
	struct string text = { 0 };

	(void)state;
	record_users();
	reader = by(PROCESS_GROUPS_USER);
	report_md(&text, &reader.report, true, false);
	assert_true(has(&text, "| User | Processes | At the end | Live at the end |"));
	assert_true(has(&text, "| bob | 2 | 1 | 20 MiB | 30 MiB |"));
	assert_true(has(&text, "| ? | 1 | 1 | 1 MiB | 1 MiB |"));
	string_fini(&text);
	done(&reader);
}

static void test_nothing_unasked(void **state)
{
	struct report_reader reader;
	struct string text = { 0 };

	(void)state;
	record_users();
	reader = by(PROCESS_GROUPS_NONE);
	report_md(&text, &reader.report, true, false);
	assert_int_equal(reader.report.recordings[0]->groups.count, 0);
	assert_false(has(&text, "| User |"));
	string_fini(&text);
	done(&reader);
}

static void know(union record record)
{
	record = record_at(now_ns, record);
	assert_int_equal(pipeline_feed(&dump.live, &record, record.event.size), 0);
}

/*
 * What ended in a part that is missing does not run at the end, also if so many ended since that
 * the next anchor does not have it; what it does have, runs.
 */
static void test_ended_where_a_part_is_missing(void **state)
{
	struct report_reader reader;

	(void)state;
	begin();
	add(of(1, record_identity("user\0bob\0uid\0001000")));
	add(of(2, record_identity("user\0bob\0uid\0001000")));
	allocate(1, 10);
	allocate(2, 20);
	add_elsewhere(of(1, record_exit(0)));
	state_fini(&dump.live.state);
	know(of(2, record_identity("user\0bob\0uid\0001000")));
	know(of(2, alloc("cuMemAlloc_v2", 2 << 24, 20 * MIB)));
	report_dump_segment(&dump, now_ns);
	allocate(3, 1);
	reader = by(PROCESS_GROUPS_USER);
	assert_group(&reader, 0, "bob", 2, 20, 30);
	assert_int_equal(group_at(&reader, 0)->running, 1);
	assert_group(&reader, 1, NULL, 1, 1, 1);
	assert_int_equal(group_at(&reader, 1)->running, 1);
	done(&reader);
}

/* The table ends; what does not fit in is a sum. */
static void test_too_many(void **state)
{
	struct report_reader reader;
	struct string text = { 0 };
	struct json json = { .out = &text };
	uint32_t i;
	char name[16];

	(void)state;
	begin();
	for (i = 1; i <= PROCESS_GROUPS_MAX + 9; i++) {
		char texts[32];
		int length = snprintf(name, sizeof(name), "user%u", i);

		memcpy(texts, "user", 5);
		memcpy(texts + 5, name, (size_t)length + 1);
		add(of(i, record_identity_of(texts, (size_t)length + 6)));
		allocate(i, 1);
		add(of(i, record_exit(0)));
	}
	reader = by(PROCESS_GROUPS_USER);
	assert_int_equal(reader.report.recordings[0]->groups.count, PROCESS_GROUPS_MAX);
	assert_true(group_at(&reader, 0)->others); /* it has most processes */
	assert_int_equal(group_at(&reader, 0)->processes, 10);
	report_groups_json(&json, reader.report.recordings[0]);
	assert_true(has(&text, "\"name\":null,\"known\":false,\"others\":true"));
	assert_true(has(&text, "\"name\":\"user9\",\"known\":true,\"others\":false"));
	string_fini(&text);
	done(&reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_known_later),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_moved_round),
		cmocka_unit_test(test_executed),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_nothing_unasked),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_ended_where_a_part_is_missing),
	};

	return unit_run("process groups", tests);
}
