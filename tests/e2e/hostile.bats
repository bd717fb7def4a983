# SPDX-License-Identifier: BSD-2-Clause
#
# Files that a traced program maps to hurt whoever reads them: the tool says what it could not read,
# takes little memory for it, and traces everything else.

load helpers

@test "hostile ELF files, mapped before and after attaching" {
	local name

	mkdir hostile
	"$ROOT/tests/e2e/make_hostile" "$BUILT/simcuda/libcuda.so.1" hostile
	puppet_start
	for name in truncated cyclic sparse-symbols many-sections text empty; do
		puppet "map hostile/$name"
	done
	puppet "map /dev/zero"
	trace_start -p "$PUPPET_PID"
	for name in header-only own-names huge-claim sparse-names; do
		puppet "map hostile/$name"
	done
	puppet load
	puppet init
	puppet alloc 4096
	puppet free
	trace_stop
	puppet_end
	"$COMPARE" events.jsonl oracle.log
	assert_equal "$(summary '.processes[0].spaces[0] | [.allocs, .frees]')" '[1,1]'
	for name in truncated cyclic header-only own-names huge-claim; do
		grep -q "warning: .*/hostile/$name: this ELF file is damaged; [0-9][0-9]* of its functions" \
			trace.err || fail "nothing about $name:" "$(cat trace.err)"
	done
	for name in sparse-symbols sparse-names many-sections; do
		grep -q "warning: .*/hostile/$name: this ELF file has larger tables than can be read" \
			trace.err || fail "nothing about $name:" "$(cat trace.err)"
	done
	# What is wrong with one table says nothing about the other one.
	grep -q "/hostile/truncated: .*; 0 of its functions will be traced" trace.err
	grep -q "/hostile/huge-claim: .*; [1-9][0-9]* of its functions will be traced" trace.err
	# Files that are no ELF files, and what is no file, are nothing to worry about.
	! grep -E "warning: .*(text|empty|zero)" trace.err || fail "$(cat trace.err)"
}

@test "reading them takes little memory" {
	local name high

	mkdir hostile
	"$ROOT/tests/e2e/make_hostile" "$BUILT/simcuda/libcuda.so.1" hostile
	puppet_start
	trace_start --buffer 1M -p "$PUPPET_PID"
	for name in sparse-symbols sparse-names many-sections; do
		puppet "map hostile/$name"
	done
	wait_for 'grep -q many-sections trace.err'
	high=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$TRACE_PID/status")
	trace_stop
	# In kB. Before they were read in pieces it was a gigabyte and more.
	[ "$high" -gt 0 ]
	[ "$high" -lt 131072 ] || fail "$high kB"
}

@test "a pipe in the place of the driver is not waited for" {
	mkdir pipes
	mkfifo pipes/libcuda.so.1
	LD_LIBRARY_PATH=$PWD/pipes
	puppet_start
	trace -q -d 0.1 -p "$PUPPET_PID" > out.txt
	grep -q "events seen = " out.txt
}
