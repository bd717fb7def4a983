# SPDX-License-Identifier: BSD-2-Clause
#
# The options of `memscope-bpf trace` and the shape of what it writes.

load helpers

@test "every JSON line is valid by the published schema" {
	trace --json -e all -o events.jsonl -- $(ffmpeg_command 2)
	SIMCUDA_FAIL=cuMemAlloc_v2:1=2 run trace --json -e all -o failed.jsonl -- $(ffmpeg_command 2)
	trace -f --json -o forked.jsonl -- sh -c "$WORKLOADS/threads 2 100; exit 3" || [ $? -eq 3 ]
	SIMCUDA_DEVICES=2 trace --json -e all -o rows.jsonl -- "$WORKLOADS/rows_driver" > /dev/null
	/usr/bin/python3 - "$ROOT/docs/event.schema.json" ./*.jsonl <<'PYTHON'
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
# One branch by type and op, so that an error names the field and not 14 alternatives.
branches = {}
for branch in schema["oneOf"]:
    properties = branch["properties"]
    key = properties["type"]["const"], properties.get("op", {}).get("const")
    branches[key] = jsonschema.Draft202012Validator({**branch, "$defs": schema["$defs"]})
count = 0
for path in sys.argv[2:]:
    for number, line in enumerate(open(path), 1):
        event = json.loads(line)
        for error in branches[event["type"], event.get("op")].iter_errors(event):
            sys.exit(f"{path}:{number}: {error.json_path}: {error.message}")
        count += 1
assert count > 300, count
PYTHON
}

@test "the last line of JSON is the summary, with and without events" {
	trace --json -o events.jsonl -- $(ffmpeg_command 1)
	assert_equal "$(tail -n 1 events.jsonl | jq -r .type)" summary
	trace --json -c -o summary.jsonl -- $(ffmpeg_command 1)
	assert_equal "$(wc -l < summary.jsonl)" 1
	assert_equal "$(jq -c '.processes[0].spaces[0] | [.allocs, .frees]' summary.jsonl)" '[3,3]'
}

@test "-e chooses, and what is not chosen and not needed is not even probed" {
	local op
	for op in alloc free copy launch sync context; do
		trace --json -e $op -o events.jsonl -- $(ffmpeg_command 2)
		assert_equal "$(events 'select(.type == "call") | .op' | sort -u)" $op
	done
	trace --json -e alloc -o events.jsonl -- $(ffmpeg_command 2)
	# Copies, launches and synchronisations were not seen; frees and contexts were, and filtered.
	assert_equal "$(summary '[.events.shown, (.events.seen < 60), .processes[0].launches]')" \
		'[3,true,null]'
	trace --json -e alloc,free -o events.jsonl -- $(ffmpeg_command 2)
	assert_equal "$(summary .events.shown)" 6
}

@test "the default is everything but context changes" {
	trace --json -o events.jsonl -- $(ffmpeg_command 2)
	assert_equal "$(events 'select(.type == "call") | .op' | sort -u | xargs)" \
		"alloc copy free launch sync"
}

@test "the end of a context that held memory is shown among the frees" {
	puppet_start
	trace_start -e free -p "$PUPPET_PID"
	rm events.jsonl
	puppet_end
	trace_wait
	# a run of its own, because trace_start asks for all events
	printf 'load\ninit\nalloc 1000\ndestroy\n' > script
	trace --json -e free -o events.jsonl -- "$WORKLOADS/puppet" < script
	assert_equal "$(events 'select(.type == "call") | .api')" cuCtxDestroy_v2
}

@test "--min-size and --api" {
	trace --json --min-size 200K -e alloc,free,copy -o events.jsonl -- $(ffmpeg_command 2)
	assert_equal "$(events 'select(.type == "call") | [.op, .size_bytes] | @csv' | sort -u | xargs)" \
		'alloc,737280 copy,307200 free,737280'
	trace --json --api '^cuMem(Alloc|Free)' -o events.jsonl -- $(ffmpeg_command 2)
	assert_equal "$(events 'select(.type == "call") | .api' | sort | uniq -c | awk '{print $1, $2}' | xargs)" \
		'3 cuMemAlloc_v2 3 cuMemFree_v2'
}

@test "-d ends after its time; the process goes on" {
	puppet_with_cuda
	trace -q -c -d 0.3 -p "$PUPPET_PID" > out.txt
	grep -q "still running" out.txt
	puppet churn 10
}

@test "the command's exit code is passed on, and its death by a signal" {
	run trace -q -c -o /dev/null -- sh -c 'exit 42'
	assert_equal "$status" 42
	run trace -q -c -o /dev/null -- sh -c 'kill -9 $$'
	assert_equal "$status" 137
}

@test "the command gets its arguments, standard input and signal mask as they are" {
	echo hello | trace -q -c -o /dev/null -- sh -c 'read word; echo "$word $1"; grep SigBlk /proc/self/status' \
		sh 'two words' > out.txt
	assert_equal "$(head -n 1 out.txt)" "hello two words"
	assert_equal "$(tail -n 1 out.txt | awk '{print $2}')" 0000000000000000
}

@test "SIGTERM is passed on to the command, which ends the trace" {
	"$MEMSCOPE" trace -q -o out.txt -- sh -c 'trap "exit 9" TERM; : > ready; while :; do sleep 0.1; done' \
		3>&- 8>&- 9<&- &
	local tracer=$! code=0
	wait_for '[ -e ready ]'
	kill -TERM $tracer
	wait $tracer || code=$?
	assert_equal "$code" 9
	grep -q "exited with 9" out.txt
}

@test "a command that does not end when told: it is said, and the second time tracing ends without it" {
	local code=0
	tool_start trace TRACE_PID -o out.txt -- \
		sh -c 'trap "" INT; : > ready; while [ -e ready ] && [ ! -e go ]; do sleep 0.1; done; exit 3'
	wait_for '[ -e ready ]'
	kill -INT "$TRACE_PID"
	wait_for 'grep -q "waiting for sh to end; the next signal ends this without it" trace.err'
	! grep -qE "events? seen" out.txt || false
	kill -INT "$TRACE_PID"
	wait_for 'grep -q "sh is no longer traced and goes on; waiting for its exit code" trace.err'
	grep -q "events seen" out.txt
	: > go
	tool_wait trace TRACE_PID 3
	"$MEMSCOPE" trace $MASK -- ./nowhere 2> err.txt || code=$?
	assert_equal "$code" 127
	! grep "goes on" err.txt || false
}

@test "text: aligned columns, exact sizes with --bytes, no colour in a file" {
	trace -o out.txt -- $(ffmpeg_command 1)
	head -n 1 out.txt | grep -qE '^TIME +PID/TID COMM +CALL +SIZE +ADDRESS DEV +TOOK +LIVE DETAIL$'
	grep -qE '^[0-9:.]{15} +[0-9]+ ffmpeg +cuMemAlloc_v2 +192 KiB +0x[0-9a-f]+ +0 .* 192 KiB' out.txt
	grep -qE 'cuMemFree_v2 +192 KiB .* old$' out.txt
	grep -qE 'cuLaunchKernel .* Subsample_Bicubic_nv12_nv12<<<\(10,15,1\),\(32,16,1\),0>>>$' out.txt
	! grep -q $'\033' out.txt || false
	trace --bytes -o out.txt -- $(ffmpeg_command 1)
	grep -qE 'cuMemAlloc_v2 +196608 ' out.txt
}

# How often each function that the table has (but for contexts and names) was called.
called() {
	sort | uniq -c | awk '{ print $2, $1 }'
}

@test "--no-return: every call, where it begins, and nothing claimed of its end" {
	local without

	# By a multi link, and by a session.
	for without in mmap_events uprobe_multi; do
		rm -f oracle.log
		trace --no-return --without=$without --json -o events.jsonl -- $(ffmpeg_command 3)
		events 'select(.type == "call").api' | called > got
		awk '{ print $5 }' oracle.log | grep -E \
			'^cu(Mem(Alloc|Free)_v2|Memcpy2DAsync_v2|LaunchKernel|StreamSynchronize)$' |
			called > want
		diff -u want got
		assert_equal "$(events 'select(.type == "call") | .result, .duration_ns, .live_bytes' |
			sort -u)" null
		assert_equal "$(events 'select(.op == "alloc") | .size_bytes' | paste -sd ' ')" \
			"196608 737280 196608"
		assert_equal "$(summary '.processes[0] | .spaces[0].live_bytes, .unwatched_frees')" \
			"$(printf 'null\n3')"
		assert_equal "$(summary '.events | .seen == .shown + .filtered and .lost == 0')" true
	done
}

@test "JSON lines on standard output are nothing but that" {
	trace --json -- sh -c "echo its own output; exec '$WORKLOADS/calls' 2" > events.jsonl 2> said
	events . > /dev/null
	assert_equal "$(events 'select(.op == "alloc") | .result' | xargs)" "0 0"
	grep -qx "its own output" said
	# Else it is the command's own affair.
	trace --json -o events.jsonl -- echo its own output > through 2> said
	assert_equal "$(cat through)" "its own output"
}

@test "kernel names are known although nobody has read their strings before" {
	local i

	# The oracle reads them; without it, their pages may never have been touched.
	unset SIMCUDA_LOG
	for ((i = 0; i < 5; i++)); do
		SIMCUDA_DEVICES=2 trace --json -o events.jsonl -- "$WORKLOADS/rows_runtime-shared" > /dev/null
		assert_equal "$(events 'select(.grid and .result == 0 and .kernel == null) | .api')" ""
	done
}

@test "SIGHUP ends a capture with its summary, too" {
	puppet_start
	trace_start -p "$PUPPET_PID"
	kill -HUP "$TRACE_PID"
	trace_wait
	assert_equal "$(summary '.processes | length')" 1
	puppet_end
}

@test "the end of the command is known even if its record was lost" {
	trace --buffer 4K -c --json -o events.jsonl -- "$WORKLOADS/threads" 4 20000
	assert_equal "$(summary '[.processes[0] | .exited, .exit_code]')" "[true,0]"
}

@test "what -e leaves out is null in the summary" {
	trace -e alloc,free --json -o events.jsonl -- $(ffmpeg_command 1)
	assert_equal "$(summary '.processes[0] | [.copies, .memsets, .syncs, .launches, .kernels] | unique')" \
		"[null]"
	assert_equal "$(summary '.processes[0].spaces | length')" 1
}

@test "--max-loss: exit code 6 if more was lost, and the summary says what tracing took" {
	local code=0

	trace --buffer 4K --max-loss 5 -c --json -o events.jsonl -- "$WORKLOADS/threads" 4 20000 2> err.txt ||
		code=$?
	assert_equal "$code" 6
	grep -q "lost, more than --max-loss: a ring buffer was full; a larger --buffer" err.txt
	assert_equal "$(summary '.cost.highest_critical_bytes > 2000')" true
	trace --buffer 64M --max-loss 0 -c --json -o events.jsonl -- "$WORKLOADS/threads" 4 20000
	assert_equal "$(summary '.cost | .cpu_ns > 0 and .ring_bytes == 67108864 and
		.highest_bulk_bytes > 4096 and .bpf_runs == null')" true
}

@test "several processes at once" {
	puppet_with_cuda
	$(ffmpeg_command 1000) 3>&- 8>&- 9<&- &
	local other=$! first=$PUPPET_PID
	# It goes on when it is traced.
	wait_for 'grep -q libcuda "/proc/'$other'/maps"'
	kill -STOP $other
	trace_start -p "$PUPPET_PID,$other"
	kill -CONT $other
	puppet alloc 4096
	wait $other
	puppet_end
	trace_wait
	assert_equal "$(summary '[.processes[] | [.pid, .launches > 0, .exited]]')" \
		"[[$first,false,true],[$other,true,true]]"
}

@test "--version, --help, help" {
	"$MEMSCOPE" --version | grep -qE '^memscope-bpf [0-9]+\.[0-9]+'
	"$MEMSCOPE" help | grep -q "trace"
	"$MEMSCOPE" help trace | grep -q -- "--min-size"
	"$MEMSCOPE" trace --help | grep -q "Examples:"
}

@test "a reader that has had enough ends the trace, and that is no failure" {
	trace -q -- "$WORKLOADS/threads" 2 20000 | head -n 1 > out.txt
	assert_equal "${PIPESTATUS[0]}" 0
}

@test "what calls took, by function, and the same so far with -i" {
	puppet_with_cuda
	tool_start trace TRACE_PID -c -i 1 --json -o events.jsonl -p "$PUPPET_PID"
	puppet alloc 4096
	puppet alloc 8192
	wait_for 'grep -q "\"final\":false" events.jsonl'
	puppet free
	trace_stop
	assert_equal "$(head -n 1 events.jsonl | jq -r '.type, (.wall_offset_ns > 0), .host')" \
		"$(printf 'header\ntrue\n%s' "$(uname -n)")"
	assert_equal "$(tail -n 1 events.jsonl | jq -c '[.type, .final]')" '["summary",true]'
	assert_equal "$(tail -n 1 events.jsonl | jq -c '.processes[0].functions[] |
		select(.api == "cuMemAlloc_v2") | [.calls, .failed, .timed, .p50_ns <= .p99_ns,
		.p99_ns <= .max_ns, .max_ns <= .total_ns]')" '[2,0,2,true,true,true]'
	# The longest of a call's times is the 99th percentile of two, and stands in the text, too.
	tool_start trace TRACE_PID -c -i 1 -o out.txt -p "$PUPPET_PID"
	puppet alloc 4096
	wait_for 'grep -q "^  cuMemAlloc_v2  *1  *0 " out.txt'
	trace_stop
	assert_equal "$(grep -cE "events? seen" out.txt | sed 's/[2-9]/several/')" several
	puppet_end
}

@test "each event has its wall time" {
	trace --json -o events.jsonl -- "$WORKLOADS/calls" 2
	assert_equal "$(jq -s '.[0].wall_offset_ns as $offset | [.[] | select(.ts_ns) |
		(.wall_ns - .ts_ns - $offset | fabs) < 1000] | all' events.jsonl)" true
	assert_equal "$(jq -s '[.[] | select(.type == "call")][0].wall_ns / 1e9 - now | fabs < 600' \
		events.jsonl)" true
}

@test "on a terminal no line is longer than that is wide" {
	local columns

	for columns in 50 60 80 120 200; do
		script -qec "stty cols $columns; env -u COLUMNS '$MEMSCOPE' trace $MASK -v -- '$WORKLOADS/calls' 3" \
			/dev/null | sed 's/\r$//; s/\x1b\[[0-9;]*m//g; /^memscope-bpf: /d' > lines
		grep -q cudaMalloc lines
		! grep -E "^.{$((columns + 1))}" lines || fail "wider than $columns"
		# What matters most is there in any case; of the summary, too.
		grep -qE "^  SPACE +LIVE AT EXIT .*PEAK" lines
		grep -qE "^  CALL +CALLS .*P99" lines
		[ "$columns" -lt 120 ] || grep -qE "^  SPACE .* FREES +IMPLICIT$" lines
		[ "$columns" -ne 80 ] || grep -qE "^  SPACE .* ALLOCATED$" lines
		grep -q "events seen = " lines
	done
}

@test "the summary says what shows where memory is from that was most in the end" {
	local hint="held most in the end: --stack shows where that was allocated\."

	puppet_with_cuda
	tool_start trace TRACE_PID -c -o out.txt -p "$PUPPET_PID"
	for _ in $(seq 16); do puppet alloc 4096; done
	trace_stop
	grep -qE "^  puppet \($PUPPET_PID\) $hint" out.txt || fail "$(cat out.txt)"
	# Not where that is shown; nor of what has become less.
	tool_start trace TRACE_PID -c --stack -o out.txt -p "$PUPPET_PID"
	for _ in $(seq 16); do puppet alloc 4096; done
	trace_stop
	assert_equal "$(grep -c "$hint" out.txt)" 0
	tool_start trace TRACE_PID -c -o out.txt -p "$PUPPET_PID"
	for _ in $(seq 20); do puppet alloc 4096; done
	for _ in $(seq 4); do puppet free; done
	trace_stop
	assert_equal "$(grep -c "$hint" out.txt)" 0
	grep -q "device .* 16 " out.txt
	puppet_end
}
