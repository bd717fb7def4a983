/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small files of /proc and /sys, below a directory that stands for "/", so that tests can use their
 * own.
 */
#ifndef MEMSCOPE_HOST_HOST_FILES_H
#define MEMSCOPE_HOST_HOST_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>
#include <sys/types.h>

#define HOST_FILES_BYTES 8192
#define HOST_FILES_PATH_BYTES 4096

/*
 * Reads at most `bytes` - 1 of ROOT/PATH and terminates them. Returns how many these are, or
 * -errno.
 */
ssize_t host_files_read(const char *root, const char *path, char *text, size_t bytes);

/*
 * Reads a file with one number. Returns false if it cannot be read or has no number, such as "max".
 */
bool host_files_number(const char *root, const char *path, __u64 *number);

/* Finds the number after `words` in the first line that begins with them. False: there is none. */
bool host_files_find(const char *text, const char *words, __u64 *number);

/*
 * Reads the total of a pressure file (PSI), in microseconds, in the line that begins with `which`,
 * "some " or "full ": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234". False: there is none.
 */
bool host_files_pressure(const char *text, const char *which, __u64 *us);

#endif /* MEMSCOPE_HOST_HOST_FILES_H */
