/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as JUnit XML, which CI servers show as tests: each condition of --fail-on is one, in
 * each recording.
 */
#ifndef MEMSCOPE_RENDER_REPORT_JUNIT_H
#define MEMSCOPE_RENDER_REPORT_JUNIT_H

#include "base/string.h"
#include "report/gate.h"

/* A gate without conditions stands for gate_default(). */
void report_junit(struct string *out, const struct report *report, const struct gate *gate);

#endif /* MEMSCOPE_RENDER_REPORT_JUNIT_H */
