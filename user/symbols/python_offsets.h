/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where CPython keeps what leads to a thread's Python frames, by its version.
 */
#ifndef MEMSCOPE_SYMBOLS_PYTHON_OFFSETS_H
#define MEMSCOPE_SYMBOLS_PYTHON_OFFSETS_H

#include <stddef.h>

#include "abi.h"

/* How much of _PyRuntime is read where it says itself where its fields are. */
#define PYTHON_DEBUG_BYTES 400

/*
 * Sets all but the runtime's address, for a version whose fields are known by heart: 3.8 to 3.12.
 * Returns 0, or -EOPNOTSUPP.
 */
int python_offsets_of_version(struct ms_python *python, __u32 version);

/*
 * The same from the first PYTHON_DEBUG_BYTES bytes of _PyRuntime, a _Py_DebugOffsets: 3.13 and
 * 3.14. They come from a traced process and are checked. Returns 0, -EOPNOTSUPP for a version that
 * is not known or has no global lock ("free-threaded"), or -EBADMSG: that is none.
 */
int python_offsets_of_runtime(struct ms_python *python, const void *bytes, size_t length);

#endif /* MEMSCOPE_SYMBOLS_PYTHON_OFFSETS_H */
