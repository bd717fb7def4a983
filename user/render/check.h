/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The result of `memscope-bpf check`, for people and as JSON (schema memscope-bpf/check/1).
 */
#ifndef MEMSCOPE_RENDER_CHECK_H
#define MEMSCOPE_RENDER_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/string.h"
#include "event/probe.h"
#include "elf/prologue.h"

#define CHECK_SCHEMA "memscope-bpf/check/1"

/* A privilege or a feature of the kernel. */
struct check_item {
	const char *name;
	const char *what;
	const char *without; /* what is lost if it is missing */
	bool required;
	int err;      /* 0: there; -errno: why it is not */
	bool untried; /* it takes a privilege that is missing */
};

/* A function of the probe table in a library. */
struct check_function {
	bool found;
	/* The process has changed its code up to that point: it would not be probed there. */
	bool result_changed, entry_changed;
	uint64_t file_offset;
	struct prologue prologue;
};

struct check_library {
	const char *path;
	bool mapped; /* else: expected to be */
	/* Functions that it exports and that are not known; the names of the first. */
	size_t new_count, new_memory, new_named;
	const char *const *new_names;
	bool go;                         /* made by the Go toolchain, as the functions may be */
	bool functions[MS_LAYERS_COUNT]; /* whether it defines any of that layer */
	struct check_function *rows;     /* by row of the probe table */
	size_t found[MS_LAYERS_COUNT];
};

#define CHECK_DESCENDANTS 64

struct check_process {
	uint32_t pid;
	const char *comm;
	/* Those that use CUDA, and that tracing it alone leaves out: the first of so many. */
	size_t descendants_count;
	pid_t descendants[CHECK_DESCENDANTS];
	bool go;      /* its program was made by the Go toolchain */
	char *unread; /* a CUDA library that is mapped and cannot be opened; NULL: there is none */
	int unread_error;
	struct check_library *libraries;
	size_t libraries_count, libraries_capacity;
	const char **notes; /* what would be invisible, in plain words */
	size_t notes_count, notes_capacity;
};

struct check {
	struct check_item *privileges, *features;
	size_t privileges_count, features_count;
	const char *kernel;
	const char *strategy;                /* NULL: none works */
	const struct check_process *process; /* NULL: none was asked about, or see below */
	uint32_t failed_pid;                 /* it was asked about, and cannot be looked into */
	bool able;                           /* tracing works */
};

/* What is wrong with an item that is not there. */
const char *check_problem(const struct check_item *item);

/* `verbose`: with each function of the process's libraries, where its probe goes, at what cost. */
void check_append_text(struct string *out, const struct check *check, bool verbose);
void check_append_json(struct string *out, const struct check *check);

#endif /* MEMSCOPE_RENDER_CHECK_H */
