// SPDX-License-Identifier: BSD-2-Clause
#include "output/diff_md.h"

#include <string.h>

#include "output/diff_words.h"
#include "output/report_md.h"
#include "output/report_words.h"

struct writer_of_diff {
	struct md md;
	const struct diff *diff;
	size_t top;
};

#define COLUMNS 3

/* How the rows of a dimension are shown: what they are about, then numbers, each with its change. */
static const struct table {
	const char *keys, *rule;
	struct {
		const char *title;
		enum diff_metric metric;
	} columns[COLUMNS]; /* ends with one without a title */
} tables[DIFF_DIMENSIONS_COUNT] = {
	[DIFF_DEVICE] = { "Device",
			  "--:",
			  { { "Explained at the end", DIFF_LIVE_BYTES },
			    { "Peak", DIFF_PEAK_BYTES } } },
	[DIFF_SPACE] = { "Process | Memory",
			 "---|---",
			 { { "At the end", DIFF_LIVE_BYTES },
			   { "Peak", DIFF_PEAK_BYTES },
			   { "Allocated", DIFF_ALLOC_BYTES } } },
	[DIFF_API] = { "Process | Allocated by | Memory | Device",
		       "---|---|---|--:",
		       { { "At the end", DIFF_LIVE_BYTES },
			 { "In the peak", DIFF_PEAK_BYTES },
			 { "Allocated", DIFF_ALLOC_BYTES } } },
	[DIFF_SIZE] = { "Process | Allocated by | Memory | Device | Sizes",
			"---|---|---|--:|---",
			{ { "At the end", DIFF_LIVE_BYTES },
			  { "Blocks", DIFF_LIVE_COUNT },
			  { "Allocations", DIFF_ALLOCS } } },
	[DIFF_KERNEL] = { "Process | Kernel", "---|---", { { "Launches", DIFF_CALLS } } },
	[DIFF_COPY] = { "Process | Direction",
			"---|---",
			{ { "Copies", DIFF_CALLS }, { "Bytes", DIFF_CALL_BYTES } } },
	[DIFF_CALL] = { "Process | What",
			"---|---",
			{ { "Calls", DIFF_CALLS }, { "Bytes", DIFF_CALL_BYTES } } },
	[DIFF_FAILURE] = { "Process | Call | Result", "---|---|---", { { "Calls", DIFF_CALLS } } },
};

static void append_pair(struct md *md, const struct diff_pair *pair)
{
	diff_append_pair(&md->scratch, pair);
	md_escaped(md->out, md->scratch.bytes, md->scratch.length);
	md->out->failed |= md->scratch.failed;
	string_clear(&md->scratch);
}

/* ---- what is compared ------------------------------------------------------------------------ */

static void append_verdict(struct md *md, const struct diff *diff)
{
	struct diff_verdict verdict;
	size_t i;

	diff_verdict_make(&verdict, diff);
	for (i = 0; i < verdict.count; i++) {
		md_escaped(md->out, verdict.sentences[i].bytes, verdict.sentences[i].length);
		string_append_text(md->out, i + 1 < verdict.count ? " " : "\n");
		md->out->failed |= verdict.sentences[i].failed;
	}
	diff_verdict_fini(&verdict);
}

static void append_lost(struct md *md, const struct report *side, size_t i)
{
	const struct report_recording *recording = side->recordings[i];

	if (report_has_losses(recording))
		string_append_text(md->out, "something");
	else
		string_append_text(md->out, "nothing");
	if (report_lost(&recording->coverage))
		string_append_format(md->out, " (%s records)",
				     MD_COUNT(report_lost(&recording->coverage)));
	if (report_is_inexact(recording))
		string_append_text(md->out, "; what is live is not exact");
}

static void append_recording(struct md *md, const struct report *side, size_t i, const char *name)
{
	const struct report_coverage *coverage = &side->recordings[i]->coverage;

	md->recording = side->recordings[i];
	string_append_format(md->out, "| %s | ", name);
	md_text_or(md, coverage->files_count ? coverage->files[0] : NULL, "?");
	if (coverage->files_count > 1)
		string_append_format(md->out, " and %zu more", coverage->files_count - 1);
	string_append_text(md->out, " | ");
	md_text_or(md, coverage->host, "?");
	string_append_text(md->out, " | ");
	md_text_or(md, coverage->targets, "?");
	string_append_text(md->out, " | ");
	md_time(md, report_begin_ns(md->recording));
	string_append_format(
		md->out, " | %s | %s | ",
		MD_DURATION(report_end_ns(md->recording) - report_begin_ns(md->recording)),
		MD_COUNT(coverage->account.calls));
	append_lost(md, side, i);
	string_append_text(md->out, " |\n");
}

static void append_side(struct writer_of_diff *writer, const struct report *side, const char *name)
{
	size_t i;

	for (i = 0; i < side->count && i < writer->top; i++)
		append_recording(&writer->md, side, i, name);
	if (i < side->count)
		string_append_format(writer->md.out, "| %s | %zu more | | | | | | |\n", name,
				     side->count - i);
	if (side->refused)
		string_append_format(writer->md.out,
				     "| %s | %zu that could not be used | | | | | | |\n", name,
				     side->refused);
}

static void append_sides(struct writer_of_diff *writer)
{
	string_append_text(writer->md.out,
			   "\n| | Recording | Host | Of | From | Length | Events | Lost |\n"
			   "|---|---|---|---|---|--:|--:|---|\n");
	append_side(writer, writer->diff->a, "A, before");
	append_side(writer, writer->diff->b, "B, now");
}

static void append_noise(struct writer_of_diff *writer)
{
	const struct diff_options *options = &writer->diff->options;
	struct string *out = writer->md.out;

	string_append_format(out,
			     "\nA difference is more than noise if it is at least %s or %s calls or"
			     " blocks, and %llu %% of the larger side (--min-bytes, --min-count,"
			     " --min-share). ",
			     MD_SIZE(options->min_bytes), MD_COUNT(options->min_count),
			     (unsigned long long)options->min_share);
	string_append_format(out, "%s number%s by less.\n", MD_COUNT(writer->diff->below_noise),
			     writer->diff->below_noise == 1 ? " differs" : "s differ");
	if (writer->diff->rows_count)
		string_append_text(out, "Changes beyond it are **bold**.\n");
	if (writer->diff->devices_skipped)
		string_append_text(out, "Devices are not compared: there are several recordings, or"
					" what is live is not known.\n");
}

/* ---- processes ------------------------------------------------------------------------------- */

static void append_ops(struct md *md, const struct diff_pair *pair)
{
	const char *before = "not compared: ";
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++) {
		if (!(pair->not_compared >> op & 1))
			continue;
		string_append_format(md->out, "%s%s", before, probe_op_name(op));
		before = ", ";
	}
	if (pair->no_levels)
		string_append_text(md->out, *before == ',' ? "; what is live is not known" :
							     "what is live is not known");
}

static void append_process(struct md *md, const struct diff_pair *pair)
{
	const char *match = diff_match_name(pair->match);

	string_append_text(md->out, "| ");
	append_pair(md, pair);
	string_append_format(md->out, " | %s | ",
			     pair->presence == DIFF_IN_BOTH ? "in both" :
							      diff_presence_name(pair->presence));
	string_append_text(md->out, match ? match : "");
	if (pair->alike_a > 1 || pair->alike_b > 1)
		string_append_format(md->out,
				     "; of %zu and %zu alike, by the order of their starts",
				     pair->alike_a, pair->alike_b);
	string_append_format(md->out, " | %s | %s | ",
			     pair->a.process ? MD_DURATION(pair->a.length_ns) : "",
			     pair->b.process ? MD_DURATION(pair->b.length_ns) : "");
	string_append_format(md->out, "%s | ",
			     pair->basis == DIFF_PER_SECOND ? "not at all" :
							      diff_basis_name(pair->basis));
	append_ops(md, pair);
	string_append_format(md->out, "%s |\n", pair->uncertain ? " not exact" : "");
}

/* Those that differ; of the others, how many there are. */
static void append_processes(struct writer_of_diff *writer)
{
	const struct diff *diff = writer->diff;
	struct string *out = writer->md.out;
	size_t shown = 0, left_out = 0, same = 0, i;

	string_append_text(out, "\n## Processes\n");
	for (i = 0; i < diff->pairs_count; i++) {
		if (!diff->pairs[i].differs) {
			same++;
			continue;
		}
		if (shown == writer->top) {
			left_out++;
			continue;
		}
		if (!shown++)
			string_append_text(out,
					   "\n| Process | | Matched by | Seen in A for | in B for |"
					   " What was done is compared per | |\n"
					   "|---|---|---|--:|--:|---|---|\n");
		append_process(&writer->md, &diff->pairs[i]);
	}
	if (left_out)
		string_append_format(out, "\n%zu more.\n", left_out);
	if (same)
		string_append_format(out, "\n%zu process%s not differ beyond noise.\n", same,
				     same == 1 ? " does" : "es do");
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void append_device(struct md *md, const struct diff_row *row)
{
	string_append_text(md->out, " | ");
	if (row->device >= 0)
		string_append_i64(md->out, row->device);
	else if (usage_is_on_device(row->space))
		string_append_char(md->out, '?');
}

static void append_result(struct md *md, const struct diff_row *row)
{
	const struct probe *probe = probe_at(row->row);
	const char *name = probe_result_name(probe->layer, row->result);

	string_append_format(md->out, " | %s | %s (%d)", probe->symbol, name ? name : "unknown",
			     row->result);
}

/* What the row is about, but for the process. */
static void append_keys(struct md *md, const struct diff_row *row)
{
	switch (row->dimension) {
	case DIFF_SPACE:
		string_append_format(md->out, " | %s", probe_space_name(row->space));
		break;
	case DIFF_API:
	case DIFF_SIZE:
		string_append_format(md->out, " | %s | %s", probe_at(row->row)->symbol,
				     probe_space_name(row->space));
		append_device(md, row);
		if (row->dimension == DIFF_API)
			break;
		string_append_text(md->out, " | ");
		diff_append_class(md->out, row->size_class);
		break;
	case DIFF_KERNEL:
		string_append_text(md->out, " | ");
		md_text_or(md, row->kernel, "unknown");
		break;
	case DIFF_COPY:
		string_append_format(md->out, " | %s",
				     diff_direction(row) ? diff_direction(row) : "unknown");
		break;
	case DIFF_CALL:
		string_append_format(md->out, " | %s", diff_call_name(row->call));
		break;
	case DIFF_FAILURE:
		append_result(md, row);
		break;
	case DIFF_DEVICE:
	case DIFF_DIMENSIONS_COUNT:
		break;
	}
}

static void append_number(struct md *md, const struct diff_row *row, enum diff_metric metric)
{
	const enum finding_unit unit = diff_metric_unit(metric);
	const char *strong = row->beyond >> metric & 1 ? "**" : "";

	if (!(row->known >> metric & 1)) {
		string_append_text(md->out, " | ? | ?");
		return;
	}
	string_append_format(
		md->out, " | %s | %s",
		unit == FINDING_BYTES ? MD_SIZE(row->b[metric]) : MD_COUNT(row->b[metric]), strong);
	diff_append_change(md->out, unit, row->a[metric], row->b[metric]);
	string_append_text(md->out, strong);
}

static void append_row(struct md *md, const struct diff_row *row)
{
	const struct table *table = &tables[row->dimension];
	size_t i;

	string_append_text(md->out, "| ");
	if (row->pair)
		append_pair(md, row->pair);
	else
		md_device(md, row->device);
	append_keys(md, row);
	for (i = 0; i < COLUMNS && table->columns[i].title; i++)
		append_number(md, row, table->columns[i].metric);
	string_append_format(md->out, " | %s%s%s |\n",
			     row->presence == DIFF_IN_BOTH ? "" : diff_presence_name(row->presence),
			     row->presence != DIFF_IN_BOTH && row->uncertain ? ", " : "",
			     row->uncertain ? "not exact" : "");
}

static void append_head(struct md *md, enum diff_dimension dimension)
{
	const struct table *table = &tables[dimension];
	size_t i;

	string_append_format(md->out, "\n## %s\n\n| %s", diff_title(dimension), table->keys);
	for (i = 0; i < COLUMNS && table->columns[i].title; i++)
		string_append_format(md->out, " | %s | Change", table->columns[i].title);
	string_append_format(md->out, " | |\n|%s|", table->rule);
	for (i = 0; i < COLUMNS && table->columns[i].title; i++)
		string_append_text(md->out, "--:|--:|");
	string_append_text(md->out, "---|\n");
}

static void append_rows(struct writer_of_diff *writer, enum diff_dimension dimension)
{
	const struct diff *diff = writer->diff;
	size_t count = 0, i;

	for (i = 0; i < diff->rows_count; i++) {
		if (diff->rows[i].dimension != dimension)
			continue;
		if (!count)
			append_head(&writer->md, dimension);
		if (count++ < writer->top)
			append_row(&writer->md, &diff->rows[i]);
	}
	if (count > writer->top)
		string_append_format(writer->md.out, "\n%zu more.\n", count - writer->top);
}

/* ---- findings -------------------------------------------------------------------------------- */

static void append_finding(struct md *md, const struct diff_finding *one)
{
	const struct finding *finding = one->b ? one->b : one->a;

	string_append_format(md->out, "| %s | ", diff_presence_name(one->presence));
	md_process(md, finding->pid, finding->comm);
	string_append_format(
		md->out, " | %s | %s | %s | %s | %s | %s | %s | ", finding_rule_name(finding->rule),
		finding->row == MS_NO_ROW ? "" : probe_at(finding->row)->symbol,
		finding->space == MS_SPACE_NONE ? "" : probe_space_name(finding->space),
		MD_COUNT(one->count_a), MD_SIZE(one->bytes_a), MD_COUNT(one->count_b),
		MD_SIZE(one->bytes_b));
	if (one->timed)
		string_append_text(md->out, "rests on how long things took: it may come and go");
	else if (one->uncertain)
		string_append_text(md->out, "not exact");
	string_append_text(md->out, " |\n");
}

static void append_findings(struct writer_of_diff *writer)
{
	const struct diff *diff = writer->diff;
	size_t i;

	if (!diff->findings_count)
		return;
	string_append_text(writer->md.out,
			   "\n## Findings\n\n"
			   "| | Process | Rule | Call | Memory | In A | Bytes | In B | Bytes | |\n"
			   "|---|---|---|---|---|--:|--:|--:|--:|---|\n");
	for (i = 0; i < diff->findings_count && i < writer->top; i++)
		append_finding(&writer->md, &diff->findings[i]);
	if (i < diff->findings_count)
		string_append_format(writer->md.out, "\n%zu more.\n", diff->findings_count - i);
}

/* ---- rates ----------------------------------------------------------------------------------- */

static void append_rate(struct md *md, const struct diff_pair *pair, enum diff_rate rate)
{
	uint64_t a = diff_rate_of(&pair->a, rate), b = diff_rate_of(&pair->b, rate);

	string_append_text(md->out, " | ");
	report_append_value(md->out, NULL, diff_rate_unit(rate), a);
	string_append_text(md->out, " | ");
	report_append_value(md->out, NULL, diff_rate_unit(rate), b);
}

static void append_rates_of(struct md *md, const struct diff_pair *pair)
{
	enum diff_rate rate;

	string_append_text(md->out, "| ");
	append_pair(md, pair);
	for (rate = 0; rate < DIFF_RATES_COUNT; rate++)
		append_rate(md, pair, rate);
	string_append_text(md->out, " |\n");
}

static void append_rates_head(struct md *md)
{
	enum diff_rate rate;

	string_append_text(md->out, "\n## Rates and times\n\n"
				    "They depend on the machine and its other work, and are never a"
				    " difference.\n\n| Process");
	for (rate = 0; rate < DIFF_RATES_COUNT; rate++)
		string_append_format(md->out, " | %s in A | in B", diff_rate_title(rate));
	string_append_text(md->out, " |\n|---|");
	for (rate = 0; rate < DIFF_RATES_COUNT; rate++)
		string_append_text(md->out, "--:|--:|");
	string_append_char(md->out, '\n');
}

static void append_rates(struct writer_of_diff *writer)
{
	const struct diff *diff = writer->diff;
	size_t count = 0, i;

	for (i = 0; i < diff->pairs_count; i++) {
		if (!diff_rates_differ(&diff->pairs[i]))
			continue;
		if (!count)
			append_rates_head(&writer->md);
		if (count++ < writer->top)
			append_rates_of(&writer->md, &diff->pairs[i]);
	}
	if (count > writer->top)
		string_append_format(writer->md.out, "\n%zu more.\n", count - writer->top);
}

void diff_md(struct string *out, const struct diff *diff, size_t top)
{
	struct writer_of_diff writer = { .md = { .out = out }, .diff = diff, .top = top };
	enum diff_dimension dimension;

	string_append_text(out, "# GPU memory: what changed\n\n");
	append_verdict(&writer.md, diff);
	append_sides(&writer);
	append_noise(&writer);
	append_processes(&writer);
	for (dimension = 0; dimension < DIFF_DIMENSIONS_COUNT; dimension++)
		append_rows(&writer, dimension);
	append_findings(&writer);
	append_rates(&writer);
	string_fini(&writer.md.scratch);
}
