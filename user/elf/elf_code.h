/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine code of an ELF file, and who made it. The file belongs to a traced program and is not
 * trusted.
 */
#ifndef MEMSCOPE_ELF_ELF_CODE_H
#define MEMSCOPE_ELF_ELF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_CODE_MAX_BYTES (128u << 20) /* less than half a second; the driver has a tenth of it */
#define ELF_CODE_OVERLAP 16             /* no instruction is longer */

/*
 * Calls `visit` for all that is executable in the file, piece by piece; each piece begins with the
 * last ELF_CODE_OVERLAP bytes of the one before it. Returns 0, -EFBIG if there is more than
 * ELF_CODE_MAX_BYTES of it, -ENOEXEC, -EBADMSG or -ENOMEM: then it was not all.
 */
int elf_code_each(int fd,
		  void (*visit)(uint64_t file_offset, const uint8_t *code, size_t length,
				void *context),
		  void *context);

/*
 * Whether the Go toolchain linked the file: it has a section .go.buildinfo or .gopclntab, which
 * stay in a stripped one.
 *
 * Why that matters: at a probe that wants a function's return, the kernel replaces the return
 * address on the stack. Go moves the stacks of its goroutines when they grow, reads the return
 * addresses on them, and gives up ("unexpected return pc") when it finds one that is no Go code.
 * Functions of the probe table are C, though: from Go they are called through cgo or the like
 * (runtime.asmcgocall), on a thread's system stack, which is neither moved nor read; in shared
 * libraries always, so nothing is said about those. In the Go file itself (a runtime that is linked
 * into it) a function of such a name ought to be C too, but that cannot be proven from its name:
 * its returns are probed, with a warning that names --no-return and --layer=driver, for refusing
 * them would cost all that calls give back.
 */
bool elf_code_is_go(int fd);

/* That warning, behind the name of the process. */
#define ELF_CODE_GO_WARNING \
	"a Go program with CUDA functions of its own; should it fail with" \
	" \"unexpected return pc\", trace it with --no-return or --layer=driver"

#endif /* MEMSCOPE_ELF_ELF_CODE_H */
