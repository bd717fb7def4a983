/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel side has said of who processes are (bpf/who_abi.h), until it is asked for.
 */
#ifndef MEMSCOPE_CAPTURE_RECORDS_WHOS_H
#define MEMSCOPE_CAPTURE_RECORDS_WHOS_H

#include <sys/types.h>

#include "abi.h"
#include "host/device_view.h"
#include "host/process_facts.h"

#define WHOS 512 /* a record is asked for soon after it has come, as a rule; each has some KiB */

/* A zeroed one is empty. */
struct whos {
	struct ms_who *kept[WHOS];
	size_t next; /* to be replaced: the oldest */
};

/* Copies the record, `length` bytes, unless it is malformed; the last of a process counts. */
void whos_keep(struct whos *whos, const struct ms_who *record, size_t length);
void whos_fini(struct whos *whos);

/* NULL: nothing is known of it. */
const struct ms_who *whos_find(const struct whos *whos, pid_t pid, uint64_t start_ns);

/* What it says, as process_facts_read() does. */
void who_facts(const struct ms_who *who, const struct process_facts_wish *wish,
	       struct process_facts *facts);

/*
 * Which devices it sees, if its whole environment is known and its root directory is that of this
 * program. Returns 0 or -ENOENT.
 */
int who_view(const struct ms_who *who, struct device_view *view);

#endif /* MEMSCOPE_CAPTURE_RECORDS_WHOS_H */
