/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits the number of bundles of the agent, also of earlier runs.
 */
#ifndef MEMSCOPE_AGENT_BUNDLES_H
#define MEMSCOPE_AGENT_BUNDLES_H

#include <stddef.h>

#define BUNDLES_KEPT 8

/*
 * Removes the oldest of the directory's files "*.oom-N.mscope" (also signal, limit) beyond
 * BUNDLES_KEPT. Returns how
 * many were removed.
 */
size_t bundles_prune(const char *directory);

#endif /* MEMSCOPE_AGENT_BUNDLES_H */
