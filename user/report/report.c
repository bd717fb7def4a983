// SPDX-License-Identifier: BSD-2-Clause
#include "report/report.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/losses.h"
#include "ledger/process.h"
#include "report/report_devices.h"
#include "report/suppressions.h"

struct report_recording *report_recording_new(struct state *state,
					      const struct report_options *options,
					      const struct analysis_options *thresholds)
{
	struct report_recording *recording = calloc(1, sizeof(*recording));

	if (!recording)
		return NULL;
	recording->state = state;
	recording->options = *options;
	recording->thresholds = *thresholds;
	recording->holdings.warmup = options->warmup;
	process_groups_init(&recording->groups, options->by);
	recording->analysis = analysis_new(state, thresholds);
	if (recording->analysis && !state_follow_usage(state))
		return recording;
	report_recording_free(recording);
	return NULL;
}

void report_coverage_fini(struct report_coverage *coverage)
{
	while (coverage->files_count)
		free(coverage->files[--coverage->files_count]);
	free(coverage->files);
	free(coverage->host);
	free(coverage->kernel);
	free(coverage->machine);
	free(coverage->version);
	free(coverage->targets);
	free(coverage->reason);
}

void report_recording_free(struct report_recording *recording)
{
	if (!recording)
		return;
	report_coverage_fini(&recording->coverage);
	timeline_fini(&recording->timeline);
	nvml_series_fini(&recording->nvml_series);
	phases_fini(&recording->phases);
	steps_fini(&recording->steps);
	holdings_fini(&recording->holdings);
	sites_fini(&recording->sites);
	call_sites_fini(&recording->call_sites);
	call_sites_fini(&recording->launch_sites);
	process_groups_fini(&recording->groups);
	analysis_free(recording->analysis);
	while (recording->processes_count) {
		free(recording->processes[--recording->processes_count].largest);
		free(recording->processes[recording->processes_count].cells);
	}
	free(recording->processes);
	free(recording->devices);
	free(recording->findings);
	free(recording->ooms);
	free(recording->told);
	map_fini(&recording->told_places);
	free(recording);
}

bool report_selects(const struct report_options *options)
{
	return options->pids_count || process_selection_is_some(&options->selection);
}

static bool has_pid(const struct report_options *options, uint32_t pid)
{
	size_t i = 0;

	while (i < options->pids_count && options->pids[i] != pid)
		i++;
	return i < options->pids_count || !options->pids_count;
}

bool report_wants(const struct report_options *options, const struct process *process)
{
	return !report_selects(options) || (has_pid(options, process->pid) &&
					    process_selection_has(&options->selection, process));
}

bool report_may_want(const struct report_options *options, const struct process *process)
{
	return has_pid(options, process->pid) &&
	       process_selection_may_have(&options->selection, process);
}

/* ---- while it is replayed -------------------------------------------------------------------- */

int report_recording_event(struct report_recording *recording, const struct event *event,
			   const struct change *change)
{
	int err = analysis_event(recording->analysis, event, change);

	timeline_event(&recording->timeline, recording->state, event, change);
	if (event->call &&
	    (!recording->first_event_ns || event_begin_ns(event) < recording->first_event_ns))
		recording->first_event_ns = event_begin_ns(event);
	recording->called |= event->call && report_wants(&recording->options, change->process);
	if (event->call && event->probe->spec.action == MS_ACTION_DEVICE_INFO)
		report_devices_told(recording, event, change);
	recording->incomplete |= err == -ENOMEM;
	recording->incomplete |=
		holdings_event(&recording->holdings, recording->state, event, change) == -ENOMEM;
	if (change->process && !report_wants(&recording->options, change->process))
		return 0;
	recording->incomplete |=
		sites_event(&recording->sites, recording->state, event, change) == -ENOMEM ||
		call_sites_event(&recording->call_sites, recording->state, event) == -ENOMEM;
	if (recording->groups.by && change->process)
		recording->incomplete |=
			process_groups_event(&recording->groups, event, change->process) == -ENOMEM;
	phases_event(&recording->phases, event, change);
	steps_event(&recording->steps, event, change);
	return 0;
}

void report_recording_identity(struct report_recording *recording, const struct event *event,
			       const struct change *change)
{
	if (recording->groups.by && report_wants(&recording->options, change->process))
		recording->incomplete |=
			process_groups_event(&recording->groups, event, change->process) == -ENOMEM;
}

/* What processes hold, also those of which nothing has come. */
static void look_at_processes(struct report_recording *recording, uint64_t ts_ns)
{
	const struct state *state = recording->state;
	size_t i;

	for (i = 0; i < state->processes_count; i++) {
		const struct process *process = state->processes[i];

		if (!report_wants(&recording->options, process))
			continue;
		if (!recording->options.sums)
			recording->incomplete |=
				sites_look(&recording->sites, state, process) == -ENOMEM;
		if (recording->groups.by && !report_had_ended(&recording->coverage, process))
			recording->incomplete |=
				process_groups_look(&recording->groups, process, ts_ns) == -ENOMEM;
	}
}

void report_recording_gap(struct report_recording *recording, uint64_t ts_ns, bool first)
{
	timeline_begin(&recording->timeline, ts_ns);
	timeline_state(&recording->timeline, recording->state, ts_ns);
	process_groups_gap(&recording->groups);
	look_at_processes(recording, ts_ns);
	if (first)
		return;
	analysis_gap(recording->analysis);
	phases_gap(&recording->phases);
	steps_gap(&recording->steps);
}

/* ---- processes ------------------------------------------------------------------------------- */

static int by_amount(const void *a, const void *b)
{
	const struct usage_cell *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? 1 : -1;
	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
	return x->row != y->row ? (x->row > y->row ? 1 : -1) : x->device - y->device;
}

static int take_cells(const struct report_recording *recording, struct report_process *process)
{
	struct usage *usage = process->process->usage;
	size_t i;

	if (!usage || !usage->count)
		return 0;
	usage_settle(usage);
	process->cells = calloc(usage->count, sizeof(*process->cells));
	if (!process->cells)
		return -ENOMEM;
	for (i = 0; i < usage->count; i++)
		if (report_devices_asked(recording, usage->cells[i].device))
			process->cells[process->cells_count++] = usage->cells[i];
	qsort(process->cells, process->cells_count, sizeof(*process->cells), by_amount);
	return 0;
}

/* An exited process has only its PROCESS_LARGEST largest. */
static int take_largest(const struct report_recording *recording, struct report_process *process)
{
	const size_t top = recording->options.top;
	/* Those on other devices are left out afterwards. */
	size_t max = recording->options.device < 0 ? top : SIZE_MAX, held = 0, kept = 0, i;

	for (i = 0; i < LEDGERS_COUNT; i++)
		held += process->process->ledgers[i].count;
	held = process->process->exited ? PROCESS_LARGEST : held;
	max = max < held ? max : held;
	process->largest = calloc(max + 1, sizeof(*process->largest));
	if (!process->largest)
		return -ENOMEM;
	held = state_largest(process->process, process->largest, max);
	for (i = 0; i < held && kept < top; i++)
		if (report_devices_asked(recording, process->largest[i].device))
			process->largest[kept++] = process->largest[i];
	process->largest_count = kept;
	return 0;
}

static uint64_t highest_peak(const struct process *process)
{
	uint64_t peak = 0;
	size_t i;

	for (i = 0; i < MS_SPACES_COUNT; i++)
		if (i != MS_SPACE_RESERVED && i != MS_SPACE_MAPPED &&
		    process->spaces[i].peak_bytes > peak)
			peak = process->spaces[i].peak_bytes;
	return peak;
}

static int by_peak(const void *a, const void *b)
{
	const struct report_process *x = a, *y = b;
	uint64_t peak_x = highest_peak(x->process), peak_y = highest_peak(y->process);

	if (peak_x != peak_y)
		return peak_x < peak_y ? 1 : -1;
	if (x->process->pid != y->process->pid)
		return x->process->pid < y->process->pid ? -1 : 1;
	return x->process->start_ns < y->process->start_ns ? -1 : 1;
}

static int finish_processes(struct report_recording *recording)
{
	const struct state *state = recording->state;
	size_t i;
	int err = 0;

	recording->processes = calloc(state->processes_count + 1, sizeof(*recording->processes));
	if (!recording->processes)
		return -ENOMEM;
	for (i = 0; !err && i < state->processes_count; i++) {
		const struct process *process = state->processes[i];
		struct report_process *shown = &recording->processes[recording->processes_count];

		if (!report_wants(&recording->options, process) ||
		    report_had_ended(&recording->coverage, process))
			continue;
		recording->processes_count++;
		shown->process = process;
		shown->series =
			timeline_find(&recording->timeline, process->pid, process->start_ns);
		err = take_cells(recording, shown);
		if (!err && !recording->options.sums)
			err = take_largest(recording, shown);
	}
	qsort(recording->processes, recording->processes_count, sizeof(*recording->processes),
	      by_peak);
	return err;
}

/* ---- findings -------------------------------------------------------------------------------- */

bool report_is_about(const struct report_recording *recording, uint32_t pid, uint64_t start_ns,
		     int32_t device)
{
	const struct report_options *options = &recording->options;
	const struct process *process = state_find(recording->state, pid, start_ns);

	/* Only the pid is known of one that is a part of the sum. */
	if (process ? !report_wants(options, process) :
		      !has_pid(options, pid) || process_selection_is_some(&options->selection))
		return false;
	return (device < 0 || report_devices_asked(recording, device));
}

static void count_finding(struct report_recording *recording, const struct finding *finding)
{
	size_t i;

	for (i = 0; i < recording->processes_count; i++) {
		const struct process *process = recording->processes[i].process;

		if (process->pid == finding->pid && process->start_ns == finding->start_ns)
			recording->processes[i].findings++;
	}
}

static bool is_suppressed(const struct report_recording *recording,
			  const struct report_finding *numbered)
{
	const struct report_options *options = &recording->options;
	const enum finding_unit unit = report_finding_stack_unit(numbered);
	const struct suppression_source source = { numbered->stack,
						   report_finding_stack_part(numbered),
						   numbered->whole, unit, numbered->at_least };

	return options->suppressions &&
	       suppressions_take(options->suppressions, numbered->finding,
				 &recording->state->stacks, &source, !options->looks_ahead);
}

static int finish_findings(struct report_recording *recording)
{
	size_t count, i;
	const struct finding *findings = analysis_findings(recording->analysis, &count);

	recording->findings = calloc(count + 1, sizeof(*recording->findings));
	if (!recording->findings)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		struct report_finding numbered = { .finding = &findings[i] };

		if (!report_is_about(recording, findings[i].pid, findings[i].start_ns,
				     findings[i].device))
			continue;
		report_finding_find_site(recording, &numbered);
		if (is_suppressed(recording, &numbered)) {
			recording->suppressed++;
			continue;
		}
		recording->findings[recording->findings_count++] = numbered;
		count_finding(recording, &findings[i]);
	}
	return 0;
}

int report_recording_finish(struct report_recording *recording)
{
	uint64_t end_ns = report_end_ns(recording);
	int err;

	/* A call that was recorded first may have begun before. */
	if (!recording->coverage.from_ns && recording->first_event_ns &&
	    recording->first_event_ns < recording->coverage.account.first_ts_ns)
		recording->coverage.account.first_ts_ns = recording->first_event_ns;
	timeline_finish(&recording->timeline, recording->state, end_ns);
	nvml_series_finish(&recording->nvml_series, recording->state);
	phases_finish(&recording->phases, end_ns);
	steps_finish(&recording->steps, &recording->phases);
	recording->incomplete |= report_growth_find(recording) == -ENOMEM;
	recording->incomplete |= report_crashes_find(recording) == -ENOMEM;
	err = analysis_finish(recording->analysis, end_ns, &recording->coverage.counters);
	recording->incomplete |= err == -ENOMEM || recording->timeline.incomplete ||
				 recording->phases.incomplete || recording->steps.incomplete ||
				 recording->state->usage->incomplete;
	look_at_processes(recording, end_ns);
	err = report_devices_finish(recording);
	if (!err)
		err = finish_processes(recording);
	if (!err)
		err = finish_findings(recording);
	if (!err)
		err = report_ooms_finish(recording);
	if (!err)
		report_groups_finish(recording);
	return err;
}

void report_number(struct report *report)
{
	size_t number = 1, evidence = 1, i, j;

	for (i = 0; i < report->count; i++) {
		struct report_recording *recording = report->recordings[i];

		for (j = 0; j < recording->findings_count; j++) {
			struct report_finding *finding = &recording->findings[j];

			finding->number = number++;
			finding->first_evidence = evidence;
			evidence += finding->finding->evidence_count;
		}
	}
}

/* ---- questions ------------------------------------------------------------------------------- */

bool report_is_empty(const struct report *report)
{
	size_t i;

	for (i = 0; i < report->count; i++)
		if (report->recordings[i]->called)
			return false;
	return true;
}

uint64_t report_begin_ns(const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;

	return coverage->from_ns > coverage->account.first_ts_ns ? coverage->from_ns :
								   coverage->account.first_ts_ns;
}

uint64_t report_end_ns(const struct report_recording *recording)
{
	const struct report_coverage *coverage = &recording->coverage;
	uint64_t end_ns = coverage->until_ns && coverage->until_ns < coverage->account.last_ts_ns ?
				  coverage->until_ns :
				  coverage->account.last_ts_ns;
	uint64_t begin_ns = report_begin_ns(recording);

	return end_ns > begin_ns ? end_ns : begin_ns;
}

struct amount report_held(const struct process *process, uint8_t space)
{
	const struct space_total *total = &process->spaces[space];

	return process->exited ?
		       (struct amount){ .count = total->exit_count, .bytes = total->exit_bytes } :
		       (struct amount){ .count = total->live_count, .bytes = total->live_bytes };
}

uint64_t report_held_on_devices(const struct process *process)
{
	return process->exited ? process_left_held_bytes(process) : process_held_bytes(process);
}

uint64_t report_held_ns(const struct report_recording *recording, const struct process *process)
{
	return process->exited ? process->exit_ts_ns : report_end_ns(recording);
}

uint64_t report_age_ns(const struct allocation *allocation, uint64_t now_ns)
{
	return now_ns > allocation->ts_ns ? now_ns - allocation->ts_ns : 0;
}

bool report_has_space(const struct process *process, uint8_t space)
{
	const struct space_total *total = &process->spaces[space];

	return total->allocs || total->peak_bytes || total->live_count || total->exit_count;
}

/* The program may have asked for one of the two alone, or for both at different times. */
bool report_slack(const struct view *pool, uint64_t *bytes)
{
	*bytes = pool->total_bytes - pool->free_bytes;
	return pool->has_total && pool->has_free && pool->total_bytes >= pool->free_bytes;
}

bool report_has_more(const struct report_recording *recording)
{
	return recording->state->more_count && !report_selects(&recording->options);
}

/* Names are not calls: they are not asked for. */
bool report_not_captured(const struct report_coverage *coverage, enum ms_op op)
{
	return !(coverage->captured_ops >> op & 1) && op != MS_OP_NAME;
}

uint64_t report_lost(const struct report_coverage *coverage)
{
	const struct losses losses = losses_of(&coverage->counters);

	return losses_count(&losses);
}

uint64_t report_peak_unsure(const struct report_recording *recording, const struct process *process)
{
	return holdings_unsure(
		holdings_find(&recording->holdings, process->pid, process->start_ns));
}

bool report_has(const struct report_recording *recording, enum finding_rule rule,
		enum finding_confidence least)
{
	size_t i;

	for (i = 0; i < recording->findings_count; i++)
		if (recording->findings[i].finding->rule == rule &&
		    recording->findings[i].finding->confidence >= least)
			return true;
	return false;
}
