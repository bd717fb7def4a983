/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What makes crafted recordings: the blocks of a file (crafted_dump.c), and what there can be any
 * number of in records of calls (crafted_records.c), in others (crafted_samples.c) and in a file
 * (crafted_files.c).
 */
#ifndef MEMSCOPE_TESTS_CRAFTED_H
#define MEMSCOPE_TESTS_CRAFTED_H

#include <stdio.h>
#include <stdlib.h>

#include "ledger/checkpoint.h"
#include "records.h"
#include "store/block.h"
#include "store/delta.h"
#include "store/properties.h"

#define SECOND 1000000000ull
#define BASE 0x700000000000ull
#define MANY 400u

struct maker {
	FILE *file;
	uint64_t bytes;
	struct block_header next; /* numbers of the next block */
	struct block_coder *coder;
	struct delta_writer pack;
	uint32_t records;
	uint64_t ts_ns, step_ns; /* of the last record, and from one to the next */
};

#define ANCHOR_RECORD(name, tag, ...) \
	struct ms_checkpoint_##name name = { .event = { .start_ns = RECORD_START_NS, \
							.pid = RECORD_PID, \
							.tid = RECORD_PID, \
							.type = MS_CHECKPOINT_##tag, \
							.size = sizeof(name) }, \
					     __VA_ARGS__ }

struct crafted_kind {
	const char *name;
	void (*step)(struct maker *maker, uint64_t i); /* makes the i-th */
	void (*begin)(struct maker *maker);            /* NULL: an empty anchor */
	void (*prepare)(struct maker *maker);          /* NULL: nothing; events before that */
};

/* Each ends with one without a name. */
extern const struct crafted_kind crafted_records[], crafted_files[], crafted_samples[];

void crafted_die(const char *what);
void crafted_put_block(struct maker *maker, uint8_t type, const void *raw, size_t bytes);
void crafted_flush(struct maker *maker, uint8_t type);
void crafted_put_record(struct maker *maker, uint8_t type, const void *record);
void crafted_put_anchored(struct maker *maker, const void *record);
void crafted_put(struct maker *maker, union record record);
void crafted_put_description(struct maker *maker);
void crafted_begin_anchor(struct maker *maker);
void crafted_begin_anchored_process(struct maker *maker);
void crafted_end_anchor(struct maker *maker);
void crafted_begin_empty(struct maker *maker);
union record crafted_of_process(uint32_t number, union record record);
union record crafted_name_of(uint64_t handle, const char *format, uint64_t number);

/* Of crafted_records.c. */
void crafted_make_allocations(struct maker *maker, uint64_t i);
void crafted_make_lanes(struct maker *maker, uint64_t i);

#endif /* MEMSCOPE_TESTS_CRAFTED_H */
