/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process that reads files which are not trusted: it gives up its privileges, then answers
 * questions about files whose descriptors it gets (symbols/file_protocol.h).
 */
#ifndef MEMSCOPE_SYMBOLS_FILE_SERVICE_H
#define MEMSCOPE_SYMBOLS_FILE_SERVICE_H

#include <stdbool.h>

/*
 * Becomes the process; does not return. `fd`: one of a pair of sockets. `lines`: it can read source
 * lines. Its first answer says whether it could give up its privileges.
 */
void file_service_run(int fd, bool lines) __attribute__((noreturn));

#endif /* MEMSCOPE_SYMBOLS_FILE_SERVICE_H */
