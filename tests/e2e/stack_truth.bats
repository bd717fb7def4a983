# SPDX-License-Identifier: BSD-2-Clause
#
# The kernel side's walk of a stack against libdw's, frame by frame, wherever a program is interrupted: 1,000 stacks
# each by `make check-stacks`, 50 by `make check`. tests/stacks/README.md says how.

load helpers

STACKS_COUNT=${STACKS:-50}
# Of so few, one may be such as libdw walks on in by guesses.
PERMILLE=${STACKS:+1}

# Runs a command, of which so many stacks are taken at random; $1: a name. In NAME.txt is what has come of it.
sampled() {
	local name=$1
	shift
	# A program that lives until its last stack is taken.
	SAMPLER_FILE=$PWD/$name SAMPLER_COUNT=$STACKS_COUNT LD_PRELOAD=$BUILT/stacks/libcuda.so.1 \
		"$@" > program.out 2> program.err 3>&- < /dev/null &
	OTHER_PID=$!
	wait_for "[ -e ready ]"
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing TRACE_PID tool.log "$MEMSCOPE" trace $MASK --stack --stack-frames=native --stack-depth 128 \
		--json -o "$name.jsonl" -v -p "$OTHER_PID"
	wait_for 'grep -q "tables of all files are made" tool.log'
	touch "$name.go"
	wait "$OTHER_PID" || fail "$(cat program.err)"
	wait "$TRACE_PID"
	OTHER_PID=
	TRACE_PID=
	"$BUILT/stacks/walk_copies" "$name" "$name.maps" > "$name.walked"
	rm ready
	"$ROOT/tests/stacks/compare" "$name.jsonl" "$name.walked" "$name" "${PERMILLE:-20}" > "$name.txt" ||
		fail "$(cat "$name.txt")"
	[ -z "${STACKS:-}" ] || sed 's/^/# /' "$name.txt" >&3
}

@test "200 generated functions of all shapes, without and with optimisation, through linkage tables, signals and threads" {
	local level
	"$ROOT/tests/stacks/shapes" 200 "${SEED:-1}" > program.c
	"$ROOT/tests/stacks/shapes" 60 "${SEED:-2}" library > library.c
	for level in O0 O2 Os; do
		gcc "-$level" -fPIC -shared library.c -o "libshapes$level.so"
		gcc "-$level" program.c -o "shapes$level" "-L$PWD" "-lshapes$level" "-Wl,-rpath,$PWD" -pthread
		sampled "$level" "./shapes$level"
	done
}

@test "ffmpeg" {
	sampled ffmpeg ffmpeg -nostdin -hide_banner -loglevel error -progress ready -f lavfi -i testsrc2=size=640x480:rate=25 \
		-vf 'scale=320:240,eq=contrast=1.1' -c:v mpeg4 -frames:v 1000000 -f null -
}

@test "Python, with numba if it is there" {
	local python
	# The interpreter itself: no script that starts it.
	python=${STACKS_PYTHON:-$(python3 -c 'import sys; print(sys.executable)')}
	sampled python "$python" "$ROOT/tests/stacks/work.py"
}
