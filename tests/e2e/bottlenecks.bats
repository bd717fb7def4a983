# SPDX-License-Identifier: BSD-2-Clause
#
# What holds a program up, of programs that are held up in one way each, by their calls and the host
# alone: exactly that is said. Verdicts that take CUPTI's times are in gpu_time.bats, those about CPUs
# in host.bats.

load helpers

bats_require_minimum_version 1.5.0

# verdicts KIND STEPS OPTION...: of the program, run with what is in the environment. That it waits for a
# CPU, too, is true on a busy machine. What fails here shows in the answer alone, as all else does.
verdicts() {
	verdicts_of "$@" || echo "failed: $*"
}

verdicts_of() {
	local busy=false

	rm -f run.mscope report.json
	# shellcheck disable=SC2086 # may be empty
	watched "$MEMSCOPE" record -q $MASK --host=500ms "${@:3}" -o run.mscope -- \
		"$ROOT/tests/e2e/stalls_program" "$1" "$2" || return
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
