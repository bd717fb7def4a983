// SPDX-License-Identifier: BSD-2-Clause
#include "capture/launch_counts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define BATCH 512 /* more than one bucket of the map ever holds */

/* How many launches of one key have been fed. */
struct fed {
	struct ms_launch_key key;
	uint64_t count;
};

struct launch_counts {
	int map_fd;
	int cpus;
	uint32_t epoch; /* everything before it has been fed once */
	void *fed;      /* tsearch() tree of struct fed */
	struct ms_launch_key keys[BATCH];
	uint64_t values[]; /* BATCH times `cpus` */
};

/* One look at the map, and what it is for. */
struct pass {
	struct launch_counts *counts;
	uint32_t end_epoch;            /* only launches before it ... */
	const struct ms_event *exited; /* ... or all of this process, which are forgotten then */
	bool all;
	launch_counts_feed feed;
	void *context;
};

int launch_counts_open(struct launch_counts **result, int map_fd)
{
	int cpus = libbpf_num_possible_cpus();
	struct launch_counts *counts;

	if (cpus < 0)
		return cpus;
	counts = calloc(1, sizeof(*counts) + sizeof(uint64_t) * BATCH * cpus);
	if (!counts)
		return -ENOMEM;
	counts->map_fd = map_fd;
	counts->cpus = cpus;
	*result = counts;
	return 0;
}

void launch_counts_close(struct launch_counts *counts)
{
	if (!counts)
		return;
	tdestroy(counts->fed, free);
	free(counts);
}

/* ---- what has been fed ----------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	const struct fed *x = a, *y = b;

	return memcmp(&x->key, &y->key, sizeof(x->key));
}

/* Returns NULL if there is no memory. */
static struct fed *fed_get(struct launch_counts *counts, const struct ms_launch_key *key)
{
	struct fed *fed = calloc(1, sizeof(*fed)), **found;

	if (!fed)
		return NULL;
	fed->key = *key;
	found = tsearch(fed, &counts->fed, by_key);
	if (!found || *found != fed)
		free(fed);
	return found ? *found : NULL;
}

static void fed_forget(struct launch_counts *counts, struct fed *fed)
{
	tdelete(fed, &counts->fed, by_key);
	free(fed);
}

/* ---- reading the map ------------------------------------------------------------------------- */

static struct ms_launches launches_of(const struct ms_launch_key *key, uint64_t count)
{
	return (struct ms_launches){
		.call = { .event = { .ts_ns = clock_monotonic_ns(),
				     .start_ns = key->start_ns,
				     .pid = key->pid,
				     .tid = key->pid,
				     .type = MS_TYPE_LAUNCHES,
				     .size = sizeof(struct ms_launches),
				     .epoch = key->epoch },
			  .addr = key->addr,
			  .src = key->src,
			  .result = key->result,
			  .row = key->row,
			  .driver_row = key->driver_row,
			  .known = key->known,
			  .flags = key->flags },
		.count = count,
	};
}

static bool is_of(const struct ms_launch_key *key, const struct ms_event *event)
{
	return event && key->pid == event->pid && key->start_ns == event->start_ns;
}

static int feed_key(const struct pass *pass, const struct ms_launch_key *key, uint64_t count)
{
	bool exited = is_of(key, pass->exited);
	struct ms_launches launches;
	struct fed *fed;
	int err = 0;

	if (!pass->all && !exited && (int32_t)(key->epoch - pass->end_epoch) >= 0)
		return 0;
	fed = fed_get(pass->counts, key);
	if (!fed)
		return -ENOMEM;
	if (count != fed->count) {
		launches = launches_of(key, count - fed->count);
		err = pass->feed(pass->context, &launches, sizeof(launches));
	}
	fed->count = count;
	if (!exited)
		return err;
	bpf_map_delete_elem(pass->counts->map_fd, key);
	fed_forget(pass->counts, fed);
	return err;
}

static int feed_batch(const struct pass *pass, uint32_t length)
{
	const struct launch_counts *counts = pass->counts;
	int err = 0, cpu;
	uint32_t i;

	for (i = 0; !err && i < length; i++) {
		uint64_t sum = 0;

		for (cpu = 0; cpu < counts->cpus; cpu++)
			sum += counts->values[i * counts->cpus + cpu];
		err = feed_key(pass, &counts->keys[i], sum);
	}
	return err;
}

static int run(const struct pass *pass)
{
	struct launch_counts *counts = pass->counts;
	uint32_t position, length;
	bool first = true, last = false;
	int err = 0;

	while (!err && !last) {
		length = BATCH;
		err = bpf_map_lookup_batch(counts->map_fd, first ? NULL : &position, &position,
					   counts->keys, counts->values, &length, NULL);
		last = err && errno == ENOENT;
		if (err && !last)
			return -errno;
		err = feed_batch(pass, length);
		first = false;
	}
	return err;
}

/* ---- when ------------------------------------------------------------------------------------ */

int launch_counts_before(struct launch_counts *counts, const struct ms_event *event,
			 launch_counts_feed feed, void *context)
{
	struct pass pass = { .counts = counts,
			     .end_epoch = event->epoch,
			     .exited = event->type == MS_TYPE_EXIT ? event : NULL,
			     .feed = feed,
			     .context = context };

	if (!pass.exited && event->epoch == counts->epoch)
		return 0;
	counts->epoch = event->epoch;
	return run(&pass);
}

int launch_counts_rest(struct launch_counts *counts, launch_counts_feed feed, void *context)
{
	struct pass pass = { .counts = counts, .all = true, .feed = feed, .context = context };

	return run(&pass);
}
