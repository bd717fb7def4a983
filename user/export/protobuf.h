/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes protocol buffers' wire format into a string (protobuf.dev, "Encoding"): fields by number,
 * messages inside messages. What the numbers mean is up to the caller.
 */
#ifndef MEMSCOPE_EXPORT_PROTOBUF_H
#define MEMSCOPE_EXPORT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

/* Numbers without a field: elements of a packed array. */
void protobuf_varint(struct string *out, uint64_t value);
void protobuf_fixed64(struct string *out, uint64_t value);
void protobuf_double(struct string *out, double value);

void protobuf_put_u64(struct string *out, uint32_t field, uint64_t value); /* also bool, enum */
void protobuf_put_i64(struct string *out, uint32_t field, int64_t value);  /* int64, not sint64 */
void protobuf_put_fixed64(struct string *out, uint32_t field, uint64_t value);
void protobuf_put_double(struct string *out, uint32_t field, double value);

/* `string` fields must be UTF-8: that is the caller's affair. */
void protobuf_put_bytes(struct string *out, uint32_t field, const char *bytes, size_t length);
void protobuf_put_text(struct string *out, uint32_t field, const char *text);

/* A message or a packed array: what is appended until its end is in it. Begins nest. */
size_t protobuf_begin(struct string *out, uint32_t field);
void protobuf_end(struct string *out, size_t begun);

#endif /* MEMSCOPE_EXPORT_PROTOBUF_H */
