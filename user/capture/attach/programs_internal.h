/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs.c (what is loaded) and attachment.c (what is attached) share.
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_PROGRAMS_INTERNAL_H
#define MEMSCOPE_CAPTURE_ATTACH_PROGRAMS_INTERNAL_H

#include <stdbool.h>

#include "capture/attach/attacher.h"
#include "capture/records/sources.h"
#include "capture/attach/placement.h"
#include "capture/attach/programs.h"

struct memscope_bpf; /* memscope.skel.h */

struct programs {
	struct memscope_bpf *skeleton;
	struct attacher *attacher;
	enum strategy strategy;
	struct placement_wants wants;
	struct sources sources;
};

/* That its programs are loaded with, and its links are created with; 0: not on multi links. */
uint32_t strategy_attach_type(enum strategy strategy);

/*
 * Whether programs could not be loaded or attached for want of resources or of a permission. All
 * else is what a verifier, or libbpf in its place, answers if a kernel cannot take them: EACCES,
 * EINVAL, E2BIG, ESRCH, ...
 */
bool programs_is_for_want(int err);

#endif /* MEMSCOPE_CAPTURE_ATTACH_PROGRAMS_INTERNAL_H */
