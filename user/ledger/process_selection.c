// SPDX-License-Identifier: BSD-2-Clause
#include "ledger/process_selection.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#define ID_LENGTH 64 /* of a container that is known by a random id, and by the beginning of it */
#define SHORT_ID_LENGTH 12 /* as docker shows it */
#define UID_LENGTH 36      /* of a pod */

bool process_selection_is_some(const struct process_selection *selection)
{
	return selection->user || selection->cgroup || selection->container || selection->pod ||
	       selection->namespace || selection->comm;
}

static bool is(const char *known, const char *asked)
{
	return known && !strcmp(known, asked);
}

static bool has_user(const struct identity *identity, const char *user)
{
	return is(identity->items[IDENTITY_USER], user) || is(identity->items[IDENTITY_UID], user);
}

static bool is_below(const char *own, const char *path, size_t length)
{
	return !strncmp(own, path, length) &&
	       (!own[length] || own[length] == '/' || own[length] == '\n');
}

/*
 * That one, or one below it. It may be written as a directory of the machine, too, where with
 * version 1 of cgroups the name of the hierarchy comes first.
 */
static bool is_cgroup(const char *own, const char *path)
{
	static const char root[] = "/sys/fs/cgroup/";
	size_t length = strlen(path), hierarchy;

	while (length && path[length - 1] == '/')
		length--;
	/* The first slash may be left out. */
	if (*path != '/')
		return *own == '/' && is_below(own + 1, path, length);
	if (length < sizeof(root) - 1 || strncmp(path, root, sizeof(root) - 1) != 0)
		return is_below(own, path, length);
	path += sizeof(root) - 2;
	length -= sizeof(root) - 2;
	hierarchy = 1 + strcspn(path + 1, "/");
	return is_below(own, path, length) ||
	       (hierarchy < length && is_below(own, path + hierarchy, length - hierarchy));
}

static bool has_cgroup(const struct identity *identity, const char *path)
{
	const char *own = identity->items[IDENTITY_CGROUP];
	const char *others = identity->items[IDENTITY_OTHER_CGROUPS];

	bool has = own && is_cgroup(own, path);

	/* A line each. */
	while (!has && others) {
		has = is_cgroup(others, path);
		others = strchr(others, '\n');
		others = others ? others + 1 : NULL;
	}
	return has;
}

static bool has_container(const struct identity *identity, const char *id)
{
	const char *own = identity->items[IDENTITY_CONTAINER];

	return is(own, id) || is(identity->items[IDENTITY_CONTAINER_NAME], id) ||
	       (own && *id && strlen(own) == ID_LENGTH && !strncmp(own, id, strlen(id)));
}

/* A name of a namespace has no slash. */
static bool has_pod(const struct identity *identity, const char *pod)
{
	const char *slash = strchr(pod, '/'), *namespace = identity->items[IDENTITY_NAMESPACE];

	if (!slash)
		return is(identity->items[IDENTITY_POD], pod) ||
		       is(identity->items[IDENTITY_POD_UID], pod);
	return is(identity->items[IDENTITY_POD], slash + 1) && namespace &&
	       strlen(namespace) == (size_t)(slash - pod) &&
	       !strncmp(namespace, pod, (size_t)(slash - pod));
}

static bool matches(const char *pattern, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return path && (!fnmatch(pattern, path, 0) || (slash && !fnmatch(pattern, slash + 1, 0)));
}

static bool has_name(const struct identity *identity, const char *comm, const char *name,
		     const char *pattern)
{
	const char *script = identity->items[IDENTITY_SCRIPT];

	if (matches(pattern, comm) || matches(pattern, name) ||
	    matches(pattern, identity->items[IDENTITY_EXE]) || matches(pattern, script))
		return true;
	/* "-m MODULE" is also its module. */
	return script && !strncmp(script, "-m ", 3) && matches(pattern, script + 3);
}

bool process_selection_fits(const struct process_selection *selection,
			    const struct identity *identity, const char *comm, const char *name)
{
	return (!selection->user || has_user(identity, selection->user)) &&
	       (!selection->cgroup || has_cgroup(identity, selection->cgroup)) &&
	       (!selection->container || has_container(identity, selection->container)) &&
	       (!selection->pod || has_pod(identity, selection->pod)) &&
	       (!selection->namespace ||
		is(identity->items[IDENTITY_NAMESPACE], selection->namespace)) &&
	       (!selection->comm || has_name(identity, comm, name, selection->comm));
}

/* Where it was earlier counts, too: memory that it holds may be from there. */
bool process_selection_has(const struct process_selection *selection, const struct process *process)
{
	const struct process_identity *identity = &process->identity;

	for (; identity; identity = identity->earlier)
		if (process_selection_fits(selection, &identity->known, process->comm,
					   process->name))
			return true;
	return false;
}

static bool is_hex(const char *text, const char *others)
{
	for (; isxdigit((unsigned char)*text) || (*text && strchr(others, *text)); text++)
		;
	return !*text;
}

/* The cgroup says whether there is a container and its id, but not its name. */
static bool may_have_container(const struct identity *identity, const char *asked)
{
	const bool is_id = strlen(asked) >= SHORT_ID_LENGTH && is_hex(asked, "");

	return !identity->items[IDENTITY_CGROUP] ||
	       (identity->items[IDENTITY_CONTAINER] && !identity->items[IDENTITY_CONTAINER_NAME] &&
		!is_id);
}

static bool may_have_pod(const struct identity *identity, const char *asked)
{
	const char *slash = strchr(asked, '/'), *pod = identity->items[IDENTITY_POD];
	const bool is_uid = strlen(asked) == UID_LENGTH && is_hex(asked, "-");

	if (!identity->items[IDENTITY_CGROUP])
		return true;
	if (pod) /* of which namespace? */
		return slash && !strcmp(pod, slash + 1) && !identity->items[IDENTITY_NAMESPACE];
	return identity->items[IDENTITY_POD_UID] && !is_uid;
}

/* It is in a pod, as its cgroup says, of which only the uid is known. */
static bool may_have_namespace(const struct identity *identity)
{
	return !identity->items[IDENTITY_CGROUP] ||
	       (!identity->items[IDENTITY_NAMESPACE] &&
		(identity->items[IDENTITY_POD] || identity->items[IDENTITY_POD_UID]));
}

bool process_selection_may_have(const struct process_selection *selection,
				const struct process *process)
{
	const struct identity *identity = &process->identity.known;
	const bool has_user = identity->items[IDENTITY_UID];
	const bool has_cgroup = identity->items[IDENTITY_CGROUP];
	const char *container = selection->container, *pod = selection->pod;
	const struct process_selection known = {
		.user = has_user ? selection->user : NULL,
		.cgroup = has_cgroup ? selection->cgroup : NULL,
		.container =
			container && may_have_container(identity, container) ? NULL : container,
		.pod = pod && may_have_pod(identity, pod) ? NULL : pod,
		.namespace = may_have_namespace(identity) ? NULL : selection->namespace,
		.comm = identity->items[IDENTITY_EXE] ? selection->comm : NULL,
	};

	return !process_selection_has(selection, process) && process_selection_has(&known, process);
}

static void append(struct string *out, size_t start, const char *what, const char *value)
{
	if (!value)
		return;
	string_append_text(out, out->length > start ? ", " : "");
	string_append_text(out, what);
	string_append_text(out, value);
}

void process_selection_append(struct string *out, const struct process_selection *selection)
{
	const size_t start = out->length;

	append(out, start, "user ", selection->user);
	append(out, start, "cgroup ", selection->cgroup);
	append(out, start, "container ", selection->container);
	append(out, start, "pod ", selection->pod);
	append(out, start, "namespace ", selection->namespace);
	append(out, start, "name ", selection->comm);
}
