// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/process_losses.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "event/event.h"
#include "host/proc.h"

void process_losses_fini(struct process_losses *losses)
{
	free(losses->fed);
	map_fini(&losses->places);
	*losses = (struct process_losses){ 0 };
}

#define GONE_A_LOOK 32 /* processes that are asked for, and forgotten if they have ended */

struct fed_losses {
	uint64_t process; /* event_process_key() */
	struct ms_process_losses counts;
};

/* NULL without memory. */
static struct ms_process_losses *fed_of(struct process_losses *losses,
					const struct ms_process_key *key)
{
	const uint64_t process = event_process_key(key->pid, key->start_ns);
	const uint64_t *place = map_get(&losses->places, process);

	if (place)
		return &losses->fed[*place].counts;
	if (memory_grow(&losses->fed, &losses->capacity, losses->count + 1, sizeof(*losses->fed)) ||
	    map_set(&losses->places, process, losses->count))
		return NULL;
	losses->fed[losses->count] = (struct fed_losses){ .process = process };
	return &losses->fed[losses->count++].counts;
}

/* The last one takes its place. */
static void forget(struct process_losses *losses, const struct ms_process_key *key)
{
	const uint64_t process = event_process_key(key->pid, key->start_ns);
	const uint64_t *found = map_get(&losses->places, process);
	uint64_t place, *moved;

	if (!found)
		return;
	place = *found;
	losses->fed[place] = losses->fed[--losses->count];
	moved = map_get(&losses->places, losses->fed[place].process);
	if (moved)
		*moved = place;
	map_remove(&losses->places, process);
}

static bool has_ended(const struct ms_process_key *key)
{
	struct proc_info info;

	return proc_read((pid_t)key->pid, &info) == -ESRCH || info.start_ns != key->start_ns;
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
	struct ms_process_key key, *last = NULL, gone[GONE_A_LOOK];
	const struct feed feed = { fn, context, &key, now_ns };
	struct ms_process_losses now, *fed;
	size_t asked = 0, count = 0, i = 0;
	int err = 0;

	for (; !err && !bpf_map_get_next_key(map_fd, last, &key); last = &key, i++) {
		if (bpf_map_lookup_elem(map_fd, &key, &now))
			continue;
		fed = fed_of(losses, &key);
		if (!fed)
			return -ENOMEM;
		/* Of one that has ended, nothing comes after it has come to rest. */
		if (i >= losses->asked && asked < GONE_A_LOOK && !memcmp(fed, &now, sizeof(now))) {
			asked++;
			if (has_ended(&key))
				gone[count++] = key;
			losses->asked = i + 1;
		}
		err = feed_process(&feed, fed, &now);
		*fed = now;
	}
	/* All have been asked for: from the first again. */
	if (asked < GONE_A_LOOK)
		losses->asked = 0;
	while (count--) {
		bpf_map_delete_elem(map_fd, &gone[count]);
		forget(losses, &gone[count]);
	}
	return err;
}
