// SPDX-License-Identifier: BSD-2-Clause
#include "agent/http_answers.h"

#include <unistd.h>

static void clear(struct http_answers *answers, struct http_answer *answer)
{
	if (answer->response)
		answers->library->destroy_response(answer->response);
	*answer = (struct http_answer){ .state = HTTP_ANSWER_NONE };
}

static bool is_fresh(const struct http_answer *answer, uint64_t now_ns)
{
	return answer->state == HTTP_ANSWER_READY && answer->status == 200 &&
	       now_ns - answer->made_ns < HTTP_ANSWERS_FRESH_NS;
}

static bool is_under_way(const struct http_answer *answer)
{
	return answer->state == HTTP_ANSWER_WAITING || answer->state == HTTP_ANSWER_ASKED;
}

/* One that is free, or the oldest that has no users, but not that one. NULL: there is none. */
static struct http_answer *take_place(struct http_answers *answers,
				      const struct http_answer *except)
{
	struct http_answer *oldest = NULL;
	size_t i;

	for (i = 0; i < HTTP_ANSWERS_KEPT; i++) {
		struct http_answer *answer = &answers->answers[i];

		if (answer->state == HTTP_ANSWER_NONE)
			return answer;
		if (answer->state == HTTP_ANSWER_READY && !answer->users && answer != except &&
		    (!oldest || answer->made_ns < oldest->made_ns))
			oldest = answer;
	}
	if (oldest)
		clear(answers, oldest);
	return oldest;
}

static struct http_answer *add(struct http_answers *answers, const struct request *request,
			       const struct http_answer *except, uint64_t now_ns)
{
	struct http_answer *answer = take_place(answers, except);

	if (answer)
		*answer = (struct http_answer){ .state = HTTP_ANSWER_WAITING,
						.request = *request,
						.made_ns = now_ns };
	return answer;
}

struct http_answer *http_answers_get(struct http_answers *answers, const struct request *request,
				     uint64_t now_ns)
{
	struct http_answer *fresh = NULL, *coming = NULL;
	size_t i;

	for (i = 0; i < HTTP_ANSWERS_KEPT; i++) {
		struct http_answer *answer = &answers->answers[i];

		if (answer->state == HTTP_ANSWER_NONE ||
		    !request_is_same(&answer->request, request))
			continue;
		if (is_under_way(answer))
			coming = answer;
		else if (is_fresh(answer, now_ns) && (!fresh || answer->made_ns > fresh->made_ns))
			fresh = answer;
	}
	if (!fresh)
		return coming ? coming : add(answers, request, NULL, now_ns);
	if (!coming && now_ns - fresh->made_ns >= HTTP_ANSWERS_RENEW_NS)
		add(answers, request, fresh, now_ns);
	return fresh;
}

struct http_answer *http_answers_next(struct http_answers *answers)
{
	struct http_answer *first = NULL;
	size_t i;

	for (i = 0; i < HTTP_ANSWERS_KEPT && !answers->asked; i++) {
		struct http_answer *answer = &answers->answers[i];

		if (answer->state == HTTP_ANSWER_WAITING &&
		    (!first || answer->made_ns < first->made_ns))
			first = answer;
	}
	return first;
}

void http_answers_asked(struct http_answers *answers, struct http_answer *answer, uint64_t now_ns)
{
	answers->asked = answer->number = ++answers->numbers;
	answer->state = HTTP_ANSWER_ASKED;
	answer->made_ns = now_ns;
}

static void finish(struct http_answer *answer, unsigned int status)
{
	answer->state = HTTP_ANSWER_READY;
	answer->status = status;
}

struct http_answer *http_answers_take(struct http_answers *answers,
				      const struct channel_message *message, int fd)
{
	struct http_answer *answer = NULL;
	size_t i;

	if (message->number == answers->asked)
		answers->asked = 0;
	for (i = 0; i < HTTP_ANSWERS_KEPT; i++)
		if (answers->answers[i].state == HTTP_ANSWER_ASKED &&
		    answers->answers[i].number == message->number)
			answer = &answers->answers[i];
	if (answer && message->status == 200 && fd >= 0)
		answer->response = answers->library->create_response_from_fd(message->bytes, fd);
	if (fd >= 0 && (!answer || !answer->response))
		close(fd);
	if (answer)
		finish(answer, answer->response       ? 200 :
			       message->status == 200 ? 500 :
							message->status);
	return answer;
}

bool http_answers_give_up(struct http_answers *answers, uint64_t now_ns)
{
	bool any = false;
	size_t i;

	for (i = 0; i < HTTP_ANSWERS_KEPT; i++) {
		struct http_answer *answer = &answers->answers[i];

		if (!is_under_way(answer) || now_ns - answer->made_ns < HTTP_ANSWERS_WAIT_NS)
			continue;
		if (answer->number == answers->asked)
			answers->asked = 0;
		finish(answer, 503);
		any = true;
	}
	return any;
}
