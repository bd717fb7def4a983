// SPDX-License-Identifier: BSD-2-Clause
#include "export/perfetto_packets.h"

#include <errno.h>
#include <string.h>

#include "export/perfetto_fields.h"
#include "export/protobuf.h"

#define SEQUENCE 1

size_t perfetto_packets_begin(struct perfetto *export)
{
	size_t packet = protobuf_begin(out_of(export), TRACE_PACKET);

	protobuf_put_u64(out_of(export), PACKET_SEQUENCE_ID, SEQUENCE);
	return packet;
}

static void put_interned(struct string *out, uint32_t field, uint64_t number, const char *text,
			 size_t length)
{
	size_t entry = protobuf_begin(out, field);

	protobuf_put_u64(out, INTERNED_IID, number);
	protobuf_put_bytes(out, INTERNED_TEXT, text, length);
	protobuf_end(out, entry);
}

static void put_annotation_name(struct string *out, uint64_t number, const char *name)
{
	put_interned(out, INTERNED_ANNOTATION_NAMES, number, name, strlen(name));
}

void perfetto_packets_clear(struct perfetto *export, bool first)
{
	struct string *out = out_of(export);
	size_t packet = perfetto_packets_begin(export), data, i;

	if (first)
		protobuf_put_u64(out, PACKET_FIRST_ON_SEQUENCE, 1);
	protobuf_put_u64(out, PACKET_SEQUENCE_FLAGS, FLAG_STATE_CLEARED);
	data = protobuf_begin(out, PACKET_INTERNED_DATA);
	for (i = 0; i < fields_count; i++)
		put_annotation_name(out, FIELD_NUMBER(i), fields[i].name);
	for (i = 0; i < record_fields_count; i++)
		if (record_fields[i].type == MS_TYPE_ACTIVITY)
			put_annotation_name(out, RECORD_FIELD_NUMBER(i), record_fields[i].name);
	for (i = 0; i < TRACE_STACK_TEXTS; i++)
		put_annotation_name(out, STACK_NUMBER(i), trace_stack_names[i]);
	protobuf_end(out, data);
	protobuf_end(out, packet);
	map_fini(&export->names);
	map_fini(&export->texts);
}

/* What has been made in `safe` has a number of its own from now on. */
static uint64_t put_safe(struct perfetto *export, struct map *numbers, uint64_t key, uint32_t field)
{
	struct string *out = out_of(export);
	const uint64_t number = numbers->count + 1;
	size_t packet, data;

	if (map_set(numbers, key, number))
		export->traces.err = -ENOMEM;
	packet = perfetto_packets_begin(export);
	data = protobuf_begin(out, PACKET_INTERNED_DATA);
	put_interned(out, field, number, export->safe.bytes, export->safe.length);
	protobuf_end(out, data);
	protobuf_end(out, packet);
	return number;
}

uint64_t perfetto_packets_intern(struct perfetto *export, struct map *numbers, uint32_t field,
				 const char *text, size_t length)
{
	const uint64_t *found = map_get(numbers, (uintptr_t)text);

	if (found)
		return *found;
	string_restart(&export->safe, &export->traces.err);
	field_append_safe(&export->safe, text, length);
	return put_safe(export, numbers, (uintptr_t)text, field);
}

/* Some ten thousand call stacks; of further ones, only the lines that tell them apart are told. */
#define FRAMES_BYTES_MAX (16u << 20)

/* Beside the addresses of texts, which have no such bit: ids are those of one recording. */
static uint64_t key_of(const struct perfetto *export, uint32_t stack, enum trace_stack_text text)
{
	return 1ull << 63 | export->traces.recordings << 34 | (uint64_t)stack << 2 | text;
}

uint64_t perfetto_packets_intern_stack(struct perfetto *export, const struct stack *stack,
				       enum trace_stack_text text)
{
	const uint64_t key = key_of(export, stack->id, text);
	const uint64_t *found = map_get(&export->texts, key);

	if (found)
		return *found;
	if (text == TRACE_STACK_FRAMES && export->frames_bytes > FRAMES_BYTES_MAX)
		return 0;
	string_restart(&export->safe, &export->traces.err);
	trace_stacks_append(&export->safe, &export->traces, stack, text);
	if (text == TRACE_STACK_FRAMES)
		export->frames_bytes += export->safe.length;
	return export->safe.length ? put_safe(export, &export->texts, key, INTERNED_STRINGS) : 0;
}
