// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_notes.h"

#include <string.h>
#include <sys/wait.h>

#include "render/field.h"
#include "render/identity_words.h"
#include "render/outsiders_words.h"
#include "render/losses_words.h"
#include "render/report_words.h"

/* ---- what was lost, what is not known -------------------------------------------------------- */

static void note(struct string *out, uint64_t count, const char *one, const char *many)
{
	if (count)
		string_append_format(out, "%s %s\n", REPORT_COUNT(count), count == 1 ? one : many);
}

#define LOSERS_NAMED 10

/* Whose records they were. */
static void append_losers(struct string *out, const struct report_recording *recording)
{
	const struct state *state = recording->state;
	size_t named = 0, i;

	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];
		const uint64_t lost = process->counters[COUNTER_LOST_CALLS] +
				      process->counters[COUNTER_LOST_RECORDS];

		if (!lost || named++ >= LOSERS_NAMED)
			continue;
		string_append_format(out, "%s of them from ", REPORT_COUNT(lost));
		identity_words_process(out, process);
		string_append_char(out, '\n');
	}
	if (named > LOSERS_NAMED)
		string_append_format(out, "the others from %zu more processes\n",
				     named - LOSERS_NAMED);
}

static void append_lost_calls(struct string *out, const struct report_recording *recording)
{
	const struct ms_counters *counters = &recording->coverage.counters;
	const struct losses losses = losses_of(counters);
	uint32_t op;

	for (op = 0; op < MS_OPS_COUNT; op++)
		if (counters->lost[op] && op != MS_OP_NAME)
			string_append_format(out, "%s of %s %s event%s lost\n",
					     REPORT_COUNT(counters->lost[op]),
					     REPORT_COUNT(counters->seen[op]), probe_op_name(op),
					     counters->seen[op] == 1 ? " was" : "s were");
	note(out, counters->lost[MS_OP_NAME], "name of a kernel was lost",
	     "names of kernels were lost");
	note(out, counters->lost[MS_KIND_FREE_BEGIN], "beginning of a free was lost",
	     "beginnings of frees were lost");
	note(out, counters->lost[MS_KIND_PROCESS], "record of a process's life was lost",
	     "records of processes' lives were lost");
	note(out, counters->lost[MS_KIND_WHO],
	     "record of who a process is was lost: its user or container may not be known",
	     "records of who processes are were lost: their users or containers may not be known");
	if (!losses_count(&losses))
		return;
	losses_append_reasons(out, &losses, NULL);
	string_append_char(out, '\n');
	append_losers(out, recording);
}

static void append_missing(struct string *out, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	const struct recording_account *account = &coverage->account;

	if (account->missing_blocks) {
		string_append_format(out, "%s block%s missing (%s in all), the first at ",
				     REPORT_COUNT(account->missing_blocks),
				     account->missing_blocks == 1 ? " is" : "s are",
				     REPORT_DURATION(account->missing_ns));
		report_append_time(out, recording,
				   account->first_missing_ts_ns ? account->first_missing_ts_ns :
								  account->first_ts_ns);
		string_append_text(out, ": totals and what is live go on from the next checkpoint;"
					" what happened in between is not known\n");
	}
	if (account->damaged_places)
		string_append_format(out, "%s damaged place%s, %s in all, skipped\n",
				     REPORT_COUNT(account->damaged_places),
				     account->damaged_places == 1 ? "" : "s",
				     REPORT_SIZE(account->damaged_bytes));
	note(out, coverage->unwritten_blocks, "block could not be written when it was recorded",
	     "blocks could not be written when it was recorded");
	note(out, coverage->unwritten_records, "record could not be written when it was recorded",
	     "records could not be written when it was recorded");
}

void report_append_lost(struct string *out, const struct report_recording *recording)
{
	const struct recording_account *account = &recording->coverage.account;

	append_lost_calls(out, recording);
	append_missing(out, recording);
	note(out, account->refused, "record was not in order and left out",
	     "records were not in order and left out");
	note(out, account->unknown_calls, "call of a function that this version does not know",
	     "calls of functions that this version does not know");
	note(out, account->unknown_records, "record of a kind that this version does not know",
	     "records of kinds that this version does not know");
	note(out, account->unknown_blocks, "block of a kind that this version does not know",
	     "blocks of kinds that this version does not know");
	note(out, account->unanchored,
	     "record from before the first segment that is whole: it cannot be used",
	     "records from before the first segment that is whole: they cannot be used");
	note(out, account->uncertain,
	     "record between a gap and the next segment: what is live is uncertain there",
	     "records between a gap and the next segment: what is live is uncertain there");
	if (account->cut_short)
		string_append_text(out, "the last block is not whole: the recorder was"
					" interrupted\n");
	if (recording->coverage.being_written)
		string_append_text(out, "the recording is still being written: what happened"
					" after its last block is not in this report\n");
	else if (!account->has_end)
		string_append_text(out, "the recording was not ended properly: what happened"
					" after its last block is not in it\n");
	if (recording->incomplete)
		string_append_text(out, "this report is incomplete: there was not enough"
					" memory for it\n");
}

/* ", 3 missing blocks" */
static void append_part(struct string *out, uint64_t count, const char *one, const char *many)
{
	if (count)
		string_append_format(out, "%s%s %s", out->length ? ", " : "", REPORT_COUNT(count),
				     count == 1 ? one : many);
}

void report_append_lack(struct string *out, const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	const struct recording_account *account = &coverage->account;
	struct string parts = { 0 };

	append_part(&parts, account->damaged_places, "damaged place", "damaged places");
	append_part(&parts, account->missing_blocks, "missing block", "missing blocks");
	append_part(&parts, coverage->unwritten_records, "record that could not be written",
		    "records that could not be written");
	append_part(&parts, account->refused, "record that is not in order",
		    "records that are not in order");
	append_part(&parts, account->unknown_calls + account->unknown_blocks,
		    "call or block that this version does not know",
		    "calls or blocks that this version does not know");
	if (!coverage->being_written && (account->cut_short || !account->has_end))
		string_append_format(&parts, "%s" REPORT_NO_END, parts.length ? ", " : "");
	string_append(out, parts.bytes, parts.length);
	out->failed |= parts.failed;
	string_fini(&parts);
}

#define UNSURE_NAMED 10

static void append_unsure_peaks(struct string *out, const struct report_recording *recording)
{
	size_t named = 0, i;

	for (i = 0; i < recording->processes_count && named < UNSURE_NAMED; i++) {
		const struct process *process = recording->processes[i].process;
		const uint64_t bytes = report_peak_unsure(recording, process);

		if (!bytes)
			continue;
		string_append_text(out, "the exact peak of ");
		identity_words_process(out, process);
		string_append_format(out,
				     ": threads allocated while others freed, and the order in"
				     " which the driver did that is not known; it may have held up"
				     " to %s more on devices\n",
				     REPORT_SIZE(bytes));
		named++;
	}
}

/* Whether a part of the recording is outside of the time that was asked for. */
static bool is_cut(const struct report_coverage *coverage)
{
	const struct recording_account *account = &coverage->account;

	return coverage->from_ns > account->first_ts_ns ||
	       (coverage->until_ns && coverage->until_ns < account->last_ts_ns);
}

const char *report_cut_sums(const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;

	if (!is_cut(coverage))
		return NULL;
	if (coverage->copies_summed && coverage->launches_summed)
		return "copies and launches";
	return coverage->copies_summed ? "copies" : coverage->launches_summed ? "launches" : NULL;
}

static void append_missed(struct string *out, const struct report_coverage *coverage)
{
	const uint64_t missed = coverage->missed_processes, untraced = coverage->untraced;

	if (missed)
		string_append_format(out,
				     "calls of at least %s process%s: %s ended, or executed another"
				     " program, before or while %s could be attached to\n",
				     REPORT_COUNT(missed), missed == 1 ? "" : "es",
				     missed == 1 ? "it" : "they", missed == 1 ? "it" : "they");
	if (untraced)
		string_append_format(
			out,
			"what at least %s descendant%s of the recorded processes held:"
			" %s used CUDA and %s not recorded (record -f includes children)\n",
			REPORT_COUNT(untraced), untraced == 1 ? "" : "s",
			untraced == 1 ? "it" : "they", untraced == 1 ? "was" : "were");
}

void report_append_unknown(struct string *out, const struct report_recording *recording)
{
	const struct report_unknown sum = report_unknown(recording);
	enum process_counter counter;

	if (!recording->coverage.has_beginning)
		string_append_text(out, "what happened before these files begin: totals by"
					" kind of memory include it, those by function and the"
					" timeline do not\n");
	if (report_names_no_process(recording))
		string_append_text(out, "what processes held: the recording breaks off before it"
					" names any process\n");
	if (sum.was_running)
		string_append_text(out, "what processes held before they were attached to\n");
	append_missed(out, &recording->coverage);
	outsiders_words(out, recording);
	if (recording->coverage.runtime_alone)
		string_append_text(out, "direct calls of the driver: only calls of the runtime"
					" were recorded (--layer=runtime)\n");
	if (report_cut_sums(recording))
		string_append_format(
			out,
			"how many %s were in this time: they were only counted, and count"
			" where that was told, which is later\n",
			report_cut_sums(recording));
	if (sum.entries_only)
		string_append_text(out, "whether calls succeeded, and so what is live: only"
					" the beginnings of calls were recorded\n");
	note(out, recording->coverage.counters.abandoned,
	     "call that never returned (longjmp or an exception)",
	     "calls that never returned (longjmp or an exception)");
	note(out, recording->state->stacks.others,
	     "call stack, or function in one, beyond those that are kept",
	     "call stacks, or functions in them, beyond those that are kept");
	for (counter = 0; counter < COUNTERS_COUNT; counter++)
		if (process_counters[counter].in_report)
			note(out, sum.counters[counter], process_counters[counter].one,
			     process_counters[counter].many);
	append_unsure_peaks(out, recording);
	if (sum.counters[COUNTER_NEW_MEMORY_FUNCTIONS] && recording->state->new_function[0]) {
		string_append_text(out, "one of these functions: ");
		field_append_safe(out, recording->state->new_function,
				  strlen(recording->state->new_function));
		string_append_text(out, " (memscope-bpf check -p PID lists them)\n");
	}
	if (!recording->coverage.wall_known)
		string_append_text(out, "the time of day: times are seconds from the"
					" beginning\n");
}

void report_append_not_looked_for(struct string *out, const struct report_recording *recording,
				  enum finding_topic topic)
{
	const char *last = NULL;
	enum finding_rule rule;

	/* Rules of one reason are together. */
	for (rule = 0; rule < FINDING_RULES_COUNT; rule++) {
		const char *why = finding_topic_of(rule) == topic ?
					  report_blind(recording, rule, FINDING_LOW) :
					  NULL;

		if (!why)
			continue;
		if (last && last != why)
			string_append_format(out, " (%s)", last);
		string_append_format(out, "%s%s",
				     !last       ? "Not looked for: " :
				     last == why ? ", " :
						   "; ",
				     finding_rule_name(rule));
		last = why;
	}
	if (last)
		string_append_format(out, " (%s).", last);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rows that are being made: two texts, and who gets them. */
struct rows {
	const struct report_recording *recording;
	struct string what, why;
	bool failed;
	report_row_fn take;
	void *context;
};

static void send(struct rows *rows, struct report_row row)
{
	string_append_char(&rows->what, '\0');
	string_append_char(&rows->why, '\0');
	row.what = rows->what.failed ? "" : rows->what.bytes;
	row.why = rows->why.failed ? "" : rows->why.bytes;
	rows->failed |= rows->what.failed || rows->why.failed;
	rows->take(rows->context, &row);
	string_clear(&rows->what);
	string_clear(&rows->why);
}

static void send_bytes(struct rows *rows, const char *what, uint64_t bytes, const char *why)
{
	string_append_text(&rows->what, what);
	string_append_text(&rows->why, why);
	send(rows, (struct report_row){ .bytes_known = true, .bytes = bytes });
}

static void send_unknown(struct rows *rows, const char *what, const char *why)
{
	string_append_text(&rows->what, what);
	string_append_text(&rows->why, why);
	send(rows, (struct report_row){ 0 });
}

static void send_amount(struct rows *rows, const char *what, const struct amount *amount)
{
	string_append_text(&rows->what, what);
	send(rows, (struct report_row){ .bytes_known = true,
					.bytes = amount->bytes,
					.has_count = true,
					.count = amount->count });
}

/* Returns whether nothing is missing. */
static bool rows_fini(struct rows *rows)
{
	string_fini(&rows->what);
	string_fini(&rows->why);
	return !rows->failed;
}

/* ---- devices --------------------------------------------------------------------------------- */

static void send_spaces(struct rows *rows, const struct report_device *device)
{
	uint32_t space;

	for (space = 0; space < MS_SPACES_COUNT; space++) {
		if (!device->live[space])
			continue;
		string_append_text(&rows->what,
				   usage_is_on_device(space) ? "- of it " : "not in it: ");
		send_bytes(rows, probe_space_name(space), device->live[space],
			   space == MS_SPACE_MANAGED  ? "may be on the host" :
			   space == MS_SPACE_IMPORTED ? "owned by another process or API" :
							"");
	}
}

static void send_told(struct rows *rows, const struct report_device *device)
{
	const struct report_told *told = device->told;
	uint64_t unexplained, pooled;
	bool at_most;

	if (!told) {
		send_unknown(rows, "used, as the driver counts", "no program asked");
		send_unknown(rows, "unexplained", "only known when a program asks");
		return;
	}
	string_append_format(&rows->why, "of %s, as the driver reported to process %u at ",
			     REPORT_SIZE(told->total_bytes), told->pid);
	report_append_time(&rows->why, rows->recording, told->ts_ns);
	send_bytes(rows, "used, as the driver counts", report_told_used(told), "");
	send_bytes(rows, "explained by allocations then", told->explained_bytes, "");
	pooled = report_told_pooled(rows->recording, told, &at_most);
	if (pooled)
		send_bytes(rows, "kept by its pools then", pooled,
			   at_most ? "freed, and not given back: up to so much" :
				     "freed, and not given back");
	if (report_told_unexplained(told, &unexplained))
		send_bytes(rows, "unexplained then", unexplained - pooled,
			   device->was_running ?
				   "contexts, code, other processes, and what was held before"
				   " attaching" :
				   "contexts, code, slack, processes that were not recorded");
	else
		send_unknown(rows, "unexplained then",
			     "more is explained than used: processes may mean several devices by"
			     " this number");
}

bool report_device_rows(const struct report_recording *recording,
			const struct report_device *device, report_row_fn take, void *context)
{
	struct rows rows = { .recording = recording, .take = take, .context = context };

	send_bytes(&rows, "explained by allocations", device->live_bytes, "at the end");
	send_spaces(&rows, device);
	if (device->peak_bytes)
		report_append_time(&rows.why, recording, device->peak_ts_ns);
	send_bytes(&rows, "peak of that", device->peak_bytes,
		   report_device_row(recording, device)->peak_unclear ?
			   "; the device of a part of it was only known later" :
			   "");
	if (device->was_running)
		send_unknown(&rows, "held before attaching", "its allocation was not recorded");
	send_told(&rows, device);
	return rows_fini(&rows);
}

/* ---- failed allocations ---------------------------------------------------------------------- */

static void append_told(struct rows *rows, const struct analysis_oom *oom, uint32_t pid,
			const char comm[MS_COMM_BYTES], uint64_t ts_ns)
{
	string_append_text(&rows->what, "free on the device, as reported ");
	if (pid != oom->pid) {
		string_append_text(&rows->what, "to ");
		report_append_process(&rows->what, pid, comm);
		string_append_char(&rows->what, ' ');
	}
	string_append_text(&rows->what, "at ");
	report_append_time(&rows->what, rows->recording, ts_ns);
}

static void send_view(struct rows *rows, const struct analysis_oom *oom)
{
	const struct oom_request *request = &oom->request;

	if (oom->others.sampled) {
		string_append_text(&rows->what, "in use on the device, as NVML said at ");
		report_append_time(&rows->what, rows->recording, oom->others.sample_ns);
		string_append_format(&rows->what, ", of %s", REPORT_SIZE(oom->others.total_bytes));
		send_bytes(rows, "", oom->others.used_bytes, "");
	} else if (!oom->view.known && !request->told) {
		send_unknown(rows, "free on the device", "");
	}
	if (oom->view.known) {
		append_told(rows, oom, oom->view.pid, oom->view.comm, oom->view.ts_ns);
		string_append_format(&rows->what, "%s, of %s",
				     oom->view_fresh ? "" : " (too old to rely on)",
				     REPORT_SIZE(oom->view.total_bytes));
		send_bytes(rows, "", oom->view.free_bytes, "");
	}
	if (request->told) {
		append_told(rows, oom, oom->pid, oom->comm, request->told_ts_ns);
		string_append_format(&rows->what, ", after the failure, of %s",
				     REPORT_SIZE(request->told_total_bytes));
		send_bytes(rows, "", request->told_free_bytes, "");
	}
	if (oom->device_bytes)
		send_bytes(rows, "bytes of the device", oom->device_bytes, "");
}

static void send_room(struct rows *rows, const struct analysis_oom *oom)
{
	string_append_format(&rows->what, "allocated %s and still live",
			     oom->view.known ? "since it was reported" :
					       "in the time that is recorded");
	send_bytes(rows, "", oom->taken_since_bytes, "");
	if (!oom->pools_known) {
		send_unknown(rows, "held by pools and not used", "");
	} else {
		bool suffices = !oom->requested_known || oom->pooled_bytes >= oom->requested_bytes;

		string_append_format(&rows->what,
				     "held by pools and not used, which would %shave sufficed",
				     suffices ? "" : "not ");
		send_bytes(rows, "", oom->pooled_bytes, "");
	}
	if (!oom->holes_known)
		return;
	string_append_format(&rows->what, "holes between its blocks; the largest %s",
			     REPORT_SIZE(oom->largest_hole_bytes));
	send_amount(rows, "", &(struct amount){ .bytes = oom->holes_bytes, .count = oom->holes });
}

bool report_oom_rows(const struct report_recording *recording, const struct analysis_oom *oom,
		     report_row_fn take, void *context)
{
	struct rows rows = { .recording = recording, .take = take, .context = context };

	send_amount(&rows, "live, of all recorded processes", &oom->live);
	send_amount(&rows, "- of it in the process that failed", &oom->own);
	send_amount(&rows, "- of it in kinds that only grow", &oom->growing);
	if (oom->unclear.count)
		send_amount(&rows, "not in it: of others, on a device that may be the same",
			    &oom->unclear);
	if (oom->request.failures > 1)
		send_amount(&rows, "the process that failed, at its first failure",
			    &oom->first_own);
	if (oom->managed.count)
		send_amount(&rows, "not in it: managed (may be on the host)", &oom->managed);
	send_view(&rows, oom);
	send_room(&rows, oom);
	return rows_fini(&rows);
}

/* ---- processes ------------------------------------------------------------------------------- */

void report_append_end(struct string *out, const struct process *process)
{
	if (!process->exited)
		string_append_text(out, "still running at the end");
	else if (process->exit_status == MS_EXIT_UNKNOWN)
		string_append_text(out, "ended");
	else if (WIFSIGNALED(process->exit_status))
		string_append_format(out, "killed by signal %d", WTERMSIG(process->exit_status));
	else
		string_append_format(out, "exited with %d", WEXITSTATUS(process->exit_status));
}

void report_append_held_before(struct string *out, const struct process *process)
{
	if (process->was_running)
		string_append_text(out, "; it had CUDA loaded before it was attached to, and what"
					" it held by then is not in these numbers");
	else if (process->was_running_earlier)
		string_append_text(out, "; it was attached to while it ran an earlier program, and"
					" what that held by then is not in these peaks and"
					" totals");
}

static bool has_managed(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].process->spaces[MS_SPACE_MANAGED].peak_bytes)
			return true;
	return false;
}

void report_append_no_device_memory(struct string *out, struct report_recording *const *recordings,
				    size_t count)
{
	bool managed = false;
	size_t i;

	for (i = 0; i < count; i++)
		managed |= has_managed(recordings[i]);
	string_append_text(out, managed ?
					"No allocation on a device was recorded, except of managed"
					" memory, which may be there or on the host." :
					"No allocation on a device was recorded.");
}
