# SPDX-License-Identifier: BSD-2-Clause
#
# Python frames of allocations: functions, files and lines are those that the interpreter itself says.

load helpers

bats_require_minimum_version 1.5.0

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

# `make check-pythons` names all interpreters that it finds.
@test "in functions of all kinds, threads, forked children and workers, with the lock held and released" {
	for PYTHON in ${PYTHONS:-$PYTHON}; do
		python_trace
		"$ROOT/tests/e2e/python_check" events.jsonl expected.jsonl 22 || fail "$PYTHON"
		[ -z "${PYTHONS:-}" ] ||
			echo "# $("$PYTHON" -V): $(grep -c . expected.jsonl) stacks, $(jq '.frames[]' -c expected.jsonl | grep -c .) frames: all equal" >&3
	done
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

@test "a program that rewrites its code objects while they are read costs its names alone" {
	for PYTHON in ${PYTHONS:-$PYTHON}; do
		rm -f python.in run.mscope
		mkfifo python.in
		"$PYTHON" "$ROOT/tests/e2e/hostile_code" 3000 < python.in > hostile.out 3>&- 6>&- &
		OTHER_PID=$!
		exec 6> python.in
		wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
		in_background_tracing TRACE_PID tool.log "$MEMSCOPE" record $MASK --stack-frames=python -o run.mscope -v -p "$OTHER_PID" 6>&-
		echo >&6
		exec 6>&-
		wait "$OTHER_PID"
		wait "$TRACE_PID"
		TRACE_PID=
		OTHER_PID=
		assert_equal "$(cat hostile.out)" 3000
		"$MEMSCOPE" report -f json -o report.json run.mscope
		valid report report.json
		assert_equal "$(jq '.recordings[0].processes[0].spaces[] | select(.space == "device").allocs' report.json)" 3000
		# The rest of each stack is as it is; what is read of the code object is bounded.
		"$MEMSCOPE" export -f ndjson -o events.jsonl run.mscope
		jq -e -s '[.[] | select(.type == "stack") | .frames[1].function] | length > 0 and all(. == "<listcomp>" or . == "<module>")' \
			events.jsonl
		[ "$(jq -r 'select(.type == "stack").frames[0].function' events.jsonl | sort -u | wc -l)" -gt 1 ]
		[ "$(jq -r 'select(.type == "stack").frames[0].function // "" | length' events.jsonl | sort -n | tail -1)" -le 4096 ]
	done
}

@test "names and lines outlive a process that is killed behind its first allocation" {
	python_trace killed
	"$ROOT/tests/e2e/python_check" events.jsonl expected.jsonl 1
}

@test "--stack-frames=python: nothing else, from the first call of a program on that is started for it" {
	rm -f expected.jsonl
	trace -q -f --stack --stack-frames=python --json -o events.jsonl -- \
		"$PYTHON" "$ROOT/tests/e2e/python_program" expected.jsonl < /dev/null
	"$ROOT/tests/e2e/python_check" events.jsonl expected.jsonl 22
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

@test "--stacks=waits: in which line a program waits and copies, in the report and its findings" {
	local where='loss (waits_program:30) \< step (waits_program:36) \< \<module\> (waits_program:46)'

	export SIMCUDA_DELAY=cuCtxSynchronize=8ms,cuMemcpyHtoD_v2=500us
	"$MEMSCOPE" record -q --stacks=waits --stack-frames=python -o run.mscope -- "$PYTHON" "$ROOT/tests/e2e/waits_program" 160
	"$MEMSCOPE" report -f json -o report.json run.mscope
	valid report report.json
	assert_equal "$(jq -r '.recordings[0].call_sites[] | [.api, .calls, .bytes, .frames[0].function] | @tsv' report.json |
		sort)" "$(printf 'cuCtxSynchronize\t160\t0\tloss\ncuMemAlloc_v2\t1\t1048576\tmade\ncuMemcpyHtoD_v2\t160\t167772160\tupload')"
	# As long as the delays, at least.
	jq -e '.recordings[0].call_sites[] | select(.api == "cuCtxSynchronize") | .duration_ns >= 160 * 8000000' report.json
	jq -e '.recordings[0] | .call_sites as $sites | .findings[] | select(.rule == "sync-bound") | .site |
		.stack_id == $sites[0].stack_id and .duration_ns == $sites[0].duration_ns' report.json
	"$MEMSCOPE" report -f md -o report.md run.mscope
	grep -qF "| $where | cuCtxSynchronize | 160 | " report.md
	grep -q "^\* [0-9.]* s of these calls' time was in loss (waits_program:30)" report.md
	"$MEMSCOPE" report -f html -o report.html run.mscope
	grep -q 'time of these calls that was in loss (waits_program:30)' report.html
	# Copies that are recorded one by one come to the same.
	rm run.mscope
	"$MEMSCOPE" record -q --stacks=waits --stack-frames=python --copies=all -o run.mscope -- \
		"$PYTHON" "$ROOT/tests/e2e/waits_program" 20
	"$MEMSCOPE" report -f json -o report.json run.mscope
	assert_equal "$(jq -c '[.recordings[0].call_sites[] | select(.frames[0].function == "upload") | .calls, .bytes]' report.json)" \
		"[20,20971520]"
}

@test "storms, copies and failed calls have the line that most of them were made in" {
	local finding='.recordings[0].findings[] | select(.rule == $rule) | .site'

	export SIMCUDA_DELAY=cuMemAlloc_v2=100us,cuMemcpyHtoD_v2=5ms
	"$MEMSCOPE" record -q --stacks=waits --stack-frames=python -o run.mscope -- "$PYTHON" "$ROOT/tests/e2e/storm_program"
	"$MEMSCOPE" report -f json -o report.json run.mscope
	valid report report.json
	jq -e --arg rule storm "$finding | .calls > 300 and (.called_in | startswith(\"made (storm_program:15) < scratch \
(storm_program:20) < storm (storm_program:26) < <module> (storm_program:\"))" report.json
	jq -e --arg rule pageable-copies "$finding | .duration_ns >= 100 * 5000000 and
		(.called_in | startswith(\"upload (storm_program:31) < <module>\"))" report.json
	assert_equal "$(jq -r --arg rule failed-calls "$finding | [.calls, .called_in] | @tsv" report.json | cut -d '<' -f 1)" \
		$'3\tregister (storm_program:35) '
	"$MEMSCOPE" report -f md -o report.md run.mscope
	grep -q '^\* all of these calls were made in register (storm_program:35)' report.md
	grep -qE '^\* (all|[0-9,]+) of these allocations were made in made \(storm_program:15\)' report.md
	"$MEMSCOPE" report -f html -o report.html run.mscope
	grep -q 'calls that were made in register (storm_program:35)' report.html
	# A line of a suppression may name the place.
	echo "storm * * scratch" > known.txt
	"$MEMSCOPE" report -f json --suppress known.txt -o report.json run.mscope
	assert_equal "$(jq -c '[.recordings[0].findings[].rule] | index("storm")' report.json)" null
}

@test "trace --stack -e: frames of the calls that are asked for" {
	trace -q --stack --stack-frames=python -e sync,memory -o trace.txt -- "$PYTHON" "$ROOT/tests/e2e/waits_program" 3
	assert_equal "$(grep -A 1 ' waits_program *cuCtxSynchronize' trace.txt | grep -cxF ' > loss (waits_program:30)')" 3
	assert_equal "$(grep -A 1 ' waits_program *cuModuleLoadData' trace.txt | grep -c '^ > ')" 0
	run -2 "$MEMSCOPE" trace --stack -e memory -- true
	[[ $output == *"-e alloc,copy,memset,launch,sync"* ]]
}

@test "trace -c --stack: the lines that most memory and time is spent in" {
	export SIMCUDA_DELAY=cuCtxSynchronize=8ms
	trace -c --stack --stack-frames=python -e alloc,sync -o trace.txt -- "$PYTHON" "$ROOT/tests/e2e/waits_program" 5
	grep -qE '^ +1 MiB +1 +1 MiB +1  made \(waits_program:17\) < <module> \(waits_program:[0-9]+\)$' trace.txt
	grep -qE '^ +[0-9.]+ ms +5 +[0-9.]+ ms  cuCtxSynchronize +loss \(waits_program:30\) < step \(waits_program:36\) < ' trace.txt
	trace -c --json --stack --stack-frames=python -e alloc,sync -o trace.json -- "$PYTHON" "$ROOT/tests/e2e/waits_program" 5
	valid event trace.json
	assert_equal "$(jq -c '.sites[] | [.live_bytes, .live_count, .alloc_bytes, .allocs, .frames[0].function]' trace.json)" \
		'[1048576,1,1048576,1,"made"]'
	assert_equal "$(jq -c '.call_sites[0] | [.api, .calls, .frames[0].line]' trace.json)" '["cuCtxSynchronize",5,30]'
	# Without -e, all of them but launches.
	trace -c --json --stack --stack-frames=python -o trace.json -- "$PYTHON" "$ROOT/tests/e2e/waits_program" 5
	assert_equal "$(jq -r '.call_sites[].api' trace.json | sort | tr '\n' ' ')" "cuCtxSynchronize cuMemAlloc_v2 cuMemcpyHtoD_v2 "
	trace -c --json -e sync -o trace.json -- "$PYTHON" "$ROOT/tests/e2e/waits_program" 5
	assert_equal "$(jq -c '[.sites, .call_sites]' trace.json)" "[null,null]"
}

@test "--stacks=all: launches, too, each recorded by itself" {
	local rows='[.call_sites[] | select(.api == "cuLaunchKernel") | .calls, .frames[0].function, .frames[0].line]'

	"$MEMSCOPE" record -q --stacks=all --stack-frames=python -o run.mscope -- "$PYTHON" "$ROOT/tests/e2e/waits_program" 7
	"$MEMSCOPE" report -f json -o report.json run.mscope
	assert_equal "$(jq -c ".recordings[0] | $rows" report.json)" '[7,"forward",26]'
	# A summary does not count them then.
	trace -c --json --stack --stack-frames=python -e launch -o trace.json -- "$PYTHON" "$ROOT/tests/e2e/waits_program" 7
	assert_equal "$(jq -c "$rows" trace.json)" '[7,"forward",26]'
	run -2 "$MEMSCOPE" record --stacks=all --launches=summary -o run.mscope -- true
	[[ $output == *"--launches=all, or --stacks=waits"* ]]
}

@test "a running program's first call that is seen has its line" {
	cat > looping.py <<-'END'
		import ctypes
		import sys

		cuda, context, block = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
		assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
		print("ready", flush=True)

		def step():
		    assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(4096)) == 0
		    assert cuda.cuMemFree_v2(block) == 0

		while True:
		    step()
	END
	unset SIMCUDA_LOG
	"$PYTHON" looping.py > ready.txt 3>&- &
	OTHER_PID=$!
	wait_for 'grep -q ready ready.txt'
	# By its number, and as one of all that run.
	for who in "-p $OTHER_PID" "--comm looping.py"; do
		# shellcheck disable=SC2086 # several words
		trace -q -e alloc --stack --json -d 0.3 -o events.jsonl $who
		jq -r 'select(.type == "stack") | [.frames[] | select(.kind == "python").function] | join(" ")' \
			events.jsonl | head -n 1 > first.txt
		assert_equal "$(cat first.txt)" "step <module>"
		[ "$(jq -c 'select(.type == "stack" and all(.frames[]; .kind != "python"))' events.jsonl | wc -l)" -eq 0 ]
	done
	kill "$OTHER_PID"
}
