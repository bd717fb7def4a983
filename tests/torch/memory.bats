#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# What the report concludes of programs with real PyTorch that run out of memory, or whose memory grows,
# on the simulated GPU: what each program does, it says itself in its first lines.

load ../e2e/helpers
load torch

# Records the program $1 on a device with $2 of memory; it must end with $3 (default: 0).
# RECORD_OPTIONS: more options.
conclude() {
	local code=0

	# shellcheck disable=SC2086 # may be empty, or several
	SIMCUDA_MEMORY=$2 watched record_torch "$1" ${RECORD_OPTIONS:-} 2> program.err || code=$?
	[ "$code" -eq "${3:-0}" ] || fail "exit code $code: $(cat program.err)"
	"$MEMSCOPE" report -q $UNCONTENDED -f json -o report.json run.mscope
	valid report report.json
}

# Of each request that was not granted at once: MiB asked for, outcome, MiB granted in the end.
requests() {
	jq -c '.recordings[0].out_of_memory[] | [.requested_bytes / 1048576, .outcome,
		(.granted_bytes | if . then . / 1048576 else . end)]' report.json
}

causes() {
	jq -r '.recordings[0].out_of_memory[].cause' report.json
}

held_mib() {
	jq '.recordings[0].out_of_memory[].own.bytes / 1048576' report.json
}

findings() {
	jq -r '.recordings[0].findings[].rule' report.json | sort
}

# fails_on RULES CODE
fails_on() {
	local code=0

	"$MEMSCOPE" report -q --fail-on "$1" -o /dev/null run.mscope || code=$?
	assert_equal "$code" "$2"
}

@test "out of memory, and then not: PyTorch has freed its cache" {
	conclude oom_recovered 1G
	same native 4
	assert_equal "$(requests)" $'[500,"recovered",500]\n[360,"recovered",360]'
	assert_equal "$(held_mib)" $'780\n780'
	fails_on oom 0
}

@test "out of memory, and a smaller batch: the program has backed off" {
	conclude oom_halved 1G
	same native 1
	assert_equal "$(requests)" '[400,"backed-off",200]'
	assert_equal "$(causes)" full
	assert_equal "$(jq '.recordings[0].out_of_memory[0].first_requested_bytes' report.json)" $((800 << 20))
	assert_equal "$(held_mib)" 700
	fails_on oom 0
}

@test "out of memory, and the end of the program" {
	conclude oom_fatal 1G 1
	same native 1
	assert_equal "$(requests)" '[500,"fatal",null]'
	assert_equal "$(causes)" full
	assert_equal "$(held_mib)" 700
	fails_on oom 8
}

@test "out of memory with a cache that is full of pieces" {
	conclude oom_full_cache 1G 1
	same native 1
	assert_equal "$(requests)" '[200,"fatal",null]'
	assert_equal "$(causes)" cached
	assert_equal "$(held_mib)" 900
	fails_on oom 8
}

@test "out of memory with expandable segments: the pieces are one request, and not held" {
	expandable
	conclude oom_expandable 1G 1
	same expandable 1
	# What is free PyTorch asks before it gives the pieces back.
	assert_equal "$(causes)" full
	# How many more pieces it wanted than it got, no call says.
	assert_equal "$(requests)" '[840,"fatal",null]'
	assert_equal "$(jq -c '.recordings[0].out_of_memory[0] | [.requested_at_least, .piece_bytes]' \
		report.json)" '[true,20971520]'
	assert_equal "$(held_mib)" 200
	fails_on oom 8
}

@test "a list of losses that keep their graphs grows" {
	conclude losses 8G
	same native 3
	assert_equal "$(findings)" leak-growth
	fails_on leak 8
}

@test "the lines whose tensors are kept, and the sum of them" {
	RECORD_OPTIONS='--tensors=all --stacks=alloc' conclude losses 8G
	same native 3
	jq -e '.recordings[0].processes[] | select(.tensors).tensors.exact' report.json
	assert_equal "$(jq '[.recordings[0].findings[] | select(.topic == "leak").rule] | unique' report.json | jq -c .)" '["leak-growth"]'
	# What each step keeps is made in the forward pass of that line, and in the lines before it.
	jq -e '.recordings[0] as $all | [$all.findings[] | select(.rule == "leak-growth").site.stack_id] |
		map(. as $id | $all.tensor_sites[] | select(.stack_id == $id).frames |
			map(select(.kind == "python" and (.source | endswith("/losses.py"))).line)[0]) |
		length >= 3 and all(. >= 12 and . <= 14)' report.json
	# A few of the first blocks have no call stack.
	jq -e '.recordings[0] | ([.processes[] | select(.tensors)][0].tensors.devices[0].allocated_bytes) as $all |
		[.tensor_sites[].live_bytes] | add | . <= $all and . >= $all * 0.98' report.json
	fails_on leak 8
}

@test "a cache of larger and larger blocks grows, and all of it is in the sum" {
	conclude cache 8G
	same native 3
	assert_equal "$(findings)" leak-growth
	assert_equal "$(jq '.recordings[0].findings[0].evidence[] |
		select(.what == "bytes left behind").value' report.json)" \
		"$(tail -n 1 checkpoints | jq .reserved)"
	fails_on leak 8
}

@test "what PyTorch keeps grows, for its blocks are too small for what comes next" {
	conclude fragmentation 8G
	same native 3
	assert_equal "$(findings)" leak-growth
	assert_equal "$(tail -n 1 checkpoints | jq .allocated)" 0
}

@test "ordinary training: nothing is found" {
	conclude ordinary 8G
	same native 3
	assert_equal "$(findings)" ""
	fails_on leak,oom,loss,inexact 0
}

@test "the lines in which a training waits, copies and launches" {
	local where='(waits.py:20) \< \<genexpr\> (waits.py:25) \< \<module\> (waits.py:25)'

	export SIMCUDA_DELAY=cudaStreamSynchronize=2ms,cuStreamSynchronize=2ms
	record_torch waits --stacks=all
	"$MEMSCOPE" report -f md -o report.md run.mscope
	# It reads its loss 40 times.
	grep -qF "| read (waits.py:11) \< step $where | cuStreamSynchronize | 40 | " report.md
	grep -qF "| read (waits.py:11) \< step $where | cuMemcpyDtoHAsync_v2 | 40 | " report.md
	# A backward pass runs in threads of PyTorch's own.
	grep -q '^| .*graph.py:[0-9]*) .* step (waits.py:18) .* | cuLaunchKernel | [0-9]* | ' report.md
}

# tensors EXPRESSION: of the first process with any
tensors() {
	jq -c "[.recordings[0].processes[] | select(.tensors)][0].tensors | $1" report.json
}

@test "blocks that keep segments from being given back: how many, and of what size" {
	RECORD_OPTIONS='--tensors=all --stacks=alloc --stack-frames=python' conclude oom_pinned 1G 1
	same native 1
	assert_equal "$(tensors '[.exact, .devices[0].out_of_memory, .devices[0].before_bytes]')" '[true,1,0]'
	assert_equal "$(tensors '.devices[0].segments.out_of_memory | [.wanted_bytes, .allocated_bytes, .segments,
		.sparse.segments, .sparse.bytes, (.sparse.sizes | map(del(.stack_id))), .largest_piece_bytes, .complete]')" \
		"[$((200 << 20)),$((90 << 20)),45,45,$((900 << 20)),[{\"block_bytes\":2097152,\"blocks\":45,\"segments\":45}],$((9 << 20)),true]"
	assert_equal "$(findings)" $'fragmentation\noom'
	assert_equal "$(causes)" fragmentation
	fails_on fragmentation 8
	"$MEMSCOPE" report -q -f text run.mscope | tr -s ' \n' ' ' > text
	grep -q '45 segments with 900 MiB cannot be given back because of 45 blocks of 2 MiB; these were made in mib (witness.py:[0-9]*) < <module> (oom_pinned.py:9)' text
	"$MEMSCOPE" report -q -f html run.mscope > page.html
	grep -q 'made in mib (witness.py:[0-9]*) &lt; &lt;module&gt; (oom_pinned.py:9)' page.html
	grep -q 'the allocator had none left 0 45 900 MiB mib (witness.py:[0-9]*) < <module> (oom_pinned.py:8)' text
}

@test "with blocks recorded: a cache that is given back is a retry, and no finding" {
	RECORD_OPTIONS=--tensors=all conclude oom_recovered 1G
	same native 4
	assert_equal "$(tensors '[.exact, .devices[0].retries, .devices[0].out_of_memory]')" '[true,2,0]'
	fails_on oom,fragmentation,cache-kept 0
}

@test "with blocks recorded: what is full is full" {
	RECORD_OPTIONS=--tensors=all conclude oom_fatal 1G 1
	assert_equal "$(tensors '[.exact, .devices[0].retries, .devices[0].out_of_memory]')" '[true,0,1]'
	assert_equal "$(findings)" oom
	assert_equal "$(causes)" full
}

@test "with expandable segments, blocks keep mapped pieces: other advice" {
	expandable
	RECORD_OPTIONS=--tensors=all conclude oom_pinned 1G 1
	assert_equal "$(tensors '[.exact, .devices[0].out_of_memory]')" '[true,1]'
	assert_equal "$(tensors '.devices[0].segments.out_of_memory | [.mapped == .segments, .complete, .outside_bytes]')" \
		'[true,true,0]'
	assert_equal "$(findings)" $'fragmentation\noom'
	"$MEMSCOPE" report -q -f text run.mscope > text
	grep -q 'roundup_power2_divisions' text
}

@test "the same is no leak where the tensors are known: none of them stays" {
	RECORD_OPTIONS='--tensors=all --stacks=alloc' conclude fragmentation 8G
	same native 3
	assert_equal "$(findings | grep -c leak-growth)" 0
	fails_on leak 0
}
