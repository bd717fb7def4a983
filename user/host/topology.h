/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where memory and GPUs are in the machine: NUMA nodes, and what a GPU is plugged into, as /sys
 * says.
 * `root` stands for "/". The headers of the records are the caller's.
 */
#ifndef MEMSCOPE_HOST_TOPOLOGY_H
#define MEMSCOPE_HOST_TOPOLOGY_H

#include <stddef.h>

#include "abi.h"

#define TOPOLOGY_NODES 64 /* more are not told of */
#define TOPOLOGY_GPUS 64

/* The nodes that have memory, by number. Returns how many; 0: the kernel does not say. */
size_t topology_nodes(const char *root, struct ms_node nodes[TOPOLOGY_NODES]);

/* NVIDIA's GPUs, by address. Returns how many. */
size_t topology_gpus(const char *root, struct ms_gpu gpus[TOPOLOGY_GPUS]);

#endif /* MEMSCOPE_HOST_TOPOLOGY_H */
