// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the allocators of frameworks have, as JSON.
 */
#include "event/framework.h"
#include "render/json_process.h"

/* ---- how blocks lie in segments -------------------------------------------------------------- */

static void put_pieces(struct json *json, const struct tensor_segments *at)
{
	size_t i;

	json_name(json, "pieces");
	json_open(json, '[');
	for (i = 0; i < TENSOR_CLASSES; i++) {
		if (!at->classes[i].count)
			continue;
		json_open(json, '{');
		json_put_u64(json, "least_bytes", 1ull << i);
		json_put_u64(json, "count", at->classes[i].count);
		json_put_u64(json, "bytes", at->classes[i].bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_pins(struct json *json, const struct tensor_segments *at)
{
	size_t i;

	json_name(json, "sizes");
	json_open(json, '[');
	for (i = 0; i < at->pins_count; i++) {
		json_open(json, '{');
		json_put_u64(json, "block_bytes", at->pins[i].block_bytes);
		json_put_if(json, "stack_id", at->pins[i].stack, at->pins[i].stack);
		json_put_u64(json, "blocks", at->pins[i].blocks);
		json_put_u64(json, "segments", at->pins[i].segments);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_put_u64(json, "more_sizes", at->pins_more);
}

static void put_sites(struct json *json, const struct tensor_segments *at)
{
	size_t i;

	json_name(json, "taken_at");
	json_open(json, '[');
	for (i = 0; i < at->sites_count; i++) {
		json_open(json, '{');
		json_put_if(json, "stack_id", at->sites[i].stack, at->sites[i].stack);
		json_put_u64(json, "segments", at->sites[i].segments);
		json_put_u64(json, "bytes", at->sites[i].bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_put_u64(json, "taken_elsewhere", at->sites_more);
}

static void put_sparse(struct json *json, const struct tensor_segments *at)
{
	json_name(json, "sparse");
	json_open(json, '{');
	json_put_u64(json, "segments", at->sparse);
	json_put_u64(json, "bytes", at->sparse_bytes);
	json_put_u64(json, "free_bytes", at->sparse_free);
	json_put_u64(json, "blocks", at->pins_blocks);
	json_put_u64(json, "blocks_bytes", at->pins_bytes);
	put_pins(json, at);
	put_sites(json, at);
	json_close(json, '}');
}

static void put_segments(struct json *json, const struct tensor_segments *at)
{
	json_open(json, '{');
	json_put_if(json, "ts_ns", at->ts_ns, at->ts_ns);
	json_put_if(json, "wanted_bytes", at->wanted_bytes, at->wanted_bytes);
	json_put_u64(json, "allocated_bytes", at->allocated);
	json_put_u64(json, "reserved_bytes", at->reserved);
	json_put_u64(json, "before_bytes", at->before_bytes);
	json_put_u64(json, "outside_bytes", at->outside_bytes);
	json_put_bool(json, "complete", tensor_segments_are_complete(at));
	json_put_if(json, "device_free_bytes", at->has_device_free, at->device_free_bytes);
	json_put_u64(json, "segments", at->count);
	json_put_u64(json, "segments_bytes", at->bytes);
	json_put_u64(json, "mapped", at->mapped);
	json_put_u64(json, "full", at->full);
	json_put_u64(json, "empty", at->empty);
	json_put_u64(json, "empty_bytes", at->empty_bytes);
	json_put_u64(json, "largest_empty_bytes", at->largest_empty);
	json_put_u64(json, "free_bytes", tensor_segments_stuck(at));
	json_put_u64(json, "largest_piece_bytes", at->largest_piece);
	put_pieces(json, at);
	put_sparse(json, at);
	json_close(json, '}');
}

static void put_moments(struct json *json, const struct process *process,
			const struct tensor_device *device)
{
	const struct tensor_segments *at;
	struct tensor_segments now;
	enum tensor_moment moment;

	json_name(json, "segments");
	json_open(json, '{');
	for (moment = 0; moment < TENSOR_MOMENTS_COUNT; moment++) {
		at = tensors_moment(process, device, moment, &now);
		json_name(json, tensor_moment_name(moment));
		if (at)
			put_segments(json, at);
		else
			json_null(json);
	}
	json_close(json, '}');
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void put_tensor_peak(struct json *json, const char *bytes, const char *ts,
			    const struct tensor_peak *peak)
{
	json_put_u64(json, bytes, peak->bytes);
	json_put_if(json, ts, peak->ts_ns, peak->ts_ns);
}

static void put_tensor_device(struct json *json, const struct process *process,
			      const struct tensor_device *device)
{
	json_open(json, '{');
	json_put_text(json, "framework", framework_name(device->framework));
	json_put_if(json, "device", device->device >= 0, (uint64_t)device->device);
	json_put_u64(json, "allocated_bytes", device->allocated);
	json_put_u64(json, "cached_bytes", device->reserved - device->allocated);
	json_put_u64(json, "reserved_bytes", device->reserved);
	put_tensor_peak(json, "peak_allocated_bytes", "peak_allocated_ts_ns",
			&device->peak_allocated);
	put_tensor_peak(json, "peak_reserved_bytes", "peak_reserved_ts_ns", &device->peak_reserved);
	json_put_u64(json, "blocks", device->live_count);
	json_put_u64(json, "blocks_bytes", device->live_bytes);
	json_put_u64(json, "before_bytes", tensor_device_before(device));
	json_put_u64(json, "allocs", device->allocs);
	json_put_u64(json, "frees", device->frees);
	json_put_u64(json, "unknown_frees", device->unknown_frees);
	json_put_u64(json, "out_of_memory", device->out_of_memory);
	json_put_if(json, "wanted_bytes", device->out_of_memory, device->wanted_bytes);
	json_put_u64(json, "retries", device->retries);
	json_put_u64(json, "differences", device->differences);
	put_moments(json, process, device);
	json_close(json, '}');
}

void json_process_tensors(struct json *json, const struct process *process)
{
	const struct tensors *tensors = &process->tensors;
	uint64_t rest = 0;
	const bool has_rest = tensors_rest(process, &rest);
	size_t i;

	json_name(json, "tensors");
	if (!tensors->devices_count && !tensors->absurd) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_bool(json, "exact", tensors_are_exact(tensors));
	json_put_if(json, "other_cuda_bytes", has_rest, rest);
	json_put_u64(json, "absurd", tensors->absurd);
	json_put_u64(json, "others", tensors->others);
	json_name(json, "devices");
	json_open(json, '[');
	for (i = 0; i < tensors->devices_count; i++)
		put_tensor_device(json, process, &tensors->devices[i]);
	json_close(json, ']');
	json_close(json, '}');
}
