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

#endif /* MEMSCOPE_COMMANDS_VERIFY_OUTPUT_H */
