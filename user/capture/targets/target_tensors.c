// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/target_tensors.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"

bool target_tensors_note(struct target_tensors *tensors, const struct library *library, int fd)
{
	size_t i;

	if (!library->frameworks_count)
		return true;
	for (i = 0; i < tensors->count; i++)
		if (tensors->files[i].library == library)
			return true;
	if (i == TARGET_TENSORS)
		return false;
	tensors->files[i].library = library;
	tensors->files[i].fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	tensors->files[i].attachment = (struct attachment){ 0 };
	tensors->count++;
	return true;
}

void target_tensors_attach(struct target_tensors *tensors, struct programs *programs,
			   struct detacher *detacher, pid_t pid)
{
	char path[64];
	size_t i;

	for (i = 0; i < tensors->count; i++) {
		const struct attachment_site site = { .path = path,
						      .library = tensors->files[i].library,
						      .pid = pid };
		const int fd = tensors->files[i].fd;

		if (fd < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (!attachment_open_framework(&tensors->files[i].attachment, programs, &site,
					       detacher))
			log_debug("%s: its tensors are seen in process %d", site.library->path,
				  pid);
		close(fd);
		tensors->files[i].fd = -1;
	}
}

void target_tensors_close(struct target_tensors *tensors)
{
	size_t i;

	for (i = 0; i < tensors->count; i++) {
		if (tensors->files[i].attachment.fds)
			attachment_close(&tensors->files[i].attachment);
		if (tensors->files[i].fd >= 0)
			close(tensors->files[i].fd);
	}
	tensors->count = 0;
}
