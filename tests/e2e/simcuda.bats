# SPDX-License-Identifier: BSD-2-Clause
#
# The simulator is only worth something as long as it does what it says.

load helpers

@test "the exported names are those of the CUDA 13 driver, each with an address of its own" {
	unset LD_LIBRARY_PATH
	sed -n 's/^\(DRIVER\|INTEROP\)(\(.*\))$/\2/p' "$ROOT/user/event/cuda_names.def" > names
	"$ROOT/tests/simcuda/check-exports" "$BUILT/simcuda/libcuda.so.1" names
	"$ROOT/tests/simcuda/check-exports" "$BUILT/simcuda/libcudart.so.13"
	assert_equal "$(wc -l < names)" 726
}

@test "the driver, by subject, and the runtime, shared, static and per-thread, pass their selftests" {
	local selftest passed=0

	unset SIMCUDA_LOG
	cd "$ROOT"
	for selftest in "$BUILT"/simcuda/selftest-*; do
		"$selftest"
		passed=$((passed + 1))
	done
	[ $passed -ge 10 ]
}
