/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a report says as series of metrics: of recordings (export.h), or of a capture that goes on.
 */
#ifndef MEMSCOPE_EXPORT_OPENMETRICS_H
#define MEMSCOPE_EXPORT_OPENMETRICS_H

#include "export/metrics.h"
#include "report/report.h"

struct openmetrics;

struct openmetrics_options {
	bool label_pid; /* processes with the same name do not share series */
	/*
	 * The capture goes on: values are of now. Of processes that have ended, gauges say nothing,
	 * and counters only what openmetrics_add_ended() added: so they never go back, whatever the
	 * state keeps of them.
	 */
	bool live;
	size_t most; /* series: metrics_new() */
};

/* NULL without memory. */
struct openmetrics *openmetrics_new(const struct openmetrics_options *options);
void openmetrics_free(struct openmetrics *export);

/* A finished one, which outlives the series. */
void openmetrics_add(struct openmetrics *export, const struct report_recording *recording);

/* A process has just ended; of the recording, what it says of itself is used. */
void openmetrics_add_ended(struct openmetrics *export, const struct report_recording *recording,
			   const struct process *process);

struct metrics *openmetrics_metrics(struct openmetrics *export);

#endif /* MEMSCOPE_EXPORT_OPENMETRICS_H */
