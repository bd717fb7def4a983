// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who holds more and more: the history says it of those, and of no others.
 */
#include "history/reader.h"
#include "render/document_text.h"
#include "render/history.h"

#include "historied.h" /* after these, in which its `options` is the name of parameters */

#define MIB (1ull << 20)

/* What it held at least in an interval, besides 1 MiB of another kind. */
typedef uint64_t (*held)(uint32_t interval);

static uint64_t leaks(uint32_t interval)
{
	/* What it works on comes and goes. */
	return (1000 + interval) * MIB;
}

static uint64_t leaks_a_little_of_much(uint32_t interval)
{
	return 40000 * MIB + interval * MIB;
}

static uint64_t leaks_little(uint32_t interval)
{
	return 100 * MIB + interval * MIB / 8;
}

static uint64_t warms_up(uint32_t interval)
{
	return (interval < 30 ? interval * 100 : 3000) * MIB;
}

static uint64_t comes_and_goes(uint32_t interval)
{
	return (100 + interval % 50 * 20) * MIB;
}

static uint64_t gives_back(uint32_t interval)
{
	return interval < 195 ? leaks(interval) : 100 * MIB;
}

static uint64_t leaks_late(uint32_t interval)
{
	return interval < 100 ? 1000 * MIB : (1000 + interval) * MIB;
}

#define INTERVALS 200u /* of ten seconds */

static const held processes[] = {
	leaks,      leaks_a_little_of_much, leaks_little, warms_up, comes_and_goes, gives_back,
	leaks_late,
};
#define PROCESSES (sizeof(processes) / sizeof(*processes))

/* Their PIDs are 1, 2, ... In the first interval and the last, they begin and end. */
static void write_history(uint32_t intervals)
{
	struct history_database *database = history_database_open(&options);
	uint32_t interval, i;

	assert_non_null(database);
	for (interval = 0; interval < intervals; interval++) {
		struct history_process names[PROCESSES];
		struct history_memory memory[2 * PROCESSES];
		const bool edge = interval == 0 || interval == intervals - 1;
		const struct history_batch batch = {
			.start_ms = (WALL_S + 10 * interval) * 1000,
			.ms = 10000,
			.boot = "a boot",
			.processes = names,
			.memory = memory,
			.processes_count = PROCESSES,
			.memory_count = 2 * PROCESSES,
		};

		for (i = 0; i < PROCESSES; i++) {
			const uint64_t least = processes[i](interval);

			names[i] = (struct history_process){ .pid = i + 1,
							     .name = "a <process>",
							     .user = "bob" };
			if (i == 0)
				memcpy(names[i].user, "amy", sizeof("amy"));
			memory[2 * i] = (struct history_memory){
				.process = i,
				.space = "device",
				.on_device = 1,
				.held = { 10000, edge ? 0 : least, least + 9000 * MIB,
					  least * 10000 },
			};
			memory[2 * i + 1] = (struct history_memory){
				.process = i,
				.space = "managed",
				.on_device = 1,
				.held = { 10000, MIB, MIB, MIB * 10000 },
			};
		}
		assert_int_equal(history_database_put(database, &batch), 0);
	}
	history_database_close(database);
}

static struct history_usage query(enum history_by by, uint32_t intervals)
{
	const struct history_query query = { .from_s = WALL_S,
					     .to_s = WALL_S + 10 * intervals,
					     .by = by };
	struct history_reader *reader;
	struct history_usage usage;

	assert_int_equal(history_reader_open(&reader, PATH), 0);
	assert_int_equal(history_reader_query(reader, &query, &usage), 0);
	history_reader_close(reader);
	return usage;
}

static bool rises(const struct history_usage *usage, held process, struct rise_found *rise)
{
	size_t i;

	for (i = 0; i < usage->rows_count; i++)
		if (processes[usage->rows[i].pid - 1] == process)
			return rise_find(&usage->rows[i].rise, rise);
	fail_msg("there is no such process");
	return false;
}

static void who_holds_more_and_more(void **unused)
{
	struct history_usage usage;
	struct rise_found rise;

	(void)unused;
	write_history(INTERVALS);
	usage = query(HISTORY_BY_PROCESS, INTERVALS);
	assert_int_equal(usage.rows_count, PROCESSES);
	assert_true(rises(&usage, leaks, &rise));
	/* Without the first interval and the last: 12 parts of 16, and one that is open. */
	assert_int_equal(rise.parts, 12);
	assert_int_equal(rise.higher, 11);
	assert_int_equal(rise.from_s, WALL_S + 10);
	assert_int_equal(rise.to_s, WALL_S + 10 + 12 * 16 * 10);
	assert_int_equal(rise.first_bytes, 1002 * MIB);
	assert_int_equal(rise.last_bytes, 1178 * MIB);
	assert_int_equal(rise_hourly(&rise), 360 * MIB);
	assert_false(rises(&usage, leaks_a_little_of_much, &rise));
	assert_false(rises(&usage, leaks_little, &rise));
	assert_false(rises(&usage, warms_up, &rise));
	assert_false(rises(&usage, comes_and_goes, &rise));
	assert_false(rises(&usage, leaks_late, &rise));
	history_usage_fini(&usage);
}

/* A process that comes when there is no row left for it, and its row's name is "(others)". */
static void of_others_nothing_is_said(void **unused)
{
	static struct history_process crowd[50000]; /* as many as have rows */
	static struct history_memory memory[50000];
	const struct history_process late = { .pid = 50001, .name = "late", .user = "bob" };
	struct history_database *database = history_database_open(&options);
	struct history_memory leak = { .space = "device", .on_device = 1 };
	struct history_batch batch = {
		.start_ms = WALL_S * 1000,
		.ms = 10000,
		.boot = "a boot",
		.processes = crowd,
		.memory = memory,
		.processes_count = 50000,
		.memory_count = 50000,
	};
	struct history_usage usage;
	struct rise_found rise;
	uint32_t i;

	(void)unused;
	assert_non_null(database);
	for (i = 0; i < 50000; i++) {
		crowd[i] = (struct history_process){ .pid = i + 1, .name = "a", .user = "bob" };
		memory[i] = leak;
		memory[i].process = i;
		memory[i].held = (struct history_held){ 10000, MIB, MIB, MIB * 10000 };
	}
	assert_int_equal(history_database_put(database, &batch), 0);
	batch.processes = &late;
	batch.memory = &leak;
	batch.processes_count = batch.memory_count = 1;
	for (i = 1; i < INTERVALS; i++) {
		batch.start_ms = (WALL_S + 10 * i) * 1000;
		leak.held = (struct history_held){ 10000, leaks(i), leaks(i), leaks(i) * 10000 };
		assert_int_equal(history_database_put(database, &batch), 0);
	}
	history_database_close(database);
	usage = query(HISTORY_BY_PROCESS, INTERVALS);
	assert_int_equal(usage.rows_count, 50001);
	assert_string_equal(usage.rows[0].name, HISTORY_OTHERS);
	assert_false(rise_find(&usage.rows[0].rise, &rise));
	history_usage_fini(&usage);
}

/* In the last five intervals, of a part that is not whole. */
static void what_is_given_back(void **unused)
{
	struct history_usage usage;
	struct rise_found rise;

	(void)unused;
	write_history(INTERVALS);
	usage = query(HISTORY_BY_PROCESS, 195);
	assert_true(rises(&usage, gives_back, &rise));
	history_usage_fini(&usage);
	usage = query(HISTORY_BY_PROCESS, INTERVALS);
	assert_false(rises(&usage, gives_back, &rise));
	history_usage_fini(&usage);
}

static void parts_grow_with_the_time(void **unused)
{
	struct rise rise = { 0 };
	struct rise_found found;
	uint64_t i;

	(void)unused;
	for (i = 0; i < 7; i++)
		rise_note(&rise, i, i + 1, i * RISE_BYTES);
	assert_false(rise_find(&rise, &found));
	rise_note(&rise, 7, 8, 7 * RISE_BYTES);
	assert_true(rise_find(&rise, &found));
	for (i = 8; i < 100000; i++) {
		rise_note(&rise, i, i + 1, i * RISE_BYTES);
		assert_true(rise_find(&rise, &found));
		/* No interval is forgotten, but for those of the part that is open. */
		assert_int_equal(found.first_bytes, 0);
		assert_true(found.parts >= RISE_PARTS / 2 && found.higher == found.parts - 1);
		assert_int_equal(found.to_s, (uint64_t)found.parts * rise.intervals);
		assert_int_equal(found.last_bytes, (found.to_s - rise.intervals) * RISE_BYTES);
	}
	/* Once, for one interval, it had given back everything. */
	rise_note(&rise, i, i + 1, 0);
	for (i++; i < 200000; i++)
		rise_note(&rise, i, i + 1, 100000 * RISE_BYTES);
	assert_false(rise_find(&rise, &found));
}

static void it_is_said(void **unused)
{
	static const enum history_by others[] = { HISTORY_BY_JOB, HISTORY_BY_USER };
	const struct history_query by_process = { .by = HISTORY_BY_PROCESS };
	const struct document_text_options plain = { .width = 200 };
	struct history_usage usage;
	struct history_view view = { .query = &by_process, .usage = &usage, .top = 20 };
	struct document_text text;
	struct string out = { 0 };
	size_t by;

	(void)unused;
	write_history(INTERVALS);
	usage = query(HISTORY_BY_PROCESS, INTERVALS);
	history_append_json(&out, &view);
	assert_non_null(strstr(out.bytes,
			       "\"findings\":[{\"finding\":\"growth\",\"process\":\"a <process>\","
			       "\"pid\":1,\"user\":\"amy\",\"place\":null,\"exact\":true,"));
	assert_non_null(strstr(out.bytes, "\"first_bytes\":1050673152,\"last_bytes\":1235222528,"
					  "\"bytes_per_hour\":377487360}],"));
	string_fini(&out);
	document_text_init(&text, &out, 20, &plain);
	history_append_text(&text.document, &view);
	document_text_fini(&text);
	assert_non_null(strstr(out.bytes, "Held more and more:\n"));
	assert_non_null(strstr(out.bytes, "+360 MiB"));
	string_fini(&out);
	history_usage_fini(&usage);
	/* Of users and jobs nothing is said, though one user has that process alone. */
	for (by = 0; by < sizeof(others) / sizeof(*others); by++) {
		usage = query(others[by], INTERVALS);
		history_append_json(&out, &view);
		assert_non_null(strstr(out.bytes, "\"findings\":[],"));
		string_fini(&out);
		history_usage_fini(&usage);
	}
}

/* Two are found, and one is shown. */
static void no_more_are_shown_than_asked_for(void **unused)
{
	const struct history_query by_process = { .by = HISTORY_BY_PROCESS };
	const struct document_text_options plain = { .width = 200 };
	struct history_usage usage;
	struct history_view view = { .query = &by_process, .usage = &usage, .top = 1 };
	struct document_text text;
	struct string out = { 0 };
	const char *table;

	(void)unused;
	write_history(INTERVALS);
	usage = query(HISTORY_BY_PROCESS, 195);
	document_text_init(&text, &out, view.top, &plain);
	history_append_text(&text.document, &view);
	document_text_fini(&text);
	string_append_char(&out, '\0');
	table = strstr(out.bytes, "Held more and more:\n");
	assert_non_null(table);
	assert_non_null(strstr(table, "  1 more.\n"));
	table = strstr(table, "a <process>");
	assert_non_null(table);
	assert_null(strstr(table + 1, "a <process>"));
	string_fini(&out);
	history_append_json(&out, &view);
	string_append_char(&out, '\0');
	table = strstr(out.bytes, "\"finding\":\"growth\"");
	assert_non_null(table);
	assert_null(strstr(table + 1, "\"finding\":\"growth\""));
	assert_non_null(strstr(table, "}],\"findings_left_out\":1,\"events\":"));
	string_fini(&out);
	view.top = 2;
	history_append_json(&out, &view);
	string_append_char(&out, '\0');
	assert_non_null(strstr(out.bytes, "}],\"findings_left_out\":0,\"events\":"));
	string_fini(&out);
	history_usage_fini(&usage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_holds_more_and_more),
		TEST(of_others_nothing_is_said),
		TEST(what_is_given_back),
		cmocka_unit_test(parts_grow_with_the_time),
		TEST(it_is_said),
		TEST(no_more_are_shown_than_asked_for),
	};

	return unit_run("history_rise", tests);
}
