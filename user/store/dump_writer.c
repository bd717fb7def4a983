// SPDX-License-Identifier: BSD-2-Clause
#include "store/dump_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/checkpoint.h"
#include "store/dump_index.h"
#include "store/delta.h"

struct dump_writer {
	struct dump_writer_options options;
	struct dump_writer_counts counts;
	struct block_coder *coder;
	uint64_t sequence;
	uint32_t segment;  /* of the open block */
	uint32_t segments; /* begun so far */
	struct dump_index index;

	/* The open block, of records. */
	struct delta_writer pack;
	uint8_t payload[BLOCK_MAX_BYTES];
	uint32_t records;
	uint64_t first_ts_ns; /* of the time that it covers: where the last one ended */
	uint64_t last_ts_ns;  /* of its records */
};

struct dump_writer *dump_writer_new(const struct dump_writer_options *options)
{
	struct dump_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->options = *options;
	delta_begin(&writer->pack);
	writer->coder = block_coder_new();
	if (writer->coder)
		return writer;
	free(writer);
	return NULL;
}

void dump_writer_free(struct dump_writer *writer)
{
	if (!writer)
		return;
	block_coder_free(writer->coder);
	dump_index_fini(&writer->index);
	free(writer);
}

const struct dump_writer_counts *dump_writer_counts(const struct dump_writer *writer)
{
	return &writer->counts;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int write_block(struct dump_writer *writer, enum block_type type, const void *raw,
		       const size_t *parts, size_t parts_count, uint64_t last_ts_ns)
{
	struct block_header header = {
		.type = type,
		.records = parts_count > 1 ? writer->records : 0,
		.segment = writer->segment,
		.recording = writer->options.recording,
		.sequence = writer->sequence++,
		.first_ts_ns = writer->first_ts_ns ? writer->first_ts_ns : last_ts_ns,
		.last_ts_ns = last_ts_ns,
	};
	const void *stored = block_encode(writer->coder, &header, raw, parts, parts_count);
	int err = writer->options.write(writer->options.context, &header, stored);

	writer->first_ts_ns = last_ts_ns;
	if (err) {
		writer->counts.unwritten_blocks++;
		writer->counts.unwritten_records += type == BLOCK_EVENTS ? header.records : 0;
		return err;
	}
	if (type == BLOCK_SEGMENT)
		dump_index_add(&writer->index, writer->counts.bytes, &header);
	writer->counts.bytes += sizeof(header) + header.stored_bytes;
	writer->counts.segment_bytes += sizeof(header) + header.stored_bytes;
	return 0;
}

static int write_texts(struct dump_writer *writer, enum block_type type,
		       const struct properties *properties, uint64_t now_ns)
{
	if (properties->bytes.failed || properties->bytes.length > BLOCK_MAX_BYTES)
		return -ENOMEM;
	return write_block(writer, type, properties->bytes.bytes, &properties->bytes.length, 1,
			   now_ns);
}

static int write_records(struct dump_writer *writer, enum block_type type, uint64_t last_ts_ns)
{
	size_t parts[DELTA_STREAMS];
	int err = 0;

	if (writer->records) {
		delta_end(&writer->pack, writer->payload, parts);
		err = write_block(writer, type, writer->payload, parts, DELTA_STREAMS, last_ts_ns);
	}
	delta_begin(&writer->pack);
	writer->records = 0;
	return err;
}

static int add(struct dump_writer *writer, enum block_type type, const struct ms_event *event)
{
	int err = 0;

	if (writer->pack.bytes + DELTA_MAX(event->size) > BLOCK_MAX_BYTES)
		err = write_records(writer, type, writer->last_ts_ns);
	delta_add(&writer->pack, event);
	writer->records++;
	/* Calls are recorded when they end, with the time at which they began. */
	if (event->ts_ns > writer->last_ts_ns)
		writer->last_ts_ns = event->ts_ns;
	return err;
}

int dump_writer_add(struct dump_writer *writer, const void *record)
{
	return add(writer, BLOCK_EVENTS, record);
}

int dump_writer_flush(struct dump_writer *writer, uint64_t now_ns)
{
	return write_records(writer, BLOCK_EVENTS, now_ns);
}

/* ---- segments -------------------------------------------------------------------------------- */

static int write_description(struct dump_writer *writer, uint64_t now_ns)
{
	struct properties properties = { 0 };
	int err;

	writer->options.describe(writer->options.context, &properties);
	err = write_texts(writer, BLOCK_SEGMENT, &properties, now_ns);
	properties_fini(&properties);
	return err;
}

static int write_rows(struct dump_writer *writer, uint64_t now_ns)
{
	struct properties properties = { 0 };
	uint32_t row;
	int err;

	for (row = 0; row < probe_count(); row++)
		properties_put(&properties, probe_layer_name(probe_at(row)->layer),
			       probe_at(row)->symbol);
	err = write_texts(writer, BLOCK_ROWS, &properties, now_ns);
	properties_fini(&properties);
	return err;
}

static int put_anchor(void *context, const void *record, size_t length)
{
	struct dump_writer *writer = context;

	(void)length;
	return add(writer, BLOCK_ANCHOR, record);
}

static int write_anchor(struct dump_writer *writer, const struct state *state, uint64_t now_ns)
{
	int err = checkpoint_save(state, now_ns, put_anchor, writer), rest;

	rest = write_records(writer, BLOCK_ANCHOR, now_ns);
	return err ? err : rest;
}

int dump_writer_segment(struct dump_writer *writer, const struct state *state, uint64_t now_ns)
{
	int err, flush_err = dump_writer_flush(writer, now_ns);

	writer->segment = writer->segments++;
	writer->counts.segment_bytes = 0;
	err = write_description(writer, now_ns);
	if (!err)
		err = write_rows(writer, now_ns);
	if (!err)
		err = write_anchor(writer, state, now_ns);
	return err ? err : flush_err;
}

void dump_writer_cut(struct dump_writer *writer, uint64_t bytes)
{
	writer->counts.bytes = bytes;
	dump_index_cut(&writer->index, bytes);
}

/* An index of nothing would only take room. */
static int write_index(struct dump_writer *writer, uint64_t now_ns)
{
	struct block_header header = { 0 };
	const void *raw = dump_index_payload(&writer->index, writer->counts.bytes, &header);
	const size_t bytes = header.raw_bytes;

	return bytes ? write_block(writer, header.type, raw, &bytes, 1, now_ns) : 0;
}

int dump_writer_end(struct dump_writer *writer, const struct properties *properties,
		    uint64_t now_ns)
{
	int err = dump_writer_flush(writer, now_ns), end_err, index_err;

	end_err = write_texts(writer, BLOCK_END, properties, now_ns);
	index_err = write_index(writer, now_ns);
	if (!err)
		err = end_err;
	return err ? err : index_err;
}

int dump_writer_end_copy(struct dump_writer *writer, const struct properties *properties,
			 uint64_t now_ns,
			 int (*write)(void *context, const struct block_header *header,
				      const void *stored),
			 void *context)
{
	const struct dump_writer_options options = writer->options;
	const struct dump_writer_counts counts = writer->counts;
	const uint64_t sequence = writer->sequence, first_ts_ns = writer->first_ts_ns;
	int err;

	writer->options.write = write;
	writer->options.context = context;
	err = write_texts(writer, BLOCK_END, properties, now_ns);
	writer->options = options;
	writer->counts = counts;
	writer->sequence = sequence;
	writer->first_ts_ns = first_ts_ns;
	return err;
}
