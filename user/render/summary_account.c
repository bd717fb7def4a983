// SPDX-License-Identifier: BSD-2-Clause
#include "render/summary_account.h"

#include "render/losses_words.h"

#define PLURAL(count) ((count) == 1 ? "" : "s")

typedef unsigned long long ull; /* for printf: uint64_t is unsigned long here, not everywhere */

static void append_reasons(struct string *out, const struct losses *losses)
{

	if (!losses_count(losses))
		return;
	string_append_text(out, "  why: ");
	losses_append_reasons(out, losses, LOSSES_FEWER_EVENTS);
	string_append_char(out, '\n');
}

static void append_losses(struct string *out, const struct summary *summary)
{
	const struct ms_counters *counters = &summary->counters;
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (counters->lost[op] && op != MS_OP_NAME)
			string_append_format(out, "  lost: %llu of %llu %s events\n",
					     (ull)counters->lost[op], (ull)counters->seen[op],
					     probe_op_name(op));
	if (summary->losses.others)
		string_append_format(
			out, "  lost: %llu other records (%s)\n", (ull)summary->losses.others,
			"kernel names, beginnings of frees, lives of processes, who they are,"
			" objects of the driver, stacks, tensors, markers, what GPUs did");
	append_reasons(out, &summary->losses);
	if (losses_of_memory(counters))
		string_append_text(
			out,
			"  Records of memory or contexts were lost: live bytes, peaks and totals"
			" above are not exact.\n");
}

static void append_filtered(struct string *out, const struct summary *summary)
{
	const char *before = "  filtered: ";
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++) {
		if (!summary->filtered_by_op[op])
			continue;
		string_append_format(out, "%s%llu %s", before, (ull)summary->filtered_by_op[op],
				     probe_op_name(op));
		before = ", ";
	}
	if (summary->filtered)
		string_append_text(out, " (-e all shows everything)\n");
	before = "  not captured, so not in the numbers above: ";
	for (op = 0; op < MS_OPS_COUNT; op++) {
		if (summary_captured(summary, op) || op == MS_OP_NAME)
			continue;
		string_append_format(out, "%s%s%s", before, probe_op_name(op),
				     op == MS_OP_LAUNCH ? " (except graphs)" : "");
		before = ", ";
	}
	if (*before == ',')
		string_append_text(out, " (-e says what is)\n");
}

static void append_cost(struct string *out, const struct summary *summary)
{
	const struct summary_cost *cost = &summary->cost;
	uint64_t observed_ns = summary->end_ns - summary->start_ns;
	uint64_t highest = cost->highest_critical > cost->highest_bulk ? cost->highest_critical :
									 cost->highest_bulk;
	char cpu[STRING_NUMBER_BYTES], used[STRING_NUMBER_BYTES], size[STRING_NUMBER_BYTES];

	if (!cost->ring_bytes)
		return;
	string_append_format(out, "  tracing took %s of CPU time",
			     string_duration(cpu, cost->cpu_ns));
	if (observed_ns)
		string_append_format(out, " (%.1f %% of a core)",
				     100.0 * cost->cpu_ns / observed_ns);
	string_append_format(out, " and at most %s of a ring buffer's %s",
			     string_size(used, highest), string_size(size, cost->ring_bytes));
	if (cost->bpf_runs)
		string_append_format(out, "; BPF ran %s time%s, %s each",
				     string_count(used, cost->bpf_runs), PLURAL(cost->bpf_runs),
				     string_duration(cpu, cost->bpf_ns / cost->bpf_runs));
	string_append_char(out, '\n');
}

/* Who reads the numbers above must not take them for all that there was. */
static void append_not_traced(struct string *out, const struct summary *summary)
{
	const uint64_t forks = summary->forks ? untraced_forks_sum(summary->forks) : 0;

	if (summary->missed_processes)
		string_append_format(out,
				     "  not traced: at least %llu process%s that could not be"
				     " attached to in time; calls may be missing\n",
				     (ull)summary->missed_processes,
				     summary->missed_processes == 1 ? "" : "es");
	if (summary->untraced)
		string_append_format(out,
				     "  not traced: at least %llu descendant%s that used CUDA (-f"
				     " traces children, too)\n",
				     (ull)summary->untraced, PLURAL(summary->untraced));
	if (forks)
		string_append_format(out,
				     "  not traced: at least %llu child%s that %s forked with the"
				     " driver mapped; whether %s used CUDA is not known (-f traces"
				     " children, too)\n",
				     (ull)forks, forks == 1 ? "" : "ren",
				     forks == 1 ? "was" : "were", forks == 1 ? "it" : "they");
}

void summary_account_append(struct string *out, const struct summary *summary, bool lines)
{
	char duration[STRING_NUMBER_BYTES];

	string_append_format(out,
			     "\n%llu event%s seen = %llu %s + %llu filtered + %llu lost, in %s\n",
			     (ull)summary->losses.seen, PLURAL(summary->losses.seen),
			     (ull)summary->shown, lines ? "shown" : "counted",
			     (ull)summary->filtered, (ull)summary->losses.calls,
			     string_duration(duration, summary->end_ns - summary->start_ns));
	append_filtered(out, summary);
	if (summary->left_out)
		string_append_format(
			out, "  left out: %llu call%s of processes that were not asked for\n",
			(ull)summary->left_out, PLURAL(summary->left_out));
	append_losses(out, summary);
	append_not_traced(out, summary);
	append_cost(out, summary);
	if (summary->counters.abandoned)
		string_append_format(out,
				     "  %llu call%s never returned (longjmp or an exception)\n",
				     (ull)summary->counters.abandoned,
				     PLURAL(summary->counters.abandoned));
	if (summary->refused)
		string_append_format(out,
				     "  %llu record%s could not be decoded: report this as a bug\n",
				     (ull)summary->refused, PLURAL(summary->refused));
}
