/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The door: a record from a ring buffer, a dump or a fuzzer becomes a struct event or is refused.
 * Past it the members are in range and the sizes are right; no later code checks again.
 */
#ifndef MEMSCOPE_EVENT_EVENT_H
#define MEMSCOPE_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "event/probe.h"

/* Whom a record is about: the column `subject` of bpf/records.def. */
enum event_subject {
	EVENT_OF_PROCESS,
	EVENT_OF_MACHINE,
};

/* Points into the record, and lives as long as that does. */
struct event {
	const struct ms_event *header;
	enum event_subject subject;
	/* By header->type; the others are NULL. A recorded launch has both `call` and `launch`. */
	const struct ms_call *call;
	const struct ms_launch *launch;
	const struct ms_split_call *split; /* `call`, if it says what its thread did meanwhile */
	const struct ms_free *free;
	const struct ms_name *name;
	const struct ms_process *process;
	const struct ms_account *account; /* of all processes */
	const struct ms_loss *loss;
	const struct ms_visible *visible;
	const struct ms_event *sample; /* of a kind that outputs show by its fields */
	const struct ms_newer *newer;
	const struct ms_identity *identity; /* event/identity.h */
	const struct ms_stack *stack;       /* event_stack_id() says which a call has */
	const struct ms_frame_record *frame;
	const struct ms_gpu_name *gpu_name;
	uint64_t count;                   /* of such calls: 1, unless they were only counted */
	const struct probe *probe;        /* of a call, and the beginning of a free: its row */
	const struct probe *driver_probe; /* of a call: the driver's row, NULL if none is known */
};

/* Returns 0, or -EINVAL if the record is not one that the BPF programs could have written. */
int event_decode(const void *record, size_t length, struct event *event);

/* Whether such a record, or one of an anchor like it, is one: 0 or -EINVAL. */
int event_check_stack(const struct ms_stack *stack);
int event_check_frame(const struct ms_frame_record *frame);

/* Whether the call ended well; a call whose end was not watched is believed to have. */
static inline int event_succeeded(const struct ms_call *call)
{
	return !(call->known & MS_KNOWN_RESULT) || call->result == MS_CUDA_SUCCESS;
}

/* The stack that the call was made from, by its id; 0: none was taken. */
static inline uint32_t event_stack_id(const struct ms_call *call)
{
	return call->flags & MS_CALL_STACK ? call->event.stack : 0;
}

/* Whether `stack` of a record, which has been checked, is the id of one. */
bool event_has_stack(const struct ms_event *record);

/* Whether the host waits for it: what is given a stream returns before it is done, as a rule. */
static inline bool event_is_synchronous(const struct event *event)
{
	return event->probe->spec.stream.kind == MS_FROM_NOWHERE;
}

/* Whether a record can be of such a process. */
static inline bool event_is_process(const struct ms_event *header)
{
	return !(header->pid >> MS_PID_BITS) && !(header->start_ns % MS_START_NS);
}

/* (pid, start) as one number, which no other process has. */
static inline uint64_t event_process_key(uint32_t pid, uint64_t start_ns)
{
	return start_ns / MS_START_NS << MS_PID_BITS | pid;
}

/* As every output has it: "call", "exit" ... */
const char *event_type_name(enum ms_type type);

/* What is traced of a process: "all", "entries" or "off". */
const char *event_budget_step_name(enum ms_budget_step step);

/* Whether a record of that type begins with a struct ms_call. */
bool event_is_call(uint16_t type);

/* Whether a record of that type is a sample; whom it is about, if there is such a type. */
bool event_is_sample(uint16_t type);
enum event_subject event_subject_of(uint16_t type);

/* Whether text follows a record of that type. */
bool event_has_text(uint16_t type);

/* The type of a record that was decoded, for a switch that the compiler finds complete. */
static inline enum ms_type event_type(const struct event *event)
{
	return (enum ms_type)event->header->type;
}

/* Which enum ms_kind an account of that op is about, or -1; and back. */
int event_account_kind(uint16_t op);
uint16_t event_account_op(uint32_t kind);
bool event_account_is_known(uint16_t op);

/* When a call began and ended; calls that were summed up: just before that, taken as one. */
static inline uint64_t event_begin_ns(const struct event *event)
{
	const uint64_t ts_ns = event->header->ts_ns;

	if (!event->call || event->header->type != MS_TYPE_CALLS)
		return ts_ns;
	return ts_ns > event->call->duration_ns ? ts_ns - event->call->duration_ns : 0;
}

static inline uint64_t event_end_ns(const struct event *event)
{
	const uint64_t ts_ns = event->header->ts_ns;

	return event->call && event->header->type != MS_TYPE_CALLS ?
		       ts_ns + event->call->duration_ns :
		       ts_ns;
}

/* How long records of that type are; names have their text besides. 0: no type that is known. */
size_t event_size(uint16_t type);

/* How long they can be, but for text: some have a member at the end that others lack. */
size_t event_longest(uint16_t type);

#endif /* MEMSCOPE_EVENT_EVENT_H */
