/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks at a process as tracing would, without attaching anything: which libraries, which
 * functions, and what would be invisible.
 */
#ifndef MEMSCOPE_COMMANDS_INSPECTION_H
#define MEMSCOPE_COMMANDS_INSPECTION_H

#include <sys/types.h>

#include "capture/attach/features.h"
#include "capture/attach/library.h"
#include "host/proc.h"
#include "render/check.h"

struct inspection {
	struct check_process process; /* the result */

	struct proc_info info;
	struct library_cache cache;
	char program[4096]; /* path of the executable */
	bool program_stripped;
	bool mapped[MS_LAYERS_COUNT]; /* by layer: some of its functions are in a mapped file */
	bool load_prediction_driver;
	bool has_libc;  /* with ioctl() */
	bool has_media; /* encoders, decoders or graphics of NVIDIA's */
};

/* Fills a zeroed inspection. Returns 0 or -errno, logged: -ESRCH if there is no such process. */
int inspection_run(struct inspection *inspection, pid_t pid, struct features *features);
void inspection_fini(struct inspection *inspection);

#endif /* MEMSCOPE_COMMANDS_INSPECTION_H */
