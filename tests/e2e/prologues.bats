# SPDX-License-Identifier: BSD-2-Clause
#
# Where in its function a probe is, on the simulated driver whose functions begin in many ways
# (tests/simcuda/vary-prologues). That the events are right from there, rows.bats checks.

load helpers

puppet_varied() {
	[ -e "$BUILT/simcuda-varied/libcuda.so.1" ] || skip "prologues are varied on x86-64 only"
	# A copy: no probe of another test is in the same file.
	mkdir -p varied
	cp "$BUILT/simcuda-varied/libcuda.so.1" varied
	LD_LIBRARY_PATH=$PWD/varied
	puppet_with_cuda
}

@test "check: every way to begin has the point that it should have" {
	puppet_varied
	check_puppet
	# begins, with result, entry alone; of functions with nothing behind that hinders
	jq -r '.process.libraries[].probes[] | [.begins,
		(.with_result | "+\(.at) \(.instruction) \(.handling)"),
		(.entry_alone | "+\(.at) \(.instruction) \(.handling)")] | join(", ")' check.json |
		sort -u > kinds
	grep -qx "push, +0 push emulated, +0 push emulated" kinds
	grep -qx "endbr64, +4 push emulated, +4 push emulated" kinds
	grep -qx "sub, +0 sub single-stepped, +4 jmp emulated" kinds
	grep -qx "endbr64, +0 endbr64 single-stepped, +8 nop emulated" kinds
	grep -qx "mov, +4 push emulated, +4 push emulated" kinds
	grep -qx "jmp, +0 jmp emulated, +0 jmp emulated" kinds
	grep -qx "test, +3 jcc emulated, +3 jcc emulated" kinds
	grep -qx "lea, +0 lea single-stepped, +0 lea single-stepped" kinds   # stores
	grep -qx "endbr64, +0 endbr64 single-stepped, +0 endbr64 single-stepped" kinds # jumped to
	check_puppet --without=uprobe_nops
	assert_equal "$(place cuMemAlloc_v2 | jq -c '.with_result | [.at, .instruction]')" '[9,"push"]'
}

@test "check: the sums are those of the list, and the text says the same" {
	puppet_varied
	check_puppet
	assert_equal "$(jq -c '.process.libraries[0] | .probes as $p | [
		([.found | length] == [$p | length]),
		(.places.with_result | .first + .later + ([$p[].with_result | select(.at == 0 and
			.handling == "single-stepped")] | length)) == ($p | length),
		(.places.entry_alone.later == ([$p[].entry_alone | select(.at > 0)] | length)),
		(.places.with_result.single_stepped == ([$p[].with_result |
			select(.handling == "single-stepped")] | length))]' check.json)" \
		'[true,true,true,true]'
	"$MEMSCOPE" check -v -p "$PUPPET_PID" > out.txt
	grep -qE "^ +cuMemcpyHtoD_v2 +0x[0-9a-f]+ +endbr64 +\+4 push +1.8-2.5 REF +\+4 push +1.1-1.4 REF$" out.txt
	grep -qE "^ +cuLaunchKernel +0x[0-9a-f]+ +sub +\+0 sub +2.6-19 REF +\+4 jmp +1.1-1.4 REF$" out.txt
	grep -qE "^ +with results: $(jq -r '.process.libraries[0].places.with_result |
		"\(.first) at the first instruction, \(.later) at a later one, \(.single_stepped) single"' \
		check.json)" out.txt
}

@test "the breakpoint is at the point, and goes away" {
	local before

	puppet_varied
	check_puppet
	before=$(memory cuMemcpyHtoD_v2)
	assert_equal "${before:0:10}" f30f1efa55
	trace_start -p "$PUPPET_PID"
	assert_equal "$(memory cuMemcpyHtoD_v2)" "f30f1efacc${before:10}"
	trace_stop
	assert_equal "$(memory cuMemcpyHtoD_v2)" "$before"
}

@test "with --no-return the point may be behind a lowered stack pointer" {
	local before

	puppet_varied
	check_puppet
	before=$(memory cuLaunchKernel)
	trace_start --no-return -p "$PUPPET_PID"
	assert_equal "$(memory cuLaunchKernel)" "${before:0:8}cc${before:10}"
	trace_stop
	trace_start -p "$PUPPET_PID"
	assert_equal "$(memory cuLaunchKernel)" "cc${before:2}"
	trace_stop
}

@test "a function that an inline hook has changed is left alone, and said so" {
	puppet_varied
	check_puppet
	# endbr64, nop5 becomes a jump to what is behind
	memory cuMemAlloc_v2 e904000000
	hooked=$(memory cuMemAlloc_v2)
	check_puppet
	assert_equal "$(place cuMemAlloc_v2 | jq -c '[.[].changed?]')" '[true,true]'
	assert_equal "$(jq '.process.libraries[0].places.with_result.changed' check.json)" 1
	"$MEMSCOPE" check -v -p "$PUPPET_PID" |
		grep -qE "^ +cuMemAlloc_v2 .* changed: not probed +changed: not probed$"
	trace_start -p "$PUPPET_PID"
	grep -q "process $PUPPET_PID has changed the code of 1 functions (for example cuMemAlloc_v2)" \
		trace.err
	assert_equal "$(memory cuMemAlloc_v2)" "$hooked"
	puppet alloc 4096
	puppet copy 512
	puppet free
	trace_stop
	assert_equal "$(memory cuMemAlloc_v2)" "$hooked"
	assert_equal "$(events 'select(.type == "call").api' | xargs)" "cuMemcpyHtoD_v2 cuMemFree_v2"
}

@test "who runs a copy of a probed instruction dies of it, and it is said why" {
	[ "$(uname -m)" = x86_64 ] || skip "the copy is of x86-64"
	puppet_with_cuda
	puppet hook
	trace_start -p "$PUPPET_PID"
	echo hook >&8
	trace_wait
	grep -q "warning: process $PUPPET_PID died of SIGTRAP. .* inline hook" trace.err
	assert_equal "$(events 'select(.type == "exit") | .signal')" 5
}

@test "a function that is changed behind the probe with result, before that of the entry alone" {
	puppet_varied
	check_puppet
	# sub $24,%rsp; jmp to the next instruction, of which two nops are made
	memory cuLaunchKernel "$(memory cuLaunchKernel | cut -c1-8)9090"
	check_puppet
	assert_equal "$(place cuLaunchKernel | jq -c '[.with_result, .entry_alone | .at, .changed]')" \
		'[0,false,4,true]'
	assert_equal "$(jq -c '.process.libraries[0].places | map(.changed)' check.json)" '[0,1]'
	"$MEMSCOPE" check -v -p "$PUPPET_PID" |
		grep -qE "^ +cuLaunchKernel .* \+0 sub +[0-9.-]+ REF +changed: not probed$"
	trace_start -p "$PUPPET_PID"
	trace_stop
	! grep "has changed the code" trace.err || false
	trace_start --no-return -p "$PUPPET_PID"
	trace_stop
	grep -q "changed the code of 1 functions (for example cuLaunchKernel)" trace.err
}

@test "the probes of another instance are no hook, also where the kernel has made a call of a nop" {
	local other

	puppet_varied
	check_puppet
	in_background_tracing other other.err "$MEMSCOPE" trace $MASK -v --json -o other.jsonl -p "$PUPPET_PID"
	wait_for 'memory cuMemcpyHtoD_v2 | grep -q ^f30f1efacc'
	puppet churn 10
	if "$MEMSCOPE" check | grep -q "ok *uprobe_nops"; then
		assert_equal "$(memory cuMemAlloc_v2 | cut -c1-10)" f30f1efae8
	fi
	check_puppet
	assert_equal "$(jq -c '.process.libraries[0].places | map(.changed)' check.json)" '[0,0]'
	trace_start -p "$PUPPET_PID"
	! grep "has changed the code" trace.err || false
	puppet churn 10
	trace_stop
	kill -INT $other
	wait $other
	assert_equal "$(summary '.processes[0].spaces[0].allocs')" 10
	assert_equal "$(summary '.processes[0].spaces[0].allocs' other.jsonl)" 20
}

# go_puppet PROGRAM: starts a copy of it that bears the mark of the Go toolchain
go_puppet() {
	echo 1 > mark
	objcopy --add-section .go.buildinfo=mark "$1" go-program
	mkfifo in
	./go-program < in > answers 3>&- 8>&- 9<&- &
	PUPPET_PID=$!
	exec 8> in
	echo load >&8
	wait_for '[ "$(cat "/proc/$PUPPET_PID/comm")" = go-program ]'
}

@test "Go: check says so; of shared libraries' functions there is nothing to warn of" {
	go_puppet "$WORKLOADS/puppet"
	wait_for 'grep -qx ok answers'
	check_puppet
	assert_equal "$(jq -c '.process | [.go, .libraries[].go]' check.json)" '[true,false]'
	"$MEMSCOPE" check -p "$PUPPET_PID" | tr -s ' \n' ' ' > out.txt
	grep -q "a Go program: .* should it fail" out.txt
	! grep -q "of its own" out.txt || false
	trace_start -p "$PUPPET_PID"
	trace_stop
	! grep -q "Go program" trace.err || false
}

@test "Go: functions in the program itself: a warning, unless their returns are left alone" {
	cat > own.c <<- 'END'
		#include <unistd.h>
		int cudaMalloc(void **address, unsigned long bytes) { *address = 0; return bytes == 0; }
		int main(void) { char c; while (read(0, &c, 1) > 0); return 0; }
	END
	cc -o own own.c
	go_puppet ./own
	trace_start -p "$PUPPET_PID"
	trace_stop
	grep -q "go-program: process $PUPPET_PID is a Go program with CUDA functions" trace.err
	for option in --no-return --layer=driver; do
		trace_start $option -p "$PUPPET_PID"
		trace_stop
		! grep -q "Go program" trace.err || fail "$option: $(cat trace.err)"
	done
	check_puppet
	assert_equal "$(jq -c '.process | [.go, (.libraries[] | select(.path |
		endswith("go-program")).go)]' check.json)" '[true,true]'
	"$MEMSCOPE" check -p "$PUPPET_PID" | tr -s ' \n' ' ' > out.txt
	grep -q "a Go program with CUDA functions of its own; .* --no-return or --layer=driver" out.txt
	! grep -q "does no harm" out.txt || false
}

@test "no Go: check does not say so" {
	puppet_start
	check_puppet
	assert_equal "$(jq .process.go check.json)" false
}

@test "a function that is entered from elsewhere, behind its first byte, is probed at that" {
	cat > libcuda.s <<- 'END'
		.macro function name
		.globl \name
		.type \name, @function
		\name: endbr64
		\name\()_inside: push %rbx
		pop %rbx
		xor %eax, %eax
		ret
		.size \name, . - \name
		.endm
		.text
		function cuMemAlloc_v2
		function cuMemFree_v2
		function cuMemcpyHtoD_v2
		.skip 200, 0x90
		.byte 0xeb, 118 # to cuMemAllocManaged_inside
		.skip 114, 0x90
		function cuMemAllocManaged
		function cuMemAllocHost_v2
		jmp cuMemAllocHost_v2_inside
		.type cuMemFree_v2_inside, @function
		.skip 200000, 0x90
		.type cold, @function
		cold: jne cuMemAlloc_v2_inside
		ret
		.size cold, . - cold
		.section .note.GNU-stack
	END
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
	cc -shared -nostdlib -o libcuda.so.1 libcuda.s
	LD_LIBRARY_PATH=$PWD
	puppet_start
	puppet load
	check_puppet
	assert_equal "$(place cuMemAlloc_v2 | jq -c '[.begins, .with_result.at]')" '["endbr64",0]'
	assert_equal "$(place cuMemFree_v2 | jq -c '[.begins, .entry_alone.at]')" '["endbr64",0]'
	assert_equal "$(place cuMemcpyHtoD_v2 | jq -c '[.begins, .with_result.at]')" '["endbr64",4]'
	assert_equal "$(place cuMemAllocManaged | jq -c '[.begins, .with_result.at]')" '["endbr64",0]'
	assert_equal "$(place cuMemAllocHost_v2 | jq -c '[.begins, .with_result.at]')" '["endbr64",0]'
}
