# SPDX-License-Identifier: BSD-2-Clause
#
# Recordings of programs that call as fast as they can: into files, rings, full disks and pipes, until SIGKILL.

load recordings

@test "sums come while the recording goes on, not only in the end" {
	flood_start 2
	record_start -o run.mscope -p $FLOOD_PID
	sleep 2.6
	record_kill
	flood_end
	assert_equal "$("$DUMPCAT" -s run.mscope | jq -s 'map(select(.type == "sum" and .op == "launch")) |
		length >= 2 and (map(.count) | min) > 100')" true
}

@test "SIGKILL at any moment: the dump opens, and nothing in it is damaged" {
	local i kills options=("" "--copies=all --launches=all" "--segment 64K" "--ring 1M") now files

	kills=$(times 1000 8)
	flood_start 2
	for ((i = 0; i < kills; i++)); do
		rm -rf run.mscope*
		# shellcheck disable=SC2086 # several words
		record_start -o run.mscope ${options[i % 4]} -p $FLOOD_PID
		sleep "0.$(printf %03d $((RANDOM % 900)))"
		kill -9 "$RECORD_PID"
		now=$(awk '{ printf "%d", $1 * 1000 }' /proc/uptime)
		wait "$RECORD_PID" || true
		RECORD_PID=
		files=(run.mscope run.mscope.ring/*)
		[ -e run.mscope ] || files=("${files[@]:1}")
		[ -e "${files[-1]}" ] || files=("${files[@]::${#files[@]}-1}")
		"$DUMPCAT" -s "${files[@]}" > dump.jsonl || fail "not readable after kill $i"
		tail -n 1 dump.jsonl | jq -e '.damaged_bytes == 0 and .missing_blocks == 0 and
			.refused == 0 and .unknown == 0 and .has_end == false and
			(.events == 0 or .anchors_used == 1)' > /dev/null || fail "$(tail -n 1 dump.jsonl)"
		tail -n 1 dump.jsonl | jq --argjson now "$now" '$now - .last_ts_ns / 1e6' >> missing
	done
	flood_end
	[ -z "${STRESS:-}" ] || echo "# missing, ms: $(sort -n missing | awk '{ v[NR] = $1 } END {
		print "p50", v[int((NR + 1) / 2)], "max", v[NR], "of", NR }')" >&3
}

@test "a disk that stays full: what was written before is there, the exit code is 1" {
	small_disk 256K
	flood_start 2
	record_start --copies=all --launches=all -o small/run.mscope -p $FLOOD_PID
	wait_for 'grep -q "cannot write: No space left" record.err'
	# What the last block would have taken is free again.
	cat /dev/zero > small/rest 2> /dev/null || true
	sleep 2.2
	record_stop 1
	flood_end
	assert_equal "$(grep -c "No space left" record.err)" 1
	assert_equal "$(dump_line small/run.mscope '[.damaged_bytes, .refused, .has_end, .events > 1000]')" \
		'[0,0,false,true]'
}

@test "a file that may not grow any more is a disk that is full" {
	flood_start 2
	record_limited 1024 --copies=all --launches=all -o run.mscope -p $FLOOD_PID
	wait_for 'grep -q "run.mscope: cannot write: File too large; recording goes on" record.err'
	sleep 1.2
	record_stop 1
	flood_end
	grep -qE "warning: [0-9,]+ records could not be written$" record.err
	[ "$(stat -c %s run.mscope)" -le 1048576 ]
	assert_equal "$(dump_line run.mscope '[.damaged_bytes, .refused, .events > 1000]')" '[0,0,true]'
}

@test "-o -: into a pipe, and a pipe whose reader goes ends it cleanly" {
	record -o - -- $(ffmpeg_command 2) 2> record.err > >(cat > run.mscope)
	wait_for 'dump_line run.mscope .has_end | grep -qx true'
	assert_whole run.mscope
	grep -qE 'standard output: [0-9,]+ events in .*, 0 lost' record.err
	flood_start 2
	mkfifo pipe
	head -c 20000 < pipe > head.mscope 3>&- 7>&- &
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK --stdout --copies=all -p $FLOOD_PID > pipe 2> record.err 3>&- 7>&- &
	RECORD_PID=$!
	record_wait 1
	grep -q "the reader has closed the pipe: the recording ends" record.err
	flood_end
	assert_equal "$(dump_line head.mscope '[.missing_blocks, .refused, .anchors_used, .cut_short]')" '[0,0,1,true]'
}

# ---- a flight recorder's ring

# Bytes in the ring's directory, at one moment.
ring_bytes() {
	kill -STOP "$RECORD_PID"
	wait_for '[ "$(cut -d" " -f3 "/proc/$RECORD_PID/stat")" = T ]' || return
	find run.mscope.ring -type f -printf '%s\n' | paste -sd+ | bc
	kill -CONT "$RECORD_PID"
}

@test "--ring: within its size, each file begins with an anchor; in the end it is the dump" {
	local i file files most=0 bytes

	flood_start 2
	record_start --ring 1M --copies=all --launches=all -o run.mscope -p $FLOOD_PID
	wait_for '[ -e run.mscope.ring/000030.mscope ]'
	for ((i = 0; i < 200; i += $(stride 5))); do
		bytes=$(ring_bytes)
		[ "${bytes:-0}" -le $most ] || most=$bytes
	done
	[ $most -gt 500000 ]
	[ $most -le 1048576 ] || fail "$most bytes"
	[ ! -e run.mscope.ring/000001.mscope ]
	recorder_stopped
	# The newest may have been created just now.
	files=(run.mscope.ring/*)
	for file in "${files[@]::${#files[@]}-1}"; do
		assert_equal "$(dump_line "$file" '[.segments, .anchors_used, .damaged_bytes, .refused]')" \
			'[1,1,0,0]'
	done
	kill -CONT "$RECORD_PID"
	record_stop
	flood_end
	[ ! -e run.mscope.ring ]
	assert_whole run.mscope
	[ "$(stat -c %s run.mscope)" -le 1048576 ]
	assert_equal "$(dump_line run.mscope '[.has_end, .reason, .segments >= 2]')" '[true,"signal",true]'
	# While it was stopped, the buffers have run over, on most machines.
	grep -q ', 0 lost' record.err || return 0
	# Four threads, each of which holds a block at a time, and may have freed one while probes were set.
	assert_equal "$(dump_summary run.mscope '.processes[0] | [.unknown_frees, .missed_frees <= 4,
		.spaces[0].live_allocations <= 4]')" '[0,true,true]'
}

@test "ring files that may not grow any more: the next segment begins at once, and none gives way" {
	local file

	flood_start 2
	record_limited 1024 --ring 64M --copies=all --launches=all -o run.mscope -p $FLOOD_PID
	wait_for '[ -e run.mscope.ring/000006.mscope ]'
	record_stop 1
	flood_end
	# The bundle would be larger than that.
	grep -q "run.mscope: cannot write the bundle: File too large" record.err
	[ -e run.mscope.ring/000001.mscope ]
	for file in run.mscope.ring/*; do
		assert_equal "$(dump_line "$file" '[.segments, .anchors_used, .damaged_bytes, .refused]')" '[1,1,0,0]'
	done
}
