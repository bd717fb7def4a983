# SPDX-License-Identifier: BSD-2-Clause
#
# Ways into and out of a call that a tracer could stumble over: each workload makes five times the
# same three calls, and that is what has to be seen.

bats_require_minimum_version 1.5.0
load helpers

# Five allocations, copies and frees, each with its driver call inside, and nothing odd.
five_times() {
	local api

	for api in cudaMalloc cudaMemcpy cudaFree; do
		assert_equal "$(events "select(.api == \"$api\" and .driver_api != null) | .api" | wc -l)" 5
	done
	assert_equal "$(events 'select(.op == "alloc" or .op == "free") | .size_bytes' | sort -u)" 8192
	assert_equal "$(summary '[.processes[] | .unknown_frees, .pre_attach_frees, .missed_frees] | add')" 0
	assert_equal "$(summary '.events | .seen == .shown + .filtered and .lost == 0')" true
}

@test "functions that jump into those that they wrap" {
	local without

	# The tool itself gets the shim too, which a build with sanitizers would not like.
	export ASAN_OPTIONS=verify_asan_link_order=0
	objdump -d "$WORKLOADS/shim.so" | grep -A 3 '<cudaMalloc>:' | grep -q 'jmp'
	for without in $STRATEGIES; do
		LD_PRELOAD=$WORKLOADS/shim.so trace --without=$without --json -e all \
			-o events.jsonl -- "$WORKLOADS/calls"
		five_times
		assert_equal "$(summary .events.abandoned)" 0
	done
}

@test "calls that are left by longjmp" {
	local without

	for without in $STRATEGIES; do
		trace --without=$without --json -e all -o events.jsonl -- "$WORKLOADS/calls" jump
		five_times
		# The last one's frame is where the later calls' callers are: it may still be alive.
		assert_equal "$(summary .events.abandoned)" 2
	done
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record -q $MASK -o run.mscope -- "$WORKLOADS/calls" jump
	assert_equal "$("$MEMSCOPE" export -f ndjson run.mscope | tail -n 1 | jq .events.abandoned)" 2
	assert_equal "$("$MEMSCOPE" report -f json run.mscope | jq '.recordings[].abandoned')" 2
	"$MEMSCOPE" report -f md run.mscope > report.md
	grep -q "2 calls that never returned" report.md
}

@test "memory that is freed inside of the call in which it was allocated" {
	local without

	for without in $STRATEGIES; do
		trace --without=$without --json -e all -o events.jsonl -- "$WORKLOADS/calls" inside
		assert_equal "$(summary '.processes[0].spaces[] | select(.space == "device") |
			[.allocs, .frees, .live_allocations, .exit_allocations]')" '[14,14,0,0]'
		assert_equal "$(summary '.processes[0] | [.unknown_frees, .missed_frees]')" '[0,0]'
		# What was freed inside was no part of what the outer call gave.
		assert_equal "$(events 'select(.api == "cudaMalloc" and .part) | .size_bytes' | sort | uniq -c |
			awk '{ print $1, $2 }')" ''
		assert_equal "$(events 'select(.api == "cudaMallocPitch") | .size_bytes' | sort | uniq -c |
			awk '{ print $1, $2 }')" '3 12288'
	done
}

@test "threads that end inside of a call" {
	local without

	for without in $STRATEGIES; do
		trace --without=$without --json -e all -o events.jsonl -- "$WORKLOADS/calls" die
		five_times
		# Ten threads, each inside of one call.
		assert_equal "$(summary .events.abandoned)" 10
	done
}

@test "a program that is replaced by another one inside of a call" {
	local without

	for without in $STRATEGIES; do
		trace --without=$without --json -e all -o events.jsonl -- "$WORKLOADS/calls" replace /bin/true
		assert_equal "$(summary .events.abandoned)" 1
	done
}

@test "a process that is killed while it frees" {
	cat > cuda.c <<-'EOF'
		#include <signal.h>
		int cuMemAlloc_v2(void **block, unsigned long size)
		{
			*block = (void *)(size * 4096);
			return 0;
		}
		int cuMemFree_v2(void *block)
		{
			return block ? raise(SIGKILL) : 0;
		}
	EOF
	cat > killed.c <<-'EOF'
		int cuMemAlloc_v2(void **block, unsigned long size);
		int cuMemFree_v2(void *block);
		int main(void)
		{
			void *kept, *freed;
			return cuMemAlloc_v2(&kept, 100) || cuMemAlloc_v2(&freed, 23) || cuMemFree_v2(freed);
		}
	EOF
	cc -shared -fPIC -o libcuda.so.1 cuda.c
	cc -o killed killed.c libcuda.so.1 -Wl,-rpath,"$PWD"
	unset LD_LIBRARY_PATH
	local without
	for without in $STRATEGIES; do
		run -137 --separate-stderr trace --without=$without --json -o events.jsonl -- ./killed
		assert_equal "$(summary '.processes[0].spaces[0] | [.allocs, .frees, .exit_allocations, .exit_bytes]')" \
			"[2,0,2,123]"
	done
}

# Attaching takes a few milliseconds, as little as a program without a GPU takes to initialise one.
SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms
export SIMCUDA_DELAY

@test "a program that is executed by a thread other than the first one" {
	local without

	# (Single uprobes do it too, but take more than a minute to detach twice.)
	for without in $STRATEGIES; do
		trace --without=$without --json -e all -o events.jsonl -- \
			"$WORKLOADS/calls" thread "$WORKLOADS/calls"
		assert_equal "$(events 'select(.type == "call" and .size_bytes) | .driver_api' | sort |
			uniq -c | awk '{ print $2, $1 }' | paste -sd ' ')" \
			"cuMemAlloc_v2 5 cuMemFree_v2 5 cuMemcpyHtoD_v2 5"
	done
}

@test "children that execute a program each" {
	needs_links
	trace -f --json -e all -o events.jsonl -- sh -c "sleep 0.3; '$WORKLOADS/calls' 50; sleep 0.1
		'$WORKLOADS/calls' 50; :"
	assert_equal "$(events 'select(.type == "exit") | .comm' | sort | uniq -c | awk '{print $1, $2}')" \
		"2 calls
1 sh
2 sleep"
	assert_equal "$(summary '[.processes[] | select(.comm == "calls") | .spaces[0] | .allocs, .frees]')" \
		"[50,50,50,50]"
	assert_equal "$(summary '[.processes[] | .unknown_frees, .pre_attach_frees, .missed_frees] | add')" 0
}

@test "more processes than files may be open" {
	needs_links
	ulimit -Sn 64
	# Other tests' processes may call so often that probes leave the file.
	trace -f --attach=process --json -e all -o events.jsonl -- sh -c "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
		do (sleep 1; exec '$WORKLOADS/calls') & done; wait; [ \$(ulimit -Sn) -eq 64 ]"
	assert_equal "$(summary '[.processes[] | select(.comm == "calls") | .spaces[0].allocs] | unique')" "[5]"
	assert_equal "$(summary '[.processes[] | select(.comm == "calls")] | length')" 20
}

@test "one layer: the runtime, the driver, and the same account" {
	trace --layer=runtime --json -e all -o runtime.jsonl -- "$WORKLOADS/calls"
	trace --layer=driver --json -e all -o driver.jsonl -- "$WORKLOADS/calls"
	trace --json -e all -o both.jsonl -- "$WORKLOADS/calls"
	assert_equal "$(jq -r 'select(.type == "call") | .driver_api' runtime.jsonl | sort -u)" null
	assert_equal "$(jq -r 'select(.type == "call") | .api | .[:4]' runtime.jsonl | sort -u)" cuda
	assert_equal "$(jq -r 'select(.type == "call" and .api != .driver_api)' driver.jsonl)" ""
	for layer in runtime driver both; do
		assert_equal "$(summary '.processes[0] | .spaces[0].allocs, .spaces[0].alloc_bytes,
			.spaces[0].frees, .copies[0].count, .copies[0].bytes' $layer.jsonl | paste -sd ' ')" \
			"5 40960 5 5 20480"
	done
}

@test "--no-return counts no call twice" {
	trace --no-return --json -e all -o events.jsonl -- "$WORKLOADS/calls"
	assert_equal "$(summary '.processes[0] | .spaces[0].allocs, .copies[0].count, .unwatched_frees' |
		paste -sd ' ')" "5 5 5"
}

@test "a signal ends the tool while it waits for a command that it no longer traces" {
	local start code=0

	"$MEMSCOPE" trace -q -c -d 0.3 -o /dev/null -- sh -c 'echo $$ > command.pid; exec sleep 30' \
		3>&- 8>&- 9<&- &
	TRACE_PID=$!
	wait_for '[ -s command.pid ]'
	sleep 1.5
	start=$SECONDS
	kill -TERM $TRACE_PID
	wait $TRACE_PID || code=$?
	TRACE_PID=
	assert_equal "$code" 143
	[ $((SECONDS - start)) -lt 10 ] || fail "took $((SECONDS - start)) s"
	kill "$(cat command.pid)" || true
}
