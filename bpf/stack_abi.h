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

#define MS_FRAME_KINDS_ALL ((1u << MS_FRAME_KINDS_COUNT) - 1) /* a bit set */

enum ms_frame_flags {
	MS_FRAME_BY_POINTER = 1 << 0, /* found by the frame pointer: there is no table */
	MS_FRAME_EXACT = 1 << 1,      /* native: interrupted there (a signal), or not yet called */
	MS_FRAME_INFERRED = 1 << 2,   /* of another thread, which is likely to have led here */
	MS_FRAME_ENTRY = 1 << 3,      /* Python: a call of the evaluating function ends with it */
	MS_FRAME_MORE = 1 << 4,       /* Python: it has callers that are not there */
	MS_FRAME_INLINED = 1 << 5,    /* native: the compiler put it into the next frame's code */
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
/* Why a stack has no more native frames: as JSON has it, and in words. */
#define MS_STACK_ENDS(X) \
	X(COMPLETE,    "complete",    "complete") \
	X(DEPTH,       "depth",       "more frames than are kept") \
	X(NO_MODULE,   "no_module",   "code that is in no file") \
	X(NO_TABLE,    "no_table",    "a file whose table is not there, or not yet") \
	X(NO_RULE,     "no_rule",     "code without unwind information") \
	X(UNSUPPORTED, "unsupported", "unwind information of a kind that is not supported") \
	X(UNREADABLE,  "unreadable",  "memory that could not be read") \
	X(LOOP,        "loop",        "a frame that is not above the one before")
/* clang-format on */

enum ms_stack_end {
#define X(end, name, why) MS_STACK_END_##end,
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

/* ---- walking: what user space prepares for the kernel side ----------------------------------- */

#define MS_UNWIND_TABLES 2048          /* files whose code can be walked through, and one */
#define MS_UNWIND_ROWS_MOST (8u << 20) /* of one file: ten times what the largest has */

/* How to get from a frame to its caller's: where the memory behind its return address is (CFA). */
enum ms_unwind_rule {
	MS_UNWIND_UNSUPPORTED, /* in a way that has no rule here */
	MS_UNWIND_NONE,        /* nothing says how */
	MS_UNWIND_END,         /* it has no caller */
	MS_UNWIND_SP,          /* at the stack pointer + 8 * offset */
	MS_UNWIND_BP,          /* at the frame pointer + 8 * offset */
	MS_UNWIND_AT_BP,       /* its address is at the frame pointer + 8 * offset */
	MS_UNWIND_PLT,         /* at the stack pointer + 8, or + 16 from the `offset`th byte on of
				* an entry of 16 bytes */
	MS_UNWIND_SIGNAL,      /* the kernel has interrupted it: all is in a ucontext_t */
};

/* Where the caller's frame pointer is: at the CFA - 8 * that, or one of these. */
#define MS_UNWIND_BP_SAME 0
#define MS_UNWIND_BP_AT_BP 255 /* where the frame pointer points to */

/*
 * From that address on, as the file's symbols have it, up to the next row's. Of the first row of a
 * table `pc` is how many follow.
 */
struct ms_unwind_row {
	__u32 pc;
	__u8 rule; /* enum ms_unwind_rule */
	__u8 bp;
	__s16 offset;
};

/*
 * Code of a file in the memory of a process. Of the first one of a process `start` is how many
 * follow.
 */
struct ms_stack_range {
	__u64 start, end;
	__u64 bias;  /* of an address in it, less what the file's symbols have */
	__u32 table; /* the file's number in ms_unwind_tables; 0: it has none */
	__u32 reserved;
};

_Static_assert(sizeof(struct ms_unwind_row) == 8, "wire layout");
_Static_assert(sizeof(struct ms_stack_range) == 32, "wire layout");

_Static_assert(sizeof(struct ms_stack_frame) == 24, "wire layout");
_Static_assert(sizeof(struct ms_stack) == 48, "wire layout");
_Static_assert(sizeof(struct ms_frame_record) == 64, "wire layout");

#endif /* MS_STACK_ABI_H */
