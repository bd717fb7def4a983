/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings in the formats of other programs. A format is a sink of the reading and a row in
 * exporters[]: of single events it can tell what it is told, of all of them what the report says,
 * so that its totals are the report's.
 */
#ifndef MEMSCOPE_EXPORT_EXPORT_H
#define MEMSCOPE_EXPORT_EXPORT_H

#include <stdbool.h>

#include "sink.h"
#include "report/report.h"
#include "base/writer.h"

/* What is shown of each owner, where a format shows only one number. */
enum export_metric {
	EXPORT_INUSE, /* live at the end, or when the process exited */
	EXPORT_ALLOC, /* allocated in all */
	EXPORT_PEAK,  /* live at the high-water mark */
};

struct export_options {
	struct writer *writer; /* for all but `to_file` */
	int fd;                /* for `to_file`: an empty one, to be read and written */
	const char *name;      /* of that for messages */
	enum export_metric metric;
	bool label_pid; /* where only names distinguish processes, the PID does so too */
};

struct exporter {
	const char *name;               /* as after --format */
	const char *endings;            /* of files' names: ".pickle .pkl" */
	const char *summary;            /* what reads it: for the man page */
	bool binary;                    /* nothing for a terminal */
	bool to_file;                   /* writes a file of its own, not through a writer */
	bool takes_metric, takes_label; /* uses these of the options */

	/* NULL: it cannot be begun, logged. What it needs of the options must outlive it. */
	struct sink *(*begin)(const struct export_options *options);
	/* After the last recording. Returns 0 or -errno, logged but for -EPIPE. */
	int (*finish)(struct sink *sink, const struct report *report);
	void (*free)(struct sink *sink);
};

/* All of them, ending with NULL. */
extern const struct exporter *const exporters[];

extern const struct exporter export_ndjson;
extern const struct exporter export_csv;
extern const struct exporter export_perfetto;
extern const struct exporter export_chrome;
extern const struct exporter export_pprof;
extern const struct exporter export_folded;
extern const struct exporter export_memory_viz;
extern const struct exporter export_sqlite;
extern const struct exporter export_openmetrics;

const struct exporter *exporter_find(const char *name);

#endif /* MEMSCOPE_EXPORT_EXPORT_H */
