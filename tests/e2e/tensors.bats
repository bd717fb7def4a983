# SPDX-License-Identifier: BSD-2-Clause
#
# What the allocator of a framework says of itself, held against what a stand-in for it has done.

load reading

eval "without_probes_$(declare -f setup)"
setup() {
	without_probes_setup
	export PROBED=1
}

# What was recorded of the tensors, in the form in which the program says what it did.
seen() {
	"$MEMSCOPE" export -j "$@" | jq -r 'select(.type == "tensor") |
		[.action, .block, .block_bytes, .allocated_bytes, .reserved_bytes] | join(" ")'
}

# reported EXPRESSION: of the first process with tensors
reported() {
	"$MEMSCOPE" report -f json run.mscope > report.json
	jq -c "[.recordings[0].processes[] | select(.tensors)][0].tensors$1" report.json
}

# What the program says at its end: allocated, reserved, the peaks, live blocks.
ended() {
	sed -n 's/^end //p' "${1:-did}" | tr ' ' ','
}

numbers='.devices[0] | [.allocated_bytes, .reserved_bytes, .peak_allocated_bytes,
	.peak_reserved_bytes, .blocks]'

@test "every block, total and peak is what the allocator had, by either form of the names" {
	local letter

	for letter in m l; do
		rm -f run.mscope
		record --tensors=all -o run.mscope -- "$WORKLOADS/tensors" "$WORKLOADS/libc10.so" now 3000 $letter > did
		seen run.mscope > seen
		grep -v '^end' did | diff - seen
		assert_equal "$(reported "$numbers")" "[$(ended)]"
		assert_equal "$(jq -c '.recordings[0].processes[0].tensors | [.exact, .other_cuda_bytes,
			.devices[0].before_bytes, .devices[0].unknown_frees, .devices[0].differences,
			.devices[0].out_of_memory, .devices[0].wanted_bytes]' report.json)" \
			"[true,0,0,0,0,1,1099511627776]"
	done
	valid report report.json
	"$MEMSCOPE" report -f text run.mscope | grep -q '^  PyTorch  *0 '
}

@test "attached to in the middle: totals at once, blocks since then" {
	local before

	mkfifo in
	"$WORKLOADS/tensors" "$WORKLOADS/libc10.so" before 3000 < in > did 3>&- &
	OTHER_PID=$!
	exec 8> in
	wait_for 'grep -q waiting did'
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK --tensors=all -o run.mscope -p "$OTHER_PID" 2> messages 3>&- 8>&- &
	RECORD_PID=$!
	wait_for 'grep -q "recording; Ctrl-C" messages'
	echo >&8
	wait "$OTHER_PID" && wait "$RECORD_PID"
	OTHER_PID='' RECORD_PID=''
	seen run.mscope > seen
	sed '1,/^waiting/d; /^end/d' did | diff - seen
	before=$(sed -n '/^waiting/q; p' did | tail -1 | cut -d ' ' -f 4)
	# Of what was allocated then, what did not come back meanwhile is there still.
	assert_equal "$(reported '.devices[0] | [.allocated_bytes, .reserved_bytes]')" \
		"[$(ended | cut -d , -f 1,2)]"
	jq -e --argjson before "$before" '.recordings[0].processes[0].tensors | .exact and
		.other_cuda_bytes == null and (.devices[0] | .unknown_frees > 0 and
		.before_bytes > 0 and .before_bytes < $before and
		.before_bytes + .blocks_bytes == .allocated_bytes)' report.json
}

@test "what no allocator says is counted, and is of that process alone" {
	record --tensors=all -f -o run.mscope -- sh -c '"$0" "$1" hostile; "$0" "$1" now 500 > did' \
		"$WORKLOADS/tensors" "$WORKLOADS/libc10.so"
	"$MEMSCOPE" report -f json run.mscope > report.json
	valid report report.json
	jq -c '.recordings[0].processes[] | select(.tensors) | .tensors' report.json > each
	jq -se 'map(select(.exact | not)) | length == 1 and .[0].absurd == 6 and
		(.[0].devices | length) == 64 and .[0].others > 190' each
	assert_equal "$(jq -c 'select(.exact) | .devices[0] | [.allocated_bytes, .reserved_bytes]' each)" \
		"[$(ended | cut -d , -f 1,2)]"
	assert_equal "$(jq -c '.recordings[0] | [.lost.live_is_exact]' report.json)" "[true]"
}

@test "only if it is asked for" {
	record -o run.mscope -- env -u PROBED "$WORKLOADS/tensors" "$WORKLOADS/libc10.so" now 100 > did
	assert_equal "$(seen run.mscope)" ""
	"$MEMSCOPE" report -f json run.mscope | jq -e '.recordings[0].processes[0].tensors == null'
	trace -o traced -- env -u PROBED "$WORKLOADS/tensors" "$WORKLOADS/libc10.so" now 100 > did
	run ! grep -q ') tensor: ' traced
	trace --tensors -o traced -- "$WORKLOADS/tensors" "$WORKLOADS/libc10.so" now 100 > did
	assert_equal "$(grep -c ') tensor: ' traced)" "$(grep -cv '^end' did)"
}

@test "by single uprobes, which have no session" {
	record --tensors=all --without=uprobe_session,uprobe_multi -o run.mscope -- "$WORKLOADS/tensors" "$WORKLOADS/libc10.so" now 500 > did
	seen run.mscope > seen
	grep -v '^end' did | diff - seen
}
