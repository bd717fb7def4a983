// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is found in a run. The first byte of the input chooses thresholds (as they are, or so low
 * that everything is a finding) and where the recording has gaps, the rest is a list of steps. And
 * what the pictures of a report are made from.
 */
#include "fuzz.h"

#include "report/address_map.h"
#include "analysis/analysis.h"
#include "timeline/spans.h"
#include "pipeline.h"
#include "steps.h"

enum choice {
	CHOICE_LOW = 1 << 0,
	CHOICE_WINDOW = 1 << 1,
	CHOICE_NO_LENGTHS = 1 << 2,
	CHOICE_GAPS = 1 << 3,
};

struct analysing {
	struct sink sink;
	struct analysis *analysis;
	struct spans *spans;
	uint64_t calls; /* in all lanes */
	bool many;      /* more than 64 bits can count */
};

static int analyse(struct sink *sink, const struct event *event, const struct change *change)
{
	struct analysing *analysing = (struct analysing *)sink;
	uint64_t calls = event->call ? event->count : 0;

	if (event->call && event->header->type != MS_TYPE_CALLS &&
	    event->call->known & MS_KNOWN_STREAM)
		calls *= 2;
	analysing->many |= __builtin_add_overflow(analysing->calls, calls, &analysing->calls);
	fuzz_check(!spans_event(analysing->spans, event, change));
	return analysis_event(analysing->analysis, event, change);
}

static int take_sample(struct sink *sink, const struct event *event, const struct change *change)
{
	struct analysing *analysing = (struct analysing *)sink;
	const struct ms_activity *activity = (const struct ms_activity *)event->sample;

	if (event->header->type != MS_TYPE_ACTIVITY)
		return 0;
	analysing->many |= __builtin_add_overflow(
		analysing->calls, gpu_times_is_work(&activity->is), &analysing->calls);
	fuzz_check(!spans_activity(analysing->spans, event, change));
	return 0;
}

static struct analysis_options options_of(uint8_t choice)
{
	struct analysis_options options = analysis_defaults();

	if (choice & CHOICE_LOW) {
		options.leak_bytes = options.leak_count = options.leak_time_ns = 0;
		options.leak_windows = options.leak_share = 0;
		options.bound_time_ns = options.bound_windows = 0;
		options.sync_share = options.copy_share = options.alloc_share = 0;
		options.redundant_count = options.redundant_bytes = options.pageable_bytes = 0;
		options.temporary_count = options.storm_rate = options.storm_share = 0;
	}
	if (choice & CHOICE_WINDOW) {
		options.window_b_ns = 1200;
		options.window_c_ns = 1500;
	}
	if (choice & CHOICE_NO_LENGTHS) {
		options.storm_window_ns = options.gap_ns = 0;
		options.init_share = UINT32_MAX;
	}
	return options;
}

static void check_findings(const struct analysis *analysis)
{
	const struct finding *findings;
	size_t count, ooms, i, j;

	analysis_ooms(analysis, &ooms);
	findings = analysis_findings(analysis, &count);
	for (i = 0; i < count; i++) {
		const struct finding *finding = &findings[i];

		fuzz_check(finding->rule < FINDING_RULES_COUNT);
		fuzz_check((finding->confidence == FINDING_HIGH) == !finding->lowered_by);
		fuzz_check(finding->evidence_count > 0);
		fuzz_check(finding->evidence_count <= FINDING_EVIDENCE_MAX);
		fuzz_check(finding->rule != FINDING_OOM || finding->oom < ooms);
		for (j = 0; j < finding->evidence_count; j++)
			fuzz_check(finding->evidence[j].unit != FINDING_PERCENT ||
				   finding->evidence[j].value <= 100);
	}
}

/* Returns the calls in it. */
static uint64_t check_lane(const struct spans *spans, const struct spans_lane *lane)
{
	const struct span *span = spans_of(spans, lane);
	uint64_t calls = 0;
	size_t i;

	for (i = 0; i < lane->count; i++) {
		fuzz_check(span[i].begin_ns <= span[i].end_ns);
		fuzz_check(!i || span[i - 1].begin_ns <= span[i].begin_ns);
		fuzz_check(span[i].name < spans_names_count(spans));
		fuzz_check(span[i].count > 0);
		calls += span[i].count;
	}
	return calls;
}

static void check_spans(struct analysing *analysing, size_t max)
{
	const struct spans_lane *lanes;
	size_t count, found = 0, i;
	uint64_t calls;

	fuzz_check(!spans_finish(analysing->spans, max));
	lanes = spans_lanes(analysing->spans, &count);
	fuzz_check(count <= SPANS_LANES_MAX);
	calls = spans_dropped(analysing->spans).calls;
	for (i = 0; i < count; i++) {
		calls += check_lane(analysing->spans, &lanes[i]);
		found += lanes[i].count;
	}
	fuzz_check(found <= max || found <= 2 * count);
	fuzz_check(analysing->many || calls == analysing->calls);
}

static void check_maps(struct analysing *analysing, const struct state *state, uint64_t now_ns)
{
	const struct report_options options = { .device = -1 };
	struct address_maps maps;
	size_t i, j;

	fuzz_check(!address_maps_make(&maps, state, &options, now_ns, analysing->spans));
	for (i = 0; i < maps.count; i++)
		for (j = 0; j < maps.maps[i].count; j++) {
			const struct address_block *block = &maps.maps[i].blocks[j];

			fuzz_check(!j || block[-1].addr <= block->addr);
			fuzz_check(block->name < spans_names_count(analysing->spans));
		}
	address_maps_fini(&maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct analysing analysing = {
		.sink = { .call = analyse, .process = analyse, .sample = take_sample }
	};
	struct sink *sink = &analysing.sink;
	struct pipeline pipeline = {
		.sinks = { sink }, .sinks_count = 1, .filter = { .ops = ~0u }, .shows_sums = true
	};
	struct fuzz_steps steps = { bytes + 1, size ? size - 1 : 0, 1000 };
	struct analysis_options options;
	uint64_t records = 0;

	if (!size)
		return 0;
	options = options_of(bytes[0]);
	analysing.analysis = analysis_new(&pipeline.state, &options);
	analysing.spans = spans_new(steps.now_ns);
	fuzz_check(analysing.analysis && analysing.spans);
	while (steps_feed(&steps, &pipeline)) {
		if (bytes[0] & CHOICE_GAPS && ++records % 16 == 0) {
			analysis_gap(analysing.analysis);
			spans_gap(analysing.spans);
		}
	}
	fuzz_check(!analysis_finish(analysing.analysis, steps.now_ns, NULL));
	check_findings(analysing.analysis);
	check_spans(&analysing, SPANS_MAX);
	check_spans(&analysing, 16);
	check_maps(&analysing, &pipeline.state, steps.now_ns);
	spans_free(analysing.spans);
	analysis_free(analysing.analysis);
	state_fini(&pipeline.state);
	return 0;
}
