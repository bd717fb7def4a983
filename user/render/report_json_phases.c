// SPDX-License-Identifier: BSD-2-Clause
/*
 * Phases, as JSON.
 */
#include <string.h>

#include "render/json.h"
#include "render/report_json.h"

static void put_i64(struct json *json, const char *name, int64_t value)
{
	json_name(json, name);
	json_i64(json, value);
}

static void put_path(struct json *json, const struct phase *phase)
{
	const struct phase *path[PHASES_DEPTH + 1];
	size_t count = 0;

	for (; phase && count <= PHASES_DEPTH; phase = phase->parent)
		path[count++] = phase;
	json_name(json, "path");
	json_open(json, '[');
	while (count--) {
		if (path[count]->name)
			json_text(json, path[count]->name, strlen(path[count]->name));
		else
			json_null(json);
	}
	json_close(json, ']');
}

static void put_sums(struct json *json, const struct report_coverage *coverage,
		     const struct phase_sums *sums)
{
	const bool copies = !coverage->copies_summed && !report_not_captured(coverage, MS_OP_COPY);
	const bool launches =
		!coverage->launches_summed && !report_not_captured(coverage, MS_OP_LAUNCH);

	json_put_u64(json, "allocs", sums->allocs);
	json_put_u64(json, "alloc_bytes", sums->alloc_bytes);
	json_put_u64(json, "frees", sums->frees);
	json_put_u64(json, "free_bytes", sums->free_bytes);
	json_put_if(json, "copies", copies, sums->copies);
	json_put_if(json, "copy_bytes", copies, sums->copy_bytes);
	json_put_if(json, "launches", launches, sums->launches);
	json_put_u64(json, "waits", sums->waits);
	json_put_u64(json, "wait_ns", sums->wait_ns);
}

static void put_values(struct json *json, const char *name, const struct phase_values *values)
{
	json_name(json, name);
	json_open(json, '{');
	put_i64(json, "total", values->total);
	put_i64(json, "max", values->max);
	put_i64(json, "p95", values->p95);
	json_put_u64(json, "p95_of", values->count);
	json_close(json, '}');
}

static void put_phase(struct json *json, const struct report_coverage *coverage,
		      const struct phase *phase)
{
	static const char *const kinds[] = {
		[PHASE_THREAD] = "thread",
		[PHASE_RANGE] = "range",
		[PHASE_INSTANT] = "instant",
		[PHASE_OTHERS] = "others",
	};
	static const char *const sources[] = {
#define X(source, name) name,
		MS_MARKER_SOURCES(X)
#undef X
	};

	json_open(json, '{');
	put_path(json, phase);
	json_put_text(json, "kind", kinds[phase->kind]);
	json_put_text(json, "source", phase->kind == PHASE_OTHERS ? NULL : sources[phase->source]);
	json_name(json, "domain");
	if (phase->domain)
		json_hex(json, phase->domain);
	else
		json_null(json);
	json_put_u64(json, "pid", phase->pid);
	report_json_comm(json, phase->comm);
	json_put_if(json, "first_ts_ns", phase->first_ns, phase->first_ns);
	json_put_if(json, "last_ts_ns", phase->last_ns, phase->last_ns);
	json_put_u64(json, "times", phase->count);
	json_put_u64(json, "unfinished", phase->open);
	put_values(json, "time_ns", &phase->time);
	put_values(json, "held_bytes", &phase->held);
	json_put_u64(json, "peak_bytes", phase->peak_bytes);
	put_sums(json, coverage, &phase->sums);
	json_close(json, '}');
}

void report_json_phases(struct json *json, const struct report_recording *recording)
{
	const struct phases *phases = &recording->phases;
	size_t i;

	json_name(json, "phases");
	if (!phases->markers) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_u64(json, "markers", phases->markers);
	json_put_u64(json, "lost", recording->coverage.counters.lost[MS_KIND_MARKER]);
	json_put_u64(json, "unmatched_ends", phases->unmatched);
	json_put_u64(json, "left", phases->left);
	json_put_u64(json, "dropped", phases->dropped);
	json_put_u64(json, "ambiguous_ends", phases->ambiguous);
	json_name(json, "list");
	json_open(json, '[');
	for (i = 0; i < phases->count; i++)
		put_phase(json, &recording->coverage, phases->phases[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_steps(struct json *json, const struct steps_thread *thread)
{
	const struct step_series *step = thread->step;

	json_open(json, '{');
	json_put_u64(json, "pid", thread->pid);
	json_put_u64(json, "start_ns", thread->start_ns);
	report_json_comm(json, thread->comm);
	json_put_u64(json, "tid", thread->tid);
	json_name(json, "begins_with");
	if (step->kernel)
		json_text(json, step->kernel, strlen(step->kernel));
	else
		json_null(json);
	json_put_u64(json, "steps", step->equal);
	json_put_u64(json, "irregular", step->count - step->equal);
	json_put_u64(json, "launches", step->equal_launches / step->equal);
	json_put_u64(json, "first_ts_ns", step->first_ns);
	json_put_u64(json, "last_ts_ns", step->last_ns);
	put_values(json, "time_ns", &step->time);
	put_values(json, "held_bytes", &step->held);
	json_close(json, '}');
}

void report_json_steps(struct json *json, const struct report_recording *recording)
{
	const struct steps *steps = &recording->steps;
	size_t i;

	json_name(json, "steps");
	json_open(json, '[');
	for (i = 0; i < steps->count; i++)
		if (steps->threads[i].step)
			put_steps(json, &steps->threads[i]);
	json_close(json, ']');
}
