/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays (rows without padding in device memory, which is as good a layout as any other opaque
 * one) and texture objects.
 */
#include "driver.h"

struct CUarray_st {
	struct object object;
	struct arena *memory;
	CUDA_ARRAY3D_DESCRIPTOR descriptor; /* as given: Height and Depth may be 0 */
	struct array_layout layout;
};

struct texture {
	struct object object;
	CUDA_RESOURCE_DESC resource;
};

static struct slab arrays = SLAB(struct CUarray_st, 65536);
static struct slab textures = SLAB(struct texture, 65536);

static uint64_t at_least_one(uint64_t number)
{
	return number ? number : 1;
}

/* 0: not a format that we know. */
static unsigned int format_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

static unsigned int element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	switch (d->NumChannels) {
	case 1:
	case 2:
	case 4:
		return format_bytes(d->Format) * d->NumChannels;
	default:
		return 0;
	}
}

static uint64_t array_bytes(const struct array_layout *layout)
{
	return layout->row_bytes * layout->height * layout->depth;
}

static CUresult create(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct CUarray_st new = {
		.object.owner = context_current(),
		.memory = context_current()->device->memory,
		.descriptor = *d,
		.layout.row_bytes = d->Width * element_bytes(d),
		.layout.height = at_least_one(d->Height),
		.layout.depth = at_least_one(d->Depth),
	};
	struct arena_block block = {
		.size_bytes = array_bytes(&new.layout),
		.owner = context_current(),
		.use = ARENA_ARRAY,
	};

	if (!array || !block.size_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!arena_alloc(new.memory, &block))
		return CUDA_ERROR_OUT_OF_MEMORY;
	new.layout.addr = block.addr;
	*array = slab_new(&arrays, &new);
	if (*array)
		return CUDA_SUCCESS;
	arena_free(new.memory, block.addr, ARENA_ARRAY);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

bool array_layout(CUarray array, struct array_layout *layout)
{
	if (!slab_has(&arrays, array))
		return false;
	*layout = array->layout;
	return true;
}

/* The memory goes with everything else that the context has. */
void array_free_owned(CUcontext owner)
{
	slab_delete_owned(&textures, owner, NULL);
	slab_delete_owned(&arrays, owner, NULL);
}

static void note_array(struct oracle_line *line, const CUarray *array, CUresult result)
{
	if (result != CUDA_SUCCESS)
		return;
	HEX(handle, *array);
	HEX(addr, (*array)->layout.addr);
	DEC(size, array_bytes(&(*array)->layout));
}

CU_DEFINE(CONTEXT, cuArrayCreate_v2, (CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d), (array, d),
	  note_array(line, array, result))
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor;

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	descriptor = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = d->Width,
		.Height = d->Height,
		.Format = d->Format,
		.NumChannels = d->NumChannels,
	};
	return create(array, &descriptor);
}

CU_DEFINE(CONTEXT, cuArray3DCreate_v2, (CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d),
	  (array, d), note_array(line, array, result))
{
	return d ? create(array, d) : CUDA_ERROR_INVALID_VALUE;
}

CU_DEFINE(CONTEXT, cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR *d, CUarray array), (d, array),
	  HEX(handle, array))
{
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&arrays, array))
		return CUDA_ERROR_INVALID_HANDLE;
	*d = (CUDA_ARRAY_DESCRIPTOR){
		.Width = array->descriptor.Width,
		.Height = array->descriptor.Height,
		.Format = array->descriptor.Format,
		.NumChannels = array->descriptor.NumChannels,
	};
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR *d, CUarray array),
	  (d, array), HEX(handle, array))
{
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	if (!slab_has(&arrays, array))
		return CUDA_ERROR_INVALID_HANDLE;
	*d = array->descriptor;
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuArrayDestroy, (CUarray array), (array), HEX(handle, array))
{
	if (!slab_has(&arrays, array))
		return CUDA_ERROR_INVALID_HANDLE;
	arena_free(array->memory, array->layout.addr, ARENA_ARRAY);
	slab_delete(&arrays, array);
	return CUDA_SUCCESS;
}

static bool resource_valid(const CUDA_RESOURCE_DESC *r)
{
	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		return slab_has(&arrays, r->res.array.hArray);
	case CU_RESOURCE_TYPE_LINEAR:
		return space_valid(r->res.linear.devPtr, r->res.linear.sizeInBytes);
	case CU_RESOURCE_TYPE_PITCH2D:
		return space_valid(r->res.pitch2D.devPtr,
				   r->res.pitch2D.pitchInBytes * r->res.pitch2D.height);
	default:
		return false;
	}
}

CU_DEFINE(CONTEXT, cuTexObjectCreate,
	  (CUtexObject *texture, const CUDA_RESOURCE_DESC *resource,
	   const CUDA_TEXTURE_DESC *description, const CUDA_RESOURCE_VIEW_DESC *view),
	  (texture, resource, description, view), OUT_HEX(handle, texture))
{
	struct texture new = { .object.owner = context_current() };
	struct texture *t;

	(void)view;
	if (!texture || !resource || !description || !resource_valid(resource))
		return CUDA_ERROR_INVALID_VALUE;
	new.resource = *resource;
	t = slab_new(&textures, &new);
	*texture = (uintptr_t)t;
	return t ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(CONTEXT, cuTexObjectDestroy, (CUtexObject texture), (texture), HEX(handle, texture))
{
	struct texture *t = (struct texture *)(uintptr_t)texture;

	if (!slab_has(&textures, t))
		return CUDA_ERROR_INVALID_VALUE;
	slab_delete(&textures, t);
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuTexObjectGetResourceDesc, (CUDA_RESOURCE_DESC *resource, CUtexObject texture),
	  (resource, texture), HEX(handle, texture))
{
	struct texture *t = (struct texture *)(uintptr_t)texture;

	if (!resource || !slab_has(&textures, t))
		return CUDA_ERROR_INVALID_VALUE;
	*resource = t->resource;
	return CUDA_SUCCESS;
}
