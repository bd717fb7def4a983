/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who holds memory of devices, by user, container, pod, job, name or cgroup: sums over all their
 * processes, with the most that these held together. Kept while a recording is replayed. Texts are
 * as the processes have them: not safe to show.
 */
#ifndef MEMSCOPE_REPORT_PROCESS_GROUPS_H
#define MEMSCOPE_REPORT_PROCESS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "event/event.h"
#include "ledger/state.h"

/* clang-format off */
#define PROCESS_GROUPS_BY(X, OR) \
	X(USER, "user", "User") OR X(CONTAINER, "container", "Container") OR X(POD, "pod", "Pod") OR \
	X(JOB, "job", "Job") OR X(COMM, "comm", "Name") OR X(CGROUP, "cgroup", "Cgroup")
/* clang-format on */

enum process_groups_by {
	PROCESS_GROUPS_NONE, /* nothing is summed up */
#define X(by, name, title) PROCESS_GROUPS_##by,
	PROCESS_GROUPS_BY(X, )
#undef X
};

#define PROCESS_GROUPS_MAX 1024       /* what comes after these is in the last one */
#define PROCESS_GROUPS_NAME_BYTES 256 /* of a longer one, what fits */
#define PROCESS_GROUPS_MEMBERS 262144 /* processes: of more, only the number is known */

struct process_group {
	char *name; /* "": its processes have none; NULL: it is not known, or there are too many */
	bool others;
	uint64_t processes; /* all that were seen */
	uint64_t running;   /* at the end */
	uint64_t live_bytes, peak_bytes, peak_ts_ns;
	uint64_t left_bytes; /* what its processes held when they ended */
	size_t leaks;        /* findings */
	size_t ooms, fatal_ooms;
};

struct process_groups {
	enum process_groups_by by;
	struct process_group *list;
	size_t count, capacity;
	size_t name_bytes; /* of all names */
	struct process_groups_member *members;
	size_t members_count, members_capacity;
	struct map places; /* event_process_key() -> position of the member */
	struct map names;  /* hash of a name -> position in the list */
	struct map stays;  /* members and groups in which they have held memory and are no more */
	uint64_t not_members;
};

const char *process_groups_name(enum process_groups_by by);  /* as --by has it */
const char *process_groups_title(enum process_groups_by by); /* of a column */

/*
 * What group a process belongs to: "" if it has none of that. `name`: what to call it by. Returns
 * whether that is known.
 */
bool process_groups_name_of(enum process_groups_by by, const struct identity *identity,
			    const char *name, char group[PROCESS_GROUPS_NAME_BYTES]);

void process_groups_init(struct process_groups *groups, enum process_groups_by by);
void process_groups_fini(struct process_groups *groups);
size_t process_groups_bytes(const struct process_groups *groups);

/* After an event of that process was applied. Returns 0 or -ENOMEM: then something is missing. */
int process_groups_event(struct process_groups *groups, const struct event *event,
			 const struct process *process);

/* The state is another one now: what follows are its processes. */
void process_groups_gap(struct process_groups *groups);

/* What a process holds now, without an event. Returns as above. */
int process_groups_look(struct process_groups *groups, const struct process *process,
			uint64_t ts_ns);

/* The group that a process belongs to; NULL: it was not looked at. */
struct process_group *process_groups_find(struct process_groups *groups, uint32_t pid,
					  uint64_t start_ns);

/* After the last event: those with the highest peak come first; then nothing else is called. */
void process_groups_finish(struct process_groups *groups);

#endif /* MEMSCOPE_REPORT_PROCESS_GROUPS_H */
