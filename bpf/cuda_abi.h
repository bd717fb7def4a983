/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that has the words for calls, which includes it: what they do, to what kind of
 * memory, and what else the ledger has to know of them.
 */
#ifndef MS_CUDA_ABI_H
#define MS_CUDA_ABI_H

/* clang-format off */

/*
 * What a call does. The third column is the ring its records travel in: CRITICAL ones (what the
 * ledger rests on) must not compete for space with the BULK of copies and launches.
 */
#define MS_OPS(X) \
	X(ALLOC,   "alloc",   CRITICAL) \
	X(FREE,    "free",    CRITICAL) \
	X(COPY,    "copy",    BULK) \
	X(MEMSET,  "memset",  BULK) \
	X(LAUNCH,  "launch",  BULK) \
	X(SYNC,    "sync",    BULK) \
	X(MEMORY,  "memory",  CRITICAL) /* about memory or graphs, but moves none */ \
	X(CONTEXT, "context", CRITICAL) \
	X(NAME,    "name",    CRITICAL)

enum ms_op {
#define X(op, name, ring) MS_OP_##op,
	MS_OPS(X)
#undef X
	MS_OPS_COUNT,
};

/*
 * What calls are captured, counted and sorted into rings as: their operation, but for launches of
 * graphs, which a row calls GRAPH_LAUNCH. To people those are launches; the ledger rests on them.
 */
enum ms_row_kind {
#define X(op, name, ring) MS_ROW_KIND_##op = MS_OP_##op,
	MS_OPS(X)
#undef X
	MS_ROW_KIND_GRAPH_LAUNCH = MS_OP_MEMORY,
	MS_OP_GRAPH_LAUNCH = MS_OP_LAUNCH,
};

enum ms_ring {
	MS_RING_CRITICAL,
	MS_RING_BULK,
	MS_RINGS_COUNT,
};

/* The ops whose records are in the bulk ring: a bit set. */
#define X(op, name, ring) | (MS_RING_##ring << MS_OP_##op)
enum { MS_BULK_OPS = 0 MS_OPS(X) };
#undef X

/* What kind of memory an allocation is. Sizes of different spaces are never added up. */
#define MS_SPACES(X) \
	X(NONE,       "") \
	X(DEVICE,     "device")     /* cuMemAlloc and its kin */ \
	X(POOL,       "pool")       /* device memory from a stream-ordered pool */ \
	X(MANAGED,    "managed")    /* migrates between host and device */ \
	X(ARRAY,      "array")      /* CUDA arrays: as described; the driver may take more */ \
	X(GRAPH,      "graph")      /* allocated by nodes of a graph when it is launched */ \
	X(PHYSICAL,   "physical")   /* cuMemCreate: memory that has no address yet */ \
	X(IMPORTED,   "imported")   /* owned by another process or API */ \
	X(MAPPED,     "mapped")     /* addresses of physical or imported memory */ \
	X(RESERVED,   "reserved")   /* addresses for mappings to come */ \
	X(PINNED,     "pinned")     /* page-locked host memory, allocated by CUDA */ \
	X(REGISTERED, "registered") /* the application's own host memory, page-locked by CUDA */

enum ms_space {
#define X(space, name) MS_SPACE_##space,
	MS_SPACES(X)
#undef X
	MS_SPACES_COUNT,
};

/* Copy directions; the first five are numbered like cudaMemcpyKind. */
#define MS_DIRECTIONS(X) \
	X(HTOH,    "HtoH") \
	X(HTOD,    "HtoD") \
	X(DTOH,    "DtoH") \
	X(DTOD,    "DtoD") \
	X(DEFAULT, "Default") /* the driver decides from the addresses */ \
	X(PTOP,    "PtoP")    /* between two contexts or devices */ \
	X(HTOA,    "HtoA")    /* A: a CUDA array */ \
	X(ATOH,    "AtoH") \
	X(DTOA,    "DtoA") \
	X(ATOD,    "AtoD") \
	X(ATOA,    "AtoA") \
	X(MIGRATE, "migrate") /* cuMemPrefetchAsync: managed memory moves to another processor */

enum ms_direction {
#define X(direction, name) MS_DIRECTION_##direction,
	MS_DIRECTIONS(X)
#undef X
	MS_DIRECTIONS_COUNT,
};

/*
 * What else a program makes and destroys by handle. It takes memory of the driver's own, how much
 * is not known. Name of one, of several.
 */
#define MS_OBJECTS(X) \
	X(NONE,          "",                 "") \
	X(CONTEXT,       "context",          "contexts") \
	X(GREEN_CONTEXT, "green context",    "green contexts") \
	X(MODULE,        "module",           "modules") \
	X(LIBRARY,       "library",          "libraries") \
	X(STREAM,        "stream",           "streams") \
	X(EVENT,         "event",            "events") \
	X(GRAPH,         "graph",            "graphs") \
	X(EXECUTABLE,    "executable graph", "executable graphs") \
	X(MEMORY_POOL,   "memory pool",      "memory pools") \
	X(LINKER,        "linker",           "linkers") \
	X(TEXTURE,       "texture object",   "texture objects") \
	X(SURFACE,       "surface object",   "surface objects") \
	X(SEMAPHORE,     "external semaphore", "external semaphores") \
	X(OPENED,        "opened block of another process", "opened blocks of other processes")

enum ms_object_kind {
#define X(object, one, several) MS_OBJECT_##object,
	MS_OBJECTS(X)
#undef X
	MS_OBJECTS_COUNT,
};

/* clang-format on */

/* What an allocation is known by: values of different kinds may be equal. */
enum ms_key {
	MS_KEY_POINTER,  /* what cuMemFree and its kin take */
	MS_KEY_RANGE,    /* reserved addresses */
	MS_KEY_MAPPING,  /* addresses inside a reserved range */
	MS_KEY_HANDLE,   /* CUmemGenericAllocationHandle */
	MS_KEY_ARRAY,    /* CUarray, CUmipmappedArray */
	MS_KEY_EXTERNAL, /* CUexternalMemory */
	MS_KEYS_COUNT,
};

/* What a call does besides; a context call: to the thread's stack of current contexts. */
enum ms_action {
	MS_ACTION_NONE,
	MS_ACTION_CREATE,  /* new context, pushed; device known */
	MS_ACTION_DESTROY, /* and everything allocated in it */
	MS_ACTION_SET,     /* replaces the top of the stack */
	MS_ACTION_PUSH,
	MS_ACTION_POP,
	MS_ACTION_RETAIN,     /* device's primary context: one more reference */
	MS_ACTION_RELEASE,    /* one less; the last one destroys it */
	MS_ACTION_RESET,      /* destroys the device's primary context at once */
	MS_ACTION_SET_DEVICE, /* the runtime's: current device of the thread */

	/* In a call about memory: */
	MS_ACTION_REFER,  /* one more reference to the handle `addr`, which backs address `src` */
	MS_ACTION_EXPORT, /* what is at `addr` can be opened by other processes: hash `src` */
	MS_ACTION_GLOBAL, /* a variable of a module is at `addr` */
	MS_ACTION_DEVICE_INFO,  /* `src` bytes of the device's `size` are free */
	MS_ACTION_POOL_INFO,    /* attribute `src` of pool `addr` is `size` */
	MS_ACTION_POOL_SETTING, /* and from now on */
	MS_ACTION_POOL_CURRENT, /* `device` allocates from pool `addr` if none is named */
	MS_ACTION_POOL_CREATE,  /* pool `addr` */
	MS_ACTION_POOL_DESTROY,
	MS_ACTION_POOL_TRIM, /* pool `addr` keeps no more than `size`, but for what is in use */

	/* In a call about a device, which says what `device` is: */
	MS_ACTION_DEVICE_UUID,  /* its UUID: 16 bytes, in `addr` and `src` */
	MS_ACTION_DEVICE_PCI,   /* its PCI bus id: text, likewise */
	MS_ACTION_DEVICE_NAME,  /* text that may go on, in `addr`, `src`, `stream` and `size` */
	MS_ACTION_DEVICE_TOTAL, /* it has `size` bytes */
	MS_ACTION_DEVICE_PROPERTIES, /* UUID and bytes, as above */

	/* In a call about graphs: */
	MS_ACTION_GRAPH_NODE,   /* a node of graph `src` that will allocate `size` bytes at `addr`,
			       * or free `addr` if there is no size, or run graph `addr` */
	MS_ACTION_GRAPH_COPY,   /* `addr` is a copy of graph `src` */
	MS_ACTION_GRAPH_INSERT, /* the nodes of graph `src` are now also in graph `addr` */
	MS_ACTION_GRAPH_INSTANTIATE,  /* `addr` is an executable copy of `src`, with flags `size` */
	MS_ACTION_GRAPH_DESTROY,      /* graph `addr` */
	MS_ACTION_EXECUTABLE_DESTROY, /* executable graph `addr` */
	MS_ACTION_GRAPH_LAUNCH,  /* executable graph `addr`: its allocations and frees take place */
	MS_ACTION_CAPTURE_BEGIN, /* from now on, `stream` does nothing but collect nodes */
	MS_ACTION_CAPTURE_END,   /* they are graph `addr` */
};

enum ms_layer {
	MS_LAYER_DRIVER,  /* libcuda */
	MS_LAYER_RUNTIME, /* libcudart, shared or static */
	MS_LAYERS_COUNT,
};

#define MS_CUDA_SUCCESS 0
#define MS_CUDA_OUT_OF_MEMORY 2 /* CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation */
/* CUDA_ERROR_DEINITIALIZED, cudaErrorCudartUnloading: what destructors are answered at the end */
#define MS_CUDA_DEINITIALIZED 4

#endif /* MS_CUDA_ABI_H */
