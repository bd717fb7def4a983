/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The capabilities that tracing needs, or does better with, and which of them this process lacks.
 */
#ifndef MEMSCOPE_HOST_PRIVILEGE_H
#define MEMSCOPE_HOST_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

struct privilege {
	const char *name;    /* "CAP_BPF" */
	const char *what;    /* it is needed for */
	const char *without; /* what is lost without it */
	bool required;       /* nothing can be traced without it */
	unsigned int capability;
	unsigned int stands_in; /* another capability that includes it */
};

extern const struct privilege privileges[];
extern const size_t privileges_count;

bool privilege_held(const struct privilege *privilege);

#endif /* MEMSCOPE_HOST_PRIVILEGE_H */
