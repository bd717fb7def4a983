// SPDX-License-Identifier: BSD-2-Clause
/*
 * Records with texts or lists behind them: names, stacks and their frames.
 */
#include "decoded.h"

static void test_stacks_have_as_many_frames_as_they_say(void **state)
{
	union record record = record_stack(1, 1, 3);

	(void)state;
	record.stack.count = 4;
	assert_refused(&record);
	record.stack.count = 3;
	record.stack.form = MS_STACK_ADDRESSES;
	assert_refused(&record);
	record.event.size = sizeof(struct ms_stack) + 3 * sizeof(struct ms_stack_frame);
	assert_accepted(&record);
	record.stack.form = MS_STACK_FORMS_COUNT;
	assert_refused(&record);
	record = record_stack(0, 1, 3);
	assert_refused(&record);
	record = record_stack(1, 1, 3);
	record.stack.end = MS_STACK_ENDS_COUNT;
	assert_refused(&record);
	record = record_stack(1, 1, MS_STACK_MOST + 1);
	assert_refused(&record);
}

static void test_frames_have_all_texts(void **state)
{
	union record record = record_frame(1, "f", "/lib/g.so");

	(void)state;
	record.frame.texts[record.frame.length - 1] = 'x'; /* the last one is not terminated */
	assert_refused(&record);
	record = record_frame(1, "f", "/lib/g.so");
	record.frame.length--;
	assert_refused(&record);
	record = record_frame(1, "f", "/lib/g.so");
	record.frame.kind = MS_FRAME_KINDS_COUNT;
	assert_refused(&record);
	record = record_frame(0, "f", "/lib/g.so");
	assert_refused(&record);
}

static void test_names_must_be_terminated(void **state)
{
	union record record = record_name(0x1234, "kernel");

	(void)state;
	record.bytes[record.event.size - 1] = 'x';
	assert_refused(&record);
}

static void test_names_must_be_as_long_as_they_say(void **state)
{
	union record record = record_name(0x1234, "kernel");
	uint32_t right = record.name.length, length;

	(void)state;
	for (length = 0; length < 2000; length++) {
		record.name.length = length;
		if (length != right)
			assert_refused(&record);
	}
	record.name.length = UINT32_MAX;
	assert_refused(&record);
	record.name.length = 0u - (uint32_t)sizeof(struct ms_name);
	assert_refused(&record);
}

static void test_the_longest_name_decodes_and_a_longer_one_does_not(void **state)
{
	char text[MS_NAME_BYTES];
	union record record;

	(void)state;
	memset(text, 'k', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	record = record_name(0x1234, text);
	assert_accepted(&record);
	record.name.length++;
	record.event.size++;
	assert_refused(&record);
}

static void test_unread_and_empty_names_decode(void **state)
{
	union record unread = record_event(MS_TYPE_NAME, sizeof(struct ms_name));
	union record empty = record_name(0x1234, "");

	(void)state;
	assert_accepted(&unread);
	assert_accepted(&empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_have_as_many_frames_as_they_say),
		cmocka_unit_test(test_frames_have_all_texts),
		cmocka_unit_test(test_names_must_be_terminated),
		cmocka_unit_test(test_names_must_be_as_long_as_they_say),
		cmocka_unit_test(test_the_longest_name_decodes_and_a_longer_one_does_not),
		cmocka_unit_test(test_unread_and_empty_names_decode),
	};

	return unit_run("events with texts", tests);
}
