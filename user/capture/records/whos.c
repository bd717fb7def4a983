// SPDX-License-Identifier: BSD-2-Clause
#include "capture/records/whos.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- keeping them ---------------------------------------------------------------------------- */

static bool is_well_formed(const struct ms_who *record, size_t length)
{
	size_t text, bytes = 0;

	if (length < sizeof(*record) || record->event.size > length)
		return false;
	for (text = 0; text < MS_WHO_TEXTS; text++)
		bytes += record->bytes[text];
	return bytes <= length - sizeof(*record);
}

static bool is_of(const struct ms_who *record, pid_t pid, uint64_t start_ns)
{
	return record && record->event.pid == (uint32_t)pid && record->event.start_ns == start_ns;
}

static struct ms_who **place_of(struct whos *whos, const struct ms_event *event)
{
	size_t i;

	for (i = 0; i < WHOS; i++)
		if (is_of(whos->kept[i], (pid_t)event->pid, event->start_ns))
			return &whos->kept[i];
	i = whos->next;
	whos->next = (i + 1) % WHOS;
	return &whos->kept[i];
}

/* It has the whole environment, in which there are secrets. */
static void forget(struct ms_who *record)
{
	if (record)
		explicit_bzero(record, record->event.size);
	free(record);
}

void whos_keep(struct whos *whos, const struct ms_who *record, size_t length)
{
	struct ms_who *copy = is_well_formed(record, length) ? malloc(length) : NULL;
	struct ms_who **place;

	if (!copy)
		return;
	memcpy(copy, record, length);
	place = place_of(whos, &copy->event);
	forget(*place);
	*place = copy;
}

void whos_fini(struct whos *whos)
{
	size_t i;

	for (i = 0; i < WHOS; i++)
		forget(whos->kept[i]);
	memset(whos, 0, sizeof(*whos));
}

const struct ms_who *whos_find(const struct whos *whos, pid_t pid, uint64_t start_ns)
{
	size_t i;

	for (i = 0; i < WHOS; i++)
		if (is_of(whos->kept[i], pid, start_ns))
			return whos->kept[i];
	return NULL;
}

/* ---- what they say --------------------------------------------------------------------------- */

static const char *text_of(const struct ms_who *who, enum ms_who_text text, size_t *bytes)
{
	const char *at = who->texts;
	size_t before;

	for (before = 0; before < (size_t)text; before++)
		at += who->bytes[before];
	*bytes = who->bytes[text];
	return at;
}

/* Without the last string if its end may be missing: half a value is none. */
static const char *whole_strings(const struct ms_who *who, enum ms_who_text text, uint32_t cut,
				 size_t *bytes)
{
	const char *at = text_of(who, text, bytes);

	while (who->known & cut && *bytes && at[*bytes - 1])
		--*bytes;
	return at;
}

/* "/first/.../last" from the names, the last of which comes first; of a long path, its end. */
static void put_path(const char *names, size_t bytes, char *path, size_t room)
{
	size_t left = room - 1, place, length;

	path[left] = '\0';
	for (place = 0; place < bytes; place += length + 1) {
		size_t kept = length = strnlen(names + place, bytes - place);

		kept = kept < left ? kept : left;
		left -= kept;
		memcpy(path + left, names + place + length - kept, kept);
		if (left)
			path[--left] = '/';
	}
	memmove(path, path + left, room - left);
}

/* In the form that /proc/PID/cgroup has; the order, too. */
static void put_groups(const struct ms_who *who, const struct process_facts_wish *wish,
		       struct process_facts *facts)
{
	char old[PROCESS_FACTS_TEXT_BYTES] = "", group[PROCESS_FACTS_TEXT_BYTES] = "/";
	char text[2 * PROCESS_FACTS_TEXT_BYTES + 16];
	const char *names;
	size_t bytes;

	if (!(who->known & MS_WHO_GROUP))
		return;
	names = text_of(who, MS_WHO_TEXT_GROUP, &bytes);
	if (bytes)
		put_path(names, bytes, group, sizeof(group));
	names = text_of(who, MS_WHO_TEXT_OLD_GROUP, &bytes);
	if (who->known & MS_WHO_OLD_GROUP)
		put_path(names, bytes, old, sizeof(old));
	snprintf(text, sizeof(text), "%s%s%s0::%s", *old ? "1:old:" : "", old, *old ? "\n" : "",
		 group);
	process_facts_cgroup(text, wish, facts);
}

void who_facts(const struct ms_who *who, const struct process_facts_wish *wish,
	       struct process_facts *facts)
{
	const char *text;
	size_t bytes;

	memset(facts, 0, sizeof(*facts));
	facts->has_status = who->known & MS_WHO_USER && who->known & MS_WHO_PARENT;
	facts->uid = who->uid;
	facts->gid = who->gid;
	facts->parent = who->parent;
	if (who->known & MS_WHO_NS_PID)
		facts->ns_pid = who->ns_pid;
	text = text_of(who, MS_WHO_TEXT_EXE, &bytes);
	if (who->known & MS_WHO_EXE)
		put_path(text, bytes, facts->exe, sizeof(facts->exe));
	text = whole_strings(who, MS_WHO_TEXT_ARGUMENTS, MS_WHO_CUT_ARGUMENTS, &bytes);
	if (who->known & MS_WHO_ARGUMENTS)
		process_facts_arguments(text, bytes, wish, facts);
	put_groups(who, wish, facts);
	text = whole_strings(who, MS_WHO_TEXT_ENVIRONMENT, MS_WHO_CUT_ENVIRONMENT, &bytes);
	if (who->known & MS_WHO_ENVIRONMENT)
		process_facts_environment(text, bytes, wish, facts);
}

/* By the mount that it is the root of: below the same directory, the same files are seen. */
static bool has_own_root(const struct ms_who *who)
{
	struct statx root;

	return who->known & MS_WHO_ROOT &&
	       !statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_MNT_ID, &root) &&
	       root.stx_mask & STATX_MNT_ID && root.stx_attributes & STATX_ATTR_MOUNT_ROOT &&
	       root.stx_mnt_id == who->root_mount;
}

int who_view(const struct ms_who *who, struct device_view *view)
{
	uint64_t minors[4];
	const char *text;
	size_t bytes;

	if (!(who->known & MS_WHO_ENVIRONMENT) || who->known & MS_WHO_CUT_ENVIRONMENT ||
	    !has_own_root(who))
		return -ENOENT;
	text = text_of(who, MS_WHO_TEXT_ENVIRONMENT, &bytes);
	device_view_own_minors(minors);
	*view = device_view_of(text, bytes, minors);
	return 0;
}
