# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the bats files about allocators of frameworks load besides: that the workload is probed, and what was
# recorded of it.

load reading

eval "without_probes_$(declare -f setup)"
setup() {
	without_probes_setup
	export PROBED=1
}

# observed COMMAND OPTION...: the tool, whose messages tell the workload that it is observed (probed.h)
observed() {
	local code=0

	# shellcheck disable=SC2086 # may be empty
	PROBED=$PWD/messages "$MEMSCOPE" "$1" -v $MASK "${@:2}" 2> messages || code=$?
	[ "$code" -eq 0 ] || cat messages >&2
	return "$code"
}

# Of JSON lines, what was seen of the tensors ($1: of those for which this is true), in the form in which the
# program says what it did.
tensor_lines() {
	jq -r "select(.type == \"tensor\" and (${1:-true})) |
		[.action, .block, .block_bytes, .allocated_bytes, .reserved_bytes] | join(\" \")"
}

# What was recorded of them; and of the device's blocks alone.
seen() {
	"$MEMSCOPE" export -j "$@" | tensor_lines
}

seen_of_device() {
	"$MEMSCOPE" export -j "$@" | tensor_lines '.ordinal != null'
}
