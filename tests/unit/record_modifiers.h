/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of records.h that says what is unusual about a record.
 */
#ifndef MEMSCOPE_TESTS_RECORD_MODIFIERS_H
#define MEMSCOPE_TESTS_RECORD_MODIFIERS_H

#include "records.h"

static inline union record record_at(uint64_t ts_ns, union record record)
{
	record.event.ts_ns = ts_ns;
	return record;
}

static inline union record record_taking(uint64_t duration_ns, union record record)
{
	record.call.duration_ns = duration_ns;
	return record;
}

static inline union record record_of(uint32_t pid, uint64_t start_ns, union record record)
{
	record.event.pid = pid;
	record.event.tid = pid;
	record.event.start_ns = start_ns;
	return record;
}

static inline union record record_by(uint32_t tid, union record record)
{
	record.event.tid = tid;
	return record;
}

static inline union record record_failed(int32_t result, union record record)
{
	record.call.result = result;
	return record;
}

/* Takes back what is known: a set of enum ms_known. */
static inline union record record_without(uint16_t known, union record record)
{
	record.call.known &= ~known;
	if (known & MS_KNOWN_ADDR)
		record.call.addr = 0;
	if (known & MS_KNOWN_SIZE)
		record.call.size = 0;
	if (known & MS_KNOWN_DIRECTION)
		record.call.direction = 0;
	if (known & MS_KNOWN_DEVICE)
		record.call.device = 0;
	return record;
}

static inline union record record_from(uint64_t src, union record record)
{
	record.call.src = src;
	record.call.known |= MS_KNOWN_SRC;
	return record;
}

static inline union record record_to(uint64_t addr, union record record)
{
	record.call.addr = addr;
	record.call.known |= MS_KNOWN_ADDR;
	return record;
}

/* With the context that is current, or the device. */
static inline union record record_in(uint64_t context, union record record)
{
	record.call.context = context;
	record.call.known |= MS_KNOWN_CONTEXT;
	return record;
}

static inline union record record_on(int32_t device, union record record)
{
	record.call.device = device;
	record.call.known |= MS_KNOWN_DEVICE;
	return record;
}

static inline union record record_stream(uint64_t stream, union record record)
{
	record.call.stream = stream;
	record.call.known |= MS_KNOWN_STREAM;
	return record;
}

/* The beginning of a free in a stream. */
static inline union record record_begin_stream(uint64_t stream, union record record)
{
	record.free.stream = stream;
	return record;
}

static inline union record record_flagged(uint8_t flags, union record record)
{
	record.call.flags |= flags;
	return record;
}

/* A runtime call with the driver call that it made in it. */
static inline union record record_merged(const char *driver_symbol, union record record)
{
	record.call.driver_row = record_row(driver_symbol);
	return record;
}

#endif /* MEMSCOPE_TESTS_RECORD_MODIFIERS_H */
