/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What people call containers and their pods, from who knows it best: the user's file, then
 * kubelet. What a program has been told in its environment comes after both, and is not asked
 * here: who starts it can claim anything.
 */
#ifndef MEMSCOPE_HOST_NAME_SOURCES_H
#define MEMSCOPE_HOST_NAME_SOURCES_H

#include "host/container_map.h"
#include "host/pod_logs.h"

/* A zeroed one knows no name. */
struct name_sources {
	struct container_map map;
	struct pod_logs logs;
};

/* NULL: none is known. The names live until the next call. */
const struct container_names *name_sources_find(struct name_sources *sources,
						const struct container *container);

void name_sources_close(struct name_sources *sources);

#endif /* MEMSCOPE_HOST_NAME_SOURCES_H */
