# SPDX-License-Identifier: BSD-2-Clause
#
# A machine that has no more of what the tool's helper processes need, or does not let functions be
# probed.

bats_require_minimum_version 1.5.0
load helpers

# The tool, with $1 lacking, on the puppet.
trace_lacking() {
	puppet_with_cuda
	trace_puppet_lacking "$1"
}

trace_puppet_lacking() {
	# A build with sanitizers would not like the library.
	# shellcheck disable=SC2086 # may be empty
	in_background TRACE_PID trace.err env ASAN_OPTIONS=verify_asan_link_order=0 LACKING="$1" \
		LD_PRELOAD="$WORKLOADS/lacking.so" "$MEMSCOPE" trace $MASK --json -e all -o events.jsonl -v -p "$PUPPET_PID"
	wait_for 'grep -qs "debug: tracing" trace.err || [ ! -e "/proc/$TRACE_PID/fdinfo/0" ]'
}

sees_everything() {
	puppet churn 10
	trace_stop
	puppet_end
	assert_equal "$(summary '.processes[0].spaces[0] | [.allocs, .frees]')" '[10,10]'
	leaves_nothing
}

@test "without helper processes everything is seen, and it is said what may happen" {
	local name

	trace_lacking fork
	for name in memscope-attach memscope-detach; do
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
	grep -q "cannot attach to 2[0-9][0-9] functions at once: Too many references" trace.err
	sees_everything
}

@test "a helper that gets no file: it is said why, and the program goes on" {
	trace_lacking files
	grep -q "error: .*cannot attach: Too many open files" trace.err || fail "$(cat trace.err)"
	puppet churn 10
	trace_stop
	puppet_end
	leaves_nothing
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
	# Its code is looked at, and it is not missed a second time.
	puppet share "$LD_LIBRARY_PATH/libcuda.so.1"
	case $MASK in
	*uprobe_multi*) ;;
	*)
		[ "$(links)" -gt 2 ] || fail "$(links) links"
		[ "$(links)" -lt 20 ] || fail "$(links) links"
		;;
	esac
	sees_everything
}

# What the debug messages of functions that are not named anymore end with, too.
REFUSAL="the kernel does not probe such code; its calls will not be seen"

@test "a driver that the kernel does not let be probed at all: five functions are named, the others counted" {
	REFUSED=0 REFUSED_BYTES=0x10000000 trace_lacking function
	assert_equal "$(grep -c "warning: .*cannot attach to cu.*: $REFUSAL" trace.err)" 5
	assert_equal "$(grep -c "debug: .*cannot attach to cu.*: $REFUSAL" trace.err)" \
		"$(sed -n 's/.*warning: .*cannot attach to \([0-9]*\) more functions$/\1/p' trace.err)"
	grep -q "error: libcuda.so.1: cannot attach: " trace.err
	! grep "no CUDA library mapped" trace.err || false
	puppet churn 10
	trace_stop
	puppet_end
	assert_equal "$(summary .events.seen)" 0
	leaves_nothing
}

# The kernel refuses it by itself.
is_refused_here() {
	[ "$(uname -m)" = x86_64 ] || skip "the workload's instruction is one of x86-64"
	mkfifo unprobed.in
}

@test "a function that is chosen at run time (IFUNC): it is said that its calls are not seen" {
	cat > cuda.c <<-'EOF'
		static int allocate(void **block, unsigned long size)
		{
			*block = (void *)(size * 4096);
			return 0;
		}
		static int (*choose(void))(void **, unsigned long)
		{
			return allocate;
		}
		int cuMemAlloc_v2(void **block, unsigned long size) __attribute__((ifunc("choose")));
		int cuMemFree_v2(void *block)
		{
			return block == (void *)1;
		}
	EOF
	cat > program.c <<-'EOF'
		int cuMemAlloc_v2(void **block, unsigned long size);
		int cuMemFree_v2(void *block);
		int main(void)
		{
			void *block;
			return cuMemAlloc_v2(&block, 100) || cuMemFree_v2(0);
		}
	EOF
	cc -shared -fPIC -o libcuda.so.1 cuda.c
	cc -o program program.c libcuda.so.1 -Wl,-rpath,"$PWD"
	unset LD_LIBRARY_PATH
	trace --json -e all -o events.jsonl -- ./program 2> trace.err
	assert_equal "$(grep -c "libcuda.so.1: 1 function is chosen at run time (IFUNC; for example cuMemAlloc_v2)" trace.err)" 1
	assert_equal "$(summary '.processes[0] | [.null_frees, .spaces]')" '[1,[]]'
}

@test "a function that the kernel refuses when the file is mapped, of which it says nothing" {
	is_refused_here
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" trace $MASK --json -e all -o events.jsonl -- "$WORKLOADS/unprobed" \
		< unprobed.in > unprobed.out 2> trace.err 3>&- 7>&- &
	TRACE_PID=$!
	exec 7> unprobed.in
	wait_for 'grep -q "warning: unprobed: .* no probe into 1 functions .*(for example cuMemGetInfo_v2)" trace.err'
	printf '\n\n' >&7
	exec 7>&-
	UNPROBED=expected trace_wait
	assert_equal "$(grep -c "no probe into" trace.err)" 1
	assert_equal "$(events 'select(.type == "call").api' | xargs)" "cuMemAlloc_v2 cuMemAlloc_v2"
	assert_equal "$(grep -c ^0x unprobed.out)" 2
}

# When it runs already.
trace_unprobed() {
	is_refused_here
	"$WORKLOADS/unprobed" < unprobed.in > unprobed.out 3>&- 7>&- &
	PUPPET_PID=$!
	exec 7> unprobed.in
	wait_for 'grep -q begun unprobed.out'
	trace_start -p "$PUPPET_PID"
}

@test "a function that the kernel refuses in a running process" {
	trace_unprobed
	assert_equal "$(grep -c "warning: .*cannot attach to cuMemGetInfo_v2: $REFUSAL" trace.err)" 1
	printf '\n\n' >&7
	exec 7>&-
	trace_wait
	assert_equal "$(events 'select(.type == "call").api' | xargs)" "cuMemAlloc_v2 cuMemAlloc_v2"
}

@test "a thread other than the first executes a program: its functions are not taken for refused ones" {
	trace_unprobed
	printf x >&7
	wait_for '[ "$(grep -c "cannot attach to cuMemGetInfo_v2" trace.err)" -eq 2 ]'
	printf '\n' >&7
	exec 7>&-
	trace_wait
	assert_equal "$(events 'select(.type == "call").api' | xargs)" cuMemAlloc_v2
}

@test "a driver that cannot be attached to for want of memory: once there is some, it is" {
	puppet_start
	touch refused
	REFUSAL=12 REFUSED=0 REFUSED_BYTES=0x10000000 trace_puppet_lacking function
	assert_equal "$(grep -c "cannot attach" trace.err)" 1
	grep -q "error: libcuda.so.1: cannot attach: Cannot allocate memory" trace.err
	puppet map "$LD_LIBRARY_PATH/libcuda.so.1"
	rm refused
	puppet load
	wait_for 'grep -q "/libcuda.so.1: attached to [0-9]* functions in process $PUPPET_PID$" trace.err'
	puppet init
	sees_everything
	assert_equal "$(grep -c "\(error\|warning\): .*cannot attach" trace.err)" 1
}

@test "the driver mapped a second time, where the kernel puts no probes: nothing is missing" {
	puppet_with_cuda
	trace_start -p "$PUPPET_PID"
	puppet share "$LD_LIBRARY_PATH/libcuda.so.1"
	puppet churn 10
	sleep 0.2 # it has been looked at by then
	trace_stop
	puppet_end
	assert_equal "$(summary '.processes[0].spaces[0] | [.allocs, .frees]')" '[10,10]'
}

# As the driver of an AppImage is: on a FUSE file system that another user mounted without allow_root.
@test "a driver that is mapped and cannot be opened: said by all, and nothing is called exact" {
	local hidden=(env LACKING=library LD_PRELOAD="$WORKLOADS/lacking.so" ASAN_OPTIONS=verify_asan_link_order=0)

	puppet_with_cuda
	run -3 "${hidden[@]}" "$MEMSCOPE" check -p "$PUPPET_PID"
	[[ $output == *"/libcuda.so.1: mapped, and cannot be opened (Permission denied)"* ]]
	[[ $output == *"Tracing works here, but not all of process $PUPPET_PID."* ]]
	[[ $output != *"no CUDA library"* ]]

	# shellcheck disable=SC2086 # may be empty
	run -3 "${hidden[@]}" "$MEMSCOPE" record $MASK -d 0.3 -o unread.mscope -p "$PUPPET_PID"
	[[ $output == *"/libcuda.so.1 is mapped in process $PUPPET_PID (puppet) and cannot be opened (Permission denied)"* ]]
	[[ $output != *"has mapped a CUDA library"* && $output != *"no CUDA library"* ]]
	"$MEMSCOPE" report -f md unread.mscope > report.md
	grep -q "1 CUDA library could not be opened: no call of it was seen" report.md
	run grep -iE "numbers are exact|nothing is missing" report.md
	[ -z "$output" ]
	assert_equal "$("$MEMSCOPE" report -f json unread.mscope | jq -c '.recordings[0].processes[0].unknown.unread_libraries')" 1

	# shellcheck disable=SC2086 # may be empty
	run -3 "${hidden[@]}" "$MEMSCOPE" trace $MASK --json -d 0.3 -o events.jsonl -p "$PUPPET_PID"
	events 'select(.type == "unread")' > unread.json
	assert_equal "$(jq -c '[.pid, .error, (.path | endswith("/libcuda.so.1"))]' unread.json)" "[$PUPPET_PID,13,true]"
	puppet_end
}
