/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Series of metrics as a request of Prometheus' remote write 1.0 (prometheus.io, "Prometheus
 * Remote-Write Specification"): the same series and values as in Prometheus' text format. It is not
 * compressed yet.
 */
#ifndef MEMSCOPE_EXPORT_REMOTE_WRITE_H
#define MEMSCOPE_EXPORT_REMOTE_WRITE_H

#include "export/metrics.h"

/*
 * Appends all series, with the labels `job` (memscope-bpf) and `instance` (the host's name), which
 * a scrape would add. May be called for more sets, whose families are different. What there was no
 * memory for is missing, and `out` says so.
 */
void remote_write_put(struct string *out, const struct metrics *metrics, const char *host,
		      uint64_t ts_ns);

/*
 * Appends to the request `now` a mark for each series of the request `before` that is not in it any
 * more, so that no query takes its last value for a present one. Both are what remote_write_put()
 * has made. Returns how many marks there are.
 */
size_t remote_write_end_series(struct string *now, const char *before, size_t before_length,
			       uint64_t ts_ns);

#endif /* MEMSCOPE_EXPORT_REMOTE_WRITE_H */
