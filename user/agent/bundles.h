/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits the number of bundles of the agent, also of earlier runs.
 */
#ifndef MEMSCOPE_AGENT_BUNDLES_H
#define MEMSCOPE_AGENT_BUNDLES_H

#include <stddef.h>

#define BUNDLES_KEPT 8

/*
 * Removes files "*.oom-N.mscope" (also signal, limit) of the directory beyond BUNDLES_KEPT: first,
 * the oldest of those that another one for memory that ran out followed within minutes, then of the
 * others of that kind, but three; then of those that were asked for. Returns how many were removed.
 */
size_t bundles_prune(const char *directory);

#endif /* MEMSCOPE_AGENT_BUNDLES_H */
