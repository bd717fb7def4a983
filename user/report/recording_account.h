/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What there is of a recording, and what is wrong with it: counted by what reads the dump, told by
 * reports.
 */
#ifndef MEMSCOPE_REPORT_RECORDING_ACCOUNT_H
#define MEMSCOPE_REPORT_RECORDING_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

struct recording_account {
	uint64_t recording;
	uint64_t blocks; /* that are whole */
	uint64_t segments;
	uint64_t events; /* records fed */
	uint64_t calls;  /* that those are about: one, or (MS_TYPE_CALLS) many, or none */
	uint64_t first_ts_ns, last_ts_ns; /* CLOCK_MONOTONIC: the time that they cover */

	uint64_t damaged_bytes;
	uint64_t damaged_places;
	uint64_t missing_blocks;  /* by their numbers */
	uint64_t repeated_blocks; /* by their numbers: not looked at again */
	uint64_t late_blocks;     /* of these, those that come after ones they belong before */
	uint64_t newer_blocks;    /* that this program cannot read: of a newer major version */
	uint64_t endless;         /* recordings before the last that were not ended properly */
	uint64_t recordings;      /* one after the other; what is below is about the last */
	uint64_t first_missing_ts_ns, missing_ns; /* when; how long in all */
	uint64_t anchors_used;
	uint64_t uncertain; /* events after a gap, before the next anchor: the state may be wrong */
	uint64_t unanchored;      /* records before the first whole anchor: not fed */
	uint64_t unknown_blocks;  /* of types that this version does not know */
	uint64_t unknown_records; /* likewise, and those in anchors about unknown things */
	uint64_t unknown_calls;   /* of functions that it does not know */
	uint64_t refused;         /* records of anchors and blocks that were not in order */
	bool cut_short;           /* the last block is not whole */
	bool has_end;             /* the recording was ended properly */
};

#endif /* MEMSCOPE_REPORT_RECORDING_ACCOUNT_H */
