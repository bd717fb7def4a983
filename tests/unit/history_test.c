// SPDX-License-Identifier: BSD-2-Clause
/*
 * The history: what is summed up in it is what the records say.
 */
#include <signal.h>

#include "agent/history_events.h"
#include "agent/history_sampler.h"
#include "historied.h"
#include "history/reader.h"
#include "pipeline.h"
#include "record_modifiers.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull

/* ---- from records to rows -------------------------------------------------------------------- */

static uint64_t wall_step_ns; /* by which somebody has set the clock */

static uint64_t wall_offset(void)
{
	return WALL_S * SECOND_NS + wall_step_ns;
}

struct fixture {
	struct pipeline pipeline;
	struct history_sampler *sampler;
	struct history_database *database;
	uint64_t batches;
};

static void take(void *context, const struct string *bytes)
{
	struct fixture *fixture = context;
	struct history_batch batch;

	assert_int_equal(history_batch_parse(&batch, bytes->bytes, bytes->length), 0);
	assert_int_equal(history_database_put(fixture->database, &batch), 0);
	fixture->batches++;
}

static void begin(struct fixture *fixture)
{
	const struct history_sampler_options sampler = {
		.boot = "a boot", .wall_offset_ns = wall_offset, .take = take, .context = fixture
	};

	*fixture = (struct fixture){ .database = history_database_open(&options) };
	assert_non_null(fixture->database);
	fixture->pipeline.filter.ops = UINT32_MAX;
	assert_int_equal(state_follow_usage(&fixture->pipeline.state), 0);
	fixture->sampler = history_sampler_new(&sampler, 0);
	assert_non_null(fixture->sampler);
	pipeline_add_sink(&fixture->pipeline, history_sampler_sink(fixture->sampler));
}

static void end(struct fixture *fixture)
{
	history_sampler_free(fixture->sampler);
	history_database_close(fixture->database);
	state_fini(&fixture->pipeline.state);
}

static void feed(struct fixture *fixture, union record record)
{
	assert_int_equal(pipeline_feed(&fixture->pipeline, &record, record.event.size), 0);
	assert_int_equal(fixture->pipeline.refused, 0);
}

/* As they come: the beginning says what is freed, and the end that it was. */
static void feed_free(struct fixture *fixture, uint32_t pid, uint64_t start_ns, uint64_t ts_ns,
		      uint64_t addr)
{
	feed(fixture, record_at(ts_ns, record_of(pid, start_ns, record_free_begin(addr))));
	feed(fixture,
	     record_at(ts_ns, record_of(pid, start_ns, record_free("cuMemFree_v2", addr))));
}

/* Of a column of the memory of a process (0: of all), at a level. */
static uint64_t sum(const char *column, int level, uint32_t pid)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT sum(%s) FROM memory m JOIN process p ON p.id = m.process"
		 " WHERE level = %d AND (%u = 0 OR pid = %u)",
		 column, level, pid, pid);
	return ask(sql);
}

static uint64_t launches(int level, uint32_t pid)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(launches), 0) FROM activity a JOIN process p"
		 " ON p.id = a.process WHERE level = %d AND pid = %u",
		 level, pid);
	return ask(sql);
}

#define PROCESSES 3
#define BLOCKS 20

/* The same, counted by hand. */
struct raw {
	uint64_t allocs, alloc_bytes, frees, free_bytes, launches;
	uint64_t live, byte_ms, last_ms, most;
	uint64_t sizes[BLOCKS];
};

static void pass_time(struct raw *raw, uint64_t ms)
{
	raw->byte_ms += raw->live * (ms - raw->last_ms);
	raw->last_ms = ms;
}

static void do_something(struct fixture *fixture, struct raw *raw, uint32_t pid, uint64_t ms,
			 uint64_t random)
{
	const size_t block = random / 7 % BLOCKS;
	const uint64_t addr = 0x10000 * (block + 1), size = random / 1000 % 100000 + 1;
	union record record;

	pass_time(raw, ms);
	if (random % 5 == 0) {
		record = record_launch("cuLaunchKernel", 0x77);
		raw->launches++;
	} else if (raw->sizes[block]) {
		feed_free(fixture, pid, pid * SECOND_NS, ms * MS_NS, addr);
		raw->live -= raw->sizes[block];
		raw->free_bytes += raw->sizes[block];
		raw->sizes[block] = 0;
		raw->frees++;
		return;
	} else {
		record = record_alloc("cuMemAlloc_v2", addr, size);
		raw->live += size;
		raw->alloc_bytes += size;
		raw->sizes[block] = size;
		raw->allocs++;
	}
	raw->most = raw->live > raw->most ? raw->live : raw->most;
	feed(fixture, record_at(ms * MS_NS, record_of(pid, pid * SECOND_NS, record)));
}

static void check(const struct raw raws[PROCESSES])
{
	uint32_t i;
	int level;

	for (level = 0; level < HISTORY_LEVELS; level++)
		for (i = 0; i < PROCESSES; i++) {
			const uint32_t pid = 101 + i;

			assert_int_equal(sum("allocs", level, pid), raws[i].allocs);
			assert_int_equal(sum("alloc_bytes", level, pid), raws[i].alloc_bytes);
			assert_int_equal(sum("frees", level, pid), raws[i].frees);
			assert_int_equal(sum("free_bytes", level, pid), raws[i].free_bytes);
			assert_int_equal(sum("byte_ms", level, pid), raws[i].byte_ms);
			assert_int_equal(launches(level, pid), raws[i].launches);
		}
}

/* Rollups are what the records say, to the byte and the millisecond, at every level. */
static void rollups_are_the_records(void **unused)
{
	struct raw raws[PROCESSES] = { 0 };
	uint64_t random = 42, ms = 1000, i;
	struct fixture fixture;
	char sql[128];

	(void)unused;
	begin(&fixture);
	for (i = 0; i < 6000; i++) {
		const uint32_t which = (random = unit_random(random)) % PROCESSES;

		do_something(&fixture, &raws[which], 101 + which, ms, random = unit_random(random));
		/* At times, nothing happens for minutes. */
		random = unit_random(random);
		ms += random % 50 ? random % 1500 : random % 200000;
	}
	/* The last of them ends. */
	pass_time(&raws[2], ms);
	feed(&fixture, record_at(ms * MS_NS, record_of(103, 103 * SECOND_NS, record_exit(0))));
	raws[2].live = 0;
	for (i = 0; i < PROCESSES; i++)
		pass_time(&raws[i], ms + 5000);
	history_sampler_finish(fixture.sampler, (ms + 5000) * MS_NS);
	assert_int_equal(history_sampler_missed(fixture.sampler), 0);
	assert_true(fixture.batches > 1000);
	end(&fixture);
	check(raws);
	for (i = 0; i < HISTORY_LEVELS; i++) {
		snprintf(sql, sizeof(sql), "SELECT sum(ms) FROM span WHERE level = %d", (int)i);
		assert_int_equal(ask(sql), ms + 5000);
		snprintf(sql, sizeof(sql),
			 "SELECT max(max_bytes) FROM memory JOIN process ON id = process"
			 " WHERE level = %d AND pid = 101",
			 (int)i);
		assert_int_equal(ask(sql), raws[0].most);
	}
}

static const struct history_row *find(const struct history_usage *usage, uint64_t pid)
{
	size_t i;

	for (i = 0; i < usage->rows_count; i++)
		if (usage->rows[i].pid == pid)
			return &usage->rows[i];
	fail_msg("no row of process %llu", (unsigned long long)pid);
	return NULL;
}

static struct history_usage query(uint64_t from_s, uint64_t to_s, enum history_by by)
{
	const struct history_query asked = { .from_s = WALL_S + from_s,
					     .to_s = WALL_S + to_s,
					     .by = by,
					     .points = true,
					     .rows_pointed = 1000 };
	struct history_reader *reader;
	struct history_usage usage;

	assert_int_equal(history_reader_open(&reader, PATH), 0);
	assert_int_equal(history_reader_query(reader, &asked, &usage), 0);
	history_reader_close(reader);
	return usage;
}

/* Held while nothing was launched, in steps of ten seconds. */
static void what_is_idle(void **unused)
{
	struct fixture fixture;
	struct history_usage usage;
	const struct history_row *row;

	(void)unused;
	begin(&fixture);
	feed(&fixture, record_at(1 * SECOND_NS, record_alloc("cuMemAlloc_v2", 0x1000, 1000)));
	feed(&fixture, record_at(15 * SECOND_NS, record_launch("cuLaunchKernel", 0x77)));
	feed(&fixture, record_at(26 * SECOND_NS, record_alloc("cuMemAlloc_v2", 0x2000, 500)));
	feed_free(&fixture, RECORD_PID, RECORD_START_NS, 28 * SECOND_NS, 0x1000);
	feed(&fixture,
	     record_at(32 * SECOND_NS, record_failed(MS_CUDA_OUT_OF_MEMORY,
						     record_alloc("cuMemAlloc_v2", 0, 1 << 20))));
	history_sampler_finish(fixture.sampler, 40 * SECOND_NS);
	end(&fixture);
	usage = query(0, 40, HISTORY_BY_PROCESS);
	assert_int_equal(usage.level, HISTORY_10S);
	assert_int_equal(usage.observed_ms, 40000);
	row = find(&usage, RECORD_PID);

	/* 9 s and then 16 s of 1000 bytes, 2 s of 1500 and 12 s of 500 */
	assert_true(row->byte_ms == 25000 * 1000 + 2000 * 1500 + 12000 * 500);
	assert_true(row->idle_byte_ms == row->byte_ms - 10000 * 1000);
	assert_true(row->unknown_byte_ms == 0);
	assert_int_equal(row->peak_bytes, 1500);
	assert_int_equal(row->launches, 1);
	assert_int_equal(row->points_count, 4);
	assert_int_equal(row->points[0].mean_bytes, 900);
	assert_int_equal(row->points[1].mean_bytes, 1000);
	assert_int_equal(row->points[3].start_s, WALL_S + 30);
	assert_int_equal(row->points[3].max_bytes, 500);
	assert_int_equal(usage.events_count, 1);
	assert_int_equal(usage.events[0].ts_ms, (WALL_S + 32) * 1000);
	assert_int_equal(usage.events[0].pid, RECORD_PID);
	assert_int_equal(usage.events[0].bytes, 1 << 20);
	assert_string_equal(usage.events[0].what, "cuMemAlloc_v2");
	history_usage_fini(&usage);
	/* A part of it. */
	usage = query(10, 20, HISTORY_BY_USER);
	assert_int_equal(usage.rows_count, 1);
	assert_true(usage.rows[0].byte_ms == 10000 * 1000);
	assert_true(usage.rows[0].idle_byte_ms == 0);
	assert_int_equal(usage.events_count, 0);
	history_usage_fini(&usage);
}

/* While launches are not traced, it is not known whether there were any. */
static void what_may_be_idle(void **unused)
{
	union record budget = record_event(MS_TYPE_BUDGET, sizeof(struct ms_budget));
	struct fixture fixture;
	struct history_usage usage;

	(void)unused;
	begin(&fixture);
	budget.budget.step = MS_BUDGET_OFF;
	feed(&fixture, record_at(1 * SECOND_NS, record_alloc("cuMemAlloc_v2", 0x1000, 1000)));
	feed(&fixture, record_at(12 * SECOND_NS, budget));
	history_sampler_finish(fixture.sampler, 20 * SECOND_NS);
	end(&fixture);
	usage = query(0, 20, HISTORY_BY_PROCESS);
	assert_true(find(&usage, RECORD_PID)->idle_byte_ms == 9000 * 1000);
	assert_true(find(&usage, RECORD_PID)->unknown_byte_ms == 10000 * 1000);
	history_usage_fini(&usage);
}

/* Somebody sets the clock: what is at the same time twice is added up. */
static void the_clock_is_set(void **unused)
{
	const uint64_t ms = 100000, live = 1000;
	struct fixture fixture;
	int level;

	(void)unused;
	begin(&fixture);
	feed(&fixture, record_at(0, record_alloc("cuMemAlloc_v2", 0x1000, live)));
	feed(&fixture, record_at(30 * SECOND_NS, record_launch("cuLaunchKernel", 0x77)));
	wall_step_ns = -25 * SECOND_NS;
	feed(&fixture, record_at(60 * SECOND_NS, record_launch("cuLaunchKernel", 0x77)));
	wall_step_ns = 7000 * SECOND_NS + 12345;
	feed(&fixture, record_at(90 * SECOND_NS, record_launch("cuLaunchKernel", 0x77)));
	history_sampler_finish(fixture.sampler, ms * MS_NS);
	wall_step_ns = 0;
	end(&fixture);
	for (level = 0; level < HISTORY_LEVELS; level++) {
		assert_int_equal(sum("byte_ms", level, 0), live * ms);
		assert_int_equal(sum("ms", level, 0), ms);
		assert_int_equal(launches(level, RECORD_PID), 3);
	}
	assert_int_equal(ask("SELECT count(*) FROM span WHERE start % 10 <> 0"), 0);
}

/* What NVML says of devices, as far as it says it. */
static void devices_in_use(void **unused)
{
	union record other = record_device_memory("GPU-2", 5000);
	struct fixture fixture;
	struct history_usage usage;

	(void)unused;
	begin(&fixture);
	other.device.known = 0;
	feed(&fixture, record_at(1 * SECOND_NS, record_device_memory("GPU-1", 3000)));
	feed(&fixture, record_at(1 * SECOND_NS, other));
	feed(&fixture, record_at(11 * SECOND_NS, record_device_memory("GPU-1", 1000)));
	/* It says nothing more: from then on, what is in use is not known. */
	history_sampler_finish(fixture.sampler, 60 * SECOND_NS);
	end(&fixture);
	usage = query(0, 60, HISTORY_BY_DEVICE);
	assert_int_equal(usage.rows_count, 1);
	assert_string_equal(usage.rows[0].name, "GPU-1");
	assert_true(usage.rows[0].used_known);
	assert_int_equal(usage.rows[0].used_peak_bytes, 3000);
	assert_int_equal(usage.rows[0].used_ms, 29000);
	assert_true(usage.rows[0].used_byte_ms == 10000 * 3000 + 19000 * 1000);
	assert_true(usage.rows[0].byte_ms == 0);
	history_usage_fini(&usage);
}

/* Two processes, one after the other and both at once: only then is it a sum of two peaks. */
static void peaks_of_several(void **unused)
{
	struct fixture fixture;
	struct history_usage usage;
	union record other = record_of(7, SECOND_NS, record_alloc("cuMemAlloc_v2", 0x1000, 700));

	(void)unused;
	begin(&fixture);
	feed(&fixture, record_at(1 * SECOND_NS, record_alloc("cuMemAlloc_v2", 0x1000, 1000)));
	feed_free(&fixture, RECORD_PID, RECORD_START_NS, 2 * SECOND_NS, 0x1000);
	feed(&fixture, record_at(13 * SECOND_NS, record_alloc("cuMemAlloc_v2", 0x1000, 400)));
	feed_free(&fixture, RECORD_PID, RECORD_START_NS, 14 * SECOND_NS, 0x1000);
	feed(&fixture, record_at(15 * SECOND_NS, other));
	history_sampler_finish(fixture.sampler, 20 * SECOND_NS);
	end(&fixture);
	usage = query(0, 10, HISTORY_BY_USER);
	assert_int_equal(usage.rows[0].peak_bytes, 1000);
	assert_false(usage.rows[0].peak_is_sum);
	history_usage_fini(&usage);
	usage = query(10, 20, HISTORY_BY_USER);
	assert_int_equal(usage.rows[0].peak_bytes, 1100);
	assert_true(usage.rows[0].peak_is_sum);
	history_usage_fini(&usage);
	usage = query(10, 20, HISTORY_BY_PROCESS);
	assert_int_equal(find(&usage, 7)->peak_bytes, 700);
	assert_false(find(&usage, 7)->peak_is_sum);
	history_usage_fini(&usage);
}

/* All samples of a step count, and what was in use when it began does, too. */
static void samples_of_one_step(void **unused)
{
	struct fixture fixture;
	struct history_usage usage;
	int level;

	(void)unused;
	begin(&fixture);
	feed(&fixture, record_at(2 * SECOND_NS, record_device_memory("GPU-1", 5000)));
	feed(&fixture, record_at(6 * SECOND_NS, record_device_memory("GPU-1", 1000)));
	feed(&fixture, record_at(8 * SECOND_NS, record_device_memory("GPU-1", 1500)));
	feed(&fixture, record_at(12 * SECOND_NS, record_device_memory("GPU-1", 500)));
	history_sampler_finish(fixture.sampler, 20 * SECOND_NS);
	end(&fixture);
	usage = query(0, 10, HISTORY_BY_DEVICE);
	assert_int_equal(usage.rows[0].used_peak_bytes, 5000);
	assert_int_equal(usage.rows[0].used_ms, 8000);
	assert_true(usage.rows[0].used_byte_ms == 4000 * 5000 + 2000 * 1000 + 2000 * 1500);
	history_usage_fini(&usage);
	usage = query(10, 20, HISTORY_BY_DEVICE);
	assert_int_equal(usage.rows[0].used_peak_bytes, 1500);
	assert_true(usage.rows[0].used_byte_ms == 2000 * 1500 + 8000 * 500);
	history_usage_fini(&usage);
	for (level = 0; level < HISTORY_LEVELS; level++) {
		char sql[96];

		snprintf(sql, sizeof(sql),
			 "SELECT max(used_max_bytes) FROM device_memory WHERE level = %d", level);
		assert_int_equal(ask(sql), 5000);
	}
}

static uint64_t held_on(const char *key)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(sum(byte_ms), 0) FROM memory m JOIN device d ON d.id = m.device"
		 " WHERE level = 0 AND key LIKE '%s'",
		 key);
	return ask(sql);
}

/* As after an execve: from the end of that interval on, the memory is on the other one. */
static void a_number_becomes_another_device(void **unused)
{
	struct fixture fixture;

	(void)unused;
	begin(&fixture);
	feed(&fixture,
	     record_at(1 * SECOND_NS, record_device("cuDeviceGetUuid_v2", 0, "aaaaaaaaaaaaaaaa")));
	feed(&fixture,
	     record_at(2 * SECOND_NS, record_on(0, record_alloc("cuMemAlloc_v2", 0x1000, 1000))));
	feed(&fixture,
	     record_at(15 * SECOND_NS, record_device("cuDeviceGetUuid_v2", 0, "bbbbbbbbbbbbbbbb")));
	history_sampler_finish(fixture.sampler, 50 * SECOND_NS);
	end(&fixture);
	assert_int_equal(held_on("GPU-6161%"), 1000 * 18000);
	assert_int_equal(held_on("GPU-6262%"), 1000 * 30000);
	assert_int_equal(sum("allocs", HISTORY_10S, 0), 1);
}

/* So many different failures of one process leave rows for another. */
static void one_process_does_not_hide_others(void **unused)
{
	static struct history_events events;
	static struct process process = { .pid = 1, .start_ns = 1 };
	uint32_t i;

	(void)unused;
	for (i = 0; i < MS_SPACES_COUNT; i++)
		process.spaces[i].exit_bytes = 1;
	for (i = 1; i < 60; i++) {
		process.exit_status = i;
		history_events_exit(&events, &process, 1);
	}
	assert_int_equal(events.count, 16);
	assert_int_equal(events.missed, 59 - 16);
	process.pid = 2;
	history_events_exit(&events, &process, 1);
	assert_int_equal(events.count, 17);
}

/* What ended with memory, and records that were lost. */
static void events_are_rows(void **unused)
{
	union record loss = record_event(MS_TYPE_LOSS, sizeof(struct ms_loss));
	struct fixture fixture;
	struct history_usage usage;
	uint32_t i;

	(void)unused;
	begin(&fixture);
	feed(&fixture, record_at(1 * SECOND_NS, record_alloc("cuMemAlloc_v2", 0x1000, 1000)));
	loss.loss.op = MS_OP_ALLOC;
	loss.loss.lost = 3;
	feed(&fixture, record_at(2 * SECOND_NS, loss));
	feed(&fixture, record_at(3 * SECOND_NS, loss));
	for (i = 0; i < 2 * HISTORY_EVENTS; i++)
		feed(&fixture, record_at(4 * SECOND_NS, record_failed(MS_CUDA_OUT_OF_MEMORY,
								      record_alloc("cuMemAlloc_v2",
										   0, 1000 + i))));
	feed(&fixture, record_at(15 * SECOND_NS, record_exit(SIGKILL)));
	/* Holding nothing, and by itself. */
	feed(&fixture, record_at(16 * SECOND_NS,
				 record_of(7, SECOND_NS, record_alloc("cuMemAlloc_v2", 16, 1))));
	feed(&fixture, record_at(17 * SECOND_NS, record_of(7, SECOND_NS, record_exit(1 << 8))));
	history_sampler_finish(fixture.sampler, 20 * SECOND_NS);
	assert_int_equal(history_sampler_missed(fixture.sampler), 0);
	end(&fixture);
	usage = query(0, 20, HISTORY_BY_PROCESS);
	assert_int_equal(usage.events_count, 3);
	assert_string_equal(usage.events[0].kind, "lost");
	assert_string_equal(usage.events[0].what, "alloc");
	assert_int_equal(usage.events[0].count, 6);
	assert_string_equal(usage.events[1].kind, "oom");
	assert_int_equal(usage.events[1].count, 2 * HISTORY_EVENTS);
	assert_int_equal(usage.events[1].bytes, 1000 + 2 * HISTORY_EVENTS - 1);
	assert_string_equal(usage.events[2].kind, "killed");
	assert_string_equal(usage.events[2].what, "signal 9");
	assert_int_equal(usage.events[2].bytes, 1000);
	assert_int_equal(usage.events[2].pid, RECORD_PID);
	assert_int_equal(find(&usage, RECORD_PID)->inexact, HISTORY_MORE_OR_LESS);
	assert_int_equal(usage.events[2].inexact, HISTORY_MORE_OR_LESS);
	assert_int_equal(find(&usage, 7)->inexact, 0);
	history_usage_fini(&usage);
}

/* What it held before is not known, whatever else is lost, and whatever it executes afterwards. */
static void who_was_attached_to_late(void **unused)
{
	union record loss = record_event(MS_TYPE_LOSS, sizeof(struct ms_loss));
	union record late = record_process(MS_TYPE_ATTACH, "late", MS_ATTACH_RUNNING);
	union record allocated = record_alloc("cuMemAlloc_v2", 16, 1);
	struct fixture fixture;
	struct history_usage usage;

	(void)unused;
	begin(&fixture);
	loss.loss.op = MS_OP_ALLOC;
	loss.loss.lost = 3;
	feed(&fixture, record_at(1 * SECOND_NS, late));
	feed(&fixture, record_at(1 * SECOND_NS, allocated));
	feed(&fixture, record_at(1 * SECOND_NS, record_of(7, SECOND_NS, late)));
	feed(&fixture, record_at(1 * SECOND_NS, record_of(7, SECOND_NS, allocated)));
	feed(&fixture,
	     record_at(2 * SECOND_NS,
		       record_of(7, SECOND_NS, record_process(MS_TYPE_EXEC, "other", 0))));
	feed(&fixture, record_at(15 * SECOND_NS, loss));
	history_sampler_finish(fixture.sampler, 20 * SECOND_NS);
	end(&fixture);
	usage = query(0, 20, HISTORY_BY_PROCESS);
	assert_int_equal(find(&usage, 7)->inexact, HISTORY_HELD_BEFORE);
	assert_int_equal(find(&usage, RECORD_PID)->inexact,
			 HISTORY_HELD_BEFORE | HISTORY_MORE_OR_LESS);
	history_usage_fini(&usage);
	/* Of both together. */
	usage = query(0, 20, HISTORY_BY_USER);
	assert_int_equal(usage.rows_count, 1);
	assert_int_equal(usage.rows[0].inexact, HISTORY_HELD_BEFORE | HISTORY_MORE_OR_LESS);
	history_usage_fini(&usage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rollups_are_the_records),
		TEST(what_is_idle),
		TEST(what_may_be_idle),
		TEST(the_clock_is_set),
		TEST(devices_in_use),
		TEST(samples_of_one_step),
		TEST(peaks_of_several),
		TEST(events_are_rows),
		TEST(who_was_attached_to_late),
		TEST(a_number_becomes_another_device),
		TEST(one_process_does_not_hide_others),
	};

	return unit_run("history", tests);
}
