/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about markers, which includes it: by what programs say which part of
 * their work they are at.
 */
#ifndef MS_MARKER_ABI_H
#define MS_MARKER_ABI_H

/* clang-format off */
#define MS_MARKER_ACTIONS(X) \
	X(PUSH,    "push")    /* a phase of the thread begins, inside of those that it is in */ \
	X(POP,     "pop")     /* the innermost one ends */ \
	X(START,   "start")   /* a range of the process begins, which any thread may end */ \
	X(STARTED, "started") /* the range that the thread has started last is known as `id` */ \
	X(END,     "end")     /* of the range `id` */ \
	X(INSTANT, "instant")

#define MS_MARKER_SOURCES(X) \
	X(NVTX,     "nvtx")     /* a function of NVTX, found by its name */ \
	X(FUNCTION, "function") /* that the user has named, from its entry to its return */ \
	X(USDT,     "usdt")     /* a probe that the program has */ \
	X(INJECTED, "injected") /* NVTX by way of our library in the program */ \
	X(COMMAND,  "command")  /* memscope-bpf mark */ \
	X(PYTHON,   "python")   /* made by user space from call stacks, never by the kernel side */
/* clang-format on */

enum ms_marker_action {
#define X(action, name) MS_MARKER_##action,
	MS_MARKER_ACTIONS(X)
#undef X
		MS_MARKER_ACTIONS_COUNT,
};

enum ms_marker_source {
#define X(source, name) MS_MARKER_BY_##source,
	MS_MARKER_SOURCES(X)
#undef X
		MS_MARKER_SOURCES_COUNT,
};

#define MS_MARKER_NAME_BYTES 256 /* that are kept of a name, with its zero byte */

enum ms_marker_flags {
	MS_MARKER_CUT = 1 << 0,    /* the name is longer */
	MS_MARKER_UNREAD = 1 << 1, /* it has one, which could not be read */
};

/*
 * By MS_MARKER_BY_COMMAND it comes from the kernel side once: `domain` is the process that it is
 * for (0: all), `sp` the user who has said it. User space makes it one of each process, of its
 * thread 0, with 0 for both.
 *
 * Nothing of it has been checked: whether ends have beginnings, and what is in the name.
 */
struct ms_marker {
	struct ms_event event;
	__u64 domain; /* of NVTX, by its handle: each has stacks of its own; 0: the default one */
	__u64 id;     /* STARTED, END; a START that knows it at once: not 0 */
	__u64 sp;     /* FUNCTION: identifies the call on both sides; else 0 */
	__u8 action;  /* enum ms_marker_action */
	__u8 source;  /* enum ms_marker_source */
	__u8 flags;   /* enum ms_marker_flags */
	__u8 reserved;
	__u32 length; /* bytes of `name` that follow, NUL included; 0: it has none */
	char name[];
};

/* Where a marker's name is. */
enum ms_marker_name {
	MS_MARKER_NAME_NONE,
	MS_MARKER_NAME_FIXED,      /* in the row */
	MS_MARKER_NAME_STRING,     /* argument */
	MS_MARKER_NAME_WIDE,       /* argument, of wchar_t */
	MS_MARKER_NAME_ATTRIBUTES, /* argument is a nvtxEventAttributes_t */
};

enum ms_marker_id {
	MS_MARKER_ID_NONE,
	MS_MARKER_ID_ARGUMENT,
	MS_MARKER_ID_RESULT,
};

#define MS_MARKER_FIXED_BYTES 56

/* What a probed function means. Set before load. */
struct ms_marker_row {
	__u8 action; /* of MS_MARKER_BY_INJECTED and _COMMAND: argument 0 says it */
	__u8 source;
	__u8 name; /* enum ms_marker_name */
	__u8 name_arg;
	__u8 id; /* enum ms_marker_id */
	__u8 id_arg;
	__u8 domain_arg; /* or MS_PLACE_NONE */
	__u8 length;     /* of `fixed`, NUL included */
	char fixed[MS_MARKER_FIXED_BYTES];
};

#define MS_MARKER_ROWS 128                         /* a power of two: indices are masked with it */
#define MS_MARKER_ROW_COMMAND (MS_MARKER_ROWS - 1) /* of memscope-bpf mark */

/* What users that are not root may say with it, all together: more is ignored. */
#define MS_MARKER_COMMANDS 100
#define MS_MARKER_COMMANDS_NS 1000000000ull

_Static_assert(sizeof(struct ms_marker) == 64, "wire layout");
_Static_assert(sizeof(struct ms_marker_row) == 64, "no holes");

#endif /* MS_MARKER_ABI_H */
