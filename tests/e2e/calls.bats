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
		LD_PRELOAD=$WORKLOADS/shim.so trace --layer=both --without=$without --json -e all \
			-o events.jsonl -- "$WORKLOADS/calls"
		five_times
		assert_equal "$(summary .events.abandoned)" 0
	done
}

@test "calls that are left by longjmp" {
	local without

	for without in $STRATEGIES; do
		trace --layer=both --without=$without --json -e all -o events.jsonl -- "$WORKLOADS/calls" jump
		five_times
		# The last one's frame is where the later calls' callers are: it may still be alive.
		assert_equal "$(summary .events.abandoned)" 2
	done
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record -q $MASK --layer=both -o run.mscope -- "$WORKLOADS/calls" jump
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
		trace --layer=both --without=$without --json -e all -o events.jsonl -- "$WORKLOADS/calls" die
		five_times
		# Ten threads, each inside of one call.
		assert_equal "$(summary .events.abandoned)" 10
	done
}

@test "a program that is replaced by another one inside of a call" {
	local without

	for without in $STRATEGIES; do
		trace --layer=both --without=$without --json -e all -o events.jsonl -- "$WORKLOADS/calls" replace /bin/true
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

@test "--layer: the runtime, the driver, both, as far as it pays, and the same account" {
	local layer

	for layer in runtime driver both auto; do
		trace --layer=$layer --json -e all -o $layer.jsonl -- "$WORKLOADS/calls"
		assert_equal "$(summary '.processes[0] | .spaces[0].allocs, .spaces[0].alloc_bytes,
			.spaces[0].frees, .copies[0].direction, .copies[0].count, .copies[0].bytes' $layer.jsonl |
			paste -sd ' ')" '5 40960 5 "HtoD" 5 20480'
	done
	assert_equal "$(jq -r 'select(.type == "call") | .driver_api' runtime.jsonl | sort -u)" null
	assert_equal "$(jq -r 'select(.type == "call") | .api | .[:4]' runtime.jsonl | sort -u)" cuda
	assert_equal "$(jq -r 'select(.type == "call" and .api != .driver_api)' driver.jsonl)" ""
	assert_equal "$(jq -r 'select(.op == "copy") | [.api, .driver_api] | @tsv' both.jsonl | uniq -c | xargs)" \
		"5 cudaMemcpy cuMemcpyHtoD_v2"
	assert_equal "$(jq -r 'select(.op == "copy") | [.api, .driver_api] | @tsv' auto.jsonl | uniq -c | xargs)" \
		"5 cuMemcpyHtoD_v2 cuMemcpyHtoD_v2"
	assert_equal "$(jq -r 'select(.op == "alloc") | [.api, .driver_api] | @tsv' auto.jsonl | uniq -c | xargs)" \
		"5 cudaMalloc cuMemAlloc_v2"
	run -2 trace --layer=both --no-return -c -- "$WORKLOADS/calls"
	[[ $output == *"with --no-return, choose driver or runtime"* ]]
}

@test "copies are left to the driver, unless the runtime's functions are asked for by --api" {
	trace --api '^cudaMem' --json -e all -o events.jsonl -- "$WORKLOADS/calls"
	assert_equal "$(events 'select(.op == "copy") | [.api, .driver_api] | @tsv' | uniq -c | xargs)" \
		"5 cudaMemcpy cuMemcpyHtoD_v2"
	assert_equal "$(summary '.processes[0].copies[0].count')" 5
	trace --api '^cuMem|^cudaMemset$' --json -e all -o events.jsonl -- "$WORKLOADS/calls"
	assert_equal "$(events 'select(.op == "copy") | [.api, .driver_api] | @tsv' | uniq -c | xargs)" \
		"5 cuMemcpyHtoD_v2 cuMemcpyHtoD_v2"
}

# A driver without copies, and a program whose runtime has some; SPOILED: its copies cannot be probed.
copies_without_driver() {
	cat > cuda.c <<-'EOF'
		int cuMemAlloc_v2(void **block, unsigned long size)
		{
			*block = (void *)(size * 4096);
			return 0;
		}
		#ifdef SPOILED
		int cuMemcpyHtoD_v2(void *to, const void *from, unsigned long size);
		/* The kernel probes no such instruction: int3. */
		__asm__(".text\n.globl cuMemcpyHtoD_v2\n.type cuMemcpyHtoD_v2, @function\n"
			"cuMemcpyHtoD_v2: int3\nxor %eax, %eax\nret\n.size cuMemcpyHtoD_v2, 4\n");
		#endif
	EOF
	cat > runtime.c <<-'EOF'
		int cuMemAlloc_v2(void **block, unsigned long size);
		int cudaMalloc(void **block, unsigned long size)
		{
			return cuMemAlloc_v2(block, size);
		}
		int cudaMemcpy(void *to, const void *from, unsigned long size, int kind)
		{
			return 0;
		}
	EOF
	cat > program.c <<-'EOF'
		int cudaMalloc(void **block, unsigned long size);
		int cudaMemcpy(void *to, const void *from, unsigned long size, int kind);
		int main(void)
		{
			void *block;
			if (getchar() < 0)
				return 1;
			return cudaMalloc(&block, 123) || cudaMemcpy(block, &block, 8, 1);
		}
	EOF
	sed -i '1i #include <stdio.h>' program.c
	cc "$@" -shared -fPIC -o libcuda.so.1 cuda.c
	cc -shared -fPIC -o libcudart.so.13 runtime.c libcuda.so.1 -Wl,-rpath,"$PWD"
	cc -o program program.c libcudart.so.13 libcuda.so.1 -Wl,-rpath,"$PWD"
}

@test "what the driver does not show is shown by the runtime" {
	unset LD_LIBRARY_PATH
	copies_without_driver
	trace --json -e all -o events.jsonl -- ./program <<< go
	assert_equal "$(events 'select(.type == "call") | .api' | xargs)" "cudaMalloc cudaMemcpy"
	copies_without_driver -DSPOILED
	# What the kernel refuses, it says of code that is mapped.
	mkfifo go
	./program < go 3>&- &
	OTHER_PID=$!
	exec 7> go
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
	trace_start -p $OTHER_PID
	grep -q "cannot attach to cuMemcpyHtoD_v2" trace.err
	echo go >&7
	trace_wait
	OTHER_PID=
	assert_equal "$(events 'select(.type == "call") | .api' | xargs)" "cudaMalloc cudaMemcpy"
	# The runtime alone, with no driver to be found.
	printf 'int cuMemAlloc_v2(void **block, unsigned long size) { *block = block; return 0; }' > cuda.c
	sed -i s/cuMemAlloc_v2/cu_alloc/ cuda.c runtime.c
	cc -shared -fPIC -o libcudart.so.13 runtime.c cuda.c
	cc -o program program.c libcudart.so.13 -Wl,-rpath,"$PWD"
	rm libcuda.so.1
	trace --json -e all -o events.jsonl -- ./program <<< go
	assert_equal "$(events 'select(.type == "call") | .api' | xargs)" "cudaMalloc cudaMemcpy"
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
