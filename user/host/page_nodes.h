/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * On which NUMA nodes some memory of a process lies. It asks the kernel about at most
 * PAGE_NODES_PAGES pages, evenly spread. The kernel moves no page for that, and brings none into
 * memory.
 *
 * Source: move_pages(2), which only queries if its list of nodes is NULL.
 */
#ifndef MEMSCOPE_HOST_PAGE_NODES_H
#define MEMSCOPE_HOST_PAGE_NODES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE_NODES_MAX 64
#define PAGE_NODES_PAGES 256              /* of a block */
#define PAGE_NODES_STEP_BYTES (64u << 10) /* pages are at least so far apart */

struct page_nodes {
	uint64_t asked; /* pages */
	uint64_t on[PAGE_NODES_MAX];
	uint64_t absent; /* not in memory, or on an unknown node */
};

/*
 * Adds the pages of a block. Returns 0 or -errno: -EPERM if the caller may not look into the
 * process (CAP_SYS_PTRACE), -ESRCH if there is no such process.
 */
int page_nodes_ask(pid_t pid, uint64_t addr, uint64_t size_bytes, struct page_nodes *nodes);

#endif /* MEMSCOPE_HOST_PAGE_NODES_H */
