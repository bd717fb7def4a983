// SPDX-License-Identifier: BSD-2-Clause
#include "capture/targets/mappings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "base/clock.h"

/*
 * Of a ring: powers of two. 512 KiB are what perf_event_mlock_kb lets each user have for every CPU;
 * many CPUs share the work.
 */
#define DATA_MOST_BYTES (512u << 10)
#define DATA_LEAST_BYTES (32u << 10)
#define DATA_ALL_BYTES (8u << 20)
#define RECORD_BYTES 8192 /* a path and what goes with it; longer ones are impossible */
#define WAITING_BYTES (8u << 20)

struct cpu_ring {
	int fd;
	size_t data_bytes;
	struct perf_event_mmap_page *page; /* the data follows one page later */
};

#define NAMED 4096              /* processes whose names are kept: a power of two */
#define NAMED_NS 60000000000ull /* after that, another process may have the pid */

/* The names that a process was given last: an exec that is read of later may be the newer one's. */
struct named {
	pid_t pid;
	struct {
		uint64_t since_ns;
		char comm[MS_COMM_BYTES];
	} names[2]; /* the newer one first */
};

/* A record that has been read. */
struct notice {
	struct notice *next;
	struct proc_mapping mapping;
	uint64_t mapped_ns;
	pid_t pid;
	bool noted;
	char path[];
};

struct mappings {
	struct cpu_ring *rings;
	size_t count, cpus;
	size_t page_bytes;
	/* Attaching takes milliseconds, in which more is mapped than a ring holds. */
	struct notice *first, **last;
	size_t waiting_bytes;
	struct named named[NAMED];
	char record[RECORD_BYTES]; /* one that wraps around, put together */
};

static int map_ring(const struct mappings *mappings, struct cpu_ring *ring)
{
	size_t bytes = DATA_MOST_BYTES;

	while (bytes > DATA_LEAST_BYTES && bytes * mappings->cpus > DATA_ALL_BYTES)
		bytes /= 2;
	for (; bytes >= DATA_LEAST_BYTES; bytes /= 2) {
		ring->data_bytes = bytes;
		ring->page = mmap(NULL, mappings->page_bytes + bytes, PROT_READ | PROT_WRITE,
				  MAP_SHARED, ring->fd, 0);
		if (ring->page != MAP_FAILED)
			return 0;
	}
	return -errno;
}

static int open_cpu(struct mappings *mappings, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.sample_id_all = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1,
		.exclude_kernel = 1,
	};
	struct cpu_ring *ring = &mappings->rings[mappings->count];
	int err;

	ring->fd = syscall(__NR_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return errno == ENODEV ? 0 : -errno; /* that CPU is offline */
	err = map_ring(mappings, ring);
	if (err)
		close(ring->fd);
	else
		mappings->count++;
	return err;
}

int mappings_open(struct mappings **result)
{
	struct mappings *mappings = calloc(1, sizeof(*mappings));
	size_t cpu;
	int err = 0;

	if (!mappings)
		return -ENOMEM;
	mappings->last = &mappings->first;
	mappings->page_bytes = sysconf(_SC_PAGESIZE);
	mappings->cpus = sysconf(_SC_NPROCESSORS_CONF);
	mappings->rings = calloc(mappings->cpus, sizeof(*mappings->rings));
	if (!mappings->rings)
		err = -ENOMEM;
	for (cpu = 0; !err && cpu < mappings->cpus; cpu++)
		err = open_cpu(mappings, cpu);
	if (err) {
		mappings_close(mappings);
		return err;
	}
	*result = mappings;
	return 0;
}

/* The first one that waits. */
static void notice_free(struct mappings *mappings)
{
	struct notice *notice = mappings->first;

	mappings->first = notice->next;
	if (!mappings->first)
		mappings->last = &mappings->first;
	mappings->waiting_bytes -= sizeof(*notice) + strlen(notice->path) + 1;
	free(notice);
}

void mappings_close(struct mappings *mappings)
{
	size_t i;

	if (!mappings)
		return;
	while (mappings->first)
		notice_free(mappings);
	for (i = 0; i < mappings->count; i++) {
		munmap(mappings->rings[i].page,
		       mappings->page_bytes + mappings->rings[i].data_bytes);
		close(mappings->rings[i].fd);
	}
	free(mappings->rings);
	free(mappings);
}

int mappings_watch(struct mappings *mappings, struct loop *loop, loop_fn *fn, void *context)
{
	size_t i;
	int err = 0;

	for (i = 0; i < mappings->count && !err; i++)
		err = loop_add_fd(loop, mappings->rings[i].fd, EPOLLIN, fn, context, 0, NULL);
	return err;
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

/* PERF_RECORD_COMM: execution of a program, or prctl(2); `comm` ends with a byte 0. */
struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

/* What goes with a sample is at the end, which is nothing but the time. */
static uint64_t time_of(const struct perf_event_header *header)
{
	uint64_t ts_ns;

	memcpy(&ts_ns, (const char *)header + header->size - sizeof(ts_ns), sizeof(ts_ns));
	return ts_ns;
}

static void read_name(struct mappings *mappings, const struct comm_record *record)
{
	struct named *named = &mappings->named[record->pid & (NAMED - 1)];

	/* A thread's. */
	if (record->pid != record->tid)
		return;
	if (named->pid != (pid_t)record->pid)
		*named = (struct named){ .pid = (pid_t)record->pid };
	named->names[1] = named->names[0];
	named->names[0].since_ns = time_of(&record->header);
	snprintf(named->names[0].comm, sizeof(named->names[0].comm), "%s", record->comm);
}

/* What its name was at that time; "": it is not known. */
static const char *name_at(const struct mappings *mappings, pid_t pid, uint64_t ts_ns)
{
	const struct named *named = &mappings->named[(uint32_t)pid & (NAMED - 1)];
	size_t i;

	for (i = 0; named->pid == pid && i < 2; i++)
		if (named->names[i].since_ns <= ts_ns)
			return ts_ns - named->names[i].since_ns < NAMED_NS ? named->names[i].comm :
									     "";
	return "";
}

/* Returns whether there was no room for it. */
static bool notice_add(struct mappings *mappings, const struct mmap2_record *record,
		       const struct proc_mapping *mapping, bool noted)
{
	const size_t path_bytes = strlen(record->filename) + 1;
	struct notice *notice = NULL;

	if (mappings->waiting_bytes < WAITING_BYTES)
		notice = malloc(sizeof(*notice) + path_bytes);
	if (!notice)
		return true;
	*notice = (struct notice){ .mapping = *mapping, .pid = record->pid, .noted = noted };
	notice->mapped_ns = time_of(&record->header);
	memcpy(notice->path, record->filename, path_bytes);
	notice->mapping.path = notice->path;
	*mappings->last = notice;
	mappings->last = &notice->next;
	mappings->waiting_bytes += sizeof(*notice) + path_bytes;
	return false;
}

/* Returns whether there was no room for it. */
static bool read_record(struct mappings *mappings, const struct mmap2_record *record,
			const struct mappings_visitor *visitor)
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

	if (!mapping.inode || !mapping.executable)
		return false;
	return notice_add(mappings, record, &mapping,
			  visitor->note && visitor->note(record->pid, &mapping, visitor->context));
}

/* The record at `tail`, in one piece. */
static const struct perf_event_header *record_at(struct mappings *mappings, const char *data,
						 size_t size, uint64_t tail)
{
	size_t at = tail & (size - 1);
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

/*
 * The kernel says that it dropped records when there is room for another one, which may be never.
 * So a ring in which a long one would have found no room counts as having dropped one.
 */
static int read_ring(struct mappings *mappings, const struct cpu_ring *ring,
		     const struct mappings_visitor *visitor)
{
	const char *data = (const char *)ring->page + mappings->page_bytes;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int lost = head - tail > ring->data_bytes - RECORD_BYTES;

	while (tail < head) {
		const struct perf_event_header *header =
			record_at(mappings, data, ring->data_bytes, tail);

		if (!header || header->size < sizeof(*header))
			return -EPROTO;
		if (header->type == PERF_RECORD_MMAP2)
			lost += read_record(mappings, (const void *)header, visitor);
		else if (header->type == PERF_RECORD_COMM)
			read_name(mappings, (const void *)header);
		else if (header->type == PERF_RECORD_LOST)
			lost += ((const struct lost_record *)header)->lost;
		tail += header->size;
		__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	}
	return lost;
}

static int read_rings(struct mappings *mappings, const struct mappings_visitor *visitor)
{
	int lost = 0, result;
	size_t i;

	for (i = 0; i < mappings->count; i++) {
		result = read_ring(mappings, &mappings->rings[i], visitor);
		if (result < 0)
			return result;
		lost += result;
	}
	return lost;
}

static void visit_first(struct mappings *mappings, const struct mappings_visitor *visitor)
{
	const struct notice *notice = mappings->first;
	const struct mappings_moment moment = { notice->mapped_ns,
						name_at(mappings, notice->pid, notice->mapped_ns) };

	visitor->visit(notice->pid, &notice->mapping, &moment, notice->noted, visitor->context);
	notice_free(mappings);
}

int mappings_drain(struct mappings *mappings, const struct mappings_visitor *visitor,
		   uint64_t budget_ns)
{
	const uint64_t begin_ns = clock_monotonic_ns();
	int lost = 0, result;

	for (;;) {
		result = read_rings(mappings, visitor);
		if (result < 0)
			return result;
		lost += result;
		if (!mappings->first || (budget_ns && clock_monotonic_ns() - begin_ns > budget_ns))
			return lost;
		visit_first(mappings, visitor);
	}
}

bool mappings_wait(const struct mappings *mappings)
{
	return mappings->first;
}

int mappings_probe(void)
{
	struct mappings *mappings;
	int err = mappings_open(&mappings);

	if (!err)
		mappings_close(mappings);
	return err;
}
