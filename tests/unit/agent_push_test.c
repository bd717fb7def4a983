// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pushing metrics: where to, and which batches are kept when they cannot be sent.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "agent/push_queue.h"
#include "agent/push_target.h"

static void targets_have_a_path(void **unused)
{
	static const char *const urls[][2] = {
		{ "http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics" },
		{ "http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/metrics" },
		{ "https://[::1]", "https://[::1]/v1/metrics" },
		{ "http://collector/api/v1/otlp?tenant=a",
		  "http://collector/api/v1/otlp?tenant=a" },
		{ "http://collector/a@b", "http://collector/a@b" },
	};
	struct push_target target;
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
		assert_null(push_target_parse(&target, PUSH_OTLP, urls[i][0]));
		assert_string_equal(target.url, urls[i][1]);
		assert_string_equal(target.socket, "");
	}
	assert_null(push_target_parse(&target, PUSH_OTLP, "unix:/run/otel.sock"));
	assert_string_equal(target.socket, "/run/otel.sock");
	assert_string_equal(target.url, "http://localhost/v1/metrics");
}

static void what_is_no_target(void **unused)
{
	static const char *const wrong[] = {
		"",          "127.0.0.1:4318", "ftp://a",  "http://",       "http:///v1",
		"http://:1", "http://a b",     "http://?", "http://u@a",    "http://a?b",
		"http://a#", "http://a/\x7f",  "unix:",    "unix:relative", "HTTP://a",
	};
	struct push_target target;
	char text[2000] = "unix:/";
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_non_null(push_target_parse(&target, PUSH_OTLP, wrong[i]));
	memset(text + strlen(text), 'a', 200);
	assert_non_null(push_target_parse(&target, PUSH_OTLP, text));
	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "http://", 7);
	assert_non_null(push_target_parse(&target, PUSH_OTLP, text));
}

static int some_descriptor(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Batches of 1, 2, 3... bytes, so that they can be told apart. */
static void put(struct push_queue *queue, size_t count)
{
	size_t i;

	for (i = 1; i <= count; i++)
		push_queue_put(queue, some_descriptor(), i);
}

static void clear(struct push_queue *queue)
{
	while (push_queue_oldest(queue))
		push_queue_remove(queue);
	assert_int_equal(queue->bytes, 0);
}

static void the_oldest_make_room(void **unused)
{
	const int before = some_descriptor();
	struct push_queue queue = { 0 };
	int after;

	(void)unused;
	assert_null(push_queue_oldest(&queue));
	put(&queue, PUSH_QUEUE_BATCHES + 2);
	assert_int_equal(queue.dropped, 2);
	assert_int_equal(queue.count, PUSH_QUEUE_BATCHES);
	assert_int_equal(push_queue_oldest(&queue)->bytes, 3);
	/* What is being sent stays the oldest. */
	queue.sending = true;
	push_queue_put(&queue, some_descriptor(), 1000);
	assert_int_equal(queue.dropped, 3);
	assert_int_equal(push_queue_oldest(&queue)->bytes, 3);
	push_queue_remove(&queue);
	assert_int_equal(push_queue_oldest(&queue)->bytes, 5);
	assert_false(queue.sending);
	clear(&queue);
	close(before);
	after = some_descriptor();
	assert_int_equal(after, before); /* no descriptor is left */
	close(after);
}

static void large_ones_are_bounded(void **unused)
{
	struct push_queue queue = { 0 };

	(void)unused;
	push_queue_put(&queue, some_descriptor(), PUSH_QUEUE_BYTES / 2);
	push_queue_put(&queue, some_descriptor(), PUSH_QUEUE_BYTES / 2);
	assert_int_equal(queue.dropped, 0);
	push_queue_put(&queue, some_descriptor(), 1);
	assert_int_equal(queue.dropped, 1);
	assert_int_equal(queue.bytes, PUSH_QUEUE_BYTES / 2 + 1);
	/* There is no room beside one that is being sent. */
	queue.sending = true;
	push_queue_put(&queue, some_descriptor(), PUSH_QUEUE_BYTES);
	assert_int_equal(queue.dropped, 3);
	assert_int_equal(queue.count, 1);
	queue.sending = false;
	push_queue_put(&queue, some_descriptor(), PUSH_QUEUE_BYTES + 1);
	assert_int_equal(queue.count, 0);
	assert_int_equal(queue.dropped, 5);
	clear(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_have_a_path),
		cmocka_unit_test(what_is_no_target),
		cmocka_unit_test(the_oldest_make_room),
		cmocka_unit_test(large_ones_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
