# SPDX-License-Identifier: BSD-2-Clause
#
# What a flight recorder leaves that had no time to end, and who goes on with it.

load recordings

@test "a killed flight recorder leaves its directory, which is a dump, and the next one goes on there" {
	flood_start 2
	record_start --ring 1M --copies=all -o run.mscope -p $FLOOD_PID
	wait_for '[ -e run.mscope.ring/000010.mscope ]'
	record_kill
	assert_equal "$("$DUMPCAT" -s run.mscope.ring/* | tail -n 1 |
		jq -c '[.missing_blocks, .damaged_bytes, .refused, .anchors_used, .has_end]')" '[0,0,0,1,false]'
	local left

	left=$(find run.mscope.ring -name '*.mscope' | sort | tail -n 1)
	# Large enough to keep what was left.
	record_start --ring 512M --copies=all -o run.mscope -p $FLOOD_PID
	grep -q "run.mscope.ring: .* segments of a recording that was interrupted stay; this one goes on behind" record.err
	# One that is alive is not disturbed.
	run record --ring 1M -o run.mscope -p $FLOOD_PID
	assert_equal "$status" 1
	[[ "$output" == *"run.mscope.ring: another recorder writes there: end it, or choose another name with -o"* ]]
	[ -e "$left" ]
	record_stop
	[ ! -e run.mscope.ring ]
	assert_equal "$("$MEMSCOPE" report -f json run.mscope | jq '.recordings | length')" 2
	flood_end
}

@test "what a killed recorder left outlives the next one, which keeps nothing" {
	puppet_with_cuda
	record_start --ring 4M --on-oom -o night.mscope -p "$PUPPET_PID"
	puppet alloc 1000
	wait_for '"$MEMSCOPE" report -j night.mscope.ring 2> report.err | jq -e ".recordings[0].processes[0].spaces[0].allocs == 1" > out'
	record_kill
	assert_equal "$(cd night.mscope.ring && echo *)" 000001.mscope
	sha256sum night.mscope.ring/000001.mscope > sum
	record_start --ring 4M --on-oom -o night.mscope -p "$PUPPET_PID"
	puppet alloc 1000
	record_stop
	grep -q "no trigger fired, so nothing of it was kept" record.err
	grep -q "night.mscope.ring: 1 segment of a recording that was interrupted stays there: memscope-bpf report night.mscope.ring" record.err
	assert_equal "$(cd night.mscope.ring && echo *)" 000001.mscope
	sha256sum -c sum
	# A bundle has both: then there is no need for the ring.
	record_start --ring 4M --on-exit -o night.mscope -p "$PUPPET_PID"
	record_stop
	[ ! -e night.mscope.ring ]
	puppet_end
	"$MEMSCOPE" report -f json night*.mscope 2> report.err | jq -e '.recordings | length == 2'
	grep -q ": not whole (no end)" report.err
	# Of the one that was killed, verify says the same.
	run -0 --separate-stderr "$MEMSCOPE" verify night*.mscope
	[[ ${lines[0]} == night*".mscope: cut short" ]]
	[[ $stderr == *": cut short (no end): all that was written before it is there" ]]
	[[ $output == *"; 1 recording before it has none: its recorder was killed"* ]]
}

@test "a recording that is still being written is no damaged one, and a state directory has a ring" {
	puppet_with_cuda
	record_start --ring 8M -o run.mscope -p "$PUPPET_PID"
	puppet alloc 1000
	wait_for '"$MEMSCOPE" report -j run.mscope.ring 2> report.err | jq -e ".recordings[0].processes[0].spaces[0].allocs == 1" > out'
	[[ $(cat report.err) == *": still being written: what happens from now on is missing in the output" ]]
	"$MEMSCOPE" report -j run.mscope.ring 2> report.err > report.json
	valid report report.json
	jq -e '.recordings[0].lost | .being_written and (.ended_properly or .cut_short | not)' report.json
	"$MEMSCOPE" report -f md run.mscope.ring > report.md 2> report.err
	grep -q "It is still being written: this is what there was. Nothing was lost" report.md
	grep -q "the recording is still being written: what happened after its last block is not in this report" report.md
	run ! grep -q "ended properly\|lacks something\|not whole" report.md report.err
	mkdir state
	cp -r run.mscope.ring state/ring
	# What an agent leaves when memory runs out.
	cp "$ROOT/tests/golden/dump-1.2.mscope" state/host-1.oom-1.mscope
	puppet_end
	# Its recorder has gone.
	record_kill
	"$MEMSCOPE" report -f md state > report.md 2> report.err
	grep -q "was not ended properly" report.md
	grep -q "state/ring/.*: not whole (no end)" report.err
	grep -q "state: its ring is read, not the 1 file beside it" report.err
	"$MEMSCOPE" report -f json state 2> report.err | jq -e '.recordings | length == 1'
	run ! "$MEMSCOPE" report run.mscope.none
	mkdir empty
	run ! "$MEMSCOPE" report empty
	[[ $output == *"empty: no file in it ends in .mscope"* ]]
}
