/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a golden recording says of the host, in words (dump_golden_test.c).
 */
#ifndef MEMSCOPE_TESTS_GOLDEN_HOST_H
#define MEMSCOPE_TESTS_GOLDEN_HOST_H

#include "base/string.h"
#include "records.h"

static inline bool append_host_record(struct string *out, const union record *record)
{
	switch (record->event.type) {
	case MS_TYPE_HOST:
		string_append_format(out, "host known=%u available=%llu cpu=%llu io=%llu",
				     record->host.known,
				     (unsigned long long)record->host.available_bytes,
				     (unsigned long long)record->host.cpu_some_us,
				     (unsigned long long)record->host.io_full_us);
		return true;
	case MS_TYPE_LOAD:
		string_append_format(out, "process_host known=%u cpu=%llu queue=%llu stall=%llu",
				     record->load.known, (unsigned long long)record->load.cpu_ns,
				     (unsigned long long)record->load.queue_ns,
				     (unsigned long long)record->load.cgroup_stall_us);
		return true;
	case MS_TYPE_NODE:
		string_append_format(out, "numa_node %u free=%llu", record->node.node,
				     (unsigned long long)record->node.free_bytes);
		return true;
	case MS_TYPE_LIMIT:
		string_append_format(out, "memory_limit known=%u %s of %.*s: %llu of %llu in %s",
				     record->limit.known, record->limit.region,
				     (int)record->limit.limit_path_bytes, record->limit.path,
				     (unsigned long long)record->limit.limit_used_bytes,
				     (unsigned long long)record->limit.limit_bytes,
				     record->limit.path);
		return true;
	case MS_TYPE_PLACEMENT:
		string_append_format(out, "placement space=%u node=%d pages=%llu of %llu",
				     record->placement.space, record->placement.node,
				     (unsigned long long)record->placement.pages,
				     (unsigned long long)record->placement.asked);
		return true;
	case MS_TYPE_BUDGET:
		string_append_format(out, "budget step=%u before=%u lasted=%llu spent=%llu ppm=%u",
				     record->budget.step, record->budget.before,
				     (unsigned long long)record->budget.lasted_ns,
				     (unsigned long long)record->budget.spent_ns,
				     record->budget.budget_ppm);
		return true;
	case MS_TYPE_RANGE:
		string_append_format(out, "range action=%u at 0x%llx", record->range.action,
				     (unsigned long long)record->range.base);
		return true;
	case MS_TYPE_XID:
		string_append_format(out, "xid %u of %s process=%u %s", record->xid.xid,
				     record->xid.bdf, record->xid.process, record->xid.text);
		return true;
	case MS_TYPE_GPU:
		string_append_format(out, "gpu_link known=%u node=%u speed=%u/%u width=%u/%u %s",
				     record->gpu.known, record->gpu.node, record->gpu.speed,
				     record->gpu.max_speed, record->gpu.width,
				     record->gpu.max_width, record->gpu.bdf);
		return true;
	default:
		return false;
	}
}

#endif /* MEMSCOPE_TESTS_GOLDEN_HOST_H */
