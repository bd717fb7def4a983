/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a reader of a diff has to know beside its numbers, in words.
 */
#ifndef MEMSCOPE_RENDER_DIFF_NOTES_H
#define MEMSCOPE_RENDER_DIFF_NOTES_H

#include "base/string.h"
#include "report/diff.h"

/* " Call stacks are not compared: B has none (...)."; nothing if both sides have them. */
void diff_notes_append_stacks(struct string *out, const struct diff *diff);

/*
 * Why devices are empty where processes are not: these had ended. Nothing if none held anything
 * then.
 */
void diff_notes_append_ended(struct string *out, const struct diff *diff);

/*
 * "; most of it by cudaMalloc on device 0 (+15 MiB), in blocks of 4 MiB to 8 MiB (+15 MiB in 3
 * blocks more)": the function and the size that most of a change comes from.
 */
void diff_notes_append_parts(struct string *out, const struct diff *diff,
			     const struct diff_row *row, enum diff_metric metric);

/*
 * ", most of it allocated in fill < evict < main (+60 MiB)": the place in the program that most of
 * a change comes from. Nothing if it is not known.
 */
void diff_notes_append_site(struct string *out, const struct diff *diff, const struct diff_row *row,
			    enum diff_metric metric);

/*
 * "python3 job.py in A and python3 svc.py in B are different programs, and are compared because
 * both are python3.": of the first such pair. Nothing if there is none.
 */
void diff_notes_append_programs(struct string *out, const struct diff *diff);

/*
 * " but times, which are not judged: synchronisations of train (10, now 50) took 636 ms in B, 267
 * us in A (cuCtxSynchronize)": after words that nothing differs. Nothing if no time did clearly.
 */
void diff_notes_append_times(struct string *out, const struct diff *diff);

/* "nothing", or what of a recording was lost, and what is not known to be in it. */
void diff_notes_append_lost(struct string *out, const struct report_recording *recording);

#endif /* MEMSCOPE_RENDER_DIFF_NOTES_H */
