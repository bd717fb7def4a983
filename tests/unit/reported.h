/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording that is made step by step while a clock goes on, and the report on it.
 */
#ifndef MEMSCOPE_TESTS_REPORTED_H
#define MEMSCOPE_TESTS_REPORTED_H

#include "ledger/usage.h"
#include "report_dump.h"

#define MILLISECOND 1000000ull
#define SECOND (1000 * MILLISECOND)
#define BEGIN SECOND
#define MIB (1ull << 20)

static struct report_dump dump;
static uint64_t now_ns;

/* With what it says of itself: see struct report_dump. */
static inline void begin_as(const char *ops, const char *copies, const char *launches)
{
	report_dump_init(&dump, 7, "host-a");
	dump.ops = ops;
	dump.copies = copies;
	dump.launches = launches;
	now_ns = BEGIN;
	report_dump_segment(&dump, now_ns);
}

static inline void begin(void)
{
	begin_as(REPORT_DUMP_OPS, NULL, NULL);
}

/* A millisecond after the one before. */
static inline void add(union record record)
{
	now_ns += MILLISECOND;
	report_dump_add(&dump, record_at(now_ns, record));
}

/* On device 0. */
static inline union record alloc(const char *symbol, uint64_t addr, uint64_t size)
{
	return record_on(0, record_alloc(symbol, addr, size));
}

/* Takes two milliseconds. */
static inline void release(uint64_t addr)
{
	add(record_free_begin(addr));
	add(record_free("cuMemFree_v2", addr));
}

/* A block of its own that is in file 1, and not in file 0, which is read. */
static inline void add_elsewhere(union record record)
{
	report_dump_flush(&dump, now_ns);
	dump.files = 2;
	add(record);
	report_dump_flush(&dump, now_ns);
	dump.files = 1;
}

static inline struct report_reader end(void)
{
	struct report_reader reader = report_dump_reader();

	report_dump_end(&dump, now_ns + MILLISECOND);
	report_dump_read(&dump, &reader);
	return reader;
}

/* Of those files of it, which are one recording. */
static inline struct report_reader read_files(const size_t *files, size_t count)
{
	struct report_reader reader = report_dump_reader();
	struct dump_set set = { 0 };
	size_t i;

	for (i = 0; i < count; i++)
		report_dump_use(&dump, files[i], &set);
	assert_int_equal(set.count, 1);
	report_dump_read_set(&set, &reader);
	assert_int_equal(reader.report.count, 1);
	return reader;
}

/* Of the first files of two recordings. */
static inline void read_both(const struct report_dump *second, struct report_reader *reader)
{
	struct dump_set set = { 0 };

	report_dump_use(&dump, 0, &set);
	report_dump_use(second, 0, &set);
	report_dump_read_set(&set, reader);
	assert_int_equal(reader->report.count, 2);
}

static inline void done(struct report_reader *reader)
{
	report_reader_fini(reader);
	report_dump_fini(&dump);
}

/* What the process allocated by that function. */
static inline const struct usage_cell *cell_of(const struct report_process *process,
					       const char *symbol)
{
	size_t i;

	for (i = 0; i < process->cells_count; i++)
		if (!strcmp(probe_at(process->cells[i].row)->symbol, symbol))
			return &process->cells[i];
	fail_msg("nothing by %s", symbol);
	return NULL;
}

/* Of a line of the timeline. */
static inline uint64_t sum_of(const uint64_t *values)
{
	uint64_t total = 0;
	size_t i;

	for (i = 0; i < TIMELINE_BUCKETS; i++)
		total += values[i];
	return total;
}

static inline bool has(const struct string *string, const char *text)
{
	return memmem(string->bytes, string->length, text, strlen(text));
}

#endif /* MEMSCOPE_TESTS_REPORTED_H */
