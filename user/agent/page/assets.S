/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of the agent's page, each ending with a zero byte.
 */
	.macro asset name, file
	.global \name
	.type \name, %object
\name:
	.incbin "\file"
	.byte 0
	.size \name, . - \name
	.endm

	.section .rodata
	asset page_html, "page.html"
	asset page_style, "page.css"
	asset page_script, "page.js"

	.section .note.GNU-stack, "", %progbits
