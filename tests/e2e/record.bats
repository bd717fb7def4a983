# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf record`: what is in the dump, and what becomes of it when something goes wrong.
# `make stress` runs it with many more kills.

load helpers

bats_require_minimum_version 1.5.0

DUMPCAT=$WORKLOADS/dumpcat

eval "with_nothing_mounted_$(declare -f teardown)"
teardown() {
	with_nothing_mounted_teardown
	[ -z "${FLOOD_PID:-}" ] || kill -9 "$FLOOD_PID" 2> /dev/null || true
	[ -z "${RECORD_PID:-}" ] || kill -9 "$RECORD_PID" 2> /dev/null || true
	! mountpoint -q small 2> /dev/null || umount -l small
}

record() {
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK "$@"
}

# In the background, attached when it returns.
record_start() {
	rm -f record.err
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK -v "$@" 2> record.err 3>&- 7>&- 8>&- 9<&- &
	RECORD_PID=$!
	wait_for 'grep -q "debug: tracing" record.err' || fail "did not start: $(cat record.err)"
}

# $1: the exit code that it should have.
record_wait() {
	local code=0

	wait "$RECORD_PID" || code=$?
	RECORD_PID=
	[ "$code" -eq "${1:-0}" ] || fail "exit code $code: $(cat record.err)"
}

record_stop() {
	kill -INT "$RECORD_PID"
	record_wait "${1:-0}"
}

# A program that calls in 2 threads until its standard input, descriptor 7, ends.
flood_start() {
	unset SIMCUDA_LOG
	rm -f flood.in
	mkfifo flood.in
	"$WORKLOADS/flood" 2 < flood.in > flood.out 2> flood.calls 3>&- 7>&- &
	FLOOD_PID=$!
	exec 7> flood.in
	wait_for 'grep -q libcuda "/proc/$FLOOD_PID/maps"'
}

# Ends it: it must have done what it does when nobody watches.
flood_end() {
	local code=0

	exec 7>&-
	wait "$FLOOD_PID" || code=$?
	FLOOD_PID=
	assert_equal "$code" 42
	assert_equal "$(cat flood.out)" intact
}

# What the dump says of itself, and what it amounts to: jq programs over the lines.
dump_line() {
	"$DUMPCAT" "$1" | jq -c "select(.type == \"dump\") | $2"
}

dump_summary() {
	"$DUMPCAT" "$1" | jq -c "select(.type == \"summary\") | $2"
}

# Nothing is damaged, and from the first anchor on nothing is missing.
assert_whole() {
	assert_equal "$(dump_line "$1" '[.missing_blocks, .damaged_bytes, .refused, .unknown, .anchors_used]')" \
		'[0,0,0,0,1]'
}

# Events without what differs between two tools that look at the same call.
comparable() {
	jq -cS 'select(.type == "call" or .type == "exec" or .type == "exit") |
		del(.ts_ns, .duration_ns, .age_ns)' "$@"
}

@test "a recording and a trace of the same run have the same events" {
	sh -c 'read -r _; exec "$@"' sh $(ffmpeg_command 5) < <(sleep 4; echo) 3>&- &
	FLOOD_PID=$!
	trace_start -p $FLOOD_PID
	record_start --launches=all --copies=all -o run.mscope -p $FLOOD_PID
	wait $FLOOD_PID
	FLOOD_PID=
	trace_wait
	record_wait
	"$DUMPCAT" run.mscope > dump.jsonl
	comparable events.jsonl > want
	comparable dump.jsonl > got
	[ "$(jq -r .op want | sort -u | xargs)" = "alloc context copy free launch null sync" ]
	diff -u want got
	assert_whole run.mscope
	assert_equal "$(dump_line run.mscope '[.has_end, .cut_short, .reason, .lost]')" \
		'[true,false,"targets-gone","0"]'
}

@test "by default, launches and copies are sums that amount to the same" {
	local totals='.processes[0] | [.spaces, .copies, .memsets, .syncs, .launches, .failures,
		(.kernels | sort_by(.kernel))] | del(.. | .duration_ns?, .host_ns?, .bytes_per_second?, .peak_ts_ns?)'

	sh -c 'read -r _; exec "$@"' sh $(ffmpeg_command 5) < <(sleep 4; echo) 3>&- &
	FLOOD_PID=$!
	trace_start -p $FLOOD_PID
	record_start -o run.mscope -p $FLOOD_PID
	wait $FLOOD_PID
	FLOOD_PID=
	trace_wait
	record_wait
	assert_equal "$(dump_summary run.mscope "$totals")" "$(summary "$totals")"
	"$DUMPCAT" run.mscope > dump.jsonl
	assert_equal "$(jq -r 'select(.op == "copy" or .op == "launch") | .type' dump.jsonl | sort -u)" sum
	# Each way of a frame is one: two planes up, two down.
	assert_equal "$(jq -r 'select(.type == "sum" and .op == "launch") | .count' dump.jsonl |
		paste -sd+ | bc)" 10
	comparable events.jsonl | jq -c 'select(.op != "copy" and .op != "launch")' > want
	comparable dump.jsonl | jq -c 'select(.op != "copy" and .op != "launch")' > got
	diff -u want got
}

@test "--launches and --copies: all, or not even probed" {
	record -q --launches=off --copies=off -o off.mscope -- $(ffmpeg_command 2)
	assert_equal "$("$DUMPCAT" off.mscope | jq -r 'select(.op) | .op' | sort -u | xargs)" \
		"alloc context free sync"
	assert_equal "$(dump_line off.mscope .ops)" '"alloc,free,sync,memory,context"'
	record -q --launches=all --copies=off -o all.mscope -- $(ffmpeg_command 2)
	assert_equal "$("$DUMPCAT" all.mscope | jq -r 'select(.op == "launch" or .op == "copy") |
		[.type, .op, .kernel] | @csv' | sort | uniq -c | awk '{ print $1, $2 }' | xargs)" \
		"2 call,launch,Subsample_Bicubic_nv12_nv12 2 call,launch,Subsample_Bicubic_nv12_nv12_uv"
}

@test "sums come while the recording goes on, not only in the end" {
	flood_start
	record_start -o run.mscope -p $FLOOD_PID
	sleep 2.6
	kill -9 "$RECORD_PID"
	wait "$RECORD_PID" || true
	RECORD_PID=
	flood_end
	assert_equal "$("$DUMPCAT" run.mscope | jq -s 'map(select(.type == "sum" and .op == "launch")) |
		length >= 2 and (map(.count) | min) > 100')" true
}

@test "SIGKILL at any moment: the dump opens, and nothing in it is damaged" {
	local i kills=8 options=("" "--copies=all --launches=all" "--segment 64K" "--ring 1M") now files

	[ -z "${STRESS:-}" ] || kills=1000
	flood_start
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
		"$DUMPCAT" "${files[@]}" > dump.jsonl || fail "not readable after kill $i"
		tail -n 1 dump.jsonl | jq -e '.damaged_bytes == 0 and .missing_blocks == 0 and
			.refused == 0 and .unknown == 0 and .has_end == false and
			(.events == 0 or .anchors_used == 1)' > /dev/null || fail "$(tail -n 1 dump.jsonl)"
		tail -n 1 dump.jsonl | jq --argjson now "$now" '$now - .last_ts_ns / 1e6' >> missing
	done
	flood_end
	[ -z "${STRESS:-}" ] || echo "# missing, ms: $(sort -n missing | awk '{ v[NR] = $1 } END {
		print "p50", v[int((NR + 1) / 2)], "max", v[NR], "of", NR }')" >&3
}

# A full disk that is `$1` large.
small_disk() {
	mkdir small
	mount -t tmpfs -o "size=$1" tmpfs small
}

@test "a full disk: counted, told once, and exact again as soon as there is room" {
	small_disk 256K
	puppet_start
	puppet load
	puppet init
	record_start -o small/run.mscope -p "$PUPPET_PID"
	puppet alloc 1000
	wait_for '[ "$(dump_line small/run.mscope .events)" -gt 0 ]'
	cat /dev/zero > small/rest 2> /dev/null || true
	# What is left of the file's last page is no room for long.
	puppet churn 20000
	puppet alloc 2000
	wait_for 'grep -q "cannot write: No space left" record.err'
	rm small/rest
	wait_for 'grep -q "can be written again" record.err'
	puppet alloc 3000
	puppet_end
	record_wait 1
	assert_equal "$(grep -c "No space left" record.err)" 1
	grep -qE "warning: [0-9,]+ records could not be written" record.err
	assert_equal "$(dump_line small/run.mscope '[.damaged_bytes, .refused, .anchors_used, .has_end,
		.missing_blocks > 0]')" '[0,0,2,true,true]'
	python3 "$ROOT/tests/e2e/dump_reader.py" --index small/run.mscope
	# With the block whose record was not written, and without those whose frees were not.
	assert_equal "$(dump_summary small/run.mscope '.processes[0].spaces[0] |
		[.allocs, .exit_allocations, .exit_bytes]')" '[20003,3,6000]'
}

@test "a segment that is begun and does not fit leaves nothing, in the index neither" {
	local i

	small_disk 256K
	puppet_start
	puppet load
	puppet init
	record_start -o small/run.mscope -p "$PUPPET_PID"
	for ((i = 1; i <= 1000; i++)); do
		puppet alloc $((i * 7919 % 100003))
	done
	cat /dev/zero > small/rest 2> /dev/null || true
	puppet churn 20000
	wait_for 'grep -q "cannot write: No space left" record.err'
	# Room for a description and the rows, and not for a thousand blocks.
	truncate -s -4K small/rest
	sleep 2.2
	rm small/rest
	wait_for 'grep -q "can be written again" record.err'
	puppet_end
	record_wait 1
	assert_equal "$(dump_line small/run.mscope '[.damaged_bytes, .refused, .anchors_used, .has_end]')" '[0,0,2,true]'
	python3 "$ROOT/tests/e2e/dump_reader.py" --index small/run.mscope
}

@test "a disk that stays full: what was written before is there, the exit code is 1" {
	small_disk 256K
	flood_start
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

@test "a file that is removed is made anew, with all that was in it" {
	puppet_start
	puppet load
	puppet init
	record_start -o run.mscope -p "$PUPPET_PID"
	puppet alloc 1000
	wait_for 'dump_line run.mscope .events | grep -qvx 0'
	sleep 0.4
	rm run.mscope
	wait_for '[ -e run.mscope ]'
	puppet alloc 2000
	puppet_end
	record_wait
	grep -q "somebody has removed it; it has been made anew" record.err
	assert_whole run.mscope
	assert_equal "$("$DUMPCAT" run.mscope | jq -c 'select(.op == "alloc") | .size_bytes' | xargs)" "1000 2000"
	assert_equal "$(stat -c %a run.mscope)" 600
}

@test "a file that cannot be made anew is told once, and the exit code says so" {
	mkdir sub
	puppet_start
	puppet load
	puppet init
	record_start -o sub/run.mscope -p "$PUPPET_PID"
	rm -r sub
	wait_for 'grep -q "cannot be made anew" record.err'
	sleep 2
	puppet_end
	record_wait 1
	assert_equal "$(grep -c "cannot be made anew" record.err)" 1
}

@test "--stdout: into a pipe, and a pipe whose reader goes ends it cleanly" {
	record --stdout -- $(ffmpeg_command 2) 2> record.err > >(cat > run.mscope)
	wait_for 'dump_line run.mscope .has_end | grep -qx true'
	assert_whole run.mscope
	grep -qE 'standard output: [0-9,]+ events in .*, 0 lost' record.err
	flood_start
	mkfifo pipe
	head -c 20000 < pipe > head.mscope 3>&- 7>&- &
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK --stdout --copies=all -p $FLOOD_PID > pipe 2> record.err 3>&- 7>&- &
	RECORD_PID=$!
	record_wait 1
	grep -q "nobody reads it any more: the recording ends" record.err
	flood_end
	assert_equal "$(dump_line head.mscope '[.missing_blocks, .refused, .anchors_used, .cut_short]')" '[0,0,1,true]'
}

@test "an idle pipe whose reader has gone is noticed" {
	puppet_start
	puppet load
	mkfifo pipe
	head -c 10 < pipe > /dev/null 3>&- 8>&- 9<&- &
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK --stdout -p "$PUPPET_PID" > pipe 2> record.err 3>&- 8>&- 9<&- &
	RECORD_PID=$!
	record_wait 1
	grep -q "nobody reads it any more" record.err
	puppet init
	puppet churn 10
}

# Bytes in the ring's directory.
ring_bytes() {
	find run.mscope.ring -type f -printf '%s\n' 2> /dev/null | paste -sd+ | bc
}

@test "--ring: within its size, each file begins with an anchor; in the end it is the dump" {
	local i file most=0 bytes

	flood_start
	record_start --ring 1M --copies=all --launches=all -o run.mscope -p $FLOOD_PID
	wait_for '[ -e run.mscope.ring/000030.mscope ]'
	for ((i = 0; i < 200; i++)); do
		bytes=$(ring_bytes)
		[ "${bytes:-0}" -le $most ] || most=$bytes
	done
	[ $most -gt 500000 ]
	[ $most -le 1048576 ] || fail "$most bytes"
	[ ! -e run.mscope.ring/000001.mscope ]
	kill -STOP "$RECORD_PID"
	for file in run.mscope.ring/*; do
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

@test "a killed flight recorder leaves its directory, which is a dump" {
	flood_start
	record_start --ring 1M --copies=all -o run.mscope -p $FLOOD_PID
	wait_for '[ -e run.mscope.ring/000010.mscope ]'
	kill -9 "$RECORD_PID"
	wait "$RECORD_PID" || true
	RECORD_PID=
	assert_equal "$("$DUMPCAT" run.mscope.ring/* | tail -n 1 |
		jq -c '[.missing_blocks, .damaged_bytes, .refused, .anchors_used, .has_end]')" '[0,0,0,1,false]'
	# And it is in the way of the next one.
	run record --ring 1M -o run.mscope -p $FLOOD_PID
	assert_equal "$status" 1
	[[ "$output" == *"run.mscope.ring: cannot create: File exists; a recording that was interrupted"* ]]
	flood_end
}

# In a puppet with 4 segments and more in its ring; $1: where.
fill_ring() {
	puppet_start
	puppet load
	puppet init
	record_start --ring 1M --segment 4K -o "$1" -p "$PUPPET_PID"
	while [ ! -e "$1.ring/000004.mscope" ]; do
		puppet churn 500
		sleep 0.2
	done
}

@test "ring files that are removed: the newest is made anew, the others are kept" {
	local last i

	fill_ring run.mscope
	puppet alloc 1000
	sleep 0.4
	last=$(printf '%s\n' run.mscope.ring/* | tail -n 1)
	rm "$last" run.mscope.ring/000002.mscope
	wait_for '[ -e "$last" ]'
	wait_for 'grep -q "run.mscope.ring: somebody has removed 1 segments" record.err'
	puppet alloc 2000
	puppet_end
	record_wait
	[ ! -e run.mscope.ring ]
	"$DUMPCAT" run.mscope > dump.jsonl
	assert_equal "$(jq -c 'select(.op == "alloc" and .live_bytes) | .size_bytes' dump.jsonl | tail -n 2 | xargs)" "1000 2000"
	assert_equal "$(dump_line run.mscope '[.damaged_bytes, .refused, .has_end, .missing_blocks > 0, .segments >= 3]')" \
		'[0,0,true,true,true]'
}

@test "a ring whose directory is removed, and the one above it for a while: nothing of the newest is lost" {
	mkdir sub
	fill_ring sub/run.mscope
	mv sub away
	rm -r away
	puppet alloc 1000
	wait_for 'grep -q "cannot be made anew" record.err'
	mkdir sub
	wait_for '[ -d sub/run.mscope.ring ]'
	wait_for '[ -n "$(ls sub/run.mscope.ring)" ]'
	puppet alloc 2000
	puppet_end
	record_wait
	! grep -q "not be written" record.err
	assert_whole sub/run.mscope
	assert_equal "$("$DUMPCAT" sub/run.mscope | jq -c 'select(.op == "alloc") | .size_bytes' | tail -n 2 | xargs)" "1000 2000"
}

@test "a ring file that is cut: its bundle has the rest" {
	fill_ring run.mscope
	truncate -s 2500 run.mscope.ring/000002.mscope
	puppet_end
	record_wait
	grep -q "000002.mscope: somebody has cut it: 2500 of" record.err
	assert_equal "$(dump_line run.mscope '[.refused, .has_end, .segments >= 3]')" '[0,true,true]'
}

@test "a disk without room for another name: the oldest give way" {
	mkdir small
	mount -t tmpfs -o size=1M,nr_inodes=6 tmpfs small
	fill_ring small/run.mscope
	wait_for 'puppet churn 500; sleep 0.2; [ -e small/run.mscope.ring/000008.mscope ]'
	kill -9 "$RECORD_PID"
	wait "$RECORD_PID" || true
	RECORD_PID=
	! grep -q "cannot write" record.err
	puppet_end
}

@test "--on-exit, and nothing if nothing happens" {
	record --on-exit -o run.mscope -- $(ffmpeg_command 2) 2> record.err
	assert_equal "$(echo run*)" run.exit.mscope
	assert_whole run.exit.mscope
	assert_equal "$(dump_line run.exit.mscope '[.has_end, .reason]')" '[true,"targets-gone"]'
	rm run.exit.mscope
	record --on-oom -o run.mscope -- $(ffmpeg_command 2) 2> record.err
	assert_equal "$(echo run*)" 'run*'
	grep -q "nothing was to be kept" record.err
}

@test "--on-signal: a bundle each time, five at most; the recording goes on" {
	local i

	puppet_start
	puppet load
	puppet init
	record_start --on-signal USR1 -o run.mscope -p "$PUPPET_PID"
	for i in 1 2 3 4 5; do
		puppet alloc ${i}000
		kill -USR1 "$RECORD_PID"
		wait_for "[ -e run.signal-$i.mscope ]"
		assert_whole run.signal-$i.mscope
		assert_equal "$(dump_line run.signal-$i.mscope '[.has_end, .reason]')" '[true,"asked-for"]'
		assert_equal "$("$DUMPCAT" run.signal-$i.mscope | jq -c 'select(.op == "alloc") | .size_bytes' |
			xargs)" "$(seq -f %g000 $i | xargs)"
	done
	kill -USR1 "$RECORD_PID"
	wait_for 'grep -q "5 bundles because of signal: no more" record.err'
	kill -USR1 "$RECORD_PID"
	puppet_end
	record_wait
	assert_equal "$(grep -c "no more are written" record.err)" 1
	assert_equal "$(ls | grep -c mscope)" 5
}

# Whether the process handles SIGUSR1, $1 is its pid.
handles_signal() {
	local caught

	caught=$(awk '/^SigCgt/ { print $2 }' "/proc/$1/status")
	[ $((0x${caught:-0} & 0x200)) -ne 0 ]
}

# But for 32 and 33, which belong to the C library.
own_signals() {
	local name mask

	while read -r name mask; do
		printf '%s %x\n' "$name" $((0x$mask & ~0x180000000))
	done < "$1"
}

@test "--on-signal: a signal while it starts or ends is no end, and the command inherits nothing" {
	local i

	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK -v --on-signal USR1 -o run.mscope -- \
		grep -E '^Sig(Blk|Ign)' /proc/self/status > signals 2> record.err 3>&- &
	RECORD_PID=$!
	for ((i = 0; i < 2000; i++)); do
		! handles_signal "$RECORD_PID" || break
	done
	[ "$i" -lt 2000 ]
	while kill -USR1 "$RECORD_PID" 2> /dev/null; do
		sleep 0.005
	done
	record_wait
	# What is started with an & ignores SIGINT and SIGQUIT, and what the tests were started with.
	grep -E '^Sig(Blk|Ign)' /proc/self/status > want &
	wait $!
	assert_equal "$(own_signals signals)" "$(own_signals want)"
}

# In a puppet with 1 MiB of device memory.
exhaust() {
	puppet load
	puppet init
	record_start --on-oom -o run.mscope "$@" -p "$PUPPET_PID"
	puppet alloc 700000
	echo "alloc 600000" >&8
}

@test "--on-oom: the failing call and who held the memory; at most one bundle in two seconds" {
	local answer i

	export SIMCUDA_MEMORY=1M
	puppet_start
	exhaust
	read -r -t 20 answer <&9
	assert_equal "$answer" 2
	wait_for '[ -e run.oom-1.mscope ]'
	assert_whole run.oom-1.mscope
	"$DUMPCAT" run.oom-1.mscope > dump.jsonl
	assert_equal "$(jq -c 'select(.op == "alloc") | [.size_bytes, .result, .live_bytes]' dump.jsonl | xargs)" \
		"[700000,0,700000] [600000,2,700000]"
	assert_equal "$(tail -n 1 dump.jsonl | jq -c '[.has_end, .reason]')" '[true,"oom"]'
	for ((i = 0; i < 10; i++)); do
		echo "alloc 600000" >&8
		read -r -t 20 answer <&9
		sleep 0.05
	done
	assert_equal "$(ls | grep -c oom)" 1
	puppet_end
	record_wait
	# What came meanwhile has a bundle in the end: it may be what the program died of.
	assert_equal "$(ls | grep -c mscope)" 2
	assert_equal "$("$DUMPCAT" run.oom-2.mscope | jq -s 'map(select(.op == "alloc" and .result == 2)) | length')" 11
	grep -qE 'recorded [0-9]+ events in .*, 0 lost; the last bundle: run.oom-2.mscope' record.err
}

@test "--on-oom: what comes too soon after a bundle has one when the pause is over" {
	local answer

	export SIMCUDA_MEMORY=1M
	puppet_start
	exhaust
	read -r -t 20 answer <&9
	wait_for '[ -e run.oom-1.mscope ]'
	echo "alloc 500000" >&8
	read -r -t 20 answer <&9
	wait_for '[ -e run.oom-2.mscope ]'
	assert_equal "$("$DUMPCAT" run.oom-2.mscope | jq -c 'select(.op == "alloc" and .result == 2) | .size_bytes' |
		xargs)" "600000 500000"
	puppet_end
	record_wait
	assert_equal "$(ls | grep -c mscope)" 2
}

@test "a bundle that cannot be written: the ring stays, and the exit code says so" {
	local answer

	export SIMCUDA_MEMORY=1M
	small_disk 4K
	puppet_start
	exhaust -o small/run.mscope
	read -r -t 20 answer <&9
	puppet_end
	record_wait 1
	grep -q "cannot write the bundle: No space left" record.err
	grep -q "warning: small/run.mscope.ring: the ring stays there" record.err
	grep -qE 'recorded [0-9]+ events in .*; the newest, .*, are in small/run.mscope.ring' record.err
	! grep -q "nothing" record.err
	assert_equal "$("$DUMPCAT" small/run.mscope.ring/* | jq -c 'select(.op == "alloc" and .result == 2) | .size_bytes')" 600000
	rm -r small/run.mscope.ring puppet.in puppet.out
	puppet_start
	puppet load
	puppet init
	record_start --on-exit -o small/run.mscope -p "$PUPPET_PID"
	puppet alloc 1000
	puppet_end
	record_wait 1
	grep -q "the ring stays there" record.err
	! grep -q "nothing" record.err
	assert_equal "$("$DUMPCAT" small/run.mscope.ring/* | jq -c 'select(.op == "alloc") | .size_bytes')" 1000
}

@test "a bundle whose name is taken meanwhile: the ring stays, and nothing else is said to be it" {
	puppet_start
	record_start --on-exit -o run.mscope -p "$PUPPET_PID"
	echo precious > run.exit.mscope
	puppet_end
	record_wait 1
	grep -q "run.exit.mscope: cannot write the bundle: File exists" record.err
	grep -qE 'recorded 0 events in .*; the newest, .*, are in run.mscope.ring' record.err
	assert_equal "$(cat run.exit.mscope)" precious
}

@test "a bundle that cannot be written is tried again" {
	local answer

	export SIMCUDA_MEMORY=1M
	small_disk 64K
	cat /dev/zero > small/rest 2> /dev/null || true
	truncate -s -4K small/rest
	puppet_start
	exhaust -o small/run.mscope
	read -r -t 20 answer <&9
	wait_for 'grep -q "cannot write the bundle: No space left" record.err'
	rm small/rest
	wait_for '[ -e small/run.oom-1.mscope ]'
	puppet_end
	record_wait
	assert_whole small/run.oom-1.mscope
	assert_equal "$(echo small/*)" small/run.oom-1.mscope
}

@test "--on-oom: the bundle is there although the process was killed at once" {
	local begin answer

	export SIMCUDA_MEMORY=1M
	puppet_start
	exhaust
	read -r -t 20 answer <&9
	kill -9 "$PUPPET_PID"
	begin=$EPOCHREALTIME
	wait_for '[ -e run.oom-1.mscope ]'
	echo "# after $(echo "($EPOCHREALTIME - $begin) * 1000 / 1" | bc) ms" > took
	PUPPET_PID=
	record_wait
	assert_equal "$("$DUMPCAT" run.oom-1.mscope | jq -c 'select(.op == "alloc" and .result == 2) | .size_bytes')" 600000
}

@test "ffmpeg at growing sizes until memory runs out: a bundle says who held it" {
	local width code=0

	export SIMCUDA_MEMORY=1M
	for width in 160 320 640 960 1280; do
		rm -f run*
		code=0
		record -q --on-oom -o run.mscope -- ffmpeg -nostdin -hide_banner -loglevel error \
			-init_hw_device cuda=cu:0 -f lavfi -i testsrc=size=${width}x480:rate=25 \
			-vf format=nv12,hwupload_cuda,scale_cuda=320:240,hwdownload,format=nv12 \
			-frames:v 3 -f null - 2> /dev/null || code=$?
		[ ! -e run.oom-1.mscope ] || break
		assert_equal "$code" 0
	done
	[ "$width" -gt 160 ]
	[ "$code" -ne 0 ]
	assert_whole run.oom-1.mscope
	assert_equal "$("$DUMPCAT" run.oom-1.mscope | jq -s 'map(select(.op == "alloc" and .result == 2)) |
		length > 0 and .[0].size_bytes + .[0].live_bytes > 1048576 - 262144')" true
}

@test "names: %h, %p and %t; the default; what exists is not overwritten, a link not followed" {
	local code

	record -q -o '%h.%p.%t.100%%.mscope' -- sh -c 'echo $$ > pid'
	[[ "$(ls ./*.mscope)" =~ ^\./$(uname -n).$(cat pid).20[0-9]{6}T[0-9]{6}.100%.mscope$ ]]
	rm ./*.mscope
	record -q -- sh -c 'echo $$ > pid'
	assert_equal "$(ls ./*.mscope)" "./memscope.$(uname -n).$(cat pid).mscope"
	echo precious > there.mscope
	ln -s nowhere link.mscope
	for name in there link; do
		code=0
		record -o $name.mscope -- touch started 2> record.err || code=$?
		assert_equal "$code" 1
		grep -q "$name.mscope: cannot create: File exists; remove it, or choose another name" record.err
		[ ! -e started ]
	done
	assert_equal "$(cat there.mscope)" precious
	[ ! -e nowhere ]
	code=0
	record --ring 1M -o there.mscope -- touch started 2> record.err || code=$?
	assert_equal "$code" 1
	[ ! -e started ]
	[ ! -e there.mscope.ring ]
	mv there.mscope run.exit.mscope
	code=0
	record --on-exit -o run.mscope -- touch started 2> record.err || code=$?
	assert_equal "$code" 1
	grep -q "run.exit.mscope: exists; remove it, or choose another name" record.err
	[ ! -e started ]
	[ ! -e run.mscope.ring ]
	mv run.exit.mscope there.mscope
	# Bundles go on with the next number.
	cp there.mscope run.signal-1.mscope
	puppet_start
	record_start --on-signal USR2 -o run.mscope -p "$PUPPET_PID"
	kill -USR2 "$RECORD_PID"
	wait_for '[ -e run.signal-2.mscope ]'
	assert_equal "$(cat run.signal-1.mscope)" precious
	puppet_end
	record_wait
}

@test "exit codes: the command's, 127 if there is none, 6 for too many losses" {
	local code

	for code in 0 3; do
		run record -q -o $code.mscope -- sh -c "exit $code"
		assert_equal "$status" $code
	done
	run -127 record -o none.mscope -- ./no-such-program
	[ ! -e none.mscope ]
	run record -q --buffer 4K --max-loss 5 -o lost.mscope -- "$WORKLOADS/threads" 4 20000
	assert_equal "$status" 6
	[[ "$output" == *"a larger --buffer, or less detail (--launches, --copies), would help"* ]]
	# And the dump says how many.
	assert_equal "$(dump_summary lost.mscope '.events.lost' )" "$(dump_line lost.mscope '.lost | tonumber')"
	[ "$(dump_summary lost.mscope '.events.lost' )" -gt 5 ]
}

@test "what makes no sense is refused" {
	local wrong

	while read -r wrong; do
		# shellcheck disable=SC2086 # several words
		run record $wrong -- true
		assert_equal "$status $wrong" "2 $wrong"
	done <<- 'END'
		--stdout -o x
		--stdout --ring 1M
		--stdout --on-oom
		--ring 100K
		--ring 1M --segment 512K
		--segment 1K
		--launches some
		--copies 5
		--on-signal HUP
		-o %x
		-o 100%
		-p 1
	END
	run script -qec "'$MEMSCOPE' record --stdout -- true" /dev/null
	assert_equal "$status" 2
	[ -z "$(ls ./*.mscope 2> /dev/null)" ]
}

@test "a line of progress on a terminal, and the result in any case" {
	script -qec "'$MEMSCOPE' record -o run.mscope -- sh -c 'sleep 2.5'" /dev/null > out
	grep -q $'\r\033\\[K1\\.[0-9]* s: 0 events, .* written, 0 B of device memory live, 0 lost' out
	grep -qE 'run.mscope: 0 events in 2\.[0-9]+ s, .*, 0 lost' out
	record -o again.mscope -- sh -c 'sleep 1.5' 2> record.err
	assert_equal "$(wc -l < record.err)" 2
	! grep -q $'\r' record.err
}
