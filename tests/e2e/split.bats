# SPDX-License-Identifier: BSD-2-Clause
#
# Why calls took long: what is said of a wait that is blocked, that spins, that has to share its CPU,
# and that is throttled is what the kernel says of the thread around it (tests/workloads/waits.c).

load helpers

bats_require_minimum_version 1.5.0

CALLS=12

teardown() {
	remove_group
}

# near OURS KERNELS OUTSIDE OF: what the kernel says is of the calls and of a little around them, OUTSIDE,
# in which a busy machine may do anything; besides, they differ by no more than a twentieth of OF
near() {
	[ "$1" -le $(($2 + $4 / 20)) ] && [ $(($1 + $3)) -ge $(($2 - $4 / 20)) ] ||
		fail "$1 is not near $2, with $3 outside, of $4"
}

# of FIELD: the sum over all waits
of() {
	events "select(.api == \"cuCtxSynchronize\") | .$1" | jq -s add
}

# split NAME=VALUE COMMAND...: traces it; sets RAN, RUNNABLE and BLOCKED, which are the kernel's
split() {
	local variable=$1 wall ran waited outside

	shift
	env "$variable" "$MEMSCOPE" trace $MASK --json -e sync -o events.jsonl -- "$@" > account
	read -r wall ran waited < account
	RAN=$(of running_ns) RUNNABLE=$(of runnable_ns) BLOCKED=$(of blocked_ns)
	assert_equal "$((RAN + RUNNABLE + BLOCKED))" "$(of duration_ns)"
	outside=$((wall - $(of duration_ns)))
	near "$RAN" "$ran" "$outside" "$wall"
	near "$RUNNABLE" "$waited" "$outside" "$wall"
	near "$BLOCKED" $((wall - ran - waited)) "$outside" "$wall"
	assert_equal "$(summary '.processes[0].time_in_calls[] | select(.op == "sync") |
		[.calls, .total_ns, .running_ns, .runnable_ns, .blocked_ns]')" \
		"[$CALLS,$(of duration_ns),$RAN,$RUNNABLE,$BLOCKED]"
}

@test "a wait that sleeps is blocked" {
	split SIMCUDA_DELAY=cuCtxSynchronize=10ms "$WORKLOADS/waits" "$CALLS"
	[ "$RAN" -lt "$BLOCKED" ]
}

@test "a wait that spins runs" {
	split SIMCUDA_SPIN=cuCtxSynchronize=10ms "$WORKLOADS/waits" "$CALLS"
	[ "$RAN" -ge $((CALLS * 10000000)) ]
	[ "$BLOCKED" -lt "$RAN" ]
}

@test "a wait that spins beside two others on its CPU waits for that" {
	split SIMCUDA_SPIN=cuCtxSynchronize=10ms "$WORKLOADS/waits" "$CALLS" 2
	[ "$RAN" -ge $((CALLS * 10000000)) ]
	[ "$RUNNABLE" -gt "$RAN" ]
}

@test "a wait that spins in a throttled cgroup waits for a CPU" {
	throttled_group 4000 20000
	split SIMCUDA_SPIN=cuCtxSynchronize=10ms "${IN_GROUP[@]}" "$WORKLOADS/waits" "$CALLS"
	[ "$RAN" -ge $((CALLS * 10000000)) ]
	[ "$RUNNABLE" -gt "$RAN" ]
}

@test "launches are not looked at, nor calls whose ends are not watched" {
	trace --json -e all -o events.jsonl -- "$WORKLOADS/calls"
	assert_equal "$(events 'select(.op == "launch" and has("running_ns")) | .api')" ""
	assert_equal "$(events 'select(.op == "alloc" and .running_ns == null) | .api')" ""
	trace --json --no-return -e all -o events.jsonl -- "$WORKLOADS/calls"
	assert_equal "$(events 'select(.op == "alloc" and .running_ns != null) | .api')" ""
	assert_equal "$(summary '.processes[0].time_in_calls')" "[]"
}

@test "it is on each line with -v, in recordings, reports and exports" {
	local header

	SIMCUDA_DELAY=cuCtxSynchronize=10ms trace -v -e sync -o out -- "$WORKLOADS/waits" 2
	assert_equal "$(grep -c "cuCtxSynchronize .* ran .*, was blocked .*ms" out)" 2
	grep -q "^  TIME IN CALLS " out
	SIMCUDA_DELAY=cuCtxSynchronize=10ms trace -e sync -o out -- "$WORKLOADS/waits" 2
	run ! grep -q "was blocked" out
	# shellcheck disable=SC2086 # may be empty
	SIMCUDA_DELAY=cuCtxSynchronize=10ms "$MEMSCOPE" record -q $MASK -o a.mscope -- "$WORKLOADS/waits" 2
	"$MEMSCOPE" report -f json -o report.json a.mscope
	valid report report.json
	assert_equal "$(jq '[.recordings[0].processes[0].time_in_calls[] |
		select(.op == "sync" and .calls == 2 and .blocked_ns > .running_ns)] | length' report.json)" 1
	"$MEMSCOPE" report -f md a.mscope | grep -q "| sync | 2 | "
	"$MEMSCOPE" export -f csv -o out.csv a.mscope
	header=$(head -1 out.csv)
	[[ $header == *,duration_ns,running_ns,runnable_ns,blocked_ns,* ]]
	"$MEMSCOPE" export -f sqlite -o out.sqlite a.mscope
	assert_equal "$(sqlite3 out.sqlite "SELECT count(*) FROM memscope_calls
		WHERE blocked_ns > running_ns AND runnable_ns IS NOT NULL")" 2
}
