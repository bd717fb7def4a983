// SPDX-License-Identifier: BSD-2-Clause
/*
 * The summary for people: per process what it held, moved and launched.
 */
#include "render/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ledger/alike.h"
#include "ledger/call_splits.h"
#include "ledger/call_times.h"
#include "render/field.h"
#include "render/identity_words.h"
#include "render/summary_account.h"
#include "render/summary_gpu.h"
#include "render/summary_nvml.h"
#include "render/summary_sites.h"
#include "render/summary_table.h"
#include "render/summary_tensors.h"
#include "render/wrap.h"

#define GROUPS_SHOWN 10
#define KERNELS_SHOWN 20
#define FUNCTIONS_SHOWN 20

struct page {
	struct string *out;
	const struct summary *summary;
	size_t width; /* of a line; 0: of any length */
	bool exact;
	bool sum; /* what is said now is about several processes */
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
	const struct summary_column columns[] = {
		{ "SPACE", -10, 0 },
		{ process->exited ? "LIVE AT EXIT" : "LIVE NOW", 15, 0 },
		{ "BLOCKS", 9, 5 },
		{ page->sum ? "HIGHEST PEAK" : "PEAK", 15, 0 },
		{ "ALLOCS", 9, 4 },
		{ "ALLOCATED", 15, 3 },
		{ "FREES", 9, 2 },
		{ "IMPLICIT", 9, 1 },
		{ 0 },
	};
	bool headed = false, known = !process->entries_only;
	char allocs[STRING_NUMBER_BYTES];
	struct summary_table table;
	uint32_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++) {
		const struct space_total *space = &process->spaces[i];
		uint64_t bytes = process->exited ? space->exit_bytes : space->live_bytes;
		uint64_t count = process->exited ? space->exit_count : space->live_count;

		if (!space->allocs)
			continue;
		if (!headed)
			summary_table_begin(&table, page->out, page->width, columns);
		headed = true;
		snprintf(allocs, sizeof(allocs), "%llu", (ull)space->allocs);
		summary_table_row(
			&table,
			(const char *[]){
				probe_space_name(i),
				known ? space_text(page, i, live, count, bytes) : "-",
				known ? string_count(blocks, count) : "-",
				known ? space_text(page, i, peak, space->allocs,
						   space->peak_bytes) :
					"-",
				allocs,
				space_text(page, i, total, space->allocs, space->alloc_bytes),
				known ? string_count(frees, space->frees) : "-",
				known ? string_count(implicit, space->implicit_frees) : "-" });
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
	const struct summary_column columns[] = {
		{ "DRIVER", -10, 0 },
		{ process->exited ? "HELD AT EXIT" : "HOLDS NOW", 15, 0 },
		{ page->sum ? "HIGHEST PEAK" : "PEAK", 25, 1 },
		{ "", 0, 0 },
		{ "", -22, 0 },
		{ 0 },
	};
	char live[STRING_NUMBER_BYTES], peak[STRING_NUMBER_BYTES];
	struct summary_table table;
	size_t i;

	if (!driver->device.peak_bytes)
		return;
	string_append_char(page->out, '\n');
	summary_table_begin(&table, page->out, page->width, columns);
	for (i = 0; i <= DRIVER_CAUSES_COUNT; i++) {
		const struct driver_total *total =
			i < DRIVER_CAUSES_COUNT ? &driver->causes[i] : &driver->device;

		if (!total->peak_bytes)
			continue;
		summary_table_row(&table,
				  (const char *[]){ "",
						    size_text(page, live,
							      process->exited ? total->exit_bytes :
										total->live_bytes),
						    size_text(page, peak, total->peak_bytes), "",
						    i < DRIVER_CAUSES_COUNT ?
							    driver_cause_description(i) :
							    "in all, of the device" });
	}
}

static void append_group(const struct page *page, const struct summary_table *table,
			 const struct alike_group *group, uint64_t end_ns)
{
	const struct allocation *one = &group->one;
	char size[STRING_NUMBER_BYTES], oldest[STRING_NUMBER_BYTES], newest[STRING_NUMBER_BYTES];
	char device[STRING_NUMBER_BYTES], addr[STRING_NUMBER_BYTES], count[STRING_NUMBER_BYTES];
	char blocks[2 * STRING_NUMBER_BYTES + 4];
	const bool alone = group->count == 1 && !group->at_least;

	snprintf(blocks, sizeof(blocks), "%s%s%s%s", alone ? "" : string_count(count, group->count),
		 group->at_least ? "+" : "", alone ? "" : " x ",
		 one->size_known ? size_text(page, size, one->size_bytes) : "size unknown");
	snprintf(addr, sizeof(addr), " 0x%llx", (ull)one->addr);
	string_count(device, one->device < 0 ? 0 : one->device);
	summary_table_row(
		table,
		(const char *[]){
			blocks, alone ? addr : " -", string_duration(oldest, end_ns - one->ts_ns),
			alone ? "-" : string_duration(newest, end_ns - group->newest_ts_ns), "",
			probe_space_name(one->space), one->device < 0 ? "-" : device, "",
			probe_at(one->row)->symbol });
}

/* Those that are alike together. */
static void append_largest(const struct page *page, const struct process *process)
{
	static const struct summary_column columns[] = {
		{ "LARGEST LIVE        ", 20, 0 },
		{ " ADDRESS", -15, 1 },
		{ "OLDEST", 9, 5 },
		{ "NEWEST", 9, 4 },
		{ "", 0, 0 },
		{ "SPACE", -10, 3 },
		{ "DEV", 3, 2 },
		{ "", 0, 0 },
		{ "ALLOCATED BY", -14, 0 },
		{ 0 },
	};
	const uint64_t end_ns = process->exited ? process->exit_ts_ns : page->summary->end_ns;
	size_t count = 0, i;
	struct alike_group *groups = alike_of(process, ALIKE_BLOCKS, &count);
	struct summary_table table;

	page->out->failed |= !groups;
	if (groups && count) {
		string_append_char(page->out, '\n');
		summary_table_begin(&table, page->out, page->width, columns);
		for (i = 0; i < count && i < GROUPS_SHOWN; i++)
			append_group(page, &table, &groups[i], end_ns);
		if (i < count)
			string_append_format(page->out, "  and blocks of %zu kinds more\n",
					     count - i);
	}
	free(groups);
}

static void append_moved(const struct page *page, const struct summary_table *table,
			 const char *what, const struct call_total *total)
{
	/* Per time that was observed: how busy it was, not how fast a transfer was. */
	bool observed = page->summary->end_ns != page->summary->start_ns;
	char count[STRING_NUMBER_BYTES], bytes[STRING_NUMBER_BYTES], rate[STRING_NUMBER_BYTES];
	char per_second[STRING_NUMBER_BYTES + 2];

	if (!total->count)
		return;
	snprintf(per_second, sizeof(per_second), "%s/s",
		 observed ? size_text(page, rate, summary_per_second(page->summary, total->bytes)) :
			    "-");
	summary_table_row(table,
			  (const char *[]){ what, string_count(count, total->count),
					    size_text(page, bytes, total->bytes), per_second });
	if (total->unknown_bytes)
		string_append_format(page->out, "  %-18s %11s of them with an unknown size\n", "",
				     string_count(count, total->unknown_bytes));
}

static void append_copies(const struct page *page, const struct process *process)
{
	static const struct summary_column columns[] = { { "MOVED", -18, 0 },
							 { "CALLS", 11, 2 },
							 { "BYTES", 15, 0 },
							 { "PER SECOND", 15, 1 },
							 { 0 } };
	uint64_t calls = process->memsets.count;
	struct summary_table table;
	char what[32];
	uint32_t i;

	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++)
		calls += process->copies[i].count;
	if (!calls)
		return;
	string_append_char(page->out, '\n');
	summary_table_begin(&table, page->out, page->width, columns);
	for (i = 0; i <= MS_DIRECTIONS_COUNT; i++) {
		snprintf(what, sizeof(what), "copy %s",
			 i < MS_DIRECTIONS_COUNT ? probe_direction_name(i) : "unknown");
		append_moved(page, &table, what, &process->copies[i]);
	}
	append_moved(page, &table, "memset", &process->memsets);
}

static int by_launches(const void *a, const void *b)
{
	const struct kernel *const *x = a, *const *y = b;

	return (*x)->launches < (*y)->launches ? 1 : (*x)->launches > (*y)->launches ? -1 : 0;
}

static void append_kernel(const struct page *page, const struct kernel *kernel)
{
	const size_t begin = page->out->length;
	char count[STRING_NUMBER_BYTES];

	string_append_format(page->out, "  %18s  ", string_count(count, kernel->launches));
	if (kernel->name)
		field_append_safe(page->out, kernel->name, strlen(kernel->name));
	else if (page->sum)
		string_append_text(page->out, "functions whose names were not seen");
	else
		string_append_format(page->out, "function 0x%llx (its name was not seen)",
				     (ull)kernel->handle);
	if (page->width)
		wrap_cut(page->out, begin, page->width);
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

static void append_function(const struct summary_table *table, const struct process *process,
			    const struct call_times *times)
{
	char calls[STRING_NUMBER_BYTES], failed[STRING_NUMBER_BYTES], total[STRING_NUMBER_BYTES];
	char p50[STRING_NUMBER_BYTES], p99[STRING_NUMBER_BYTES], longest[STRING_NUMBER_BYTES];

	summary_table_row(
		table,
		(const char *[]){ probe_at(times->row)->symbol, string_count(calls, times->calls),
				  process->entries_only ? "-" : string_count(failed, times->failed),
				  times->timed ? string_duration(total, times->total_ns) : "-",
				  percentile_text(p50, times, 50), percentile_text(p99, times, 99),
				  percentile_text(longest, times, 100) });
}

static void append_functions(const struct page *page, const struct process *process)
{
	static const struct summary_column columns[] = {
		{ "CALL", -26, 0 }, { "CALLS", 11, 0 }, { "FAILED", 8, 1 },  { "TOTAL", 9, 2 },
		{ "P50", 9, 4 },    { "P99", 9, 0 },    { "LONGEST", 9, 3 }, { 0 },
	};
	const struct call_times **sorted;
	struct summary_table table;
	size_t i;

	if (!process->times_count)
		return;
	sorted = call_times_sorted(process);
	if (!sorted) {
		page->out->failed = true;
		return;
	}
	string_append_char(page->out, '\n');
	summary_table_begin(&table, page->out, page->width, columns);
	for (i = 0; i < process->times_count && i < FUNCTIONS_SHOWN; i++)
		append_function(&table, process, sorted[i]);
	if (i < process->times_count)
		string_append_format(page->out, "  and %zu functions more\n",
				     process->times_count - i);
	free(sorted);
}

static void append_split(const struct summary_table *table, const char *what,
			 const struct call_split *split)
{
	char calls[STRING_NUMBER_BYTES], total[STRING_NUMBER_BYTES], ran[STRING_NUMBER_BYTES];
	char runnable[STRING_NUMBER_BYTES], blocked[STRING_NUMBER_BYTES];

	if (split->calls)
		summary_table_row(
			table,
			(const char *[]){ what, string_count(calls, split->calls),
					  string_duration(total, split->total_ns),
					  string_duration(ran, call_splits_running_ns(split)),
					  string_duration(blocked, split->blocked_ns),
					  string_duration(runnable, split->runnable_ns) });
}

/* Where calls spent their time. */
static void append_splits(const struct page *page, const struct process *process)
{
	static const struct summary_column columns[] = {
		{ "TIME IN CALLS", -26, 0 },
		{ "CALLS", 11, 1 },
		{ "TOTAL", 8, 3 },
		{ "RAN", 9, 2 },
		{ "BLOCKED", 9, 0 },
		{ "WAITED FOR CPU", 14, 0 },
		{ 0 },
	};
	const struct call_split sum = call_splits_sum(process);
	struct summary_table table;
	uint32_t op;

	if (!sum.calls)
		return;
	string_append_char(page->out, '\n');
	summary_table_begin(&table, page->out, page->width, columns);
	for (op = 0; op < MS_OPS_COUNT; op++)
		append_split(&table, probe_op_name(op), &process->splits[op]);
}

static void append_failures(const struct page *page, const struct process *process)
{
	static const struct summary_column columns[] = {
		{ "FAILED", 18, 0 }, { "", 0, 0 }, { "CALL", -22, 0 }, { "RESULT", -30, 0 }, { 0 }
	};
	char count[STRING_NUMBER_BYTES], result[80];
	struct summary_table table;
	size_t i;

	if (!process->failures_count)
		return;
	string_append_char(page->out, '\n');
	summary_table_begin(&table, page->out, page->width, columns);
	for (i = 0; i < process->failures_count; i++) {
		const struct failure *failure = &process->failures[i];
		const struct probe *probe = probe_at(failure->row);
		const char *name = probe_result_name(probe->layer, failure->result);

		snprintf(result, sizeof(result), "%s (%d)", name ? name : "unknown to CUDA 13.0",
			 failure->result);
		summary_table_row(&table, (const char *[]){ string_count(count, failure->count), "",
							    probe->symbol, result });
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
		string_append_format(
			page->out,
			"  %s had CUDA loaded before %s attached to: memory that %s held"
			" already is not in the numbers above.\n",
			who, page->sum ? "they were" : "it was", page->sum ? "they" : "it");
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
	snprintf(what, sizeof(what), "synchronisation%s, in which the host waited %s",
		 process->syncs.count == 1 ? "" : "s",
		 process->entries_only ? "for an unknown time" :
					 string_duration(waited, process->syncs.duration_ns));
	append_note(page, process->syncs.count, what);
	append_note(page, process->graph_launches,
		    process->graph_launches == 1 ? "launch of a graph" : "launches of graphs");
	for (counter = 0; counter < COUNTERS_COUNT; counter++)
		append_note(page, process->counters[counter],
			    process_counter_words(counter, process->counters[counter]));
	if (process->entries_only)
		string_append_text(page->out,
				   "  Calls were not followed to their ends (--no-return): whether"
				   " they succeeded, and what is live, is not known.\n");
	append_held_before(page, process);
	if (process->driver.missed_ns)
		string_append_text(page->out,
				   "  What was asked of the driver before its ioctls were seen is"
				   " not in what it holds.\n");
}

static void append_tensors(const struct page *page, const struct process *process)
{
	summary_tensors_append(page->out, process, page->width,
			       &(struct summary_sizes){ .exact = page->exact, .sum = page->sum });
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
	append_tensors(page, state->more);
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
		.out = out, .summary = summary, .width = options->width, .exact = options->exact
	};
	const size_t begin = out->length;
	size_t i;

	for (i = 0; i < summary->state->processes_count; i++) {
		const struct process *process = summary->state->processes[i];

		append_title(&page, process);
		append_spaces(&page, process);
		append_driver(&page, process);
		append_tensors(&page, process);
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
	summary_sites_append(page.out, summary, options);
	summary_nvml_append_devices(page.out, summary->state, options);
	summary_account_append(out, summary, options->lines);
	if (options->width)
		summary_table_wrap(out, begin, options->width);
}
