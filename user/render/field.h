/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of call events (render/fields.def): how each gets its value and which column it is.
 */
#ifndef MEMSCOPE_RENDER_FIELD_H
#define MEMSCOPE_RENDER_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"
#include "event/event.h"
#include "ledger/devices.h"
#include "ledger/state.h"

enum field_kind {
	FIELD_TIME,
	FIELD_COUNT,
	FIELD_SIGNED,
	FIELD_SIZE,
	FIELD_DURATION,
	FIELD_ADDRESS,
	FIELD_TEXT,
	FIELD_FLAG,
	FIELD_DIMS,
	FIELD_AMOUNTS, /* count and bytes by space, where there are any */
	FIELD_IDENTITY,
};

/* What the getters look at. */
struct field_source {
	const struct event *event;
	const struct change *change;
	const struct stacks *stacks; /* NULL: they are not shown */
	struct string *scratch; /* for text that has to be put together; cleared by the caller */
	bool split;             /* the detail goes on with what the thread did in the call */
	bool exact;             /* sizes in text: bytes, not rounded */
	bool wall_known;
	uint64_t wall_offset_ns; /* what to add to times to get CLOCK_REALTIME */
};

struct field_value {
	bool known;
	union {
		uint64_t number;
		int64_t signed_number;
		const uint32_t *dims;         /* three */
		const struct amount *amounts; /* MS_SPACES_COUNT */
		const struct identity *identity;
		const char *text; /* not terminated; may hold anything */
	};
	size_t length; /* of `text` */
};

struct field {
	const char *name;
	enum field_kind kind;
	uint32_t ops; /* bit set of enum ms_op: events that have it; 0: not part of JSON */
	const char *heading;
	int width;
	const char *description;
	struct field_value (*get)(const struct field_source *source);
};

extern const struct field fields[];
extern const size_t fields_count;

/*
 * Appends text that comes from a traced program: whatever could move a terminal's cursor, reorder
 * the line or break it is shown as \xNN.
 */
void field_append_safe(struct string *out, const char *text, size_t length);

/*
 * Appends "3 device (1.50 GiB), 1 pinned (4 KiB)" after `before`, or nothing if there is nothing.
 * `exact`: bytes, not rounded.
 */
void field_append_amounts(struct string *out, const struct amount amounts[MS_SPACES_COUNT],
			  const char *before, bool exact);

/* Appends "ran 1.20 us, waited 3.00 ms for a CPU, was blocked 8.10 ms", without what is 0. */
void field_append_split(struct string *out, const struct ms_split_call *split);

#endif /* MEMSCOPE_RENDER_FIELD_H */
