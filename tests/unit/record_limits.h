/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of records.h that is about limits of cgroups.
 */
#ifndef MEMSCOPE_TESTS_RECORD_LIMITS_H
#define MEMSCOPE_TESTS_RECORD_LIMITS_H

#include "records.h"

/* Of the cgroup "/pods/one", by the limit of "/pods"; 0: there is none. */
static inline union record record_limit(const char *region, uint64_t used, uint64_t limit)
{
	union record record = record_event(MS_TYPE_LIMIT, sizeof(struct ms_limit));

	record.limit.used_bytes = used / 2;
	if (limit) {
		record.limit.known = MS_LIMIT_MEMORY;
		record.limit.limit_path_bytes = strlen("/pods");
		record.limit.limit_bytes = limit;
		record.limit.limit_used_bytes = used;
	}
	memcpy(record.limit.region, region, strlen(region));
	memcpy(record.limit.path, "/pods/one", strlen("/pods/one"));
	return record;
}

/* Of a device with so much memory, of which all programs use so much. */
static inline union record record_limit_on(uint64_t capacity, uint64_t used, union record record)
{
	record.limit.known |= MS_LIMIT_DEVICE;
	record.limit.capacity_bytes = capacity;
	record.limit.device_used_bytes = used;
	return record;
}

#endif /* MEMSCOPE_TESTS_RECORD_LIMITS_H */
