// SPDX-License-Identifier: BSD-2-Clause
#include "host/pod_logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define LOOKED_AT_MAX (POD_LOGS_MAX * 4ul) /* names, also of what is not kubelet's */
#define CONTAINERS_MAX 256                 /* of a pod */
#define SETTLED_NS 1000000000              /* times of directories are at least as exact */
#define AGAIN_NS 100000000

#define HEX "0123456789abcdef"
#define LABEL HEX "ghijklmnopqrstuvwxyz-"
#define SUBDOMAIN LABEL "."
#define LABEL_MAX 63
#define SUBDOMAIN_MAX 253
#define ID_LENGTH 64
#define SHORT_ID 12
#define LINK_NAME_MAX 251 /* characters before ".log" */

static const char suffix[] = ".log";

/* ---- names ----------------------------------------------------------------------------------- */

static bool consists_of(const char *text, const char *characters, size_t least, size_t most)
{
	const size_t length = strlen(text);

	return length >= least && length <= most && strspn(text, characters) == length;
}

static bool are_names(const struct container_names *names)
{
	return consists_of(names->namespace, LABEL, 1, LABEL_MAX) &&
	       consists_of(names->pod, SUBDOMAIN, 1, SUBDOMAIN_MAX) &&
	       (!names->name[0] || consists_of(names->name, LABEL, 1, LABEL_MAX));
}

/* NAMESPACE_POD_UID; the UID of a static pod is a hash of its manifest. */
static bool parse_pod(struct pod_logs_entry *entry)
{
	char *rest = entry->text;

	entry->names.namespace = strsep(&rest, "_");
	entry->names.pod = rest ? strsep(&rest, "_") : "";
	entry->names.name = "";
	entry->names.id = rest ? rest : "";
	return consists_of(entry->names.id, HEX "-", 32, CONTAINER_POD_BYTES - 1) &&
	       are_names(&entry->names);
}

/* POD_NAMESPACE_CONTAINER-ID.log */
static bool parse_link(struct pod_logs_entry *entry)
{
	const size_t length = strlen(entry->text), end = sizeof(suffix) - 1;
	char *rest = entry->text, *dash;

	if (length <= end || strcmp(rest + length - end, suffix) != 0)
		return false;
	rest[length - end] = '\0';
	entry->names.pod = strsep(&rest, "_");
	entry->names.namespace = rest ? strsep(&rest, "_") : "";
	dash = rest ? strrchr(rest, '-') : NULL;
	if (!dash || dash == rest)
		return false;
	*dash = '\0';
	entry->names.name = rest;
	entry->names.id = dash + 1;
	entry->is_cut = length - end == LINK_NAME_MAX && strlen(entry->names.id) < ID_LENGTH;
	return consists_of(entry->names.id, HEX, entry->is_cut ? SHORT_ID : ID_LENGTH, ID_LENGTH) &&
	       are_names(&entry->names);
}

/* ---- a directory ----------------------------------------------------------------------------- */

/* How one of the two is read. */
struct kind {
	bool (*parse)(struct pod_logs_entry *entry);
	unsigned char type; /* DT_DIR ... */
	mode_t mode;        /* the same, of file systems that do not say the type */
	const char *what;
};

static const struct kind pod_kind = { parse_pod, DT_DIR, S_IFDIR, "pods" };
static const struct kind link_kind = { parse_link, DT_LNK, S_IFLNK, "containers" };

static void forget(struct pod_logs_table *table)
{
	size_t i;

	for (i = 0; i < table->count; i++)
		free(table->entries[i].text);
	free(table->entries);
	table->entries = NULL;
	table->count = 0;
}

static int by_id(const void *left, const void *right)
{
	const struct pod_logs_entry *a = left, *b = right;

	return strcmp(a->names.id, b->names.id);
}

static bool is_of_kind(DIR *directory, const struct dirent *found, const struct kind *kind)
{
	struct stat status;

	if (found->d_type != DT_UNKNOWN)
		return found->d_type == kind->type;
	return !fstatat(dirfd(directory), found->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
	       (status.st_mode & S_IFMT) == kind->mode;
}

static void add(struct pod_logs_table *table, const char *name, const struct kind *kind)
{
	struct pod_logs_entry entry = { .text = strdup(name) };

	if (entry.text && kind->parse(&entry))
		table->entries[table->count++] = entry;
	else
		free(entry.text);
}

/* What two claim to be, neither is believed to be. */
static void drop_twins(struct pod_logs_table *table)
{
	size_t i, end, kept = 0;

	for (i = 0; i < table->count; i = end) {
		for (end = i + 1;
		     end < table->count && !by_id(&table->entries[i], &table->entries[end]);)
			free(table->entries[end++].text);
		if (end == i + 1)
			table->entries[kept++] = table->entries[i];
		else
			free(table->entries[i].text);
	}
	table->count = kept;
}

static void fit(struct pod_logs_table *table)
{
	struct pod_logs_entry *fitting =
		realloc(table->entries, (table->count + 1) * sizeof(*table->entries));

	if (fitting)
		table->entries = fitting;
}

static void read_names(struct pod_logs_table *table, DIR *directory, const char *path,
		       const struct kind *kind)
{
	const struct dirent *found;
	size_t looked_at = 0;

	forget(table);
	table->entries = calloc(POD_LOGS_MAX, sizeof(*table->entries));
	if (!table->entries)
		return;
	while (table->count < POD_LOGS_MAX && looked_at++ < LOOKED_AT_MAX &&
	       (found = readdir(directory)))
		if (is_of_kind(directory, found, kind))
			add(table, found->d_name, kind);
	if ((table->count == POD_LOGS_MAX || looked_at > LOOKED_AT_MAX) && !table->is_full) {
		log_warning("%s: more than %zu %s: the names of further ones are not known", path,
			    table->count, kind->what);
		table->is_full = true;
	}
	qsort(table->entries, table->count, sizeof(*table->entries), by_id);
	drop_twins(table);
	fit(table);
}

static bool is_trusted(struct pod_logs_table *table, const struct stat *status, const char *path)
{
	if ((!status->st_uid || status->st_uid == geteuid()) &&
	    !(status->st_mode & (S_IWGRP | S_IWOTH)))
		return true;
	if (!table->is_refused)
		log_warning("%s: not kubelet's: it must be root's or yours, and only its owner may"
			    " write it; no names are taken from it",
			    path);
	table->is_refused = true;
	return false;
}

static bool is_changed(const struct stat *old, const struct stat *now)
{
	return old->st_ino != now->st_ino || old->st_dev != now->st_dev ||
	       old->st_mtim.tv_sec != now->st_mtim.tv_sec ||
	       old->st_mtim.tv_nsec != now->st_mtim.tv_nsec;
}

static bool is_settled(const struct stat *status)
{
	const uint64_t changed_ns = (uint64_t)status->st_mtim.tv_sec * 1000000000ull +
				    (uint64_t)status->st_mtim.tv_nsec;
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec >
	       changed_ns + SETTLED_NS;
}

/*
 * Two changes in a moment may have the same time: while the last one is as new as that, the
 * directory is read again, but not each time that somebody asks.
 */
static bool is_worth_reading(const struct pod_logs_table *table, const struct stat *status,
			     uint64_t now_ns)
{
	return !table->read_ns || is_changed(&table->status, status) ||
	       (!table->is_settled && now_ns - table->read_ns >= AGAIN_NS);
}

/* The directory, which the caller closes; NULL: there is none, or it is not kubelet's. */
static DIR *open_directory(struct pod_logs_table *table, const char *path, struct stat *status)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = NULL;

	if (fd >= 0 && !fstat(fd, status) && is_trusted(table, status, path))
		directory = fdopendir(fd);
	else if (fd < 0 && errno != ENOENT && !table->is_refused) {
		log_warning("%s: cannot open: %s: no pod is named by it", path, strerror(errno));
		table->is_refused = true;
	}
	if (fd >= 0 && !directory)
		close(fd);
	return directory;
}

static void read_again(struct pod_logs_table *table, const char *path, const struct kind *kind)
{
	const uint64_t now_ns = clock_monotonic_ns();
	struct stat status;
	DIR *directory = open_directory(table, path, &status);

	/* What is known stays: no UID and no id is given twice. */
	if (!directory)
		return;
	if (is_worth_reading(table, &status, now_ns)) {
		table->is_settled = is_settled(&status);
		table->status = status;
		table->read_ns = now_ns;
		read_names(table, directory, path, kind);
	}
	closedir(directory);
}

/* One that is cut stands before the id that it is of, and only others that are cut between them. */
static const struct pod_logs_entry *find_in(const struct pod_logs_table *table, const char *id)
{
	size_t low = 0, high;

	for (high = table->count; low < high;) {
		const size_t middle = (low + high) / 2;

		if (strcmp(table->entries[middle].names.id, id) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low && !strncmp(table->entries[low - 1].names.id, id, SHORT_ID); low--) {
		const struct pod_logs_entry *entry = &table->entries[low - 1];

		if (entry->is_cut ? !strncmp(entry->names.id, id, strlen(entry->names.id)) :
				    !strcmp(entry->names.id, id))
			return entry;
	}
	return NULL;
}

static const struct pod_logs_entry *find(struct pod_logs_table *table, const char *id,
					 const char *path, const struct kind *kind)
{
	const struct pod_logs_entry *entry = find_in(table, id);

	if (entry)
		return entry;
	read_again(table, path, kind);
	return find_in(table, id);
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool is_same_pod(const struct container_names *a, const struct container_names *b)
{
	return !strcmp(a->namespace, b->namespace) && !strcmp(a->pod, b->pod);
}

/*
 * kubelet makes a container's directory before the container: where there is only one, it is that
 * one's. Links come a moment after the container has been started, and not from every kubelet.
 */
static const char *only_container(struct pod_logs *logs, const struct container_names *pod)
{
	static const struct kind kind = { .type = DT_DIR, .mode = S_IFDIR };
	const struct dirent *found;
	size_t looked_at = 0, count = 0;
	char path[4096];
	DIR *directory = NULL;
	int fd = -1;

	if (snprintf(path, sizeof(path), "%s/%s_%s_%s", logs->path, pod->namespace, pod->pod,
		     pod->id) < (int)sizeof(path))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		directory = fdopendir(fd);
	if (fd >= 0 && !directory)
		close(fd);
	while (directory && count < 2 && (found = readdir(directory))) {
		if (looked_at++ == CONTAINERS_MAX)
			count = 2;
		else if (consists_of(found->d_name, LABEL, 1, LABEL_MAX) &&
			 is_of_kind(directory, found, &kind) && !count++)
			snprintf(logs->name, sizeof(logs->name), "%.*s", LABEL_MAX, found->d_name);
	}
	if (directory)
		closedir(directory);
	return count == 1 ? logs->name : "";
}

/* The directory beside the pods', of which the links are; "": the path is too long. */
static void path_of_links(const char *pods, char path[4096])
{
	size_t length = strlen(pods);

	while (length && pods[length - 1] == '/')
		length--;
	while (length && pods[length - 1] != '/')
		length--;
	if (snprintf(path, 4096, "%.*scontainers", (int)length, pods) >= 4096)
		path[0] = '\0';
}

const struct container_names *pod_logs_find(struct pod_logs *logs,
					    const struct container *container)
{
	const struct pod_logs_entry *pod, *link = NULL;
	char path[4096];

	if (!logs->path || !container->pod_uid[0])
		return NULL;
	pod = find(&logs->pods, container->pod_uid, logs->path, &pod_kind);
	path_of_links(logs->path, path);
	if (container->id[0] && path[0])
		link = find(&logs->links, container->id, path, &link_kind);
	/* Who can choose a long name can choose where it is cut. */
	if (link && (pod ? !is_same_pod(&pod->names, &link->names) : link->is_cut))
		link = NULL;
	if (!pod && !link)
		return NULL;
	logs->found = link ? link->names : pod->names;
	if (!link && container->id[0])
		logs->found.name = only_container(logs, &pod->names);
	return &logs->found;
}

void pod_logs_close(struct pod_logs *logs)
{
	forget(&logs->pods);
	forget(&logs->links);
	*logs = (struct pod_logs){ 0 };
}
