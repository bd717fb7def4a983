// SPDX-License-Identifier: BSD-2-Clause
#include "commands/suppress_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "render/report_words.h"

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

/* A line that names where a part of a finding comes from would hide the other part, too. */
static void tell_partly(const struct suppression *one, const char *path)
{
	const struct suppression_source *source = &one->partly_source;
	struct string why = { 0 };

	if (!source->whole || !source->part || source->at_least)
		string_append_text(&why, "it is not known how much of it comes from there");
	else if (source->unit == FINDING_COUNT)
		string_append_format(&why, "only %s of %s of these calls were made there",
				     REPORT_COUNT(source->part), REPORT_COUNT(source->whole));
	else if (source->unit == FINDING_NS)
		string_append_format(&why, "only %s of %s was spent there",
				     REPORT_DURATION(source->part), REPORT_DURATION(source->whole));
	else
		string_append_format(&why, "only %s of %s comes from there",
				     REPORT_SIZE(source->part), REPORT_SIZE(source->whole));
	if (one->partly > 1)
		string_append_format(&why, " (and so for %" PRIu64 " more)", one->partly - 1);
	string_append_char(&why, '\0');
	log_warning("--suppress: %s: line %zu: %s of %s is not suppressed by %s: %s", path,
		    one->line, finding_rule_name(one->partly_rule), one->partly_comm, one->frame,
		    why.failed ? "too little comes from there" : why.bytes);
	string_fini(&why);
}

void suppress_file_tell(const struct suppressions *suppressions, const char *path)
{
	size_t i;

	for (i = 0; i < suppressions->count; i++) {
		const struct suppression *one = &suppressions->list[i];

		if (one->partly)
			tell_partly(one, path);
		else if (!one->used)
			log_warning("--suppress: %s: line %zu suppresses nothing: %s %s %s %s",
				    path, one->line, one->rule, one->process, one->function,
				    one->frame);
	}
}
