// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/launch_counts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/string.h"
#include "event/event.h"

#define BATCH 512 /* more than one bucket of the map ever holds */

/*
 * A thread can have chosen its key and not yet added to the count when a new epoch begins. No BPF
 * program is kept from running for so long between two of its instructions.
 */
#define SETTLED_NS 1000000000ull

/* How many launches of one key that has been seen have been fed. */
struct fed {
	struct ms_launch_key key;
	uint64_t count;
	uint64_t since_ns; /* when that was last found to be more than before */
	uint64_t read;     /* how many there were when the map was last looked at */
	struct fed *next;  /* of those that were not fed then */
	struct fed *alike; /* the next one with the same hash */
};

struct launch_counts {
	int map_fd;
	int cpus;
	const __u64 *keys_new;
	uint64_t keys_known;  /* `*keys_new` before the last look at the map */
	uint64_t read_ns;     /* when that was */
	bool looked;          /* by launch_counts_look(), and not since */
	struct fed *waiting;  /* read then, but of an epoch that had yet to begin */
	uint32_t epoch;       /* everything before it has been fed once */
	struct map fed;       /* hash of a key -> the first struct fed with it */
	struct map processes; /* event_process_key() -> how many of `fed` are of it */
	struct ms_launch_key keys[BATCH];
	uint64_t values[]; /* BATCH times `cpus` */
};

/* One look at the map, and what is to be fed. */
struct pass {
	struct launch_counts *counts;
	const struct ms_event *event; /* NULL: everything */
	bool look;                    /* only what is older than this epoch; the rest waits */
	uint64_t now_ns;
	launch_counts_feed feed;
	void *context;
};

int launch_counts_open(struct launch_counts **result, int map_fd, const __u64 *keys)
{
	int cpus = libbpf_num_possible_cpus();
	struct launch_counts *counts;

	if (cpus < 0)
		return cpus;
	counts = calloc(1, sizeof(*counts) + sizeof(uint64_t) * BATCH * cpus);
	if (!counts)
		return -ENOMEM;
	counts->map_fd = map_fd;
	counts->keys_new = keys;
	counts->cpus = cpus;
	*result = counts;
	return 0;
}

void launch_counts_close(struct launch_counts *counts)
{
	size_t i;

	if (!counts)
		return;
	for (i = 0; i < counts->fed.capacity; i++) {
		struct fed *fed = (struct fed *)(uintptr_t)counts->fed.slots[i].value, *next;

		for (; fed; fed = next) {
			next = fed->alike;
			free(fed);
		}
	}
	map_fini(&counts->fed);
	map_fini(&counts->processes);
	free(counts);
}

/* ---- what has been fed ----------------------------------------------------------------------- */

static int count_process(struct launch_counts *counts, const struct ms_launch_key *key, int more)
{
	uint64_t process = event_process_key(key->pid, key->start_ns);
	uint64_t *count = map_get(&counts->processes, process);

	if (!count)
		return map_set(&counts->processes, process, more);
	*count += more;
	if (!*count)
		map_remove(&counts->processes, process);
	return 0;
}

static uint64_t hash_of(const struct ms_launch_key *key)
{
	return string_hash(map_secret(), key, sizeof(*key));
}

/* The first with that hash, or NULL. */
static struct fed *fed_first(const struct launch_counts *counts, uint64_t hash)
{
	const uint64_t *first = map_get(&counts->fed, hash);

	return first ? (struct fed *)(uintptr_t)*first : NULL;
}

/* Returns NULL if there is no memory. */
static struct fed *fed_add(struct launch_counts *counts, const struct ms_launch_key *key,
			   uint64_t hash)
{
	struct fed *fed = calloc(1, sizeof(*fed));

	if (!fed || count_process(counts, key, 1)) {
		free(fed);
		return NULL;
	}
	fed->key = *key;
	fed->alike = fed_first(counts, hash);
	if (!map_set(&counts->fed, hash, (uintptr_t)fed))
		return fed;
	count_process(counts, key, -1);
	free(fed);
	return NULL;
}

/* All that there are are asked for at each look at the map. NULL if there is no memory. */
static struct fed *fed_get(struct launch_counts *counts, const struct ms_launch_key *key)
{
	const uint64_t hash = hash_of(key);
	struct fed *fed = fed_first(counts, hash);

	while (fed && memcmp(&fed->key, key, sizeof(*key)) != 0)
		fed = fed->alike;
	return fed ? fed : fed_add(counts, key, hash);
}

static void fed_forget(struct launch_counts *counts, struct fed *fed)
{
	const uint64_t hash = hash_of(&fed->key);
	struct fed *before = fed_first(counts, hash);

	count_process(counts, &fed->key, -1);
	if (before != fed) {
		while (before->alike != fed)
			before = before->alike;
		before->alike = fed->alike;
	} else if (fed->alike) {
		map_set(&counts->fed, hash, (uintptr_t)fed->alike);
	} else {
		map_remove(&counts->fed, hash);
	}
	free(fed);
}

/* ---- reading the map ------------------------------------------------------------------------- */

static struct ms_calls launches_of(const struct ms_launch_key *key, uint64_t now_ns, uint64_t count)
{
	return (struct ms_calls){
		.call = { .event = { .ts_ns = now_ns,
				     .start_ns = key->start_ns,
				     .pid = key->pid,
				     .tid = key->pid,
				     .type = MS_TYPE_CALLS,
				     .size = sizeof(struct ms_calls),
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

static bool is_older(uint32_t number, uint32_t other)
{
	return (int32_t)(number - other) < 0;
}

/* Nothing of the program runs any more that could add to the count. */
static bool is_over(const struct ms_launch_key *key, const struct ms_event *event)
{
	if (!event || key->pid != event->pid || key->start_ns != event->start_ns)
		return false;
	return event->type == MS_TYPE_EXIT ||
	       (event->type == MS_TYPE_EXEC &&
		is_older(key->program, ((const struct ms_process *)event)->program));
}

static int feed_read(const struct pass *pass, struct fed *fed)
{
	struct ms_calls launches;

	if (fed->read == fed->count)
		return 0;
	launches = launches_of(&fed->key, pass->now_ns, fed->read - fed->count);
	fed->count = fed->read;
	fed->since_ns = pass->now_ns;
	return pass->feed(pass->context, &launches, sizeof(launches));
}

static void wait_for_epoch(struct launch_counts *counts, struct fed *fed)
{
	fed->next = counts->waiting;
	counts->waiting = fed;
}

static int feed_key(const struct pass *pass, const struct ms_launch_key *key, uint64_t count)
{
	bool over = is_over(key, pass->event), before = is_older(key->epoch, pass->counts->epoch);
	struct fed *fed = fed_get(pass->counts, key);
	int err;

	if (!fed)
		return -ENOMEM;
	fed->read = count;
	if ((pass->event || pass->look) && !over && !before) {
		wait_for_epoch(pass->counts, fed);
		return 0;
	}
	err = feed_read(pass, fed);
	if (over || (before && pass->now_ns - fed->since_ns > SETTLED_NS)) {
		bpf_map_delete_elem(pass->counts->map_fd, key);
		fed_forget(pass->counts, fed);
	}
	return err;
}

/* Epochs that began before the map was looked at: what they ended has been read. Or `all`. */
static int feed_waiting(const struct pass *pass, bool all)
{
	struct launch_counts *counts = pass->counts;
	struct fed *fed = counts->waiting, *next;
	int err = 0;

	counts->waiting = NULL;
	for (; fed; fed = next) {
		next = fed->next;
		if (!err && (all || is_older(fed->key.epoch, counts->epoch)))
			err = feed_read(pass, fed);
		else
			wait_for_epoch(counts, fed);
	}
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

static int feed_map(const struct pass *pass)
{
	struct launch_counts *counts = pass->counts;
	uint32_t position, length;
	bool first = true, last = false;
	int err = 0;

	counts->keys_known = __atomic_load_n(counts->keys_new, __ATOMIC_RELAXED);
	counts->read_ns = pass->now_ns;
	counts->looked = pass->look;
	counts->waiting = NULL;
	while (!err && !last) {
		length = BATCH;
		err = bpf_map_lookup_batch(counts->map_fd, first ? NULL : &position, &position,
					   counts->keys, counts->values, &length, NULL);
		last = err && errno == ENOENT;
		if (err && !last) {
			err = -errno;
			log_error("cannot read the counts of launches: %s", strerror(-err));
			return err;
		}
		err = feed_batch(pass, length);
		first = false;
	}
	return err;
}

/* ---- when ------------------------------------------------------------------------------------ */

/* Programs that launch nothing begin and end all the time. */
static bool has_launched(const struct launch_counts *counts, const struct ms_event *event)
{
	return counts->keys_known != __atomic_load_n(counts->keys_new, __ATOMIC_RELAXED) ||
	       map_get(&counts->processes, event_process_key(event->pid, event->start_ns));
}

int launch_counts_before(struct launch_counts *counts, const struct ms_event *event,
			 launch_counts_feed feed, void *context)
{
	const struct pass pass = { .counts = counts,
				   .event = event,
				   .now_ns = clock_monotonic_ns(),
				   .feed = feed,
				   .context = context };
	bool newer = is_older(counts->epoch, event->epoch);

	if (newer)
		counts->epoch = event->epoch;
	if (event->type != MS_TYPE_NAME && has_launched(counts, event))
		return feed_map(&pass);
	if (!newer)
		return 0;
	return event->ts_ns < counts->read_ns ? feed_waiting(&pass, false) : feed_map(&pass);
}

int launch_counts_look(struct launch_counts *counts, launch_counts_feed feed, void *context)
{
	const struct pass pass = { .counts = counts,
				   .look = true,
				   .now_ns = clock_monotonic_ns(),
				   .feed = feed,
				   .context = context };

	return feed_map(&pass);
}

int launch_counts_seen(struct launch_counts *counts, launch_counts_feed feed, void *context)
{
	const struct pass pass = {
		.counts = counts, .now_ns = clock_monotonic_ns(), .feed = feed, .context = context
	};

	if (!counts->looked)
		return 0;
	counts->looked = false;
	return feed_waiting(&pass, true);
}

int launch_counts_rest(struct launch_counts *counts, launch_counts_feed feed, void *context)
{
	const struct pass pass = {
		.counts = counts, .now_ns = clock_monotonic_ns(), .feed = feed, .context = context
	};

	return feed_map(&pass);
}
