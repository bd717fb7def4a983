// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a report cannot say, since what a rule goes by was not recorded. A rule judges processes one
 * by one: it could not look if it could not look at any of those that it is about.
 */
#include "report/report.h"

#include <string.h>

#include "ledger/process.h"

#define SHORT_FACTOR 10 /* as in analysis/leaks.c */

static const char *const not_captured[MS_OPS_COUNT] = {
	[MS_OP_ALLOC] = "allocations were not captured",
	[MS_OP_FREE] = "frees were not captured",
	[MS_OP_COPY] = "copies were not captured",
	[MS_OP_MEMSET] = "memsets were not captured",
	[MS_OP_LAUNCH] = "launches were not captured",
	[MS_OP_SYNC] = "synchronisations were not captured",
	[MS_OP_MEMORY] = "the driver's answers about memory were not captured",
	[MS_OP_CONTEXT] = "contexts were not captured",
	[MS_OP_NAME] = "names were not captured",
};

/* ---- processes that a rule is about ---------------------------------------------------------- */

typedef bool process_fn(const struct report_recording *recording, const struct process *process);

static bool any_call(const struct report_recording *recording, const struct process *process)
{
	enum ms_op op;

	(void)recording;
	for (op = 0; op < MS_OPS_COUNT; op++)
		if (process->calls[op])
			return true;
	return false;
}

static bool allocated(const struct report_recording *recording, const struct process *process)
{
	(void)recording;
	return process->calls[MS_OP_ALLOC];
}

static bool copied(const struct report_recording *recording, const struct process *process)
{
	(void)recording;
	return process->calls[MS_OP_COPY];
}

/* Whether there are processes of the first kind, and none of them is of the second. */
static bool none_of(const struct report_recording *recording, process_fn *is_meant, process_fn *can)
{
	size_t meant = 0, i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;

		if (!is_meant(recording, process))
			continue;
		if (can(recording, process))
			return false;
		meant++;
	}
	return meant;
}

/* For so long it was seen. */
static uint64_t length_of(const struct report_recording *recording, const struct process *process)
{
	uint64_t begin_ns = report_begin_ns(recording), end_ns = report_held_ns(recording, process);

	if (process->first_ts_ns > begin_ns)
		begin_ns = process->first_ts_ns;
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

uint64_t report_longest_ns(const struct report_recording *recording)
{
	uint64_t longest_ns = 0;
	size_t i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;
		const uint64_t ns =
			any_call(recording, process) ? length_of(recording, process) : 0;

		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	return longest_ns;
}

static bool was_seen_for_bound_time(const struct report_recording *recording,
				    const struct process *process)
{
	return length_of(recording, process) >= recording->thresholds.bound_time_ns;
}

/* For so long it made calls. */
static uint64_t work_of(const struct report_recording *recording, const struct process *process)
{
	return holdings_work_ns(
		holdings_find(&recording->holdings, process->pid, process->start_ns));
}

uint64_t report_longest_work_ns(const struct report_recording *recording)
{
	uint64_t longest_ns = 0;
	size_t i;

	for (i = 0; i < recording->processes_count; i++) {
		const uint64_t ns = work_of(recording, recording->processes[i].process);

		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	return longest_ns;
}

static bool was_seen_for_leak_time(const struct report_recording *recording,
				   const struct process *process)
{
	return work_of(recording, process) >= recording->thresholds.leak_time_ns;
}

static bool was_seen_for_long(const struct report_recording *recording,
			      const struct process *process)
{
	return work_of(recording, process) / SHORT_FACTOR >= recording->thresholds.leak_time_ns;
}

static bool ended_by_itself(const struct report_recording *recording, const struct process *process)
{
	(void)recording;
	return report_ended_by_itself(process);
}

static bool left_much(const struct report_recording *recording, const struct process *process)
{
	return report_ended_by_itself(process) &&
	       report_held_on_devices(process) >= recording->thresholds.leak_bytes;
}

/* Whether the rules about the end, or about growth, could say something of it. */
static bool was_judged(const struct report_recording *recording, const struct process *process)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++) {
		const struct finding *finding = recording->findings[i].finding;

		if (finding->rule == FINDING_KEPT_TO_END && finding->pid == process->pid &&
		    finding->start_ns == process->start_ns)
			return true;
	}
	return was_seen_for_leak_time(recording, process);
}

static bool was_seen_from_its_start(const struct report_recording *recording,
				    const struct process *process)
{
	return ended_by_itself(recording, process) && !process->was_running;
}

static bool has_results(const struct report_recording *recording, const struct process *process)
{
	(void)recording;
	return !process->entries_only;
}

/* With --gpu-time; whether CUPTI answered is another question. */
static bool asked_cupti(const struct report_recording *recording, const struct process *process)
{
	(void)recording;
	return process->gpu;
}

static bool has_gpu_times(const struct report_recording *recording, const struct process *process)
{
	(void)recording;
	return process->gpu && process->gpu->devices_count;
}

/* As the rule itself has it. */
static bool knows_pinned(const struct report_recording *recording, const struct process *process)
{
	(void)recording;
	return !process->was_running && !process->was_running_earlier && !process->entries_only &&
	       !process->counters[COUNTER_UNKNOWN_ALLOCS] &&
	       !process->counters[COUNTER_UNKNOWN_SIZES];
}

/* ---- what rules are blind to ----------------------------------------------------------------- */

static bool has_launches(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].process->launches)
			return true;
	return recording->state->more && recording->state->more->launches;
}

static const char *blind_to_launches(const struct report_recording *recording)
{
	return recording->coverage.launches_summed && has_launches(recording) ?
		       "launches were only counted: record with --launches=all" :
		       NULL;
}

static const char *blind_to_order(const struct report_recording *recording)
{
	return recording->coverage.copies_summed ?
		       "copies were summed up: record with --copies=all" :
		       blind_to_launches(recording);
}

#define TOO_SHORT "less time was recorded than "
#define TOO_LITTLE_WORK "calls were made for less than "
#define NO_GROWTH "no process went on for long enough after its initialisation"

static const char *blind_for_now(const struct report_recording *recording)
{
	return none_of(recording, any_call, was_seen_for_bound_time) ? TOO_SHORT "bound-time" :
								       NULL;
}

enum report_shortage report_shortage_of(const char *why)
{
	if (!strcmp(why, NO_GROWTH))
		return REPORT_SHORT_OF_WARMUP;
	if (!strncmp(why, TOO_LITTLE_WORK, strlen(TOO_LITTLE_WORK)))
		return REPORT_SHORT_OF_LEAK_TIME;
	return strncmp(why, TOO_SHORT, strlen(TOO_SHORT)) != 0 ? REPORT_SHORT_OF_NOTHING :
								 REPORT_SHORT_OF_BOUND_TIME;
}

static const char *blind_to_growth(const struct report_recording *recording,
				   enum finding_confidence least)
{
	if (none_of(recording, allocated, was_seen_for_leak_time))
		return TOO_LITTLE_WORK "leak-time";
	if (least > FINDING_LOW && report_not_captured(&recording->coverage, MS_OP_LAUNCH))
		return "launches were not captured, so the program may only be loading";
	if (least > FINDING_MEDIUM && none_of(recording, allocated, was_seen_for_long))
		return TOO_LITTLE_WORK "ten times leak-time";
	return NULL;
}

static const char *blind_to_exit(const struct report_recording *recording,
				 enum finding_confidence least)
{
	if (none_of(recording, allocated, ended_by_itself))
		return "no process ended by itself in that time";
	if (none_of(recording, left_much, was_judged))
		return TOO_LITTLE_WORK "leak-time by each process that left memory";
	if (least > FINDING_LOW && none_of(recording, allocated, was_seen_from_its_start))
		return "what processes set up before they were attached to is not known";
	return NULL;
}

/* Once says nothing of growth. */
static bool nvml_was_asked(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].process->nvml.count > 1)
			return true;
	return false;
}

static const char *blind_to_use(const struct report_recording *recording)
{
	return recording->told_count || recording->ooms_count || nvml_was_asked(recording) ?
		       NULL :
		       "neither a program nor NVML was asked how much memory is in use";
}

static const char *blind_to_budgeted(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (process_was_budgeted(recording->processes[i].process))
			return "the agent did not trace all calls, to keep its budget";
	return NULL;
}

/* What is not captured may fail as well. */
static const char *blind_to_work(const struct report_recording *recording)
{
	static const enum ms_op ops[] = { MS_OP_COPY, MS_OP_MEMSET, MS_OP_LAUNCH };
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (report_not_captured(&recording->coverage, ops[i]))
			return not_captured[ops[i]];
	return blind_to_budgeted(recording);
}

static const char *blind_to_what(const struct report_recording *recording, enum finding_rule rule,
				 enum finding_confidence least)
{
	switch (finding_rule_blind(rule)) {
	case RULE_BLIND_TO_ORDER:
		return blind_to_order(recording);
	case RULE_BLIND_TO_PINNED:
		return none_of(recording, copied, knows_pinned) ?
			       "which host memory is page-locked is not known" :
			       NULL;
	case RULE_BLIND_FOR_NOW:
		return blind_for_now(recording);
	case RULE_BLIND_TO_LAUNCHES:
		return blind_for_now(recording) ? blind_for_now(recording) :
						  blind_to_launches(recording);
	case RULE_BLIND_TO_GROWTH:
		return blind_to_growth(recording, least);
	case RULE_BLIND_TO_EXIT:
		return blind_to_exit(recording, least);
	case RULE_BLIND_TO_WINDOW:
		return analysis_account(recording->analysis)->window_reached ?
			       NULL :
			       "the recording ended before the third time";
	case RULE_BLIND_TO_WARMUP:
		return recording->growth_unlooked ? NO_GROWTH : NULL;
	case RULE_BLIND_TO_ROOM:
		return recording->told_count || recording->ooms_count ?
			       NULL :
			       "no program asked how much memory is free";
	case RULE_BLIND_TO_USE:
		return blind_to_use(recording);
	case RULE_BLIND_TO_GPU_TIMES:
		return none_of(recording, asked_cupti, has_gpu_times) ?
			       "it is not known when any GPU had work" :
			       NULL;
	case RULE_BLIND_TO_WORK:
		return blind_to_work(recording);
	case RULE_BLIND_TO_TENSORS: /* report_not_asked() */
	case RULE_BLIND_NOTHING:
		break;
	}
	return NULL;
}

/* Some of the calls that were lost may have been what the rule is about. */
static const char *blind_for_loss(const struct report_recording *recording, enum finding_rule rule,
				  enum finding_confidence least)
{
	const enum finding_topic topic = finding_topic_of(rule);
	enum finding_confidence most;
	const char *why = analysis_lowered(recording->analysis, topic, &most);

	/* How sure a failure's cause is says nothing about whether one was seen. */
	if (topic == FINDING_TOPIC_OOM)
		return recording->coverage.counters.lost[MS_OP_ALLOC] ? "allocations were lost" :
									NULL;
	return why && (most < least || most == FINDING_LOW) ? why : NULL;
}

/* Whether no process has an allocator that was seen to say what it does. */
static bool without_tensors(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (recording->processes[i].process->tensors.devices_count)
			return false;
	return true;
}

/* Whether no process was recorded with --gpu-time. */
static bool without_cupti(const struct report_recording *recording)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++)
		if (asked_cupti(recording, recording->processes[i].process))
			return false;
	return true;
}

bool report_not_asked(const struct report_recording *recording, enum finding_rule rule)
{
	if (finding_rule_blind(rule) == RULE_BLIND_TO_GPU_TIMES)
		return without_cupti(recording);
	if (finding_rule_blind(rule) == RULE_BLIND_TO_TENSORS)
		return without_tensors(recording);
	return (rule == FINDING_LEAK_WINDOW && !recording->thresholds.window_c_ns) ||
	       (rule == FINDING_GROWTH && !recording->options.growth_bytes);
}

const char *report_blind(const struct report_recording *recording, enum finding_rule rule,
			 enum finding_confidence least)
{
	uint32_t missing = finding_rule_needs(rule) & ~recording->coverage.captured_ops;
	const bool is_of_memory = finding_topic_of(rule) == FINDING_TOPIC_LEAK ||
				  finding_topic_of(rule) == FINDING_TOPIC_OOM;
	const char *why;
	enum ms_op op;

	/* What has found something was not blind, and needs no excuse. */
	if (report_not_asked(recording, rule) || report_has(recording, rule, least))
		return NULL;
	/* It says what the driver's answers would say. */
	if (finding_rule_blind(rule) == RULE_BLIND_TO_USE && nvml_was_asked(recording))
		missing &= ~(1u << MS_OP_MEMORY);
	for (op = 0; op < MS_OPS_COUNT; op++)
		if (missing >> op & 1)
			return not_captured[op];
	if (!recording->called)
		return "no call was recorded";
	if (is_of_memory && none_of(recording, allocated, has_results))
		return "only the beginnings of calls were recorded";
	why = blind_to_what(recording, rule, least);
	if (!why && finding_rule_needs(rule) & MS_BULK_OPS)
		why = blind_to_budgeted(recording);
	return why ? why : blind_for_loss(recording, rule, least);
}
