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

/* The second part of it: a demangled name, shortened. */
void demangle_append_short(struct string *out, const char *name);

#endif /* MEMSCOPE_BASE_DEMANGLE_H */
