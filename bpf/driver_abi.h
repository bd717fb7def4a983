/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about objects of NVIDIA's kernel driver, which includes it.
 */
#ifndef MS_DRIVER_ABI_H
#define MS_DRIVER_ABI_H

/* clang-format off */
#define MS_OBJECT_ACTIONS(X) \
	X(ALLOC,  "alloc") \
	X(FREE,   "free")   /* with everything below it */ \
	X(DUP,    "dup")    /* another name of the same memory */ \
	X(MISSED, "missed") /* none: the process had files of the driver, and until now was not seen */ \
	/* All of the process, which has no file of the driver any more; or of the clients of a file. */ \
	X(CLOSED, "closed") \
	X(EXPORT, "export") /* goes to another process, by a file */ \
	X(IMPORT, "import") /* another name, for what has come by a file */ \
	X(UNREAD, "unread") /* one that is not known: its ioctl could not be read */
/* clang-format on */

enum ms_object_action {
#define X(action, name) MS_OBJECT_##action,
	MS_OBJECT_ACTIONS(X)
#undef X
		MS_OBJECT_ACTIONS_COUNT,
};

/* Classes of objects (src/common/sdk/nvidia/inc/class/cl0000.h and so on). */
#define MS_NV_ROOT_NON_PRIV 0x01 /* NV01_ROOT_NON_PRIV; 0 is NV01_ROOT */
#define MS_NV_ROOT_CLIENT 0x41   /* NV01_ROOT_CLIENT, which the driver makes of both */
#define MS_NV_DEVICE 0x80        /* NV01_DEVICE_0 */
#define MS_NV_MEMORY_LOCAL 0x40  /* NV01_MEMORY_LOCAL_USER: memory of the device */
#define MS_NV_MEMORY_SYSTEM 0x3e /* NV01_MEMORY_SYSTEM: of the host, allocated by the driver */
#define MS_NV_MEMORY_OS 0x71     /* NV01_MEMORY_SYSTEM_OS_DESCRIPTOR: of the process, page-locked */

/* Handles are unique within their client, and clients within the machine while they live. */
struct ms_object {
	struct ms_event event;
	__u32 client;
	__u32 object;
	__u32 parent;
	__u32 class_number; /* of a new one */
	__u64 size;   /* of memory: bytes, as the driver granted them; of a device: its instance */
	__u32 status; /* the driver's: 0, it was done; 0x51, it has no memory left */
	__u16 row;    /* the traced call that the thread was in; MS_NO_ROW: none */
	__u16 action; /* enum ms_object_action */
	/*
	 * Of DUP: what it is another name of. Of EXPORT and IMPORT: the file that it goes by, as
	 * `file` stands for one; 0: it is none that objects go by.
	 */
	__u32 source_client;
	union {
		__u32 source_object;
		/*
		 * Else: the open file that it was asked of, as a number that stands for nothing
		 * else; 0: not known. A child can have its parent's.
		 */
		__u32 file;
	};
};

/* clang-format off */
#define MS_RANGE_ACTIONS(X) \
	X(CREATE,  "create")  /* addresses at which memory of the driver is going to be */ \
	X(MAP,     "map")     /* an object is there, or a part of it */ \
	X(UNMAP,   "unmap")   /* it is not any more */ \
	X(FREE,    "free")    /* the addresses, and what is there */ \
	X(MANAGED, "managed") /* addresses of managed memory, behind which is no object */ \
	X(GPU,     "gpu")     /* none: the process uses that device */ \
	X(READY,   "ready")   /* none: the file may be used. It makes no record. */
/* clang-format on */

enum ms_range_action {
#define X(action, name) MS_RANGE_##action,
	MS_RANGE_ACTIONS(X)
#undef X
		MS_RANGE_ACTIONS_COUNT,
};

#define MS_UUID_BINARY_BYTES 16
#define MS_RANGE_GPUS 32 /* on which one ioctl maps at most: what maps on more is not read */

/*
 * Addresses of a process, and which of the driver's objects is there: what it asks of
 * /dev/nvidia-uvm. They are those that CUDA returns, so by them an object is joined with what was
 * allocated.
 */
struct ms_range {
	struct ms_event event;
	__u64 base;
	__u64 bytes;          /* 0: not said, those of the range that was created there */
	__u64 offset;         /* of MAP: in the object */
	__u32 client, object; /* of MAP */
	__u32 status;         /* the driver's: 0, it was done */
	__u32 file;           /* as of struct ms_object; of /dev/nvidia-uvm */
	__u8 uuid[MS_UUID_BINARY_BYTES]; /* of GPU, UNMAP, and of MAP for each GPU; else 0 */
	__u16 row;                       /* as of struct ms_object */
	__u16 action;                    /* enum ms_range_action */
	__u32 reserved;
};

/* A process has that file open; files as of struct ms_object. */
struct ms_open_file {
	__u32 pid;
	__u32 file;
};

#define MS_NOWHERE 0xffff

enum ms_object_size {
	MS_SIZE_NONE,
	MS_SIZE_IN_PARAMS,
	MS_SIZE_LIMIT,
	MS_SIZE_AT,
};

/* A row of ioctls.def. */
struct ms_ioctl {
	__u32 since, until;
	__u32 request; /* of /dev/nvidia-uvm: all of it; 0: `number` and `bytes` say which it is */
	__u16 number, bytes; /* of RM_VID_HEAP_CONTROL, its function is in `number`, too */
	__u8 action, size;
	__u16 size_at;
	__u16 client, parent, object, class_number, params, status;
	__u16 source_client, source_object; /* 0: none */
	__u16 command;                      /* of RM_CONTROL: its number; 0: it is none */
	__u16 flags, attributes;            /* that say which class it has; 0: they do not */
	__u16 fixed_class;                  /* of what has no class_number */
	__u16 descriptor, descriptor_type;  /* of page-locked memory: what it is; 0: in `params` */
	__u16 passed_by;                    /* of EXPORT: the descriptor of the file */
	__u16 base, length, offset, uuid;   /* of what has a `request` */
	__u16 gpus; /* how many it is for: each has a UUID; 0: it is for one, or for none */
};

/* A version of the driver as one number, by which they are ordered. */
#define MS_DRIVER(major, minor, patch) ((major)*1000000u + (minor)*1000u + (patch))

#endif /* MS_DRIVER_ABI_H */
