/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the Markdown and the HTML report list alike: what was lost, what is not known, what is known
 * of a device, and of the moment an allocation failed.
 */
#ifndef MEMSCOPE_RENDER_REPORT_NOTES_H
#define MEMSCOPE_RENDER_REPORT_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "report/report.h"

/* Append lines that end with '\n', none if there is nothing. In ASCII, and all words are ours. */
void report_append_lost(struct string *out, const struct report_recording *recording);
void report_append_unknown(struct string *out, const struct report_recording *recording);

#define REPORT_NO_END "no end"

/*
 * In one line, without an end: what of the recording is not there or cannot be read. Nothing if it
 * is whole, whatever was lost when it was made; REPORT_NO_END alone if only that is missing.
 */
void report_append_lack(struct string *out, const struct report_recording *recording);

/*
 * "Not looked for: host-bound (no launches were recorded).", without an end of the line: rules that
 * need what was not recorded. Nothing if all were looked for.
 */
void report_append_not_looked_for(struct string *out, const struct report_recording *recording,
				  enum finding_topic topic);

/* A row of a table; texts are ours and die with the call. */
struct report_row {
	const char *what;
	const char *why; /* "" if there is nothing to say */
	bool bytes_known, has_count;
	uint64_t bytes, count;
};

typedef void (*report_row_fn)(void *context, const struct report_row *row);

/* From what allocations explain to what they do not. False: there was no memory for it. */
bool report_device_rows(const struct report_recording *recording,
			const struct report_device *device, report_row_fn take, void *context);

/* Who held what when an allocation failed, and what room there was. Likewise. */
bool report_oom_rows(const struct report_recording *recording, const struct analysis_oom *oom,
		     report_row_fn take, void *context);

/* "still running at the end", "killed by signal 9", "exited with 1". */
void report_append_end(struct string *out, const struct process *process);

/* "; it had CUDA loaded before it was attached to, ...", if that is so. */
void report_append_held_before(struct string *out, const struct process *process);

/*
 * "copies and launches": what was only counted, where only a part of the time is reported; counts
 * stand at the moment at which they were told. NULL: nothing, or all of the time is.
 */
const char *report_cut_sums(const struct report_recording *recording);

/* That no device's own memory was allocated; managed memory can be on one all the same. */
void report_append_no_device_memory(struct string *out, struct report_recording *const *recordings,
				    size_t count);

#endif /* MEMSCOPE_RENDER_REPORT_NOTES_H */
