/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dumps as files in memory, made of records, and the report on them.
 */
#ifndef MEMSCOPE_TESTS_REPORT_DUMP_H
#define MEMSCOPE_TESTS_REPORT_DUMP_H

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipeline.h"
#include "records.h"
#include "store/dump_set.h"
#include "store/dump_writer.h"
#include "store/report_reader.h"
#include "store/triggers.h"

#define REPORT_DUMP_FILES 9
#define REPORT_DUMP_OPS "alloc,free,copy,memset,launch,sync,memory,context"

/* A recording that is spread over some files; blocks go to the files chosen. */
struct report_dump {
	struct pipeline live; /* as the recorder's */
	struct dump_writer *writer;
	int fds[REPORT_DUMP_FILES];
	uint32_t files; /* bit set: where blocks go now */
	const char *ops;
	const char *copies, *launches;        /* as `record` describes itself; NULL: not at all */
	const char *graph_launches;           /* the same; "all" to begin with */
	uint64_t unwritten, missed, untraced; /* records, processes, as its end has them */
	const char *forks;                    /* the same; NULL: it has none */
	const char *leavers;                  /* the same */
	const struct triggers *triggers;      /* it is a bundle of them; NULL: it is none */
	const char *host, *targets;
	uint64_t wall_offset_ns; /* 0: it does not say */
	bool opened[REPORT_DUMP_FILES];
};

static inline int report_dump_write(void *context, const struct block_header *header,
				    const void *stored)
{
	struct report_dump *dump = context;
	size_t i;

	for (i = 0; i < REPORT_DUMP_FILES; i++) {
		if (!(dump->files >> i & 1))
			continue;
		assert_int_equal(write(dump->fds[i], header, sizeof(*header)), sizeof(*header));
		assert_int_equal(write(dump->fds[i], stored, header->stored_bytes),
				 header->stored_bytes);
	}
	return 0;
}

static inline void report_dump_describe(void *context, struct properties *properties)
{
	struct report_dump *dump = context;

	properties_put(properties, "tool", "memscope-bpf");
	properties_put(properties, "version", "0.0.0");
	properties_put(properties, "host", dump->host);
	properties_put(properties, "kernel", "6.0.0");
	properties_put(properties, "machine", "x86_64");
	properties_put_u64(properties, "monotonic_ns", 1000);
	if (dump->wall_offset_ns)
		properties_put_u64(properties, "realtime_offset_ns", dump->wall_offset_ns);
	properties_put(properties, "ops", dump->ops);
	properties_put(properties, "targets", dump->targets);
	if (dump->copies)
		properties_put(properties, "copies", dump->copies);
	if (dump->launches)
		properties_put(properties, "launches", dump->launches);
	if (dump->graph_launches)
		properties_put(properties, "graph_launches", dump->graph_launches);
}

static inline void report_dump_init(struct report_dump *dump, uint64_t recording, const char *host)
{
	const struct dump_writer_options options = { .recording = recording,
						     .write = report_dump_write,
						     .describe = report_dump_describe,
						     .context = dump };
	size_t i;

	*dump = (struct report_dump){
		.files = 1,
		.ops = REPORT_DUMP_OPS,
		.graph_launches = "all",
		.host = host,
		.targets = "command run|me",
		/* The first second is 12:34:56 of a day long ago, in UTC. */
		.wall_offset_ns = (12 * 3600 + 34 * 60 + 55) * 1000000000ull,
	};
	for (i = 0; i < REPORT_DUMP_FILES; i++)
		dump->fds[i] = memfd_create("report_dump", 0);
	dump->writer = dump_writer_new(&options);
	assert_non_null(dump->writer);
}

static inline void report_dump_fini(struct report_dump *dump)
{
	size_t i;

	for (i = 0; i < REPORT_DUMP_FILES; i++)
		close(dump->fds[i]);
	dump_writer_free(dump->writer);
	state_fini(&dump->live.state);
}

static inline void report_dump_segment(struct report_dump *dump, uint64_t now_ns)
{
	assert_int_equal(dump_writer_segment(dump->writer, &dump->live.state, now_ns), 0);
}

static inline void report_dump_add(struct report_dump *dump, union record record)
{
	assert_int_equal(dump_writer_add(dump->writer, &record), 0);
	assert_int_equal(pipeline_feed(&dump->live, &record, record.event.size), 0);
}

static inline void report_dump_flush(struct report_dump *dump, uint64_t now_ns)
{
	assert_int_equal(dump_writer_flush(dump->writer, now_ns), 0);
}

static inline void report_dump_end(struct report_dump *dump, uint64_t now_ns)
{
	struct properties end = { 0 };

	properties_put_u64(&end, "end_ns", now_ns);
	properties_put(&end, "reason", dump->triggers ? triggers_reason(TRIGGER_OOM) : "exit");
	if (dump->triggers)
		triggers_describe_end(dump->triggers, TRIGGER_OOM, &end);
	properties_put_u64(&end, "missed_processes", dump->missed);
	properties_put_u64(&end, "untraced_descendants", dump->untraced);
	if (dump->forks)
		properties_put(&end, "untraced_forks", dump->forks);
	if (dump->leavers)
		properties_put(&end, "left_cgroup", dump->leavers);
	properties_put_u64(&end, "unwritten_records", dump->unwritten);
	assert_int_equal(dump_writer_end(dump->writer, &end, now_ns), 0);
	properties_fini(&end);
}

static inline void report_dump_use(const struct report_dump *dump, size_t file,
				   struct dump_set *set)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dump->fds[file]);
	assert_int_equal(dump_set_add(set, path), 0);
}

static inline struct report_reader report_dump_reader(void)
{
	return (struct report_reader){ .thresholds = analysis_defaults(),
				       .report.options = { .device = -1, .top = 10 } };
}

/* And that was it for the set. */
static inline void report_dump_read_set(struct dump_set *set, struct report_reader *reader)
{
	assert_int_equal(report_reader_read(reader, set), 0);
	dump_set_fini(set);
}

/* Of the first file alone. */
static inline void report_dump_read(const struct report_dump *dump, struct report_reader *reader)
{
	struct dump_set set = { 0 };

	report_dump_use(dump, 0, &set);
	report_dump_read_set(&set, reader);
	assert_int_equal(reader->report.count, 1);
}

#endif /* MEMSCOPE_TESTS_REPORT_DUMP_H */
