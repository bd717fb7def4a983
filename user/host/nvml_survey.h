/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks NVML for everything and puts it into a snapshot, piece by piece: what is there when a call
 * hangs can be used. In the child process of host/nvml.h only.
 */
#ifndef MEMSCOPE_HOST_NVML_SURVEY_H
#define MEMSCOPE_HOST_NVML_SURVEY_H

#include "host/nvml.h"
#include "host/nvml_library.h"

struct nvml_survey {
	struct nvml_library library;
	bool loaded, initialised;
	struct nvml_snapshot *snapshot; /* shared with who waits for it */
	void *entries;                  /* room for a list of processes */
};

/* A zeroed one is ready but for `snapshot`. */
void nvml_survey_run(struct nvml_survey *survey);

/*
 * How many bytes an entry of a list has: found by what was written to `bytes` bytes at `entries`
 * (all NVML_SURVEY_FILL before) for `count` entries. 0: it cannot be told.
 */
#define NVML_SURVEY_FILL 0xa5
size_t nvml_survey_stride(const void *entries, size_t bytes, uint32_t count);

#endif /* MEMSCOPE_HOST_NVML_SURVEY_H */
