/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the agent's server asks the capture for, and the answers. It keeps an answer for a moment,
 * and gives the same answer to all clients that ask for it in this time.
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
#define HTTP_ANSWERS_RENEW_NS 750000000ull /* then it is made anew before clients have to wait */
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
	uint64_t made_ns; /* when it was requested, CLOCK_MONOTONIC */
	unsigned int status;
	struct MHD_Response *response; /* with status 200 */
	size_t users;                  /* connections that wait for it, or are about to take it */
};

struct http_answers {
	const struct http_library *library;
	struct http_answer answers[HTTP_ANSWERS_KEPT];
	uint64_t numbers; /* of questions */
	uint64_t asked;   /* number of the question that has no answer yet; 0: none */
};

/*
 * Returns the answer to a request: a fresh one, one that clients already wait for, or a new one.
 * The caller counts itself among its users. NULL: too many answers are waited for. If one is fresh
 * and will not be for long, the next one waits to be asked for.
 */
struct http_answer *http_answers_get(struct http_answers *answers, const struct request *request,
				     uint64_t now_ns);

/* The next answer to ask the capture for, if the channel is free; NULL: none. */
struct http_answer *http_answers_next(struct http_answers *answers);

/* Notes that the capture was asked for it, with the number answers->numbers + 1. */
void http_answers_asked(struct http_answers *answers, struct http_answer *answer, uint64_t now_ns);

/*
 * Takes an answer of the capture, and its descriptor. Returns the answer, or NULL if it has been
 * given up.
 */
struct http_answer *http_answers_take(struct http_answers *answers,
				      const struct channel_message *message, int fd);

/* Answers that clients have waited for too long fail. Returns whether there were any. */
bool http_answers_give_up(struct http_answers *answers, uint64_t now_ns);

#endif /* MEMSCOPE_AGENT_HTTP_ANSWERS_H */
