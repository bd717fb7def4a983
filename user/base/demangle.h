/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions as programmers write them.
 */
#ifndef MEMSCOPE_BASE_DEMANGLE_H
#define MEMSCOPE_BASE_DEMANGLE_H

#include "base/string.h"

/*
 * Appends the name. C++ names are demangled, without the parts that only matter to linkers. If a
 * name is long, its template arguments and parameters are left out.
 */
void demangle_append(struct string *out, const char *name);

/*
 * The function's own name in a demangled one, without what it returns, its scope, and the arguments
 * of its template and of itself: a part of `name`, of `*base_length` bytes.
 */
const char *demangle_base(const char *name, size_t length, size_t *base_length);

/* Shortens a name that is already demangled. */
void demangle_append_short(struct string *out, const char *name);

#endif /* MEMSCOPE_BASE_DEMANGLE_H */
