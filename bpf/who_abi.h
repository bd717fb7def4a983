/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who a traced process is, as the kernel has it when the process executes a program, is forked, or
 * is let in by its first call. /proc says more, but says nothing any more once the process has
 * ended, which can be before user space comes to look.
 */
#ifndef MS_WHO_ABI_H
#define MS_WHO_ABI_H

/* No row of records.def: the capture makes IDENTITY records of it, and no recording has it. */
#define MS_TYPE_WHO 0x8001

/* Of which processes: the first needs bpf_loop(), of Linux 5.17. */
enum ms_who_wanted {
	MS_WHO_OF_NONE,
	MS_WHO_OF_TARGETS,
	MS_WHO_OF_CHILDREN, /* of theirs, and of those that are let in, too */
};

/* What could be read, and of it, what there is more of. */
enum ms_who_known {
	MS_WHO_USER = 1 << 0, /* uid and gid */
	MS_WHO_PARENT = 1 << 1,
	MS_WHO_NS_PID = 1 << 2,
	MS_WHO_ROOT = 1 << 3, /* its root directory is that of a mount: root_mount */
	MS_WHO_GROUP = 1 << 4,
	MS_WHO_OLD_GROUP = 1 << 5,
	MS_WHO_EXE = 1 << 6,
	MS_WHO_ARGUMENTS = 1 << 7,
	MS_WHO_ENVIRONMENT = 1 << 8,
	MS_WHO_CUT_EXE = 1 << 9, /* its end is there */
	MS_WHO_CUT_ARGUMENTS = 1 << 10,
	MS_WHO_CUT_ENVIRONMENT = 1 << 11,
};

/* The texts, one after the other. Paths are names from the last to the first, each with its NUL. */
enum ms_who_text {
	MS_WHO_TEXT_GROUP,     /* path of the cgroup of version 2 */
	MS_WHO_TEXT_OLD_GROUP, /* of one of version 1 that is not the root, if there is any */
	MS_WHO_TEXT_EXE,       /* of the executable */
	MS_WHO_TEXT_ARGUMENTS, /* as in /proc/PID/cmdline, its beginning */
	MS_WHO_TEXT_ENVIRONMENT,
	MS_WHO_TEXTS,
};

#define MS_WHO_NAME_BYTES 256         /* of a file, NUL included */
#define MS_WHO_NAMES_BYTES 2048       /* the paths together, until which one more name is begun */
#define MS_WHO_ARGUMENTS_BYTES 2047   /* a mask */
#define MS_WHO_ENVIRONMENT_BYTES 8191 /* a mask */

struct ms_who {
	struct ms_event event; /* of the process, even if it is only being forked */
	__u64 root_mount;      /* id of that mount, as in /proc/self/mountinfo */
	__u32 uid, gid;        /* effective */
	__u32 parent;
	__u32 ns_pid; /* in its own PID namespace */
	__u32 known;  /* enum ms_who_known */
	__u16 bytes[MS_WHO_TEXTS];
	__u16 reserved; /* 0 */
	char comm[16];
	char texts[]; /* filled up to a multiple of 8 */
};

/*
 * Where the kernel has it: offsets of members, which user space looks up in the kernel's types
 * (capture/attach/who_layout.c) in a single pass. libbpf would search all of the types for each of
 * the structs, before anything is attached to.
 */
struct ms_who_layout {
	__u32 known; /* of enum ms_who_known, what may be read; 0: nothing is reported */
#define X(member, needed_for, path) __u16 member;
#include "who_layout.def"
#undef X
};

#endif /* MS_WHO_ABI_H */
