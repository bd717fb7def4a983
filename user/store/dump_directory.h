/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dumps in a directory: the segments of a flight recorder, or what was collected of a fleet.
 */
#ifndef MEMSCOPE_STORE_DUMP_DIRECTORY_H
#define MEMSCOPE_STORE_DUMP_DIRECTORY_H

/*
 * Calls `take` with the path of each file whose name ends in .mscope, in the order of the names (by
 * bytes; of numbers, by their values), until it returns an error. If its directory `ring` has any,
 * as in an agent's state directory, it is these alone; that there are others is logged. One that is
 * gone by then (-ENOENT) is passed over: a flight recorder takes its oldest away. Returns how many
 * files there are (that there are none is logged), that error, or -errno, logged but for -ENOTDIR:
 * it is no directory.
 */
int dump_directory_each(const char *path, int (*take)(void *context, const char *path),
			void *context);

#endif /* MEMSCOPE_STORE_DUMP_DIRECTORY_H */
