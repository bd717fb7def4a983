// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a process asked NCCL to do, by communicator, as JSON.
 */
#include "event/nccl.h"
#include "render/json_process.h"

static void put_memory(struct json *json, const char *name, const struct nccl_memory *memory)
{
	json_name(json, name);
	json_open(json, '{');
	json_put_u64(json, "live_bytes", memory->bytes);
	json_put_u64(json, "live_count", memory->blocks);
	json_put_u64(json, "peak_bytes", memory->peak_bytes);
	json_close(json, '}');
}

static void put_calls(struct json *json, const struct nccl_communicator *communicator)
{
	uint32_t i;

	json_name(json, "calls");
	json_open(json, '[');
	for (i = 0; i < MS_NCCL_FUNCTIONS_COUNT; i++) {
		const struct nccl_calls *calls = &communicator->calls[i];

		if (!calls->count)
			continue;
		json_open(json, '{');
		json_put_text(json, "function", nccl_function_name(i));
		json_put_u64(json, "count", calls->count);
		json_put_u64(json, "failed", calls->failed);
		json_put_if(json, "bytes", nccl_function_about(i) == NCCL_MOVES, calls->bytes);
		json_put_u64(json, "duration_ns", calls->duration_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_communicator(struct json *json, const struct nccl_communicator *communicator)
{
	json_open(json, '{');
	json_name(json, "communicator");
	if (communicator->handle)
		json_hex(json, communicator->handle);
	else
		json_null(json);
	json_put_if(json, "ranks", communicator->ranks, communicator->ranks);
	json_put_if(json, "rank", communicator->rank != UINT32_MAX, communicator->rank);
	json_put_if(json, "made_ts_ns", communicator->made_ns, communicator->made_ns);
	json_put_if(json, "ended_ts_ns", communicator->ended_ns, communicator->ended_ns);
	put_calls(json, communicator);
	put_memory(json, "device", &communicator->device);
	put_memory(json, "host", &communicator->host);
	json_close(json, '}');
}

void json_process_nccl(struct json *json, const struct process *process)
{
	const struct nccl *nccl = &process->nccl;
	size_t i;

	json_name(json, "nccl");
	if (!nccl->count) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_bool(json, "all_memory_known", !nccl->unlooked && !nccl->others);
	json_name(json, "communicators");
	json_open(json, '[');
	for (i = 0; i < nccl->count; i++)
		put_communicator(json, &nccl->list[i]);
	json_close(json, ']');
	json_close(json, '}');
}
