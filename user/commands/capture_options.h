/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all commands with a live capture do alike with what they are told.
 */
#ifndef MEMSCOPE_COMMANDS_CAPTURE_OPTIONS_H
#define MEMSCOPE_COMMANDS_CAPTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/attach/features.h"
#include "capture/live.h"
#include "commands/options.h"
#include "commands/selection.h"
#include "render/losses_words.h"

/* --markers, in the order of its words. */
enum capture_markers {
	CAPTURE_MARKERS_OFF,
	CAPTURE_MARKERS_NVTX,   /* its functions, where there are any */
	CAPTURE_MARKERS_INJECT, /* and, of a command, our library in it */
};

struct capture_options {
	struct selection selection;
	struct features features;
	uint64_t duration_ns;
	uint64_t buffer_bytes;
	uint64_t max_loss;
	uint32_t stack_ops;   /* bit set of enum ms_op: calls whose stacks are taken */
	uint64_t stack_depth; /* frames of a stack */
	uint32_t stack_kinds; /* bit set of enum ms_frame_kind: frames of a stack that are taken */
	uint64_t table_bytes; /* that the tables for walking stacks may take in the kernel */
	enum capture_markers nvtx;
	struct marker_rows markers;
	const char *fewer;      /* for losses_append_reasons() */
	bool gpu_times;         /* of a command: CUPTI is asked for them, */
	uint64_t gpu_times_ns;  /* for so long; 0: as long as it runs */
	bool output_is_taken;   /* standard output is for data alone: a command gets another one */
	bool terminal_is_taken; /* a command gets nothing in its place */
};

/* clang-format off */
#define CAPTURE_OPTIONS_DEFAULTS { .buffer_bytes = 64ull << 20, .max_loss = UINT64_MAX, \
			     .stack_depth = MS_STACK_MOST, .stack_kinds = MS_FRAME_KINDS_ALL, \
			     .table_bytes = 256ull << 20, \
			     .fewer = LOSSES_FEWER_EVENTS }
/* clang-format on */

/* --stacks, into `stack_ops`, --stack-depth, and --stack-frames, into `stack_kinds`. */
int capture_options_stacks(const struct option_row *row, const char *value, void *settings);
int capture_options_depth(const struct option_row *row, const char *value, void *settings);
int capture_options_frames(const struct option_row *row, const char *value, void *settings);

#define CAPTURE_OPTIONS_DEPTH_HELP \
	"Keep at most the N innermost frames of a call stack: 1 to 128 (default 128)."
#define CAPTURE_OPTIONS_FRAMES "all|python|native"
#define CAPTURE_OPTIONS_FRAMES_HELP \
	"Which frames a call stack has: native functions, with Python's in place of the interpreter's" \
	" (all, default), or only Python's, or only native ones. Python's alone need no tables, so" \
	" they are complete from the first call on."
#define CAPTURE_OPTIONS_TABLES_HELP \
	"Kernel memory for the tables by which call stacks are walked (default 256M). Stacks end" \
	" in files whose table does not fit."

/* --gpu-time[=TIME]: the row's place is a struct capture_options. */
int capture_options_gpu(const struct option_row *row, const char *value, void *settings);
#define CAPTURE_OPTIONS_GPU_HELP \
	"Of a command that is started here: have CUPTI measure how long kernels, copies and memsets" \
	" ran, for TIME (default: as long as it runs). A small library is loaded into it for that, and" \
	" nothing else can use CUPTI in it meanwhile (docs/timing.md)."

/*
 * Whether there is a command for it. Returns EXIT_OK, or an exit code after a message.
 */
int capture_options_check_gpu(const struct capture_options *capture);

/* --markers, into `nvtx`, and --marker, into `markers`, which go with capture_options_fini(). */
int capture_options_markers(const struct option_row *row, const char *value, void *settings);
int capture_options_marker(const struct option_row *row, const char *value, void *settings);
void capture_options_fini(struct capture_options *capture);

/* Whether there is a command for --markers=inject. Returns EXIT_OK, or an exit code, logged. */
int capture_options_check_markers(const struct capture_options *capture);

#define CAPTURE_OPTIONS_MARKERS "off|nvtx|inject"
#define CAPTURE_OPTIONS_MARKER_HELP \
	"Take a function for a marker: from its entry to its return it is a phase. LIBRARY is the" \
	" file's path, or its name, of which the end can be left out (libfoo). Or a static probe" \
	" (USDT), an instant; or two of one provider, which are a phase. Can be given several times."
#define CAPTURE_OPTIONS_MARKER "LIBRARY:FUNCTION|usdt:LIBRARY:PROVIDER:NAME[,END]"

/* Everything but the callbacks, and `count_launches`. */
struct live_options capture_options_live(struct capture_options *capture, bool entries_only);

/*
 * If no call could be seen, says why: else what was captured looks like any other result; and which
 * of the user's markers was in no process. Returns 0, or -EACCES if it is because a process's CUDA
 * library could not be opened.
 */
int capture_options_tell_blindness(const struct capture_options *capture, const struct live *live,
				   const struct losses *losses);

/*
 * What to exit with after the capture has ended with `err`: the command's code (-1: there was none)
 * if all went well. Says what was lost.
 */
int capture_options_exit_code(const struct capture_options *capture, int err,
			      const struct losses *losses, int command_code);

#endif /* MEMSCOPE_COMMANDS_CAPTURE_OPTIONS_H */
