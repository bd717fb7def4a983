// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was found, with the evidence for it, and who held what when an allocation failed.
 */
#include "render/report_document.h"

#include <stdio.h>
#include <string.h>

#include "render/report_notes.h"
#include "render/finding_words.h"
#include "render/report_oom_words.h"
#include "render/report_outage.h"
#include "render/report_words.h"
#include "render/stack_words.h"

#define NAME_BYTES (STRING_NUMBER_BYTES + 16)

/* ---- findings -------------------------------------------------------------------------------- */

static void append_about(struct string *text, const struct finding *finding)
{
	report_append_process(text, finding->pid, finding->name);
	if (finding->row != MS_NO_ROW)
		string_append_format(text, ", %s", probe_at(finding->row)->symbol);
	if (finding->space != MS_SPACE_NONE)
		string_append_format(text, ", %s memory", probe_space_name(finding->space));
	if (finding->device >= 0)
		string_append_format(text, ", device %d", finding->device);
	if (finding->bytes)
		string_append_format(text, ", %s", REPORT_SIZE(finding->bytes));
	if (finding->object)
		string_append_format(text, ", %s %s", REPORT_COUNT(finding->count),
				     finding_words_objects(finding));
}

static void say_site(struct document *document, const struct report_recording *recording,
		     const struct report_finding *numbered)
{
	finding_words_site(&document->text, recording, numbered);
	document_block(document, DOCUMENT_ITEM);
}

static void say_finding(struct document *document, const struct report_recording *recording,
			const struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;
	struct string *text = &document->text;
	size_t i;

	string_append_format(text, DOCUMENT_STRONG "F%zu %s" DOCUMENT_PLAIN ": ", numbered->number,
			     finding_rule_name(finding->rule));
	append_about(text, finding);
	string_append_format(text, ". Confidence: %s", report_confidence_name(finding->confidence));
	if (finding->lowered_by)
		string_append_format(text, " (%s)", finding->lowered_by);
	if (finding->pattern)
		string_append_format(text, ". Pattern: %s", finding->pattern);
	string_append_text(text, ". From ");
	report_append_time(text, recording, finding->first_ts_ns);
	string_append_text(text, " to ");
	report_append_time(text, recording, finding->last_ts_ns);
	string_append_char(text, '.');
	document_paragraph(document);
	for (i = 0; i < finding->evidence_count; i++) {
		string_append_format(text, DOCUMENT_CITE "E%zu" DOCUMENT_CITE " ",
				     numbered->first_evidence + i);
		finding_words_evidence(text, &finding->evidence[i]);
		string_append_text(text, ": ");
		report_append_value(text, recording, finding->evidence[i].unit,
				    finding->evidence[i].value);
		document_block(document, DOCUMENT_ITEM);
	}
	/* Where a call failed is said with what there was then. */
	if (numbered->stack && finding->rule != FINDING_OOM)
		say_site(document, recording, numbered);
}

/* Returns whether there was any. */
static bool say_topic(struct document *document, const struct report_recording *recording,
		      enum finding_topic topic)
{
	size_t count = 0, i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct report_finding *finding = &recording->findings[i];

		if (finding_topic_of(finding->finding->rule) != topic)
			continue;
		say_finding(document, recording, finding);
		count++;
	}
	return count;
}

/* ---- failed allocations ---------------------------------------------------------------------- */

static void say_request(struct document *document, const struct report_recording *recording,
			const struct analysis_oom *oom, size_t place)
{
	struct string *text = &document->text;

	string_append_format(text, DOCUMENT_STRONG "Failure %zu" DOCUMENT_PLAIN " at ", place);
	report_append_time(text, recording, oom->last_ts_ns);
	string_append_text(text, ": ");
	report_append_oom_request(text, oom);
	document_append_device(document, oom->device);
	report_append_oom_repeats(text, oom);
	string_append_text(text, ". How it ended: ");
	report_append_oom_outcome(text, recording, oom);
	string_append_format(text,
			     ". Cause: " DOCUMENT_STRONG "%s" DOCUMENT_PLAIN ", confidence %s",
			     analysis_oom_cause_name(oom->cause),
			     report_confidence_name(oom->confidence));
	if (oom->lowered_by)
		string_append_format(text, " (%s)", oom->lowered_by);
	string_append_char(text, '.');
	document_paragraph(document);
	if (oom->series.live.count) {
		string_append_text(text, "It");
		report_append_oom_series(text, recording, oom);
		string_append_char(text, '.');
		document_paragraph(document);
	}
	report_append_oom_remedies(text, recording, oom);
	if (text->length)
		document_paragraph(document);
}

/* The anchor of a table; returns `out`. */
static const char *name_of(char out[NAME_BYTES], const char *name, size_t place)
{
	snprintf(out, NAME_BYTES, "oom-%zu-%s", place, name);
	return out;
}

static void list_row(void *context, const struct report_row *row)
{
	struct document *document = context;

	document_row(document);
	document_cell_words(document, row->what);
	document_cell_size(document, row->bytes_known, row->bytes);
	if (row->has_count)
		document_cell_count(document, true, row->count);
	else
		document_cell_absent(document);
	document_row_end(document);
}

static void list_amount(struct document *document, const struct amount *amount)
{
	document_cell_size(document, true, amount->bytes);
	document_cell_count(document, true, amount->count);
	document_row_end(document);
}

static void list_processes(struct document *document, const struct analysis_oom *oom, size_t place)
{
	static const struct document_column columns[] = { { "Process", DOCUMENT_TEXT },
							  { "Held", DOCUMENT_NUMBER },
							  { "Blocks", DOCUMENT_NUMBER },
							  { 0 } };
	char name[NAME_BYTES];
	size_t i;

	document_table(document, name_of(name, "processes", place), "Who held it", columns);
	for (i = 0; i < oom->processes_count; i++) {
		const bool failed = oom->processes[i].pid == oom->pid &&
				    oom->processes[i].start_ns == oom->start_ns;

		document_row(document);
		report_append_process(&document->text, oom->processes[i].pid,
				      oom->processes[i].name);
		document_cell_words(document, failed ? " (it failed)" : "");
		list_amount(document, &oom->processes[i].live);
	}
	document_table_end(document);
	if (oom->more_processes) {
		string_append_format(&document->text, "%zu more process%s held less.",
				     oom->more_processes, oom->more_processes == 1 ? "" : "es");
		document_paragraph(document);
	}
}

static void list_kinds(struct document *document, const struct analysis_oom *oom, size_t place)
{
	static const struct document_column columns[] = { { "Allocated by", DOCUMENT_TEXT },
							  { "Space", DOCUMENT_TEXT },
							  { "Held", DOCUMENT_NUMBER },
							  { "Blocks", DOCUMENT_NUMBER },
							  { 0 } };
	char name[NAME_BYTES];
	size_t i;

	document_table(document, name_of(name, "apis", place), "By function that allocated",
		       columns);
	for (i = 0; i < oom->kinds_count; i++) {
		document_row(document);
		document_cell_words(document, probe_at(oom->kinds[i].row)->symbol);
		document_cell_words(document, probe_space_name(oom->kinds[i].space));
		list_amount(document, &oom->kinds[i].live);
	}
	document_table_end(document);
}

/* Where the call that failed was made, if that is known. */
static void say_failed_in(struct document *document, const struct report_recording *recording,
			  const struct analysis_oom *oom)
{
	const struct stacks *stacks = &recording->state->stacks;
	const struct stack *stack = stacks_find(stacks, oom->request.stack);
	struct string words = { 0 };

	if (!stack)
		return;
	stack_words_append_chain(&words, stacks, stack);
	string_append_char(&words, '\0');
	string_append_text(&document->text, "The call was made in ");
	document_append(document, words.failed ? NULL : words.bytes, "?");
	string_append_char(&document->text, '.');
	document_paragraph(document);
	string_fini(&words);
}

/* Equal words are one row, whatever the frames are that they leave out. */
struct site_words {
	struct string words;
	struct amount live;
};

/* Adds it to those that are there. Returns how many there are. */
static size_t add_words(struct site_words *list, size_t count, const struct oom_site *site,
			const struct stacks *stacks)
{
	const struct stack *stack = stacks_find(stacks, site->stack);
	struct site_words *last = &list[count];
	size_t i;

	/* Nothing may be known of it but that it was another one. */
	if (!stack)
		return count;
	*last = (struct site_words){ .live = site->live };
	stack_words_append_chain(&last->words, stacks, stack);
	for (i = 0; i < count; i++) {
		if (last->words.failed || list[i].words.length != last->words.length ||
		    memcmp(list[i].words.bytes, last->words.bytes, last->words.length) != 0)
			continue;
		list[i].live.bytes += site->live.bytes;
		list[i].live.count += site->live.count;
		string_fini(&last->words);
		return count;
	}
	return count + 1;
}

static void list_sites(struct document *document, const struct report_recording *recording,
		       const struct analysis_oom *oom, size_t place)
{
	static const struct document_column columns[] = { { "Allocated in", DOCUMENT_TEXT },
							  { "Held", DOCUMENT_NUMBER },
							  { "Blocks", DOCUMENT_NUMBER },
							  { 0 } };
	struct site_words list[OOM_TOP];
	char name[NAME_BYTES];
	size_t count = 0, i;

	if (!oom->sites_count)
		return;
	for (i = 0; i < oom->sites_count; i++)
		count = add_words(list, count, &oom->sites[i], &recording->state->stacks);
	document_table(document, name_of(name, "sites", place), "By call stack", columns);
	for (i = 0; i < count; i++) {
		document_row(document);
		string_append_char(&list[i].words, '\0');
		document->failed |= list[i].words.failed;
		document_cell_text(document, list[i].words.failed ? NULL : list[i].words.bytes);
		list_amount(document, &list[i].live);
		string_fini(&list[i].words);
	}
	document_table_end(document);
}

void report_document_oom_holders(struct document *document,
				 const struct report_recording *recording,
				 const struct analysis_oom *oom, size_t place)
{
	static const struct document_column columns[] = { { "At that moment", DOCUMENT_TEXT },
							  { "Bytes", DOCUMENT_NUMBER },
							  { "Blocks", DOCUMENT_NUMBER },
							  { 0 } };
	char name[NAME_BYTES];

	say_failed_in(document, recording, oom);
	document_table(document, name_of(name, "state", place), "What there was", columns);
	document->failed |= !report_oom_rows(recording, oom, list_row, document);
	document_table_end(document);
	list_processes(document, oom, place);
	list_kinds(document, oom, place);
	list_sites(document, recording, oom, place);
}

/* As --at takes it, to the nanosecond: in a millisecond a program can free all that it has. */
static void append_at(struct string *out, const struct report_recording *recording, uint64_t ts_ns)
{
	const uint64_t begin_ns = recording->coverage.account.first_ts_ns;
	const uint64_t wall_ns = ts_ns + recording->coverage.wall_offset_ns;

	if (!recording->coverage.wall_known) {
		string_append_format(out, "+%.9fs",
				     (double)(ts_ns > begin_ns ? ts_ns - begin_ns : 0) / 1e9);
		return;
	}
	report_append_time(out, recording, ts_ns);
	out->length -= out->length > 0; /* the zone */
	string_append_format(out, "%06uZ", (unsigned int)(wall_ns % 1000000));
}

#define FILES_IN_COMMAND 3 /* more make it no easier to type */

/* So that a shell takes it as it is. */
static bool is_plain(const char *path)
{
	return path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				 "/._-+:,@%=")] == '\0';
}

/* The files that it was read from, for a command that reads them again. */
static void append_files(struct document *document, const struct report_coverage *coverage)
{
	size_t i;

	for (i = 0; i < coverage->files_count && coverage->files_count <= FILES_IN_COMMAND; i++)
		if (!is_plain(coverage->files[i]) || *coverage->files[i] == '-')
			break;
	if (!i || i < coverage->files_count) {
		string_append_text(&document->text, " FILE");
		return;
	}
	for (i = 0; i < coverage->files_count; i++) {
		string_append_char(&document->text, ' ');
		document_append(document, coverage->files[i], "FILE");
	}
}

/* "at A, B, C and 2 more times"; of calls that were tried again and again, also how often. */
static void append_moments(struct string *text, const struct report_recording *recording)
{
	const struct refused all = report_outage_of(recording);
	const uint64_t not_listed = analysis_account(recording->analysis)->oom_not_listed;
	const size_t listed = recording->ooms_count < 3 ? recording->ooms_count : 3;
	const bool again = all.count > recording->ooms_count;
	size_t i;

	if (again) {
		string_append_format(text, "%s times, from ", REPORT_COUNT(all.count));
		report_append_time(text, recording, all.first_ts_ns);
		string_append_text(text, " to ");
		report_append_time(text, recording, all.last_ts_ns);
		string_append_text(text, "; calls that belong together are one failure, and the"
					 " last of them was ");
	}
	string_append_text(text, "at ");
	for (i = 0; i < listed; i++) {
		string_append_text(text, i ? ", " : "");
		report_append_time(text, recording, recording->ooms[i]->last_ts_ns);
		if (again)
			string_append_format(text, " (Failure %zu)", i + 1);
	}
	if (recording->ooms_count > listed)
		string_append_format(text, " and %zu more time%s", recording->ooms_count - listed,
				     recording->ooms_count - listed == 1 ? "" : "s");
	if (not_listed)
		string_append_format(text, ", and %s failure%s not described",
				     REPORT_COUNT(not_listed), not_listed == 1 ? " is" : "s are");
}

void report_document_oom_moments(struct document *document,
				 const struct report_recording *recording)
{
	struct string *text = &document->text;
	const size_t gravest = report_gravest_oom(recording);

	if (!recording->ooms_count)
		return;
	string_append_text(text, "The tables show the end. Memory ran out ");
	append_moments(text, recording);
	string_append_format(text, ": who held most then is below, in Failure 1%s. All of %s",
			     recording->ooms_count > 1 ? " and so on" : "",
			     recording->ooms_count == 1   ? "that moment" :
			     report_is_for_oom(recording) ? "the one that this was written for" :
			     gravest                      ? "the gravest" :
							    "the first of these");
	if (recording->ooms_count > 1)
		string_append_format(text, " (Failure %zu)", gravest + 1);
	string_append_text(text, ": memscope-bpf report --at ");
	append_at(text, recording, recording->ooms[gravest]->last_ts_ns);
	append_files(document, &recording->coverage);
	document_paragraph(document);
}

struct block_list {
	const char *name, *heading, *caption;
	const struct oom_block *blocks;
	size_t count;
};

static void list_blocks(struct document *document, const struct report_recording *recording,
			const struct analysis_oom *oom, size_t place, const struct block_list *list)
{
	const struct document_column columns[] = {
		{ list->heading, DOCUMENT_NUMBER },
		{ "Process", DOCUMENT_NUMBER },
		{ "Allocated by", DOCUMENT_TEXT },
		{ "Space", DOCUMENT_TEXT },
		{ "Address", DOCUMENT_NUMBER | DOCUMENT_ADDRESS },
		{ "Age", DOCUMENT_NUMBER },
		{ 0 },
	};
	char name[NAME_BYTES];
	size_t i;

	document_table(document, name_of(name, list->name, place), list->caption, columns);
	for (i = 0; i < list->count && i < recording->options.top; i++) {
		const struct allocation *allocation = &list->blocks[i].allocation;

		document_row(document);
		document_cell_size(document, allocation->size_known, allocation->size_bytes);
		string_append_u64(&document->text, list->blocks[i].pid);
		document_cell_as(document, (struct document_cell){ .sorted = true,
								   .value = list->blocks[i].pid });
		document_cell_words(document, probe_at(allocation->row)->symbol);
		document_cell_words(document, probe_space_name(allocation->space));
		document_cell_address(document, allocation->addr);
		document_cell_duration(document, true,
				       report_age_ns(allocation, oom->figures_ts_ns));
		document_row_end(document);
	}
	document_table_end(document);
}

void report_document_oom_blocks(struct document *document, const struct report_recording *recording,
				const struct analysis_oom *oom, size_t place)
{
	list_blocks(document, recording, oom, place,
		    &(struct block_list){ "largest", "Largest", "Largest blocks then", oom->largest,
					  oom->largest_count });
	list_blocks(document, recording, oom, place,
		    &(struct block_list){ "newest", "Newest", "Newest blocks then", oom->newest,
					  oom->newest_count });
}

static void say_ooms(struct document *document, const struct report_recording *recording)
{
	const struct analysis_account *account = analysis_account(recording->analysis);
	size_t i;

	for (i = 0; i < recording->ooms_count; i++) {
		say_request(document, recording, recording->ooms[i], i + 1);
		report_document_oom_holders(document, recording, recording->ooms[i], i + 1);
		report_document_oom_blocks(document, recording, recording->ooms[i], i + 1);
	}
	if (!account->oom_not_listed)
		return;
	string_append_format(&document->text, "Memory ran out %s more time%s not listed here.",
			     REPORT_COUNT(account->oom_not_listed),
			     account->oom_not_listed == 1 ? ", which is" : "s, which are");
	document_paragraph(document);
}

/* ---- sections -------------------------------------------------------------------------------- */

static void say_blind(struct document *document, const struct report_recording *recording,
		      enum finding_topic topic)
{
	report_append_not_looked_for(&document->text, recording, topic);
	if (document->text.length)
		document_paragraph(document);
}

static void begin_section(struct document *document, const char *name, const char *text)
{
	string_append_text(&document->text, text);
	document_heading(document, 3, name);
}

static void say_none(struct document *document, bool found)
{
	if (!found)
		document_say(document, "None found.");
}

/* What has filled the device does not grow, and is not seen to leak. */
static bool say_full_before(struct document *document, const struct report_recording *recording)
{
	size_t i = 0;

	while (i < recording->ooms_count &&
	       !(recording->ooms[i]->cause == OOM_STEADY && recording->ooms[i]->series.made_before))
		i++;
	if (i == recording->ooms_count)
		return false;
	string_append_text(&document->text, "None found, but ");
	report_append_process(&document->text, recording->ooms[i]->pid, recording->ooms[i]->name);
	string_append_format(&document->text,
			     " was refused memory again and again, and could not grow: what it"
			     " holds was made before, as Failure %zu says.",
			     i + 1);
	document_paragraph(document);
	return true;
}

static void say_no_leak(struct document *document, const struct report_recording *recording)
{
	if (say_full_before(document, recording))
		return;
	document_say(document, report_unknown(recording).was_running ?
				       "None found, but what processes held before they were"
				       " attached to was not seen." :
				       "None found.");
}

/* Beside the leaks, since they look like some. */
static void say_notes(struct document *document, const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding_topic_of(finding->rule) != FINDING_TOPIC_NOTE)
			continue;
		document_say(document, "No leak, but to be known:");
		say_topic(document, recording, FINDING_TOPIC_NOTE);
		return;
	}
}

void report_document_findings(struct document *document, const struct report_recording *recording)
{
	const uint64_t dropped = analysis_account(recording->analysis)->findings_dropped;
	bool found;

	begin_section(document, "leaks", "4. Leaks, and what else is kept");
	found = say_topic(document, recording, FINDING_TOPIC_LEAK);
	if (!say_topic(document, recording, FINDING_TOPIC_KEPT) && !found)
		say_no_leak(document, recording);
	say_notes(document, recording);
	say_blind(document, recording, FINDING_TOPIC_LEAK);
	say_blind(document, recording, FINDING_TOPIC_KEPT);
	begin_section(document, "oom", "5. Out of memory");
	say_none(document, say_topic(document, recording, FINDING_TOPIC_OOM));
	say_ooms(document, recording);
	say_blind(document, recording, FINDING_TOPIC_OOM);
	begin_section(document, "churn", "6. Temporary allocations, storms, copies");
	found = say_topic(document, recording, FINDING_TOPIC_CHURN);
	say_none(document, say_topic(document, recording, FINDING_TOPIC_COPIES) || found);
	say_blind(document, recording, FINDING_TOPIC_CHURN);
	say_blind(document, recording, FINDING_TOPIC_COPIES);
	begin_section(document, "bottlenecks", "7. Bottlenecks");
	say_none(document, say_topic(document, recording, FINDING_TOPIC_BOTTLENECK));
	say_blind(document, recording, FINDING_TOPIC_BOTTLENECK);
	if (!dropped)
		return;
	string_append_format(&document->text, "%s lesser finding%s not listed.",
			     REPORT_COUNT(dropped), dropped == 1 ? " is" : "s are");
	document_paragraph(document);
}
