/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options that commands with a live capture share, and what these commands do alike with them.
 */
#ifndef MEMSCOPE_COMMANDS_CAPTURE_OPTIONS_H
#define MEMSCOPE_COMMANDS_CAPTURE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/attach/features.h"
#include "capture/live.h"
#include "commands/container_option.h"
#include "commands/dump_selection.h"
#include "commands/options.h"
#include "commands/selection.h"
#include "event/python_phases.h"
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
	const char *table_cache; /* the directory where they are kept, or "off" */
	enum capture_markers nvtx;
	struct marker_rows markers;
	struct python_functions functions; /* of Python, that are markers */
	struct name_sources names;         /* of containers and pods */
	const char *fewer;                 /* for losses_append_reasons() */
	bool gpu_times;                    /* of a command: CUPTI is asked for them, */
	uint64_t gpu_times_ns;             /* for so long; 0: as long as it runs */
	bool output_is_taken;   /* standard output is for data alone: a command gets another one */
	bool terminal_is_taken; /* a command gets nothing in its place */
};

/* clang-format off */
#define CAPTURE_OPTIONS_DEFAULTS { .buffer_bytes = 64ull << 20, .max_loss = UINT64_MAX, \
			     .stack_depth = MS_STACK_MOST, .stack_kinds = MS_FRAME_KINDS_ALL, \
			     .table_bytes = 256ull << 20, \
			     .table_cache = "/var/cache/memscope-bpf", \
			     .names.logs.path = POD_LOGS_DEFAULT, \
			     .fewer = LOSSES_FEWER_EVENTS }
/* clang-format on */

/* Calls whose stacks can be taken: those that threads wait in, and launches that are recorded. */
#define CAPTURE_STACKS_OF_WAITS \
	(1u << MS_OP_ALLOC | 1u << MS_OP_COPY | 1u << MS_OP_MEMSET | 1u << MS_OP_SYNC)
#define CAPTURE_STACKS_OF_ALL (CAPTURE_STACKS_OF_WAITS | 1u << MS_OP_LAUNCH)

/*
 * Once the options are parsed: stacks by which Python functions are seen that are markers, of these
 * ops (bit set), if none were asked for.
 */
void capture_options_see_functions(struct capture_options *capture, uint32_t ops);

/* --stacks, into `stack_ops`, --stack-depth, and --stack-frames, into `stack_kinds`. */
int capture_options_stacks(const struct option_row *row, const char *value, void *settings);
int capture_options_depth(const struct option_row *row, const char *value, void *settings);
int capture_options_frames(const struct option_row *row, const char *value, void *settings);

/* --gpu-time[=TIME]: the row's place is a struct capture_options. */
int capture_options_gpu(const struct option_row *row, const char *value, void *settings);

/*
 * Whether there is a command for it. Returns EXIT_OK, or an exit code after a message.
 */
int capture_options_check_gpu(const struct capture_options *capture);

/* --markers, into `nvtx`, and --marker, into `markers`, which go with capture_options_fini(). */
int capture_options_markers(const struct option_row *row, const char *value, void *settings);
int capture_options_marker(const struct option_row *row, const char *value, void *settings);
void capture_options_fini(struct capture_options *capture);

/*
 * Whether there is a command for --markers=inject, and stacks for --marker py: (`stack_ops` is set
 * by now, be it to what means the default). Returns EXIT_OK, or an exit code, logged.
 */
int capture_options_check_markers(const struct capture_options *capture);

/*
 * Once it is known that tracing works here: whether those that are chosen by who they are can be
 * there. Returns EXIT_OK, or an exit code, logged.
 */
int capture_options_check_choice(struct capture_options *capture);

/*
 * Rows that several commands have. `at`: the offset of the struct capture_options in the settings;
 * `verb`, `verbed`: what the command does with processes ("Trace", "traced").
 */
/* clang-format off */
#define CAPTURE_NVML_NS 10000000000ull /* between two questions to NVML, unless said otherwise */

#define CAPTURE_OPTIONS_AT(at, member) ((at) + offsetof(struct capture_options, member))

#define CAPTURE_OPTIONS_PROCESS_ROWS(at, verb, verbed) \
	{ 'p', "pid", "PID[,PID...]", verb " running processes.", selection_parse_pids, \
	  CAPTURE_OPTIONS_AT(at, selection) }, \
	{ 'a', "all", NULL, \
	  verb " all processes that use CUDA: those that already run, and those that start later.", \
	  option_flag, CAPTURE_OPTIONS_AT(at, selection.all) }, \
	{ 0, "cgroup", "PATH", \
	  verb " the processes that use CUDA in this cgroup and those below it, now and later. PATH is" \
	  " as in /proc/PID/cgroup (/system.slice/x.service; the first slash may be left out), or its" \
	  " directory below /sys/fs/cgroup, with cgroup v1 that of one hierarchy.", \
	  selection_parse_cgroup, CAPTURE_OPTIONS_AT(at, selection) }, \
	{ 'f', "follow", NULL, verb " the children of the " verbed " processes too.", option_flag, \
	  CAPTURE_OPTIONS_AT(at, selection.follow) }

/* Of the machine, or of --cgroup, those who are all of that. */
#define CAPTURE_OPTIONS_WHO_ROWS(at) \
	DUMP_SELECTION_USER_ROW(CAPTURE_OPTIONS_AT(at, selection.who)), \
	DUMP_SELECTION_CONTAINER_ROWS(CAPTURE_OPTIONS_AT(at, selection.who))

#define CAPTURE_OPTIONS_CMDLINE_ROW(at, verb, verbed) \
	{ 0, "cmdline", NULL, \
	  verb " the command lines of processes, too. They can hold secrets. Without this option," \
	  " only the program is " verbed " and, for an interpreter, the script or module.", \
	  option_flag, CAPTURE_OPTIONS_AT(at, selection.command_lines) }

#define CAPTURE_OPTIONS_STACK_ROWS(at) \
	{ 0, "stack-depth", "N", \
	  "Keep at most the N innermost frames of a call stack: 1 to 128 (default 128).", \
	  capture_options_depth, CAPTURE_OPTIONS_AT(at, stack_depth) }, \
	{ 0, "stack-frames", "all|python|native", \
	  "Which frames a call stack has: native functions, with Python's in place of the" \
	  " interpreter's (all, default), or only Python's, or only native ones. Python's alone need" \
	  " no tables, so they are complete from the first call on.", \
	  capture_options_frames, CAPTURE_OPTIONS_AT(at, stack_kinds) }, \
	{ 0, "stack-memory", "SIZE", \
	  "Kernel memory for the tables by which call stacks are walked (default 256M). Stacks end" \
	  " in files whose table does not fit.", \
	  option_size, CAPTURE_OPTIONS_AT(at, table_bytes) }, \
	{ 0, "stack-cache", "DIRECTORY|off", \
	  "Keep the tables of files of 4 MiB or more there (default /var/cache/memscope-bpf; at most" \
	  " 512 MiB), so that stacks are complete sooner the next time, and which functions of them are" \
	  " wanted, so that attaching is quicker. Only the user who runs memscope-bpf may be able to" \
	  " write in it.", \
	  option_text, CAPTURE_OPTIONS_AT(at, table_cache) }

/* `more`: sentences for the help */
#define CAPTURE_OPTIONS_GPU_ROW(at, more) \
	{ 0, "gpu-time", "[=TIME]", \
	  "Measure with CUPTI when kernels, copies and memsets run, in a COMMAND that is started" \
	  " here, for TIME (default: as long as it runs). COMMAND loads a small library for that." \
	  " Other users of CUPTI do not work in it meanwhile (docs/timing.md)." more, \
	  capture_options_gpu, at }

/* `what`: the help's first sentence */
#define CAPTURE_OPTIONS_MARKER_ROWS(at, what) \
	{ 0, "markers", "off|nvtx|inject", \
	  what " With inject, COMMAND loads a small library, which NVTX 3 needs (docs/markers.md)." \
	  " In a process that has mapped a library with NVTX's functions, each call of them costs a" \
	  " trap.", \
	  capture_options_markers, CAPTURE_OPTIONS_AT(at, nvtx) }, \
	{ 0, "marker", "LIBRARY:FUNCTION|usdt:LIBRARY:PROVIDER:NAME[,END]|py:FUNCTION", \
	  "Make a phase of each call of a function, from its entry to its return. LIBRARY is the path" \
	  " of a file, or its name, whose end may be left out (libfoo). With usdt:, a static probe" \
	  " (USDT) marks an instant, and two probes of one provider mark the beginning and the end" \
	  " of a phase. With py:, it is a Python function (step, Trainer.step, train.py:step), which" \
	  " is seen only at its CUDA calls, by their call stacks (docs/markers.md). This option can" \
	  " be given several times.", \
	  capture_options_marker, at }

#define CAPTURE_OPTIONS_DURATION_ROW(at) \
	{ 'd', "duration", "TIME", "Stop after this time: 90, 90s or 1m30s.", option_duration, \
	  CAPTURE_OPTIONS_AT(at, duration_ns) }

#define CAPTURE_OPTIONS_BUFFER_ROW(at, by_default) \
	{ 0, "buffer", "SIZE", \
	  "Size of each of the two ring buffers (default " by_default "). Events that do not fit are" \
	  " lost, and counted.", \
	  option_buffer, CAPTURE_OPTIONS_AT(at, buffer_bytes) }

#define CAPTURE_OPTIONS_MAX_LOSS_ROW(at) \
	{ 0, "max-loss", "N", \
	  "Exit with 6 if more than N events and other records were lost. Default: only print a" \
	  " warning.", \
	  option_events, CAPTURE_OPTIONS_AT(at, max_loss) }

/* As trace's, in short. */
#define CAPTURE_OPTIONS_PROBE_ROWS(at, verbed) \
	{ 0, "attach", "auto|process", \
	  "Put probes into files if that is needed to see the first calls of new processes (auto," \
	  " default), or only into " verbed " processes (process): see memscope-bpf-trace(1).", \
	  selection_parse_attach, CAPTURE_OPTIONS_AT(at, selection) }, \
	{ 0, "layer", "auto|both|runtime|driver", \
	  "Probe only the CUDA driver, only the CUDA runtime, or both. auto (default) probes calls in" \
	  " both only if that adds information: see memscope-bpf-trace(1).", \
	  selection_parse_layer, CAPTURE_OPTIONS_AT(at, selection) }

#define CAPTURE_OPTIONS_WITHOUT_ROW(at) \
	{ 0, "without", "FEATURE[,FEATURE...]", \
	  "Act as if the kernel lacked these features (`memscope-bpf check` lists them).", \
	  option_without, CAPTURE_OPTIONS_AT(at, features) }
/* clang-format on */

/* Everything but the callbacks, and `count_launches`. */
struct live_options capture_options_live(struct capture_options *capture, bool entries_only);

/*
 * If no call could be seen, says why: else what was captured looks like any other result; and which
 * of the user's markers was in no process. Returns 0, or -EACCES if it is because a process's CUDA
 * library could not be opened.
 */
int capture_options_tell_blindness(const struct capture_options *capture, struct live *live,
				   const struct losses *losses);

/*
 * What to exit with after the capture has ended with `err`: the command's code (-1: there was none)
 * if all went well. Says what was lost.
 */
int capture_options_exit_code(const struct capture_options *capture, int err,
			      const struct losses *losses, int command_code);

#endif /* MEMSCOPE_COMMANDS_CAPTURE_OPTIONS_H */
