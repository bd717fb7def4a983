/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the agent's server asks the capture for, and the answers, which it keeps for a moment: who
 * asks for the same meanwhile gets the same, whatever their number.
 */
#ifndef MEMSCOPE_AGENT_HTTP_ANSWERS_H
#define MEMSCOPE_AGENT_HTTP_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/channel.h"
#include "agent/http_library.h"

#define HTTP_ANSWERS_KEPT 32
#define HTTP_ANSWERS_FRESH_NS 1000000000ull
#define HTTP_ANSWERS_WAIT_NS 12000000000ull

enum http_answer_state {
	HTTP_ANSWER_NONE,
	HTTP_ANSWER_WAITING, /* until the channel is free */
	HTTP_ANSWER_ASKED,
	HTTP_ANSWER_READY,
};

struct http_answer {
	enum http_answer_state state;
	struct request request;
	uint64_t number;  /* of the question */
	uint64_t made_ns; /* when it was asked for, CLOCK_MONOTONIC */
	unsigned int status;
	struct MHD_Response *response; /* with status 200 */
	size_t users;                  /* connections that wait for it, or are about to take it */
};

struct http_answers {
	const struct http_library *library;
	struct http_answer answers[HTTP_ANSWERS_KEPT];
	uint64_t numbers; /* of questions */
	uint64_t asked;   /* the number of the one that is not answered yet; 0: there is none */
};

/*
 * The answer to a request: one that is fresh, or that is waited for, or a new one; the caller
 * counts itself among its users. NULL: too many wait.
 */
struct http_answer *http_answers_get(struct http_answers *answers, const struct request *request,
				     uint64_t now_ns);

/* The next one that is to be asked for, if the channel is free; NULL: there is none. */
struct http_answer *http_answers_next(struct http_answers *answers);

/* Notes that it was, by the number answers->numbers + 1. */
void http_answers_asked(struct http_answers *answers, struct http_answer *answer, uint64_t now_ns);

/*
 * The capture has answered; `fd` becomes the answer's. Returns the answer, or NULL: it has been
 * given up.
 */
struct http_answer *http_answers_take(struct http_answers *answers,
				      const struct channel_message *message, int fd);

/* Those that were waited for too long fail. Returns whether any did. */
bool http_answers_give_up(struct http_answers *answers, uint64_t now_ns);

#endif /* MEMSCOPE_AGENT_HTTP_ANSWERS_H */
