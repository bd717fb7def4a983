// SPDX-License-Identifier: BSD-2-Clause
/*
 * The payload of one block of records, as it is behind its checksum, on its way from the bytes into
 * the state: what `dump` does in a whole file, many times faster. The first byte says what is done
 * with the records, the next two how long the first two streams are.
 */
#include "fuzz.h"

#include <string.h>

#include "invariants.h"
#include "ledger/checkpoint.h"
#include "pipeline.h"
#include "store/delta.h"

#define HEAD_BYTES 3
#define LENGTHS_BYTES (DELTA_STREAMS * sizeof(uint32_t))
#define RECORDS_MAX 4096
#define WORDS(bytes) (((bytes) + 7) / 8)

enum options {
	OPTION_ANCHOR = 1 << 0, /* records of an anchor, else of events */
	OPTION_AGAIN = 7 << 1,  /* all of them: what was read is packed, and read as it was */
};

/* As delta_read() has room for it in a replay. */
union packed {
	struct ms_event event;
	uint64_t words[WORDS(UINT16_MAX)];
};

struct unpacked {
	struct pipeline pipeline;
	struct state state;
	struct checkpoint anchor;
	bool is_anchor, failed;
	uint64_t records[1u << 13]; /* one after the other, for OPTION_AGAIN */
	size_t words;               /* of them */
};

/* In memory of its own, so that reading behind its end is noticed. */
static uint8_t *payload_of(const uint8_t *bytes, size_t size, size_t *length)
{
	const size_t rest = size - HEAD_BYTES;
	const size_t which = bytes[1] < rest ? bytes[1] : rest;
	const size_t first = bytes[2] < rest - which ? bytes[2] : rest - which;
	const uint32_t lengths[DELTA_STREAMS] = { which, first, rest - which - first };
	uint8_t *payload = malloc(LENGTHS_BYTES + rest);

	fuzz_check(payload);
	memcpy(payload, lengths, LENGTHS_BYTES);
	memcpy(payload + LENGTHS_BYTES, bytes + HEAD_BYTES, rest);
	*length = LENGTHS_BYTES + rest;
	return payload;
}

static void take(struct unpacked *to, union packed *record, size_t length)
{
	if (to->is_anchor && !to->failed)
		to->failed = checkpoint_load(&to->anchor, record, length) < 0;
	else if (!to->is_anchor && length >= sizeof(struct ms_event))
		fuzz_check(!pipeline_feed(&to->pipeline, record, length));
	if (length == record->event.size && length <= sizeof(to->records) - to->words * 8) {
		memcpy(to->records + to->words, record, length);
		to->words += WORDS(length);
	}
}

static void check_again(const struct unpacked *from)
{
	static struct delta_writer writer;
	static struct delta_reader reader;
	static uint8_t payload[BLOCK_MAX_BYTES];
	size_t parts[DELTA_STREAMS], at = 0;
	union packed record;

	delta_begin(&writer);
	while (at < from->words) {
		const struct ms_event *event = (const struct ms_event *)(from->records + at);

		delta_add(&writer, event);
		at += WORDS(event->size);
	}
	delta_end(&writer, payload, parts);
	fuzz_check(delta_open(&reader, payload, writer.bytes));
	for (at = 0; at < from->words; at += WORDS(record.event.size)) {
		const size_t length = delta_read(&reader, &record, sizeof(record));

		fuzz_check(length && length == record.event.size);
		fuzz_check(!memcmp(&record, from->records + at, length));
	}
	fuzz_check(delta_done(&reader));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct delta_reader reader;
	static struct unpacked to;
	union packed record;
	uint8_t *payload;
	size_t length, count = 0;

	if (size < HEAD_BYTES)
		return 0;
	to.pipeline = (struct pipeline){ .filter = { .ops = ~0u } };
	to.state = (struct state){ 0 };
	to.is_anchor = bytes[0] & OPTION_ANCHOR;
	to.failed = false;
	to.words = 0;
	checkpoint_init(&to.anchor, &to.state);
	payload = payload_of(bytes, size, &length);
	fuzz_check(delta_open(&reader, payload, length));
	while (count++ < RECORDS_MAX && (length = delta_read(&reader, &record, sizeof(record))))
		take(&to, &record, length);
	invariants_check(&to.pipeline.state);
	if (to.is_anchor && !to.failed && to.anchor.complete)
		invariants_check(&to.state);
	if ((bytes[0] & OPTION_AGAIN) == OPTION_AGAIN)
		check_again(&to);
	state_fini(&to.state);
	state_fini(&to.pipeline.state);
	free(payload);
	return 0;
}
