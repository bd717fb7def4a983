/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that are not made by the BPF programs, but stand in the stream like theirs.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_RECORDS_H
#define MEMSCOPE_CAPTURE_RECORDS_RECORDS_H

#include "abi.h"
#include "capture/records/whos.h"
#include "capture/targets/target.h"

/* With which a process enters the stream. */
struct ms_process record_attach(const struct target *target);

/*
 * Which devices it sees, as of its program: what its environment says now, or if it has ended, what
 * the kernel side has said of it. It comes after that record, which is of the process.
 */
struct ms_visible record_visible(const struct whos *whos, const struct ms_event *after);

/* Whether that could not be found out. */
bool record_visible_is_unknown(const struct ms_visible *record);

/* Of the objects of the driver's kernel part: MS_OBJECT_MISSED, or MS_OBJECT_CLOSED. */
struct ms_object record_objects(const struct target *target, enum ms_object_action action,
				uint64_t ts_ns);

/* That a library of the process, target->unread, cannot be opened. */
struct ms_unread record_unread(const struct target *target);

/* What the library, mapped by the process, has that is not known. */
struct ms_newer record_newer(const struct target *target, const struct library_new *new);

/* For an exit with this status, as wait(2) gives it, that has just been noticed. */
struct ms_process record_exit(const struct target *target, int status);

struct record_name {
	struct ms_name name;
	char bytes[MS_NAME_MAX];
};

/*
 * The name, whole: what BPF could not read, because its page was not in memory, or not to its end
 * is read from here, unless the program has put something else in its place since. Returns `name`,
 * or `&whole->name`; its event.size is its length.
 */
const struct ms_name *record_name(const struct ms_name *name, struct record_name *whole);

#endif /* MEMSCOPE_CAPTURE_RECORDS_RECORDS_H */
