// SPDX-License-Identifier: BSD-2-Clause
#include "steps.h"

#include <string.h>

#include "fuzz.h"

union step_record {
	struct ms_event event;
	struct ms_call call;
	struct ms_launch launch;
	struct ms_free free;
	struct ms_name name;
	struct ms_process process;
	struct ms_calls calls;
	struct ms_account account;
	uint8_t bytes[sizeof(struct ms_name) + 256];
};

_Static_assert(sizeof(union step_record) <= STEPS_RECORD_MAX, "as promised");

/* The order and meaning of these are what the committed inputs are made of. */
struct step {
	uint8_t kind; /* enum kind, modulo KINDS_COUNT */
	uint8_t who;  /* process, thread, time that has passed: 2, 2, 4 bits */
	uint16_t row;
	uint16_t unknown; /* bits of enum ms_known that are NOT known */
	uint8_t driver_row, flags;
	uint8_t addr, size, src, stream, context, device, direction, duration;
};

_Static_assert(sizeof(struct step) == 16, "without holes");

enum kind {
	KIND_CALL,
	KIND_CALL_TOO, /* more often than the others */
	KIND_ALLOC,
	KIND_FREE,
	KIND_FREE_BEGIN,
	KIND_MEMORY,
	KIND_CONTEXT,
	KIND_LAUNCH,
	KIND_NAME,
	KIND_ALIAS,
	KIND_PROCESS,
	KIND_BYTES,
	KIND_CALLS,
	KIND_ACCOUNT,
	KINDS_COUNT,
};

/* Few values that are often equal and lie in one another's ranges, and those at the ends. */
static uint64_t value_of(uint8_t byte)
{
	if (byte < 0xc0)
		return byte * 0x100ull;
	if (byte < 0xe0)
		return UINT64_MAX - (byte - 0xc0) * 0x100ull;
	return 1ull << (byte - 0xe0) * 2;
}

struct rows {
	uint16_t rows[1024];
	uint32_t count;
};

/* The rows of each op: all of them, and the driver's. */
static struct rows any_layer[MS_OPS_COUNT], driver[MS_OPS_COUNT];

static void rows_add(struct rows *rows, uint16_t row)
{
	fuzz_check(rows->count < sizeof(rows->rows) / sizeof(*rows->rows));
	rows->rows[rows->count++] = row;
}

static void rows_sort_out(void)
{
	uint32_t row;

	for (row = 0; row < probe_count(); row++) {
		rows_add(&any_layer[probe_at(row)->spec.op], row);
		if (probe_at(row)->layer == MS_LAYER_DRIVER)
			rows_add(&driver[probe_at(row)->spec.op], row);
	}
}

/* One that does `op`; without an op, any. */
static uint16_t row_of(uint16_t wanted, int op)
{
	return op < 0 ? wanted % probe_count() : any_layer[op].rows[wanted % any_layer[op].count];
}

/* A driver's row that the call could have been merged with, or none. */
static uint16_t driver_row_of(uint16_t row, uint8_t wanted)
{
	const struct rows *rows = &driver[probe_at(row)->spec.op];

	return wanted && rows->count ? rows->rows[wanted % rows->count] : MS_NO_ROW;
}

static void make_event(const struct fuzz_steps *steps, const struct step *step,
		       union step_record *record, uint16_t type, size_t size)
{
	memset(record, 0, sizeof(*record));
	record->event = (struct ms_event){
		.ts_ns = steps->now_ns,
		.start_ns = (step->who & 1) * MS_START_NS,
		.pid = 1 + (step->who >> 1 & 1),
		.tid = 1 + (step->who >> 2 & 3),
		.type = type,
		.size = size,
	};
}

static void make_call(const struct fuzz_steps *steps, const struct step *step, int op,
		      union step_record *record)
{
	uint16_t row = row_of(step->row, op);
	bool launch = probe_at(row)->spec.op == MS_OP_LAUNCH;
	struct ms_call *call = &record->call;

	make_event(steps, step, record, launch ? MS_TYPE_LAUNCH : MS_TYPE_CALL,
		   launch ? sizeof(record->launch) : sizeof(record->call));
	call->duration_ns = step->duration * 10ull;
	call->addr = value_of(step->addr);
	call->size = value_of(step->size);
	call->src = value_of(step->src);
	call->stream = value_of(step->stream);
	call->context = value_of(step->context);
	call->device = (int8_t)step->device;
	call->result = step->flags >> 4;
	call->row = row;
	call->driver_row = driver_row_of(row, step->driver_row);
	call->known = ~step->unknown;
	call->direction = step->direction % MS_DIRECTIONS_COUNT;
	call->flags = step->flags & 3;
}

static void make_free_begin(const struct fuzz_steps *steps, const struct step *step,
			    union step_record *record)
{
	make_event(steps, step, record, MS_TYPE_FREE_BEGIN, sizeof(record->free));
	record->free.addr = value_of(step->addr);
	record->free.size = value_of(step->size);
	record->free.stream = value_of(step->stream);
	record->free.row = row_of(step->row, MS_OP_FREE);
}

/* Its text is the rest of the step and what follows. */
static void make_name(struct fuzz_steps *steps, const struct step *step, union step_record *record)
{
	size_t length = step->size < steps->size ? step->size : steps->size;

	make_event(steps, step, record, MS_TYPE_NAME, sizeof(record->name) + length + 1);
	record->name.handle = value_of(step->addr);
	record->name.length = length + 1;
	memcpy(record->bytes + sizeof(record->name), steps->bytes, length);
	steps->bytes += length;
	steps->size -= length;
}

static void make_alias(const struct fuzz_steps *steps, const struct step *step,
		       union step_record *record)
{
	make_event(steps, step, record, MS_TYPE_NAME, sizeof(record->name));
	record->name.handle = value_of(step->addr);
	record->name.alias = value_of(step->src);
}

static void make_process(const struct fuzz_steps *steps, const struct step *step,
			 union step_record *record)
{
	static const uint16_t types[] = { MS_TYPE_EXEC, MS_TYPE_FORK, MS_TYPE_EXIT,
					  MS_TYPE_ATTACH };

	make_event(steps, step, record, types[step->row % 4], sizeof(record->process));
	record->process.value = step->unknown;
	memcpy(record->process.comm, &step->addr, 8);
}

/* Counted calls have neither thread nor place. */
static void make_calls(const struct fuzz_steps *steps, const struct step *step,
		       union step_record *record)
{
	static const int ops[] = { MS_OP_LAUNCH, MS_OP_COPY, MS_OP_MEMSET, MS_OP_SYNC };

	make_call(steps, step, ops[step->stream % 4], record);
	memset(record->bytes + sizeof(record->call), 0,
	       sizeof(record->calls) - sizeof(record->call));
	record->event.type = MS_TYPE_CALLS;
	record->event.size = sizeof(record->calls);
	record->calls.count = step->context;
}

static void make_account(const struct fuzz_steps *steps, const struct step *step,
			 union step_record *record)
{
	make_event(steps, step, record, MS_TYPE_ACCOUNT, sizeof(record->account));
	record->account.op = step->flags % (MS_ACCOUNT_ABANDONED + 2);
	record->account.seen = value_of(step->size);
	record->account.lost = value_of(step->addr);
}

static size_t make_bytes(struct fuzz_steps *steps, const struct step *step,
			 union step_record *record)
{
	size_t length = step->size < steps->size ? step->size : steps->size;

	memcpy(record->bytes, steps->bytes, length);
	steps->bytes += length;
	steps->size -= length;
	return length;
}

/* Time goes on, but for some steps, which come late. */
static void pass_time(struct fuzz_steps *steps, const struct step *step)
{
	uint8_t passed = step->who >> 4;

	if (passed < 15)
		steps->now_ns += passed * 100ull;
	else if (steps->now_ns >= 1000)
		steps->now_ns -= 1000;
}

/* The next record and its length; returns false at the end of the input. */
static bool next(struct fuzz_steps *steps, union step_record *record, size_t *length)
{
	struct step step;

	if (!any_layer[MS_OP_ALLOC].count)
		rows_sort_out();
	if (steps->size < sizeof(step))
		return false;
	memcpy(&step, steps->bytes, sizeof(step));
	steps->bytes += sizeof(step);
	steps->size -= sizeof(step);
	pass_time(steps, &step);
	switch (step.kind % KINDS_COUNT) {
	case KIND_CALL:
	case KIND_CALL_TOO:
		make_call(steps, &step, -1, record);
		break;
	case KIND_ALLOC:
		make_call(steps, &step, MS_OP_ALLOC, record);
		break;
	case KIND_FREE:
		make_call(steps, &step, MS_OP_FREE, record);
		break;
	case KIND_FREE_BEGIN:
		make_free_begin(steps, &step, record);
		break;
	case KIND_MEMORY:
		make_call(steps, &step, MS_OP_MEMORY, record);
		break;
	case KIND_CONTEXT:
		make_call(steps, &step, MS_OP_CONTEXT, record);
		break;
	case KIND_LAUNCH:
		make_call(steps, &step, MS_OP_LAUNCH, record);
		break;
	case KIND_NAME:
		make_name(steps, &step, record);
		break;
	case KIND_ALIAS:
		make_alias(steps, &step, record);
		break;
	case KIND_PROCESS:
		make_process(steps, &step, record);
		break;
	case KIND_CALLS:
		make_calls(steps, &step, record);
		break;
	case KIND_ACCOUNT:
		make_account(steps, &step, record);
		break;
	case KIND_BYTES:
		*length = make_bytes(steps, &step, record);
		return true;
	}
	*length = record->event.size;
	return true;
}

void *steps_next(struct fuzz_steps *steps, size_t *length)
{
	union step_record record;
	void *exact;

	if (!next(steps, &record, length))
		return NULL;
	exact = malloc(*length ? *length : 1);
	fuzz_check(exact);
	memcpy(exact, &record, *length);
	return exact;
}

bool steps_feed(struct fuzz_steps *steps, struct pipeline *pipeline)
{
	size_t length;
	void *record = steps_next(steps, &length);

	if (!record)
		return false;
	fuzz_check(!pipeline_feed(pipeline, record, length));
	free(record);
	return true;
}
