/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's log (/dev/kmsg), for the errors of devices that NVIDIA's driver reports there: lines
 * "NVRM: Xid (PCI:0000:65:00): 79, pid=1234, name=python3, GPU has fallen off the bus."
 */
#ifndef MEMSCOPE_HOST_KERNEL_LOG_H
#define MEMSCOPE_HOST_KERNEL_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"

/*
 * From now on. Returns a descriptor that does not block and becomes readable with each line, the
 * caller's to close, or -errno: -EPERM or -EACCES without CAP_SYSLOG where the kernel asks for it,
 * -ENOENT in most containers.
 */
int kernel_log_open(void);

/*
 * Takes the next line that is such an error; the header is the caller's to fill in. Returns false
 * if there is none yet. Lines that the kernel has overwritten meanwhile are skipped.
 */
bool kernel_log_next(int fd, struct ms_xid *xid);

/* Whether a record of /dev/kmsg ("priority,number,time,flags;text") is such an error. */
bool kernel_log_parse(const char *record, size_t length, struct ms_xid *xid);

#endif /* MEMSCOPE_HOST_KERNEL_LOG_H */
