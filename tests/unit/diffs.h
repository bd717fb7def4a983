/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two recordings, made of records, and what is different between them.
 */
#ifndef MEMSCOPE_TESTS_DIFFS_H
#define MEMSCOPE_TESTS_DIFFS_H

#include "report/diff.h"
#include "report_dump.h"

#define BEGIN 1000000000ull
#define MIB (1ull << 20)

struct side {
	struct report_dump dump;
	struct report_reader reader;
	uint64_t now_ns, next; /* next: an address that is not in use */
};

struct diffs {
	struct side a, b;
	struct diff_options options;
	struct diff *diff;
};

static inline void side_begin(struct side *side, uint64_t recording, const char *host)
{
	*side = (struct side){ .reader = report_dump_reader(),
			       .now_ns = BEGIN,
			       .next = 0x700000000000 };
	report_dump_init(&side->dump, recording, host);
}

/* After the dump's description has been changed, if that is wanted. */
static inline void side_segment(struct side *side)
{
	report_dump_segment(&side->dump, side->now_ns);
}

/* `ops`: what was recorded. */
static inline void diffs_begin_as(struct diffs *diffs, const char *ops)
{
	*diffs = (struct diffs){ .options = diff_defaults() };
	side_begin(&diffs->a, 7, "host-a");
	side_begin(&diffs->b, 8, "host-b");
	diffs->a.dump.ops = diffs->b.dump.ops = ops;
	side_segment(&diffs->a);
	side_segment(&diffs->b);
}

static inline void diffs_begin(struct diffs *diffs)
{
	diffs_begin_as(diffs, REPORT_DUMP_OPS);
}

/* A millisecond after the one before. */
static inline void add(struct side *side, union record record)
{
	side->now_ns += 1000000;
	report_dump_add(&side->dump, record_at(side->now_ns, record));
}

/* A process from its beginning. */
static inline void add_process(struct side *side, uint32_t pid, const char *comm)
{
	add(side, record_of(pid, RECORD_START_NS + pid * MS_START_NS,
			    record_process(MS_TYPE_ATTACH, comm, 0)));
}

static inline void add_of(struct side *side, uint32_t pid, union record record)
{
	add(side, record_of(pid, RECORD_START_NS + pid * MS_START_NS, record));
}

/* On device 0, of a process of add_process(); returns the address. */
static inline uint64_t add_alloc(struct side *side, uint32_t pid, const char *symbol, uint64_t size)
{
	uint64_t addr = side->next;

	side->next += (size + 0xfff) & ~0xfffull;
	add_of(side, pid, record_on(0, record_alloc(symbol, addr, size)));
	return addr;
}

static inline void add_free(struct side *side, uint32_t pid, uint64_t addr)
{
	add_of(side, pid, record_free_begin(addr));
	report_dump_add(&side->dump,
			record_at(side->now_ns, record_of(pid, RECORD_START_NS + pid * MS_START_NS,
							  record_free("cuMemFree_v2", addr))));
}

static inline void add_exit(struct side *side, uint32_t pid, const char *comm)
{
	add_of(side, pid, record_process(MS_TYPE_EXIT, comm, 0));
}

static inline void side_read(struct side *side)
{
	report_dump_end(&side->dump, side->now_ns + 1000000);
	report_dump_read(&side->dump, &side->reader);
}

static inline void side_done(struct side *side)
{
	report_reader_fini(&side->reader);
	report_dump_fini(&side->dump);
}

static inline void diffs_compare(struct diffs *diffs)
{
	diffs->diff = diff_new(&diffs->a.reader.report, &diffs->b.reader.report, &diffs->options);
	assert_non_null(diffs->diff);
}

static inline void diffs_end(struct diffs *diffs)
{
	side_read(&diffs->a);
	side_read(&diffs->b);
	diffs_compare(diffs);
}

static inline void diffs_done(struct diffs *diffs)
{
	diff_free(diffs->diff);
	side_done(&diffs->a);
	side_done(&diffs->b);
}

#endif /* MEMSCOPE_TESTS_DIFFS_H */
