# SPDX-License-Identifier: BSD-2-Clause
#
# export -f perfetto and -f chrome: decoded by protoc and Python's json, they show the calls of the
# ndjson, one by one, and counters that end where the report does. Some of it needs no root.

load reading

setup() {
	golden_setup
}

# Exports in both formats and compares with the report and the ndjson; arguments as for all.
same() {
	local format

	"$MEMSCOPE" report -f json -o report.json "$@"
	"$MEMSCOPE" export -f ndjson -o events.jsonl "$@"
	for format in perfetto chrome; do
		"$MEMSCOPE" export -f $format -o out.$format "$@"
		"$ROOT/tests/e2e/export_reader.py" $format out.$format report.json events.jsonl
	done
}

# What is in the Chrome trace; the other one has the same.
in_trace() {
	jq -c "[.traceEvents[] | $1]" out.chrome
}

@test "the golden recording: calls, counters, failures, losses" {
	run -0 same golden.mscope
	assert_equal "${lines[0]}" "54 slices 17 instants 17 counters 20 flows" # two are remarks
	assert_equal "${lines[1]}" "54 slices 15 instants 17 counters 20 flows"
	assert_equal "$(in_trace 'select(.name == "events lost") | .args.count')" "[3]"
	assert_equal "$(in_trace 'select(.name == "out of memory") | .args |
		[.result_name, .space]')" '[["cudaErrorMemoryAllocation","device"]]'
	assert_equal "$(in_trace 'select(.name == "exit") | .args.wait_status')" "[9,768]"
	# Calls that were only counted are no slices.
	assert_equal "$(in_trace 'select(.name | startswith("calls only counted")) | [.name, .args.count]')" \
		'[["calls only counted: launch",500]]'
	# Nanoseconds are kept.
	grep -q '"ts":1004012.340,"args":{"bytes":1610612736}' out.chrome
}

@test "a part of it: one process, a part of the time" {
	same --pid 5000 golden.mscope
	assert_equal "$(in_trace 'select(.ph == "X") | .pid' | jq -c unique)" '[5000,4194304]'
	same --pid 4242 golden.mscope
	# What is live by then is where the counters begin.
	same --from +0.02 golden.mscope
	assert_equal "$(in_trace 'select(.name == "live pinned") | [.ts, .args.bytes]')" \
		'[[1020000,4096],[1069000,0]]'
	same --to +0.05 golden.mscope
	same --from +0.02 --to +0.06 golden.mscope
}

@test "names that somebody chose to do harm, of processes and kernels" {
	"$WORKLOADS/hostile_dump" hostile.mscope > names
	same hostile.mscope
	# In JSON they are as they were; in an answer to nobody's question, nothing follows from them.
	assert_equal "$(in_trace 'select(.args.kernel == "</script><b>") | .name' | jq -c unique)" \
		'["cuLaunchKernel"]'
	run -1 grep -cP '[\x00-\x09\x0b-\x1f\x7f]' out.chrome
	same hostile.mscope golden.mscope
}

@test "a program with threads, and all that a driver can do" {
	record --launches=all --copies=all -o threads.mscope -- "$WORKLOADS/threads" 4 200
	run -0 same threads.mscope
	[ "$(in_trace 'select(.ph == "X") | .tid' | jq 'unique | length')" -ge 4 ]
	SIMCUDA_DEVICES=2 record --launches=all --copies=all -o rows.mscope -- "$WORKLOADS/rows_driver" > /dev/null
	same rows.mscope
	# Calls inside calls: what is around comes first.
	SIMCUDA_DEVICES=2 record --launches=all --copies=all -o runtime.mscope -- \
		"$WORKLOADS/rows_runtime-shared" > /dev/null
	same runtime.mscope
	[ "$(in_trace 'select(.args.nested)' | jq length)" -gt 0 ]
}

@test "calls that are only counted go up, and are not invented" {
	# shellcheck disable=SC2046 # words
	record --launches=summary -o run.mscope -- $(ffmpeg_command 20)
	same run.mscope
	assert_equal "$(in_trace 'select(.name == "calls only counted: launch") | .args.count' | jq last)" 40
	assert_equal "$(in_trace 'select(.name == "cuLaunchKernel")')" '[]'
}

@test "several recordings: each process is one of its own, at its time" {
	record -o a.mscope -- "$WORKLOADS/calls" 20
	# shellcheck disable=SC2046 # words
	record -o b.mscope -- $(ffmpeg_command 5)
	same a.mscope b.mscope
	"$MEMSCOPE" export -f chrome -o a.chrome a.mscope
	"$MEMSCOPE" export -f chrome -o b.chrome b.mscope
	# On one host, which has one clock, the times are the same, but for what its clocks drift apart.
	jq -se '[.[0].traceEvents + .[1].traceEvents, .[2].traceEvents] |
		map(map(select(.ph == "X") | .ts)) | (map(length) | .[0] == .[1]) and (transpose | all(.[0] - .[1] | fabs < 1000))' \
		a.chrome b.chrome out.chrome
	# A recording that knows no wall clock, and the same pid twice.
	same golden.mscope a.mscope
}

@test "gaps: what is missing is marked, and the counters go on" {
	local place

	# shellcheck disable=SC2046 # words
	record -o run.mscope --segment 4K -- $(ffmpeg_command 200)
	for place in 5 3 2; do
		damage run.mscope "$place"
		same damaged.mscope
		[ "$(in_trace 'select(.name == "gap in the recording")' | jq length)" -gt 0 ] ||
			jq -e '.otherData.remarks | length > 0' out.chrome
	done
	for place in 90 50 20; do
		cut_short run.mscope "$place"
		same cut.mscope
		jq -e '.otherData.remarks | index("the recording has no proper end") != null' out.chrome
	done
}
