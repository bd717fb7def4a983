# SPDX-License-Identifier: BSD-2-Clause
#
# What NVIDIA's kernel driver holds for a process, by its ioctls: those that a program made on an H200
# are made again, on files that stand for the devices (tests/simnv).

bats_require_minimum_version 1.5.0
load helpers

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	cd "$BATS_TEST_TMPDIR" || exit 1
	export LD_LIBRARY_PATH=$BUILT/simcuda
	[ -c /dev/fuse ] || skip "needs /dev/fuse"
	needs_links
	mkdir devices
	"$WORKLOADS/simnv-devices" "$PWD/devices" 3>&- &
	SIMNV_PID=$!
	wait_for '[ -e devices/nvidiactl ]'
	export MEMSCOPE_TEST_DEVICES=$PWD/devices
}

teardown() {
	[ -n "${SIMNV_PID:-}" ] || return 0
	kill "$SIMNV_PID"
	wait "$SIMNV_PID" || true
}

# Until after the step $1, if there is one.
record_ioctls() {
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK -q -o run.mscope -- "$WORKLOADS/ioctls" "$ROOT/tests/golden/ioctls.txt" \
		"$PWD/devices" "$@"
}

driver() {
	"$MEMSCOPE" report -f json run.mscope | jq -c ".recordings[0].processes[0].driver$1"
}

expected() {
	sed -n "s/^expect \([0-9]*\) $1\$/\1/p" "$ROOT/tests/golden/ioctls.txt" | tail -1
}

@test "the bytes are those that NVML told on the real machine" {
	record_ioctls
	assert_equal "$(driver .device.exit_bytes)" "$(expected again)"
	assert_equal "$(driver .device.peak_bytes)" "$(expected 'all but 4 MiB')"
	assert_equal "$(driver .out_of_memory)" 4
	assert_equal "$(driver .causes.no_traced_call.exit_bytes)" "$(expected again)"
	"$MEMSCOPE" report -f text run.mscope > text
	grep -q '^  in all, of the device  *518 MiB  *140 GiB$' text || fail "$(cat text)"
}

@test "in the middle, with the host's memory" {
	record_ioctls page-locked
	assert_equal "$(driver .device.exit_bytes)" "$(expected page-locked)"
	[ "$(driver .host.exit_bytes)" -ge $((28 << 20)) ]
}

@test "other files are not NVIDIA's" {
	mkdir elsewhere
	MEMSCOPE_TEST_DEVICES=$PWD/elsewhere record_ioctls
	assert_equal "$(driver '')" null
}

@test "trace: the summary says what the driver holds" {
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" trace $MASK -c -o out -- "$WORKLOADS/ioctls" "$ROOT/tests/golden/ioctls.txt" "$PWD/devices"
	grep -q '^  DRIVER  *HELD AT EXIT  *PEAK$' out || fail "$(cat out)"
	grep -q '518 MiB  *140 GiB  in all, of the device$' out || fail "$(cat out)"
}
