// SPDX-License-Identifier: BSD-2-Clause
/*
 * A profile for pprof and all that reads its format (google/pprof, proto/profile.proto), with the
 * sample types of Go's heap profiles, which viewers know best. Stacks are those of export/owners.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/log.h"
#include "base/map.h"
#include "export/export.h"
#include "export/owners.h"
#include "render/field.h"
#include "render/stack_words.h"
#include "export/protobuf.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,

	VALUE_TYPE = 1,
	VALUE_UNIT = 2,

	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,

	MAPPING_ID = 1,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,

	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,

	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
};

struct pprof {
	struct sink sink;
	struct writer *writer;
	z_stream gzip;
	struct string out;           /* not yet compressed */
	struct string text, scratch; /* of one string; of one message's part */
	struct string locations;     /* of one sample: ids */
	struct string_table strings;
	struct map places;    /* interned string -> position in the string table */
	struct map functions; /* its name's position, and its file's -> id */
	struct map mappings;  /* positions of a file's name and build id -> id */
	struct map called; /* a function's id or a frame (key_of_frame()) -> id of the location */
	uint64_t samples;  /* so far */
	bool has_hosts;
	int err;
};

/* ---- compressing ----------------------------------------------------------------------------- */

/* What can go wrong is kept in `err`. */
static void compress_out(struct pprof *export, int flush)
{
	z_stream *gzip = &export->gzip;
	char buffer[16384];
	int code;

	if (export->out.failed)
		export->err = -ENOMEM;
	gzip->next_in = (Bytef *)export->out.bytes;
	gzip->avail_in = export->out.length;
	do {
		gzip->next_out = (Bytef *)buffer;
		gzip->avail_out = sizeof(buffer);
		code = deflate(gzip, flush);
		string_append(&export->writer->text, buffer, sizeof(buffer) - gzip->avail_out);
	} while (code == Z_OK && !gzip->avail_out);
	string_clear(&export->out);
	if (!export->err)
		export->err = writer_flush_large(export->writer);
}

/* ---- strings, functions ---------------------------------------------------------------------- */

/* Position in the string table; 0, which is "", without memory. */
static uint64_t string_of(struct pprof *export, const char *text, size_t length)
{
	const char *interned = length ? string_intern(&export->strings, text, length) : "";
	const uint64_t *place = map_get(&export->places, (uintptr_t)interned);
	uint64_t added = export->places.count + 1;

	if (!length)
		return 0;
	if (place)
		return *place;
	if (!interned || map_set(&export->places, (uintptr_t)interned, added)) {
		export->err = -ENOMEM;
		return 0;
	}
	protobuf_put_bytes(&export->out, PROFILE_STRING_TABLE, text, length);
	return added;
}

static uint64_t text_of(struct pprof *export, const char *text)
{
	return string_of(export, text, strlen(text));
}

/* The id of what has that key; `*is_new`: it has just got it. 0 without memory. */
static uint64_t id_of(struct pprof *export, struct map *map, uint64_t key, bool *is_new)
{
	const uint64_t *found = map_get(map, key);
	const uint64_t id = map->count + 1;

	*is_new = false;
	if (found)
		return *found;
	if (map_set(map, key, id)) {
		export->err = -ENOMEM;
		return 0;
	}
	*is_new = true;
	return id;
}

/* Its name is in `text`; `file`: position of the source file's name, 0: not known. */
static uint64_t function_of(struct pprof *export, uint64_t file)
{
	const uint64_t name = string_of(export, export->text.bytes, export->text.length);
	bool is_new;
	const uint64_t id = id_of(export, &export->functions, file << 32 | name, &is_new);
	size_t message;

	if (!is_new)
		return id;
	message = protobuf_begin(&export->out, PROFILE_FUNCTION);
	protobuf_put_u64(&export->out, FUNCTION_ID, id);
	protobuf_put_u64(&export->out, FUNCTION_NAME, name);
	protobuf_put_u64(&export->out, FUNCTION_SYSTEM_NAME, name);
	if (file)
		protobuf_put_u64(&export->out, FUNCTION_FILENAME, file);
	protobuf_end(&export->out, message);
	return id;
}

/* Names as programs chose them: position in the string table. */
static uint64_t safe_text_of(struct pprof *export, const char *text)
{
	string_restart(&export->text, &export->err);
	field_append_safe(&export->text, text, strlen(text));
	return string_of(export, export->text.bytes, export->text.length);
}

/* The file that a frame's code is in. 0: none, or without memory. */
static uint64_t mapping_of(struct pprof *export, const struct frame *frame)
{
	const uint64_t name = safe_text_of(export, frame->module);
	const uint64_t build_id = safe_text_of(export, frame->build_id);
	bool is_new;
	uint64_t id;
	size_t message;

	if (!name && !build_id)
		return 0;
	id = id_of(export, &export->mappings, build_id << 32 | name, &is_new);
	if (!is_new)
		return id;
	message = protobuf_begin(&export->out, PROFILE_MAPPING);
	protobuf_put_u64(&export->out, MAPPING_ID, id);
	protobuf_put_u64(&export->out, MAPPING_FILENAME, name);
	protobuf_put_u64(&export->out, MAPPING_BUILD_ID, build_id);
	protobuf_put_u64(&export->out, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_end(&export->out, message);
	return id;
}

/* Differs from all ids of functions, doubled. Frames stay where they are. */
static uint64_t key_of_frame(const struct frame *frame)
{
	return (uintptr_t)frame | 1;
}

/* The location of the function whose name is in `text`; `frame`: what it is made from, or NULL. */
static uint64_t location_of(struct pprof *export, const struct frame *frame)
{
	const uint64_t *found = frame ? map_get(&export->called, key_of_frame(frame)) : NULL;
	uint64_t function, mapping, id;
	size_t message, line;
	bool is_new;

	if (found)
		return *found;
	mapping = frame ? mapping_of(export, frame) : 0;
	function = frame ? safe_text_of(export, frame->source) : 0;
	if (frame) {
		string_restart(&export->text, &export->err);
		stack_words_append_function(&export->text, frame);
	}
	function = function_of(export, function);
	id = id_of(export, &export->called, frame ? key_of_frame(frame) : function << 1, &is_new);
	if (!is_new)
		return id;
	message = protobuf_begin(&export->out, PROFILE_LOCATION);
	protobuf_put_u64(&export->out, LOCATION_ID, id);
	if (mapping)
		protobuf_put_u64(&export->out, LOCATION_MAPPING_ID, mapping);
	if (frame)
		protobuf_put_u64(&export->out, LOCATION_ADDRESS, frame->address);
	line = protobuf_begin(&export->out, LOCATION_LINE);
	protobuf_put_u64(&export->out, LINE_FUNCTION_ID, function);
	if (frame && frame->line)
		protobuf_put_u64(&export->out, LINE_LINE, frame->line);
	protobuf_end(&export->out, line);
	protobuf_end(&export->out, message);
	return id;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Into `scratch`, since the strings that they need must not come into the middle of a message. */
static void put_text_label(struct pprof *export, const char *key, const char *text, size_t length)
{
	const uint64_t key_place = text_of(export, key);
	const uint64_t text_place = string_of(export, text, length);
	size_t label = protobuf_begin(&export->scratch, SAMPLE_LABEL);

	protobuf_put_u64(&export->scratch, LABEL_KEY, key_place);
	protobuf_put_u64(&export->scratch, LABEL_STR, text_place);
	protobuf_end(&export->scratch, label);
}

static void put_number_label(struct pprof *export, const char *key, int64_t number)
{
	const uint64_t key_place = text_of(export, key);
	size_t label = protobuf_begin(&export->scratch, SAMPLE_LABEL);

	protobuf_put_u64(&export->scratch, LABEL_KEY, key_place);
	protobuf_put_i64(&export->scratch, LABEL_NUM, number);
	protobuf_end(&export->scratch, label);
}

/* What profiles are filtered by: who made them and where. */
static void put_identity(struct pprof *export, const struct identity *identity)
{
	static const enum identity_item items[] = { IDENTITY_SCRIPT,    IDENTITY_USER,
						    IDENTITY_CONTAINER, IDENTITY_CONTAINER_NAME,
						    IDENTITY_POD,       IDENTITY_RANK };
	size_t i;

	for (i = 0; i < sizeof(items) / sizeof(*items); i++) {
		const char *value = identity->items[items[i]];

		if (!value)
			continue;
		string_restart(&export->text, &export->err);
		field_append_safe(&export->text, value, strlen(value));
		put_text_label(export, identity_rows[items[i]].name, export->text.bytes,
			       export->text.length);
	}
}

static void put_labels(struct pprof *export, const struct owner *owner)
{
	const char *comm = owner->process->comm;
	const char *space = probe_space_name(owner->cell->space);
	const char *api = probe_at(owner->cell->row)->symbol;

	put_number_label(export, "pid", owner->process->pid);
	string_restart(&export->text, &export->err);
	field_append_safe(&export->text, comm, strnlen(comm, MS_COMM_BYTES));
	put_text_label(export, "comm", export->text.bytes, export->text.length);
	put_identity(export, &owner->process->identity.known);
	put_text_label(export, "space", space, strlen(space));
	if (owner->cell->device >= 0)
		put_number_label(export, "device", owner->cell->device);
	put_text_label(export, "api", api, strlen(api));
	if (!owner->recording->coverage.host)
		return;
	string_restart(&export->text, &export->err);
	owner_append_frame(&export->text, owner, OWNER_HOST);
	put_text_label(export, "host", export->text.bytes, export->text.length);
}

/* The innermost first; into `locations`. */
static void put_stack(struct pprof *export, const struct owner *owner)
{
	const struct stacks *stacks = &owner->recording->state->stacks;
	size_t i;

	for (i = 0; owner->stack && i < owner->stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, owner->stack, i);

		string_restart(&export->text, &export->err);
		if (!frame)
			stack_words_append_function(&export->text, NULL);
		protobuf_varint(&export->locations, location_of(export, frame));
	}
}

static int put_sample(void *context, const struct owner *owner)
{
	struct pprof *export = context;
	const struct usage_cell *cell = owner->cell;
	const int root = export->has_hosts ? OWNER_HOST : OWNER_PROCESS;
	size_t sample, packed;
	int frame;

	if (!cell->allocs && !cell->alloc_bytes && !cell->live_count && !cell->live_bytes)
		return 0;
	string_restart(&export->locations, &export->err);
	for (frame = OWNER_FRAMES - 1; frame >= root; frame--) {
		if (frame == OWNER_PROCESS)
			put_stack(export, owner);
		string_restart(&export->text, &export->err);
		owner_append_frame(&export->text, owner, frame);
		protobuf_varint(&export->locations, location_of(export, NULL));
	}
	string_restart(&export->scratch, &export->err);
	put_labels(export, owner);

	export->samples++;
	sample = protobuf_begin(&export->out, PROFILE_SAMPLE);
	packed = protobuf_begin(&export->out, SAMPLE_LOCATION_ID);
	string_append(&export->out, export->locations.bytes, export->locations.length);
	protobuf_end(&export->out, packed);
	packed = protobuf_begin(&export->out, SAMPLE_VALUE);
	protobuf_varint(&export->out, cell->allocs);
	protobuf_varint(&export->out, cell->alloc_bytes);
	protobuf_varint(&export->out, cell->live_count);
	protobuf_varint(&export->out, cell->live_bytes);
	protobuf_end(&export->out, packed);
	string_append(&export->out, export->scratch.bytes, export->scratch.length);
	protobuf_end(&export->out, sample);
	compress_out(export, Z_NO_FLUSH);
	return export->err;
}

/* ---- the profile ----------------------------------------------------------------------------- */

static void put_value_type(struct pprof *export, uint32_t field, const char *type, const char *unit)
{
	const uint64_t type_place = text_of(export, type), unit_place = text_of(export, unit);
	size_t message = protobuf_begin(&export->out, field);

	protobuf_put_u64(&export->out, VALUE_TYPE, type_place);
	protobuf_put_u64(&export->out, VALUE_UNIT, unit_place);
	protobuf_end(&export->out, message);
}

/* From when to when, over all recordings; on the wall if all know it. */
static void put_time(struct pprof *export, const struct report *report)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0, longest_ns = 0;
	bool known = report->count;
	size_t i;

	for (i = 0; i < report->count; i++) {
		const struct report_recording *recording = report->recordings[i];
		const uint64_t offset_ns = recording->coverage.wall_offset_ns;
		const uint64_t begin_ns = report_begin_ns(recording);
		const uint64_t end_ns = report_end_ns(recording);

		known &= recording->coverage.wall_known;
		if (begin_ns + offset_ns < first_ns)
			first_ns = begin_ns + offset_ns;
		if (end_ns + offset_ns > last_ns)
			last_ns = end_ns + offset_ns;
		if (end_ns - begin_ns > longest_ns)
			longest_ns = end_ns - begin_ns;
	}
	if (known)
		protobuf_put_u64(&export->out, PROFILE_TIME_NANOS, first_ns);
	protobuf_put_u64(&export->out, PROFILE_DURATION_NANOS,
			 known ? last_ns - first_ns : longest_ns);
}

static int put_comment(void *context, const char *text)
{
	struct pprof *export = context;
	const uint64_t place = text_of(export, text);

	protobuf_put_u64(&export->out, PROFILE_COMMENT, place);
	return export->err;
}

static void put_profile(struct pprof *export, const struct report *report)
{
	uint64_t inuse;

	protobuf_put_text(&export->out, PROFILE_STRING_TABLE, "");
	put_value_type(export, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	put_value_type(export, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	put_value_type(export, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	put_value_type(export, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	put_value_type(export, PROFILE_PERIOD_TYPE, "space", "bytes");
	protobuf_put_u64(&export->out, PROFILE_PERIOD, 1);
	inuse = text_of(export, "inuse_space");
	protobuf_put_u64(&export->out, PROFILE_DEFAULT_SAMPLE_TYPE, inuse);
	put_time(export, report);
	put_comment(export, "GPU memory, recorded by memscope-bpf " MEMSCOPE_VERSION);
	if (!export->err)
		export->err = owners_remarks(report, put_comment, export);
	if (!export->err)
		export->err = owners_visit(report, put_sample, export);
	if (!export->err && !export->samples)
		put_comment(export, "nothing was live or allocated");
	string_restart(&export->text, &export->err);
	string_restart(&export->scratch, &export->err);
	compress_out(export, Z_FINISH);
}

static int finish_pprof(struct sink *sink, const struct report *report)
{
	struct pprof *export = (struct pprof *)sink;

	export->has_hosts = report->count > 1;
	put_profile(export, report);
	if (export->err == -ENOMEM)
		log_error("not enough memory");
	return export->err;
}

static void free_pprof(struct sink *sink)
{
	struct pprof *export = (struct pprof *)sink;

	deflateEnd(&export->gzip);
	string_fini(&export->out);
	string_fini(&export->text);
	string_fini(&export->scratch);
	string_fini(&export->locations);
	string_table_fini(&export->strings);
	map_fini(&export->places);
	map_fini(&export->functions);
	map_fini(&export->mappings);
	map_fini(&export->called);
	free(export);
}

#define GZIP (16 + MAX_WBITS) /* zlib's manual, deflateInit2 */

static struct sink *begin_pprof(const struct export_options *options)
{
	struct pprof *export = calloc(1, sizeof(*export));

	if (!export || deflateInit2(&export->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP,
				    MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		log_error("not enough memory");
		free(export);
		return NULL;
	}
	export->writer = options->writer;
	return &export->sink;
}

const struct exporter export_pprof = {
	.name = "pprof",
	.endings = ".pprof .pb.gz",
	.summary = "a gzipped profile of bytes and allocations by owner, live and in all, for"
		   " `pprof`, Pyroscope, Parca, speedscope",
	.binary = true,
	.begin = begin_pprof,
	.finish = finish_pprof,
	.free = free_pprof,
};
