/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run that is analysed as it happens, through the pipeline and a sink, as the report has it; and
 * what programs do, step by step.
 */
#ifndef MEMSCOPE_TESTS_ANALYSED_H
#define MEMSCOPE_TESTS_ANALYSED_H

#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "pipeline.h"
#include "records.h"

#define US 1000ull
#define MS (1000 * US)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)
#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define DEVICE_ADDR 0x7f0000000000ull
#define PINNED_ADDR 0x7e0000000000ull
#define HOST_ADDR 0x5500000000ull

struct run {
	struct pipeline pipeline;
	struct sink sink, *sinks[1];
	struct analysis *analysis;
	struct analysis_options options;
	uint32_t pid, tid;
	uint64_t start_ns;
	uint64_t now_ns;    /* the next call begins then */
	uint64_t next_addr; /* for addresses that are used once */
	bool ended;
	int err;
};

static inline int run_event(struct sink *sink, const struct event *event,
			    const struct change *change)
{
	struct run *run = (struct run *)((char *)sink - offsetof(struct run, sink));

	return analysis_event(run->analysis, event, change);
}

/* Of other records, only of blocks, NVML's numbers and limits, as by the report. */
static inline int run_sample(struct sink *sink, const struct event *event,
			     const struct change *change)
{
	return change->has_tensor || event->header->type == MS_TYPE_HELD ||
			       event->header->type == MS_TYPE_LIMIT ?
		       run_event(sink, event, change) :
		       0;
}

/* Options may be changed before. Returns whether there was memory for it. */
static inline bool run_begin(struct run *run)
{
	run->pid = run->tid = RECORD_PID;
	run->start_ns = RECORD_START_NS;
	run->now_ns = 100 * SECOND;
	run->next_addr = DEVICE_ADDR;
	run->sink.call = run->sink.process = run_event;
	run->sink.sample = run_sample;
	pipeline_add_sink(&run->pipeline, &run->sink);
	run->pipeline.shows_sums = true;
	run->pipeline.filter.ops = (1u << MS_OPS_COUNT) - 1;
	if (!run->options.captured_ops)
		run->options = analysis_defaults();
	run->analysis = analysis_new(&run->pipeline.state, &run->options);
	/* What is on which device is known, as in a report. */
	return run->analysis && !state_follow_usage(&run->pipeline.state);
}

static inline void run_end(struct run *run)
{
	analysis_free(run->analysis);
	state_fini(&run->pipeline.state);
}

/* Of the current process and thread, now; then it is as much later as the call takes. */
static inline void feed(struct run *run, union record record)
{
	bool is_call = record.event.type == MS_TYPE_CALL || record.event.type == MS_TYPE_LAUNCH;
	void *exact;

	record.event.pid = run->pid;
	record.event.tid = run->tid;
	record.event.start_ns = run->start_ns;
	record.event.ts_ns = run->now_ns;
	if (is_call)
		run->now_ns += record.call.duration_ns;
	exact = malloc(record.event.size);
	if (!exact) {
		run->err = -1;
		return;
	}
	memcpy(exact, &record, record.event.size);
	if (pipeline_feed(&run->pipeline, exact, record.event.size))
		run->err = run->pipeline.err;
	free(exact);
}

static inline void wait_for(struct run *run, uint64_t ns)
{
	run->now_ns += ns;
}

/* ---- what programs do ------------------------------------------------------------------------ */

static inline uint64_t alloc_at(struct run *run, uint64_t addr, uint64_t size)
{
	feed(run, record_taking(20 * US, record_on(0, record_alloc("cuMemAlloc_v2", addr, size))));
	return addr;
}

/* At an address of its own. */
static inline uint64_t alloc_new(struct run *run, uint64_t size)
{
	uint64_t addr = run->next_addr;

	run->next_addr += (size + 2 * MIB - 1) / MIB * MIB;
	return alloc_at(run, addr, size);
}

/* The same on a device, and in a context. */
static inline uint64_t alloc_on(struct run *run, int32_t device, uint64_t size)
{
	uint64_t addr = run->next_addr;

	run->next_addr += (size + 2 * MIB - 1) / MIB * MIB;
	feed(run,
	     record_taking(20 * US, record_on(device, record_alloc("cuMemAlloc_v2", addr, size))));
	return addr;
}

static inline uint64_t alloc_in(struct run *run, uint64_t context, uint64_t size)
{
	uint64_t addr = run->next_addr;

	run->next_addr += (size + 2 * MIB - 1) / MIB * MIB;
	feed(run, record_in(context, record_alloc("cuMemAlloc_v2", addr, size)));
	return addr;
}

/* Some blocks for as long as the program runs. */
static inline void set_up(struct run *run)
{
	int i;

	for (i = 0; i < 24; i++)
		alloc_new(run, 8 * MIB);
}

static inline void free_at(struct run *run, uint64_t addr)
{
	feed(run, record_free_begin(addr));
	feed(run, record_taking(20 * US, record_free("cuMemFree_v2", addr)));
}

static inline void free_all(struct run *run, const uint64_t *blocks, int count)
{
	int i;

	for (i = 0; i < count; i++)
		free_at(run, blocks[i]);
}

static inline void launch(struct run *run)
{
	feed(run, record_taking(5 * US, record_launch("cuLaunchKernel", 0x1234)));
}

static inline void destroy_context(struct run *run, uint64_t context)
{
	feed(run, record_context("cuCtxDestroy_v2", context, 0));
}

static inline void synchronise(struct run *run, uint64_t ns)
{
	feed(run, record_taking(ns, record_call("cuCtxSynchronize")));
}

static inline void pin(struct run *run, uint64_t size)
{
	feed(run, record_alloc("cuMemHostAlloc", PINNED_ADDR, size));
}

static inline void copy_down(struct run *run, uint64_t device, uint64_t host, uint64_t size,
			     uint64_t ns)
{
	feed(run, record_taking(ns, record_to(device,
					      record_from(host, record_copy("cuMemcpyHtoD_v2", size,
									    MS_DIRECTION_HTOD)))));
}

static inline void copy_up(struct run *run, uint64_t device, uint64_t host, uint64_t size,
			   uint64_t ns)
{
	feed(run, record_taking(ns, record_to(host, record_from(device,
								record_copy("cuMemcpyDtoH_v2", size,
									    MS_DIRECTION_DTOH)))));
}

static inline void told(struct run *run, uint64_t free_bytes, uint64_t total_bytes)
{
	feed(run, record_on(0, record_from(free_bytes,
					   record_alloc("cuMemGetInfo_v2", 0, total_bytes))));
}

static inline void fail_alloc(struct run *run, uint64_t size)
{
	feed(run, record_failed(
			  2, record_on(0, record_without(MS_KNOWN_ADDR,
							 record_alloc("cuMemAlloc_v2", 0, size)))));
}

/* A step of a program that keeps the device busy and waits little: about 10 ms. */
static inline void step(struct run *run)
{
	int i;

	for (i = 0; i < 20; i++) {
		launch(run);
		wait_for(run, 295 * US);
	}
	synchronise(run, 4 * MS);
}

static inline void steps(struct run *run, int count)
{
	while (count--)
		step(run);
}

/* Another process goes on. */
static inline void as_process(struct run *run, uint32_t pid)
{
	run->pid = run->tid = pid;
}

static inline void end_process(struct run *run, uint32_t status)
{
	feed(run, record_exit(status));
}

/* ---- what is expected ------------------------------------------------------------------------ */

struct expected {
	enum finding_rule rule;
	enum finding_confidence confidence;
	uint64_t bytes; /* that it is about; 0: does not matter */
};

static inline void finish(struct run *run)
{
	assert_int_equal(run->err, 0);
	assert_int_equal(run->pipeline.refused, 0);
	assert_int_equal(analysis_finish(run->analysis, run->now_ns, &run->pipeline.recorded), 0);
	run->ended = true;
}

static inline void print_findings(const struct finding *findings, size_t count)
{
	size_t i, j;

	for (i = 0; i < count; i++) {
		const struct finding *finding = &findings[i];

		print_message("# %s, confidence %d (%s), %llu bytes\n",
			      finding_rule_name(finding->rule), finding->confidence,
			      finding->lowered_by ? finding->lowered_by : "",
			      (unsigned long long)finding->bytes);
		for (j = 0; j < finding->evidence_count; j++)
			print_message("#     %s: %llu\n", finding->evidence[j].what,
				      (unsigned long long)finding->evidence[j].value);
	}
}

/* Exactly those, in that order. */
static inline void expect(struct run *run, const struct expected *expected, size_t count)
{
	const struct finding *findings;
	size_t found, i;

	if (!run->ended)
		finish(run);
	findings = analysis_findings(run->analysis, &found);
	if (found != count)
		print_findings(findings, found);
	assert_int_equal(found, count);
	for (i = 0; i < count; i++) {
		if (findings[i].rule != expected[i].rule ||
		    findings[i].confidence != expected[i].confidence)
			print_findings(findings, found);
		assert_string_equal(finding_rule_name(findings[i].rule),
				    finding_rule_name(expected[i].rule));
		assert_int_equal(findings[i].confidence, expected[i].confidence);
		if (expected[i].bytes)
			assert_int_equal(findings[i].bytes, expected[i].bytes);
		/* What is less than certain says why. */
		assert_true((findings[i].confidence == FINDING_HIGH) == !findings[i].lowered_by);
		assert_true(findings[i].evidence_count > 0);
		assert_true(findings[i].evidence_count <= FINDING_EVIDENCE_MAX);
		assert_true(findings[i].first_ts_ns <= findings[i].last_ts_ns);
	}
}

#define expect_findings(run, ...) \
	expect(run, (const struct expected[]){ __VA_ARGS__ }, \
	       sizeof((const struct expected[]){ __VA_ARGS__ }) / sizeof(struct expected))

#define expect_none(run) expect(run, NULL, 0)

/* ---- what the only finding says -------------------------------------------------------------- */

static inline struct finding only_finding(struct run *run, void (*program)(struct run *run))
{
	const struct finding *findings;
	size_t count;

	assert_true(run_begin(run));
	program(run);
	finish(run);
	findings = analysis_findings(run->analysis, &count);
	assert_int_equal(count, 1);
	return findings[0];
}

static inline void expect_pattern(void (*program)(struct run *run), const char *pattern)
{
	struct run run = { 0 };
	const struct finding finding = only_finding(&run, program);

	assert_non_null(finding.pattern);
	if (strncmp(finding.pattern, pattern, strlen(pattern)) != 0)
		fail_msg("%s, not %s", finding.pattern, pattern);
	run_end(&run);
}

/* ---- tables of programs ---------------------------------------------------------------------- */

#define H FINDING_HIGH
#define M FINDING_MEDIUM
#define L FINDING_LOW

/* With the findings that it must have, and no others. */
struct program {
	const char *name;
	void (*run)(struct run *run);
	struct expected expected[2];
	size_t count;
};

/* One that loses a call in the end. */
struct lossy_program {
	struct program program;
	uint16_t lost; /* as struct ms_account has it: enum ms_op, or MS_ACCOUNT_... */
};

static inline void begin_program(struct run *run, const struct program *program)
{
	assert_true(run_begin(run));
	print_message("# %s\n", program->name);
	program->run(run);
}

/* The caller ends the run. */
static inline void run_program(struct run *run, const struct program *program)
{
	begin_program(run, program);
	expect(run, program->expected, program->count);
}

static inline void run_programs(const struct program *programs, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct run run = { 0 };

		run_program(&run, &programs[i]);
		run_end(&run);
	}
}

static inline void run_lossy_programs(const struct lossy_program *programs, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		const struct program *program = &programs[i].program;
		struct run run = { 0 };

		begin_program(&run, program);
		feed(&run, record_account(programs[i].lost, 100, 1));
		expect(&run, program->expected, program->count);
		run_end(&run);
	}
}

#define run_all_lossy(programs) run_lossy_programs(programs, sizeof(programs) / sizeof(*(programs)))

#define run_all(programs) run_programs(programs, sizeof(programs) / sizeof(*(programs)))

#endif /* MEMSCOPE_TESTS_ANALYSED_H */
