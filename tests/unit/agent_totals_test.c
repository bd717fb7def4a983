// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the agent's answers are made of: sums that the ledger keeps, and no allocation, so that an
 * answer takes as long with a million of them as with one.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/answers.h"
#include "agent/books.h"
#include "agent/budget.h"
#include "agent/history_writer.h"
#include "agent/who_json.h"
#include "records.h"

#define BLOCKS 1000
#define BLOCK_BYTES 4096
#define EVERYBODY REQUEST_EVERYBODY

/* This test has no budget and no history, which would bring the whole capture along. */
enum ms_budget_step budget_step(const struct budget *budget, const struct cost *cost)
{
	(void)budget;
	(void)cost;
	return MS_BUDGET_ALL;
}

struct history_counts history_writer_counts(const struct history_writer *writer)
{
	(void)writer;
	return (struct history_counts){ 0 };
}

static void feed(struct pipeline *pipeline, union record record)
{
	static uint64_t now_ns;

	record.event.ts_ns = now_ns += 100;
	assert_int_equal(pipeline_feed(pipeline, &record, record.event.size), 0);
}

/* One context, and blocks in it from two places. */
static struct books *make(struct pipeline *pipeline)
{
	const struct books_options options = { .host = "a",
					       .kernel = "b",
					       .hardware = "c",
					       .captured_ops = UINT32_MAX,
					       .most_series = 1000 };
	struct books *books = books_new(pipeline, &options);
	const struct books_outside outside = { 0 };
	uint64_t i;

	assert_non_null(books);
	feed(pipeline, record_context("cuCtxCreate_v2", 0x10, 0));
	feed(pipeline, record_frame(1, "main", "program"));
	feed(pipeline, record_stack(1, 1, 1));
	for (i = 0; i < BLOCKS; i++)
		feed(pipeline,
		     record_called_from(i % 2 ? 1 : 0,
					record_alloc("cuMemAlloc_v2", 0x7000000 + i * BLOCK_BYTES,
						     BLOCK_BYTES)));
	books_note(books, &outside);
	return books;
}

/* An answer that looks at a block ends the test here. */
static void take_blocks_away(struct state *state, struct allocation *blocks[LEDGERS_COUNT])
{
	struct ledger *ledgers = state->processes[0]->ledgers;
	size_t i, count = 0;

	assert_int_equal(state->processes_count, 1);
	for (i = 0; i < LEDGERS_COUNT; i++) {
		count += ledgers[i].count;
		blocks[i] = ledgers[i].entries;
		ledgers[i].entries = NULL;
	}
	assert_int_equal(count, BLOCKS);
}

static void give_blocks_back(struct state *state, struct allocation *blocks[LEDGERS_COUNT])
{
	size_t i;

	for (i = 0; i < LEDGERS_COUNT; i++)
		state->processes[0]->ledgers[i].entries = blocks[i];
}

static void answers_are_made_of_sums(void **unused)
{
	static struct pipeline pipeline;
	struct allocation *blocks[LEDGERS_COUNT];
	struct books *books = make(&pipeline);
	const struct answers_source source = { .books = books, .host = "a" };
	struct string who = { 0 };
	char expected[200];

	(void)unused;
	take_blocks_away(&pipeline.state, blocks);
	assert_int_equal(books_close(books, EVERYBODY), 0);
	who_json_append(&who, &source);
	openmetrics_add(books_series(books), books_report(books));
	give_blocks_back(&pipeline.state, blocks);
	string_append_char(&who, '\0');
	assert_false(who.failed);
	snprintf(expected, sizeof(expected),
		 "\"device_bytes\":%d,\"peak_live_bytes\":%d,\"spaces\":[{\"space\":\"device\","
		 "\"live_bytes\":%d,\"live_allocations\":%d,",
		 BLOCKS * BLOCK_BYTES, BLOCKS * BLOCK_BYTES, BLOCKS * BLOCK_BYTES, BLOCKS);
	assert_non_null(strstr(who.bytes, expected));
	string_fini(&who);
	books_free(books);
	state_fini(&pipeline.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_made_of_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
