/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page at "/": who holds how much now, in a browser, made by its script of /api/v1/who.
 */
#ifndef MEMSCOPE_AGENT_PAGE_H
#define MEMSCOPE_AGENT_PAGE_H

#include <stdint.h>

/* `document`: enum request_document, of the page or one of its parts. */
const char *page_text(uint32_t document);

#endif /* MEMSCOPE_AGENT_PAGE_H */
