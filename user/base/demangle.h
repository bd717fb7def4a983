/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions as people write them.
 */
#ifndef MEMSCOPE_BASE_DEMANGLE_H
#define MEMSCOPE_BASE_DEMANGLE_H

#include "base/string.h"

/*
 * Appends the name: C++ names demangled, without what is only of interest to linkers; where it is
 * long, without what its templates and parameters are.
 */
void demangle_append(struct string *out, const char *name);

/*
 * The function's own name in a demangled one, without what it returns, its scope, and the arguments
 * of its template and of itself: a part of `name`, of `*base_length` bytes.
 */
const char *demangle_base(const char *name, size_t length, size_t *base_length);

/* The second part of it: a demangled name, shortened. */
void demangle_append_short(struct string *out, const char *name);

#endif /* MEMSCOPE_BASE_DEMANGLE_H */
