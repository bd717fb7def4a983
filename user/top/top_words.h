/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words and numbers that the plain tables and the screen of `memscope-bpf top` share. All text is
 * safe for terminals.
 */
#ifndef MEMSCOPE_TOP_TOP_WORDS_H
#define MEMSCOPE_TOP_TOP_WORDS_H

#include "base/string.h"
#include "event/losses.h"
#include "top/top.h"
#include "top/top_devices.h"

/* What is known besides the state. */
struct top_status {
	uint64_t begin_ns, now_ns; /* CLOCK_MONOTONIC: of the capture; of the last look */
	uint64_t realtime_ns;      /* when the numbers were so */
	struct losses losses;
	uint64_t hidden; /* so many processes the agent does not show to this user */
	uint64_t missed; /* at least so many processes were not attached to in time */
	/* Of the shown process, so many the agent has not sent: */
	uint64_t sites_left_out, functions_left_out;
	bool sites_missing; /* the agent has not answered a question for them */
	bool remote;        /* the numbers come from an agent */
	bool stale;         /* the agent does not answer any more */
	bool launches;      /* they are counted */
	bool stacks;        /* they are taken */
};

/* "+1.50 GiB", "-4 KiB", "0 B" */
void top_words_growth(struct string *out, int64_t bytes);

/* "1,234", "<1", "0": per second; "?": there is no interval yet */
void top_words_rate(struct string *out, const struct top *top, uint64_t count);

/* The most that a process held: "1.50 GiB", or "?". */
void top_words_peak(struct string *out, const struct top_row *row);

/* "; the last 2.0 s", and how old the numbers are, if they are old. */
void top_words_interval(struct string *out, const struct top *top, const struct top_status *status);

/* Why the list is empty: it is. */
void top_words_empty(struct string *out, const struct top *top, const struct top_status *status);

/* What a process holds: "1.50 GiB", with "+" if that is not all, "~" if it is not exact; or "?". */
void top_words_live(struct string *out, const struct top_row *row);

/* The remarks: "may hold more from before it was attached to, docker 0123456789ab". */
void top_words_remarks(struct string *out, const struct top_row *row,
		       const struct process *process);

/* The remarks also explain the marks of the row; this is that part alone: */
void top_words_legend(struct string *out);

/* "0 NVIDIA H200 (GPU-...)": the device. */
void top_words_device(struct string *out, const struct top_device *device);

/* "3 processes, 1.50 GiB live on devices, 2 ended, 12 events lost": the whole. */
void top_words_status(struct string *out, const struct top *top, const struct top_status *status);

/* "2 devices have nothing of these processes, as far as was seen" */
void top_words_others(struct string *out, size_t devices);

const char *top_words_part(enum top_part part);

#endif /* MEMSCOPE_TOP_TOP_WORDS_H */
