// SPDX-License-Identifier: BSD-2-Clause
/*
 * What exports for viewers write. The first byte of the input chooses the format and whether there
 * are gaps, the rest is a list of steps. Whatever they are, the file can be read: JSON is JSON,
 * packets and slices are whole, and a pickle leaves one value.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "json_check.h"
#include "pipeline.h"
#include "steps.h"

#define OUT_MAX (1u << 24)
#define TRACKS_MAX 65536

enum choice {
	CHOICE_FORMAT = 7,
	CHOICE_GAPS = 1 << 3,
	CHOICE_TWICE = 1 << 4, /* a second recording of the same */
};

struct exporting {
	struct sink sink;
	struct report_recording *recording;
	struct sink *export;
	uint64_t now_ns;
};

static int take(struct sink *sink, const struct event *event, const struct change *change)
{
	struct exporting *exporting = (struct exporting *)sink;
	int err = report_recording_event(exporting->recording, event, change);

	exporting->now_ns = event->header->ts_ns;
	if (!err && event->call && exporting->export->call)
		err = exporting->export->call(exporting->export, event, change);
	if (!err && event->process && exporting->export->process)
		err = exporting->export->process(exporting->export, event, change);
	return err;
}

/* ---- one recording --------------------------------------------------------------------------- */

static void gap(struct exporting *exporting, bool first)
{
	struct sink *sink = exporting->export;

	if (sink->gap)
		fuzz_check(!sink->gap(sink, exporting->now_ns, first));
	if (!first && sink->lost)
		fuzz_check(!sink->lost(sink, exporting->now_ns, 3));
}

static void export_one(struct exporting *exporting, struct pipeline *pipeline, uint8_t choice,
		       const uint8_t *bytes, size_t size)
{
	const struct report_options options = { .device = -1, .top = 10 };
	const struct analysis_options thresholds = analysis_defaults();
	struct fuzz_steps steps = { .bytes = bytes, .size = size, .now_ns = 1000 };
	struct sink *sink = exporting->export;
	unsigned int step = 0;

	fuzz_check(!state_follow_usage(&pipeline->state));
	exporting->recording = report_recording_new(&pipeline->state, &options, &thresholds);
	fuzz_check(exporting->recording);
	timeline_begin(&exporting->recording->timeline, 1000);
	exporting->now_ns = 1000;
	sink->recording = exporting->recording;
	sink->state = &pipeline->state;
	if (sink->begin)
		fuzz_check(!sink->begin(sink));
	gap(exporting, true);
	while (steps_feed(&steps, pipeline))
		if (choice & CHOICE_GAPS && ++step % 16 == 0)
			gap(exporting, false);
	exporting->recording->coverage.account.last_ts_ns = exporting->now_ns;
	fuzz_check(!report_recording_finish(exporting->recording));
	if (sink->end)
		fuzz_check(!sink->end(sink, NULL));
}

/* ---- what was written ------------------------------------------------------------------------ */

static uint64_t read_varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	do {
		fuzz_check(*at < end && shift < 70);
		value |= shift < 64 ? (uint64_t)(**at & 0x7f) << shift : 0;
		shift += 7;
	} while (*(*at)++ & 0x80);
	return value;
}

struct field_read {
	uint64_t number, value;
	const uint8_t *bytes; /* NULL: a number */
	size_t length;
};

static bool read_field(const uint8_t **at, const uint8_t *end, struct field_read *field)
{
	uint64_t tag;

	if (*at == end)
		return false;
	tag = read_varint(at, end);
	*field = (struct field_read){ .number = tag >> 3 };
	switch (tag & 7) {
	case 0:
		field->value = read_varint(at, end);
		return true;
	case 1:
		field->length = 8;
		break;
	default:
		fuzz_check((tag & 7) == 2);
		field->length = read_varint(at, end);
	}
	field->bytes = *at;
	fuzz_check(field->length <= (size_t)(end - *at));
	*at += field->length;
	return true;
}

/* A slice is only ended where one was begun, and all are. */
static void check_event(const uint8_t *at, const uint8_t *end, uint32_t depth[TRACKS_MAX])
{
	struct field_read field;
	uint64_t type = 0, track = 0;

	while (read_field(&at, end, &field)) {
		if (field.number == 9)
			type = field.value;
		else if (field.number == 11)
			track = field.value;
	}
	fuzz_check(type && track && track < TRACKS_MAX);
	fuzz_check(type != 2 || depth[track]);
	depth[track] += type == 1;
	depth[track] -= type == 2;
}

static void check_perfetto(const uint8_t *at, const uint8_t *end)
{
	static uint32_t depth[TRACKS_MAX];
	struct field_read packet, field;
	size_t i;

	memset(depth, 0, sizeof(depth));
	while (read_field(&at, end, &packet)) {
		const uint8_t *inside = packet.bytes;

		fuzz_check(packet.number == 1 && packet.bytes);
		while (read_field(&inside, packet.bytes + packet.length, &field))
			if (field.number == 11)
				check_event(field.bytes, field.bytes + field.length, depth);
	}
	for (i = 0; i < TRACKS_MAX; i++)
		fuzz_check(!depth[i]);
}

static uint64_t read_number(const uint8_t **at, const uint8_t *end, size_t length)
{
	uint64_t value = 0;
	size_t i;

	fuzz_check(length <= (size_t)(end - *at));
	for (i = 0; i < length; i++)
		value |= (uint64_t) * (*at)++ << 8 * i;
	return value;
}

/* How long the operand is of an opcode that pushes a value; `*at` is moved to its bytes. */
static size_t skip_operand(uint8_t opcode, const uint8_t **at, const uint8_t *end)
{
	size_t skip;

	switch (opcode) {
	case 'h':
	case 'K':
		return 1;
	case 'M':
		return 2;
	case 'J':
	case 'j':
		return 4;
	case 0x8a:
	case 0x8c:
		skip = read_number(at, end, 1);
		fuzz_check(opcode != 0x8a || skip <= 8);
		return skip;
	case 'X':
		return read_number(at, end, 4);
	case '}':
	case ']':
	case 0x88:
	case 0x89:
		return 0;
	}
	fuzz_check(false);
	return 0;
}

/* How many values lie on the stack after each opcode. */
static void check_pickle(const uint8_t *at, const uint8_t *end)
{
	size_t marks[16], depth = 0, count = 0, skip;

	fuzz_check(end - at > 2 && at[0] == 0x80);
	for (at += 2; at < end && *at != '.';) {
		skip = 0;
		switch (*at++) {
		case '(':
			fuzz_check(count < 16);
			marks[count++] = depth;
			continue;
		case 'u':
		case 'e':
			fuzz_check(count && depth >= marks[count - 1] && marks[count - 1] > 0);
			fuzz_check(at[-1] == 'e' || (depth - marks[count - 1]) % 2 == 0);
			depth = marks[--count];
			continue;
		case 's':
			fuzz_check(depth >= 3);
			depth -= 2;
			continue;
		case 'q':
			skip = 1;
			break;
		case 'r':
			skip = 4;
			break;
		default:
			skip = skip_operand(at[-1], &at, end);
			depth++;
		}
		fuzz_check(skip <= (size_t)(end - at));
		at += skip;
	}
	fuzz_check(at + 1 == end && depth == 1 && !count);
}

static void check_written(const struct exporter *exporter, int fd)
{
	static uint8_t out[OUT_MAX];
	ssize_t length = pread(fd, out, sizeof(out), 0);

	fuzz_check(length >= 0);
	if (length == sizeof(out))
		return;
	if (exporter == &export_chrome)
		fuzz_check(json_check((const char *)out, length));
	else if (exporter == &export_perfetto)
		check_perfetto(out, out + length);
	else if (exporter == &export_memory_viz)
		check_pickle(out, out + length);
}

/* ---- the target ------------------------------------------------------------------------------ */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct exporter *const chosen[CHOICE_FORMAT + 1] = {
		&export_perfetto, &export_chrome,     &export_pprof,    &export_folded,
		&export_perfetto, &export_memory_viz, &export_perfetto, &export_memory_viz,
	};
	struct pipeline pipelines[2] = { { .from_ns = 0 } };
	struct report_recording *recordings[2];
	struct report report = { .options = { .device = -1 }, .recordings = recordings };
	struct exporting exporting = { .sink = { .call = take, .process = take } };
	struct sink *sink = &exporting.sink;
	const uint8_t choice = size ? bytes[0] : 0;
	const struct exporter *exporter = chosen[choice & CHOICE_FORMAT];
	struct writer writer = { .fd = memfd_create("export", MFD_CLOEXEC) };
	const struct export_options options = { .writer = &writer };
	size_t i;

	exporting.export = exporter->begin(&options);
	fuzz_check(exporting.export);
	for (i = 0; i <= !!(choice & CHOICE_TWICE); i++) {
		pipelines[i] = (struct pipeline){
			.sinks = { sink }, .sinks_count = 1, .filter.ops = ~0u, .shows_sums = true
		};
		export_one(&exporting, &pipelines[i], choice, bytes + !!size, size - !!size);
		recordings[report.count++] = exporting.recording;
	}
	fuzz_check(!exporter->finish(exporting.export, &report));
	exporter->free(exporting.export);
	fuzz_check(!writer_flush(&writer));
	check_written(exporter, writer.fd);
	for (i = 0; i < report.count; i++) {
		report_recording_free(recordings[i]);
		state_fini(&pipelines[i].state);
	}
	writer_close(&writer);
	return 0;
}
