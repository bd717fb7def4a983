// SPDX-License-Identifier: BSD-2-Clause
#include "store/bundle.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/draft.h"
#include "base/log.h"
#include "store/dump_name.h"

#define NUMBERS 10000 /* that are tried */

/* Fails as dump_file_write() does. */
static int write_block(void *context, const struct block_header *header, const void *stored)
{
	return dump_file_write(context, header, stored);
}

static int fill(const struct bundle *bundle, struct dump_file *file)
{
	int err = dump_ring_copy(bundle->ring, file);

	if (!err && !file->has.bytes)
		err = -ENODATA;
	if (!err && bundle->end)
		err = dump_writer_end_copy(bundle->writer, bundle->end, bundle->now_ns, write_block,
					   file);
	return err;
}

/* All its names are in the same directory. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int name_it(const struct bundle *bundle, struct draft *draft, struct string *name)
{
	uint32_t number = bundle->number;
	char suffix[64];
	int err;

	do {
		string_clear(name);
		snprintf(suffix, sizeof(suffix), number ? "%s-%u" : "%s",
			 bundle->suffix ? bundle->suffix : "", number);
		if (bundle->suffix)
			dump_name_with(name, bundle->path, suffix);
		else
			string_append(name, bundle->path, strlen(bundle->path) + 1);
		err = name->failed ? -ENOMEM : draft_name(draft, last_part(name->bytes), false);
	} while (err == -EEXIST && number && ++number - bundle->number < NUMBERS);
	return err;
}

static int write_draft(const struct bundle *bundle, struct draft *draft, struct string *name,
		       uint64_t *bytes)
{
	struct dump_file file = { .fd = draft->fd, .path = (char *)bundle->path };
	int err = fill(bundle, &file);

	*bytes = file.has.bytes;
	return err ? err : name_it(bundle, draft, name);
}

static int write_at(const struct bundle *bundle, struct string *name, uint64_t *bytes)
{
	struct place place;
	struct draft draft;
	int err = place_find_name(&place, bundle->path);

	if (!err) {
		err = draft_open(&draft, &place, 0600);
		if (err)
			place_close(&place);
	}
	if (!err) {
		err = write_draft(bundle, &draft, name, bytes);
		draft_close(&draft);
	}
	if (err && err != bundle->said)
		log_error("%s: cannot write the bundle: %s%s",
			  name->length ? name->bytes : bundle->path,
			  err == -ENODATA ? "nothing could be written into the ring" :
					    place_error(err),
			  bundle->again ? "; it is tried again and again" : "");
	return err;
}

int bundle_write(const struct bundle *bundle, struct string *name, uint64_t *bytes)
{
	const struct dump_name now = {
		.host = bundle->host,
		.pid = getpid(),
		.realtime_ns = clock_monotonic_ns() + clock_realtime_offset_ns(),
	};
	struct bundle at = *bundle;
	struct string path = { 0 };
	int err;

	if (!bundle->host)
		return write_at(bundle, name, bytes);
	err = dump_name_expand(&path, bundle->path, &now);
	if (path.failed)
		err = -ENOMEM;
	at.path = path.bytes;
	if (!err)
		err = write_at(&at, name, bytes);
	string_fini(&path);
	return err;
}
