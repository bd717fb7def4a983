# SPDX-License-Identifier: BSD-2-Clause
#
# A machine that has no more of what the tool's helper processes need.

load helpers

# The tool, with $1 lacking, on the puppet.
trace_lacking() {
	puppet_start
	puppet load
	puppet init
	# A build with sanitizers would not like the library.
	# shellcheck disable=SC2086 # may be empty
	ASAN_OPTIONS=verify_asan_link_order=0 LACKING=$1 LD_PRELOAD=$WORKLOADS/lacking.so "$MEMSCOPE" trace $MASK \
		--json -e all -o events.jsonl -v -p "$PUPPET_PID" 2> trace.err 3>&- 8>&- 9<&- &
	TRACE_PID=$!
	wait_for 'grep -q "debug: tracing" trace.err || [ ! -e "/proc/$TRACE_PID/fdinfo/0" ]'
}

sees_everything() {
	puppet churn 10
	trace_stop
	puppet_end
	assert_equal "$(summary '.processes[0].spaces[0] | [.allocs, .frees]')" '[10,10]'
	wait_for nothing_left
}

@test "without helper processes everything is seen, and it is said what may happen" {
	local name

	trace_lacking fork
	for name in memscope-attach memscope-close; do
		assert_equal "$(grep -c "warning: .* $name: Resource temporarily unavailable" trace.err)" 1
	done
	sees_everything
}

@test "a helper that cannot answer any more: everything is seen" {
	trace_lacking answers
	sees_everything
}

@test "a helper that cannot hand over a link: it is said why, and tried in parts" {
	case $MASK in
	*uprobe_multi*) skip "single uprobes take seconds to go" ;;
	esac
	trace_lacking descriptors
	grep -q "cannot attach to 20[45] functions at once: Too many references" trace.err
	sees_everything
}

@test "a helper that gets no file: it is said why, and the program goes on" {
	trace_lacking files
	grep -q "error: .*cannot attach: Too many open files" trace.err || fail "$(cat trace.err)"
	puppet churn 10
	trace_stop
	puppet_end
	wait_for nothing_left
}

# The tool's own links on uprobes.
links() {
	grep -l "^link_type:.*\(probe_multi\|perf\)" "/proc/$TRACE_PID"/fdinfo/* | wc -l
}

@test "a function that the kernel does not let be probed: it is said which, all others are seen, with few links" {
	local address

	address=$(nm -D "$LD_LIBRARY_PATH/libcuda.so.1" | awk '$3 == "cuMemGetInfo_v2" { print $1 }')
	REFUSED=0x$address trace_lacking function
	assert_equal "$(grep -c "warning: .*cannot attach to cuMemGetInfo_v2: the kernel does not probe such code" \
		trace.err)" 1
	assert_equal "$(grep -c "cannot attach to cu" trace.err)" 1
	case $MASK in
	*uprobe_multi*) ;;
	*)
		[ "$(links)" -gt 2 ] || fail "$(links) links"
		[ "$(links)" -lt 20 ] || fail "$(links) links"
		;;
	esac
	sees_everything
}
