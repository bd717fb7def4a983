// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/target_markers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"

static bool is_known(const struct target_markers *markers, const struct library *library)
{
	size_t i;

	for (i = 0; i < markers->count; i++)
		if (markers->attachments[i].library == library)
			return true;
	return false;
}

/* What could not be attached to is remembered, too: it is not to be logged each time. */
void target_markers_add(struct target_markers *markers, struct programs *programs,
			struct detacher *detacher, pid_t pid, const struct library *library, int fd)
{
	char path[64];
	const struct attachment_site site = { .path = path, .library = library, .pid = pid };
	struct attachment *attachment;

	if (!library->markers_count || is_known(markers, library) ||
	    memory_grow(&markers->attachments, &markers->capacity, markers->count + 1,
			sizeof(*markers->attachments)))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	attachment = &markers->attachments[markers->count++];
	if (attachment_open_markers(attachment, programs, &site, detacher))
		*attachment = (struct attachment){ .library = library };
	else
		log_debug("%s: %zu markers are seen in process %d", library->path,
			  library->markers_count, pid);
}

void target_markers_executed(struct target_markers *markers, bool by_first_thread)
{
	if (!by_first_thread)
		target_markers_close(markers);
}

void target_markers_close(struct target_markers *markers)
{
	while (markers->count)
		attachment_close(&markers->attachments[--markers->count]);
	free(markers->attachments);
	*markers = (struct target_markers){ 0 };
}
