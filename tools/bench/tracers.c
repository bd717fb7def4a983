// SPDX-License-Identifier: BSD-2-Clause
/*
 * The reference, memscope-bpf itself, and the interposer.
 */
#include "tracers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "capture/link.h"
#include "reference.skel.h"
#include "symbols/elf_symbols.h"

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

static void reference_start(struct bench *bench, const struct row *row)
{
	const uint64_t cookie = 0;
	uint64_t offset = 0;
	const struct link_site site = { .path = bench->library_path,
					.offsets = &offset,
					.cookies = &cookie,
					.count = 1,
					.pid = bench->targets[TARGET_FIRST].pid };
	int fd = open(bench->library_path, O_RDONLY | O_CLOEXEC);

	(void)row;
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

static void reference_stop(struct bench *bench, const struct row *row)
{
	(void)bench, (void)row;
	close(reference_fd);
}

const struct tracer tracer_reference = { .start = reference_start, .stop = reference_stop };

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
	tool_attach(bench, &tool, bench->library_path, &row->options);
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
