// SPDX-License-Identifier: BSD-2-Clause
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "event/event.h"
#include "symbols/frame_found.h"

#define ROOM 16384
#define MOST 2047 /* bytes of what is found */

static union {
	struct ms_frame_record record;
	char bytes[ROOM];
} frame;

static const char *text_of(int which)
{
	const char *text = frame.record.texts;

	while (which-- > 0)
		text += strlen(text) + 1;
	return text;
}

static void make(const char *function, const char *module)
{
	struct ms_frame_record *record = &frame.record;

	memset(&frame, 0, sizeof(frame));
	record->length = (uint32_t)snprintf(record->texts, ROOM - sizeof(*record), "%s%c%s%c%s%c%s",
					    function, 0, module, 0, "12ab", 0, "") +
			 1;
	record->event.size = (uint16_t)(sizeof(*record) + record->length);
	record->kind = MS_FRAME_NATIVE;
	record->id = 1;
	assert_int_equal(event_check_frame(record), 0);
}

/* Names of C++ may have thousands of bytes. */
static void test_what_the_recording_says_stays(void **state)
{
	const struct frame_found found = { .source = "a.c", .line = 7, .offset = 9 };
	char name[3001];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	make(name, "/app");
	frame.record.offset = 5;
	frame_found_put(&found, &frame.record, ROOM);
	assert_int_equal(event_check_frame(&frame.record), 0);
	assert_string_equal(text_of(MS_FRAME_FUNCTION), name);
	assert_string_equal(text_of(MS_FRAME_MODULE), "/app");
	assert_string_equal(text_of(MS_FRAME_SOURCE), "a.c");
	assert_int_equal(frame.record.line, 7);
	assert_int_equal(frame.record.offset, 5);
}

static void test_what_is_found_is_cut_after_a_character(void **state)
{
	static const char *const characters[] = { "n", "\xc3\xa9", "\xe2\x82\xac",
						  "\xf0\x9f\x98\x80" };
	char name[3000];
	size_t i, length;

	(void)state;
	for (i = 0; i < 4; i++) {
		const size_t bytes = i + 1;

		for (length = 0; length + bytes < sizeof(name); length += bytes)
			memcpy(name + length, characters[i], bytes);
		name[length] = '\0';
		make("", "/app");
		frame_found_put(&(struct frame_found){ .function = name, .offset = 3 },
				&frame.record, ROOM);
		assert_int_equal(strlen(text_of(MS_FRAME_FUNCTION)), MOST / bytes * bytes);
		assert_int_equal(frame.record.offset, 3);
	}
}

static void test_nothing_changes_where_there_is_no_room(void **state)
{
	const struct frame_found found = {
		.function = "f", .source = "a.c", .line = 7, .offset = 9
	};
	char module[MS_FRAME_TEXTS_MAX - 10];

	(void)state;
	memset(module, 'm', sizeof(module) - 1);
	module[sizeof(module) - 1] = '\0';
	make("", module);
	frame_found_put(&found, &frame.record, ROOM); /* more than a record may have */
	assert_string_equal(text_of(MS_FRAME_FUNCTION), "");
	make("", "/app");
	frame_found_put(&found, &frame.record, frame.record.event.size + 1);
	assert_string_equal(text_of(MS_FRAME_FUNCTION), "");
	assert_int_equal(frame.record.line, 0);
	assert_int_equal(frame.record.offset, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_recording_says_stays),
		cmocka_unit_test(test_what_is_found_is_cut_after_a_character),
		cmocka_unit_test(test_nothing_changes_where_there_is_no_room),
	};

	return cmocka_run_group_tests_name("what is found of a frame", tests, NULL, NULL);
}
