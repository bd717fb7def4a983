// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which answer a client of the agent gets: one that is there, one that is coming, or a new one.
 */
#include "unit.h"

#include <unistd.h>

#include "agent/http_answers.h"

#define MS 1000000ull

static int responses; /* that exist */

static struct MHD_Response *create(size_t size, int fd)
{
	(void)size;
	close(fd);
	responses++;
	return (struct MHD_Response *)&responses;
}

static void destroy(struct MHD_Response *response)
{
	(void)response;
	responses--;
}

static const struct http_library library = { .create_response_from_fd = create,
					     .destroy_response = destroy };
static const struct request who = { .document = REQUEST_WHO, .uid = REQUEST_EVERYBODY };

static struct http_answer *get(struct http_answers *answers, uint64_t at_ms)
{
	return http_answers_get(answers, &who, at_ms * MS);
}

/* The capture is asked for the next one. */
static struct http_answer *ask(struct http_answers *answers, uint64_t at_ms)
{
	struct http_answer *answer = http_answers_next(answers);

	if (answer)
		http_answers_asked(answers, answer, at_ms * MS);
	return answer;
}

static void take(struct http_answers *answers, unsigned int status)
{
	const struct channel_message message = { .status = status,
						 .number = answers->asked,
						 .bytes = 1 };

	http_answers_take(answers, &message, status == 200 ? dup(STDERR_FILENO) : -1);
}

/* Who asks often never waits, and nobody gets anything older than a second. */
static void answers_are_renewed_while_they_are_fresh(void **unused)
{
	struct http_answers answers = { .library = &library };
	struct http_answer *first, *second;

	(void)unused;
	first = get(&answers, 5000);
	assert_ptr_equal(get(&answers, 5001), first);
	assert_ptr_equal(ask(&answers, 5001), first);
	assert_null(ask(&answers, 5001));
	take(&answers, 200);
	assert_int_equal(first->state, HTTP_ANSWER_READY);
	/* As long as it is young, it is enough. */
	assert_ptr_equal(get(&answers, 5750), first);
	assert_null(ask(&answers, 5750));
	/* The next one is asked for, once, and those who come meanwhile need not wait for it. */
	assert_ptr_equal(get(&answers, 5751), first);
	second = ask(&answers, 5751);
	assert_true(second && second != first);
	assert_ptr_equal(get(&answers, 5999), first);
	assert_null(ask(&answers, 5999));
	take(&answers, 200);
	assert_ptr_equal(get(&answers, 6000), second);
	assert_null(ask(&answers, 6000));
	/* It is too old by now. */
	assert_ptr_not_equal(get(&answers, 6751), second);
	assert_true(responses == 2);
}

static void who_comes_too_late_waits_for_the_next_one(void **unused)
{
	struct http_answers answers = { .library = &library };
	struct http_answer *first, *second;

	(void)unused;
	responses = 0;
	first = get(&answers, 5000);
	ask(&answers, 5000);
	take(&answers, 200);
	assert_ptr_equal(get(&answers, 5900), first);
	second = ask(&answers, 5900);
	assert_ptr_equal(get(&answers, 6000), second);
	assert_int_equal(second->state, HTTP_ANSWER_ASKED);
	/* One that could not be made is not given to others. */
	take(&answers, 500);
	assert_int_equal(second->status, 500);
	assert_ptr_not_equal(get(&answers, 6001), second);
}

/* Who is about to take one keeps it. */
static void answers_with_users_stay(void **unused)
{
	struct http_answers answers = { .library = &library };
	struct request request = who;
	struct http_answer *first = get(&answers, 5000);
	size_t i;

	(void)unused;
	responses = 0;
	ask(&answers, 5000);
	take(&answers, 200);
	for (i = 1; i < HTTP_ANSWERS_KEPT; i++) {
		request.uid = (uint32_t)i;
		assert_non_null(http_answers_get(&answers, &request, 5000 * MS));
	}
	/* All others are waited for: there is no place for the next one but its own. */
	assert_ptr_equal(get(&answers, 5900), first);
	assert_int_equal(first->state, HTTP_ANSWER_READY);
	first->users = 1;
	request.uid = HTTP_ANSWERS_KEPT;
	assert_null(http_answers_get(&answers, &request, 5900 * MS));
	first->users = 0;
	assert_ptr_equal(http_answers_get(&answers, &request, 5900 * MS), first);
	assert_int_equal(responses, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_renewed_while_they_are_fresh),
		cmocka_unit_test(who_comes_too_late_waits_for_the_next_one),
		cmocka_unit_test(answers_with_users_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
