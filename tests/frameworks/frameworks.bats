#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# JAX and TensorFlow, unmodified, on the simulated GPU: each block that they give to the program.

load ../e2e/helpers

HERE=$ROOT/tests/frameworks

# install FRAMEWORK, unless it is there
install() {
	local code=0

	STORE=$BUILT/frameworks/$1
	"$HERE/set-up" "$1" "$STORE" "$BUILT/simcuda" || code=$?
	[ "$code" -ne 3 ] || skip "$1 cannot be installed here"
	assert_equal "$code" 0
}

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	cd "$BATS_TEST_TMPDIR" || exit 1
	export PYTHONDONTWRITEBYTECODE=1 JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1
}

# It is attached to when it has loaded its library and the driver, and has nothing yet.
record_arrays() {
	mkfifo lines
	LD_LIBRARY_PATH=$STORE/lib "$STORE/venv/bin/python" "$HERE/programs/$1_arrays.py" \
		< lines > arrays 2> messages 3>&- 7>&- &
	OTHER_PID=$!
	exec 7> lines
	wait_for 'grep -qs ready arrays || ! kill -0 $OTHER_PID'
	record_start -o run.mscope --tensors=all --stacks=off -p "$OTHER_PID"
	echo go >&7
	exec 7>&-
	wait "$OTHER_PID" || fail "$(tail -20 messages)"
	record_wait
}

# Each array that is left has its address and size, and the one region its size.
equal() {
	"$MEMSCOPE" export -q -f ndjson run.mscope > records
	"$HERE/compare" arrays < records > compared 2>&1 || fail "$(head -c 2000 compared)"
	assert_equal "$(cat compared)" "$1"
}

@test "JAX: 300 arrays, of which 20 are left" {
	install jax
	record_arrays jax
	equal "20 arrays equal, 300 blocks given, of [6442450944] bytes"
}

@test "TensorFlow: 300 arrays, of which 20 are left" {
	install tensorflow
	record_arrays tensorflow
	equal "20 arrays equal, 300 blocks given, of [6702497792] bytes"
}
