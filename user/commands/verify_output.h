/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `memscope-bpf verify` prints of a dump: for people, or as a JSON object.
 */
#ifndef MEMSCOPE_COMMANDS_VERIFY_OUTPUT_H
#define MEMSCOPE_COMMANDS_VERIFY_OUTPUT_H

#include "render/json_writer.h"
#include "store/verification.h"

void verify_output_text(struct string *out, const char *path,
			const struct verification *verification);
void verify_output_json(struct json *json, const char *path,
			const struct verification *verification);

/* All that were verified. */
struct verify_total {
	uint64_t count; /* also what could not be read at all */
	uint64_t by_status[VERIFICATION_NO_DUMP + 1];
	uint64_t events, lost, bytes;
};

void verify_total_add(struct verify_total *total, const struct verification *verification);

/* A line: "total: 3 recordings: 2 whole, 1 damaged; 1,234 events, 21.7 KiB, 0 events lost". */
void verify_total_text(struct string *out, const struct verify_total *total);

#endif /* MEMSCOPE_COMMANDS_VERIFY_OUTPUT_H */
