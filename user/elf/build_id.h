/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the build id of a file is written down.
 */
#ifndef MEMSCOPE_ELF_BUILD_ID_H
#define MEMSCOPE_ELF_BUILD_ID_H

#define ELF_BUILD_ID_BYTES 129 /* in hexadecimal digits, with the zero byte; as a rule 41 */

#endif /* MEMSCOPE_ELF_BUILD_ID_H */
