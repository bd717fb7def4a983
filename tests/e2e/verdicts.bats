# SPDX-License-Identifier: BSD-2-Clause
#
# tests/gpu/verdicts.py, which is made for a real driver, CUPTI and NVTX, on simulated ones. These do not
# imitate everything; what they do imitate must be confirmed, and what they get wrong refuted.

load held

eval "without_cupti_$(declare -f setup)"
setup() {
	without_cupti_setup
	export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$BUILT/simcupti:$WORKLOADS SIMCUPTI=slow=busy:20ms
}

# all_are VERDICT HYPOTHESIS...
all_are() {
	local i

	for i in "${@:2}"; do
		assert_equal "$i: $(verdict "$i")" "$i: $1"
	done
}

# verdict NAME: of the hypothesis that begins so
verdict() {
	grep -F "$1" verdicts/verdicts.txt | sed 's/.* | \(.*\) | .*/\1/'
}

@test "tests/gpu: what is said of a real driver, of this one" {
	/usr/bin/python3 "$ROOT/tests/gpu/verdicts.py" "$MEMSCOPE" verdicts > out
	diff out verdicts/verdicts.txt
	[ "$(grep -cE '^[^|]+ \| (confirmed|refuted|not seen) \| [^|]+$' out)" -ge 70 ] || fail "$(cat out)"
	assert_equal "$(wc -l < out)" "$(($(grep -cE '^[^|]+ \| (confirmed|refuted|not seen) \| [^|]+$' out) + 1))"
	run ! grep "cannot be judged" out
	all_are confirmed "no call is missing" "the objects' sum is NVML's number" "no byte of its number is unexplained" \
		"from before is what was held" "each object's is known" "calls ioctl() by a stub" "share chunks of 2 MiB" \
		"cudaHostRegister" "at the address of a map" "validated each time" "the UUIDs of devices" "cuMemMap: UVM maps it" \
		"a large cudaMalloc is RM_ALLOC"
	all_are refuted "pools grow by 32 MiB"
	# Of times, markers and the host.
	all_are confirmed "CUPTI works in a program" "all kernels, copies and memsets come" "joined with its call" "takes our clock" \
		"times of calls are CLOCK_MONOTONIC" "right to within 10 us" "nothing runs before its call" "as the GPU's own clock says" \
		"a second tool does not get CUPTI" "the program goes on unmeasured" "exported functions of a running program" \
		"by the library that is injected" "the node of page-locked memory" "the node of managed memory" "is in numa_maps" \
		"BLOCKING_SYNC blocks"
	# The simulated driver sleeps, and complains.
	all_are refuted "waits spin" "of a missing file" "without the function"
	all_are "not seen" "what HES gains" "a link is at its fastest"
}

@test "tests/gpu: a CUPTI that loses and lies is found out" {
	SIMCUDA_SPIN=cuCtxSynchronize=40ms SIMCUPTI=slow=busy:5ms,drop=10,refuses_clock=1,offset=3s \
		/usr/bin/python3 "$ROOT/tests/gpu/verdicts.py" "$MEMSCOPE" verdicts > out
	all_are refuted "all kernels, copies and memsets come" "takes our clock" "as the GPU's own clock says" "BLOCKING_SYNC blocks"
	all_are confirmed "waits spin" "CUPTI works in a program"
}

@test "tests/gpu: a driver that holds more than its objects is found out" {
	SIMCUDA_HIDDEN=64M /usr/bin/python3 "$ROOT/tests/gpu/verdicts.py" "$MEMSCOPE" verdicts > out
	assert_equal "$(verdict "the objects' sum is NVML's number")" refuted
	assert_equal "$(verdict "no byte of its number is unexplained")" refuted
	grep -qF "unexplained at the last sample: [$((2 * (64 << 20)))]" out || fail "$(cat out)"
}

@test "tests/gpu: a driver that hangs does not keep it from its end" {
	SIMCUDA_DELAY=cuInit=1000s /usr/bin/python3 "$ROOT/tests/gpu/verdicts.py" "$MEMSCOPE" verdicts --limit=12 > out
	assert_equal "$(verdict "no call is missing")" "not seen"
	assert_equal "$(verdict "share chunks of 2 MiB")" "not seen"
	run ! pgrep -f "$PWD/verdicts/"
}
