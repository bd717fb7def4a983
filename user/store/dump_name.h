/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of dumps.
 */
#ifndef MEMSCOPE_STORE_DUMP_NAME_H
#define MEMSCOPE_STORE_DUMP_NAME_H

#include <stdint.h>
#include <sys/types.h>

#include "base/string.h"

struct dump_name {
	const char *host;
	pid_t pid;
	uint64_t realtime_ns; /* when the recording began */
};

/*
 * Appends the template with %h, %p, %t (UTC, 20261121T155500) and %% replaced, and a byte 0. What
 * the host is called ends up in one name: '/' becomes '_'. Returns 0, or -EINVAL for another letter
 * behind a '%'.
 */
int dump_name_expand(struct string *out, const char *template, const struct dump_name *name);

/* Appends the path with ".suffix" before its extension, and a byte 0: "a/run.oom-1.mscope". */
void dump_name_with(struct string *out, const char *path, const char *suffix);

#endif /* MEMSCOPE_STORE_DUMP_NAME_H */
