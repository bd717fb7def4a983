/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each device held, sample by sample of NVML's, and what that is made of: for traced processes
 * by what was seen of them, and the others. In bounded memory: of many samples, every second one
 * goes, and so on.
 */
#ifndef MEMSCOPE_TIMELINE_NVML_SERIES_H
#define MEMSCOPE_TIMELINE_NVML_SERIES_H

#include "ledger/state.h"

#define NVML_SERIES_MOST 256   /* samples of a device */
#define NVML_SERIES_DEVICES 64 /* others have none */

/* clang-format off */

/* They add up to what is in use. */
#define NVML_SHARES(X) \
	X(ALLOCATED,   "allocated",     "allocated with CUDA") \
	X(SLACK,       "slack",         "unused rest of the chunks behind that") \
	X(CONTEXTS,    "contexts",      "contexts, code, launches") \
	X(OTHER_CALLS, "other_calls",   "taken by the driver otherwise") \
	X(BEFORE,      "before_attach", "from before it was attached to") \
	X(UNEXPLAINED, "unexplained",   "unexplained") \
	X(UNKNOWN,     "not_broken_down", "of traced processes, not broken down") \
	X(OTHERS,      "other_processes", "of processes that are not traced") \
	X(NO_PROCESS,  "no_process",    "of no process")
/* clang-format on */

enum nvml_share {
#define X(share, name, description) NVML_SHARE_##share,
	NVML_SHARES(X)
#undef X
		NVML_SHARES_COUNT,
};

const char *nvml_share_name(enum nvml_share share);
const char *nvml_share_description(enum nvml_share share);

struct nvml_moment {
	uint64_t ts_ns;
	uint64_t shares[NVML_SHARES_COUNT]; /* bytes */
};

struct nvml_series_device {
	struct ms_device last; /* the newest sample; counted when there is another one */
	uint64_t traced_bytes; /* in it */
	bool pending;
	struct nvml_moment *moments;
	size_t count, capacity;
	uint64_t seen; /* samples */
	uint64_t step; /* every so manyth one of them is kept */
};

/* A zeroed one is empty. */
struct nvml_series {
	struct nvml_series_device *devices;
	size_t count, capacity;
	bool incomplete; /* there was no memory for something */
};

/* A record of NVML's: of a device, or of a process on one. The state has it already. */
void nvml_series_record(struct nvml_series *series, const struct state *state,
			const struct event *event);

/* There are no more records. */
void nvml_series_finish(struct nvml_series *series, const struct state *state);

size_t nvml_series_bytes(const struct nvml_series *series);
void nvml_series_fini(struct nvml_series *series);

#endif /* MEMSCOPE_TIMELINE_NVML_SERIES_H */
