/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the kernel has what it is asked of processes (bpf/who_abi.h).
 */
#ifndef MEMSCOPE_CAPTURE_ATTACH_WHO_LAYOUT_H
#define MEMSCOPE_CAPTURE_ATTACH_WHO_LAYOUT_H

#include "abi.h"
#include "elf/btf.h"

/* What is not found there is not known to the kernel side. */
struct ms_who_layout who_layout_of(const struct btf_types *types);

/* The same from the running kernel's types, for programs that are running, unless it is there. */
void who_layout_learn(struct ms_who_layout *shared);

#endif /* MEMSCOPE_CAPTURE_ATTACH_WHO_LAYOUT_H */
