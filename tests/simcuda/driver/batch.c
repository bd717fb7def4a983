/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of copies, done one after the other; the first that fails ends it. A batch does not go
 * into the legacy default stream; in a capture each copy becomes a node. The oracle has the sum of
 * the sizes, and of the rest what the first copy says.
 */
#include "graph.h"

CUresult batch_check_stream(CUstream stream)
{
	if (!stream_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	return stream == CU_STREAM_LEGACY ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

bool batch_starts_valid(const size_t *starts, size_t start_count, size_t count)
{
	if (!starts || !start_count || start_count > count || starts[0])
		return false;
	for (size_t i = 1; i < start_count; i++)
		if (starts[i] <= starts[i - 1] || starts[i] >= count)
			return false;
	return true;
}

void batch_note(struct oracle_line *line, const CUdeviceptr *dsts, const CUdeviceptr *srcs,
		const size_t *sizes, size_t count)
{
	uint64_t total = 0;

	DEC(count, count);
	if (!count || !sizes || !dsts)
		return;
	for (size_t i = 0; i < count; i++)
		total += sizes[i];
	if (srcs) {
		HEX(dst, *dsts);
		HEX(src, *srcs);
	} else {
		HEX(addr, *dsts);
	}
	DEC(size, total);
}

static bool attributes_valid(const CUmemcpyAttributes *attributes, const size_t *starts,
			     size_t attribute_count, size_t count)
{
	if (!attributes || !batch_starts_valid(starts, attribute_count, count))
		return false;
	for (size_t i = 0; i < attribute_count; i++)
		if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
		    attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
			return false;
	return true;
}

/* failed gets the index of the copy that did, or SIZE_MAX. */
static CUresult copy(const CUdeviceptr *dsts, const CUdeviceptr *srcs, const size_t *sizes,
		     size_t count, size_t *failed, CUstream stream)
{
	CUresult result = batch_check_stream(stream);

	*failed = SIZE_MAX;
	if (result != CUDA_SUCCESS)
		return result;
	if (!dsts || !srcs || !sizes || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		result = copy_unified(dsts[i], srcs[i], sizes[i], stream);
		if (result == CUDA_SUCCESS)
			continue;
		*failed = i;
		return result;
	}
	return CUDA_SUCCESS;
}

#define NOTE_BATCH \
	batch_note(line, dsts, srcs, sizes, count), HEX(stream, stream), NOTE_CAPTURE(stream)

CU_DEFINE_BATCH(cuMemcpyBatchAsync,
		(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
		 CUmemcpyAttributes *attributes, size_t *starts, size_t attribute_count,
		 size_t *failed, CUstream stream),
		(dsts, srcs, sizes, count, attributes, starts, attribute_count, failed, stream),
		NOTE_BATCH)
{
	size_t unused;

	if (!failed)
		failed = &unused;
	*failed = SIZE_MAX;
	if (!attributes_valid(attributes, starts, attribute_count, count))
		return CUDA_ERROR_INVALID_VALUE;
	return copy(dsts, srcs, sizes, count, failed, BATCH_STREAM);
}

CU_DEFINE_BATCH(cuMemcpyBatchAsync_v2,
		(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
		 CUmemcpyAttributes *attributes, size_t *starts, size_t attribute_count,
		 CUstream stream),
		(dsts, srcs, sizes, count, attributes, starts, attribute_count, stream), NOTE_BATCH)
{
	size_t failed;

	if (!attributes_valid(attributes, starts, attribute_count, count))
		return CUDA_ERROR_INVALID_VALUE;
	return copy(dsts, srcs, sizes, count, &failed, BATCH_STREAM);
}

/* In bytes; 0: not an operand, or there is no such array. */
static uint64_t element_bytes(const CUmemcpy3DOperand *operand)
{
	struct array_layout layout;

	if (operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
		return 1;
	if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY ||
	    !array_layout(operand->op.array.array, &layout))
		return 0;
	return layout.element_bytes;
}

static bool is_array(const CUmemcpy3DOperand *operand)
{
	return operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
}

/* Elements of a copy are those of the array in it; of two arrays they are the same. */
static uint64_t common_element_bytes(const CUDA_MEMCPY3D_BATCH_OP *op)
{
	uint64_t src = element_bytes(&op->src);
	uint64_t dst = element_bytes(&op->dst);

	if (!src || !dst || (is_array(&op->src) && is_array(&op->dst) && src != dst))
		return 0;
	return is_array(&op->src) ? src : dst;
}

/* Lengths of 0 mean that rows or layers are adjacent. */
static bool lengths_valid(const CUmemcpy3DOperand *operand, const CUextent3D *extent)
{
	return is_array(operand) ||
	       ((!operand->op.ptr.rowLength || operand->op.ptr.rowLength >= extent->width) &&
		(!operand->op.ptr.layerHeight || operand->op.ptr.layerHeight >= extent->height));
}

static uint64_t or_else(uint64_t number, uint64_t otherwise)
{
	return number ? number : otherwise;
}

static void set_source(CUDA_MEMCPY3D *c, const CUmemcpy3DOperand *operand, uint64_t bytes)
{
	if (is_array(operand)) {
		c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		c->srcArray = operand->op.array.array;
		c->srcXInBytes = operand->op.array.offset.x * bytes;
		c->srcY = operand->op.array.offset.y;
		c->srcZ = operand->op.array.offset.z;
		return;
	}
	c->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
	c->srcDevice = operand->op.ptr.ptr;
	c->srcPitch = or_else(operand->op.ptr.rowLength * bytes, c->WidthInBytes);
	c->srcHeight = or_else(operand->op.ptr.layerHeight, c->Height);
}

static void set_destination(CUDA_MEMCPY3D *c, const CUmemcpy3DOperand *operand, uint64_t bytes)
{
	if (is_array(operand)) {
		c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		c->dstArray = operand->op.array.array;
		c->dstXInBytes = operand->op.array.offset.x * bytes;
		c->dstY = operand->op.array.offset.y;
		c->dstZ = operand->op.array.offset.z;
		return;
	}
	c->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	c->dstDevice = operand->op.ptr.ptr;
	c->dstPitch = or_else(operand->op.ptr.rowLength * bytes, c->WidthInBytes);
	c->dstHeight = or_else(operand->op.ptr.layerHeight, c->Height);
}

static bool from_op(CUDA_MEMCPY3D *c, const CUDA_MEMCPY3D_BATCH_OP *op)
{
	uint64_t bytes = common_element_bytes(op);

	if (!bytes || !op->extent.width || !op->extent.height || !op->extent.depth ||
	    !lengths_valid(&op->src, &op->extent) || !lengths_valid(&op->dst, &op->extent) ||
	    op->srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
	    op->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
		return false;
	*c = (CUDA_MEMCPY3D){
		.WidthInBytes = op->extent.width * bytes,
		.Height = op->extent.height,
		.Depth = op->extent.depth,
	};
	set_source(c, &op->src, bytes);
	set_destination(c, &op->dst, bytes);
	return true;
}

static CUresult copy_3d(const CUDA_MEMCPY3D_BATCH_OP *ops, size_t count, size_t *failed,
			unsigned long long flags, CUstream stream)
{
	CUresult result = batch_check_stream(stream);
	CUDA_MEMCPY3D c;

	*failed = SIZE_MAX;
	if (result != CUDA_SUCCESS)
		return result;
	if (!ops || !count || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		result = from_op(&c, &ops[i]) ? copy_box(&c, stream) : CUDA_ERROR_INVALID_VALUE;
		if (result == CUDA_SUCCESS)
			continue;
		*failed = i;
		return result;
	}
	return CUDA_SUCCESS;
}

static void note_3d(struct oracle_line *line, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t count)
{
	uint64_t total = 0;
	CUDA_MEMCPY3D c;

	DEC(count, count);
	for (size_t i = 0; ops && i < count; i++)
		if (from_op(&c, &ops[i]))
			total += c.WidthInBytes * c.Height * c.Depth;
	if (!ops || !count || !from_op(&c, ops))
		return;
	HEX(dst, is_array(&ops->dst) ? (uintptr_t)c.dstArray : c.dstDevice);
	HEX(src, is_array(&ops->src) ? (uintptr_t)c.srcArray : c.srcDevice);
	DEC(size, total);
}

CU_DEFINE_BATCH(cuMemcpy3DBatchAsync,
		(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed,
		 unsigned long long flags, CUstream stream),
		(count, ops, failed, flags, stream), note_3d(line, ops, count), DEC(flags, flags),
		HEX(stream, stream), NOTE_CAPTURE(stream))
{
	size_t unused;

	return copy_3d(ops, count, failed ? failed : &unused, flags, BATCH_STREAM);
}

CU_DEFINE_BATCH(cuMemcpy3DBatchAsync_v2,
		(size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags,
		 CUstream stream),
		(count, ops, flags, stream), note_3d(line, ops, count), DEC(flags, flags),
		HEX(stream, stream), NOTE_CAPTURE(stream))
{
	size_t failed;

	return copy_3d(ops, count, &failed, flags, BATCH_STREAM);
}

CU_DEFINE_BATCH(cuMemcpyWithAttributesAsync,
		(CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes *attributes,
		 CUstream stream),
		(dst, src, size, attributes, stream), HEX(dst, dst), HEX(src, src), DEC(size, size),
		HEX(stream, stream), NOTE_CAPTURE(stream))
{
	size_t start = 0, failed;

	if (!attributes_valid(attributes, &start, 1, 1))
		return CUDA_ERROR_INVALID_VALUE;
	return copy(&dst, &src, &size, 1, &failed, BATCH_STREAM);
}

CU_DEFINE_BATCH(cuMemcpy3DWithAttributesAsync,
		(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream stream),
		(op, flags, stream), note_3d(line, op, 1), DEC(flags, flags), HEX(stream, stream),
		NOTE_CAPTURE(stream))
{
	size_t failed;

	return copy_3d(op, 1, &failed, flags, BATCH_STREAM);
}

static bool is_pointer(const CUfabricCpyOperand *operand)
{
	return operand->type == CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
}

static CUresult copy_fabric(const CUDA_FABRIC_COPY_BATCH_OP *ops, size_t count, CUstream stream)
{
	CUresult result = batch_check_stream(stream);

	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
		result = is_pointer(&ops[i].src) && is_pointer(&ops[i].dst) ?
				 copy_unified(ops[i].dst.op.ptr.ptr, ops[i].src.op.ptr.ptr,
					      ops[i].size, stream) :
				 CUDA_ERROR_NOT_SUPPORTED;
	return result;
}

/* Between pointers: there are no logical endpoints. */
CU_DEFINE_BATCH(cuFabricCpyBatchAsync,
		(size_t count, CUDA_FABRIC_COPY_BATCH_OP *ops, unsigned long long flags,
		 CUstream stream),
		(count, ops, flags, stream), DEC(count, count), DEC(flags, flags),
		HEX(stream, stream), NOTE_CAPTURE(stream))
{
	return ops && count && !flags ? copy_fabric(ops, count, BATCH_STREAM) :
					CUDA_ERROR_INVALID_VALUE;
}
