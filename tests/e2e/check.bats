# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf check`: what works here, and what would be invisible.

bats_require_minimum_version 1.5.0
load helpers

@test "every feature and privilege is listed with what is lost without it" {
	"$MEMSCOPE" check > out.txt
	grep -q "Tracing works here." out.txt
	local name
	for name in CAP_BPF CAP_LEASE pid_namespace btf ring_buffer task_storage attach_cookie uprobe_session uprobe_multi \
		uprobe_single uprobe_nops map_files mmap_events open_files programs; do
		grep -qE "^  (ok|missing) +$name " out.txt
	done
}

@test "a feature that is missing: what is lost, and the strategy that is left" {
	local left=uprobe_multi

	case $MASK in
	*uprobe_multi*) left=uprobe_single ;;
	esac
	"$MEMSCOPE" check --without="${WITHOUT:-uprobe_session}" > out.txt
	grep -A3 "missing uprobe_session" out.txt | tr -s ' \n' ' ' |
		grep -q "Without it: uprobe_multi is used"
	grep -q "Probes are attached by $left." out.txt
}

@test "a privilege that tracing does without: what is lost" {
	setpriv --inh-caps=-lease --bounding-set=-lease "$MEMSCOPE" check > out.txt
	assert_equal "$(head -n 1 out.txt)" "Tracing works here."
	grep -A6 "^  missing CAP_LEASE " out.txt | tr -s ' \n' ' ' |
		grep -q "Operation not permitted. Without it: probes are put into each process"
	# The features are tried nevertheless.
	grep -q "^  ok *programs " out.txt
	setpriv --inh-caps=-lease --bounding-set=-lease "$MEMSCOPE" check --json |
		jq -e '.able and ([.privileges[] | select(.available | not) | [.name, .required]] == [["CAP_LEASE", false]])'
	setpriv --inh-caps=-lease --bounding-set=-lease "$MEMSCOPE" trace -- true
}

@test "a required feature that is missing: exit code 4" {
	run "$MEMSCOPE" check --without=btf
	[ "$status" -eq 4 ]
	[[ "$output" == *"MISSING btf"* ]]
	[[ "$output" == *"Tracing does not work here."* ]]
}

@test "programs that the kernel refuses: exit code 4, though nothing else is missing" {
	local refused=(LACKING=verifier LD_PRELOAD="$WORKLOADS/lacking.so" ASAN_OPTIONS=verify_asan_link_order=0) refusal

	# EACCES, ESRCH, E2BIG, EFAULT, EINVAL, ENOSPC, ENOTSUPP
	for refusal in 13 3 7 14 22 28 524; do
		run -4 env "${refused[@]}" REFUSAL=$refusal "$MEMSCOPE" check
		assert_equal "$(grep MISSING <<< "$output" | awk '{ print $2 }')" programs
		[[ $output == *"Tracing does not work here."* ]]
		run -4 env "${refused[@]}" REFUSAL=$refusal "$MEMSCOPE" trace -- true
		[[ $output == *"cannot load the BPF programs: "* ]]
	done
	run -4 env "${refused[@]}" REFUSAL=22 "$MEMSCOPE" record -o run.mscope -- true
	# ENOMEM
	run -1 env "${refused[@]}" REFUSAL=12 "$MEMSCOPE" trace -- true
}

@test "a process: its libraries, the functions found, what would be invisible" {
	puppet_start
	"$MEMSCOPE" check -p "$PUPPET_PID" > out.txt
	grep -qE "libcuda.so.1 \(not mapped yet\): [0-9]+ of [0-9]+ driver functions" out.txt
	puppet load
	"$MEMSCOPE" check -p "$PUPPET_PID" > out.txt
	# The verdict comes first, and no function is listed unless asked for.
	assert_equal "$(head -n 1 out.txt)" "Tracing works here."
	! grep -q FUNCTION out.txt || false
	"$MEMSCOPE" check -vp "$PUPPET_PID" 2> /dev/null | grep -q "^ *FUNCTION  *OFFSET"
	grep -qE "libcuda.so.1: ([0-9]+) of \1 driver functions" out.txt
	grep -q "What tracing it would not see" out.txt
	grep -q "Memory that the process holds already" out.txt
	assert_equal "$(sed '1,/What tracing/d' out.txt | grep -c "runtime")" 0
}

@test "a library that lacks functions: they are named" {
	printf 'int cuMemAlloc_v2(void){return 0;}\nint cuMemFree_v2(void){return 0;}\n' > partial.c
	cc -shared -fPIC -o libcuda.so.1 partial.c
	LD_LIBRARY_PATH=$PWD
	puppet_start
	puppet load
	"$MEMSCOPE" check -p "$PUPPET_PID" > out.txt
	grep -q "libcuda.so.1: 2 of " out.txt
	grep -A40 "not in it:" out.txt | grep -q cuMemAllocManaged
}

@test "a stripped program says what its runtime's names would need" {
	cp "$WORKLOADS/puppet" stripped
	strip stripped
	mkfifo in
	./stripped < in > answers 3>&- 8>&- 9<&- &
	PUPPET_PID=$!
	exec {hold}> in
	echo load >&"$hold"
	wait_for 'grep -qx ok answers'
	"$MEMSCOPE" check -p "$PUPPET_PID" > out.txt
	grep -q "which is stripped" out.txt
}

@test "JSON: valid by its schema" {
	puppet_start
	puppet load
	"$MEMSCOPE" check --json -p "$PUPPET_PID" > with.json
	"$MEMSCOPE" check --json --without=uprobe_multi > without.json
	valid check with.json without.json
	assert_equal "$(jq -c '[.schema, .able, .process.pid]' with.json)" \
		"[\"memscope-bpf/check/1\",true,$PUPPET_PID]"
}

@test "a launcher: which of its descendants use CUDA, and what would include them" {
	mkfifo puppet.in puppet.out
	sh -c '"$0"; true' "$WORKLOADS/puppet" < puppet.in > puppet.out 3>&- 8>&- 9<&- &
	PUPPET_PID=$!
	exec 8> puppet.in 9< puppet.out
	puppet load
	OTHER_PID=$(pgrep -P "$PUPPET_PID")
	"$MEMSCOPE" check -p "$PUPPET_PID" > out.txt
	tr '\n' ' ' < out.txt | grep -qF "1 descendant of process $PUPPET_PID uses CUDA, and would not be traced with -p $PUPPET_PID. With it: -p $PUPPET_PID,$OTHER_PID; with those that start later: -f as well. "
	check_puppet
	valid check check.json
	assert_equal "$(jq -c '.process | [.descendants_count, .descendants]' check.json)" "[1,[$OTHER_PID]]"
	# It uses CUDA itself.
	"$MEMSCOPE" check --json -p "$OTHER_PID" > check.json
	assert_equal "$(jq -c '.process | [.descendants_count, .descendants]' check.json)" "[0,[]]"
	puppet_end
}
