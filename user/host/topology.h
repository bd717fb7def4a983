/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where memory and GPUs are in the machine, from /sys: NUMA nodes, and the links of GPUs. `root`
 * stands for "/". The caller fills in the headers of the
 * records.
 */
#ifndef MEMSCOPE_HOST_TOPOLOGY_H
#define MEMSCOPE_HOST_TOPOLOGY_H

#include <stddef.h>

#include "abi.h"

#define TOPOLOGY_NODES 64 /* further ones are left out */
#define TOPOLOGY_GPUS 64

/* Finds the nodes that have memory, by number. Returns how many there are; 0: unknown. */
size_t topology_nodes(const char *root, struct ms_node nodes[TOPOLOGY_NODES]);

/* Finds NVIDIA's GPUs, by address. Returns how many there are. */
size_t topology_gpus(const char *root, struct ms_gpu gpus[TOPOLOGY_GPUS]);

#endif /* MEMSCOPE_HOST_TOPOLOGY_H */
