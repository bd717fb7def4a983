/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays (rows without padding in device memory, which is as good a layout as any other opaque
 * one), mipmapped arrays (one allocation, with an array for each level in it), texture and surface
 * objects.
 */
#include "driver.h"

#define LEVELS_MAX 32
#define LEVEL_ALIGNMENT 512

struct CUarray_st {
	struct object object;
	struct arena *memory; /* NULL: a level of a mipmapped array, whose memory it is */
	CUDA_ARRAY3D_DESCRIPTOR descriptor; /* as given: Height and Depth may be 0 */
	struct array_layout layout;
};

struct CUmipmappedArray_st {
	struct object object;
	struct arena *memory;
	CUdeviceptr addr;
	uint64_t size_bytes;
	unsigned int levels;
	CUarray level[LEVELS_MAX];
};

struct texture {
	struct object object;
	CUDA_RESOURCE_DESC resource;
};

static struct slab arrays = SLAB(struct CUarray_st, 65536);
static struct slab mipmaps = SLAB(struct CUmipmappedArray_st, 65536);
static struct slab textures = SLAB(struct texture, 65536);
static struct slab surfaces = SLAB(struct texture, 65536);

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

static struct array_layout layout_of(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return (struct array_layout){
		.element_bytes = element_bytes(d),
		.row_bytes = d->Width * element_bytes(d),
		.height = at_least_one(d->Height),
		.depth = at_least_one(d->Depth),
	};
}

static CUresult create(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	struct CUarray_st new = {
		.object.owner = context_current(),
		.memory = context_current()->device->memory,
		.descriptor = *d,
		.layout = layout_of(d),
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
	slab_delete_owned(&surfaces, owner, NULL);
	slab_delete_owned(&arrays, owner, NULL);
	slab_delete_owned(&mipmaps, owner, NULL);
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
	if (!slab_has(&arrays, array) || !array->memory)
		return CUDA_ERROR_INVALID_HANDLE;
	arena_free(array->memory, array->layout.addr, ARENA_ARRAY);
	slab_delete(&arrays, array);
	return CUDA_SUCCESS;
}

static uint64_t half(uint64_t number, unsigned int times)
{
	return number ? at_least_one(number >> times) : 0;
}

/* Layers and faces do not become fewer. */
static CUDA_ARRAY3D_DESCRIPTOR level_descriptor(const CUDA_ARRAY3D_DESCRIPTOR *d,
						unsigned int level)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = *d;

	descriptor.Width = half(d->Width, level);
	descriptor.Height = half(d->Height, level);
	if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
		descriptor.Depth = half(d->Depth, level);
	return descriptor;
}

/* Down to the one whose dimensions are all 1. */
static unsigned int levels_possible(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	uint64_t longest = d->Width | d->Height | 1;

	if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
		longest |= d->Depth;
	return 64 - (unsigned int)__builtin_clzll(longest);
}

static uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int level)
{
	CUDA_ARRAY3D_DESCRIPTOR descriptor = level_descriptor(d, level);
	struct array_layout layout = layout_of(&descriptor);

	return (array_bytes(&layout) + LEVEL_ALIGNMENT - 1) / LEVEL_ALIGNMENT * LEVEL_ALIGNMENT;
}

static void mipmap_delete(CUmipmappedArray mipmap)
{
	for (unsigned int i = 0; i < mipmap->levels; i++)
		if (mipmap->level[i])
			slab_delete(&arrays, mipmap->level[i]);
	arena_free(mipmap->memory, mipmap->addr, ARENA_ARRAY);
	slab_delete(&mipmaps, mipmap);
}

static bool levels_new(CUmipmappedArray mipmap, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	CUdeviceptr addr = mipmap->addr;

	for (unsigned int i = 0; i < mipmap->levels; i++) {
		struct CUarray_st level = {
			.object.owner = mipmap->object.owner,
			.descriptor = level_descriptor(d, i),
		};

		level.layout = layout_of(&level.descriptor);
		level.layout.addr = addr;
		mipmap->level[i] = slab_new(&arrays, &level);
		if (!mipmap->level[i])
			return false;
		addr += level_bytes(d, i);
	}
	return true;
}

static CUresult mipmap_create(CUmipmappedArray *mipmap, const CUDA_ARRAY3D_DESCRIPTOR *d,
			      unsigned int levels)
{
	struct CUmipmappedArray_st new = {
		.object.owner = context_current(),
		.memory = context_current()->device->memory,
		.levels = levels,
	};
	struct arena_block block = { .owner = context_current(), .use = ARENA_ARRAY };

	for (unsigned int i = 0; i < levels; i++)
		block.size_bytes += level_bytes(d, i);
	if (!arena_alloc(new.memory, &block))
		return CUDA_ERROR_OUT_OF_MEMORY;
	new.addr = block.addr;
	new.size_bytes = block.size_bytes;
	*mipmap = slab_new(&mipmaps, &new);
	if (!*mipmap) {
		arena_free(new.memory, new.addr, ARENA_ARRAY);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (levels_new(*mipmap, d))
		return CUDA_SUCCESS;
	mipmap_delete(*mipmap);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static void note_mipmap(struct oracle_line *line, CUmipmappedArray mipmap)
{
	HEX(handle, mipmap);
	HEX(addr, mipmap->addr);
	DEC(size, mipmap->size_bytes);
	DEC(count, mipmap->levels);
}

/* More levels than there can be are as many as there can be, and none are one. */
CU_DEFINE(CONTEXT, cuMipmappedArrayCreate,
	  (CUmipmappedArray *mipmap, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels),
	  (mipmap, d, levels), result ? (void)0 : note_mipmap(line, *mipmap))
{
	if (!mipmap || !d || !d->Width || !element_bytes(d) || levels_possible(d) > LEVELS_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (levels > levels_possible(d))
		levels = levels_possible(d);
	return mipmap_create(mipmap, d, levels ? levels : 1);
}

CU_DEFINE(CONTEXT, cuMipmappedArrayGetLevel,
	  (CUarray *array, CUmipmappedArray mipmap, unsigned int level), (array, mipmap, level),
	  note_array(line, array, result), HEX(mipmap, mipmap), DEC(level, level))
{
	if (!slab_has(&mipmaps, mipmap))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!array || level >= mipmap->levels)
		return CUDA_ERROR_INVALID_VALUE;
	*array = mipmap->level[level];
	return CUDA_SUCCESS;
}

CU_DEFINE(CONTEXT, cuMipmappedArrayDestroy, (CUmipmappedArray mipmap), (mipmap),
	  HEX(handle, mipmap))
{
	if (!slab_has(&mipmaps, mipmap))
		return CUDA_ERROR_INVALID_HANDLE;
	mipmap_delete(mipmap);
	return CUDA_SUCCESS;
}

static bool resource_valid(const CUDA_RESOURCE_DESC *r)
{
	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		return slab_has(&arrays, r->res.array.hArray);
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		return slab_has(&mipmaps, r->res.mipmap.hMipmappedArray);
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

CU_DEFINE(CONTEXT, cuSurfObjectCreate, (CUsurfObject *surface, const CUDA_RESOURCE_DESC *resource),
	  (surface, resource), OUT_HEX(handle, surface))
{
	struct texture new = { .object.owner = context_current() };

	if (!surface || !resource || resource->resType != CU_RESOURCE_TYPE_ARRAY ||
	    !resource_valid(resource))
		return CUDA_ERROR_INVALID_VALUE;
	new.resource = *resource;
	*surface = (uintptr_t)slab_new(&surfaces, &new);
	return *surface ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CU_DEFINE(CONTEXT, cuSurfObjectDestroy, (CUsurfObject surface), (surface), HEX(handle, surface))
{
	struct texture *s = (struct texture *)(uintptr_t)surface;

	if (!slab_has(&surfaces, s))
		return CUDA_ERROR_INVALID_VALUE;
	slab_delete(&surfaces, s);
	return CUDA_SUCCESS;
}
