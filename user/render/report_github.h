/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as commands of a workflow of GitHub Actions: each finding is an annotation, an error if
 * --fail-on asks for it.
 */
#ifndef MEMSCOPE_RENDER_REPORT_GITHUB_H
#define MEMSCOPE_RENDER_REPORT_GITHUB_H

#include "base/string.h"
#include "report/gate.h"

void report_github(struct string *out, const struct report *report, const struct gate *gate);

#endif /* MEMSCOPE_RENDER_REPORT_GITHUB_H */
