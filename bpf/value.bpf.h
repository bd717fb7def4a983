/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interprets the sources of a probe table row: turns a call's arguments, and the memory they point
 * to, into the members of its record. Whatever cannot be read stays 0 and is not marked as known.
 */
#ifndef MS_VALUE_BPF_H
#define MS_VALUE_BPF_H

static __always_inline __u64 value_arg(const struct ms_input *input, __u32 arg)
{
	barrier_var(arg);
	return arg < MS_ARGS ? input->args[arg] : 0;
}

/* `args`: MS_PLACES of them. */
static __always_inline void places_read(__u64 *args, struct pt_regs *ctx)
{
	_Static_assert(MS_REG_ARGS <= MS_PLACES, "registers have places");
	__builtin_memset(args, 0, MS_PLACES * sizeof(*args));
	regs_args(ctx, args);
	args[MS_PLACE_NONE] = 0;
}

static __always_inline __u64 place_get(const __u64 *args, __u8 place)
{
	__u32 index = place;

	barrier_var(index);
	return args[index & (MS_PLACES - 1)];
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

/*
 * cudaMemcpy3DParms and cudaMemcpy3DPeerParms begin with two halves that are alike, one of the
 * source and one of the destination, each with its array first; the extent follows.
 */
static __always_inline int read_pitched_width(__u64 *value, __u64 params, __u32 offset)
{
	__u64 source, destination;

	if (read_u64(&source, params) || read_u64(&destination, params + offset / 2))
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

#define CU_MEMCPY_OPERAND_TYPE_POINTER 1
#define OPERAND_BYTES 40 /* CUmemcpy3DOperand: the type, and from byte 8 on what it is */

/* CUDA_MEMCPY3D_BATCH_OP begins with both operands; the extent follows. */
static __always_inline int read_operands_width(__u64 *value, __u64 addr)
{
	__u64 source, destination;

	if (read_u32(&source, addr - 2 * OPERAND_BYTES) ||
	    read_u32(&destination, addr - OPERAND_BYTES) ||
	    source != CU_MEMCPY_OPERAND_TYPE_POINTER ||
	    destination != CU_MEMCPY_OPERAND_TYPE_POINTER)
		return -1;
	return read_u64(value, addr);
}

/* CUmemLocation: type, id. */
#define CU_MEM_LOCATION_TYPE_DEVICE 1

static __always_inline int read_location(__u64 *device, __u64 addr)
{
	__u64 type;

	if (read_u32(&type, addr))
		return -1;
	*device = -1;
	return type == CU_MEM_LOCATION_TYPE_DEVICE ? read_u32(device, addr + 4) : 0;
}

#define MS_SUM_CHUNK 8    /* read at a time; the 512 bytes of stack hold no more */
#define MS_SUM_CHUNKS 512 /* more than 4096 numbers stay unread: their sum is unknown */

/* Global functions (not static) are verified by themselves, once: loops belong into those. */
__noinline int ms_add_chunk(__u64 *sum, __u64 addr, __u32 count)
{
	__u64 numbers[MS_SUM_CHUNK] = {};

	if (!sum || count > MS_SUM_CHUNK)
		return -1;
	if (bpf_probe_read_user(numbers, count * sizeof(__u64), (const void *)addr))
		return -1;
#pragma unroll
	for (__u32 i = 0; i < MS_SUM_CHUNK; i++)
		*sum += numbers[i];
	return 0;
}

__noinline int ms_read_sum(__u64 *sum, __u64 addr, __u64 count)
{
	__u64 total = 0;

	if (!sum || count > MS_SUM_CHUNK * MS_SUM_CHUNKS)
		return -1;
	for (__u32 chunk = 0; chunk < MS_SUM_CHUNKS && count >= MS_SUM_CHUNK; chunk++) {
		if (ms_add_chunk(&total, addr, MS_SUM_CHUNK))
			return -1;
		addr += MS_SUM_CHUNK * sizeof(__u64);
		count -= MS_SUM_CHUNK;
	}
	if (ms_add_chunk(&total, addr, count & (MS_SUM_CHUNK - 1)))
		return -1;
	*sum = total;
	return 0;
}

#define WHOLE 0x80 /* bytes of the whole element; the others are of a channel */

/* By CUarray_format; 0: unknown, or (planar and compressed) not the same for each element. */
const __u8 ms_format_bytes[256] = {
	[0x01] = 1,         [0x02] = 2,         [0x03] = 4,         [0x08] = 1,
	[0x09] = 2,         [0x0a] = 4,         [0x10] = 2,         [0x20] = 4,
	[0x50] = WHOLE | 4, [0xc0] = WHOLE | 1, [0xc1] = WHOLE | 2, [0xc2] = WHOLE | 4,
	[0xc3] = WHOLE | 2, [0xc4] = WHOLE | 4, [0xc5] = WHOLE | 8, [0xc6] = WHOLE | 1,
	[0xc7] = WHOLE | 2, [0xc8] = WHOLE | 4, [0xc9] = WHOLE | 2, [0xca] = WHOLE | 4,
	[0xcb] = WHOLE | 8,
};

static __always_inline int read_format(__u64 *bytes, __u64 addr)
{
	__u64 format, channels;
	__u32 entry;

	if (read_u32(&format, addr) || read_u32(&channels, addr + 4) || format > 0xff)
		return -1;
	barrier_var(format);
	entry = ms_format_bytes[format & 0xff];
	*bytes = entry & WHOLE ? entry & ~WHOLE : entry * channels;
	return *bytes ? 0 : -1;
}

/* cudaChannelFormatDesc: bits of x, y, z and w, then the kind: signed, unsigned and float (0 to 2)
 * mean what they say. */
static __always_inline int read_channels(__u64 *bytes, __u64 addr)
{
	__u32 desc[5] = {};

	if (bpf_probe_read_user(desc, sizeof(desc), (const void *)addr) || desc[4] > 2)
		return -1;
	*bytes = (desc[0] + desc[1] + desc[2] + desc[3]) / 8;
	return *bytes ? 0 : -1;
}

/* CUmemPool_attribute, and the same numbers in cudaMemPoolAttr. */
#define CU_MEMPOOL_ATTR_RELEASE_THRESHOLD 4 /* the first of 64 bits, the others are an int */
#define CU_MEMPOOL_ATTR_USED_MEM_HIGH 8     /* the last one whose width we know */

static __always_inline int read_pool_value(__u64 *value, __u64 addr, __u32 attribute)
{
	if (attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		return read_u32(value, addr);
	return attribute <= CU_MEMPOOL_ATTR_USED_MEM_HIGH ? read_u64(value, addr) : -1;
}

/* What tells handles of other processes apart: a hash (FNV-1a, by words), never 0. */
__noinline int ms_read_handle(__u64 *hash, __u64 addr)
{
	__u64 words[MS_IPC_HANDLE_BYTES / 8], sum = 0xcbf29ce484222325;

	if (!hash || bpf_probe_read_user(words, sizeof(words), (const void *)addr))
		return -1;
#pragma unroll
	for (__u32 i = 0; i < MS_IPC_HANDLE_BYTES / 8; i++)
		sum = (sum ^ words[i]) * 0x100000001b3;
	*hash = sum ? sum : 1;
	return 0;
}

/* CUgraphNodeParams: the type, then (at 16) what goes with it. */
#define CU_GRAPH_NODE_TYPE_GRAPH 4
#define CU_GRAPH_NODE_TYPE_MEM_ALLOC 10
#define CU_GRAPH_NODE_TYPE_MEM_FREE 11
#define MS_NODE_ALLOC_SIZE 120
#define MS_NODE_ALLOC_ADDR 128
#define MS_NODE_FREE_ADDR 16 /* of a child graph: its handle */

static __always_inline int read_node(__u64 *value, __u64 addr, bool size)
{
	__u64 type;

	if (read_u32(&type, addr))
		return -1;
	if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return read_u64(value, addr + (size ? MS_NODE_ALLOC_SIZE : MS_NODE_ALLOC_ADDR));
	if ((type == CU_GRAPH_NODE_TYPE_MEM_FREE || type == CU_GRAPH_NODE_TYPE_GRAPH) && !size)
		return read_u64(value, addr + MS_NODE_FREE_ADDR);
	return -1;
}

/* Reads the value that `packed` (a struct ms_source) describes; 0, or negative if it is unknown. */
__noinline int ms_value_read(const struct ms_input *input, __u32 packed, __u64 *value)
{
	struct ms_source source;
	__u64 arg;

	if (!input || !value)
		return -1;
	__builtin_memcpy(&source, &packed, sizeof(source));
	arg = value_arg(input, source.arg);
	switch (source.kind) {
	case MS_FROM_CONST:
		*value = source.offset;
		return 0;
	case MS_FROM_OUT64:
		if (input->result != MS_CUDA_SUCCESS)
			return -1;
		/* fallthrough */
	case MS_FROM_MEM64:
		return read_u64(value, arg + source.offset);
	case MS_FROM_OUT32:
		if (input->result != MS_CUDA_SUCCESS)
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
	case MS_FROM_OPERANDS_WIDTH:
		return read_operands_width(value, arg + source.offset);
	case MS_FROM_LOCATION:
		return read_location(value, arg + source.offset);
	case MS_FROM_SUM:
		return ms_read_sum(value, arg, value_arg(input, source.offset));
	case MS_FROM_FORMAT:
		return read_format(value, arg + source.offset);
	case MS_FROM_CHANNELS:
		return read_channels(value, arg);
	case MS_FROM_POOL_VALUE:
		if (input->result != MS_CUDA_SUCCESS)
			return -1;
		return read_pool_value(value, arg, value_arg(input, source.offset));
	case MS_FROM_OUT_HANDLE:
		if (input->result != MS_CUDA_SUCCESS)
			return -1;
		return ms_read_handle(value, arg);
	case MS_FROM_NODE_ADDR:
	case MS_FROM_NODE_SIZE:
		if (input->result != MS_CUDA_SUCCESS)
			return -1;
		return read_node(value, arg, source.kind == MS_FROM_NODE_SIZE);
	}
	return -1;
}

static __always_inline int value_get(const struct ms_input *input, struct ms_source source,
				     __u64 *value)
{
	__u32 packed;

	*value = 0;
	if (source.kind == MS_FROM_NOWHERE)
		return -1;
	if (source.kind == MS_FROM_ARG || source.kind == MS_FROM_ARG32) {
		/* Most are: they are spared the call of ms_value_read(). */
		*value = value_arg(input, source.arg);
		if (source.kind == MS_FROM_ARG32)
			*value = (__u32)*value;
		return 0;
	}
	__builtin_memcpy(&packed, &source, sizeof(packed));
	return ms_value_read(input, packed, value);
}

/* A factor that the row does not have is 1. */
static __always_inline int value_factor(const struct ms_input *input, struct ms_source source,
					__u64 *factor)
{
	*factor = 1;
	return source.kind == MS_FROM_NOWHERE ? 0 : value_get(input, source, factor);
}

#define MS_MAX_LEVELS 32

/* CUDA_ARRAY3D_LAYERED and _CUBEMAP, the same in the runtime: each level has as many of them. */
#define MS_LAYERS (1 | 4)

/* At least 1, without a branch: the verifier would go through the loop on each way that is open. */
#define AT_LEAST_1(value) ((value) | ((value)-1) >> 63)

/* An array of width x height x depth elements (0: it lacks that dimension), and its mipmaps. */
__noinline __u64 ms_extent_bytes(__u64 width, __u64 height, __u64 depth, __u64 levels)
{
	__u64 elements = 0;

	for (__u32 level = 0; level < MS_MAX_LEVELS; level++) {
		/* None are one, and more than there can be are as many as there can be. */
		if (level && (level >= levels || !(width | height | depth)))
			break;
		elements += AT_LEAST_1(width) * AT_LEAST_1(height) * AT_LEAST_1(depth);
		width /= 2;
		height /= 2;
		depth /= 2;
	}
	return elements;
}

/*
 * bytes = size x height x depth x element, over all levels; a failed call is described by what it
 * asked for.
 */
static __always_inline int value_size(const struct ms_input *input, const struct ms_spec *spec,
				      __u64 *bytes)
{
	bool failed = input->result != MS_CUDA_SUCCESS;
	bool is_extent = spec->flags & MS_ROW_EXTENT;
	__u64 height, depth, element, levels, flags;

	if (failed && !is_extent && spec->request.kind != MS_FROM_NOWHERE) {
		if (value_get(input, spec->request, bytes))
			return -1;
	} else if (value_get(input, spec->size, bytes)) {
		return -1;
	}
	if (value_factor(input, spec->height, &height) ||
	    value_factor(input, spec->depth, &depth) ||
	    value_factor(input, spec->element, &element) ||
	    value_factor(input, spec->levels, &levels))
		return -1;
	if (is_extent && depth && !value_get(input, spec->request, &flags) && flags & MS_LAYERS) {
		element *= depth;
		depth = 0;
	}
	if (is_extent)
		*bytes = ms_extent_bytes(*bytes, height, depth, levels) * element;
	else
		*bytes *= height * depth * element;
	return 0;
}

/* A direction that the program passed is a cudaMemcpyKind, if it is one at all. */
static __always_inline int value_direction(const struct ms_input *input, struct ms_source source,
					   __u64 *direction)
{
	bool passed = source.kind == MS_FROM_ARG32 || source.kind == MS_FROM_MEM32;

	if (value_get(input, source, direction))
		return -1;
	return passed && *direction > MS_DIRECTION_DEFAULT ? -1 : 0;
}

/* Grid and block; 0, or negative if they are unknown. */
static __always_inline int value_dims(const struct ms_input *input, struct ms_source source,
				      struct ms_launch *launch)
{
	__u32 first = source.arg;
	const __u64 *args;

	barrier_var(first);
	if (first > MS_ARGS - 6)
		return -1;
	args = &input->args[first];
	switch (source.kind) {
	case MS_FROM_ARGS6:
#pragma unroll
		for (__u32 i = 0; i < 3; i++) {
			launch->grid[i] = (__u32)args[i];
			launch->block[i] = (__u32)args[3 + i];
		}
		return 0;
	case MS_FROM_DIM3S:
		launch->grid[0] = (__u32)args[0];
		launch->grid[1] = args[0] >> 32;
		launch->grid[2] = (__u32)args[1];
		launch->block[0] = (__u32)args[2];
		launch->block[1] = args[2] >> 32;
		launch->block[2] = (__u32)args[3];
		return 0;
	case MS_FROM_MEM6:
		/* The block follows the grid in the record, too. */
		return bpf_probe_read_user(launch->grid,
					   sizeof(launch->grid) + sizeof(launch->block),
					   (const void *)args[0] + source.offset);
	}
	return -1;
}

#endif /* MS_VALUE_BPF_H */
