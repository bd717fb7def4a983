// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes recordings of about so many bytes that are crafted to cost a reader as much as possible:
 * one kind for each thing that a recording can have any number of. Compression makes up to 64 MB of
 * each MB.
 *
 * usage: crafted_dump                   prints the kinds
 *        crafted_dump KIND BYTES FILE
 */
#include "crafted.h"

#include <string.h>

void crafted_die(const char *what)
{
	fprintf(stderr, "crafted_dump: %s\n", what);
	exit(1);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void put_parts(struct maker *maker, uint8_t type, const void *raw, const size_t *parts,
		      size_t count)
{
	struct block_header header = maker->next;
	const void *stored;

	header.type = type;
	header.records = maker->records;
	header.first_ts_ns = maker->next.last_ts_ns;
	header.last_ts_ns = maker->next.last_ts_ns = maker->ts_ns;
	stored = block_encode(maker->coder, &header, raw, parts, count);
	if (fwrite(&header, sizeof(header), 1, maker->file) != 1 ||
	    fwrite(stored, 1, header.stored_bytes, maker->file) != header.stored_bytes)
		crafted_die("cannot write");
	maker->bytes += sizeof(header) + header.stored_bytes;
	maker->next.sequence++;
}

void crafted_put_block(struct maker *maker, uint8_t type, const void *raw, size_t bytes)
{
	maker->records = 0;
	put_parts(maker, type, raw, &bytes, 1);
}

void crafted_flush(struct maker *maker, uint8_t type)
{
	static uint8_t payload[BLOCK_MAX_BYTES];
	size_t parts[DELTA_STREAMS];

	if (!maker->records)
		return;
	delta_end(&maker->pack, payload, parts);
	put_parts(maker, type, payload, parts, DELTA_STREAMS);
	delta_begin(&maker->pack);
	maker->records = 0;
}

void crafted_put_record(struct maker *maker, uint8_t type, const void *record)
{
	const struct ms_event *event = record;

	if (maker->pack.bytes + DELTA_MAX(event->size) > BLOCK_MAX_BYTES)
		crafted_flush(maker, type);
	delta_add(&maker->pack, record);
	maker->records++;
}

void crafted_put_anchored(struct maker *maker, const void *record)
{
	crafted_put_record(maker, BLOCK_ANCHOR, record);
}

void crafted_put(struct maker *maker, union record record)
{
	record.event.ts_ns = maker->ts_ns += maker->step_ns;
	crafted_put_record(maker, BLOCK_EVENTS, &record);
}

void crafted_put_description(struct maker *maker)
{
	struct properties rows = { 0 };
	uint32_t row;

	crafted_put_block(maker, BLOCK_SEGMENT, "host\0crafted", sizeof("host\0crafted"));
	for (row = 0; row < probe_count(); row++)
		properties_put(&rows, probe_layer_name(probe_at(row)->layer),
			       probe_at(row)->symbol);
	crafted_put_block(maker, BLOCK_ROWS, rows.bytes.bytes, rows.bytes.length);
	properties_fini(&rows);
}

void crafted_begin_anchor(struct maker *maker)
{
	ANCHOR_RECORD(state, STATE, .allocations = UINT64_MAX / 2, .exits = UINT64_MAX / 2);

	crafted_put_description(maker);
	crafted_put_anchored(maker, &state);
}

void crafted_begin_anchored_process(struct maker *maker)
{
	ANCHOR_RECORD(process, PROCESS);

	crafted_begin_anchor(maker);
	crafted_put_anchored(maker, &process);
}

void crafted_end_anchor(struct maker *maker)
{
	const struct ms_event end = { .type = MS_CHECKPOINT_END, .size = sizeof(end) };

	crafted_put_anchored(maker, &end);
	crafted_flush(maker, BLOCK_ANCHOR);
}

void crafted_begin_empty(struct maker *maker)
{
	const struct ms_checkpoint_state state = { .event = { .type = MS_CHECKPOINT_STATE,
							      .size = sizeof(state) } };

	crafted_put_description(maker);
	crafted_put_anchored(maker, &state);
	crafted_end_anchor(maker);
}

/* ---- records --------------------------------------------------------------------------------- */

union record crafted_of_process(uint32_t number, union record record)
{
	return record_of(1 + number % 4000000, (1 + number / 4000000) * MS_START_NS, record);
}

union record crafted_name_of(uint64_t handle, const char *format, uint64_t number)
{
	char text[64];

	snprintf(text, sizeof(text), format, (unsigned long long)number);
	return record_name(handle, text);
}

static void make(struct maker *maker, const struct crafted_kind *kind, uint64_t limit)
{
	uint64_t i;

	if (!kind->begin)
		crafted_begin_empty(maker);
	else
		kind->begin(maker);
	if (kind->prepare)
		kind->prepare(maker);
	for (i = 0; maker->bytes < limit; i++)
		kind->step(maker, i);
	if (kind->begin)
		crafted_end_anchor(maker);
	else
		crafted_flush(maker, BLOCK_EVENTS);
	crafted_put_block(maker, BLOCK_END, "reason\0signal", sizeof("reason\0signal"));
}

/* NULL: there is none of that name. */
static const struct crafted_kind *find(const struct crafted_kind *kinds, const char *name)
{
	for (; kinds->name; kinds++)
		if (!strcmp(kinds->name, name))
			return kinds;
	return NULL;
}

static void list(const struct crafted_kind *kinds)
{
	for (; kinds->name; kinds++)
		puts(kinds->name);
}

int main(int argc, char **argv)
{
	const struct crafted_kind *kind = NULL;
	struct maker *maker;

	if (argc == 1) {
		list(crafted_records);
		list(crafted_files);
		list(crafted_samples);
		return 0;
	}
	if (argc == 4) {
		kind = find(crafted_records, argv[1]);
		kind = kind ? kind : find(crafted_files, argv[1]);
		kind = kind ? kind : find(crafted_samples, argv[1]);
	}
	if (!kind)
		crafted_die("usage: crafted_dump [KIND BYTES FILE]");
	maker = calloc(1, sizeof(*maker));
	if (!maker)
		crafted_die("not enough memory");
	maker->file = fopen(argv[3], "we");
	maker->coder = block_coder_new();
	maker->next.recording = 1;
	maker->ts_ns = SECOND;
	maker->step_ns = 1000;
	if (!maker->file || !maker->coder)
		crafted_die("cannot open the file");
	delta_begin(&maker->pack);
	make(maker, kind, strtoull(argv[2], NULL, 10));
	if (fclose(maker->file))
		crafted_die("cannot write");
	block_coder_free(maker->coder);
	free(maker);
	return 0;
}
