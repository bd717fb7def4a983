// SPDX-License-Identifier: BSD-2-Clause
#include "report/process_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/process.h"
#include "ledger/usage.h"

struct process_groups_member {
	size_t group;
	uint64_t bytes; /* that it holds, of its group's */
	bool held;      /* any, while it has been in the group */
	bool renamed;   /* its name is another one from its next event on */
	bool exited;
	bool gone; /* not seen again since a part was missing: it may have ended there */
};

const char *process_groups_name(enum process_groups_by by)
{
	static const char *const names[] = {
#define X(by, name, title) [PROCESS_GROUPS_##by] = name,
		PROCESS_GROUPS_BY(X, )
#undef X
	};

	return names[by];
}

const char *process_groups_title(enum process_groups_by by)
{
	static const char *const titles[] = {
#define X(by, name, title) [PROCESS_GROUPS_##by] = title,
		PROCESS_GROUPS_BY(X, )
#undef X
	};

	return titles[by];
}

void process_groups_init(struct process_groups *groups, enum process_groups_by by)
{
	*groups = (struct process_groups){ .by = by };
}

void process_groups_fini(struct process_groups *groups)
{
	while (groups->count)
		free(groups->list[--groups->count].name);
	free(groups->list);
	free(groups->members);
	map_fini(&groups->places);
	map_fini(&groups->names);
	map_fini(&groups->stays);
	*groups = (struct process_groups){ 0 };
}

size_t process_groups_bytes(const struct process_groups *groups)
{
	return groups->capacity * sizeof(*groups->list) + groups->name_bytes +
	       groups->members_capacity * sizeof(*groups->members) + map_bytes(&groups->places) +
	       map_bytes(&groups->names) + map_bytes(&groups->stays);
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t append(char name[PROCESS_GROUPS_NAME_BYTES], size_t length, const char *text)
{
	const size_t more = strnlen(text, PROCESS_GROUPS_NAME_BYTES - 1 - length);

	memcpy(name + length, text, more);
	name[length + more] = '\0';
	return length + more;
}

/* Those of them that are known: not NULL. */
static void join(char name[PROCESS_GROUPS_NAME_BYTES], const char *const parts[3],
		 const char *separator)
{
	size_t length = 0, i;

	for (i = 0; i < 3; i++) {
		if (!parts[i])
			continue;
		length = append(name, length, length ? separator : "");
		length = append(name, length, parts[i]);
	}
}

bool process_groups_name_of(enum process_groups_by by, const struct identity *identity,
			    const char *name, char group[PROCESS_GROUPS_NAME_BYTES])
{
	const char *const *items = identity->items;
	const char *text = NULL, *before = NULL, *between = NULL, *separator = " ";

	*group = '\0';
	switch (by) {
	case PROCESS_GROUPS_USER:
		text = items[IDENTITY_USER] ? items[IDENTITY_USER] : items[IDENTITY_UID];
		break;
	case PROCESS_GROUPS_CONTAINER:
		/* Several can have the same name, as in pods that are alike. */
		text = items[IDENTITY_CONTAINER];
		before = items[IDENTITY_RUNTIME];
		between = items[IDENTITY_CONTAINER_NAME];
		break;
	case PROCESS_GROUPS_POD:
		text = items[IDENTITY_POD] ? items[IDENTITY_POD] : items[IDENTITY_POD_UID];
		before = items[IDENTITY_NAMESPACE];
		separator = "/";
		break;
	case PROCESS_GROUPS_JOB:
		text = items[IDENTITY_JOB] ? items[IDENTITY_JOB] : items[IDENTITY_ELASTIC_RUN];
		break;
	case PROCESS_GROUPS_COMM:
		text = *name ? name : NULL;
		break;
	case PROCESS_GROUPS_CGROUP:
		text = items[IDENTITY_CGROUP];
		break;
	case PROCESS_GROUPS_NONE:
		break;
	}
	if (text)
		join(group, (const char *const[]){ before, between, text }, separator);
	return text || (by != PROCESS_GROUPS_COMM && identity_is_known(identity));
}

static uint64_t hash_of(const char *name)
{
	uint64_t hash = map_hash(map_secret(), name ? 2 : 1);

	for (; name && *name; name++)
		hash = map_hash(map_secret(), hash ^ (unsigned char)*name);
	return hash;
}

static bool is_named(const struct process_group *group, const char *name)
{
	return name ? group->name && !strcmp(group->name, name) : !group->name && !group->others;
}

/* ---- groups and members ---------------------------------------------------------------------- */

/* SIZE_MAX without memory. `name` NULL: it is not known. */
static size_t add_group(struct process_groups *groups, const char *name, uint64_t key)
{
	struct process_group *group;

	if (memory_grow(&groups->list, &groups->capacity, groups->count + 1, sizeof(*groups->list)))
		return SIZE_MAX;
	group = &groups->list[groups->count];
	*group = (struct process_group){ 0 };
	if (groups->count + 1 == PROCESS_GROUPS_MAX) {
		group->others = true;
		return groups->count++;
	}
	group->name = name ? strdup(name) : NULL;
	if ((name && !group->name) || map_set(&groups->names, key, groups->count)) {
		free(group->name);
		return SIZE_MAX;
	}
	groups->name_bytes += name ? strlen(name) + 1 : 0;
	return groups->count++;
}

static size_t group_of(struct process_groups *groups, const struct process *process)
{
	char name[PROCESS_GROUPS_NAME_BYTES];
	const bool is_known =
		process_groups_name_of(groups->by, &process->identity.known, process->name, name);
	const char *known = is_known ? name : NULL;
	uint64_t key = hash_of(known);
	const uint64_t *place;

	for (; (place = map_get(&groups->names, key)); key++)
		if (is_named(&groups->list[*place], known))
			return *place;
	if (groups->count == PROCESS_GROUPS_MAX)
		return groups->count - 1;
	return add_group(groups, known, key);
}

/* NULL: there is none, and none is made. `*err`: 0, or -ENOMEM. */
static struct process_groups_member *member_of(struct process_groups *groups,
					       const struct process *process, int *err)
{
	const uint64_t key = event_process_key(process->pid, process->start_ns);
	const uint64_t *place = map_get(&groups->places, key);
	size_t group;

	*err = 0;
	if (place)
		return &groups->members[*place];
	if (groups->members_count == PROCESS_GROUPS_MEMBERS) {
		groups->not_members++;
		return NULL;
	}
	group = group_of(groups, process);
	if (group == SIZE_MAX ||
	    memory_grow(&groups->members, &groups->members_capacity, groups->members_count + 1,
			sizeof(*groups->members)) ||
	    map_set(&groups->places, key, groups->members_count)) {
		*err = -ENOMEM;
		return NULL;
	}
	groups->members[groups->members_count] = (struct process_groups_member){ .group = group };
	groups->list[group].processes++;
	return &groups->members[groups->members_count++];
}

static void set_bytes(struct process_group *group, struct process_groups_member *member,
		      uint64_t bytes, uint64_t ts_ns)
{
	group->live_bytes += bytes - member->bytes;
	member->bytes = bytes;
	member->held |= bytes != 0;
	if (group->live_bytes <= group->peak_bytes)
		return;
	group->peak_bytes = group->live_bytes;
	group->peak_ts_ns = ts_ns;
}

static uint64_t stay_of(const struct process_groups *groups,
			const struct process_groups_member *member, size_t group)
{
	return (uint64_t)(member - groups->members) * PROCESS_GROUPS_MAX + group;
}

/*
 * It turns out to be another group's; or, if it has held memory there, it is in another container
 * or has another name from now on, and was there until then. In each group it counts once.
 */
static int move(struct process_groups *groups, struct process_groups_member *member, size_t to,
		uint64_t ts_ns)
{
	struct process_group *from = &groups->list[member->group];
	const uint64_t stay = stay_of(groups, member, member->group), bytes = member->bytes;

	if (member->held && from->name && map_set(&groups->stays, stay, 1))
		return -ENOMEM;
	set_bytes(from, member, 0, ts_ns);
	from->processes -= !map_get(&groups->stays, stay);
	groups->list[to].processes += !map_get(&groups->stays, stay_of(groups, member, to));
	member->held = false;
	member->group = to;
	set_bytes(&groups->list[to], member, bytes, ts_ns);
	return 0;
}

/* ---- while it is replayed -------------------------------------------------------------------- */

static int take(struct process_groups *groups, const struct process *process, bool renamed,
		uint64_t ts_ns)
{
	int err;
	struct process_groups_member *member = member_of(groups, process, &err);
	const uint64_t bytes = process->exited ? 0 : process_held_bytes(process);
	size_t group;

	if (!member)
		return err;
	group = renamed || member->renamed ? group_of(groups, process) : member->group;
	member->renamed = false;
	if (group == SIZE_MAX)
		return -ENOMEM;
	/* What has ended with a program was never the next one's. */
	if (bytes < member->bytes)
		set_bytes(&groups->list[member->group], member, bytes, ts_ns);
	if (group != member->group && move(groups, member, group, ts_ns))
		return -ENOMEM;
	if (process->exited && !member->exited)
		groups->list[group].left_bytes += process_left_held_bytes(process);
	member->exited = process->exited;
	member->gone = false;
	set_bytes(&groups->list[group], member, bytes, ts_ns);
	return 0;
}

/* Whether a process may have another user, container or name since. */
static bool renames(uint16_t type)
{
	return type == MS_TYPE_IDENTITY || type == MS_TYPE_EXEC || type == MS_TYPE_ATTACH;
}

/* Of a program that is about to be executed: what the process holds is still the one's before. */
static int take_name(struct process_groups *groups, const struct process *process, uint64_t ts_ns)
{
	int err = take(groups, process, false, ts_ns);
	struct process_groups_member *member = err ? NULL : member_of(groups, process, &err);

	if (member)
		member->renamed = true;
	return err;
}

int process_groups_event(struct process_groups *groups, const struct event *event,
			 const struct process *process)
{
	const uint16_t type = event->header->type;

	if (groups->by == PROCESS_GROUPS_COMM && type == MS_TYPE_IDENTITY)
		return take_name(groups, process, event_end_ns(event));
	return take(groups, process, renames(type), event_end_ns(event));
}

void process_groups_gap(struct process_groups *groups)
{
	size_t i;

	for (i = 0; i < groups->members_count; i++) {
		groups->members[i].bytes = 0;
		groups->members[i].gone = true;
	}
	for (i = 0; i < groups->count; i++)
		groups->list[i].live_bytes = 0;
}

int process_groups_look(struct process_groups *groups, const struct process *process,
			uint64_t ts_ns)
{
	return take(groups, process, true, ts_ns);
}

struct process_group *process_groups_find(struct process_groups *groups, uint32_t pid,
					  uint64_t start_ns)
{
	const uint64_t *place = map_get(&groups->places, event_process_key(pid, start_ns));

	return place ? &groups->list[groups->members[*place].group] : NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int by_peak(const void *one, const void *other)
{
	const struct process_group *a = one, *b = other;

	if (a->peak_bytes != b->peak_bytes)
		return a->peak_bytes < b->peak_bytes ? 1 : -1;
	if (a->processes != b->processes)
		return a->processes < b->processes ? 1 : -1;
	if (!a->name || !b->name)
		return !!b->name - !!a->name;
	return strcmp(a->name, b->name);
}

void process_groups_finish(struct process_groups *groups)
{
	size_t kept = 0, i;

	for (i = 0; i < groups->members_count; i++)
		groups->list[groups->members[i].group].running +=
			!groups->members[i].exited && !groups->members[i].gone;
	/* A process was of those only until more was known of it. */
	for (i = 0; i < groups->count; i++) {
		if (groups->list[i].processes)
			groups->list[kept++] = groups->list[i];
		else
			free(groups->list[i].name);
	}
	groups->count = kept;
	qsort(groups->list, groups->count, sizeof(*groups->list), by_peak);
	/* They have other places now. */
	map_fini(&groups->stays);
	map_fini(&groups->names);
	map_fini(&groups->places);
}
