/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of abi.h that is about functions whose answers say where a thread is (asks.def), which
 * abi.h includes.
 */
#ifndef MS_ASK_ABI_H
#define MS_ASK_ABI_H

/* What the function answers. */
enum ms_ask_answer {
	MS_ASK_DEVICE,    /* the device of the thread's current context */
	MS_ASK_DEVICE_OF, /* the device of the context that is the second argument */
	MS_ASK_CONTEXT,   /* the thread's current context */
	MS_ASK_RUNTIME,   /* the device on which the thread's next call to the runtime acts */
};

enum ms_ask_row {
#define MS_ASK(answer, symbol) MS_ASK_ROW_##symbol,
#include "asks.def"
#undef MS_ASK
	MS_ASK_ROWS,
};

/* Of a process whose questions are listened to. */
struct ms_asking {
	__u64 calls;   /* of these functions, since they have their probes */
	__u64 lessons; /* how many of their answers were news */
};

#endif /* MS_ASK_ABI_H */
