# SPDX-License-Identifier: BSD-2-Clause
#
# export -f memory_viz: Python reads the snapshot without any class, with no opcode that the viewer does
# not know, and goes through it as the viewer does. Some of it needs no root.

load reading

setup() {
	golden_setup
}

# Exports and compares with the report; arguments as for both.
same() {
	"$MEMSCOPE" report -f json -o report.json "$@"
	"$MEMSCOPE" export -f memory_viz -o out.pickle "$@"
	"$MEMSCOPE" export -f ndjson -o events.jsonl "$@"
	"$ROOT/tests/e2e/export_reader.py" memory_viz out.pickle report.json events.jsonl
}

@test "the golden recording: three devices, one of them unknown" {
	run -0 same golden.mscope
	assert_equal "$output" "36 entries 0 segments 3 devices"
	# At many moments: what is live then is in segments, device by device.
	local ms live=0
	for ms in $(seq 5 3 80); do
		run -0 same --to "+0.0$(printf %02d "$ms")" golden.mscope
		[[ $output == *" 0 segments "* ]] || live=$((live + 1))
	done
	[ "$live" -gt 10 ]
}

@test "a part of it: what was live before begins as allocated" {
	run -0 same --from +0.02 --to +0.06 golden.mscope
	run -0 same --pid 5000 golden.mscope
	assert_equal "$output" "5 entries 0 segments 1 devices"
	same --pid 4242 --from +0.03 golden.mscope
}

@test "names that somebody chose to do harm; many blocks" {
	"$WORKLOADS/hostile_dump" hostile.mscope > names
	same hostile.mscope
	"$BUILT/bench/dumps" 20000 many.mscope > /dev/null
	same many.mscope
	same --to +0.02 many.mscope
	same hostile.mscope many.mscope
}

@test "all that a driver can do: pools, graphs, physical memory, arrays" {
	local at

	SIMCUDA_DEVICES=2 record -o rows.mscope -- "$WORKLOADS/rows_driver" > /dev/null
	same rows.mscope
	SIMCUDA_DEVICES=2 record -o runtime.mscope -- "$WORKLOADS/rows_runtime-shared" > /dev/null
	same runtime.mscope
	for at in 0.05 0.1 0.2 0.3; do
		run same --from "+$at" rows.mscope
		[ "$status" -eq 0 ] || [[ $output == *"had ended by then"* ]]
	done
}

@test "threads that free what others have, and what is live in the end" {
	local recorder

	record -o threads.mscope -- "$WORKLOADS/threads" 4 500
	same threads.mscope
	puppet_start
	puppet load
	tool_start record recorder -o live.mscope -p "$PUPPET_PID"
	puppet init
	puppet alloc 100000
	puppet churn 50
	puppet alloc 3000
	kill -INT "$recorder"
	wait "$recorder"
	puppet_end
	run -0 same live.mscope
	[[ $output == *" 2 segments 1 devices" ]]
	# The same process name and addresses twice: blocks of two recordings do not meet.
	same live.mscope threads.mscope golden.mscope
}

@test "out of memory, gaps, and a recording that was cut" {
	local place

	# shellcheck disable=SC2046 # words
	SIMCUDA_MEMORY=512K run record -o oom.mscope -- $(ffmpeg_command)
	[ "$status" -ne 0 ]
	same oom.mscope
	python3 -c 'import pickle; print([entry["size"] > 0 for entry in
		pickle.load(open("out.pickle", "rb"))["device_traces"][0] if entry["action"] == "oom"])' |
		grep -q "^\[True"
	record -o run.mscope --segment 4K -- "$WORKLOADS/calls" 2000
	for place in 5 3 2; do
		damage run.mscope "$place"
		same damaged.mscope
		cut_short run.mscope $((100 * (place - 1) / place))
		same cut.mscope
	done
}

@test "a recording of nothing is a snapshot" {
	record -o run.mscope -- true
	run -0 same run.mscope
	assert_equal "$output" "0 entries 0 segments 0 devices"
}

# How many blocks of an allocator are in the trace, and how many are live in segments, with free pieces.
tensors_in() {
	python3 -c 'import pickle
snapshot = pickle.load(open("out.pickle", "rb"))
made = sum(e["action"] == "alloc" and not e["frames"][0]["name"].startswith("cu") for t in snapshot["device_traces"] for e in t)
blocks = [b for s in snapshot["segments"] for b in s["blocks"]]
print(made, sum(b["state"] == "active_allocated" for b in blocks), sum(b["state"] == "inactive" for b in blocks))'
}

@test "what a framework's allocator gives is in its segments, block by block" {
	local made live free at

	export PROBED=1
	record --tensors=all --stacks=alloc -o run.mscope -- "$WORKLOADS/tensors" "$WORKLOADS/libc10.so" now 12000 > did
	same run.mscope
	assert_equal "$(tensors_in)" "$(grep -c ^alloc did) 0 0"
	at=$("$MEMSCOPE" export -j run.mscope | jq -s --slurpfile report report.json '[.[] | select(.type == "tensor").ts_ns] |
		(.[length / 2 | floor] - $report[0].recordings[0].begin_ts_ns) / 1e9')
	same --to "+$at" run.mscope
	read -r made live free < <(tensors_in)
	[ "$made" -gt 100 ]
	[ "$live" -gt 50 ]
	[ "$free" -gt 1 ]
	# The functions that asked for them.
	python3 -c 'import pickle
snapshot = pickle.load(open("out.pickle", "rb"))
print(*{f["name"] for s in snapshot["segments"] for b in s["blocks"] for f in b["frames"]}, sep="\n")' > functions
	grep -qx give functions
	record --tensors=all --stacks=alloc -o bfc.mscope -- "$WORKLOADS/bfc" "$WORKLOADS/tsl.so" now 1000 > did
	same bfc.mscope
	# Twice the same program and the same addresses.
	same run.mscope bfc.mscope run.mscope
}
