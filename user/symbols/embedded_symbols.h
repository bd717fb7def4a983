/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The section .gnu_debugdata, in which Fedora and its relatives keep the symbols of what they strip
 * (MiniDebugInfo): an ELF file compressed with xz. liblzma unpacks it, which is loaded if it is
 * installed. The file is not trusted, so only a process that has nothing to lose does this
 * (symbols/file_reader.h).
 */
#ifndef MEMSCOPE_SYMBOLS_EMBEDDED_SYMBOLS_H
#define MEMSCOPE_SYMBOLS_EMBEDDED_SYMBOLS_H

#include <stddef.h>

#define EMBEDDED_SYMBOLS_MOST (64u << 20) /* bytes; the largest in Fedora have 20 MiB */

/* Loads liblzma; not possible any more once no files can be opened by name. 0 or -ENOENT. */
int embedded_symbols_load(void);

/*
 * Returns 0 with the ELF file in memory, which the caller frees; -ENODATA if there is none, -ENOENT
 * without liblzma, -EBADMSG, -EFBIG, -ENOEXEC or -ENOMEM.
 */
int embedded_symbols_read(int fd, void **bytes, size_t *length);

#endif /* MEMSCOPE_SYMBOLS_EMBEDDED_SYMBOLS_H */
