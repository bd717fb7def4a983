// SPDX-License-Identifier: BSD-2-Clause
#include "agent/limits_json.h"

#include <string.h>

static void put_limit(struct json *json, const struct ms_limit *limit)
{
	const bool limited = limit->known & MS_LIMIT_MEMORY;
	const bool device = limit->known & MS_LIMIT_DEVICE;

	json_open(json, '{');
	json_put_text(json, "region", limit->region);
	json_put_text(json, "cgroup", limit->path);
	json_put_u64(json, "ts_ns", limit->event.ts_ns);
	json_put_u64(json, "used_bytes", limit->used_bytes);
	json_put_if(json, "guaranteed_bytes", limit->known & MS_LIMIT_GUARANTEED,
		    limit->guaranteed_bytes);
	json_put_if(json, "limit_bytes", limited, limit->limit_bytes);
	json_name(json, "limit_cgroup");
	if (limited)
		json_text(json, limit->path, strnlen(limit->path, limit->limit_path_bytes));
	else
		json_null(json);
	json_put_if(json, "limit_used_bytes", limited, limit->limit_used_bytes);
	json_put_if(json, "left_bytes", limited, device_limits_left(limit));
	json_put_if(json, "capacity_bytes", device, limit->capacity_bytes);
	json_put_if(json, "device_used_bytes", device, limit->device_used_bytes);
	json_close(json, '}');
}

void limits_json_put(struct json *json, const struct device_limits *limits, uint64_t now_ns)
{
	const size_t count = device_limits_count(limits, now_ns);
	size_t i;

	json_name(json, "limits");
	json_open(json, '[');
	for (i = 0; i < count; i++)
		put_limit(json, &limits->list[i]);
	json_close(json, ']');
}
