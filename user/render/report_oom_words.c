// SPDX-License-Identifier: BSD-2-Clause
#include "render/report_oom_words.h"

#include <string.h>
#include <sys/wait.h>

#include "analysis/oom_limit.h"
#include "render/field.h"
#include "render/finding_words.h"
#include "render/oom_others_words.h"
#include "render/report_outage.h"
#include "render/report_words.h"
#include "render/share_words.h"
#include "render/stack_words.h"

/* ---- what was asked for ---------------------------------------------------------------------- */

static void append_size(struct string *out, const struct analysis_oom *oom)
{
	const struct oom_request *request = &oom->request;

	if (!oom->requested_known) {
		string_append_text(out, "an unknown number of bytes");
		return;
	}
	string_append_format(out, "%s%s", request->at_least ? "at least " : "",
			     REPORT_SIZE(oom->requested_bytes));
}

void report_append_oom_request(struct string *out, const struct analysis_oom *oom)
{
	const struct oom_request *request = &oom->request;
	const char *symbol = probe_at(oom->row)->symbol;

	report_append_process(out, oom->pid, oom->name);
	if (oom->tid)
		string_append_format(out, ", thread %u,", oom->tid);
	if (request->op == MS_OP_ALLOC) {
		string_append_format(out, " asked %s for ", symbol);
		append_size(out, oom);
		string_append_format(out, " of %s memory", probe_space_name(oom->space));
		if (request->pieces && oom->requested_bytes != request->piece_bytes)
			string_append_format(out, " in pieces of %s",
					     REPORT_SIZE(request->piece_bytes));
	} else {
		string_append_format(out, " called %s", symbol);
	}
	if (request->inner_row != MS_NO_ROW)
		string_append_format(out, " (inside of it, %s failed)",
				     probe_at(request->inner_row)->symbol);
	string_append_text(out, " on device ");
}

void report_append_oom_repeats(struct string *out, const struct analysis_oom *oom)
{
	if (oom->failures > 1)
		string_append_format(out, ", and failed %s times", REPORT_COUNT(oom->failures));
	if (oom->last_ts_ns > oom->ts_ns)
		string_append_format(out, " in %s", REPORT_DURATION(oom->last_ts_ns - oom->ts_ns));
	if (oom->requested_known && oom->request.first_bytes != oom->requested_bytes)
		string_append_format(out, ", the first time for %s",
				     REPORT_SIZE(oom->request.first_bytes));
}

/* ---- how it ended ---------------------------------------------------------------------------- */

static void append_granted(struct string *out, const struct oom_request *request)
{
	if (request->granted_bytes)
		string_append_format(out, "%s was granted%s", REPORT_SIZE(request->granted_bytes),
				     request->granted_elsewhere ? " to another call site" : "");
	else
		string_append_text(out, "the call succeeded");
	if (request->end_ts_ns > request->last_ts_ns)
		string_append_format(out, " %s after the last failure",
				     REPORT_DURATION(request->end_ts_ns - request->last_ts_ns));
	if (request->freed_count)
		string_append_format(out, ", when the process had freed %s in %s block%s",
				     REPORT_SIZE(request->freed_bytes),
				     REPORT_COUNT(request->freed_count),
				     request->freed_count == 1 ? "" : "s");
}

static void append_times(struct string *out, const char *before, uint64_t count, const char *after)
{
	string_append_format(out, "%s %s time%s%s; ", before, REPORT_COUNT(count),
			     count == 1 ? "" : "s", after);
}

/* What came of the call site that was refused, if that is not what the process went on with. */
static void append_site(struct string *out, const struct oom_request *request)
{
	if (!request->refused_before && !request->refused_later)
		return;
	if (request->elsewhere)
		string_append_format(out,
				     "other call sites were granted memory %s time%s, %s at most; ",
				     REPORT_COUNT(request->elsewhere),
				     request->elsewhere == 1 ? "" : "s",
				     REPORT_SIZE(request->elsewhere_bytes));
	if (request->refused_before)
		append_times(out, "this one had been refused", request->refused_before, " before");
	if (request->refused_later)
		append_times(out, "this one was refused", request->refused_later, " more");
}

static void append_succeeded(struct string *out, const struct oom_request *request)
{
	const uint64_t others = request->work_since - request->allocs_since;

	string_append_format(out, "%s allocation%s and %s launch%s or cop%s succeeded",
			     REPORT_COUNT(request->allocs_since),
			     request->allocs_since == 1 ? "" : "s", REPORT_COUNT(others),
			     others == 1 ? "" : "es", others == 1 ? "y" : "ies");
}

/* What says that it could go on. */
static void append_work(struct string *out, const struct oom_request *request)
{
	if (request->work_since) {
		append_succeeded(out, request);
		string_append_text(out, " after it; ");
	} else {
		string_append_text(out, "nothing was asked of the device after it; ");
	}
}

static void append_refused(struct string *out, const struct oom_request *request)
{
	if (request->op != MS_OP_ALLOC)
		string_append_text(out, "no such call succeeded after that");
	else if (request->work_since)
		string_append_text(out, "it was not granted after that");
	else
		string_append_text(out, "nothing was granted after that");
	if (request->work_since) {
		string_append_text(out, ", although ");
		append_succeeded(out, request);
	}
	string_append_text(out, "; ");
}

/* How the process ended, or that it went on. */
static void append_fate(struct string *out, const struct oom_request *request)
{
	const uint32_t status = request->exit_status;

	if (!request->exited && request->outcome == OOM_GAVE_UP)
		string_append_text(out, "the process did nothing more with its devices");
	else if (!request->exited)
		string_append_text(out, "the process went on without it");
	else if (status == MS_EXIT_UNKNOWN)
		string_append_text(out, "the process ended, or was traced no more");
	else if (WIFSIGNALED(status))
		string_append_format(out, "the process was killed by signal %d", WTERMSIG(status));
	else
		string_append_format(out, "the process exited with %d", WEXITSTATUS(status));
	if (request->exited && request->end_ts_ns > request->last_ts_ns)
		string_append_format(out, ", %s later",
				     REPORT_DURATION(request->end_ts_ns - request->last_ts_ns));
}

/* It may have been denied, and have got the memory since. */
static void append_unseen(struct string *out, const struct oom_request *request)
{
	string_append_text(out, "what came of it is not known: ");
	append_fate(out, request);
}

/* Whether the recording goes on behind what was asked for. */
static bool is_cut(const struct report_recording *recording)
{
	return recording->coverage.until_ns &&
	       recording->coverage.until_ns < recording->coverage.account.last_ts_ns;
}

static void append_end(struct string *out, const struct report_recording *recording,
		       const struct analysis_oom *oom)
{
	const uint64_t end_ns = report_end_ns(recording);

	switch (oom->request.outcome) {
	case OOM_RECOVERED:
	case OOM_BACKED_OFF:
		append_site(out, &oom->request);
		append_granted(out, &oom->request);
		break;
	case OOM_HANDLED:
		append_site(out, &oom->request);
		append_work(out, &oom->request);
		append_fate(out, &oom->request);
		break;
	case OOM_FATAL:
	case OOM_GAVE_UP:
		append_site(out, &oom->request);
		append_refused(out, &oom->request);
		append_fate(out, &oom->request);
		break;
	case OOM_OPEN:
	case OOM_OUTCOMES_COUNT:
		if (is_cut(recording)) {
			string_append_text(out, "the report ends before it; without --at and --to,"
						" it says what came of it");
			break;
		}
		append_site(out, &oom->request);
		if (oom_end_is_unseen(&oom->request)) {
			append_unseen(out, &oom->request);
			break;
		}
		string_append_text(out, "the process was still running when the recording ended");
		if (end_ns > oom->last_ts_ns)
			string_append_format(out, ", %s later",
					     REPORT_DURATION(end_ns - oom->last_ts_ns));
		break;
	}
}

void report_append_oom_outcome(struct string *out, const struct report_recording *recording,
			       const struct analysis_oom *oom)
{
	string_append_format(out, "%s: ", oom_outcome_name(oom->request.outcome));
	append_end(out, recording, oom);
}

/* ---- what would have helped ------------------------------------------------------------------ */

/* "F1": the gravest leak of that process. */
static void append_leak(struct string *out, const struct report_recording *recording,
			const struct analysis_oom *oom)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding_topic_of(finding->rule) != FINDING_TOPIC_LEAK ||
		    finding->pid != oom->pid || finding->start_ns != oom->start_ns)
			continue;
		string_append_format(out, "without the growth of F%zu",
				     recording->findings[i].number);
		return;
	}
	string_append_text(out, "without what only grew");
}

static void append_remedy(struct string *out, const struct report_recording *recording,
			  const struct analysis_oom *oom, const struct oom_remedy *remedy)
{
	switch (remedy->kind) {
	case OOM_REMEDY_LEAK:
		append_leak(out, recording, oom);
		string_append_format(out, " (%s)", REPORT_SIZE(remedy->bytes));
		break;
	case OOM_REMEDY_CACHE:
		string_append_format(out,
				     "if the process had given back before what it freed afterwards"
				     " (%s)",
				     REPORT_SIZE(remedy->bytes));
		break;
	case OOM_REMEDY_POOL:
		string_append_format(out, "if pools had been trimmed (%s)",
				     REPORT_SIZE(remedy->bytes));
		break;
	case OOM_REMEDY_PROCESS:
		string_append_text(out, "if ");
		report_append_process(out, remedy->pid, remedy->comm);
		string_append_format(out, " had held %s less", REPORT_SIZE(remedy->bytes));
		break;
	case OOM_REMEDY_LIMIT:
		string_append_format(out, "with a limit of %s", REPORT_SIZE(remedy->bytes));
		break;
	case OOM_REMEDY_LESS:
	case OOM_REMEDIES_COUNT:
		string_append_format(out, "if %s less had been asked for or in use",
				     REPORT_SIZE(remedy->bytes));
		break;
	}
}

void report_append_oom_remedies(struct string *out, const struct report_recording *recording,
				const struct analysis_oom *oom)
{
	size_t i;

	for (i = 0; i < oom->remedies_count; i++) {
		string_append_text(out, i ? ", or " : "It would have fit ");
		append_remedy(out, recording, oom, &oom->remedies[i]);
	}
	if (oom->remedies_count)
		string_append_char(out, '.');
}

/* ---- why ------------------------------------------------------------------------------------- */

/* Size of the device, as the driver told a program; 0: not known. */
static uint64_t total_of(const struct analysis_oom *oom)
{
	if (oom->device_bytes)
		return oom->device_bytes;
	if (oom->request.told)
		return oom->request.told_total_bytes;
	return oom->view.known ? oom->view.total_bytes : oom->others.total_bytes;
}

/* What it ran before it was attached to is in none of its numbers. */
static const char *least(bool held_before)
{
	return held_before ? "at least " : "";
}

static const char *cause_words(const struct analysis_oom *oom)
{
	switch (oom->cause) {
	case OOM_LEAK:
		return "most of what was in use was allocated bit by bit and not freed";
	case OOM_STEADY:
		return oom->series.made_before ?
			       "most of what was in use came from one place, block by block before"
			       " what is seen here" :
			       "most of what was in use came from one place, block by block until it"
			       " failed";
	case OOM_CACHED:
		return "most was held by this process, whose own allocator seems to keep memory"
		       " that is free";
	case OOM_FULL:
		return analysis_oom_is_shared(oom) ?
			       "it and others together need more than there is" :
			       "the process itself needs more than there is";
	case OOM_TOO_LARGE:
		return total_of(oom) ? "it asked for more than the device has" :
				       "it asked for more than any device has";
	case OOM_CO_TENANT:
		return oom->others.bytes > oom->others.in_use_bytes / 2 || !oom->others.sampled ?
			       "other processes hold most of the device" :
			       "other processes hold more of the device than it does";
	case OOM_FRAGMENTATION:
		return "enough was free, but not in one piece";
	case OOM_POOLED:
		return "pools kept enough memory that had been freed";
	case OOM_ADDRESSES:
		return "there were no addresses to reserve or map";
	case OOM_LIMIT:
		return oom->limit_reached ? "the limit of its cgroup was reached" :
					    "the process may use only a part of the device";
	case OOM_UNEXPLAINED:
		return "no recorded allocation explains it";
	case OOM_UNKNOWN:
	case OOM_CAUSES_COUNT:
		break;
	}
	if (analysis_oom_lacks_own(oom))
		return "what the process held when it was attached to is not known";
	return "nothing that was recorded says why";
}

void report_append_oom_series(struct string *out, const struct report_recording *recording,
			      const struct analysis_oom *oom)
{
	const struct oom_series *series = &oom->series;
	const struct stack *stack = stacks_find(&recording->state->stacks, series->stack);
	struct string chain = { 0 };

	if (!series->live.count)
		return;
	string_append_format(out, " held %s%s, and ", least(oom->own_before),
			     REPORT_SIZE(oom->own.bytes));
	if (series->live.bytes < oom->own.bytes)
		string_append_text(out, REPORT_SIZE(series->live.bytes));
	else
		string_append_text(out, "all");
	string_append_text(out, " of that came from ");
	if (stack) {
		stack_words_append_chain(&chain, &recording->state->stacks, stack);
		field_append_safe(out, chain.bytes, chain.length);
		out->failed |= chain.failed;
		string_fini(&chain);
	} else {
		string_append_text(out, probe_at(series->row)->symbol);
	}
	string_append_format(out, " in %s blocks of %s each, made within %s",
			     REPORT_COUNT(series->live.count), REPORT_SIZE(series->block_bytes),
			     REPORT_DURATION(series->last_ns - series->first_ns));
	if (!series->frees)
		string_append_text(out, ", and none of these was freed");
}

/* Of what the process itself filled the device with. */
static bool is_about_series(const struct analysis_oom *oom)
{
	return oom->series.live.count &&
	       (oom->cause == OOM_STEADY || oom->cause == OOM_LEAK || oom->cause == OOM_FULL);
}

/* What the device has is told with it: what a program was told may be the limit alone. */
static void append_limit(struct string *out, const struct analysis_oom *oom)
{
	uint64_t bytes;

	string_append_text(out, "; programs of cgroup ");
	field_append_safe(out, oom->limit.path,
			  strnlen(oom->limit.path, oom->limit.limit_path_bytes));
	string_append_format(out, " may use %s of ", REPORT_SIZE(oom->limit.limit_bytes));
	if (oom_limit_free(oom, &bytes))
		string_append_format(out, "the device's %s",
				     REPORT_SIZE(oom->limit.capacity_bytes));
	else
		string_append_text(out, "the device");
	string_append_format(out, " and used %s", REPORT_SIZE(oom_limit_used(oom)));
	if (oom_limit_free(oom, &bytes))
		string_append_format(out, ", while %s of it were free", REPORT_SIZE(bytes));
}

void report_append_oom_cause(struct string *out, const struct report_recording *recording,
			     const struct analysis_oom *oom)
{
	string_append_format(out, "%s (%s", analysis_oom_cause_name(oom->cause), cause_words(oom));
	if (oom->cause == OOM_LEAK)
		string_append_format(out, ": %s",
				     REPORT_SIZE(oom->limit_reached ? oom->own_growing.bytes :
								      oom->growing.bytes));
	if (oom->cause == OOM_FULL && oom->own.bytes && !oom->series.live.count)
		string_append_format(out, ": it held %s%s", least(oom->own_before),
				     REPORT_SIZE(oom->own.bytes));
	if (oom->cause == OOM_FULL && oom->own.bytes && !oom->series.live.count &&
	    oom->requested_bytes)
		string_append_format(out, ", and asked for %s more",
				     REPORT_SIZE(oom->requested_bytes));
	if (is_about_series(oom)) {
		string_append_text(out, oom->cause == OOM_LEAK ? "; it" : ": it");
		report_append_oom_series(out, recording, oom);
	}
	if (oom->cause == OOM_CO_TENANT && oom->others.count == 1 && !oom->others.untraced) {
		string_append_text(out, ", ");
		oom_others_words_first(out, recording, oom);
	} else if (oom->cause == OOM_CO_TENANT || analysis_oom_others_matter(oom)) {
		string_append_text(out, "; ");
		oom_others_words(out, recording, oom);
	}
	if ((oom->cause == OOM_UNEXPLAINED || oom->cause == OOM_UNKNOWN) && oom->unclear.bytes)
		string_append_format(out,
				     "; other recorded processes held %s on devices that may be the"
				     " same",
				     REPORT_SIZE(oom->unclear.bytes));
	if (total_of(oom) && !oom->limit_reached)
		string_append_format(out, "; the device has %s", REPORT_SIZE(total_of(oom)));
	if (oom->limit_reached)
		append_limit(out, oom);
	else if (oom->cause == OOM_LIMIT && oom->request.told)
		string_append_format(out, ", of which the process may use %s",
				     REPORT_SIZE(oom->request.told_total_bytes));
	string_append_char(out, ')');
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* Of kinds, which managed memory is one of, too. */
static uint64_t held_bytes(const struct analysis_oom *oom)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < oom->kinds_count; i++)
		bytes += oom->kinds[i].live.bytes;
	return bytes > oom->live.bytes ? bytes : oom->live.bytes;
}

static void append_holder(struct string *out, const struct analysis_oom *oom)
{
	const struct oom_process *first = &oom->processes[0];
	const char *share;

	if (!oom->processes_count)
		return;
	string_append_text(out, ", when ");
	report_append_process(out, first->pid, first->name);
	string_append_format(out, " held %s%s", least(first->held_before),
			     REPORT_SIZE(first->live.bytes));
	/* Kinds are those of all processes. */
	if (oom->kinds_count) {
		share = share_words(oom->kinds[0].live.bytes, held_bytes(oom));
		if (oom->processes_count > 1)
			string_append_format(out, "; %s of what all recorded processes %s came",
					     share,
					     oom->held_before ? "are known to have held" : "held");
		else
			string_append_format(out, ", %s of %s", share,
					     first->held_before ? "what is known" : "it");
		string_append_format(out, " from %s", probe_at(oom->kinds[0].row)->symbol);
	}
	if (first->held_before) {
		string_append_text(out, "; ");
		report_append_process(out, first->pid, first->name);
		string_append_text(out, " ran before it was attached to, and what it held by then"
					" is not known");
	}
}

/* What shows how that came about, of the same process and device: it was then, or soon after. */
static void append_fragmentation(struct string *out, const struct report_recording *recording,
				 const struct analysis_oom *oom)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding->rule != FINDING_FRAGMENTATION || finding->pid != oom->pid ||
		    finding->start_ns != oom->start_ns || finding->last_ts_ns < oom->ts_ns ||
		    (oom->device >= 0 && finding->device != oom->device))
			continue;
		string_append_text(out, "; it");
		finding_words_append_says(out, recording, finding);
		if (recording->findings[i].stack) {
			string_append_text(out, "; ");
			finding_words_site(out, recording, &recording->findings[i]);
		}
		return;
	}
}

/* Nothing says why memory ran out: what of the same process grew meanwhile, if anything did. */
static void append_suspect(struct string *out, const struct report_recording *recording,
			   const struct analysis_oom *oom)
{
	size_t i;

	if (oom->cause != OOM_UNKNOWN && oom->cause != OOM_UNEXPLAINED)
		return;
	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding_topic_of(finding->rule) != FINDING_TOPIC_LEAK ||
		    finding->pid != oom->pid || finding->start_ns != oom->start_ns)
			continue;
		string_append_text(out, "; but ");
		finding_words_append(out, recording, finding);
		return;
	}
}

void report_append_oom_verdict(struct string *out, const struct report_recording *recording,
			       const struct analysis_oom *oom)
{
	string_append_format(out, "Out of memory: %s", probe_at(oom->row)->symbol);
	if (oom->requested_known) {
		string_append_char(out, '(');
		append_size(out, oom);
		string_append_char(out, ')');
	}
	string_append_text(out, " in ");
	report_append_process(out, oom->pid, oom->name);
	string_append_text(out, " failed at ");
	report_append_time(out, recording, oom->last_ts_ns);
	report_outage_append_all(out, recording, oom);
	append_holder(out, oom);
	string_append_text(out, ". It ");
	switch (oom->request.outcome) {
	case OOM_RECOVERED:
		string_append_text(out, "recovered: ");
		break;
	case OOM_BACKED_OFF:
		string_append_text(out, "backed off: ");
		break;
	case OOM_HANDLED:
		string_append_text(out, "was handled: ");
		break;
	case OOM_FATAL:
		string_append_text(out, "was fatal: ");
		break;
	case OOM_GAVE_UP:
		string_append_text(out, "may have been fatal: ");
		break;
	case OOM_OPEN:
	case OOM_OUTCOMES_COUNT:
		string_append_text(out, is_cut(recording) ? "has an end that is not shown here: " :
					oom_end_is_unseen(&oom->request) ?
							    "has an end that was not seen: " :
							    "has no end yet: ");
		break;
	}
	append_end(out, recording, oom);
	string_append_text(out, ". Cause: ");
	report_append_oom_cause(out, recording, oom);
	if (oom->cause == OOM_FRAGMENTATION)
		append_fragmentation(out, recording, oom);
	append_suspect(out, recording, oom);
}
