/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who a process is, in words and as JSON. Processes choose most of it: it is escaped, and in words
 * what is long is shortened.
 */
#ifndef MEMSCOPE_RENDER_IDENTITY_WORDS_H
#define MEMSCOPE_RENDER_IDENTITY_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"
#include "ledger/state.h"
#include "render/json_writer.h"

/* "python3 train.py", or "process" if nothing is known; safe for terminals. */
void identity_words_name(struct string *out, const struct process *process);

/* "python3 train.py (4711)" */
void identity_words_process(struct string *out, const struct process *process);

/*
 * "/usr/bin/python3.11 train.py, user bob, child of 4700, docker 0123456789ab, RANK=0", after
 * `before`. Returns whether anything is known: else nothing is appended.
 */
bool identity_words_append(struct string *out, const struct process *process, const char *before);

/* The parts of that, each of which can be empty. */
void identity_words_program(struct string *out, const struct identity *identity);
void identity_words_user(struct string *out, const struct identity *identity);
void identity_words_container(struct string *out, const struct identity *identity);
void identity_words_pod(struct string *out, const struct identity *identity);
void identity_words_variables(struct string *out, const struct identity *identity);

/* A value: an object with all items, or null if nothing is known. */
void identity_words_json(struct json *json, const struct identity *identity);

#endif /* MEMSCOPE_RENDER_IDENTITY_WORDS_H */
