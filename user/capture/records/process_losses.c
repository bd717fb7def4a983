// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/process_losses.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "event/event.h"

void process_losses_fini(struct process_losses *losses)
{
	free(losses->fed);
	map_fini(&losses->places);
	*losses = (struct process_losses){ 0 };
}

/* NULL without memory. */
static struct ms_process_losses *fed_of(struct process_losses *losses,
					const struct ms_process_key *key)
{
	const uint64_t process = event_process_key(key->pid, key->start_ns);
	const uint64_t *place = map_get(&losses->places, process);

	if (place)
		return &losses->fed[*place];
	if (memory_grow(&losses->fed, &losses->capacity, losses->count + 1, sizeof(*losses->fed)) ||
	    map_set(&losses->places, process, losses->count))
		return NULL;
	losses->fed[losses->count] = (struct ms_process_losses){ { 0 }, 0 };
	return &losses->fed[losses->count++];
}

struct feed {
	int (*fn)(void *context, void *record, size_t length);
	void *context;
	const struct ms_process_key *process;
	uint64_t now_ns;
};

/* Unless nothing was lost. */
static int feed_one(const struct feed *feed, uint16_t op, uint64_t lost)
{
	struct ms_loss record = {
		.event = { .ts_ns = feed->now_ns,
			   .start_ns = feed->process->start_ns,
			   .pid = feed->process->pid,
			   .tid = feed->process->pid,
			   .type = MS_TYPE_LOSS,
			   .size = sizeof(record) },
		.op = op,
		.lost = lost,
	};

	return lost ? feed->fn(feed->context, &record, sizeof(record)) : 0;
}

static int feed_process(const struct feed *feed, const struct ms_process_losses *before,
			const struct ms_process_losses *now)
{
	int err = feed_one(feed, MS_ACCOUNT_ABANDONED, now->abandoned - before->abandoned);
	uint32_t kind;

	for (kind = 0; kind < MS_KINDS_COUNT && !err; kind++)
		err = feed_one(feed, event_account_op(kind), now->lost[kind] - before->lost[kind]);
	return err;
}

int process_losses_feed(struct process_losses *losses, int map_fd, uint64_t now_ns,
			int (*fn)(void *context, void *record, size_t length), void *context)
{
	struct ms_process_key key, *last = NULL;
	const struct feed feed = { fn, context, &key, now_ns };
	struct ms_process_losses now, *fed;
	int err = 0;

	for (; !err && !bpf_map_get_next_key(map_fd, last, &key); last = &key) {
		if (bpf_map_lookup_elem(map_fd, &key, &now))
			continue;
		fed = fed_of(losses, &key);
		err = fed ? feed_process(&feed, fed, &now) : -ENOMEM;
		if (fed)
			*fed = now;
	}
	return err;
}
