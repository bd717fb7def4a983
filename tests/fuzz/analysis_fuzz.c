// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is found in a run. The first byte of the input chooses thresholds (as they are, or so low that
 * everything is a finding) and where the recording has gaps, the rest is a list of steps.
 */
#include "fuzz.h"

#include "model/analysis.h"
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
};

static int analyse(struct sink *sink, const struct event *event, const struct change *change)
{
	return analysis_event(((struct analysing *)sink)->analysis, event, change);
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct analysing analysing = { .sink = { .event = analyse } };
	struct sink *sink = &analysing.sink;
	struct pipeline pipeline = {
		.sinks = &sink, .sinks_count = 1, .filter = { .ops = ~0u }, .shows_sums = true
	};
	struct steps steps = { bytes + 1, size ? size - 1 : 0, 1000 };
	struct analysis_options options;
	uint64_t records = 0;

	if (!size)
		return 0;
	options = options_of(bytes[0]);
	analysing.analysis = analysis_new(&pipeline.state, &options);
	fuzz_check(analysing.analysis);
	while (steps_feed(&steps, &pipeline))
		if (bytes[0] & CHOICE_GAPS && ++records % 16 == 0)
			analysis_gap(analysing.analysis);
	fuzz_check(!analysis_finish(analysing.analysis, steps.now_ns, NULL));
	check_findings(analysing.analysis);
	analysis_free(analysing.analysis);
	state_fini(&pipeline.state);
	return 0;
}
