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

struct found {
	struct timespec written;
	char name[NAME_MAX + 1];
};

/* The newest ones. */
struct kept {
	struct found files[BUNDLES_KEPT];
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

static void remove_bundle(struct kept *kept, const char *name)
{
	if (unlinkat(kept->directory, name, 0))
		return;
	kept->removed++;
	log_info("removed %s, an old bundle: %d newer ones are kept", name, BUNDLES_KEPT);
}

static void take(struct kept *kept, const struct found *file)
{
	struct found *oldest = &kept->files[0];
	size_t i;

	if (kept->count < BUNDLES_KEPT) {
		kept->files[kept->count++] = *file;
		return;
	}
	for (i = 1; i < BUNDLES_KEPT; i++)
		if (is_before(&kept->files[i], oldest))
			oldest = &kept->files[i];
	if (is_before(file, oldest)) {
		remove_bundle(kept, file->name);
		return;
	}
	remove_bundle(kept, oldest->name);
	*oldest = *file;
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
		file = (struct found){ .written = status.st_mtim };
		snprintf(file.name, sizeof(file.name), "%s", entry->d_name);
		take(kept, &file);
	}
	removed = kept ? kept->removed : 0;
	if (stream)
		closedir(stream);
	free(kept);
	return removed;
}
