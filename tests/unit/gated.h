/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs of programs, and what --fail-on says of them.
 */
#ifndef MEMSCOPE_TESTS_GATED_H
#define MEMSCOPE_TESTS_GATED_H

#include "reported.h"

#include "render/gate_words.h"
#include "report/gate.h"
#include "report/suppressions.h"

/* Of a report also GATE_LEFT. */
#define GATED_KINDS (1u << GATE_LOSS | 1u << GATE_INEXACT | 1u << GATE_EMPTY)

/* ---- programs -------------------------------------------------------------------------------- */

static uint64_t next_addr;

static inline uint64_t take(uint64_t size)
{
	next_addr += 64 * MIB;
	add(alloc("cudaMalloc", next_addr, size));
	return next_addr;
}

/* A tenth of a second of work. */
static inline void work(void)
{
	add(record_launch("cuLaunchKernel", 0x1234));
	now_ns += 98 * MILLISECOND;
}

static inline void works(int count)
{
	while (count--)
		work();
}

static inline void exits(void)
{
	add(record_exit(0));
}

static inline void run_quiet(void)
{
	int i;

	take(64 * MIB);
	for (i = 0; i < 200; i++) {
		uint64_t scratch = take(MIB);

		work();
		release(scratch);
	}
}

static inline void run_a_moment(void)
{
	take(MIB);
	work();
	work();
}

/* Another process begins, holds a little, and ends. */
static inline void run_with_a_helper(void)
{
	const uint64_t start_ns = RECORD_START_NS + MS_START_NS;

	add(record_of(99, start_ns, record_process(MS_TYPE_ATTACH, "helper", 0)));
	add(record_of(99, start_ns, alloc("cudaMalloc", 0x900000000, MIB)));
	now_ns += 3 * MILLISECOND;
	add(record_of(99, start_ns, record_exit(0)));
	run_quiet();
}

/* ---- what is asked of them ------------------------------------------------------------------- */

struct question {
	const char *name;
	void (*run)(void);
	const char *condition;
	enum gate_outcome outcome;
	const char *text; /* a part of what is said; "": nothing */
	struct holdings_warmup warmup;
	const char *ops; /* NULL: all */
};

#define FAILED GATE_FAILED
#define PASSED GATE_PASSED
#define UNKNOWN GATE_UNKNOWN

static inline void add_word(struct gate *gate, const char *word)
{
	struct string why = { 0 };

	if (gate_add(gate, word, GATED_KINDS | 1u << GATE_LEFT | 1u << GATE_PEAK, &why))
		fail_msg("%s: %.*s", word, (int)why.length, why.bytes);
	string_fini(&why);
}

static inline struct report_reader run_program(void (*run)(void), const char *ops,
					       const struct report_options *options)
{
	struct report_reader reader = report_dump_reader();

	next_addr = 0x10000000;
	begin_as(ops ? ops : REPORT_DUMP_OPS, NULL, NULL);
	run();
	reader.report.options.growth_bytes = options->growth_bytes;
	reader.report.options.warmup = options->warmup;
	reader.report.options.suppressions = options->suppressions;
	memcpy(reader.report.options.pids, options->pids, sizeof(options->pids));
	reader.report.options.pids_count = options->pids_count;
	report_dump_end(&dump, now_ns + MILLISECOND);
	report_dump_read(&dump, &reader);
	return reader;
}

static inline void ask(const struct question *question)
{
	struct gate gate = { 0 };
	struct report_options options = { .warmup = question->warmup };
	struct report_reader reader;
	struct gate_result result;
	struct string text = { 0 };

	print_message("# %s\n", question->name);
	add_word(&gate, question->condition);
	options.growth_bytes = gate_growth_bytes(&gate);
	reader = run_program(question->run, question->ops, &options);
	result = gate_judge(&gate.list[0], &reader.report, reader.report.recordings[0]);
	gate_append_result(&text, &gate.list[0], reader.report.recordings[0], &result);
	if (result.outcome != question->outcome || (*question->text && !has(&text, question->text)))
		fail_msg("%s: outcome %d: %.*s", question->name, result.outcome, (int)text.length,
			 text.length ? text.bytes : "");
	assert_int_equal(!text.length, !*question->text);
	assert_int_equal(gate_is_failure(&gate, result.outcome), result.outcome != GATE_PASSED);
	gate.unknown_passes = true;
	assert_int_equal(gate_is_failure(&gate, result.outcome), result.outcome == GATE_FAILED);
	string_fini(&text);
	done(&reader);
}

#endif /* MEMSCOPE_TESTS_GATED_H */
