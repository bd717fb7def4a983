/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table behind cuGetProcAddress: one row per exported name, generated from proc_versions.txt
 * by gen-exports.
 */
#ifndef SIMCUDA_PROC_H
#define SIMCUDA_PROC_H

#include <stdbool.h>

struct proc {
	const char *base;
	int version; /* the first CUDA version whose callers mean this variant */
	bool per_thread;
	void (*address)(void);
};

#define PROC(base, version, per_thread, name) { #base, version, per_thread, (void (*)(void))name },

extern const struct proc proc_table[];
extern const unsigned int proc_count;

#endif
