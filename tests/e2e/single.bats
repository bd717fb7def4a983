# SPDX-License-Identifier: BSD-2-Clause
#
# Calls and accounts by single uprobes, for kernels without links for many (single.bash).

load tensors
load single

@test "every call of ffmpeg is seen exactly once, by single uprobes" {
	trace $WITHOUT_LINKS --json -e all -o events.jsonl -- $(ffmpeg_command 3)
	"$COMPARE" events.jsonl oracle.log
}

@test "single uprobes attach, see the same, and leave nothing behind" {
	two_threads_of_a_puppet $WITHOUT_LINKS
}

# What the programs of the tool have counted.
counted() {
	local id

	for id in $(sed -n 's/^map_id:[[:space:]]*//p' "/proc/$TRACE_PID"/fdinfo/* | sort -u); do
		! bpftool -j map show id "$id" | grep -q '"name":"ms_counts"' ||
			bpftool -j map dump id "$id" | jq -c '[.[].formatted.values[].value.seen[]] | add'
	done
}

@test "the account is there before single uprobes are gone; who does not wait leaves them to the helper" {
	local answer counted

	MASK=$WITHOUT_LINKS
	SIMCUDA_DELAY=cuMemAlloc_v2=2000ms puppet_start
	puppet load
	puppet init
	trace_start -e alloc -p "$PUPPET_PID"
	puppet alloc 4096
	echo alloc 4096 >&8
	sleep 0.3
	kill -INT "$TRACE_PID"
	wait_for "[ -s events.jsonl ] && grep -q detaching trace.err"
	assert_equal "$(summary '[(.events | .seen == .shown + .filtered + .lost), .processes[0].spaces[0].allocs]')" '[true,1]'
	# A call that returns now has no part in it any more.
	counted=$(counted)
	[ "$counted" -gt 0 ]
	read -r -t 20 answer <&9
	assert_equal "$answer" ok
	assert_equal "$(counted)" "$counted"
	kill "$TRACE_PID"
	trace_wait 143
	[ -n "$(tool_processes)" ]
	leaves_nothing
}

# allocates PROGRAM LIBRARY [FILTER]: of those tensors, each is as the program says. (Allocations' probes are fewer.)
allocates() {
	observed trace $WITHOUT_LINKS --tensors --json -e alloc -o events.jsonl -- "$WORKLOADS/$1" "$WORKLOADS/$2" now 500 > did
	tensor_lines "${3:-true}" < events.jsonl > seen
	[ -s seen ]
	grep -v '^end' did | diff - seen
}

@test "PyTorch's allocator: every block and total, by single uprobes, which have no session" {
	allocates tensors libc10.so
}

@test "TensorFlow's and JAX's allocator: every block and total, by single uprobes" {
	allocates bfc tsl.so '.ordinal != null'
}
