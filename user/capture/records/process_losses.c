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
	losses->fed[losses->count] = (struct ms_process_losses){ { 0 } };
	return &losses->fed[losses->count++];
}

int process_losses_feed(struct process_losses *losses, int map_fd, uint64_t now_ns,
			int (*feed)(void *context, void *record, size_t length), void *context)
{
	struct ms_process_key key, *last = NULL;
	struct ms_process_losses now, *fed;
	uint32_t kind;
	int err = 0;

	for (; !err && !bpf_map_get_next_key(map_fd, last, &key); last = &key) {
		if (bpf_map_lookup_elem(map_fd, &key, &now))
			continue;
		fed = fed_of(losses, &key);
		for (kind = 0; fed && kind < MS_KINDS_COUNT && !err; kind++) {
			struct ms_loss record = {
				.event = { .ts_ns = now_ns,
					   .start_ns = key.start_ns,
					   .pid = key.pid,
					   .tid = key.pid,
					   .type = MS_TYPE_LOSS,
					   .size = sizeof(record) },
				.op = event_account_op(kind),
				.lost = now.lost[kind] - fed->lost[kind],
			};

			if (record.lost)
				err = feed(context, &record, sizeof(record));
		}
		if (!fed)
			err = -ENOMEM;
		else
			*fed = now;
	}
	return err;
}
