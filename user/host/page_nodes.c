// SPDX-License-Identifier: BSD-2-Clause
#include "host/page_nodes.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From page to page; the last one is asked for less often than others, if at all. */
static uint64_t step_of(uint64_t size_bytes)
{
	const uint64_t step = size_bytes / PAGE_NODES_PAGES;

	return step > PAGE_NODES_STEP_BYTES ? step : PAGE_NODES_STEP_BYTES;
}

int page_nodes_ask(pid_t pid, uint64_t addr, uint64_t size_bytes, struct page_nodes *nodes)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), step = step_of(size_bytes);
	const void *pages[PAGE_NODES_PAGES];
	int status[PAGE_NODES_PAGES];
	size_t count = 0, i;
	uint64_t at;

	for (at = 0; at < size_bytes && count < PAGE_NODES_PAGES; at += step)
		pages[count++] = (const void *)((addr + at) & ~(page_bytes - 1));
	if (!count)
		return 0;
	if (syscall(SYS_move_pages, pid, count, pages, NULL, status, 0))
		return -errno;
	for (i = 0; i < count; i++) {
		if (status[i] >= 0 && status[i] < PAGE_NODES_MAX)
			nodes->on[status[i]]++;
		else
			nodes->absent++;
	}
	nodes->asked += count;
	return 0;
}
