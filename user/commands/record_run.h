/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording: a live capture into a recorder, and what it says of itself in the dump.
 *
 * What it says of itself in the beginning is in commands/recording_description.h; and in the end:
 *   reason                    targets-gone, duration, signal or error; of a bundle, after which the
 *                             recording goes on: oom, or asked-for (by a signal)
 *   end_ns                    CLOCK_MONOTONIC
 *   seen, lost                calls
 *   lost_records              others: names, lives of processes, beginnings of frees
 *   unwritten_blocks, unwritten_records
 *   cpu_ns                    that the tool took
 */
#ifndef MEMSCOPE_COMMANDS_RECORD_RUN_H
#define MEMSCOPE_COMMANDS_RECORD_RUN_H

#include "commands/capture_options.h"

enum recording_detail {
	RECORDING_UNSAID,
	RECORDING_SUMMARY,
	RECORDING_ALL,
	RECORDING_OFF,
};

struct record_run_settings {
	struct capture_options capture;
	const char *output;          /* a template, store/dump_name.h; NULL: standard output */
	const char *output_if_taken; /* the same, if a file has that name already; NULL: fail */
	uint64_t segment_bytes;
	uint64_t ring_bytes; /* 0: none */
	uint32_t triggers;   /* bit set of enum trigger_kind */
	uint32_t bundles_an_hour;
	uint64_t nvml_ns; /* how often NVML is asked; 0: not at all */
	uint64_t host_ns; /* how often the host is looked at; 0: not at all */
	int signal;       /* that pulls TRIGGER_SIGNAL; 0: none */
	enum recording_detail launches, copies;
	bool tensors;           /* what the allocators of frameworks say of themselves, too */
	bool tensor_chance;     /* stacks of small blocks of these are taken by chance */
	uint32_t launch_one_in; /* stacks of one counted launch in so many are taken; 0: of none */
};

/* Records until the end. Returns the exit code; all errors have been logged. */
int record_run_run(struct record_run_settings *settings);

#endif /* MEMSCOPE_COMMANDS_RECORD_RUN_H */
