/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MEMSCOPE_TOOLS_MKDOCS_H
#define MEMSCOPE_TOOLS_MKDOCS_H

/* Writes the parts that tools/schema.jq puts together with docs/NAME.schema.in.json. */
void mkdocs_put_schema(void);

#endif /* MEMSCOPE_TOOLS_MKDOCS_H */
