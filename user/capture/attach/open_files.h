/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files of NVIDIA's driver are open, in any process of the machine.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_OPEN_FILES_H
#define MEMSCOPE_CAPTURE_ATTACH_OPEN_FILES_H

#include "base/map.h"
#include "capture/attach/programs.h"

/*
 * Adds them to `files`, by the numbers that struct ms_object has, with the process that was seen
 * last to have them. Returns 0 or -errno: it cannot be known.
 */
int open_files_read(const struct programs *programs, struct map *files);

#endif /* MEMSCOPE_CAPTURE_ATTACH_OPEN_FILES_H */
