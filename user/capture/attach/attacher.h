/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates links without the danger of being killed half-way (capture/attach/helper.h).
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_ATTACHER_H
#define MEMSCOPE_CAPTURE_ATTACH_ATTACHER_H

#include "capture/attach/link.h"

struct attacher;

/* It knows the programs that are loaded by now. Returns NULL, logged, if there can be none. */
struct attacher *attacher_open(void);
void attacher_close(struct attacher *attacher);

/*
 * As link_create_multi() with the `attach_type` that the program was loaded with, or, with 0, as
 * link_create_single(). `attacher` may be NULL: then it is done here.
 */
int attacher_create(struct attacher *attacher, int program_fd, uint32_t attach_type,
		    const struct link_site *site, bool on_return);

/* Returns when it holds no link any more. */
void attacher_wait(struct attacher *attacher);

uint64_t attacher_cpu_ns(const struct attacher *attacher);

#endif /* MEMSCOPE_CAPTURE_ATTACH_ATTACHER_H */
