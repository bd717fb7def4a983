// SPDX-License-Identifier: BSD-2-Clause
/*
 * The summary for people: per process what it held, moved and launched, then the account of events.
 */
#include "render/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ledger/call_splits.h"
#include "ledger/call_times.h"
#include "render/field.h"
#include "render/identity_words.h"
#include "render/losses_words.h"
#include "render/summary_gpu.h"
#include "render/summary_nvml.h"

#define KERNELS_SHOWN 20
#define FUNCTIONS_SHOWN 20

struct page {
	struct string *out;
	const struct summary *summary;
	bool exact;
	bool lines; /* there was a line for each event */
	bool sum;   /* what is said now is about several processes */
};

typedef unsigned long long ull; /* for printf: uint64_t is unsigned long here, not everywhere */

static const char *size_text(const struct page *page, char out[STRING_NUMBER_BYTES], uint64_t bytes)
{
	if (!page->exact)
		return string_size(out, bytes);
	snprintf(out, STRING_NUMBER_BYTES, "%llu", (ull)bytes);
	return out;
}

/* ---- one process ----------------------------------------------------------------------------- */

static void append_title(const struct page *page, const struct process *process)
{
	struct string *out = page->out;

	string_append_format(out, "\nprocess %u (", process->pid);
	identity_words_name(out, process);
	if (!process->exited)
		string_append_text(out, "), still running\n");
	else if (process->exit_status == MS_EXIT_UNKNOWN)
		string_append_text(out, "), ended\n");
	else if (WIFSIGNALED(process->exit_status))
		string_append_format(out, "), killed by signal %d\n",
				     WTERMSIG(process->exit_status));
	else
		string_append_format(out, "), exited with %d\n", WEXITSTATUS(process->exit_status));
}

/* Memory of another process whose size is not known counts as 0 bytes: no such sum is one. */
static const char *space_text(const struct page *page, uint32_t space,
			      char out[STRING_NUMBER_BYTES], uint64_t count, uint64_t bytes)
{
	return space == MS_SPACE_IMPORTED && count && !bytes ? "?" : size_text(page, out, bytes);
}

static void append_spaces(const struct page *page, const struct process *process)
{
	char live[STRING_NUMBER_BYTES], peak[STRING_NUMBER_BYTES], total[STRING_NUMBER_BYTES];
	char blocks[STRING_NUMBER_BYTES], frees[STRING_NUMBER_BYTES], implicit[STRING_NUMBER_BYTES];
	bool headed = false, known = !process->entries_only;
	uint32_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++) {
		const struct space_total *space = &process->spaces[i];
		uint64_t bytes = process->exited ? space->exit_bytes : space->live_bytes;
		uint64_t count = process->exited ? space->exit_count : space->live_count;

		if (!space->allocs)
			continue;
		if (!headed)
			string_append_format(page->out, "  %-10s %15s %9s %15s %9s %15s %9s %9s\n",
					     "SPACE", process->exited ? "LIVE AT EXIT" : "LIVE NOW",
					     "BLOCKS", page->sum ? "HIGHEST PEAK" : "PEAK",
					     "ALLOCS", "ALLOCATED", "FREES", "IMPLICIT");
		headed = true;
		string_append_format(
			page->out, "  %-10s %15s %9s %15s %9llu %15s %9s %9s\n",
			probe_space_name(i), known ? space_text(page, i, live, count, bytes) : "-",
			known ? string_count(blocks, count) : "-",
			known ? space_text(page, i, peak, space->allocs, space->peak_bytes) : "-",
			(ull)space->allocs,
			space_text(page, i, total, space->allocs, space->alloc_bytes),
			known ? string_count(frees, space->frees) : "-",
			known ? string_count(implicit, space->implicit_frees) : "-");
	}
	if (!process->calls[MS_OP_ALLOC])
		string_append_text(page->out, "  no allocations seen\n");
}

/*
 * "  DRIVER HOLDS             LIVE    OBJECTS            PEAK": what it has of the device for the
 * process, by what the process was doing.
 */
static void append_driver(const struct page *page, const struct process *process)
{
	const struct driver_objects *driver = &process->driver;
	char live[STRING_NUMBER_BYTES], peak[STRING_NUMBER_BYTES];
	size_t i;

	if (!driver->device.peak_bytes)
		return;
	string_append_format(page->out, "\n  %-10s %15s %25s\n", "DRIVER",
			     process->exited ? "HELD AT EXIT" : "HOLDS NOW",
			     page->sum ? "HIGHEST PEAK" : "PEAK");
	for (i = 0; i <= DRIVER_CAUSES_COUNT; i++) {
		const struct driver_total *total =
			i < DRIVER_CAUSES_COUNT ? &driver->causes[i] : &driver->device;

		if (!total->peak_bytes)
			continue;
		string_append_format(page->out, "  %-10s %15s %25s  %s\n", "",
				     size_text(page, live,
					       process->exited ? total->exit_bytes :
								 total->live_bytes),
				     size_text(page, peak, total->peak_bytes),
				     i < DRIVER_CAUSES_COUNT ? driver_cause_description(i) :
							       "in all, of the device");
	}
}

static void append_largest(const struct page *page, const struct process *process)
{
	struct allocation largest[PROCESS_LARGEST];
	size_t count = state_largest(process, largest, PROCESS_LARGEST), i;
	uint64_t end_ns = process->exited ? process->exit_ts_ns : page->summary->end_ns;
	char size[STRING_NUMBER_BYTES], age[STRING_NUMBER_BYTES], device[STRING_NUMBER_BYTES];

	if (!count)
		return;
	string_append_format(page->out, "\n  LARGEST LIVE %13s  %-14s %9s  %-10s %3s  %s\n", "",
			     "ADDRESS", "AGE", "SPACE", "DEV", "ALLOCATED BY");
	for (i = 0; i < count; i++) {
		string_count(device, largest[i].device < 0 ? 0 : largest[i].device);
		string_append_format(
			page->out, "  %26s  0x%-12llx %9s  %-10s %3s  %s\n",
			largest[i].size_known ? size_text(page, size, largest[i].size_bytes) :
						"size unknown",
			(ull)largest[i].addr, string_duration(age, end_ns - largest[i].ts_ns),
			probe_space_name(largest[i].space), largest[i].device < 0 ? "-" : device,
			probe_at(largest[i].row)->symbol);
	}
}

static void append_moved(const struct page *page, const char *what, const struct call_total *total)
{
	/* Per time that was observed: how busy it was, not how fast a transfer was. */
	bool observed = page->summary->end_ns != page->summary->start_ns;
	char count[STRING_NUMBER_BYTES], bytes[STRING_NUMBER_BYTES], rate[STRING_NUMBER_BYTES];

	if (!total->count)
		return;
	string_append_format(
		page->out, "  %-18s %11s %15s %13s/s\n", what, string_count(count, total->count),
		size_text(page, bytes, total->bytes),
		observed ? size_text(page, rate, summary_per_second(page->summary, total->bytes)) :
			   "-");
	if (total->unknown_bytes)
		string_append_format(page->out, "  %-18s %11s of them with an unknown size\n", "",
				     string_count(count, total->unknown_bytes));
}

static void append_copies(const struct page *page, const struct process *process)
{
	uint64_t calls = process->memsets.count;
	char what[32];
	uint32_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++)
		calls += process->copies[i].count;
	if (!calls)
		return;
	string_append_format(page->out, "\n  %-18s %11s %15s %15s\n", "MOVED", "CALLS", "BYTES",
			     "PER SECOND");
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		snprintf(what, sizeof(what), "copy %s",
			 i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : "unknown");
		append_moved(page, what, &process->copies[i]);
	}
	append_moved(page, "memset", &process->memsets);
}

static int by_launches(const void *a, const void *b)
{
	const struct kernel *const *x = a, *const *y = b;

	return (*x)->launches < (*y)->launches ? 1 : (*x)->launches > (*y)->launches ? -1 : 0;
}

static void append_kernel(const struct page *page, const struct kernel *kernel)
{
	char count[STRING_NUMBER_BYTES];

	string_append_format(page->out, "  %18s  ", string_count(count, kernel->launches));
	if (kernel->name)
		field_append_safe(page->out, kernel->name, strlen(kernel->name));
	else if (page->sum)
		string_append_text(page->out, "functions whose names were not seen");
	else
		string_append_format(page->out, "function 0x%llx (its name was not seen)",
				     (ull)kernel->handle);
	string_append_char(page->out, '\n');
}

static void append_kernels(const struct page *page, const struct process *process)
{
	const struct kernel **sorted;
	size_t i;

	if (!process->kernels_count)
		return;
	sorted = calloc(process->kernels_count, sizeof(*sorted));
	if (!sorted) {
		page->out->failed = true;
		return;
	}
	for (i = 0; i < process->kernels_count; i++)
		sorted[i] = &process->kernels[i];
	qsort(sorted, process->kernels_count, sizeof(*sorted), by_launches);
	string_append_format(page->out, "\n  %18s  %s\n", "LAUNCHES", "KERNEL");
	for (i = 0; i < process->kernels_count && i < KERNELS_SHOWN; i++)
		append_kernel(page, sorted[i]);
	if (i < process->kernels_count)
		string_append_format(page->out, "  %18s  and %zu kernels more\n", "",
				     process->kernels_count - i);
	free(sorted);
}

static const char *percentile_text(char out[STRING_NUMBER_BYTES], const struct call_times *times,
				   unsigned int percent)
{
	uint64_t ns;

	return call_times_percentile(times, percent, &ns) ? string_duration(out, ns) : "-";
}

static void append_function(const struct page *page, const struct process *process,
			    const struct call_times *times)
{
	char calls[STRING_NUMBER_BYTES], failed[STRING_NUMBER_BYTES], total[STRING_NUMBER_BYTES];
	char p50[STRING_NUMBER_BYTES], p99[STRING_NUMBER_BYTES], longest[STRING_NUMBER_BYTES];

	string_append_format(page->out, "  %-26s %11s %8s %9s %9s %9s %9s\n",
			     probe_at(times->row)->symbol, string_count(calls, times->calls),
			     process->entries_only ? "-" : string_count(failed, times->failed),
			     times->timed ? string_duration(total, times->total_ns) : "-",
			     percentile_text(p50, times, 50), percentile_text(p99, times, 99),
			     percentile_text(longest, times, 100));
}

static void append_functions(const struct page *page, const struct process *process)
{
	const struct call_times **sorted;
	size_t i;

	if (!process->times_count)
		return;
	sorted = call_times_sorted(process);
	if (!sorted) {
		page->out->failed = true;
		return;
	}
	string_append_format(page->out, "\n  %-26s %11s %8s %9s %9s %9s %9s\n", "CALL", "CALLS",
			     "FAILED", "TOTAL", "P50", "P99", "LONGEST");
	for (i = 0; i < process->times_count && i < FUNCTIONS_SHOWN; i++)
		append_function(page, process, sorted[i]);
	if (i < process->times_count)
		string_append_format(page->out, "  and %zu functions more\n",
				     process->times_count - i);
	free(sorted);
}

static void append_split(const struct page *page, const char *what, const struct call_split *split)
{
	char calls[STRING_NUMBER_BYTES], total[STRING_NUMBER_BYTES], ran[STRING_NUMBER_BYTES];
	char runnable[STRING_NUMBER_BYTES], blocked[STRING_NUMBER_BYTES];

	if (split->calls)
		string_append_format(page->out, "  %-26s %11s %8s %9s %9s %14s\n", what,
				     string_count(calls, split->calls),
				     string_duration(total, split->total_ns),
				     string_duration(ran, call_splits_running_ns(split)),
				     string_duration(blocked, split->blocked_ns),
				     string_duration(runnable, split->runnable_ns));
}

/* Where calls spent their time. */
static void append_splits(const struct page *page, const struct process *process)
{
	const struct call_split sum = call_splits_sum(process);
	uint32_t op;

	if (!sum.calls)
		return;
	string_append_format(page->out, "\n  %-26s %11s %8s %9s %9s %14s\n", "TIME IN CALLS",
			     "CALLS", "TOTAL", "RAN", "BLOCKED", "WAITED FOR CPU");
	for (op = 0; op < MS_OPS_COUNT; op++)
		append_split(page, probe_op_name(op), &process->splits[op]);
}

static void append_failures(const struct page *page, const struct process *process)
{
	char count[STRING_NUMBER_BYTES];
	size_t i;

	if (!process->failures_count)
		return;
	string_append_format(page->out, "\n  %18s  %-22s %s\n", "FAILED", "CALL", "RESULT");
	for (i = 0; i < process->failures_count; i++) {
		const struct failure *failure = &process->failures[i];
		const struct probe *probe = probe_at(failure->row);
		const char *name = probe_result_name(probe->layer, failure->result);

		string_append_format(page->out, "  %18s  %-22s %s (%d)\n",
				     string_count(count, failure->count), probe->symbol,
				     name ? name : "unknown to CUDA 13.0", failure->result);
	}
}

/* The last report of the driver, which includes what only the driver knows. */
static void append_views(const struct page *page, const struct process *process)
{
	uint64_t end_ns = process->exited ? process->exit_ts_ns : page->summary->end_ns;
	char total[STRING_NUMBER_BYTES], rest[STRING_NUMBER_BYTES], age[STRING_NUMBER_BYTES];
	size_t i;

	for (i = 0; i < process->views_count; i++) {
		const struct view *view = &process->views[i];

		string_append_text(page->out, i ? "" : "\n");
		if (view->is_pool)
			string_append_format(page->out, "  pool 0x%llx: %s reserved, %s in use",
					     (ull)view->handle,
					     size_text(page, total, view->total_bytes),
					     size_text(page, rest, view->free_bytes));
		else
			string_append_format(page->out, "  device %lld: %s free of %s",
					     (long long)view->handle,
					     size_text(page, rest, view->free_bytes),
					     size_text(page, total, view->total_bytes));
		string_append_format(page->out, ", as the driver reported %s before the end\n",
				     string_duration(age, end_ns - view->ts_ns));
	}
}

static void append_note(const struct page *page, uint64_t count, const char *what)
{
	char number[STRING_NUMBER_BYTES];

	if (count)
		string_append_format(page->out, "  %18s  %s\n", string_count(number, count), what);
}

static void append_held_before(const struct page *page, const struct process *process)
{
	const char *who = page->sum ? "Some" : "It";

	if (process->was_running)
		string_append_format(page->out,
				     "  %s ran before %s attached to: memory that %s held already"
				     " is not in the numbers above.\n",
				     who, page->sum ? "they were" : "it was",
				     page->sum ? "they" : "it");
	if (process->was_running_earlier)
		string_append_format(page->out,
				     "  %s executed this program only while being traced: what the"
				     " one before held when it was attached to is not in the peaks"
				     " and totals above.\n",
				     who);
}

static void append_notes(const struct page *page, const struct process *process)
{
	char waited[STRING_NUMBER_BYTES], what[80];
	enum process_counter counter;

	string_append_char(page->out, '\n');
	snprintf(what, sizeof(what), "synchronisations, in which the host waited %s",
		 process->entries_only ? "for an unknown time" :
					 string_duration(waited, process->syncs.duration_ns));
	append_note(page, process->syncs.count, what);
	append_note(page, process->graph_launches, "launches of graphs");
	for (counter = 0; counter < COUNTERS_COUNT; counter++)
		append_note(page, process->counters[counter],
			    process_counter_words(counter, process->counters[counter]));
	if (process->entries_only)
		string_append_text(page->out,
				   "  Calls were not followed to their ends (--no-return): whether"
				   " they succeeded, and what is live, is not known.\n");
	append_held_before(page, process);
}

/* ---- the account of events ------------------------------------------------------------------- */

static void append_reasons(const struct page *page)
{
	const struct losses *losses = &page->summary->losses;

	if (!losses_count(losses))
		return;
	string_append_text(page->out, "  why: ");
	losses_append_reasons(page->out, losses, LOSSES_FEWER_EVENTS);
	string_append_char(page->out, '\n');
}

static void append_losses(const struct page *page)
{
	const struct ms_counters *counters = &page->summary->counters;
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (counters->lost[op] && op != MS_OP_NAME)
			string_append_format(page->out, "  lost: %llu of %llu %s events\n",
					     (ull)counters->lost[op], (ull)counters->seen[op],
					     probe_op_name(op));
	if (page->summary->losses.others)
		string_append_format(page->out, "  lost: %llu other records (%s)\n",
				     (ull)page->summary->losses.others,
				     "kernel names, beginnings of frees, lives of processes,"
				     " stacks, tensors, markers, what GPUs did");
	append_reasons(page);
	if (losses_are_of_memory(counters))
		string_append_text(
			page->out,
			"  Records of memory or contexts were lost: live bytes, peaks and totals"
			" above are not exact.\n");
}

static void append_filtered(const struct page *page)
{
	const struct summary *summary = page->summary;
	const char *before = "  filtered: ";
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++) {
		if (!summary->filtered_by_op[op])
			continue;
		string_append_format(page->out, "%s%llu %s", before,
				     (ull)summary->filtered_by_op[op], probe_op_name(op));
		before = ", ";
	}
	if (summary->filtered)
		string_append_text(page->out, " (-e all shows everything)\n");
	before = "  not captured, so not in the numbers above: ";
	for (op = 0; op < MS_OPS_COUNT; op++) {
		if (summary_captured(summary, op) || op == MS_OP_NAME)
			continue;
		string_append_format(page->out, "%s%s%s", before, probe_op_name(op),
				     op == MS_OP_LAUNCH ? " (except graphs)" : "");
		before = ", ";
	}
	if (*before == ',')
		string_append_text(page->out, " (-e says what is)\n");
}

static void append_cost(const struct page *page)
{
	const struct summary_cost *cost = &page->summary->cost;
	uint64_t observed_ns = page->summary->end_ns - page->summary->start_ns;
	uint64_t highest = cost->highest_critical > cost->highest_bulk ? cost->highest_critical :
									 cost->highest_bulk;
	char cpu[STRING_NUMBER_BYTES], used[STRING_NUMBER_BYTES], size[STRING_NUMBER_BYTES];

	if (!cost->ring_bytes)
		return;
	string_append_format(page->out, "  tracing took %s of CPU time",
			     string_duration(cpu, cost->cpu_ns));
	if (observed_ns)
		string_append_format(page->out, " (%.1f %% of a core)",
				     100.0 * cost->cpu_ns / observed_ns);
	string_append_format(page->out, " and at most %s of a ring buffer's %s",
			     string_size(used, highest), string_size(size, cost->ring_bytes));
	if (cost->bpf_runs)
		string_append_format(page->out, "; BPF ran %s times, %s each",
				     string_count(used, cost->bpf_runs),
				     string_duration(cpu, cost->bpf_ns / cost->bpf_runs));
	string_append_char(page->out, '\n');
}

static void append_account(const struct page *page)
{
	const struct summary *summary = page->summary;
	char duration[STRING_NUMBER_BYTES];

	string_append_format(page->out,
			     "\n%llu events seen = %llu %s + %llu filtered + %llu lost, in %s\n",
			     (ull)summary->losses.seen, (ull)summary->shown,
			     page->lines ? "shown" : "counted", (ull)summary->filtered,
			     (ull)summary->losses.calls,
			     string_duration(duration, summary->end_ns - summary->start_ns));
	append_filtered(page);
	append_losses(page);
	append_cost(page);
	if (summary->counters.abandoned)
		string_append_format(page->out,
				     "  %llu calls never returned (longjmp or an exception)\n",
				     (ull)summary->counters.abandoned);
	if (summary->refused)
		string_append_format(page->out,
				     "  %llu records could not be decoded: report this as a bug\n",
				     (ull)summary->refused);
}

/* Those that are not listed one by one. */
static void append_more(struct page *page)
{
	const struct state *state = page->summary->state;

	if (!state->more_count)
		return;
	string_append_format(page->out,
			     "\n%llu more processes, which ended earlier and held less\n",
			     (ull)state->more_count);
	page->sum = true;
	append_spaces(page, state->more);
	append_driver(page, state->more);
	append_functions(page, state->more);
	append_splits(page, state->more);
	append_copies(page, state->more);
	append_kernels(page, state->more);
	append_failures(page, state->more);
	append_notes(page, state->more);
	page->sum = false;
}

void text_append_summary(struct string *out, const struct summary *summary,
			 const struct text_options *options)
{
	struct page page = {
		.out = out, .summary = summary, .exact = options->exact, .lines = options->lines
	};
	size_t i;

	for (i = 0; i < summary->state->processes_count; i++) {
		const struct process *process = summary->state->processes[i];

		append_title(&page, process);
		append_spaces(&page, process);
		append_driver(&page, process);
		summary_nvml_append(page.out, process, options);
		summary_gpu_append(page.out, process);
		append_largest(&page, process);
		append_functions(&page, process);
		append_splits(&page, process);
		append_copies(&page, process);
		append_kernels(&page, process);
		append_failures(&page, process);
		append_views(&page, process);
		append_notes(&page, process);
	}
	append_more(&page);
	summary_nvml_append_devices(page.out, summary->state, options);
	append_account(&page);
}
