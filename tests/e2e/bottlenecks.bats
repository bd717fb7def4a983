# SPDX-License-Identifier: BSD-2-Clause
#
# What holds a program up, of programs that are held up in one way each, by their calls and the host
# alone: exactly that is said. Verdicts that take CUPTI's times are in gpu_time.bats, those about CPUs
# in host.bats.

load helpers

bats_require_minimum_version 1.5.0

OUTSIDE=()
IN_GROUP=()
INPUT=

teardown() {
	[ -z "${WRITER:-}" ] || kill "$WRITER" 2> /dev/null || true
	remove_group
	[ -z "${LIMITS:-}" ] || GROUP=$LIMITS remove_group
}

# memory_group BYTES: makes GROUP, a cgroup that may have so much memory, or skips the test. Where version 1
# limits memory, version 2 beside it has the pressure.
memory_group() {
	local hierarchy=/sys/fs/cgroup

	GROUP=$hierarchy/memscope-test-$$ LIMIT=memory.max
	if [ -d $hierarchy/memory ]; then
		LIMITS=$hierarchy/memory/memscope-test-$$ GROUP=$hierarchy/unified/memscope-test-$$
		LIMIT=memory.limit_in_bytes
	fi
	mkdir "$GROUP" ${LIMITS:+"$LIMITS"} || skip "cgroups cannot be made here"
	echo "$1" > "${LIMITS:-$GROUP}/$LIMIT" || skip "cgroups cannot be limited here"
	[ -e "$GROUP/memory.pressure" ] || skip "the kernel does not say how long tasks wait for memory"
	# shellcheck disable=SC2016 # the inner shell's
	IN_GROUP=(sh -c 'echo $$ > "$0/cgroup.procs" && echo $$ > "$1/cgroup.procs" && shift && exec "$@"'
		"$GROUP" "${LIMITS:-$GROUP}")
}

# verdicts KIND STEPS OPTION...: of the program, run with what is in the environment. That it waits for a
# CPU, too, is true on a busy machine. What fails here shows in the answer alone, as all else does.
verdicts() {
	verdicts_of "$@" || echo "failed: $*"
}

verdicts_of() {
	local busy=false

	rm -f run.mscope report.json
	# shellcheck disable=SC2086 # may be empty
	watched "${OUTSIDE[@]}" "$MEMSCOPE" record -q $MASK --host=500ms "${@:3}" -o run.mscope -- \
		"${IN_GROUP[@]}" "$ROOT/tests/e2e/stalls_program" "$1" "$2" "$INPUT" || return
	[ -z "$UNCONTENDED" ] || busy=true
	# A launch takes long if others have its CPU meanwhile, and is no long launch. What computes and has to
	# wait for a CPU must not be said to wait for input: that goes by how long it had to.
	[ "$1" != compute ] || UNCONTENDED=
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" report -f json $UNCONTENDED ${UNCONTENDED:+--threshold=long-launch=10ms} -o report.json run.mscope || return
	valid report report.json || return
	jq -e '.recordings[0].processes | length == 1' report.json > /dev/null || return
	jq -r --argjson busy $busy '.recordings[0].findings[] | select(.topic == "bottleneck" or .topic == "copies") | .rule |
		select(($busy and . == "cpu-contention") | not)' report.json | sort | xargs
}

all="--launches=all --copies=all"

@test "waits, copies, allocations, launches: each is said of the program that they hold up" {
	# shellcheck disable=SC2086 # several
	assert_equal "$(SIMCUDA_DELAY=cuCtxSynchronize=4ms verdicts sync 50 $all)" sync-bound
	# shellcheck disable=SC2086
	assert_equal "$(SIMCUDA_DELAY=cuMemcpyHtoD_v2=30ms verdicts pageable 60 $all)" "copy-bound pageable-copies"
	# shellcheck disable=SC2086
	assert_equal "$(SIMCUDA_DELAY=cuMemAlloc_v2=10ms verdicts alloc 150 $all)" alloc-bound
	# shellcheck disable=SC2086
	assert_equal "$(SIMCUDA_SPIN=cuLaunchKernel=12us verdicts launch 100 $all)" launch-bound
}

@test "a host that computes, and one that waits for input, while the device has nothing to do" {
	# shellcheck disable=SC2086
	assert_equal "$(verdicts compute 400 $all)" host-bound
	# shellcheck disable=SC2086
	assert_equal "$(verdicts input 80 $all)" input-bound
}

@test "a program in balance, one without work, one of which too little is known: nothing is said" {
	# shellcheck disable=SC2086
	assert_equal "$(SIMCUDA_DELAY=cuCtxSynchronize=2ms verdicts balanced 150 $all)" ""
	# shellcheck disable=SC2086
	assert_equal "$(verdicts idle 8 $all)" ""
	assert_equal "$(SIMCUDA_SPIN=cuLaunchKernel=12us verdicts launch 100 --launches=off --copies=off)" ""
	assert_equal "$(jq -r '.recordings[0].not_looked_for[] | select(.rule == "launch-bound" or .rule == "host-bound") | .rule' \
		report.json | sort | xargs)" "host-bound launch-bound"
}

@test "little of the device is free: said at 4 %, and not at 10 %" {
	assert_equal "$(SIMCUDA_MEMORY=1G verdicts full 8 $all)" memory-pressure
	assert_equal "$(SIMCUDA_MEMORY=1G verdicts roomy 8 $all)" ""
}

# pressed MICROSECONDS: in a place of its own, where /proc/pressure/memory says that for so long, of each 50 ms,
# all tasks of the machine waited for memory. If they did, it would disturb whatever else runs.
pressed() {
	local total=0 line='%s avg10=0.00 avg60=0.00 avg300=0.00 total=%012d\n'

	# shellcheck disable=SC2059 # it is a format
	printf "$line$line" some 0 full 0 > said
	# shellcheck disable=SC2059
	while sleep 0.05; do
		total=$((total + $1))
		printf "$line$line" some $total full $total 1<> said
	done 3>&- 6>&- &
	WRITER=$!
	# shellcheck disable=SC2016 # the inner shell's
	OUTSIDE=(unshare -m sh -c 'mount --bind "$0" /proc/pressure/memory && exec "$@"' said)
}

@test "a cgroup with too little memory of the host, and one with enough" {
	INPUT=input
	head -c 64M /dev/urandom > "$INPUT"
	memory_group 48M
	# shellcheck disable=SC2086 # several
	assert_equal "$(verdicts thrash 12 $all)" host-memory-pressure
	assert_equal "$(jq -r '.recordings[0].findings[] | select(.rule == "host-memory-pressure") | .confidence' report.json)" high
	echo 512M > "${LIMITS:-$GROUP}/$LIMIT"
	pressed 0
	# shellcheck disable=SC2086
	assert_equal "$(verdicts thrash 12 $all)" ""
}

@test "a machine with too little memory: a process that reads from the disk is affected, one that does not is not" {
	[ -e /proc/pressure/memory ] || skip "the kernel does not say how long tasks wait for memory"
	INPUT=input
	head -c 16M /dev/urandom > "$INPUT"
	pressed 20000
	# shellcheck disable=SC2086
	assert_equal "$(verdicts reread 12 $all)" host-memory-pressure
	assert_equal "$(jq -r '.recordings[0].findings[] | select(.rule == "host-memory-pressure") | .confidence' report.json)" medium
	# shellcheck disable=SC2086
	assert_equal "$(verdicts idle 12 $all)" ""
}
