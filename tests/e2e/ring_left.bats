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
