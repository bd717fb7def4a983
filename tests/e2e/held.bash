# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Two devices, of which the simulated CUDA driver takes memory by ioctls as a real one does, and what the
# simulated NVML says of them; a program that holds something at each step, and its recording.

load recordings

eval "without_driver_$(declare -f setup)
without_driver_$(declare -f teardown)"
setup() {
	without_driver_setup
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ -c /dev/fuse ] || skip "needs /dev/fuse"
	needs_links
	# Captures of other tests, which may run at the same time, do not hear this one's marks.
	cp "$MEMSCOPE" "$(dirname "$MEMSCOPE")"/libmemscope-*.so .
	MEMSCOPE=$PWD/${MEMSCOPE##*/}
	mkdir devices held.d
	"$WORKLOADS/simnv-devices" "$PWD/devices" 3>&- &
	SIMNV_PID=$!
	wait_for '[ -e devices/nvidiactl ]'
	export SIMNV=$PWD/state SIMCUDA_DEVICES=2 SIMCUDA_HELD=$PWD/held.d SIMCUDA_DRIVER=$PWD/devices
	export MEMSCOPE_TEST_DEVICES=$PWD/devices
	LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simnv/3
	FIRST=GPU-73696d75-6c61-7465-6420-475055200000
	SECOND=GPU-73696d75-6c61-7465-6420-475055200001
	cat > state <<-END
		driver 580.159.04
		device uuid=$FIRST name=NVIDIA_H200 pci=0:65:00 minor=0 total=143771M reserved=615M used=9M
		device uuid=$SECOND name=NVIDIA_H200 pci=0:66:00 minor=1 total=143771M reserved=615M used=0
	END
}

teardown() {
	OTHER_PID=${SIMNV_PID:-}
	exec 4>&- 5<&- 6>&- 7<&-
	[ -z "${MANY:-}" ] || kill "${MANY[@]}"
	without_driver_teardown
	umount -l devices 2> /dev/null || true
}

# begin PROGRAM ARGUMENT...: in a recording. It does nothing yet.
begin() {
	mkfifo to from
	# shellcheck disable=SC2016 # for the other shell
	record_start -o run.mscope --nvml=100ms -- sh -c 'exec "$0" "$@" < to > from' "$@"
	exec 6> to 7< from
	wait_for '[ "$(answers)" -ge 1 ]'
}

answers() {
	grep -c "debug: NVML: " record.err || true
}

# The next step, which ends with an answer to what NVML was asked after it, and a mark that has the step's number.
step() {
	local before

	echo >&6
	read -r -t 60 EXPECTED <&7 || fail "no answer"
	before=$(answers)
	wait_for '[ "$(answers)" -gt '$((before + 1))' ]'
	"$MEMSCOPE" mark -q "step-$1"
}

finish() {
	exec 6>&-
	record_wait
}

# at STEP FILTER: of the only process, at that step
at() {
	"$MEMSCOPE" report -f json --to="mark:step-$1" run.mscope > report.json
	# The first one: the numbers of processes begin anew some day.
	jq -c ".recordings[0].processes | sort_by(.start_ns)[0] | $2" report.json
}
