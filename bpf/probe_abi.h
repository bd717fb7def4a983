/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about the probe table's rows (probes.def) and how a probe names its
 * row, which abi.h includes.
 */
#ifndef MS_PROBE_ABI_H
#define MS_PROBE_ABI_H

/*
 * Of functions that probes.def does not have: which argument is meant, of integers in registers,
 * from 0 on.
 */
#define MS_PLACES 8     /* a power of two: a mask */
#define MS_PLACE_NONE 7 /* no argument */

/* Where a value comes from. The first two bytes choose the argument, `offset` a place behind it. */
enum ms_source_kind {
	MS_FROM_NOWHERE,
	MS_FROM_CONST, /* `offset` is the value */
	MS_FROM_ARG,   /* argument, 64 bits */
	MS_FROM_ARG32, /* argument, low 32 bits (the callee ignores the others) */
	MS_FROM_MEM64, /* 64 bits in memory at argument + offset */
	MS_FROM_MEM32,
	MS_FROM_OUT64, /* the same, written by the call: only read after it succeeded */
	MS_FROM_OUT32,
	MS_FROM_COPY_END, /* one end of a CUDA_MEMCPY2D/3D: CUmemorytype at argument + offset,
			   * then host pointer, device pointer, array */
	MS_FROM_ENDS_2D,  /* direction of that copy, from both memory types; the source's is at */
	MS_FROM_ENDS_3D,  /* argument + offset, the other MS_COPY2D_DST or _3D_DST further on */
	MS_FROM_PITCHED_END, /* one end of a cudaMemcpy3DParms: the pointer at argument + offset, or
				* the array that stands MS_PITCHED_ARRAY before it */
	MS_FROM_PITCHED_WIDTH,  /* its width at argument + offset, if both ends are pointers */
	MS_FROM_OPERANDS_WIDTH, /* width of a CUDA_MEMCPY3D_BATCH_OP at argument + offset, if both
				 * ends are pointers */
	MS_FROM_LOCATION, /* CUmemLocation at argument + offset: the device, -1 if it is none */
	MS_FROM_SUM,      /* sum of an array of 64-bit numbers at argument; `offset`: which argument
			   * counts them */
	MS_FROM_FORMAT, /* bytes of an array element: CUarray_format, channels, argument + offset */
	MS_FROM_CHANNELS,   /* the same from a cudaChannelFormatDesc */
	MS_FROM_NODE_ADDR,  /* CUgraphNodeParams at argument: address that the node allocates or
			    * frees, or child graph */
	MS_FROM_NODE_SIZE,  /* ... and how many bytes it allocates */
	MS_FROM_POOL_VALUE, /* attribute of a pool, at argument; `offset`: which argument says which
			     * attribute; only read after the call succeeded */
	MS_FROM_OUT_HANDLE, /* hash of the CUipcMemHandle that the call wrote at argument */
	MS_FROM_STRING,     /* NUL-terminated string that the argument points to */
	/* Dimensions of a launch grid and block, six 32-bit numbers: */
	MS_FROM_ARGS6, /* six arguments, starting with this one */
	MS_FROM_DIM3S, /* two dim3 by value, two arguments each */
	MS_FROM_MEM6,  /* in memory, one after the other */
};

struct ms_source {
	__u8 kind; /* enum ms_source_kind */
	__u8 arg;
	__u16 offset;
};

/* The bytes of a CUipcMemHandle, and of a cudaIpcMemHandle_t (cuda.h, driver_types.h). */
#define MS_IPC_HANDLE_BYTES 64

/* Distance between srcMemoryType and dstMemoryType (cuda.h, CUDA_MEMCPY2D_v2 and _3D_v2). */
#define MS_COPY2D_DST 56
#define MS_COPY3D_DST 88
/* Distance from an end's array to its pointer (driver_types.h, cudaMemcpy3DParms). */
#define MS_PITCHED_ARRAY 32

enum ms_row_flags {
	MS_ROW_STACK_ARGS = 1 << 0, /* takes more arguments than fit into registers */
	MS_ROW_VOID = 1 << 1,       /* returns nothing: no result */
	MS_ROW_EXTENT = 1 << 2,     /* sizes are those of an array: 0 stands for 1 */
	MS_ROW_IPC_HANDLE = 1 << 3, /* the second argument is a CUipcMemHandle by value: its hash
				     * takes the place of the first argument on the stack */
	MS_ROW_ENDS = 1 << 4,       /* destroys the `object` at `addr`; else it makes it */
};

struct ms_spec {
	__u8 op;                 /* enum ms_op */
	__u8 kind;               /* enum ms_row_kind */
	__u8 space;              /* enum ms_space */
	__u8 action;             /* enum ms_action */
	__u8 flags;              /* enum ms_row_flags */
	__u8 layer;              /* enum ms_layer */
	__u8 key;                /* enum ms_key */
	__u8 object;             /* enum ms_object_kind: what of that kind has the handle `addr` */
	struct ms_source addr;   /* see struct ms_call for what the fields mean */
	struct ms_source size;   /* bytes, or the first factor of them */
	struct ms_source height; /* further factors */
	struct ms_source depth;
	struct ms_source element;
	struct ms_source levels; /* mipmaps: how many, each half as wide, high and deep */
	struct ms_source
		request; /* stands in for `size` when the call failed; of an array: flags */
	struct ms_source src;
	struct ms_source stream;
	struct ms_source device;
	struct ms_source direction;
	struct ms_source dims;
	struct ms_source shared;
	struct ms_source name;
};

/*
 * The cookie that a probe is attached with: the function's row, the number of the file if the probe
 * is in every process that has mapped it (0: in one process alone), and, in the upper half, by how
 * many bytes the stack pointer is lower at the probe than where the function begins.
 */
#define MS_COOKIE(row, stack_bytes) ((__u64)(stack_bytes) << 32 | (__u16)(row))
#define MS_COOKIE_OF_FILE(cookie, file) ((cookie) | (__u64)(file) << 16)
#define MS_COOKIE_ROW(cookie) ((__u32)(cookie)&0xffff)
#define MS_COOKIE_FILE(cookie) ((__u32)(cookie) >> 16)
#define MS_COOKIE_STACK_BYTES(cookie) ((__u32)((cookie) >> 32))

/* Numbers of files, from 1 on. A power of two: a mask. */
#define MS_FILES 256
/* With a file's number: probes in one process alone, which record as soon as the file is shut. */
#define MS_FILE_AFTER 0x8000

#endif /* MS_PROBE_ABI_H */
