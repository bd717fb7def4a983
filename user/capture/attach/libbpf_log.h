/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libbpf says goes to the log, as messages for -v: the caller says in its own words what an
 * error means.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_LIBBPF_LOG_H
#define MEMSCOPE_CAPTURE_ATTACH_LIBBPF_LOG_H

/* Before the first call of libbpf that can fail; it may be called again. */
void libbpf_log_init(void);

#endif /* MEMSCOPE_CAPTURE_ATTACH_LIBBPF_LOG_H */
