// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/identity_record.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "event/identity.h"

/* Which variables of a process's environment are looked at, but for the last two, are items. */
static const char *const variables[] = {
#define TEXT(name)
#define NUMBER(name)
#define VARIABLE(name) name,
#define IDENTITY(item, name, kind, description) kind(name)
#include "event/identity.def"
#undef IDENTITY
#undef TEXT
#undef NUMBER
#undef VARIABLE
	"POD_NAME",
	"POD_NAMESPACE",
};

enum {
	HOSTNAME = 0, /* the first row of its kind */
	VARIABLES = sizeof(variables) / sizeof(*variables),
	POD_NAME = VARIABLES - 2,
	POD_NAMESPACE = VARIABLES - 1,
};

_Static_assert(VARIABLES <= PROCESS_FACTS_VARIABLES, "there is room for all variables");

static void put(struct string *record, enum identity_item item, const char *value)
{
	const char *name = identity_rows[item].name;
	const size_t used = record->length - sizeof(struct ms_identity);

	/* All texts at their longest are shorter than that: what readers take. */
	if (used + strlen(name) + strlen(value) + 2 > MS_IDENTITY_MAX)
		return;
	string_append(record, name, strlen(name) + 1);
	string_append(record, value, strlen(value) + 1);
}

static void put_text(struct string *record, enum identity_item item, const char *value)
{
	if (value[0])
		put(record, item, value);
}

static void put_number(struct string *record, enum identity_item item, uint32_t value)
{
	char text[STRING_NUMBER_BYTES];

	snprintf(text, sizeof(text), "%u", value);
	put(record, item, text);
}

/* A title is written over the environment. What was known of that is still true. */
static const struct identity *lost_environment(const struct identity_maker *maker)
{
	size_t i;

	for (i = 0; i < VARIABLES; i++)
		if (maker->facts.has_variable[i])
			return NULL;
	return maker->before;
}

static void put_variables(struct identity_maker *maker)
{
	const struct identity *lost = lost_environment(maker);
	const struct process_facts *facts = &maker->facts;
	enum identity_item item;
	size_t i = 0;

	for (item = 0; item < IDENTITY_ITEMS; item++) {
		if (identity_rows[item].kind != IDENTITY_VARIABLE)
			continue;
		if (facts->has_variable[i])
			put(&maker->record, item, facts->variables[i]);
		else if (lost && lost->items[item])
			put(&maker->record, item, lost->items[item]);
		i++;
	}
}

static const char *first_of(const char *said, const char *told)
{
	return said[0] ? said : told;
}

/* The names that its environment had, as long as it is in the same container. */
static void find_lost_pod(const struct identity_maker *maker, const char **name,
			  const char **namespace)
{
	const struct identity *lost = lost_environment(maker);
	const char *container = lost ? lost->items[IDENTITY_CONTAINER] : NULL;

	if (!lost || strcmp(container ? container : "", maker->facts.container.id) != 0)
		return;
	if (lost->items[IDENTITY_POD])
		*name = lost->items[IDENTITY_POD];
	if (lost->items[IDENTITY_NAMESPACE])
		*namespace = lost->items[IDENTITY_NAMESPACE];
}

/*
 * What the engine or kubelet says; else, what the program has been told. What Kubernetes gives
 * every container for its host name is the pod's name.
 */
static void put_pod(struct identity_maker *maker)
{
	const struct process_facts *facts = &maker->facts;
	const char *name = facts->variables[POD_NAME];
	const struct container_names *names =
		maker->names ? name_sources_find(maker->names, &facts->container) : NULL;
	const char *namespace = facts->variables[POD_NAMESPACE];
	struct string *record = &maker->record;

	find_lost_pod(maker, &name, &namespace);
	put_text(record, IDENTITY_POD_UID, facts->container.pod_uid);
	if (!name[0] && facts->container.pod_uid[0])
		name = facts->variables[HOSTNAME];
	if (names)
		put_text(record, IDENTITY_CONTAINER_NAME, names->name);
	put_text(record, IDENTITY_POD, names ? first_of(names->pod, name) : name);
	put_text(record, IDENTITY_NAMESPACE,
		 names ? first_of(names->namespace, namespace) : namespace);
}

static void put_title(struct identity_maker *maker)
{
	struct title own = { 0 }, *title = maker->title ? maker->title : &own;

	title_follow(title, maker->facts.title);
	put_text(&maker->record, IDENTITY_TITLE, title->text);
}

static void put_facts(struct identity_maker *maker)
{
	const struct process_facts *facts = &maker->facts;
	struct string *record = &maker->record;

	put_text(record, IDENTITY_EXE, facts->exe);
	put_text(record, IDENTITY_SCRIPT, facts->script);
	put_title(maker);
	if (facts->has_status) {
		put_number(record, IDENTITY_UID, facts->uid);
		put_text(record, IDENTITY_USER, users_name(&maker->users, facts->uid));
		put_number(record, IDENTITY_PARENT, facts->parent);
	}
	if (facts->ns_pid)
		put_number(record, IDENTITY_NS_PID, facts->ns_pid);
	put_text(record, IDENTITY_CGROUP, facts->cgroup);
	put_text(record, IDENTITY_OTHER_CGROUPS, facts->other_cgroups);
	put_text(record, IDENTITY_RUNTIME, facts->container.runtime);
	put_text(record, IDENTITY_CONTAINER, facts->container.id);
	put_pod(maker);
	put_variables(maker);
	put_text(record, IDENTITY_CMDLINE, facts->line);
}

/*
 * Whether the last facts were read after what the record says, of its process: a command that is
 * started here is looked at before the record of its execution is, and may have ended by then.
 */
static bool is_known(const struct identity_maker *maker, const struct ms_event *next)
{
	return maker->facts_of.pid == next->pid && maker->facts_of.start_ns == next->start_ns &&
	       maker->facts_ns >= next->ts_ns;
}

static size_t name_length(const char *name)
{
	static const char deleted[] = " (deleted)";
	const size_t length = strlen(name), end = sizeof(deleted) - 1;

	return length > end && !strcmp(name + length - end, deleted) ? length - end : length;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether the process has executed no other program between the two. */
static bool is_same_program(const struct process_facts *a, const struct process_facts *b)
{
	const char *name = name_of(a->exe), *other = name_of(b->exe);
	const size_t length = name_length(name);

	return length == name_length(other) && !memcmp(name, other, length);
}

/*
 * The kernel side was there at the time that the record is about. /proc says more (it cuts
 * nothing), but of the time of reading: by then the process may have executed another program, be
 * ending, or have ended.
 */
static void merge(struct process_facts *read, const struct process_facts *said)
{
	const bool is_current = read->is_whole && (!said->exe[0] || is_same_program(read, said));

	/* Whose script a worker runs, only /proc knows. */
	if (is_current && said->script[0] && !said->is_worker)
		memcpy(read->script, said->script, sizeof(read->script));
	if (is_current)
		return;
	*read = *said;
	read->is_whole = true;
}

/* Makes the facts those of the process. Returns whether anything is known. */
static bool find_facts(struct identity_maker *maker, const struct ms_event *next)
{
	const struct process_facts_wish wish = {
		.variables = variables,
		.variables_count = VARIABLES,
		.line = maker->lines,
		.cgroup = maker->cgroup,
	};
	const struct ms_who *who = whos_find(&maker->whos, (pid_t)next->pid, next->start_ns);
	const uint64_t now_ns = clock_monotonic_ns();
	const bool known = is_known(maker, next);
	bool read;

	read = !process_facts_read((pid_t)next->pid, next->start_ns, &wish, &maker->read);
	if (who) {
		who_facts(who, &wish, &maker->said);
		merge(&maker->read, &maker->said);
		read = true;
	}
	/* A zombie has a parent and a user, and no program any more. */
	if (read && (maker->read.is_whole || !known)) {
		maker->facts = maker->read;
		maker->facts_of = *next;
		maker->facts_ns = now_ns;
	}
	return read || known;
}

struct ms_identity *identity_record_make(struct identity_maker *maker, const struct ms_event *next)
{
	const struct ms_identity begin = { .event = { .ts_ns = next->ts_ns,
						      .start_ns = next->start_ns,
						      .pid = next->pid,
						      .tid = next->pid,
						      .type = MS_TYPE_IDENTITY } };
	struct string *record = &maker->record;
	struct ms_identity *made;

	string_clear(record);
	string_append(record, (const char *)&begin, sizeof(begin));
	if (find_facts(maker, next))
		put_facts(maker);
	if (record->failed)
		return NULL;
	made = (struct ms_identity *)record->bytes;
	made->event.size = (uint16_t)record->length;
	made->length = (uint32_t)(record->length - sizeof(*made));
	return made;
}

void identity_record_fini(struct identity_maker *maker)
{
	string_fini(&maker->record);
	whos_fini(&maker->whos);
}
