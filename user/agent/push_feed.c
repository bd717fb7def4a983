// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_feed.h"

void push_feed_init(struct push_feed *push)
{
	served_init(&push->served);
	push->served.task = "pushes metrics";
	push->served.gone = "no more metrics are pushed";
}

static pid_t start(void *context, int channel)
{
	struct push_feed *push = context;

	push->options.channel = channel;
	return push_process_start(&push->options);
}

/* Those of the process are since it began; what it had not sent ended with it. */
static void note_end(struct push_feed *push)
{
	const struct channel_push *last = &push->counts.now;

	push->counts.lost += last->queued;
	push->counts.restarts++;
	push->earlier = *last;
}

static void note(void *context, const struct channel_question *question)
{
	struct push_feed *push = context;
	const struct channel_push *earlier = &push->earlier, *now = &question->push;

	if (question->is_hello)
		note_end(push);
	push->counts.now = (struct channel_push){
		.sent = earlier->sent + now->sent,
		.refused = earlier->refused + now->refused,
		.dropped = earlier->dropped + now->dropped,
		.missed = earlier->missed + now->missed,
		.failures = earlier->failures + now->failures,
		.rejected = earlier->rejected + now->rejected,
		.queued = now->queued,
		.queued_bytes = now->queued_bytes,
		.sent_ns = now->sent_ns ? now->sent_ns : earlier->sent_ns,
		.cpu_ns = earlier->cpu_ns + now->cpu_ns,
		.resident_bytes = now->resident_bytes,
	};
}

int push_feed_open(struct push_feed *push)
{
	if (!push->options.url)
		return 0;
	push->served.broker.note = note;
	push->served.broker.note_context = push;
	return served_open(&push->served, start, push);
}

int push_feed_start(struct push_feed *push, struct loop *loop)
{
	return served_start(&push->served, loop);
}

void push_feed_close(struct push_feed *push)
{
	served_close(&push->served);
}
