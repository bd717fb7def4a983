/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interprets the sources of a probe table row: turns a call's arguments, and the memory they point
 * to, into the members of its record. Whatever cannot be read stays 0 and is not marked as known.
 */
#ifndef MS_VALUE_BPF_H
#define MS_VALUE_BPF_H

static __always_inline __u64 value_arg(const struct ms_frame *frame, __u32 arg)
{
	barrier_var(arg);
	return frame->args[arg & (MS_ARGS - 1)];
}

static __always_inline int read_u64(__u64 *value, __u64 addr)
{
	return bpf_probe_read_user(value, sizeof(*value), (const void *)addr);
}

static __always_inline int read_u32(__u64 *value, __u64 addr)
{
	__u32 narrow = 0;
	int err = bpf_probe_read_user(&narrow, sizeof(narrow), (const void *)addr);

	*value = narrow;
	return err;
}

/* CUmemorytype: 1 host, 2 device, 3 array, 4 unified (a device pointer of either kind). */
#define CU_MEMORYTYPE_HOST 1
#define CU_MEMORYTYPE_DEVICE 2
#define CU_MEMORYTYPE_ARRAY 3
#define CU_MEMORYTYPE_UNIFIED 4

static __always_inline int read_copy_end(__u64 *value, __u64 addr)
{
	__u64 type;
	int err = read_u32(&type, addr);

	if (err)
		return err;
	if (type == CU_MEMORYTYPE_UNIFIED)
		type = CU_MEMORYTYPE_DEVICE;
	if (type < CU_MEMORYTYPE_HOST || type > CU_MEMORYTYPE_ARRAY)
		return -1;
	return read_u64(value, addr + 8 * type);
}

static __always_inline int read_pitched_end(__u64 *value, __u64 addr)
{
	int err = read_u64(value, addr - MS_PITCHED_ARRAY);

	return !err && !*value ? read_u64(value, addr) : err;
}

/* cudaMemcpy3DParms begins with the source's array; the destination's is at 64. */
static __always_inline int read_pitched_width(__u64 *value, __u64 params, __u32 offset)
{
	__u64 source, destination;

	if (read_u64(&source, params) || read_u64(&destination, params + 64))
		return -1;
	return source || destination ? -1 : read_u64(value, params + offset);
}

/* By source type * 4 + destination type; not static, or its BTF would have no offset. */
const __u8 ms_copy_directions[16] = {
	MS_DIRECTIONS_COUNT, MS_DIRECTIONS_COUNT, MS_DIRECTIONS_COUNT, MS_DIRECTIONS_COUNT,
	MS_DIRECTIONS_COUNT, MS_DIRECTION_HTOH,   MS_DIRECTION_HTOD,   MS_DIRECTION_HTOA,
	MS_DIRECTIONS_COUNT, MS_DIRECTION_DTOH,   MS_DIRECTION_DTOD,   MS_DIRECTION_DTOA,
	MS_DIRECTIONS_COUNT, MS_DIRECTION_ATOH,   MS_DIRECTION_ATOD,   MS_DIRECTION_ATOA,
};

static __always_inline __u64 copy_direction(__u64 from, __u64 to)
{
	__u32 i = from * 4 + to;

	barrier_var(i);
	return ms_copy_directions[i & 15];
}

static __always_inline int read_copy_ends(__u64 *value, __u64 addr, __u32 distance)
{
	__u64 from, to;

	if (read_u32(&from, addr) || read_u32(&to, addr + distance))
		return -1;
	if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) {
		*value = MS_DIRECTION_DEFAULT;
		return 0;
	}
	if (from > CU_MEMORYTYPE_ARRAY || to > CU_MEMORYTYPE_ARRAY)
		return -1;
	*value = copy_direction(from, to);
	return *value == MS_DIRECTIONS_COUNT ? -1 : 0;
}

/* Reads the value that `packed` (a struct ms_source) describes; 0, or negative if it is unknown. */
static __noinline int value_read(const struct ms_frame *frame, __u32 packed, __u64 *value)
{
	struct ms_source source;
	__u64 arg;

	__builtin_memcpy(&source, &packed, sizeof(source));
	arg = value_arg(frame, source.arg);
	switch (source.kind) {
	case MS_FROM_CONST:
		*value = source.offset;
		return 0;
	case MS_FROM_OUT64:
		if (frame->record.call.result != MS_CUDA_SUCCESS)
			return -1;
		/* fallthrough */
	case MS_FROM_MEM64:
		return read_u64(value, arg + source.offset);
	case MS_FROM_OUT32:
		if (frame->record.call.result != MS_CUDA_SUCCESS)
			return -1;
		/* fallthrough */
	case MS_FROM_MEM32:
		return read_u32(value, arg + source.offset);
	case MS_FROM_COPY_END:
		return read_copy_end(value, arg + source.offset);
	case MS_FROM_PITCHED_END:
		return read_pitched_end(value, arg + source.offset);
	case MS_FROM_PITCHED_WIDTH:
		return read_pitched_width(value, arg, source.offset);
	case MS_FROM_ENDS_2D:
		return read_copy_ends(value, arg + source.offset, MS_COPY2D_DST);
	case MS_FROM_ENDS_3D:
		return read_copy_ends(value, arg + source.offset, MS_COPY3D_DST);
	}
	return -1;
}

static __always_inline int value_get(const struct ms_frame *frame, struct ms_source source,
				     __u64 *value)
{
	__u32 packed;

	*value = 0;
	if (source.kind == MS_FROM_NOWHERE)
		return -1;
	if (source.kind == MS_FROM_ARG || source.kind == MS_FROM_ARG32) {
		/* Most are: they are spared the call of value_read(). */
		*value = value_arg(frame, source.arg);
		if (source.kind == MS_FROM_ARG32)
			*value = (__u32)*value;
		return 0;
	}
	__builtin_memcpy(&packed, &source, sizeof(packed));
	return value_read(frame, packed, value);
}

/* bytes = size x height x depth; a failed call is described by what it asked for */
static __always_inline int value_size(const struct ms_frame *frame, const struct ms_spec *spec,
				      __u64 *bytes)
{
	bool failed = frame->record.call.result != MS_CUDA_SUCCESS;
	__u64 factor;

	if (failed && spec->request.kind != MS_FROM_NOWHERE) {
		if (value_get(frame, spec->request, bytes))
			return -1;
	} else if (value_get(frame, spec->size, bytes)) {
		return -1;
	}
	if (spec->height.kind != MS_FROM_NOWHERE) {
		if (value_get(frame, spec->height, &factor))
			return -1;
		*bytes *= factor;
	}
	if (spec->depth.kind != MS_FROM_NOWHERE) {
		if (value_get(frame, spec->depth, &factor))
			return -1;
		*bytes *= factor;
	}
	return 0;
}

/* A direction that the program passed is a cudaMemcpyKind, if it is one at all. */
static __always_inline int value_direction(const struct ms_frame *frame, struct ms_source source,
					   __u64 *direction)
{
	bool passed = source.kind == MS_FROM_ARG32 || source.kind == MS_FROM_MEM32;

	if (value_get(frame, source, direction))
		return -1;
	return passed && *direction > MS_DIRECTION_DEFAULT ? -1 : 0;
}

/* Grid and block; 0, or negative if they are unknown. */
static __always_inline int value_dims(const struct ms_frame *frame, struct ms_source source,
				      struct ms_launch *launch)
{
	__u32 *dims = launch->grid; /* block follows */

	switch (source.kind) {
	case MS_FROM_ARGS6:
#pragma unroll
		for (__u32 i = 0; i < 3; i++) {
			launch->grid[i] = (__u32)value_arg(frame, source.arg + i);
			launch->block[i] = (__u32)value_arg(frame, source.arg + 3 + i);
		}
		return 0;
	case MS_FROM_DIM3S:
		launch->grid[0] = (__u32)value_arg(frame, source.arg);
		launch->grid[1] = value_arg(frame, source.arg) >> 32;
		launch->grid[2] = (__u32)value_arg(frame, source.arg + 1);
		launch->block[0] = (__u32)value_arg(frame, source.arg + 2);
		launch->block[1] = value_arg(frame, source.arg + 2) >> 32;
		launch->block[2] = (__u32)value_arg(frame, source.arg + 3);
		return 0;
	case MS_FROM_MEM6:
		return bpf_probe_read_user(dims, sizeof(launch->grid) + sizeof(launch->block),
					   (const void *)value_arg(frame, source.arg) +
						   source.offset);
	}
	return -1;
}

#endif /* MS_VALUE_BPF_H */
