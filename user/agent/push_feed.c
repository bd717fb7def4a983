// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_feed.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/push_file.h"
#include "base/clock.h"
#include "base/log.h"

#define ANSWER_NS 4000000000ull /* for the last answers */
#define END_NS 10000000000ull   /* in all: from its answer on, a process has 5 seconds */
#define NS_PER_MS 1000000

void push_feed_init(struct push_feed pushes[PUSH_PROTOCOLS])
{
	size_t i;

	for (i = 0; i < PUSH_PROTOCOLS; i++) {
		served_init(&pushes[i].served);
		pushes[i].options.protocol = i;
		pushes[i].options.file = -1;
		pushes[i].served.task =
			i == PUSH_OTLP ? "pushes metrics" : "pushes metrics by remote write";
		pushes[i].served.gone = i == PUSH_OTLP ?
						"no more metrics are pushed" :
						"no more metrics are pushed by remote write";
	}
}

static pid_t start(void *context, int channel)
{
	struct push_feed *push = context;

	push->options.channel = channel;
	return push_process_start(&push->options);
}

/* Those of the process are since it began; what it had not sent, and the next has not, is lost. */
static void note_end(struct push_feed *push, const struct channel_push *next)
{
	const struct channel_push *last = &push->counts.now;

	if (last->queued > next->restored + next->damaged)
		push->counts.lost += last->queued - next->restored - next->damaged;
	push->counts.restarts++;
	push->earlier = *last;
}

static void note(void *context, const struct channel_question *question)
{
	struct push_feed *push = context;
	const struct channel_push *earlier = &push->earlier, *now = &question->push;

	if (question->is_hello)
		note_end(push, now);
	push->counts.now = (struct channel_push){
		.sent = earlier->sent + now->sent,
		.refused = earlier->refused + now->refused,
		.dropped = earlier->dropped + now->dropped,
		.missed = earlier->missed + now->missed,
		.failures = earlier->failures + now->failures,
		.rejected = earlier->rejected + now->rejected,
		.damaged = earlier->damaged + now->damaged,
		.unsaved = earlier->unsaved + now->unsaved,
		.restored = push->counts.restarts ? earlier->restored : now->restored,
		.queued = now->queued,
		.queued_bytes = now->queued_bytes,
		.sent_ns = now->sent_ns ? now->sent_ns : earlier->sent_ns,
		.cpu_ns = earlier->cpu_ns + now->cpu_ns,
		.resident_bytes = now->resident_bytes,
	};
}

static void open_file(struct push_feed *push)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.queue", push_protocols[push->options.protocol].option);
	push->options.file = push_file_open(push->state_directory, name);
	if (push->options.file < 0)
		log_warning("what is to be pushed by --%s is kept in memory only",
			    push_protocols[push->options.protocol].option);
}

static int open_feed(struct push_feed *push)
{
	int err;

	if (!push->options.url)
		return 0;
	open_file(push);
	push->served.broker.note = note;
	push->served.broker.note_context = push;
	err = served_open(&push->served, start, push);
	/* It is the process's. */
	if (push->options.file >= 0)
		close(push->options.file);
	push->options.file = -1;
	return err;
}

int push_feed_open(struct push_feed pushes[PUSH_PROTOCOLS])
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < PUSH_PROTOCOLS; i++)
		err = open_feed(&pushes[i]);
	return err;
}

int push_feed_start(struct push_feed pushes[PUSH_PROTOCOLS], struct loop *loop)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < PUSH_PROTOCOLS; i++)
		err = served_start(&pushes[i].served, loop);
	return err;
}

void push_feed_finish(struct push_feed pushes[PUSH_PROTOCOLS])
{
	const uint64_t begin_ns = clock_monotonic_ns(), end_ns = begin_ns + END_NS;
	size_t i;

	for (i = 0; i < PUSH_PROTOCOLS; i++)
		if (pushes[i].served.broker.fd >= 0)
			broker_begin_last(&pushes[i].served.broker, push_protocols[i].document);
	for (i = 0; i < PUSH_PROTOCOLS; i++)
		broker_finish_last(&pushes[i].served.broker, begin_ns + ANSWER_NS);
	for (i = 0; i < PUSH_PROTOCOLS; i++) {
		struct pollfd ended = { .fd = pushes[i].served.child_fd, .events = POLLIN };
		const uint64_t now_ns = clock_monotonic_ns();

		if (ended.fd >= 0 && now_ns < end_ns)
			poll(&ended, 1, (int)((end_ns - now_ns) / NS_PER_MS));
	}
}

void push_feed_close(struct push_feed pushes[PUSH_PROTOCOLS])
{
	size_t i;

	for (i = 0; i < PUSH_PROTOCOLS; i++)
		served_close(&pushes[i].served);
}
