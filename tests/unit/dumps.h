/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dumps in memory: written block by block, read back into a pipeline, and the states that come of
 * it compared.
 */
#ifndef MEMSCOPE_TESTS_DUMPS_H
#define MEMSCOPE_TESTS_DUMPS_H

#include <stdio.h>
#include <stdlib.h>

#include "records.h"

#include "base/string.h"
#include "ledger/checkpoint.h"
#include "store/dump_reader.h"
#include "store/dump_writer.h"
#include "store/replay.h"

#define DUMP_BLOCKS_MAX 4096

struct dump {
	struct string bytes;
	size_t blocks[DUMP_BLOCKS_MAX]; /* where they begin */
	size_t blocks_count;
	size_t segments[DUMP_BLOCKS_MAX];
	size_t segments_count;
};

static inline int dump_write_block(void *context, const struct block_header *header,
				   const void *stored)
{
	struct dump *dump = context;

	assert_true(dump->blocks_count < DUMP_BLOCKS_MAX);
	dump->blocks[dump->blocks_count++] = dump->bytes.length;
	if (header->type == BLOCK_SEGMENT)
		dump->segments[dump->segments_count++] = dump->bytes.length;
	string_append(&dump->bytes, (const char *)header, sizeof(*header));
	string_append(&dump->bytes, stored, header->stored_bytes);
	assert_false(dump->bytes.failed);
	return 0;
}

static inline void dump_describe(void *context, struct properties *properties)
{
	(void)context;
	properties_put(properties, "host", "example");
}

static inline struct dump_writer *dump_writer_to(struct dump *dump)
{
	const struct dump_writer_options options = { .recording = 1,
						     .write = dump_write_block,
						     .describe = dump_describe,
						     .context = dump };
	struct dump_writer *writer = dump_writer_new(&options);

	assert_non_null(writer);
	return writer;
}

static inline struct replay *dump_read(struct pipeline *pipeline, const char *bytes, size_t length)
{
	struct dump_reader *reader = dump_reader_of(bytes, length);
	struct replay *replay = replay_new(pipeline, NULL);
	struct dump_item item;

	assert_non_null(reader);
	assert_non_null(replay);
	do {
		assert_int_equal(dump_reader_next(reader, &item), 0);
		assert_int_equal(replay_item(replay, &item), 0);
	} while (item.kind != DUMP_END);
	dump_reader_close(reader);
	return replay;
}

/* ---- states as texts ------------------------------------------------------------------------- */

struct dump_lines {
	char **lines;
	size_t count;
};

static inline int dump_put_line(void *context, const void *record, size_t length)
{
	struct dump_lines *lines = context;
	char *line = malloc(2 * length + 1);
	size_t i;

	for (i = 0; i < length; i++)
		snprintf(line + 2 * i, 3, "%02x", ((const uint8_t *)record)[i]);
	lines->lines = realloc(lines->lines, (lines->count + 1) * sizeof(*lines->lines));
	lines->lines[lines->count++] = line;
	return 0;
}

static inline int dump_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In what order things lie in memory does not matter. */
static inline struct dump_lines dump_lines_of(const struct state *state)
{
	struct dump_lines lines = { 0 };

	assert_int_equal(checkpoint_save(state, 0, dump_put_line, &lines), 0);
	qsort(lines.lines, lines.count, sizeof(*lines.lines), dump_by_text);
	return lines;
}

static inline void dump_lines_free(struct dump_lines *lines)
{
	while (lines->count)
		free(lines->lines[--lines->count]);
	free(lines->lines);
}

static inline void dump_assert_same_state(const struct state *a, const struct state *b)
{
	struct dump_lines x = dump_lines_of(a), y = dump_lines_of(b);
	size_t i;

	for (i = 0; i < x.count && i < y.count; i++)
		assert_string_equal(x.lines[i], y.lines[i]);
	assert_int_equal(x.count, y.count);
	dump_lines_free(&x);
	dump_lines_free(&y);
}

#endif /* MEMSCOPE_TESTS_DUMPS_H */
