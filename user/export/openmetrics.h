/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as series of metrics: of recordings (export.h), or of a live capture.
 */
#ifndef MEMSCOPE_EXPORT_OPENMETRICS_H
#define MEMSCOPE_EXPORT_OPENMETRICS_H

#include "export/metrics.h"
#include "report/report.h"

struct openmetrics;

struct openmetrics_options {
	bool label_pid; /* processes with the same name do not share series */
	/*
	 * The capture is live: values are those of the present moment. Gauges leave out processes
	 * that have ended. Counters have for these only what openmetrics_add_ended() added, so that
	 * they never go back, whatever the state keeps.
	 */
	bool live;
	size_t most; /* series: metrics_new() */
};

/* NULL without memory. */
struct openmetrics *openmetrics_new(const struct openmetrics_options *options);
void openmetrics_free(struct openmetrics *export);

/* Adds a finished recording, which outlives the series. */
void openmetrics_add(struct openmetrics *export, const struct report_recording *recording);

/*
 * Adds the counts of a process that has just ended. Of the recording, only its description is used.
 */
void openmetrics_add_ended(struct openmetrics *export, const struct report_recording *recording,
			   const struct process *process);

struct metrics *openmetrics_metrics(struct openmetrics *export);

#endif /* MEMSCOPE_EXPORT_OPENMETRICS_H */
