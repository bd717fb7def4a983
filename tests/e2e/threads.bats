# SPDX-License-Identifier: BSD-2-Clause
#
# The account under load: exact, and where something is lost, exactly that much.

bats_require_minimum_version 1.5.0
load helpers

@test "8 threads at full speed: live set, peak and totals equal the simulator's log" {
	trace -c --json -e all -o events.jsonl -- "$WORKLOADS/threads" 8 40000
	"$COMPARE" --summary-only events.jsonl oracle.log
	assert_equal "$(summary '.events | .seen == .shown and .lost == 0')" true
	assert_equal "$(summary '.processes[0].spaces[0].exit_allocations')" 24
}

@test "every event of 8 threads is written to a file" {
	trace --json -e all -o events.jsonl -- "$WORKLOADS/threads" 8 10000
	"$COMPARE" events.jsonl oracle.log
}

@test "a buffer that is too small: what was lost is counted exactly, and said" {
	unset SIMCUDA_LOG
	trace -c --json -e all --buffer 64K -o events.jsonl -- "$WORKLOADS/threads" 4 50000
	assert_equal "$(summary '.events | .lost > 0 and .seen == .shown + .filtered + .lost')" true
	assert_equal "$(summary '.events | .lost == (.lost_by_op | del(.name) | add)')" true
	assert_equal "$(summary .events.lost_untracked)" 0
	trace -c --buffer 64K -o out.txt -- "$WORKLOADS/threads" 4 50000
	grep -q "Records of memory or contexts were lost" out.txt
	grep -qE "lost: [0-9]+ of [0-9]+ alloc events" out.txt
	grep -q "^  why: a ring buffer was full; a larger --buffer, or fewer events (-e), would help$" out.txt
	# Whatever is chosen, allocations and frees are captured.
	run -6 --separate-stderr trace -c --buffer 4K -e alloc --max-loss 10 -o out.txt -- "$WORKLOADS/threads" 4 50000
	grep -q "^  why: a ring buffer was full; a larger --buffer would help$" out.txt
	[[ $stderr == *" other records lost, more than --max-loss: a ring buffer was full; a larger --buffer would help" ]]
}

@test "whose calls were lost is counted for each process" {
	local SIMCUDA_DELAY

	unset SIMCUDA_LOG
	SIMCUDA_DELAY=cuInit=$(time_to_attach 1000)ms
	export SIMCUDA_DELAY
	trace -c -f --json -e all --buffer 64K -o events.jsonl -- \
		sh -c '"$0" 2 50000 & "$0" 2 50000; wait' "$WORKLOADS/threads"
	assert_equal "$(summary '[.processes[] | select(.comm == "threads" and .lost_calls > 0)] | length')" 2
	assert_equal "$(summary '([.processes[].lost_calls] | add) == .events.lost')" true
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record -q $MASK -f --buffer 64K --launches=all -o run.mscope -- \
		sh -c '"$0" 2 50000 & "$0" 2 50000; wait' "$WORKLOADS/threads"
	"$MEMSCOPE" report -f json run.mscope > out.json
	assert_equal "$(jq '.recordings[0] | ([.processes[].unknown.lost_calls] | add) == (.lost.by_op | del(.name) | add)' out.json)" true
	"$MEMSCOPE" report -f md run.mscope > out.md
	assert_equal "$(grep -c "^[*] [0-9,]* of them from threads (" out.md)" 2
}

@test "more calls in one another than are tracked: counted as lost, and it is said why" {
	# cuMemFree_v2(N), which calls cuMemFree_v2(N - 1).
	printf 'int cuMemFree_v2(unsigned long n) { return n ? cuMemFree_v2(n - 1) : 0; }\n' |
		cc -O0 -shared -fPIC -o libcuda.so.1 -x c -
	printf 'int cuMemFree_v2(unsigned long); int main(void) { return cuMemFree_v2(11); }\n' |
		cc -o deep -x c - -x none libcuda.so.1 -Wl,-rpath,"$PWD"
	unset LD_LIBRARY_PATH
	trace --json -e all -o events.jsonl -- ./deep
	assert_equal "$(summary '.events | [.seen, .shown, .lost, .lost_untracked]')" '[12,8,4,4]'
	local why="4 of the lost events were not tracked: more than 8 traced calls inside one another, or no kernel memory for the thread"
	run -6 --separate-stderr trace --max-loss 3 -o out.txt -- ./deep
	[[ $stderr == *"error: 4 events lost, more than --max-loss: $why" ]]
	grep -qx "  why: $why" out.txt

	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record -q $MASK -o run.mscope -- ./deep
	"$MEMSCOPE" export -f ndjson run.mscope > run.jsonl
	assert_equal "$(tail -n 1 run.jsonl | jq -c '.events | [.seen, .lost, .lost_untracked]')" '[12,4,4]'
	"$MEMSCOPE" verify run.mscope > out.txt
	grep -qx "  lost        4 events while recording: $why" out.txt
	"$MEMSCOPE" verify --json run.mscope > out.json
	assert_equal "$(jq -c '.dumps[0] | [.lost, .untracked]' out.json)" '[4,4]'
	"$MEMSCOPE" report -f md run.mscope > out.md
	grep -qx "[*] $why" out.md
	"$MEMSCOPE" report -f json run.mscope > out.json
	assert_equal "$(jq '.recordings[0].lost.untracked' out.json)" 4
	"$MEMSCOPE" export -f openmetrics run.mscope > out.om
	grep -q '^memscope_events_lost_total{.*stage="ring".*} 0 ' out.om
	grep -q '^memscope_events_lost_total{.*stage="untracked".*} 4 ' out.om
}

@test "what is not shown is counted as filtered, and the ledger has it all the same" {
	trace --json -e copy --min-size 400 -o events.jsonl -- "$WORKLOADS/threads" 2 2000
	"$COMPARE" --summary-only events.jsonl oracle.log
	assert_equal "$(summary '.events | .filtered > 0 and .seen == .shown + .filtered')" true
	assert_equal "$(events 'select(.type == "call") | [.op, .size_bytes >= 400] | @csv' | sort -u)" \
		'"copy",true'
}
