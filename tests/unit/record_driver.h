/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builders of records about NVIDIA's kernel driver. A part of records.h.
 */
#ifndef MEMSCOPE_TESTS_RECORD_DRIVER_H
#define MEMSCOPE_TESTS_RECORD_DRIVER_H

#include "records.h"

/* Memory of the device that the driver gives, in no call. */
static inline union record record_object(uint32_t object, uint64_t bytes)
{
	union record record = record_event(MS_TYPE_OBJECT, sizeof(struct ms_object));

	record.object.client = 0xc1d00001;
	record.object.parent = 0x5c000001;
	record.object.object = object;
	record.object.class_number = MS_NV_MEMORY_LOCAL;
	record.object.size = bytes;
	record.object.row = MS_NO_ROW;
	return record;
}

/* The object of that handle is at those addresses; of the actions without one: 0. */
static inline union record record_range(enum ms_range_action action, uint64_t base, uint64_t bytes,
					uint32_t object)
{
	union record record = record_event(MS_TYPE_RANGE, sizeof(struct ms_range));

	record.range.action = action;
	record.range.base = base;
	record.range.bytes = bytes;
	record.range.client = object ? 0xc1d00001 : 0;
	record.range.object = object;
	record.range.row = MS_NO_ROW;
	return record;
}

#endif /* MEMSCOPE_TESTS_RECORD_DRIVER_H */
