/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What holds whatever the events were: of the state after each of them, of the outputs at the end.
 * Each function aborts if it does not.
 */
#ifndef MEMSCOPE_TESTS_INVARIANTS_H
#define MEMSCOPE_TESTS_INVARIANTS_H

#include "ledger/state.h"

void invariants_check(const struct state *state);

/* Nothing that a traced program chose moves the cursor or breaks a line. */
void invariants_check_text(const char *text, size_t length);

/* Every line is one JSON value. */
void invariants_check_json(const char *lines, size_t length);

#endif /* MEMSCOPE_TESTS_INVARIANTS_H */
