/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What both sides know of CPython: where the fields are that lead to a thread's Python frames, and
 * the record of a code object. abi.h includes it.
 */
#ifndef MS_PYTHON_ABI_H
#define MS_PYTHON_ABI_H

#define MS_PYTHON_NONE 0xffff /* an offset: this version has no such field */

enum ms_python_flags {
	MS_PYTHON_INSTR_ADDRESS = 1 << 0,  /* `frame_instr`: a pointer (3.11 and later) */
	MS_PYTHON_INSTR_UNITS = 1 << 1,    /* ... an index of units of two bytes (3.10) */
	MS_PYTHON_FRAME_PER_EVAL = 1 << 2, /* each frame is evaluated by a call of its own */
	MS_PYTHON_ENTRY_FLAG = 1 << 3,     /* `frame_owner`: whether the frame is an entry (3.11) */
};

/* Of one process. Offsets are in bytes; those that user space gives are below MS_PYTHON_FAR. */
struct ms_python {
	__u64 runtime;           /* address of _PyRuntime */
	__u32 version;           /* PY_VERSION_HEX */
	__u16 flags;             /* enum ms_python_flags */
	__u16 interpreters_head; /* in _PyRuntimeState */
	__u16 interpreter_next;  /* in PyInterpreterState */
	__u16 interpreter_threads;
	__u16 thread_next;  /* in PyThreadState */
	__u16 thread_id;    /* pthread_self() */
	__u16 thread_frame; /* the current frame, or the _PyCFrame that knows it */
	__u16 cframe_frame; /* in _PyCFrame; MS_PYTHON_NONE: there is none in between */
	__u16 frame_code;   /* in a frame */
	__u16 frame_previous;
	__u16 frame_instr;
	__u16 frame_owner; /* a byte; MS_PYTHON_NONE: none */
	__u16 frame_bytes; /* that hold all of these: less than MS_PYTHON_IMAGE */
	__u16 code_begin;  /* in a PyCodeObject: the first of these fields */
	__u16 code_bytes;  /* that hold all of them, from there: less than MS_PYTHON_IMAGE */
	__u16 code_first_line;
	__u16 code_filename;
	__u16 code_name;         /* co_qualname, or co_name */
	__u16 code_lines;        /* co_linetable, or co_lnotab */
	__u16 code_instructions; /* co_code_adaptive; MS_PYTHON_NONE: not needed */
	__u16 text_length;       /* in a str */
	__u16 text_state;
	__u16 text_ascii;   /* where an ASCII one's characters are */
	__u16 text_compact; /* where those of others are */
	__u16 bytes_size;   /* in a bytes object */
	__u16 bytes_data;
	__u8 shim_owner;  /* owners from this on are no Python frames; 0: all are */
	__u8 reserved[3]; /* 0 */
};

#define MS_PYTHON_FAR 32768 /* no offset is larger: the runtime's are some thousands */
#define MS_PYTHON_IMAGE 128 /* bytes of a frame, and of a code object, that are looked at */

/*
 * Says whether the code object at an address is still the same one: addresses are used again. The
 * pointers belong to objects that live as long as the code object does.
 */
static inline __u32 ms_python_check(__u32 first_line, __u64 filename, __u64 name, __u64 lines)
{
	__u64 hash = filename;

	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull + name;
	hash = (hash ^ hash >> 32) * 0x94d049bb133111ebull + lines;
	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull + first_line;
	return (__u32)(hash ^ hash >> 32);
}

#define MS_PYTHON_PROCESSES 65536 /* at once; of further ones there are no Python frames */
#define MS_PYTHON_CODES 32768     /* code objects whose records need not be made again */

#define MS_PYTHON_TEXT_BYTES 256   /* of a file's or a function's name that the kernel side reads */
#define MS_PYTHON_LINES_BYTES 4096 /* of a table of lines */

/* One of a code object's two texts, as the process has it. */
struct ms_python_text {
	__u64 addr;   /* of the str */
	__u32 length; /* characters of all of it; 0 if it could not be read */
	__u16 bytes;  /* of them that were read */
	__u8 width;   /* bytes for each character: 1, 2, 4; 0 if it could not be read */
	__u8 is_ascii;
};

/*
 * Of a struct ms_python_code: no row of records.def, for the capture makes frames of what it says,
 * and no recording has it.
 */
#define MS_TYPE_PYTHON_CODE 0x8000

/* A code object, when the kernel side sees it for the first time in the process. */
struct ms_python_code {
	struct ms_event event;
	__u64 code; /* its address */
	__u32 check;
	__u32 version; /* PY_VERSION_HEX */
	__u32 first_line;
	__u32 lines_size; /* of all of the table of lines; 0 if it could not be read */
	__u64 lines_addr; /* of its bytes object */
	struct ms_python_text filename, name;
	__u8 filename_bytes[MS_PYTHON_TEXT_BYTES];
	__u8 name_bytes[MS_PYTHON_TEXT_BYTES];
	__u32 lines_bytes; /* that follow */
	__u32 reserved;    /* 0 */
	__u8 lines[];      /* at most MS_PYTHON_LINES_BYTES, filled up to a multiple of 8 */
};

#endif /* MS_PYTHON_ABI_H */
