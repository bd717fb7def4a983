# SPDX-License-Identifier: BSD-2-Clause
#
# What a program asks NCCL to do, and the memory that NCCL takes for it, held against what a stand-in
# for NCCL has done.

load reading

teardown() {
	[ -z "${OTHER_PID:-}" ] || kill "$OTHER_PID" 2> /dev/null || true
}

# record_ranks OPTION...: into run.mscope, what the program says into did
record_ranks() {
	mkfifo in
	"$WORKLOADS/ranks" 20 < in > did 3>&- &
	OTHER_PID=$!
	exec 8> in
	wait_for 'grep -q waiting did'
	in_background RECORD_PID said "$MEMSCOPE" record $MASK "$@" -o run.mscope -p "$OTHER_PID"
	wait_for 'grep -q "recording; Ctrl-C" said'
	echo >&8
	exec 8>&-
	wait "$OTHER_PID" && wait "$RECORD_PID"
	OTHER_PID='' RECORD_PID=''
}

# What was recorded of calls, in the form in which the program says what it did.
calls_seen() {
	"$MEMSCOPE" export -j run.mscope | jq -r 'select(.type == "nccl") |
		"call \(.function) \(.communicator) \(.result) \(.moved_bytes)"'
}

# The same of communicators: ranks, and the memory that is live.
communicators_seen() {
	"$MEMSCOPE" report -f json run.mscope > report.json
	jq -r '.recordings[0].processes[0].nccl.communicators[] | select(.communicator) |
		"has \(.communicator) \(.rank) \(.ranks) \(.device.live_bytes) \(.host.live_bytes)"' report.json | sort
}

@test "each call of NCCL: communicator, result, bytes; and by communicator, with the memory of it" {
	record_ranks --tensors=all --stacks=alloc
	calls_seen > seen
	grep '^call' did | diff - seen
	communicators_seen > seen
	grep '^has' did | sort | diff - seen
	valid report report.json
	# Sums by function, of the communicator that was made first.
	jq -r '.recordings[0].processes[0].nccl.communicators[0] | .communicator as $c | .calls[] |
		select(.bytes) | "\(.function) \(.count) \(.failed) \(.bytes)"' report.json > seen
	grep "^call .* $(awk '$2 == "ncclCommInitRank" { print $3; exit }' did) " did |
		awk '$5 != "null" { n[$2]++; b[$2] += $5 } END { for (f in n) print f, n[f], 0, b[f] }' | sort > expected
	sort seen | diff expected -
	# What the program allocates itself is no communicator's; nothing is counted twice.
	jq -e '.recordings[0].processes[0] | [.nccl.communicators[].device.live_bytes] as $nccl |
		(.spaces[] | select(.space == "device") | .live_bytes) == ($nccl | add) + 1048576' report.json
	jq -e '.recordings[0].processes[0].nccl.communicators | map(select(.communicator == null)) |
		length == 1 and (.[0].calls | map(.failed) | add) == 1' report.json
	"$MEMSCOPE" report -f text run.mscope > text
	grep -q '^  0x[0-9a-f]*  *3 of 8 .* 12 MiB .* 64 KiB' text
	grep -q '^  ncclAllReduce  *0x[0-9a-f]* ' text
	"$MEMSCOPE" export -j run.mscope | grep -m 1 '"type": *"nccl"' > line.json
	valid event line.json
}

@test "a group that ends within the making of communicators is a part of that, as in older NCCLs" {
	NCCL_OLD=1 record_ranks --tensors=all --stacks=alloc
	calls_seen > seen
	grep '^call' did | diff - seen
	grep -q '^call ncclCommInitAll' seen
	communicators_seen > seen
	grep '^has' did | sort | diff - seen
}

@test "without call stacks, memory that NCCL takes in threads of its own is not said to be a communicator's" {
	record_ranks --tensors=all --stacks=off
	communicators_seen > seen
	grep '^has' did | sed 's/ 12582912 / 4194304 /' | sort | diff - seen
}

@test "without --tensors, nothing of NCCL is recorded" {
	record_ranks
	[ -z "$(calls_seen)" ]
	"$MEMSCOPE" report -f json run.mscope | jq -e '.recordings[0].processes[0].nccl == null'
}
