// SPDX-License-Identifier: BSD-2-Clause
#include "commands/suppress_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define PIECE (64u << 10)
#define LONGEST (1u << 20)

static int read_all(struct string *bytes, FILE *file)
{
	size_t length;
	char *place;

	do {
		place = string_extend(bytes, PIECE);
		if (!place)
			return -ENOMEM;
		length = fread(place, 1, PIECE, file);
		bytes->length -= PIECE - length;
		if (bytes->length > LONGEST)
			return -EFBIG;
	} while (length == PIECE);
	return ferror(file) ? -EIO : 0;
}

int suppress_file_read(struct suppressions *suppressions, const char *path)
{
	struct string bytes = { 0 }, why = { 0 };
	FILE *file = fopen(path, "re");
	int err = file ? read_all(&bytes, file) : -errno;

	if (file)
		fclose(file);
	if (!err)
		err = suppressions_parse(suppressions, bytes.bytes, bytes.length, &why);
	if (err)
		log_error("--suppress: %s: %.*s%s", path, (int)why.length,
			  why.length ? why.bytes : "", why.length ? "" : strerror(-err));
	string_fini(&bytes);
	string_fini(&why);
	return err;
}

void suppress_file_tell_unused(const struct suppressions *suppressions, const char *path)
{
	size_t i;

	for (i = 0; i < suppressions->count; i++)
		if (!suppressions->list[i].used)
			log_warning("--suppress: %s: line %zu suppresses nothing: %s %s %s %s",
				    path, suppressions->list[i].line, suppressions->list[i].rule,
				    suppressions->list[i].process, suppressions->list[i].function,
				    suppressions->list[i].frame);
}
