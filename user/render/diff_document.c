// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_document.h"

#include <string.h>

#include "render/diff_notes.h"
#include "render/diff_words.h"
#include "render/field.h"
#include "render/report_words.h"
#include "render/stack_words.h"

#define KEYS 5
#define NUMBERS 3
#define COLUMNS (KEYS + 2 * NUMBERS + 2)

struct walk {
	struct document *document;
	const struct diff *diff;
};

/* How rows of a dimension are shown: what they are about, then numbers, each with its change. */
static const struct layout {
	struct document_column keys[KEYS + 1];
	struct {
		const char *title;
		enum diff_metric metric;
	} numbers[NUMBERS + 1];
} layouts[DIFF_DIMENSIONS_COUNT] = {
	[DIFF_DEVICE] = { { { "Device", DOCUMENT_NUMBER } },
			  { { "Explained at the end", DIFF_LIVE_BYTES },
			    { "Peak", DIFF_PEAK_BYTES } } },
	[DIFF_MEMORY] = { { { "Process", DOCUMENT_TEXT } },
			  { { "At the end", DIFF_LIVE_BYTES }, { "Peak", DIFF_PEAK_BYTES } } },
	[DIFF_SPACE] = { { { "Process", DOCUMENT_TEXT }, { "Memory", DOCUMENT_TEXT } },
			 { { "At the end", DIFF_LIVE_BYTES },
			   { "Peak", DIFF_PEAK_BYTES },
			   { "Allocated", DIFF_ALLOC_BYTES } } },
	[DIFF_API] = { { { "Process", DOCUMENT_TEXT },
			 { "Allocated by", DOCUMENT_TEXT },
			 { "Memory", DOCUMENT_TEXT },
			 { "Device", DOCUMENT_NUMBER } },
		       { { "At the end", DIFF_LIVE_BYTES },
			 { "In the peak", DIFF_PEAK_BYTES },
			 { "Allocated", DIFF_ALLOC_BYTES } } },
	[DIFF_SIZE] = { { { "Process", DOCUMENT_TEXT },
			  { "Allocated by", DOCUMENT_TEXT },
			  { "Memory", DOCUMENT_TEXT },
			  { "Device", DOCUMENT_NUMBER },
			  { "Sizes", DOCUMENT_TEXT } },
			{ { "At the end", DIFF_LIVE_BYTES },
			  { "Blocks", DIFF_LIVE_COUNT },
			  { "Allocations", DIFF_ALLOCS } } },
	[DIFF_SITE] = { { { "Process", DOCUMENT_TEXT }, { "Allocated in", DOCUMENT_TEXT } },
			{ { "At the end", DIFF_LIVE_BYTES },
			  { "Peak", DIFF_PEAK_BYTES },
			  { "Allocated", DIFF_ALLOC_BYTES } } },
	[DIFF_KERNEL] = { { { "Process", DOCUMENT_TEXT }, { "Kernel", DOCUMENT_TEXT } },
			  { { "Launches", DIFF_CALLS } } },
	[DIFF_COPY] = { { { "Process", DOCUMENT_TEXT }, { "Direction", DOCUMENT_TEXT } },
			{ { "Copies", DIFF_CALLS }, { "Bytes", DIFF_CALL_BYTES } } },
	[DIFF_CALL] = { { { "Process", DOCUMENT_TEXT }, { "What", DOCUMENT_TEXT } },
			{ { "Calls", DIFF_CALLS }, { "Bytes", DIFF_CALL_BYTES } } },
	[DIFF_FAILURE] = { { { "Process", DOCUMENT_TEXT },
			     { "Call", DOCUMENT_TEXT },
			     { "Result", DOCUMENT_TEXT } },
			   { { "Calls", DIFF_CALLS } } },
};

/* ---- cells ----------------------------------------------------------------------------------- */

static void cell_value(struct walk *walk, enum finding_unit unit, uint64_t value)
{
	document_cell_value(walk->document, true, unit, value);
}

static void cell_change(struct walk *walk, enum finding_unit unit, uint64_t a, uint64_t b,
			bool strong)
{
	diff_append_change(&walk->document->text, unit, a, b);
	document_cell_as(
		walk->document,
		(struct document_cell){ .sorted = true,
					.strong = strong,
					.value = (int64_t)(b - a),
					.exact = unit == FINDING_BYTES ?
							 REPORT_COUNT(a > b ? a - b : b - a) :
							 NULL });
}

static void heading(struct walk *walk, const char *name, const char *text)
{
	string_append_text(&walk->document->text, text);
	document_heading(walk->document, 2, name);
}

static void cell_pair(struct walk *walk, const struct diff_pair *pair)
{
	diff_append_pair(&walk->document->text, pair);
	document_cell(walk->document);
}

/* ---- what is compared ------------------------------------------------------------------------ */

static void draw_recording(struct walk *walk, const struct report_recording *recording,
			   const char *name)
{
	const struct report_coverage *coverage = &recording->coverage;
	const uint64_t begin_ns = report_begin_ns(recording);

	if (!document_row(walk->document))
		return;
	document_cell_words(walk->document, name);
	if (coverage->files_count > 1)
		string_append_format(&walk->document->text, "%zu files, the first ",
				     coverage->files_count);
	document_cell_text(walk->document, coverage->files_count ? coverage->files[0] : NULL);
	document_cell_text(walk->document, coverage->host);
	document_cell_text(walk->document, coverage->targets);
	report_append_time(&walk->document->text, recording, begin_ns);
	document_cell(walk->document);
	cell_value(walk, FINDING_NS, report_end_ns(recording) - begin_ns);
	cell_value(walk, FINDING_COUNT, coverage->account.calls);
	diff_notes_append_lost(&walk->document->text, recording);
	document_cell(walk->document);
	document_row_end(walk->document);
}

static void draw_sides(struct walk *walk)
{
	static const struct document_column columns[] = {
		{ "Side", DOCUMENT_TEXT },
		{ "Recording", DOCUMENT_TEXT },
		{ "Host", DOCUMENT_TEXT },
		{ "Of", DOCUMENT_TEXT },
		{ "From", DOCUMENT_VALUE },
		{ "Length", DOCUMENT_NUMBER },
		{ "Events", DOCUMENT_NUMBER },
		{ "Lost", DOCUMENT_TEXT },
		{ 0 },
	};
	const struct report *sides[] = { walk->diff->a, walk->diff->b };
	static const char *const names[] = { "A, before", "B, now" };
	size_t i, j;

	document_table_top(walk->document, "sides", "Recordings", columns);
	for (i = 0; i < 2; i++)
		for (j = 0; j < sides[i]->count; j++)
			draw_recording(walk, sides[i]->recordings[j], names[i]);
	document_table_end(walk->document);
	for (i = 0; i < 2; i++) {
		if (!sides[i]->refused)
			continue;
		string_append_format(&walk->document->text,
				     "%c: %zu of the files could not be used.", "AB"[i],
				     sides[i] -> refused);
		document_paragraph(walk->document);
	}
}

static void draw_noise(struct walk *walk)
{
	const struct diff *diff = walk->diff;
	const struct diff_options *options = &diff->options;

	string_append_format(
		&walk->document->text,
		"A difference is more than noise if it is at least %s or %s calls or"
		" blocks, and %llu %% of the larger side (--min-bytes, --min-count,"
		" --min-share); what is on one side only is one in any case. %s row%s by"
		" less.",
		REPORT_SIZE(options->min_bytes), REPORT_COUNT(options->min_count),
		(unsigned long long)options->min_share, REPORT_COUNT(diff->below_noise),
		diff->below_noise == 1 ? " differs" : "s differ");
	if (diff->rows_count)
		string_append_format(&walk->document->text, " Changes beyond it are %s.",
				     walk->document->format->emphasis);
	if (diff->devices_skipped)
		string_append_text(&walk->document->text,
				   " Devices are not compared: there are several recordings, or"
				   " what is live is not known.");
	diff_notes_append_stacks(&walk->document->text, diff);
	document_paragraph(walk->document);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void append_not_compared(struct string *out, const struct diff_pair *pair)
{
	const char *before = "not compared: ";
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++) {
		if (!(pair->not_compared >> op & 1))
			continue;
		string_append_format(
			out, "%s%s%s", before, probe_op_name(op),
			op == MS_OP_LAUNCH && !pair->no_graph_launches ? " (except graphs)" : "");
		before = ", ";
	}
	if (pair->no_levels)
		string_append_format(out, "%swhat is live is not known", out->length ? "; " : "");
	if (pair->uncertain)
		string_append_format(out, "%snot exact", out->length ? "; " : "");
	if (diff_ends_differ(pair)) {
		string_append_text(out, out->length ? "; " : "");
		diff_append_ends(out, pair);
	}
}

static void cell_length(struct walk *walk, const struct diff_process *side)
{
	if (side->process)
		cell_value(walk, FINDING_NS, side->length_ns);
	else
		document_cell(walk->document);
}

static void draw_process(struct walk *walk, const struct diff_pair *pair)
{
	const char *match = diff_match_name(pair->match);

	if (!document_row(walk->document))
		return;
	cell_pair(walk, pair);
	document_cell_words(walk->document, pair->presence == DIFF_IN_BOTH ?
						    "both" :
						    diff_presence_name(pair->presence));
	string_append_text(&walk->document->text, match ? match : "");
	if (pair->alike_a > 1 || pair->alike_b > 1)
		string_append_format(&walk->document->text,
				     "; of %zu and %zu alike, by the order of their starts",
				     pair->alike_a, pair->alike_b);
	document_cell(walk->document);
	cell_length(walk, &pair->a);
	cell_length(walk, &pair->b);
	document_cell_words(walk->document, pair->basis == DIFF_PER_SECOND ?
						    "not at all" :
						    diff_basis_name(pair->basis));
	append_not_compared(&walk->document->text, pair);
	document_cell(walk->document);
	document_row_end(walk->document);
}

/* Those that differ; of the others, how many there are. */
static void draw_processes(struct walk *walk)
{
	static const struct document_column columns[] = {
		{ "Process", DOCUMENT_TEXT },    { "In", DOCUMENT_TEXT },
		{ "Matched by", DOCUMENT_TEXT }, { "Seen in A for", DOCUMENT_NUMBER },
		{ "in B for", DOCUMENT_NUMBER }, { "What was done is compared per", DOCUMENT_TEXT },
		{ "Note", DOCUMENT_TEXT },       { 0 },
	};
	const struct diff *diff = walk->diff;
	size_t differing = 0, i;

	heading(walk, "processes", "Processes");
	for (i = 0; i < diff->pairs_count; i++) {
		if (!diff->pairs[i].differs)
			continue;
		if (!differing++)
			document_table_top(walk->document, "processes", "Processes that differ",
					   columns);
		draw_process(walk, &diff->pairs[i]);
	}
	if (differing)
		document_table_end(walk->document);
	if (differing == diff->pairs_count && differing)
		return;
	string_append_format(&walk->document->text, "%zu process%s not differ beyond noise.",
			     diff->pairs_count - differing,
			     diff->pairs_count - differing == 1 ? " does" : "es do");
	document_paragraph(walk->document);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void append_chain(struct string *out, const struct diff_row *of)
{
	struct string words = { 0 };

	if (of->no_line)
		stack_words_append_functions(&words, of->stacks, of->stack);
	else
		stack_words_append_chain(&words, of->stacks, of->stack);
	field_append_safe(out, words.bytes, words.length);
	out->failed |= words.failed;
	string_fini(&words);
}

static void append_key(struct string *out, const struct diff_row *of, size_t place)
{
	const struct probe *probe = probe_at(of->row);
	const char *name;

	switch (of->dimension) {
	case DIFF_SPACE:
		string_append_text(out, probe_space_name(of->space));
		break;
	case DIFF_API:
	case DIFF_SIZE:
		if (place == 1)
			string_append_text(out, probe->symbol);
		else if (place == 2)
			string_append_text(out, probe_space_name(of->space));
		else
			diff_append_class(out, of->size_class);
		break;
	case DIFF_SITE:
		append_chain(out, of);
		break;
	case DIFF_KERNEL:
		name = of->kernel ? of->kernel : "unknown";
		field_append_safe(out, name, strlen(name));
		break;
	case DIFF_COPY:
		string_append_text(out, diff_direction(of) ? diff_direction(of) : "unknown");
		break;
	case DIFF_CALL:
		string_append_text(out, diff_call_name(of->call));
		break;
	case DIFF_FAILURE:
		name = probe_result_name(probe->layer, of->result);
		if (place == 1)
			string_append_text(out, probe->symbol);
		else
			string_append_format(out, "%s (%d)", name ? name : "unknown", of->result);
		break;
	case DIFF_DEVICE:
	case DIFF_MEMORY:
	case DIFF_DIMENSIONS_COUNT:
		break;
	}
}

/* Host memory has none. */
static void cell_device(struct walk *walk, const struct diff_row *of)
{
	if (of->device >= 0)
		cell_value(walk, FINDING_COUNT, (uint64_t)of->device);
	else
		document_cell_words(walk->document,
				    !of->pair || usage_is_on_device(of->space) ? "?" : "");
}

static void draw_keys(struct walk *walk, const struct diff_row *of)
{
	const struct document_column *key = layouts[of->dimension].keys;
	size_t place;

	for (place = 0; key[place].name; place++) {
		if (key[place].kind & DOCUMENT_NUMBER) {
			cell_device(walk, of);
			continue;
		}
		if (!place)
			diff_append_pair(&walk->document->text, of->pair);
		else
			append_key(&walk->document->text, of, place);
		document_cell(walk->document);
	}
}

/* If the row is there only for numbers that have no column, the note has them: `shown` is a set. */
static void draw_note(struct walk *walk, const struct diff_row *of, uint32_t shown)
{
	const bool hidden = !(of->beyond & shown);
	enum diff_metric metric;

	if (of->presence != DIFF_IN_BOTH)
		string_append_text(&walk->document->text, diff_presence_name(of->presence));
	for (metric = 0; hidden && metric < DIFF_METRICS_COUNT; metric++) {
		if (!(of->beyond >> metric & 1))
			continue;
		string_append_text(&walk->document->text, walk->document->text.length ? ", " : "");
		diff_append_metric(&walk->document->text, of, metric);
	}
	if (of->uncertain)
		string_append_format(&walk->document->text, "%snot exact",
				     walk->document->text.length ? ", " : "");
	document_cell_as(walk->document, (struct document_cell){ .strong = hidden });
}

static void draw_row(struct walk *walk, const struct diff_row *of)
{
	const struct layout *layout = &layouts[of->dimension];
	uint32_t shown = 0;
	size_t i;

	if (!document_row(walk->document))
		return;
	draw_keys(walk, of);
	for (i = 0; layout->numbers[i].title; i++) {
		const enum diff_metric metric = layout->numbers[i].metric;

		if (!(of->known >> metric & 1)) {
			document_cell_words(walk->document, "?");
			document_cell_words(walk->document, "?");
			continue;
		}
		cell_value(walk, diff_metric_unit(metric), of->b[metric]);
		cell_change(walk, diff_metric_unit(metric), of->a[metric], of->b[metric],
			    of->beyond >> metric & 1);
		shown |= 1u << metric;
	}
	draw_note(walk, of, shown);
	document_row_end(walk->document);
}

static void draw_head(struct walk *walk, enum diff_dimension dimension)
{
	const struct layout *layout = &layouts[dimension];
	struct document_column columns[COLUMNS] = { 0 };
	size_t count = 0, i;

	for (i = 0; layout->keys[i].name; i++)
		columns[count++] = layout->keys[i];
	for (i = 0; layout->numbers[i].title; i++) {
		columns[count++] = (struct document_column){ layout->numbers[i].title, true };
		columns[count++] = (struct document_column){ "Change", DOCUMENT_NUMBER };
	}
	columns[count] = (struct document_column){ "Note", DOCUMENT_TEXT };
	heading(walk, diff_dimension_name(dimension), diff_title(dimension));
	if (dimension == DIFF_DEVICE)
		diff_notes_append_ended(&walk->document->text, walk->diff);
	if (walk->document->text.length)
		document_paragraph(walk->document);
	document_table_top(walk->document, diff_dimension_name(dimension),
			   "Now, and the change since A", columns);
}

static void draw_rows(struct walk *walk, enum diff_dimension dimension)
{
	const struct diff *diff = walk->diff;
	bool any = false;
	size_t i;

	for (i = 0; i < diff->rows_count; i++) {
		if (diff->rows[i].dimension != dimension)
			continue;
		if (!any)
			draw_head(walk, dimension);
		any = true;
		draw_row(walk, &diff->rows[i]);
	}
	if (any)
		document_table_end(walk->document);
}

/* ---- findings, rates ------------------------------------------------------------------------- */

static void draw_finding(struct walk *walk, const struct diff_finding *one)
{
	const struct finding *finding = one->b ? one->b : one->a;

	if (!document_row(walk->document))
		return;
	document_cell_words(walk->document, diff_presence_name(one->presence));
	diff_append_finding_process(&walk->document->text, one);
	document_cell(walk->document);
	document_cell_words(walk->document, finding_rule_name(finding->rule));
	document_cell_words(walk->document,
			    finding->row == MS_NO_ROW ? "" : probe_at(finding->row)->symbol);
	document_cell_words(walk->document, finding->space == MS_SPACE_NONE ?
						    "" :
						    probe_space_name(finding->space));
	cell_value(walk, FINDING_COUNT, one->count_a);
	cell_value(walk, FINDING_BYTES, one->bytes_a);
	cell_value(walk, FINDING_COUNT, one->count_b);
	cell_value(walk, FINDING_BYTES, one->bytes_b);
	document_cell_words(walk->document,
			    one->timed     ? "rests on how long things took: it may come and go" :
			    one->uncertain ? "not exact" :
			    one->worse     ? "worse: at least twice as much for its time and work" :
					     "");
	document_row_end(walk->document);
}

static void draw_findings(struct walk *walk)
{
	static const struct document_column columns[] = {
		{ "Change", DOCUMENT_TEXT },
		{ "Process", DOCUMENT_TEXT },
		{ "Rule", DOCUMENT_TEXT },
		{ "Call", DOCUMENT_TEXT },
		{ "Memory", DOCUMENT_TEXT },
		{ "In A", DOCUMENT_NUMBER },
		{ "Bytes", DOCUMENT_NUMBER },
		{ "In B", DOCUMENT_NUMBER },
		{ "Bytes", DOCUMENT_NUMBER },
		{ "Note", DOCUMENT_TEXT },
		{ 0 },
	};
	size_t i;

	if (!walk->diff->findings_count)
		return;
	heading(walk, "findings", "Findings");
	document_table_top(walk->document, "findings", "Findings that are new, gone or changed",
			   columns);
	for (i = 0; i < walk->diff->findings_count; i++)
		draw_finding(walk, &walk->diff->findings[i]);
	document_table_end(walk->document);
}

static void draw_rates_of(struct walk *walk, const struct diff_pair *pair)
{
	enum diff_rate rate;

	if (!document_row(walk->document))
		return;
	cell_pair(walk, pair);
	for (rate = 0; rate < DIFF_RATES_COUNT; rate++) {
		cell_value(walk, diff_rate_unit(rate), diff_rate_of(&pair->a, rate));
		cell_value(walk, diff_rate_unit(rate), diff_rate_of(&pair->b, rate));
	}
	document_row_end(walk->document);
}

static void draw_rates_head(struct walk *walk)
{
	struct document_column columns[2 * DIFF_RATES_COUNT + 2] = { { "Process", DOCUMENT_TEXT } };
	enum diff_rate rate;

	for (rate = 0; rate < DIFF_RATES_COUNT; rate++) {
		columns[2 * rate + 1] =
			(struct document_column){ diff_rate_title(rate), DOCUMENT_NUMBER };
		columns[2 * rate + 2] = (struct document_column){ "in B", DOCUMENT_NUMBER };
	}
	heading(walk, "rates", "Rates and times");
	string_append_text(&walk->document->text,
			   "They depend on the machine and its other work, and are"
			   " never a difference.");
	document_paragraph(walk->document);
	document_table_top(walk->document, "rates", "Rates and times, in A and in B", columns);
}

static void draw_rates(struct walk *walk)
{
	bool any = false;
	size_t i;

	for (i = 0; i < walk->diff->pairs_count; i++) {
		if (!diff_rates_differ(&walk->diff->pairs[i]))
			continue;
		if (!any)
			draw_rates_head(walk);
		any = true;
		draw_rates_of(walk, &walk->diff->pairs[i]);
	}
	if (any)
		document_table_end(walk->document);
}

void diff_document_tables(struct document *document, const struct diff *diff)
{
	struct walk walk = { .document = document, .diff = diff };
	enum diff_dimension dimension;

	draw_sides(&walk);
	draw_noise(&walk);
	draw_processes(&walk);
	for (dimension = 0; dimension < DIFF_DIMENSIONS_COUNT; dimension++)
		draw_rows(&walk, dimension);
	draw_findings(&walk);
	draw_rates(&walk);
}

void diff_document(struct document *document, const struct diff *diff)
{
	struct verdict verdict;

	string_append_text(&document->text, "GPU memory: what changed");
	document_heading(document, 1, "diff");
	diff_verdict(&verdict, diff);
	verdict_document(document, &verdict);
	verdict_fini(&verdict);
	diff_document_tables(document, diff);
}
