/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording or a directory of recordings that cannot be opened: what to do about it.
 */
#ifndef MEMSCOPE_STORE_OPEN_FAILURE_H
#define MEMSCOPE_STORE_OPEN_FAILURE_H

/* Logs it. `err`: a negative errno; `name`: what messages call the file at `path`. */
void open_failure_say(const char *name, const char *path, int err);

#endif /* MEMSCOPE_STORE_OPEN_FAILURE_H */
