/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of kernels in processes that ran before they were traced. A handle's name is learnt when a
 * program asks for the handle; what was asked for before is in the program's memory, where
 * symbols/launch_stubs.h says. Files are read by and by, a piece at each call of
 * kernel_names_work(), and memory when a handle is launched that has no name, or now and then.
 * Nothing of it is trusted: a program can only give its own kernels wrong names.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_KERNEL_NAMES_H
#define MEMSCOPE_CAPTURE_RECORDS_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"

struct kernel_names;

/* Takes a NAME record. What it returns other than 0 is handed on. */
typedef int (*kernel_names_feed)(void *context, void *record, size_t length);

/* NULL without memory. `map_files`: as for file_open_mapping(). */
struct kernel_names *kernel_names_new(bool map_files, kernel_names_feed feed, void *context);
void kernel_names_free(struct kernel_names *names); /* may be NULL, as everywhere below */

/* A process that ran before. Without memory its kernels stay without names. */
void kernel_names_add(struct kernel_names *names, pid_t pid, uint64_t start_ns);
/* It has ended, or executed a program. */
void kernel_names_remove(struct kernel_names *names, pid_t pid);

/* A name that a call has said. */
void kernel_names_said(struct kernel_names *names, const struct ms_name *name);

/*
 * A launch, before it is fed itself: feeds the kernel's name, if none is known and there is one.
 * Returns 0 or what the feed did.
 */
int kernel_names_launched(struct kernel_names *names, const struct ms_call *call);

/* Goes on reading, if there is something to read: some ten milliseconds. Returns the same. */
int kernel_names_work(struct kernel_names *names, uint64_t now_ns);

#endif /* MEMSCOPE_CAPTURE_RECORDS_KERNEL_NAMES_H */
