// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reference, memscope-bpf itself, and the interposer; and what a tracer adds to a call.
 */
#include "tracers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "capture/attach/link.h"
#include "quantile.h"
#include "reference.skel.h"
#include "elf/elf_symbols.h"

#define CALLS 500 /* in turn with as many of the reference */

/* ---- the reference --------------------------------------------------------------------------- */

static struct reference_bpf *reference; /* loaded once, for as long as the benchmark runs */
static int reference_fd;

static int find_reference(const struct elf_function *function, void *context)
{
	if (strcmp(function->name, "bench_reference") != 0)
		return 0;
	*(uint64_t *)context = function->file_offset;
	return 1;
}

/* The target in which it is measured. */
static struct target *row_target(struct bench *bench, const struct row *row)
{
	return &bench->targets[row->preloaded ? TARGET_PRELOADED : TARGET_FIRST];
}

static void reference_start(struct bench *bench, const struct row *row)
{
	const uint64_t cookie = 0;
	uint64_t offset = 0;
	const struct link_site site = { .path = bench->library_path,
					.offsets = &offset,
					.cookies = &cookie,
					.count = 1,
					.pid = row_target(bench, row)->pid };
	int fd = open(bench->library_path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || elf_each_function(fd, find_reference, &offset, NULL) != 1)
		bench_die(bench->library_path, ENOEXEC);
	close(fd);
	if (!reference)
		reference = reference_bpf__open_and_load();
	if (!reference)
		bench_die("loading the reference program", errno);
	reference_fd =
		link_create_single(bpf_program__fd(reference->progs.reference), &site, false);
	if (reference_fd < 0)
		bench_die("attaching the reference program", reference_fd);
}

static void reference_stop(void)
{
	close(reference_fd);
}

/* ---- memscope-bpf ---------------------------------------------------------------------------- */

static struct tool tool;

static const char *memscope_missing(struct bench *bench, const struct row *row)
{
	static const enum feature features[] = {
		[STRATEGY_SESSION] = FEATURE_UPROBE_SESSION,
		[STRATEGY_MULTI] = FEATURE_UPROBE_MULTI,
		[STRATEGY_SINGLE] = FEATURE_UPROBE_SINGLE,
	};

	return feature_test(&bench->features, features[row->options.strategy]) ?
		       "not in this kernel" :
		       NULL;
}

static void memscope_start(struct bench *bench, const struct row *row)
{
	tool_attach(bench, &tool, bench->library_path, &row->options, row->in_file);
}

static void memscope_stop(struct bench *bench, const struct row *row)
{
	(void)bench, (void)row;
	tool_detach(&tool);
}

const struct tracer tracer_memscope = {
	.missing = memscope_missing,
	.start = memscope_start,
	.stop = memscope_stop,
};

/* ---- the interposer: it is always there, in a target of its own ------------------------------ */

const struct tracer tracer_interposer = { 0 };

/* ---- memscope-bpf as a command --------------------------------------------------------------- */

static pid_t command;

static void command_start(struct bench *bench, const struct row *row)
{
	command = tool_start(bench, row->mode, 1);
}

static void command_stop(struct bench *bench, const struct row *row)
{
	(void)bench, (void)row;
	if (tool_end(command))
		bench_die("memscope-bpf failed (trace.err says why)", EIO);
}

const struct tracer tracer_command = { .start = command_start, .stop = command_stop };

/* ---- measuring ------------------------------------------------------------------------------- */

static void subtract(double *ns, double less)
{
	int i;

	for (i = 0; i < BENCH_BATCHES; i++)
		ns[i] -= less;
}

struct added row_measure(struct bench *bench, const struct row *row)
{
	static struct costs bare, traced;
	struct target *first = &bench->targets[TARGET_FIRST];
	double ratio[BENCH_BATCHES];
	int i;

	target_await_peace(first, row->call);
	target_measure_both(first, row->call, CALLS, &bare);
	reference_start(bench, row);
	if (row->tracer->start)
		row->tracer->start(bench, row);
	target_measure_both(row_target(bench, row), row->call, CALLS, &traced);
	if (row->tracer->stop)
		row->tracer->stop(bench, row);
	reference_stop();

	subtract(traced.ns, quantile(bare.ns, BENCH_BATCHES, 0.5));
	subtract(traced.unit_ns, quantile(bare.unit_ns, BENCH_BATCHES, 0.5));
	for (i = 0; i < BENCH_BATCHES; i++)
		ratio[i] = traced.ns[i] / traced.unit_ns[i];
	return (struct added){ .unit_ns = quantile(traced.unit_ns, BENCH_BATCHES, 0.5),
			       .ratio = quantile(ratio, BENCH_BATCHES, 0.5) };
}
