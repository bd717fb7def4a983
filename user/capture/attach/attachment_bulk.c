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
	int fd;        /* of the file */
	bool attached; /* also if there was nothing to attach to */
	bool held;     /* see attachment_bulk_hold() */
};

static int attach(struct attachment_bulk *bulk, struct programs *programs)
{
	struct attachment_site site = bulk->site;
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", bulk->fd);
	site.path = path;
	err = attachment_open(&bulk->probes, programs, &site, bulk->detacher);
	bulk->attached = !err;
	bulk->held &= err != 0;
	bulk->site.again |= err != 0;
	return err;
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
	/* Without them, the account of memory is still exact. */
	if (!err && programs_wants_bulk(programs) && attach(bulk, programs) &&
	    !attachment->functions)
		err = -ENOENT;
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

	if (!bulk || wanted == bulk->attached)
		return 0;
	if (wanted)
		return attach(bulk, programs);
	bulk->attached = false;
	attachment_close(&bulk->probes);
	return 0;
}

bool attachment_bulk_hold(struct attachment *attachment)
{
	struct attachment_bulk *bulk = attachment->bulk;
	const bool first = bulk && !bulk->held;

	if (bulk)
		bulk->held = true;
	return first;
}

bool attachment_bulk_is_missing(const struct attachment *attachment,
				const struct programs *programs)
{
	return attachment->bulk && programs_wants_bulk(programs) && !attachment->bulk->attached;
}

bool attachment_bulk_has(const struct attachment_bulk *bulk, uint32_t row)
{
	return bulk->site.kinds >> probe_at(row)->spec.kind & 1;
}

const struct attachment *attachment_bulk_probes(const struct attachment_bulk *bulk)
{
	return &bulk->probes;
}
