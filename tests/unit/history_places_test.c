// SPDX-License-Identifier: BSD-2-Clause
/*
 * The history of processes that are moved from one container to another.
 */
#include <stdio.h>
#include <string.h>

#include "historied.h"

static void put_in(struct history_database *database, uint64_t interval, const char *user,
		   const char *container)
{
	struct history_process process = { .pid = 7, .start_ns = 10000000, .name = "moved" };
	const struct history_memory memory = { .space = "device",
					       .on_device = 1,
					       .held = { 10000, 1, 1, 10000 } };
	const struct history_device device = { .key = "GPU-1" };
	const struct history_batch batch = { .start_ms = (WALL_S + 10 * interval) * 1000,
					     .ms = 10000,
					     .boot = "a boot",
					     .devices = &device,
					     .processes = &process,
					     .memory = &memory,
					     .devices_count = 1,
					     .processes_count = 1,
					     .memory_count = 1 };

	strcpy(process.user, user);
	strcpy(process.container, container);
	assert_int_equal(history_database_put(database, &batch), 0);
}

/* Of each place what was held there, also by the writer that comes next. */
static void a_moved_process_has_a_row_for_each_place(void **unused)
{
	static const char containers[][4] = { "a", "a", "b", "", "a", "b" };
	struct history_database *database = history_database_open(&options);
	char name[4];
	uint64_t i;

	(void)unused;
	assert_non_null(database);
	/* Nothing is known of it yet: it is no other place. */
	put_in(database, 0, "", "");
	for (i = 0; i < sizeof(containers) / sizeof(*containers); i++) {
		put_in(database, i + 1, "ann", containers[i]);
		history_database_close(database);
		database = history_database_open(&options);
		assert_non_null(database);
	}
	assert_int_equal(ask("SELECT count(*) FROM process"), 3);
#define INTERVALS(of) \
	ask("SELECT sum(ms) / 10000 FROM memory JOIN process ON process.id = memory.process" \
	    " WHERE level = 0 AND container " of)
	assert_int_equal(INTERVALS("= 'a'"), 4);
	assert_int_equal(INTERVALS("= 'b'"), 2);
	assert_int_equal(INTERVALS("IS NULL"), 1);
	/* However often it is moved, there are not more than so many. */
	for (i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "%u", (unsigned int)i);
		put_in(database, i + 10, "ann", name);
	}
	assert_int_equal(ask("SELECT count(*) FROM process"), 16);
	assert_int_equal(INTERVALS("= '39'"), 28);
	history_database_close(database);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_moved_process_has_a_row_for_each_place),
	};

	return unit_run("history places", tests);
}
