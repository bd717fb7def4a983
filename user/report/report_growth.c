// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rule growth: a process holds more at its end than when it had set itself up.
 */
#include "report/report.h"

#include <string.h>

static struct finding finding_of(const struct report_recording *recording,
				 const struct process *process,
				 const struct holdings_growth *growth)
{
	struct finding finding = {
		.rule = FINDING_GROWTH,
		.confidence = FINDING_HIGH,
		.pid = process->pid,
		.start_ns = process->start_ns,
		.device = -1,
		.space = MS_SPACE_NONE,
		.row = MS_NO_ROW,
		.first_ts_ns = growth->warm_ns,
		.last_ts_ns = report_held_ns(recording, process),
		.bytes = growth->after_bytes - growth->before_bytes,
	};

	memcpy(finding.comm, process->comm, sizeof(finding.comm));
	finding_say(&finding, "device memory held after the initialisation", FINDING_BYTES,
		    growth->before_bytes);
	finding_say(&finding, "device memory held at the end", FINDING_BYTES, growth->after_bytes);
	finding_say(&finding, "growth", FINDING_BYTES, finding.bytes);
	finding_say(&finding, "growth that was asked about", FINDING_BYTES,
		    recording->options.growth_bytes);
	finding_say(&finding, "the initialisation was over at", FINDING_TIME, growth->warm_ns);
	if (growth->estimated)
		finding_lower(&finding, FINDING_MEDIUM,
			      "when the initialisation was over is an estimate; --warmup sets it");
	return finding;
}

int report_growth_find(struct report_recording *recording)
{
	const struct state *state = recording->state;
	size_t i, looked = 0, unlooked = 0;
	int err = 0;

	if (!recording->options.growth_bytes)
		return 0;
	for (i = 0; !err && i < state->processes_count; i++) {
		const struct process *process = state->processes[i];
		const struct holdings_process *holding =
			holdings_find(&recording->holdings, process->pid, process->start_ns);
		struct holdings_growth growth;
		struct finding finding;

		/* One that allocates nothing does not grow. */
		if (!holding || !holding->first_ns || !report_wants(&recording->options, process))
			continue;
		if (!holdings_grew(&recording->holdings, holding,
				   report_held_ns(recording, process),
				   report_held_on_devices(process),
				   recording->thresholds.init_share, &growth)) {
			unlooked++;
			continue;
		}
		looked++;
		if (growth.after_bytes < growth.before_bytes ||
		    growth.after_bytes - growth.before_bytes < recording->options.growth_bytes)
			continue;
		finding = finding_of(recording, process, &growth);
		err = analysis_add(recording->analysis, &finding);
	}
	recording->growth_unlooked = unlooked && !looked;
	return err;
}
