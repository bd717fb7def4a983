# SPDX-License-Identifier: BSD-2-Clause
#
# What programs keep to no purpose, as reports of real recordings have it.

load reading

# kept PROGRAM [OPTION...]: what was found, one finding a line: rule, confidence, bytes, function
kept() {
	local program=$1

	shift
	rm -f run.mscope
	watched record -o run.mscope "$@" -- "$WORKLOADS/kept" "$program"
	"$MEMSCOPE" report $UNCONTENDED -f json -o report.json run.mscope
	valid report report.json
	jq -r '.recordings[0].findings[] | [.rule, .confidence, .bytes, .api] | join(" ")' report.json
}

# evidence WHAT: of the first finding that has it
evidence() {
	jq -r --arg what "$1" '[.recordings[0].findings[].evidence[] | select(.what == $what)][0].value' \
		report.json
}

@test "a pool without limit keeps what was freed; trimmed, it does not" {
	run kept pool
	assert_equal "$output" "pool-kept medium 167772160 "
	jq -r '.verdict[0]' report.json | grep -q 'keeps 160 MiB of freed memory in a pool (pool-kept'
	jq -r '.verdict[1]' report.json | grep -q '^What to do: .*cudaMemPoolTrimTo'
	assert_equal "$(evidence 'release thresholds without limit that the program has set')" 1
	run kept trimmed
	assert_equal "$output" ""
}

@test "what is freed or registered twice, and the block that is in the way" {
	run kept twice
	assert_equal "$(sort <<< "$output")" "failed-calls high 0 cuMemFree_v2
failed-calls high 0 cuMemHostRegister_v2"
	assert_equal "$(evidence 'of them, of what had been given back already')" 8
	assert_equal "$(evidence 'of bytes')" 65536
	"$MEMSCOPE" report run.mscope | grep -q "result: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712)"
}

@test "a block that was freed while another process had it open, and that process" {
	local user

	run kept shared -f
	assert_equal "$output" "exported-kept high 50331648 cuMemAlloc_v2"
	jq -r '.verdict[0]' report.json | grep -qE \
		'has freed 48 MiB that the device does not get back, because process [0-9]+ has it open'
	user=$(jq -r '.recordings[0].processes[] | select(.spaces[].space == "imported").pid' report.json)
	assert_equal "$(evidence 'process that had them open')" "$user"
}

@test "memory of another process has its size, also when it is closed" {
	run kept closed -f
	assert_equal "$output" ""
	assert_equal "$(jq -c '[.recordings[0].processes[].spaces[] | select(.space == "imported") |
		.peak_bytes, .alloc_bytes, .free_bytes, .live_bytes]' report.json)" \
		"[50331648,50331648,50331648,0]"
	assert_equal "$(jq '.recordings[0].lost.live_is_exact' report.json)" true
}

# objects OF: how many of that kind are live in the end, were live at most, were made, destroyed,
# and ended with a context
objects() {
	jq -c --arg of "$1" '[.recordings[0].processes[].objects[] | select(.object == $of) |
		.live, .peak, .made, .destroyed, .ended]' report.json
}

@test "contexts that are never destroyed, and what is in them; streams of the beginning are none" {
	run kept contexts
	assert_equal "$(sort <<< "$output")" "pile low 0 cuCtxCreate_v2
pile low 0 cuStreamCreate"
	assert_equal "$(jq -c '[.recordings[0].findings[] | [.object, .count, .device]] | sort' report.json)" \
		'[["context",17,0],["stream",96,0]]'
	assert_equal "$(objects context)" "[17,17,17,0,0]"
	assert_equal "$(objects stream)" "[96,96,96,0,0]"
	assert_equal "$(objects event)" "[0,1,64,64,0]"
	"$MEMSCOPE" report -f text run.mscope | grep -q "^kept ([0-9]*) piles up .*(pile, cu"
	run kept destroyed
	assert_equal "$output" ""
	assert_equal "$(objects context)" "[1,2,17,16,0]"
	assert_equal "$(objects stream)" "[32,36,96,0,64]"
}

@test "a context on a device on which nothing is done" {
	SIMCUDA_DEVICES=2 run kept idle
	assert_equal "$output" ""
	"$MEMSCOPE" report --threshold context-time=1s -f json -o report.json run.mscope
	valid report report.json
	assert_equal "$(jq -c '[.recordings[0].findings[] | [.rule, .confidence, .device, .count]]' report.json)" \
		'[["idle-context","high",1,1]]'
	jq -r '.verdict[0]' report.json | grep -q "has 1 context on device 1, to which it gives no work"
}
