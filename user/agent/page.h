/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page at "/": who holds how much now, in a browser. Its script reads /api/v1/who.
 */
#ifndef MEMSCOPE_AGENT_PAGE_H
#define MEMSCOPE_AGENT_PAGE_H

#include <stdint.h>

/* The text of `document` (enum request_document): the page, or its style or script. */
const char *page_text(uint32_t document);

#endif /* MEMSCOPE_AGENT_PAGE_H */
