# SPDX-License-Identifier: BSD-2-Clause
#
# Of a kernel that is too old: it is said what it lacks.

bats_require_minimum_version 1.5.0
load ../e2e/helpers

@test "check names what is missing, and trace refuses" {
	run -4 "$MEMSCOPE" check
	[[ $output == *"MISSING attach_cookie"*"(Linux 5.15)"* ]]
	run -4 "$MEMSCOPE" trace -- true
	[[ $output == *"missing: "*"(Linux 5."*"; nothing can be traced"* ]]
}
