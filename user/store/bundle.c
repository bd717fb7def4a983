// SPDX-License-Identifier: BSD-2-Clause
#include "store/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

	if (!err && !file->bytes)
		err = -ENODATA;
	if (!err && bundle->end)
		err = dump_writer_end_copy(bundle->writer, bundle->end, bundle->now_ns, write_block,
					   file);
	return err;
}

/* Returns 0, -EEXIST, or another -errno. */
static int rename_new(const char *from, const char *to)
{
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* Not every file system can. */
	if (link(from, to))
		return -errno;
	unlink(from);
	return 0;
}

static int name_it(const struct bundle *bundle, const char *from, struct string *name)
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
		err = name->failed ? -ENOMEM : rename_new(from, name->bytes);
	} while (err == -EEXIST && number && ++number - bundle->number < NUMBERS);
	return err;
}

int bundle_write(const struct bundle *bundle, struct string *name, uint64_t *bytes)
{
	struct string temporary = { 0 };
	struct dump_file file = { .fd = -1 };
	int err;

	string_append_format(&temporary, "%s.%d.tmp", bundle->path, (int)getpid());
	string_append_char(&temporary, '\0');
	err = temporary.failed ? -ENOMEM : dump_file_create(&file, temporary.bytes);
	if (!err) {
		err = fill(bundle, &file);
		*bytes = file.bytes;
		dump_file_close(&file);
		if (!err)
			err = name_it(bundle, temporary.bytes, name);
		if (err)
			unlink(temporary.bytes);
	}
	if (err)
		log_error("%s: cannot write the bundle: %s",
			  name->length ? name->bytes : bundle->path,
			  err == -ENODATA ? "nothing could be written into the ring" :
					    strerror(-err));
	string_fini(&temporary);
	return err;
}
