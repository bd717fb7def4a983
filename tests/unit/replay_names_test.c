// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions that a compiler had put into others, found when a recording is read: frames of their
 * own, in each stack that has the frame.
 */
#include "records.h"

#include "ledger/checkpoint.h"
#include "store/replay_names.h"

#define PLAIN 1 /* frames */
#define HOLDS_TWO 2

struct fixture {
	struct replay_names names;
	uint32_t taken[8]; /* ids */
	size_t count;
	union record record; /* at the end, as it has no fixed size */
};

static size_t put(void *context, struct ms_frame_record *record, size_t room)
{
	(void)context;
	(void)room;
	return record->id == HOLDS_TWO ? 2 : 0;
}

static void put_inlined(void *context, size_t number, struct ms_frame_record *record, size_t room)
{
	(void)context;
	(void)room;
	record->line = 100 + (uint32_t)number;
	record->flags |= MS_FRAME_INLINED;
}

static const struct replay_namer namer = { put, put_inlined, NULL };

static int take(void *context)
{
	struct fixture *f = context;

	assert_int_equal(f->record.frame.line, 100 + f->count % 2);
	assert_int_equal(f->record.frame.flags, MS_FRAME_INLINED);
	f->taken[f->count++] = f->record.frame.id;
	return 0;
}

static void feed(struct fixture *f, union record record)
{
	f->record = record;
	assert_int_equal(replay_names_put(&f->names, &f->record, sizeof(f->record), take, f), 0);
}

static uint32_t frame_at(const struct fixture *f, size_t place)
{
	uint32_t id;

	memcpy(&id, f->record.stack.frames + place * sizeof(id), sizeof(id));
	return id;
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){ .names.namer = &namer };
	feed(f, record_frame(PLAIN, "plain", "/bin/program"));
	assert_int_equal(f->count, 0);
	feed(f, record_frame(HOLDS_TWO, "outer", "/bin/program"));
	assert_int_equal(f->count, 2);
	assert_int_equal(f->record.frame.id, HOLDS_TWO);
	assert_int_equal(f->record.frame.flags, 0);
}

static void test_stacks_get_them(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	/* PLAIN, HOLDS_TWO and 3, of which nothing is known. */
	feed(&f, record_stack(7, PLAIN, 3));
	assert_int_equal(f.record.stack.count, 5);
	assert_int_equal(event_check_stack(&f.record.stack), 0);
	assert_int_equal(frame_at(&f, 0), PLAIN);
	assert_int_equal(frame_at(&f, 1), f.taken[0]);
	assert_int_equal(frame_at(&f, 2), f.taken[1]);
	assert_int_equal(frame_at(&f, 3), HOLDS_TWO);
	assert_int_equal(frame_at(&f, 4), 3);
	assert_int_equal(f.record.stack.end, MS_STACK_END_COMPLETE);
	replay_names_fini(&f.names);
}

/* Also in the anchor of a segment, which tells what is known already. */
static void test_again(void **state)
{
	union record record = record_frame(HOLDS_TWO, "outer", "/bin/program");
	struct fixture f;

	(void)state;
	begin(&f);
	record.event.type = MS_CHECKPOINT_FRAME;
	feed(&f, record);
	assert_int_equal(f.count, 2);
	record = record_stack(7, HOLDS_TWO, 1);
	record.event.type = MS_CHECKPOINT_STACK;
	feed(&f, record);
	assert_int_equal(f.record.stack.count, 3);
	/* Behind a gap, the state is made of the anchor alone. */
	replay_names_forget(&f.names);
	record = record_frame(HOLDS_TWO, "outer", "/bin/program");
	record.event.type = MS_CHECKPOINT_FRAME;
	feed(&f, record);
	assert_int_equal(f.count, 4);
	assert_true(f.taken[2] < f.taken[1]);
	replay_names_fini(&f.names);
}

static void test_no_more_than_a_stack_may_have(void **state)
{
	const uint32_t id = HOLDS_TWO;
	union record record = record_stack(7, PLAIN, MS_STACK_MOST);
	struct fixture f;
	size_t i;

	(void)state;
	begin(&f);
	for (i = 0; i < MS_STACK_MOST; i++)
		memcpy(record.stack.frames + i * sizeof(id), &id, sizeof(id));
	feed(&f, record);
	assert_int_equal(f.record.stack.count, MS_STACK_MOST);
	assert_int_equal(f.record.stack.end, MS_STACK_END_DEPTH);
	assert_int_equal(frame_at(&f, MS_STACK_MOST - 1), f.taken[1]);
	replay_names_fini(&f.names);
}

static void test_without_a_namer(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	feed(&f, record_frame(HOLDS_TWO, "outer", "/bin/program"));
	feed(&f, record_stack(7, PLAIN, 3));
	assert_int_equal(f.record.stack.count, 3);
	replay_names_fini(&f.names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_get_them),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_no_more_than_a_stack_may_have),
		cmocka_unit_test(test_without_a_namer),
	};

	return unit_run("replay_names", tests);
}
