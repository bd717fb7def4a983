// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/python_lines.h"

#include <stdbool.h>

#define VARINT_GROUPS 6 /* of six bits: more than any line needs */
#define UNIT_BYTES 2    /* of an instruction, and of each cache entry behind it */

struct reader {
	const uint8_t *next, *end;
};

static enum python_lines_answer answer(int64_t found, uint32_t *line)
{
	/* A line that is none: the table is damaged, or not what it was. */
	if (found < 0 || found > INT32_MAX)
		return PYTHON_LINES_NONE;
	*line = (uint32_t)found;
	return PYTHON_LINES_FOUND;
}

/* Up to 3.9: by how much the offset goes on, and then the line, which holds to the end. */
static enum python_lines_answer find_lnotab(const struct python_lines *table, int64_t offset,
					    uint32_t *line)
{
	int64_t begin = 0, current = table->first_line;
	size_t i;

	for (i = 0; i + 1 < table->length; i += 2) {
		begin += table->bytes[i];
		if (begin > offset)
			return answer(current, line);
		current += (int8_t)table->bytes[i + 1];
	}
	return table->is_cut ? PYTHON_LINES_SHORT : answer(current, line);
}

/* 3.10: how long each piece is, and by how much its line differs from that of the one before. */
static enum python_lines_answer find_linetable(const struct python_lines *table, int64_t offset,
					       uint32_t *line)
{
	int64_t end = 0, current = table->first_line;
	size_t i;

	for (i = 0; i + 1 < table->length; i += 2) {
		const int8_t step = (int8_t)table->bytes[i + 1];

		end += table->bytes[i];
		if (step != INT8_MIN)
			current += step;
		if (offset < end)
			return step == INT8_MIN ? PYTHON_LINES_NONE : answer(current, line);
	}
	return PYTHON_LINES_SHORT;
}

/* A number in groups of six bits, the lowest first; all but the last have bit 6 set. */
static bool read_varint(struct reader *reader, uint64_t *value)
{
	unsigned int group;

	*value = 0;
	for (group = 0; group < VARINT_GROUPS && reader->next < reader->end; group++) {
		const uint8_t byte = *reader->next++;

		*value |= (uint64_t)(byte & 0x3f) << 6 * group;
		if (!(byte & 0x40))
			return true;
	}
	return false;
}

/* The lowest bit is the sign. */
static bool read_signed(struct reader *reader, int64_t *value)
{
	uint64_t raw;

	if (!read_varint(reader, &raw))
		return false;
	*value = raw & 1 ? -(int64_t)(raw >> 1) : (int64_t)(raw >> 1);
	return true;
}

static bool skip(struct reader *reader, size_t bytes)
{
	if ((size_t)(reader->end - reader->next) < bytes)
		return false;
	reader->next += bytes;
	return true;
}

enum location_code {
	LOCATION_ONE_LINE = 10, /* up to 12: that many lines further, and two columns */
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

/* What stands behind an entry's first byte: by how much its line differs, then columns. */
static bool read_location(struct reader *reader, unsigned int code, int64_t *step)
{
	uint64_t ignored;

	*step = 0;
	if (code < LOCATION_ONE_LINE)
		return skip(reader, 1);
	if (code < LOCATION_NO_COLUMNS) {
		*step = code - LOCATION_ONE_LINE;
		return skip(reader, 2);
	}
	if (code == LOCATION_NONE)
		return true;
	if (!read_signed(reader, step))
		return false;
	return code == LOCATION_NO_COLUMNS ||
	       (read_varint(reader, &ignored) && read_varint(reader, &ignored) &&
		read_varint(reader, &ignored));
}

/* 3.11 and later. */
static enum python_lines_answer find_locations(const struct python_lines *table, int64_t offset,
					       uint32_t *line)
{
	struct reader reader = { table->bytes, table->bytes + table->length };
	int64_t end = 0, current = table->first_line, step;

	while (reader.next < reader.end) {
		const uint8_t first = *reader.next++;
		const unsigned int code = first >> 3 & 15;

		/* Each entry begins with bit 7, and nothing else does. */
		if (!(first & 0x80) || !read_location(&reader, code, &step))
			return PYTHON_LINES_SHORT;
		current += step;
		end += (int64_t)((first & 7) + 1) * UNIT_BYTES;
		if (offset < end)
			return code == LOCATION_NONE ? PYTHON_LINES_NONE : answer(current, line);
	}
	return PYTHON_LINES_SHORT;
}

enum python_lines_answer python_lines_find(const struct python_lines *table, int64_t offset,
					   uint32_t *line)
{
	if (offset < 0)
		return answer(table->first_line, line);
	if (table->version >= PYTHON_VERSION(11))
		return find_locations(table, offset, line);
	if (table->version >= PYTHON_VERSION(10))
		return find_linetable(table, offset, line);
	return find_lnotab(table, offset, line);
}
