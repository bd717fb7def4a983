# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the tests with PyTorch share, besides tests/e2e/helpers.bash, which is loaded before.

HERE=$ROOT/tests/torch
TORCH_DIR=$BUILT/torch${TORCH:+-$TORCH}

# Once for each file: installs it, unless it is there.
setup_file() {
	local code=0

	"$HERE/set-up" "$TORCH_DIR" "$BUILT/simcuda" || code=$?
	case $code in
	0) ;;
	3) export NO_TORCH="PyTorch${TORCH:+ $TORCH} cannot be installed here" ;;
	4) export NO_SIMULATION="PyTorch${TORCH:+ $TORCH} has NVIDIA's runtime in itself, which does not run here" ;;
	*) return "$code" ;;
	esac
}

# NEEDS=libc10: a test file that uses that library alone
setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ -z "${NO_TORCH:-}" ] || skip "$NO_TORCH"
	[ -z "${NO_SIMULATION:-}" ] || [ "${NEEDS:-}" = libc10 ] || skip "$NO_SIMULATION"
	cd "$BATS_TEST_TMPDIR" || exit 1
	export LD_LIBRARY_PATH=$BUILT/simcuda PYTHONPATH=$HERE WITNESS=$PWD/checkpoints MEMSCOPE
	export PYTHONDONTWRITEBYTECODE=1
}

# From here on with segments that grow, which there are since 2.1.
expandable() {
	[[ ${TORCH:-} != 2.0.* ]] || skip "PyTorch $TORCH has no expandable segments"
	export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
}

# A program of ours: its name, without .py, then arguments for it.
torch() {
	"$TORCH_DIR/venv/bin/python" "$HERE/programs/$1.py" "${@:2}"
}

# The command line of one, for the tool.
torch_command() {
	COMMAND=("$TORCH_DIR/venv/bin/python" "$HERE/programs/$1.py" "${@:2}")
}

# $1: the program; then options.
record_torch() {
	torch_command "$1"
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK -q -o run.mscope "${@:2}" -- "${COMMAND[@]}"
}

# What PyTorch, with that kind of allocator, wrote down at so many checkpoints is what was recorded.
same() {
	"$TORCH_DIR/venv/bin/python" "$HERE/compare" "$1" run.mscope checkpoints > compared ||
		fail "$(cat compared)"
	assert_equal "$(grep -c reserved, compared)" "$2"
}
