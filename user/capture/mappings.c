// SPDX-License-Identifier: BSD-2-Clause
#include "capture/mappings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define DATA_PAGES 8      /* a power of two */
#define RECORD_BYTES 8192 /* a path and what goes with it; longer ones are impossible */

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page; /* the data follows one page later */
};

struct mappings {
	struct cpu_ring *rings;
	size_t count;
	size_t page_bytes;
	char record[RECORD_BYTES]; /* one that wraps around, put together */
};

static int open_cpu(struct mappings *mappings, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1,
		.exclude_kernel = 1,
	};
	struct cpu_ring *ring = &mappings->rings[mappings->count];
	int fd = syscall(__NR_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int err;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; /* that CPU is offline */
	ring->page = mmap(NULL, (1 + DATA_PAGES) * mappings->page_bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	if (ring->page == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	ring->fd = fd;
	mappings->count++;
	return 0;
}

int mappings_open(struct mappings **result)
{
	int cpus = sysconf(_SC_NPROCESSORS_CONF), cpu, err = 0;
	struct mappings *mappings = calloc(1, sizeof(*mappings));

	if (!mappings)
		return -ENOMEM;
	mappings->page_bytes = sysconf(_SC_PAGESIZE);
	mappings->rings = calloc(cpus, sizeof(*mappings->rings));
	if (!mappings->rings)
		err = -ENOMEM;
	for (cpu = 0; !err && cpu < cpus; cpu++)
		err = open_cpu(mappings, cpu);
	if (err) {
		mappings_close(mappings);
		return err;
	}
	*result = mappings;
	return 0;
}

void mappings_close(struct mappings *mappings)
{
	size_t i;

	if (!mappings)
		return;
	for (i = 0; i < mappings->count; i++) {
		munmap(mappings->rings[i].page, (1 + DATA_PAGES) * mappings->page_bytes);
		close(mappings->rings[i].fd);
	}
	free(mappings->rings);
	free(mappings);
}

int mappings_watch(struct mappings *mappings, int epoll_fd, uint64_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };
	size_t i;

	for (i = 0; i < mappings->count; i++)
		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, mappings->rings[i].fd, &event))
			return -errno;
	return 0;
}

/* PERF_RECORD_MMAP2 without build id, include/uapi/linux/perf_event.h */
struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char filename[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

static void visit_record(const struct mmap2_record *record, mappings_visit_fn *visit, void *context)
{
	const struct proc_mapping mapping = {
		.start = record->addr,
		.end = record->addr + record->len,
		.offset = record->pgoff,
		.dev = makedev(record->maj, record->min),
		.inode = record->ino,
		.executable = record->prot & PROT_EXEC,
		.path = record->filename,
	};

	uint64_t mapped_ns;

	/* What goes with a sample is at the end, which is nothing but the time. */
	memcpy(&mapped_ns, (const char *)record + record->header.size - sizeof(mapped_ns),
	       sizeof(mapped_ns));
	if (mapping.inode && mapping.executable)
		visit(record->pid, &mapping, mapped_ns, context);
}

/* The record at `tail`, in one piece. */
static const struct perf_event_header *record_at(struct mappings *mappings, const char *data,
						 uint64_t tail)
{
	size_t size = DATA_PAGES * mappings->page_bytes, at = tail & (size - 1);
	const struct perf_event_header *header = (const void *)(data + at);
	size_t first = size - at;

	if (header->size <= first)
		return header;
	if (header->size > sizeof(mappings->record))
		return NULL;
	memcpy(mappings->record, data + at, first);
	memcpy(mappings->record + first, data, header->size - first);
	return (const void *)mappings->record;
}

static int drain_ring(struct mappings *mappings, struct cpu_ring *ring, mappings_visit_fn *visit,
		      void *context)
{
	const char *data = (const char *)ring->page + mappings->page_bytes;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int lost = 0;

	while (tail < head) {
		const struct perf_event_header *header = record_at(mappings, data, tail);

		if (!header || header->size < sizeof(*header))
			return -EPROTO;
		if (header->type == PERF_RECORD_MMAP2)
			visit_record((const void *)header, visit, context);
		else if (header->type == PERF_RECORD_LOST)
			lost += ((const struct lost_record *)header)->lost;
		tail += header->size;
		__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	}
	return lost;
}

int mappings_drain(struct mappings *mappings, mappings_visit_fn *visit, void *context)
{
	int lost = 0, result;
	size_t i;

	for (i = 0; i < mappings->count; i++) {
		result = drain_ring(mappings, &mappings->rings[i], visit, context);
		if (result < 0)
			return result;
		lost += result;
	}
	return lost;
}

int mappings_probe(void)
{
	struct mappings *mappings;
	int err = mappings_open(&mappings);

	if (!err)
		mappings_close(mappings);
	return err;
}
