// SPDX-License-Identifier: BSD-2-Clause
/*
 * What was found, as JSON.
 */
#include "render/report_json.h"

#include <string.h>

#include "ledger/objects.h"
#include "render/json.h"
#include "render/report_words.h"
#include "render/stack_words.h"

static void put_id(struct json *json, char letter, size_t number)
{
	struct string id = { 0 };

	string_append_char(&id, letter);
	string_append_u64(&id, number);
	json_text(json, id.bytes, id.length);
	json->out->failed |= id.failed;
	string_fini(&id);
}

static void put_api(struct json *json, uint16_t row)
{
	json_put_text(json, "api", row == MS_NO_ROW ? NULL : probe_at(row)->symbol);
}

/* ---- findings -------------------------------------------------------------------------------- */

static void put_site(struct json *json, const struct report_recording *recording,
		     const struct report_finding *numbered)
{
	struct string words = { 0 };

	json_name(json, "site");
	if (!numbered->stack) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "stack_id", numbered->stack->id);
	json_put_u64(json, "live_bytes", numbered->stack_bytes);
	json_put_u64(json, "duration_ns", numbered->stack_ns);
	json_put_u64(json, "calls", numbered->stack_calls);
	json_put_bool(json, "at_least", numbered->at_least);
	stack_words_append_chain(&words, &recording->state->stacks, numbered->stack);
	json_name(json, "called_in");
	json_text(json, words.bytes, words.length);
	json->out->failed |= words.failed;
	string_fini(&words);
	json_close(json, '}');
}

static void put_evidence(struct json *json, const struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;
	size_t i;

	json_name(json, "evidence");
	json_open(json, '[');
	for (i = 0; i < finding->evidence_count; i++) {
		json_open(json, '{');
		json_name(json, "id");
		put_id(json, 'E', numbered->first_evidence + i);
		json_put_text(json, "what", finding->evidence[i].what);
		json_put_text(json, "name", finding->evidence[i].name);
		json_put_text(json, "unit", report_unit_name(finding->evidence[i].unit));
		json_put_u64(json, "value", finding->evidence[i].value);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_finding(struct json *json, const struct report_recording *recording,
			const struct report_finding *numbered)
{
	const struct finding *finding = numbered->finding;

	json_open(json, '{');
	json_name(json, "id");
	put_id(json, 'F', numbered->number);
	json_put_text(json, "rule", finding_rule_name(finding->rule));
	json_put_text(json, "topic", finding_topic_name(finding_topic_of(finding->rule)));
	json_put_text(json, "confidence", report_confidence_name(finding->confidence));
	json_put_text(json, "lowered_by", finding->lowered_by);
	json_put_text(json, "pattern", finding->pattern);
	json_put_u64(json, "pid", finding->pid);
	json_put_u64(json, "start_ns", finding->start_ns);
	report_json_comm(json, finding->comm);
	report_json_name(json, finding->name);
	report_json_device(json, finding->device);
	json_put_text(json, "space",
		      finding->space == MS_SPACE_NONE ? NULL : probe_space_name(finding->space));
	put_api(json, finding->row);
	json_put_u64(json, "bytes", finding->bytes);
	json_put_text(json, "object", finding->object ? objects_name(finding->object) : NULL);
	json_put_u64(json, "count", finding->count);
	json_put_u64(json, "first_ts_ns", finding->first_ts_ns);
	json_put_u64(json, "last_ts_ns", finding->last_ts_ns);
	put_evidence(json, numbered);
	put_site(json, recording, numbered);
	json_close(json, '}');
}

/* ---- failed allocations ---------------------------------------------------------------------- */

static void put_amount(struct json *json, const char *name, const struct amount *amount)
{
	json_name(json, name);
	json_open(json, '{');
	json_put_u64(json, "bytes", amount->bytes);
	json_put_u64(json, "allocations", amount->count);
	json_close(json, '}');
}

static void put_blocks(struct json *json, const char *name, const struct analysis_oom *oom,
		       const struct oom_block *blocks, size_t count)
{
	size_t i;

	json_name(json, name);
	json_open(json, '[');
	for (i = 0; i < count; i++) {
		json_open(json, '{');
		json_put_u64(json, "pid", blocks[i].pid);
		json_put_u64(json, "start_ns", blocks[i].start_ns);
		report_json_allocation(json, &blocks[i].allocation, oom->figures_ts_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* A stack that is not known any more is left out. */
static void put_sites(struct json *json, const struct stacks *stacks,
		      const struct analysis_oom *oom)
{
	size_t i;

	json_name(json, "by_site");
	json_open(json, '[');
	for (i = 0; i < oom->sites_count; i++) {
		const struct stack *stack = stacks_find(stacks, oom->sites[i].stack);

		if (!stack)
			continue;
		json_open(json, '{');
		json_stack(json, stacks, stack);
		put_amount(json, "live", &oom->sites[i].live);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_made_in(struct json *json, const char *name, const struct stacks *stacks,
			uint32_t id)
{
	const struct stack *stack = stacks_find(stacks, id);

	json_name(json, name);
	if (!stack) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_stack(json, stacks, stack);
	json_close(json, '}');
}

static void put_kinds(struct json *json, const struct oom_kind *kinds, size_t count)
{
	size_t i;

	json_name(json, "by_api");
	json_open(json, '[');
	for (i = 0; i < count; i++) {
		json_open(json, '{');
		put_api(json, kinds[i].row);
		json_put_text(json, "space", probe_space_name(kinds[i].space));
		put_amount(json, "live", &kinds[i].live);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_holders(struct json *json, const struct stacks *stacks,
			const struct analysis_oom *oom)
{
	size_t i;

	json_name(json, "processes");
	json_open(json, '[');
	for (i = 0; i < oom->processes_count; i++) {
		json_open(json, '{');
		json_put_u64(json, "pid", oom->processes[i].pid);
		json_put_u64(json, "start_ns", oom->processes[i].start_ns);
		report_json_comm(json, oom->processes[i].comm);
		report_json_name(json, oom->processes[i].name);
		put_amount(json, "live", &oom->processes[i].live);
		put_kinds(json, oom->processes[i].kinds, oom->processes[i].kinds_count);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_put_u64(json, "more_processes", oom->more_processes);
	put_kinds(json, oom->kinds, oom->kinds_count);
	put_sites(json, stacks, oom);
	put_blocks(json, "largest", oom, oom->largest, oom->largest_count);
	put_blocks(json, "newest", oom, oom->newest, oom->newest_count);
}

static void put_series(struct json *json, const struct stacks *stacks,
		       const struct analysis_oom *oom)
{
	const struct oom_series *series = &oom->series;

	json_name(json, "series");
	if (!series->live.count) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	put_api(json, series->row);
	json_put_text(json, "space", probe_space_name(series->space));
	put_made_in(json, "made_in", stacks, series->stack);
	put_amount(json, "live", &series->live);
	json_put_u64(json, "block_bytes", series->block_bytes);
	json_put_u64(json, "first_ts_ns", series->first_ns);
	json_put_u64(json, "last_ts_ns", series->last_ns);
	json_put_u64(json, "frees", series->frees);
	json_put_bool(json, "launched", series->launched);
	json_close(json, '}');
}

static void put_told(struct json *json, const struct analysis_oom *oom)
{
	json_name(json, "told");
	if (!oom->view.known) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "pid", oom->view.pid);
	report_json_comm(json, oom->view.comm);
	json_put_u64(json, "ts_ns", oom->view.ts_ns);
	json_put_u64(json, "total_bytes", oom->view.total_bytes);
	json_put_u64(json, "free_bytes", oom->view.free_bytes);
	json_put_bool(json, "fresh", oom->view_fresh);
	json_close(json, '}');
}

static void put_told_after(struct json *json, const struct oom_request *request)
{
	json_name(json, "told_after");
	if (!request->told) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "ts_ns", request->told_ts_ns);
	json_put_u64(json, "total_bytes", request->told_total_bytes);
	json_put_u64(json, "free_bytes", request->told_free_bytes);
	json_put_u64(json, "freed_before_bytes", request->told_freed_bytes);
	json_put_u64(json, "held_bytes", request->told_held_bytes);
	json_close(json, '}');
}

/* What the kernel said of the cgroup's limit on the device. */
static void put_limit(struct json *json, const struct analysis_oom *oom)
{
	const struct ms_limit *limit = &oom->limit;
	const bool device = limit->known & MS_LIMIT_DEVICE;

	json_name(json, "cgroup_limit");
	if (!oom->limit_known) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_name(json, "cgroup");
	json_text(json, limit->path, strnlen(limit->path, limit->limit_path_bytes));
	json_put_text(json, "region", limit->region);
	json_put_u64(json, "ts_ns", limit->event.ts_ns);
	json_put_u64(json, "limit_bytes", limit->limit_bytes);
	json_put_u64(json, "used_bytes", limit->limit_used_bytes);
	json_put_if(json, "capacity_bytes", device, limit->capacity_bytes);
	json_put_if(json, "device_used_bytes", device, limit->device_used_bytes);
	json_put_bool(json, "device_is_sure", oom->limit_is_sure);
	json_put_bool(json, "reached", oom->limit_reached);
	json_close(json, '}');
}

/* What is known of the rest of the device. */
static void put_room(struct json *json, const struct analysis_oom *oom)
{
	put_told(json, oom);
	put_told_after(json, &oom->request);
	put_limit(json, oom);
	json_put_if(json, "device_bytes", oom->device_bytes, oom->device_bytes);
	json_put_u64(json, "taken_since_bytes", oom->taken_since_bytes);
	json_put_if(json, "pooled_bytes", oom->pools_known, oom->pooled_bytes);
	json_name(json, "pooled_would_suffice");
	if (oom->pools_known && oom->requested_known)
		json_bool(json, oom->pooled_bytes >= oom->requested_bytes);
	else
		json_null(json);
	json_put_if(json, "holes", oom->holes_known, oom->holes);
	json_put_if(json, "holes_bytes", oom->holes_known, oom->holes_bytes);
	json_put_if(json, "largest_hole_bytes", oom->holes_known, oom->largest_hole_bytes);
}

/* What was asked for, and what became of it. */
static void put_request(struct json *json, const struct analysis_oom *oom)
{
	const struct oom_request *request = &oom->request;
	const bool in_pieces = request->pieces && oom->requested_bytes != request->piece_bytes,
		   granted = request->granted_bytes;

	json_put_if(json, "requested_bytes", oom->requested_known, oom->requested_bytes);
	json_put_bool(json, "requested_at_least", request->at_least);
	json_put_if(json, "first_requested_bytes", oom->requested_known, request->first_bytes);
	json_put_if(json, "piece_bytes", in_pieces, request->piece_bytes);
	json_put_text(json, "inner_api",
		      request->inner_row == MS_NO_ROW ? NULL :
							probe_at(request->inner_row)->symbol);
	json_put_text(json, "outcome", oom_outcome_name(request->outcome));
	json_put_if(json, "outcome_ts_ns", request->end_ts_ns, request->end_ts_ns);
	json_put_if(json, "granted_bytes", granted, request->granted_bytes);
	json_put_bool(json, "granted_elsewhere", granted && request->granted_elsewhere);
	json_put_u64(json, "elsewhere_allocations", request->elsewhere);
	json_put_if(json, "elsewhere_largest_bytes", request->elsewhere, request->elsewhere_bytes);
	json_put_u64(json, "refused_before", request->refused_before);
	json_put_u64(json, "refused_later", request->refused_later);
	json_put_u64(json, "allocations_since", request->allocs_since);
	json_put_u64(json, "work_since", request->work_since);
	json_put_if(json, "exit_status", request->exited && request->exit_status != MS_EXIT_UNKNOWN,
		    request->exit_status);
	json_put_u64(json, "freed_bytes", request->freed_bytes);
	json_put_u64(json, "freed_allocations", request->freed_count);
}

static void put_remedies(struct json *json, const struct analysis_oom *oom)
{
	size_t i;

	json_name(json, "would_have_fit");
	json_open(json, '[');
	for (i = 0; i < oom->remedies_count; i++) {
		const struct oom_remedy *remedy = &oom->remedies[i];

		json_open(json, '{');
		json_put_text(json, "if", analysis_oom_remedy_name(remedy->kind));
		json_put_u64(json, "bytes", remedy->bytes);
		json_put_if(json, "pid", remedy->kind == OOM_REMEDY_PROCESS, remedy->pid);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_oom(struct json *json, const struct stacks *stacks, const struct analysis_oom *oom)
{
	json_open(json, '{');
	json_put_u64(json, "ts_ns", oom->ts_ns);
	json_put_u64(json, "last_ts_ns", oom->last_ts_ns);
	json_put_u64(json, "failures", oom->failures);
	json_put_u64(json, "pid", oom->pid);
	json_put_u64(json, "start_ns", oom->start_ns);
	json_put_u64(json, "tid", oom->tid);
	report_json_comm(json, oom->comm);
	report_json_name(json, oom->name);
	put_api(json, oom->row);
	json_put_text(json, "space",
		      oom->space == MS_SPACE_NONE ? NULL : probe_space_name(oom->space));
	report_json_device(json, oom->device);
	put_request(json, oom);
	put_made_in(json, "failed_in", stacks, oom->request.stack);
	json_put_text(json, "cause", analysis_oom_cause_name(oom->cause));
	json_put_text(json, "confidence", report_confidence_name(oom->confidence));
	json_put_text(json, "lowered_by", oom->lowered_by);
	put_amount(json, "live", &oom->live);
	put_amount(json, "own", &oom->own);
	put_amount(json, "growing", &oom->growing);
	put_amount(json, "managed", &oom->managed);
	put_amount(json, "unclear", &oom->unclear);
	put_amount(json, "first_own", &oom->first_own);
	put_remedies(json, oom);
	put_room(json, oom);
	put_series(json, stacks, oom);
	put_holders(json, stacks, oom);
	json_close(json, '}');
}

/* ---- suggestions ----------------------------------------------------------------------------- */

static void put_suggestion(struct json *json, const struct report_recording *recording,
			   enum finding_rule rule, const char *text)
{
	size_t i, j;

	json_open(json, '{');
	json_put_text(json, "rule", finding_rule_name(rule));
	json_put_text(json, "text", text);
	json_name(json, "evidence");
	json_open(json, '[');
	for (i = 0; i < recording->findings_count; i++)
		for (j = 0; recording->findings[i].finding->rule == rule &&
			    j < recording->findings[i].finding->evidence_count;
		     j++)
			put_id(json, 'E', recording->findings[i].first_evidence + j);
	json_close(json, ']');
	json_close(json, '}');
}

void report_json_findings(struct json *json, const struct report_recording *recording)
{
	const struct analysis_account *account = analysis_account(recording->analysis);
	enum finding_rule rule;
	const char *text;
	size_t i;

	json_name(json, "findings");
	json_open(json, '[');
	for (i = 0; i < recording->findings_count; i++)
		put_finding(json, recording, &recording->findings[i]);
	json_close(json, ']');
	json_put_u64(json, "findings_dropped", account->findings_dropped);
	json_put_u64(json, "findings_suppressed", recording->suppressed);
	json_name(json, "out_of_memory");
	json_open(json, '[');
	for (i = 0; i < recording->ooms_count; i++)
		put_oom(json, &recording->state->stacks, recording->ooms[i]);
	json_close(json, ']');
	json_put_u64(json, "out_of_memory_not_listed", account->oom_not_listed);
	json_name(json, "suggestions");
	json_open(json, '[');
	for (rule = 0; rule < FINDING_RULES_COUNT; rule++)
		for (i = 0; (text = report_suggestion(recording, rule, i)); i++)
			put_suggestion(json, recording, rule, text);
	json_close(json, ']');
}
