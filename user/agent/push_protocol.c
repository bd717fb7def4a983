// SPDX-License-Identifier: BSD-2-Clause
#include "agent/push_protocol.h"

#include <stddef.h>

#include "agent/request.h"

/* A receiver that does not know "Expect" would be waited for. */
#define COMMON "Content-Type: application/x-protobuf", "Expect:"

static const char *const otlp_header[] = { COMMON, NULL };
static const char *const remote_write_header[] = { COMMON, "Content-Encoding: snappy",
						   "X-Prometheus-Remote-Write-Version: 0.1.0",
						   NULL };

const struct push_protocol push_protocols[PUSH_PROTOCOLS] = {
	[PUSH_OTLP] = { .option = "otlp",
			.path = "/v1/metrics",
			.of = "a collector for OTLP over HTTP",
			.header = otlp_header,
			.name = "memscope-push",
			.parent_name = "memscope-pkeep",
			.document = REQUEST_OTLP,
			.has_response = true },
	[PUSH_REMOTE_WRITE] = { .option = "remote-write",
				.path = "/api/v1/write",
				.of = "a receiver of Prometheus' remote write",
				.header = remote_write_header,
				.name = "memscope-write",
				.parent_name = "memscope-wkeep",
				.document = REQUEST_REMOTE_WRITE,
				.is_remote_write = true },
};

bool push_protocol_is_passing(enum push_protocol_id id, long status)
{
	if (status == 429)
		return true;
	if (id == PUSH_REMOTE_WRITE)
		return status >= 500;
	return status == 502 || status == 503 || status == 504;
}
