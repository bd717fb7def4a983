/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this process takes at the moment, as /proc says; 0 if it does not.
 */
#ifndef MEMSCOPE_AGENT_SELF_H
#define MEMSCOPE_AGENT_SELF_H

#include <stdint.h>

uint64_t self_resident_bytes(void);

/* Open descriptors. */
uint64_t self_descriptors(void);

#endif /* MEMSCOPE_AGENT_SELF_H */
