// SPDX-License-Identifier: BSD-2-Clause
#include "commands/progress.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/string.h"

#define FIRST_NS 500000000ull /* what takes no longer needs no line */
#define EVERY_NS 200000000ull

void progress_begin(struct progress *progress, const struct dump_set *set)
{
	struct stat file;
	size_t i, j;

	*progress = (struct progress){ .begun_ns = clock_monotonic_ns() };
	progress->next_ns = progress->begun_ns + FIRST_NS;
	for (i = 0; i < set->count; i++)
		for (j = 0; j < set->recordings[i].count; j++)
			if (!stat(set->recordings[i].files[j].path, &file))
				progress->total_bytes += file.st_size;
}

void progress_show(struct progress *progress, uint64_t bytes)
{
	const uint64_t now_ns = clock_monotonic_ns();
	char line[128], read[STRING_NUMBER_BYTES], total[STRING_NUMBER_BYTES],
		rate[STRING_NUMBER_BYTES];
	double seconds = (double)(now_ns - progress->begun_ns) / 1e9;

	if (now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + EVERY_NS;
	/* A file that is still written to grows, one with several recordings may be read twice. */
	if (bytes > progress->total_bytes)
		bytes = progress->total_bytes;
	snprintf(line, sizeof(line), "%3.0f %%, %s of %s, %s/s",
		 progress->total_bytes ? 100.0 * (double)bytes / (double)progress->total_bytes : 0,
		 string_size(read, bytes), string_size(total, progress->total_bytes),
		 string_size(rate, (uint64_t)((double)bytes / seconds)));
	log_progress(line);
}

void progress_end(void)
{
	log_progress(NULL);
}
