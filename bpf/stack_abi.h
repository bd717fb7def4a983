/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about call stacks, which includes it. The kernel side walks a stack and
 * reports it once, as addresses (MS_STACK_ADDRESSES); the capture finds out what is there, says of
 * each new frame what it is (struct ms_frame_record), and hands the stack on as a list of these
 * (MS_STACK_FRAMES). Calls name their stack by its id (MS_CALL_STACK).
 */
#ifndef MS_STACK_ABI_H
#define MS_STACK_ABI_H

#define MS_STACK_MOST 128 /* frames of one stack */

enum ms_frame_kind {
	MS_FRAME_NATIVE, /* `address`: of the instruction; behind a call, of the one that follows */
	MS_FRAME_PYTHON, /* `address`: of the code object; `detail`: bytes into its instructions;
			  * `check`: what tells it from another one at that address */
	MS_FRAME_KINDS_COUNT,
};

enum ms_frame_flags {
	MS_FRAME_BY_POINTER = 1 << 0, /* found by the frame pointer, for want of a table */
	MS_FRAME_EXACT = 1 << 1,      /* native: interrupted there (a signal), or not yet called */
	MS_FRAME_INFERRED = 1 << 2,   /* of another thread, which is likely to have led here */
	MS_FRAME_ENTRY = 1 << 3,      /* Python: a call of the evaluating function ends with it */
	MS_FRAME_MORE = 1 << 4,       /* Python: it has callers that are not there */
};

/* A frame as the kernel side finds it, the innermost first. */
struct ms_stack_frame {
	__u64 address;
	__s32 detail;
	__u32 check;
	__u8 kind;  /* enum ms_frame_kind */
	__u8 flags; /* enum ms_frame_flags */
	__u8 reserved[6];
};

/* clang-format off */
/* Why a stack has no more native frames. */
#define MS_STACK_ENDS(X) \
	X(COMPLETE,    "complete") \
	X(DEPTH,       "more frames than are kept") \
	X(NO_MODULE,   "code that is in no file") \
	X(NO_TABLE,    "a file whose table is not there (yet)") \
	X(NO_RULE,     "code without unwind information") \
	X(UNSUPPORTED, "a rule that is not supported") \
	X(UNREADABLE,  "memory that could not be read") \
	X(LOOP,        "a frame that is not above the one before")
/* clang-format on */

enum ms_stack_end {
#define X(end, why) MS_STACK_END_##end,
	MS_STACK_ENDS(X)
#undef X
		MS_STACK_ENDS_COUNT,
};

enum ms_stack_form {
	MS_STACK_ADDRESSES, /* `count` of struct ms_stack_frame follow: only while capturing */
	MS_STACK_FRAMES,    /* `count` ids of frames, of 32 bits, follow */
	MS_STACK_FORMS_COUNT,
};

/* A stack that was not seen before. Ids count from 1. */
struct ms_stack {
	struct ms_event event;
	__u64 hash; /* of the addresses and the process */
	__u32 id;
	__u16 count;
	__u8 end;  /* enum ms_stack_end */
	__u8 form; /* enum ms_stack_form */
	__u8 frames[];
};

#define MS_FRAME_TEXTS_MAX 8192

/* What a frame is, in words: texts that follow each other, each NUL-terminated. */
enum ms_frame_text {
	MS_FRAME_FUNCTION, /* "" if it is not known */
	MS_FRAME_MODULE,   /* path of the file as the process sees it; Python: "" */
	MS_FRAME_BUILD_ID, /* of that file, in hexadecimal digits; "" if it has none */
	MS_FRAME_SOURCE,   /* path of the source file; "" if it is not known */
	MS_FRAME_TEXTS_COUNT,
};

struct ms_frame_record {
	struct ms_event event;
	__u64 address; /* native: as the file's symbols have it; else 0 */
	__u32 id;      /* counts from 1 */
	__u32 line;    /* of the source file; 0: not known */
	__u32 offset;  /* from where the function begins, bytes; 0 if that is not known */
	__u32 length;  /* of the texts, bytes */
	__u8 kind;     /* enum ms_frame_kind */
	__u8 flags;    /* enum ms_frame_flags */
	__u8 reserved[6];
	char texts[];
};

_Static_assert(sizeof(struct ms_stack_frame) == 24, "wire layout");
_Static_assert(sizeof(struct ms_stack) == 48, "wire layout");
_Static_assert(sizeof(struct ms_frame_record) == 64, "wire layout");

#endif /* MS_STACK_ABI_H */
