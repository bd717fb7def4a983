# SPDX-License-Identifier: BSD-2-Clause
#
# Python frames of allocations: functions, files and lines are those that the interpreter itself says.

load helpers

PYTHON=/usr/bin/python3

# Runs the program with these arguments behind its file, traced from when it waits.
python_trace() {
	rm -f expected.jsonl python.in
	mkfifo python.in
	"$PYTHON" "$ROOT/tests/e2e/python_program" expected.jsonl "$@" < python.in 3>&- 6>&- &
	OTHER_PID=$!
	exec 6> python.in
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
	# shellcheck disable=SC2086 # may be empty
	in_background TRACE_PID tool.log "$MEMSCOPE" trace $MASK -f --stack --json -v -o events.jsonl -p "$OTHER_PID" 6>&-
	# The tables of its files are made meanwhile.
	wait_for 'grep -qs "tables of all files are made" tool.log'
	echo >&6
	exec 6>&-
	wait "$OTHER_PID" || [ "$*" = killed ]
	wait "$TRACE_PID"
	TRACE_PID=
	OTHER_PID=
}

@test "in functions of all kinds, threads, a forked child, with the lock held and released" {
	python_trace
	"$ROOT/tests/e2e/python_check" events.jsonl expected.jsonl 18
}

@test "Python frames stand where the interpreter evaluates them" {
	python_trace
	jq -r 'select(.type == "stack") | [.frames[] | select(.kind == "python" or
		(.function // "" | test("^(ffi_call|qsort_r?|_start)$"))) | .function] | join(" ")' \
		events.jsonl > orders.txt
	grep -qx 'ffi_call allocate main <module> _start' orders.txt
	grep -q 'ffi_call allocate called_back.<locals>.<lambda> .*qsort.* called_back main <module> _start' orders.txt
	jq -r 'select(.type == "stack") | .frames[].function' events.jsonl > functions.txt
	[ "$(grep -c _PyEval_EvalFrameDefault functions.txt)" = 0 ]
}

@test "names and lines outlive a process that is killed behind its first allocation" {
	python_trace killed
	"$ROOT/tests/e2e/python_check" events.jsonl expected.jsonl 1
}

@test "--stack-frames=python: nothing else, from the first call of a program on that is started for it" {
	rm -f expected.jsonl
	trace -q -f --stack --stack-frames=python --json -o events.jsonl -- \
		"$PYTHON" "$ROOT/tests/e2e/python_program" expected.jsonl < /dev/null
	"$ROOT/tests/e2e/python_check" events.jsonl expected.jsonl 18
	[ "$(jq -r 'select(.type == "stack") | .frames[].kind' events.jsonl | sort -u)" = python ]
	rm expected.jsonl
	trace -q -f --stack --stack-frames=native --json -o events.jsonl -- \
		"$PYTHON" "$ROOT/tests/e2e/python_program" expected.jsonl < /dev/null
	[ "$(jq -r 'select(.type == "stack") | .frames[].kind' events.jsonl | sort -u)" = native ]
}

@test "a thread that runs no Python has the frames of the one that it works for, marked as such" {
	python_trace native "$WORKLOADS/native_thread.so"
	"$ROOT/tests/e2e/python_check" events.jsonl expected.jsonl 1 inferred
	# Also if Python knows it, as it does PyTorch's.
	export NATIVE_THREAD_STATE=1
	python_trace native "$WORKLOADS/native_thread.so"
	"$ROOT/tests/e2e/python_check" events.jsonl expected.jsonl 1 inferred
}
