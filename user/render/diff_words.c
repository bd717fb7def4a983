// SPDX-License-Identifier: BSD-2-Clause
#include "render/diff_words.h"

#include <assert.h>
#include <string.h>

#include "analysis/oom.h"
#include "render/field.h"
#include "render/report_notes.h"
#include "render/report_words.h"
#include "render/diff_notes.h"

#define SIZE(bytes) string_size((char[STRING_NUMBER_BYTES]){ 0 }, (bytes))
#define COUNT(count) string_count((char[STRING_NUMBER_BYTES]){ 0 }, (count))

/* ---- names ----------------------------------------------------------------------------------- */

/* The last one that is known. */
static const char *name_of(const struct diff_pair *pair)
{
	const struct process *a = pair->a.process, *b = pair->b.process;

	return b && (*b->name || !a) ? b->name : a->name;
}

void diff_append_pair(struct string *out, const struct diff_pair *pair)
{
	const struct process *a = pair->a.process, *b = pair->b.process;
	const char *name;

	assert(a || b);
	if (!(b ? &pair->b : &pair->a)->shown) {
		string_append_text(out, "processes that ended earlier and held less");
		return;
	}
	name = name_of(pair);
	if (*name)
		field_append_safe(out, name, strlen(name));
	else
		string_append_text(out, "process");
	if (a && b && a->pid != b->pid)
		string_append_format(out, " (%u, now %u)", a->pid, b->pid);
	else
		string_append_format(out, " (%u)", (a ? a : b)->pid);
}

void diff_append_change(struct string *out, enum finding_unit unit, uint64_t a, uint64_t b)
{
	uint64_t apart = a > b ? a - b : b - a;

	if (apart)
		string_append_char(out, a > b ? '-' : '+');
	string_append_text(out, unit == FINDING_BYTES ? SIZE(apart) : COUNT(apart));
}

void diff_append_metric(struct string *out, const struct diff_row *row, enum diff_metric metric)
{
	static const char *const words[DIFF_METRICS_COUNT] = {
		[DIFF_LIVE_BYTES] = "held",       [DIFF_LIVE_COUNT] = "blocks",
		[DIFF_PEAK_BYTES] = "peak",       [DIFF_ALLOCS] = "allocations",
		[DIFF_ALLOC_BYTES] = "allocated", [DIFF_FREES] = "frees",
		[DIFF_FREE_BYTES] = "freed",      [DIFF_CALLS] = "calls",
		[DIFF_CALL_BYTES] = "bytes",
	};

	string_append_format(out, "%s ", words[metric]);
	diff_append_change(out, diff_metric_unit(metric), row->a[metric], row->b[metric]);
}

void diff_append_class(struct string *out, uint8_t size_class)
{
	if (!size_class)
		string_append_text(out, "1 B or unknown");
	else if (size_class < 63)
		string_append_format(out, "%s to %s", SIZE(1ull << size_class),
				     SIZE(2ull << size_class));
	else
		string_append_format(out, "%s or more", SIZE(1ull << size_class));
}

const char *diff_direction(const struct diff_row *row)
{
	return row->direction < MS_DIRECTIONS_COUNT ? probe_direction_name(row->direction) : NULL;
}

const char *diff_title(enum diff_dimension dimension)
{
	static const char *const titles[] = {
		[DIFF_DEVICE] = "Devices",
		[DIFF_MEMORY] = "Memory on devices, all kinds",
		[DIFF_SPACE] = "Memory by kind",
		[DIFF_API] = "By function",
		[DIFF_SIZE] = "By function and size",
		[DIFF_SITE] = "Memory by call stack",
		[DIFF_KERNEL] = "Kernels",
		[DIFF_COPY] = "Copies",
		[DIFF_CALL] = "Other calls",
		[DIFF_FAILURE] = "Calls that failed",
	};

	return titles[dimension];
}

/* ---- growth ---------------------------------------------------------------------------------- */

static void append_from_to(struct string *out, enum finding_unit unit, uint64_t a, uint64_t b)
{
	if (unit == FINDING_BYTES)
		string_append_format(out, "%s before, %s now", SIZE(a), SIZE(b));
	else
		string_append_format(out, "%s before, %s now", COUNT(a), COUNT(b));
}

void diff_append_growth(struct string *out, const struct diff_growth *growth)
{
	if (growth->pair)
		diff_append_pair(out, growth->pair);
	else if (growth->device >= 0)
		string_append_format(out, "device %d", growth->device);
	else
		string_append_text(out, "a device that no recorded call has named");
	if (growth->peak && growth->pair)
		string_append_format(
			out, ": its peak of %s memory is %s higher",
			growth->space == MS_SPACE_NONE ? "device" : probe_space_name(growth->space),
			SIZE(growth->bytes));
	else if (growth->peak)
		string_append_format(out, ": the peak of what is held on it is %s higher",
				     SIZE(growth->bytes));
	else
		string_append_format(out, " holds %s more device memory at the end",
				     SIZE(growth->bytes));
	string_append_text(out, " (");
	append_from_to(out, FINDING_BYTES, growth->a, growth->b);
	string_append_text(out, growth->uncertain ? "; not exact)" : ")");
}

void diff_append_finding_process(struct string *out, const struct diff_finding *one)
{
	const struct finding *finding = one->b ? one->b : one->a;

	report_append_process(out, finding->pid,
			      *finding->name || !one->pair ? finding->name : name_of(one->pair));
}

void diff_append_finding(struct string *out, const struct diff_finding *one)
{
	const struct finding *finding = one->b ? one->b : one->a;

	string_append_format(out, "%s in ", finding_rule_name(finding->rule));
	diff_append_finding_process(out, one);
	if (finding->row != MS_NO_ROW)
		string_append_format(out, " by %s", probe_at(finding->row)->symbol);
	if (finding->bytes)
		string_append_format(out, " (%s)", SIZE(one->b ? one->bytes_b : one->bytes_a));
}

void diff_append_failure(struct string *out, const struct diff_row *row)
{
	const struct probe *probe = probe_at(row->row);
	const char *name = probe_result_name(probe->layer, row->result);

	string_append_format(out, "%s failed with %s (%d) in ", probe->symbol,
			     name ? name : "an unknown result", row->result);
	diff_append_pair(out, row->pair);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static bool is_beyond(const struct diff_row *row, enum diff_metric metric)
{
	return row->beyond >> metric & 1;
}

/* Whether a row is of memory, and of all that there is of its sort. */
static bool is_of_memory(const struct diff_row *row)
{
	return row->dimension == DIFF_MEMORY ||
	       (row->dimension == DIFF_SPACE && diff_is_memory(row->space) && !diff_is_part(row));
}

/* The row of memory whose number has grown (or shrunk) most. */
static const struct diff_row *most_changed(const struct diff *diff, enum diff_metric metric,
					   bool grown)
{
	const struct diff_row *most = NULL;
	size_t i;

	for (i = 0; i < diff->rows_count; i++) {
		const struct diff_row *row = &diff->rows[i];
		int64_t change = diff_change(row, metric);

		if (!is_of_memory(row) || !is_beyond(row, metric) || grown != (change > 0))
			continue;
		if (!most || (grown ? change > diff_change(most, metric) :
				      change < diff_change(most, metric)))
			most = row;
	}
	return most;
}

static uint64_t amount_of(const struct diff_row *row, enum diff_metric metric)
{
	const uint64_t a = row->a[metric], b = row->b[metric];

	return a > b ? a - b : b - a;
}

static void append_memory(struct string *out, const struct diff *diff, const struct diff_row *row,
			  enum diff_metric metric)
{
	const char *more = diff_change(row, metric) > 0 ? "more" : "less";
	const char *space = row->dimension == DIFF_MEMORY ? "device" : probe_space_name(row->space);
	uint64_t a = row->a[metric], b = row->b[metric], since_ns = diff_since_ns(row);

	diff_append_pair(out, row->pair);
	if (metric == DIFF_LIVE_BYTES)
		string_append_format(out, " holds %s %s %s memory at the end: ",
				     SIZE(amount_of(row, metric)), more, space);
	else
		string_append_format(out, " held at most %s %s %s memory than before: ",
				     SIZE(amount_of(row, metric)), more, space);
	append_from_to(out, FINDING_BYTES, a, b);
	if (since_ns) {
		string_append_text(out, metric == DIFF_LIVE_BYTES ? ", and more than before since" :
								    ", first at");
		string_append_char(out, ' ');
		report_append_time(out, row->pair->b.recording, since_ns);
	}
	diff_notes_append_parts(out, diff, row, metric);
	diff_notes_append_site(out, diff, row, metric);
	string_append_text(out, row->uncertain ? ". That is not exact." : ".");
}

/* Kinds of memory that took the place of others: "physical +170 MiB, device -200 MiB" */
static bool append_moved(struct string *out, const struct diff *diff)
{
	const struct diff_pair *pair = NULL;
	size_t i;

	for (i = 0; i < diff->rows_count; i++) {
		const struct diff_row *row = &diff->rows[i];

		if (!diff_is_part(row) || !is_beyond(row, DIFF_PEAK_BYTES) ||
		    (pair && row->pair != pair))
			continue;
		if (pair) {
			string_append_text(out, ", ");
		} else {
			pair = row->pair;
			diff_append_pair(out, pair);
			string_append_text(out, " holds as much device memory as before, at the end"
						" and at most, but of other kinds: at most ");
		}
		string_append_format(out, "%s ", probe_space_name(row->space));
		diff_append_change(out, FINDING_BYTES, row->a[DIFF_PEAK_BYTES],
				   row->b[DIFF_PEAK_BYTES]);
	}
	if (pair)
		string_append_char(out, '.');
	return pair;
}

static void append_other(struct string *out, const struct diff *diff)
{
	size_t i;

	string_append_format(
		out,
		"No process holds more or less beyond noise; other numbers differ, in %s row%s",
		COUNT(diff->rows_count), diff->rows_count == 1 ? "" : "s");
	for (i = 0; i < diff->rows_count; i++) {
		if (i && diff->rows[i].dimension == diff->rows[i - 1].dimension)
			continue;
		string_append_text(out, i ? ", " : ": ");
		string_append_format(out, "%s", diff_title(diff->rows[i].dimension));
	}
	string_append_char(out, '.');
}

/* The first process that ended otherwise; NULL: none has. Those that ended badly now come first. */
static const struct diff_pair *differing_end(const struct diff *diff)
{
	const struct diff_pair *found = NULL;
	size_t i;

	for (i = 0; i < diff->pairs_count; i++) {
		if (diff_ended_badly(&diff->pairs[i]))
			return &diff->pairs[i];
		if (!found && diff_ends_differ(&diff->pairs[i]))
			found = &diff->pairs[i];
	}
	return found;
}

static void append_no_difference(struct string *out, const struct diff *diff)
{
	if (diff_differs(diff))
		string_append_format(out, "Apart from %s, nothing differs by more than noise",
				     differing_end(diff) ? "how processes ended" : "findings");
	else if (diff->below_noise)
		string_append_text(out, "Nothing differs by more than noise");
	else
		string_append_text(out, "Nothing differs");
	diff_notes_append_times(out, diff);
	if (diff->below_noise)
		string_append_format(out, "; %s row%s by less", COUNT(diff->below_noise),
				     diff->below_noise == 1 ? " differs" : "s differ");
	string_append_char(out, '.');
}

static void say_memory(struct verdict *verdict, const struct diff *diff)
{
	static const struct {
		enum diff_metric metric;
		bool grown;
	} order[] = { { DIFF_LIVE_BYTES, true },
		      { DIFF_PEAK_BYTES, true },
		      { DIFF_LIVE_BYTES, false },
		      { DIFF_PEAK_BYTES, false } };
	struct string *out = verdict_sentence(verdict);
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(*order); i++) {
		const struct diff_row *row = most_changed(diff, order[i].metric, order[i].grown);

		if (!row)
			continue;
		append_memory(out, diff, row, order[i].metric);
		return;
	}
	if (append_moved(out, diff))
		return;
	if (diff->rows_count)
		append_other(out, diff);
	else
		append_no_difference(out, diff);
}

/* The first few that are new, or gone; of those in both, leaks that are worse. */
static void append_findings(struct string *out, const struct diff *diff,
			    enum diff_presence presence)
{
	size_t count = 0, i;

	for (i = 0; i < diff->findings_count; i++) {
		const struct diff_finding *one = &diff->findings[i];

		if (one->presence != presence || !one->beyond ||
		    (presence == DIFF_IN_BOTH && !one->worse) || count++ > 2)
			continue;
		if (count > 1)
			string_append_text(out, ", ");
		else
			string_append_format(out, "%s%s: ", out->length ? " " : "",
					     presence == DIFF_NEW  ? "New" :
					     presence == DIFF_GONE ? "Gone" :
								     "Worse");
		diff_append_finding(out, one);
		if (one->worse)
			string_append_format(out, ", %s before", SIZE(one->bytes_a));
	}
	if (count > 3)
		string_append_format(out, " and %zu more", count - 3);
	if (count)
		string_append_char(out, '.');
}

/* Whether a new finding is about the same: an allocation that failed without memory is one. */
static bool is_in_findings(const struct diff *diff, const struct diff_row *failure)
{
	size_t i;

	for (i = 0; i < diff->findings_count; i++) {
		const struct diff_finding *one = &diff->findings[i];

		if (failure->result == OOM_RESULT && one->beyond && one->presence == DIFF_NEW &&
		    one->pair == failure->pair && one->b->row == failure->row &&
		    finding_topic_of(one->b->rule) == FINDING_TOPIC_OOM)
			return true;
	}
	return false;
}

/* The first few calls that fail, and did not. */
static void append_failures(struct string *out, const struct diff *diff)
{
	size_t count = 0, i;

	for (i = 0; i < diff->rows_count; i++) {
		const struct diff_row *row = &diff->rows[i];

		if (row->dimension != DIFF_FAILURE || row->presence != DIFF_NEW ||
		    is_in_findings(diff, row) || count++ > 2)
			continue;
		string_append_text(out, count > 1 ? ", " : out->length ? " Also new: " : "New: ");
		diff_append_failure(out, row);
	}
	if (count > 3)
		string_append_format(out, " and %zu more", count - 3);
	if (count)
		string_append_char(out, '.');
}

static void say_findings(struct verdict *verdict, const struct diff *diff)
{
	struct string *out = verdict_sentence(verdict);

	append_findings(out, diff, DIFF_NEW);
	append_findings(out, diff, DIFF_IN_BOTH);
	append_failures(out, diff);
	append_findings(out, diff, DIFF_GONE);
	verdict->count -= !out->length && !out->failed;
}

static size_t count_processes(const struct diff *diff, enum diff_presence presence)
{
	size_t count = 0, i;

	for (i = 0; i < diff->pairs_count; i++)
		count += diff->pairs[i].presence == presence && diff->pairs[i].differs;
	return count;
}

static void append_processes(struct string *out, const struct diff *diff,
			     enum diff_presence presence, const char *what)
{
	size_t count = count_processes(diff, presence), i = 0;

	if (!count)
		return;
	if (out->length)
		string_append_char(out, ' ');
	while (diff->pairs[i].presence != presence || !diff->pairs[i].differs)
		i++;
	diff_append_pair(out, &diff->pairs[i]);
	if (count > 1)
		string_append_format(out, " and %zu more processes", count - 1);
	string_append_format(out, " %s %s.", count > 1 ? "are" : "is", what);
}

static void say_processes(struct verdict *verdict, const struct diff *diff)
{
	struct string *out = verdict_sentence(verdict);

	append_processes(out, diff, DIFF_NEW, "new");
	append_processes(out, diff, DIFF_GONE, "not there any more");
	verdict->count -= !out->length && !out->failed;
}

void diff_append_ends(struct string *out, const struct diff_pair *pair)
{
	string_append_text(out, "ended otherwise: ");
	report_append_end(out, pair->b.process);
	string_append_text(out, " now, ");
	report_append_end(out, pair->a.process);
	string_append_text(out, " before");
}

static void say_ends(struct verdict *verdict, const struct diff *diff)
{
	const struct diff_pair *pair = differing_end(diff);
	size_t count = 0, i;
	struct string *out;

	if (!pair)
		return;
	out = verdict_sentence(verdict);
	for (i = 0; i < diff->pairs_count; i++)
		count += diff_ends_differ(&diff->pairs[i]);
	diff_append_pair(out, pair);
	string_append_char(out, ' ');
	diff_append_ends(out, pair);
	if (count > 1)
		string_append_format(out, "; so did %zu more process%s", count - 1,
				     count == 2 ? "" : "es");
	string_append_char(out, '.');
}

/* At least one of the two sides is meant. */
static const char *in_which(bool a, bool b)
{
	return a && b ? "in either" : a ? "in A" : "in B";
}

static void say_losses(struct verdict *verdict, const struct diff *diff)
{
	bool lost_a = diff_has_losses(diff->a), lost_b = diff_has_losses(diff->b);
	bool missed_a = diff_has_missed(diff->a), missed_b = diff_has_missed(diff->b);
	bool untraced_a = diff_has_untraced(diff->a), untraced_b = diff_has_untraced(diff->b);
	bool children_a = diff_lacks_children(diff->a), children_b = diff_lacks_children(diff->b);
	bool inexact_a = diff_is_inexact(diff->a), inexact_b = diff_is_inexact(diff->b);
	struct string *out = verdict_sentence(verdict);

	if (lost_a || lost_b)
		string_append_format(out, "%s something",
				     lost_a && lost_b ? "Both sides lack" :
				     lost_a           ? "A lacks" :
							"B lacks");
	else
		string_append_text(out, "Nothing was lost on either side");
	if (inexact_a || inexact_b)
		string_append_format(out, "%s what is live and the peaks are not exact %s",
				     lost_a || lost_b ? ", and" : ", but",
				     in_which(inexact_a, inexact_b));
	else if (lost_a || lost_b)
		string_append_text(out, ", but no allocation or free is known to be missing");
	else if (!missed_a && !missed_b && !untraced_a && !untraced_b)
		string_append_text(out,
				   children_a || children_b ?
					   ": the numbers of the recorded processes are exact" :
					   ": the numbers are exact");
	if (missed_a || missed_b)
		string_append_format(out,
				     "; of processes that could not be attached to in time %s,"
				     " calls may be missing",
				     in_which(missed_a, missed_b));
	if (untraced_a || untraced_b)
		string_append_format(out,
				     "; descendants of the recorded processes %s used CUDA and were"
				     " not recorded",
				     in_which(untraced_a, untraced_b));
	if (children_a || children_b)
		string_append_format(out,
				     "; whether children that they forked %s used CUDA is not known"
				     " (record -f includes children)",
				     in_which(children_a, children_b));
	string_append_char(out, '.');
}

static void say_programs(struct verdict *verdict, const struct diff *diff)
{
	size_t i;

	for (i = 0; i < diff->pairs_count; i++) {
		if (!diff_runs_another(&diff->pairs[i]))
			continue;
		diff_notes_append_programs(verdict_sentence(verdict), diff);
		return;
	}
}

void diff_verdict(struct verdict *verdict, const struct diff *diff)
{
	*verdict = (struct verdict){ 0 };
	/* What is wrong now comes first; that something is not wrong any more can wait. */
	if (diff_is_worse(diff) || diff_leaks_more(diff)) {
		say_findings(verdict, diff);
		say_ends(verdict, diff);
		say_memory(verdict, diff);
	} else {
		say_memory(verdict, diff);
		say_findings(verdict, diff);
		say_ends(verdict, diff);
	}
	say_processes(verdict, diff);
	say_programs(verdict, diff);
	say_losses(verdict, diff);
}
