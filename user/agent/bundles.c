// SPDX-License-Identifier: BSD-2-Clause
#include "agent/bundles.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define BUNDLES_SEEN 64 /* at a time */

/* Bundles are copies of one ring: one that is written so soon after another has its events, too. */
#define SAME_INCIDENT_S 600

/* So many stay for memory that ran out, however many others are asked for, and the reverse. */
#define OOM_BUNDLES_LEAST 3

struct found {
	struct timespec written;
	bool is_oom; /* else it was asked for, by a signal or a limit */
	char name[NAME_MAX + 1];
};

/* All of them, the oldest first. */
struct kept {
	struct found files[BUNDLES_SEEN];
	size_t count, removed;
	int directory;
};

static bool is_before(const struct found *a, const struct found *b)
{
	if (a->written.tv_sec != b->written.tv_sec)
		return a->written.tv_sec < b->written.tv_sec;
	if (a->written.tv_nsec != b->written.tv_nsec)
		return a->written.tv_nsec < b->written.tv_nsec;
	return strcmp(a->name, b->name) < 0;
}

/* "host-20261126T100000.oom-3.mscope" */
static bool is_bundle(const char *name)
{
	static const char *const kinds[] = { ".oom-", ".signal-", ".limit-" };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *number = strstr(name, kinds[i]);
		size_t digits;

		if (!number)
			continue;
		number += strlen(kinds[i]);
		digits = strspn(number, "0123456789");
		if (digits && !strcmp(number + digits, ".mscope"))
			return true;
	}
	return false;
}

/* Whether memory ran out again soon after it, and has a bundle of that. */
static bool is_repeated(const struct kept *kept, size_t place)
{
	const struct found *file = &kept->files[place];

	while (++place < kept->count)
		if (kept->files[place].is_oom)
			return kept->files[place].written.tv_sec - file->written.tv_sec <
			       SAME_INCIDENT_S;
	return false;
}

static size_t count_oom(const struct kept *kept)
{
	size_t count = 0, i;

	for (i = 0; i < kept->count; i++)
		count += kept->files[i].is_oom;
	return count;
}

/* The one that says least that others do not say. */
static size_t least(const struct kept *kept)
{
	const bool of_oom = count_oom(kept) > OOM_BUNDLES_LEAST;
	size_t i;

	for (i = 0; of_oom && i < kept->count; i++)
		if (kept->files[i].is_oom && is_repeated(kept, i))
			return i;
	for (i = 0; i < kept->count && kept->files[i].is_oom != of_oom; i++)
		;
	return i;
}

static void remove_bundle(struct kept *kept, size_t place)
{
	const struct found *file = &kept->files[place];

	if (!unlinkat(kept->directory, file->name, 0)) {
		kept->removed++;
		log_info("removed %s, an old bundle%s: %d are kept", file->name,
			 is_repeated(kept, place) ? ", as memory ran out again soon after it" : "",
			 BUNDLES_KEPT);
	}
	kept->count--;
	memmove(&kept->files[place], &kept->files[place + 1],
		(kept->count - place) * sizeof(*kept->files));
}

static void add(struct kept *kept, const struct found *file)
{
	size_t i;

	if (kept->count == BUNDLES_SEEN)
		remove_bundle(kept, least(kept));
	for (i = kept->count++; i && is_before(file, &kept->files[i - 1]); i--)
		kept->files[i] = kept->files[i - 1];
	kept->files[i] = *file;
}

size_t bundles_prune(const char *directory)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	DIR *stream = kept ? opendir(directory) : NULL;
	const struct dirent *entry;
	struct stat status;
	struct found file;
	size_t removed;

	while (stream && (entry = readdir(stream))) {
		kept->directory = dirfd(stream);
		if (!is_bundle(entry->d_name) ||
		    fstatat(kept->directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode) || status.st_uid != geteuid())
			continue;
		file = (struct found){ .written = status.st_mtim,
				       .is_oom = strstr(entry->d_name, ".oom-") };
		snprintf(file.name, sizeof(file.name), "%s", entry->d_name);
		add(kept, &file);
	}
	while (kept && kept->count > BUNDLES_KEPT)
		remove_bundle(kept, least(kept));
	removed = kept ? kept->removed : 0;
	if (stream)
		closedir(stream);
	free(kept);
	return removed;
}
