/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of records that are not calls (render/record_fields.def), and how each gets its value.
 */
#ifndef MEMSCOPE_RENDER_RECORD_FIELD_H
#define MEMSCOPE_RENDER_RECORD_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/field.h"

struct record_field {
	uint16_t type; /* enum ms_type: of which records */
	const char *name;
	enum field_kind kind;
	bool can_be_unknown;
	size_t offset, bytes; /* of the record's member, if there is no getter */
	size_t known_offset;  /* of 32 bits in the record; */
	uint32_t known_bit;   /* the member is known if they have this; 0: it always is */
	struct field_value (*get)(const struct event *event, const struct change *change);
	const char *description;
};

/* Those of a type stand together. */
extern const struct record_field record_fields[];
extern const size_t record_fields_count;

/* Which records have a row RECORD: what the schema calls them. */
struct record_title {
	uint16_t type;
	const char *title;
};

extern const struct record_title record_titles[];
extern const size_t record_titles_count;

/* A text; NULL: not known. It has to stay. */
struct field_value record_field_text(const char *text);

/*
 * `event` must be of the field's type. Texts and amounts live as long as the record and the change
 * do.
 */
struct field_value record_field_value(const struct record_field *field, const struct event *event,
				      const struct change *change);

#endif /* MEMSCOPE_RENDER_RECORD_FIELD_H */
