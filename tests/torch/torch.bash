# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the tests with PyTorch share, besides tests/e2e/helpers.bash, which is loaded before.

HERE=$ROOT/tests/torch
TORCH=$BUILT/torch

# Once for each file: installs it, unless it is there.
setup_file() {
	local code=0

	"$HERE/set-up" "$TORCH" "$BUILT/simcuda" || code=$?
	[ "$code" -ne 3 ] || export NO_TORCH="PyTorch cannot be installed here"
	[ "$code" -eq 0 ] || [ "$code" -eq 3 ]
}

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	[ -z "${NO_TORCH:-}" ] || skip "$NO_TORCH"
	cd "$BATS_TEST_TMPDIR" || exit 1
	export LD_LIBRARY_PATH=$BUILT/simcuda PYTHONPATH=$HERE WITNESS=$PWD/checkpoints MEMSCOPE
	export PYTHONDONTWRITEBYTECODE=1
}

# A program of ours: its name, without .py, then arguments for it.
torch() {
	"$TORCH/venv/bin/python" "$HERE/programs/$1.py" "${@:2}"
}

# The command line of one, for the tool.
torch_command() {
	COMMAND=("$TORCH/venv/bin/python" "$HERE/programs/$1.py" "${@:2}")
}

# $1: the program; then options.
record_torch() {
	torch_command "$1"
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK -q -o run.mscope "${@:2}" -- "${COMMAND[@]}"
}

# What PyTorch, with that kind of allocator, wrote down at so many checkpoints is what was recorded.
same() {
	"$TORCH/venv/bin/python" "$HERE/compare" "$1" run.mscope checkpoints > compared ||
		fail "$(cat compared)"
	assert_equal "$(grep -c reserved, compared)" "$2"
}
