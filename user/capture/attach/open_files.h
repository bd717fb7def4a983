/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files of NVIDIA's driver are open, in any process of the machine. The BPF program that
 * visits them is loaded when that is asked for the first time.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_OPEN_FILES_H
#define MEMSCOPE_CAPTURE_ATTACH_OPEN_FILES_H

#include "base/map.h"
#include "capture/attach/programs.h"

struct open_files_bpf;

/* Zeroed, it is ready. */
struct open_files {
	struct open_files_bpf *skeleton; /* NULL: not loaded */
};

/* Before each time. Returns 0 or -errno: it cannot be known now. */
int open_files_load(struct open_files *open, const struct programs *programs);

/*
 * Adds them to `files`, by the numbers that struct ms_object has, with the process that was seen
 * last to have them. Returns 0 or -errno, as above.
 */
int open_files_read(const struct open_files *open, struct map *files);

void open_files_fini(struct open_files *open);

/* Whether the kernel can do it: 0 or -errno. */
int open_files_try(void);

#endif /* MEMSCOPE_CAPTURE_ATTACH_OPEN_FILES_H */
