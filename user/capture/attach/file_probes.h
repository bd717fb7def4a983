/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes in files: in every process that has mapped the file, or maps it later, so that the first
 * call of a new process is seen. Which processes' calls are recorded, the kernel side looks up
 * (bpf/admit.bpf.h); other processes pay for a trap. What is probed is the inode, so this is for
 * files alone where that is the file that the process has mapped, that nobody writes to, and that
 * no process has changed in its memory: docs/attaching.md. All others are probed in each process.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_FILE_PROBES_H
#define MEMSCOPE_CAPTURE_ATTACH_FILE_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/attach/attachment.h"

/* Sent when a probed file is about to be written to. Must be blocked before the first is probed. */
#define FILE_PROBES_SIGNAL SIGIO

struct file_probes;

/* Returns NULL if there is no memory. */
struct file_probes *file_probes_open(struct programs *programs, struct detacher *detacher);
/* Detaches from all files, without waiting for it to be done. `probes` may be NULL. */
void file_probes_close(struct file_probes *probes);

/*
 * The attachment to the library in all processes, made now if it is asked for the first time. It
 * stays valid until file_probes_close(). `fd` is the library's file. NULL: it is to be attached to
 * in each process alone, as where there are no such probes (`probes` is NULL).
 */
const struct attachment *file_probes_of(struct file_probes *probes, const struct library *library,
					int fd);

/*
 * In between, files that get their probes record nothing, and all do so from the release on: a call
 * of a runtime whose probes are not there yet would be seen as those of the driver within it. These
 * calls can be within each other. `probes` may be NULL.
 */
void file_probes_hold(struct file_probes *probes);
void file_probes_release(struct file_probes *probes);

/* The same if it has been made, and not given up since. */
const struct attachment *file_probes_find(const struct file_probes *probes,
					  const struct library *library);

/* The one of the file with that number in cookies, or NULL. */
const struct attachment *file_probes_at(const struct file_probes *probes, uint32_t number);

/* Whether any of them is to functions of the driver, as far as these are wanted. */
bool file_probes_has_driver(const struct file_probes *probes);

/*
 * From now on a file's probes are to be replaced by those of each process: returns its library;
 * NULL: there is none (any more). Until file_probes_give_up() they go on recording.
 */
const struct library *file_probes_replace(struct file_probes *probes);

/*
 * Removes the probes of bulk calls from all files or attaches them again, as programs_wants_bulk()
 * says; those of a file that a process has changed by now, which `changed_by` returns (else 0),
 * stay removed, which is logged. Returns 0 or -errno, logged.
 */
int file_probes_set_bulk(struct file_probes *probes,
			 pid_t (*changed_by)(const struct attachment *attachment, void *context),
			 void *context);

/*
 * For attachment_site: the number of the file whose probes those of one process replace, so that
 * these record from the moment on at which the file's cease to; 0: there is none.
 */
uint32_t file_probes_before(const struct file_probes *probes, const struct library *library);

/*
 * Gives up the probes of a file that have been replaced or, after the signal, that is about to be
 * written to, and returns its library; NULL: there is none (any more). Who writes waits until the
 * probes are gone: file_probes_look().
 */
const struct library *file_probes_give_up(struct file_probes *probes);

/* To be called now and then: lets those go on that wait. */
void file_probes_look(struct file_probes *probes);

#endif /* MEMSCOPE_CAPTURE_ATTACH_FILE_PROBES_H */
