/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * By which files of NVIDIA's driver processes made clients or ranges, and which of them are closed.
 * What is asked of the machine for that is up to the caller: live_driver_files.c.
 */
#ifndef MEMSCOPE_CAPTURE_FILE_MAKERS_H
#define MEMSCOPE_CAPTURE_FILE_MAKERS_H

#include <sys/types.h>

#include "base/map.h"

#define FILE_MAKERS_MOST 65536      /* files of all processes together */
#define FILE_MAKERS_OF_PROCESS 4096 /* of one, so that it leaves some to others */

/* Zeroed, it is ready. */
struct file_makers {
	/*
	 * File -> the last look before that, and the process. Of /dev/nvidia-uvm: process and file,
	 * for each process that made ranges by it.
	 */
	struct map by_file;
	struct map shares; /* process -> how many of these files it has; never 0 */
	uint32_t look;     /* counts; to be increased before it is looked which are open */
};

void file_makers_fini(struct file_makers *makers);

/*
 * The process has made something by the file; `uvm`: it is one of /dev/nvidia-uvm. Returns false if
 * the file finds no place: then it is not known when it is closed.
 */
bool file_makers_note(struct file_makers *makers, uint32_t file, pid_t pid, bool uvm);

/* Whether one of the files is the process'. */
bool file_makers_has(const struct file_makers *makers, pid_t pid);

/* Whether there is one that is not open: a key of `open`. */
bool file_makers_any_closed(const struct file_makers *makers, const struct map *open);

struct file_makers_visitor {
	bool (*is_traced)(pid_t pid, void *context);
	/* Whether such files are mapped, which stay open then: once for each process and kind. */
	bool (*maps)(pid_t pid, bool uvm, void *context);
	int (*closed)(pid_t pid, uint32_t file, void *context);
	void *context;
};

/*
 * Forgets those that are not open, but for those by which something was made since the look began;
 * `closed` is called for each, if the process is traced still; of /dev/nvidia-uvm for each process
 * that made ranges by it. `open` has as values the processes that have them: one of these takes the
 * place of a process that is not traced any more, unless all that it made were ranges. Returns what
 * `closed` did, which ends it if that is not 0.
 */
int file_makers_end_closed(struct file_makers *makers, const struct map *open,
			   const struct file_makers_visitor *visitor);

#endif /* MEMSCOPE_CAPTURE_FILE_MAKERS_H */
