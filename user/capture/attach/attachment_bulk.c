// SPDX-License-Identifier: BSD-2-Clause
#include "capture/attach/attachment_bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/attach/programs.h"
#include "event/probe.h"

struct attachment_bulk {
	struct attachment probes;
	struct attachment_site site; /* without its path */
	struct detacher *detacher;
	int fd; /* of the file */
};

static int attach(struct attachment_bulk *bulk, struct programs *programs)
{
	struct attachment_site site = bulk->site;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", bulk->fd);
	site.path = path;
	return attachment_open(&bulk->probes, programs, &site, bulk->detacher);
}

int attachment_bulk_open(struct attachment *attachment, struct programs *programs,
			 const struct attachment_site *site, struct detacher *detacher)
{
	struct attachment_bulk *bulk = calloc(1, sizeof(*bulk));
	const struct library *library = site->library;
	int err = bulk ? 0 : -ENOMEM;

	if (bulk) {
		bulk->site = *site;
		bulk->site.path = NULL;
		bulk->site.kinds = programs_apart(programs);
		bulk->detacher = detacher;
		bulk->fd = open(site->path, O_RDONLY | O_CLOEXEC);
		attachment->bulk = bulk;
		if (bulk->fd < 0)
			err = -errno;
	}
	if (!err && programs_wants_bulk(programs))
		err = attach(bulk, programs);
	if (!err) {
		attachment->functions += bulk->probes.functions;
		attachment->driver_unseen |= bulk->probes.driver_unseen;
		return 0;
	}
	attachment_close(attachment);
	*attachment =
		(struct attachment){ .library = library, .may_pass = programs_is_for_want(err) };
	return err;
}

void attachment_bulk_close(struct attachment_bulk *bulk)
{
	if (!bulk)
		return;
	attachment_close(&bulk->probes);
	if (bulk->fd >= 0)
		close(bulk->fd);
	free(bulk);
}

int attachment_bulk_set(struct attachment *attachment, struct programs *programs)
{
	struct attachment_bulk *bulk = attachment->bulk;
	const bool wanted = programs_wants_bulk(programs);

	if (!bulk || wanted == (bulk->probes.functions != 0))
		return 0;
	if (wanted)
		return attach(bulk, programs);
	attachment_close(&bulk->probes);
	return 0;
}

bool attachment_bulk_has(const struct attachment_bulk *bulk, uint32_t row)
{
	return bulk->site.kinds >> probe_at(row)->spec.kind & 1;
}

const struct attachment *attachment_bulk_probes(const struct attachment_bulk *bulk)
{
	return &bulk->probes;
}
