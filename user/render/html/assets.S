/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of the HTML report, as the Makefile has put them together, each ending with a zero byte.
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
	asset html_frame, "page.html"
	asset html_style, "report.css"
	asset html_script, "report.js"
	asset html_policy, "policy"

	.section .note.GNU-stack, "", %progbits
