# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf record` as a flight recorder: what is kept, and the bundles that are written when
# something happens.

load recordings

# In a puppet with 4 segments and more in its ring; $1: where, then options.
fill_ring() {
	local where=$1

	shift
	puppet_with_cuda
	record_start --ring 1M --segment 4K -o "$where" "$@" -p "$PUPPET_PID"
	while [ ! -e "$where.ring/000004.mscope" ]; do
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
	wait_for 'grep -q "run.mscope.ring: 1 segment has been removed" record.err'
	puppet alloc 2000
	puppet_end
	record_wait
	[ ! -e run.mscope.ring ]
	"$DUMPCAT" run.mscope > dump.jsonl
	assert_equal "$(jq -c 'select(.op == "alloc" and .live_bytes) | .size_bytes' dump.jsonl | tail -n 2 | xargs)" "1000 2000"
	assert_equal "$(dump_line run.mscope '[.damaged_bytes, .refused, .has_end, .missing_blocks > 0, .segments >= 3]')" \
		'[0,0,true,true,true]'
}

# The ring is in `sub`, which is not there any more. What it has is nowhere else.
assert_comes_back() {
	puppet alloc 1000
	wait_for 'grep -q "it has been removed, and it cannot be created again" record.err'
	mkdir sub
	wait_for '[ -d sub/run.mscope.ring ]'
	wait_for '[ -n "$(ls sub/run.mscope.ring)" ]'
	puppet alloc 2000
	puppet_end
	record_wait
	! grep -q "not be written" record.err || false
	assert_whole sub/run.mscope
	assert_equal "$("$DUMPCAT" sub/run.mscope | jq -c 'select(.op == "alloc") | .size_bytes' | tail -n 2 | xargs)" "1000 2000"
}

@test "a ring whose directory is removed, and the one above it for a while: nothing of the newest is lost" {
	mkdir sub
	fill_ring sub/run.mscope
	# It would be made anew while it is being removed.
	recorder_stopped
	rm -r sub
	kill -CONT "$RECORD_PID"
	assert_comes_back
}

@test "a ring that is renamed where no other can be made goes on in the old one, and may be removed then" {
	mkdir sub
	fill_ring sub/run.mscope
	mv sub away
	wait_for 'grep -q "run.mscope.ring: it was renamed, and a new directory cannot be created: No such file" record.err'
	rm -r away
	assert_comes_back
	assert_equal "$(grep -c "it was renamed" record.err)" 1
}

@test "the newest ring file is truncated: a new segment is begun in it, and what is gone counted" {
	local last

	fill_ring run.mscope
	puppet alloc 1000
	sleep 0.4
	recorder_stopped
	last=$(printf '%s\n' run.mscope.ring/* | tail -n 1)
	: > "$last"
	kill -CONT "$RECORD_PID"
	puppet alloc 2000
	wait_for '[ "$(dump_line "$last" "[.segments, .anchors_used, .damaged_bytes, .refused]")" = "[1,1,0,0]" ]'
	puppet alloc 3000
	puppet_end
	record_wait 1
	assert_equal "$(grep -c "run.mscope.ring: it was truncated, or written over" record.err)" 1
	assert_equal "$(dump_line run.mscope '[.damaged_bytes, .refused, .has_end, .missing_blocks > 0]')" '[0,0,true,true]'
	assert_equal "$(dump_summary run.mscope '.processes[0].spaces[0] | [.exit_allocations, .exit_bytes]')" '[3,6000]'
	"$MEMSCOPE" report -q -f json run.mscope | jq -e '.recordings[0].lost |
		.unwritten_records > 0 and .live_is_exact == false'
}

@test "a ring that is renamed goes on in a new directory; what it had stays in the old one" {
	fill_ring run.mscope
	puppet alloc 1000
	sleep 0.4
	recorder_stopped
	mv run.mscope.ring old
	kill -CONT "$RECORD_PID"
	puppet alloc 2000
	wait_for '[ -n "$(ls run.mscope.ring)" ]'
	puppet alloc 3000
	puppet_end
	record_wait
	assert_whole run.mscope
	assert_equal "$(dump_summary run.mscope '.processes[0].spaces[0] | [.exit_allocations, .exit_bytes]')" '[3,6000]'
	assert_equal "$("$DUMPCAT" old/* run.mscope | jq -c 'select(.op == "alloc") | .size_bytes' | tail -n 3 | xargs)" \
		"1000 2000 3000"
	assert_equal "$("$DUMPCAT" -s old/* run.mscope | jq -c 'select(.type == "dump") | .missing_blocks')" 0
}

@test "a ring that is renamed where no other can be made for a while: the next segment is in the new one" {
	mkdir sub
	fill_ring sub/run.mscope
	puppet alloc 1000
	mv sub away
	wait_for 'grep -q "it was renamed, and a new directory cannot be created" record.err'
	puppet alloc 2000
	sleep 0.4
	mkdir sub
	wait_for '[ -n "$(ls sub/run.mscope.ring 2> ls.err)" ]'
	puppet alloc 3000
	puppet_end
	record_wait
	assert_whole sub/run.mscope
	assert_equal "$("$DUMPCAT" away/run.mscope.ring/* sub/run.mscope |
		jq -c 'select(.op == "alloc") | .size_bytes' | tail -n 3 | xargs)" "1000 2000 3000"
	assert_equal "$("$DUMPCAT" -s away/run.mscope.ring/* sub/run.mscope |
		jq -c 'select(.type == "dump") | .missing_blocks')" 0
}

@test "a ring whose file system is unmounted: nothing of the newest segment is lost" {
	small_disk 2M
	fill_ring small/run.mscope
	puppet alloc 1000
	wait_for '"$DUMPCAT" small/run.mscope.ring/* | jq -c "select(.op == \"alloc\").size_bytes" | tail -n 1 | grep -qx 1000'
	cp "$(printf '%s\n' small/run.mscope.ring/* | tail -n 1)" newest.mscope
	umount -l small
	puppet alloc 2000
	wait_for 'grep -q "can no longer be reached, .*; it was created again" record.err'
	puppet alloc 3000
	puppet_end
	record_wait
	assert_whole small/run.mscope
	"$DUMPCAT" newest.mscope | jq -c 'select(.op == "alloc") | .size_bytes' > want
	printf '2000\n3000\n' >> want
	"$DUMPCAT" small/run.mscope | jq -c 'select(.op == "alloc") | .size_bytes' | diff -u want -
	assert_equal "$(dump_summary small/run.mscope '.processes[0].spaces[0].exit_bytes')" 6000
}

@test "a ring file that is cut: its bundle has the rest" {
	fill_ring run.mscope
	truncate -s 2500 run.mscope.ring/000002.mscope
	puppet_end
	record_wait
	grep -q "000002.mscope: it was truncated: 2500 of" record.err
	assert_equal "$(dump_line run.mscope '[.refused, .has_end, .segments >= 3]')" '[0,true,true]'
}

@test "a disk without room for another name: the oldest give way" {
	mkdir small
	mount -t tmpfs -o size=1M,nr_inodes=6 tmpfs small
	fill_ring small/run.mscope
	wait_for 'puppet churn 500; sleep 0.2; [ -e small/run.mscope.ring/000008.mscope ]'
	record_kill
	! grep -q "cannot write" record.err || false
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
	grep -q "no trigger fired, so nothing of it was kept" record.err
}

@test "--on-signal: a bundle each time, five at most; the recording goes on" {
	local i

	puppet_with_cuda
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

# The first one's END has the number of the block that came next, which is in the later one.
@test "a bundle and a later one of the same ring are one recording, to an independent reader, too" {
	# An END that was read before what came next counts as a block.
	local end files file same='del(.recordings[].files, .recordings[].blocks)'

	fill_ring run.mscope --on-signal USR1
	kill -USR1 "$RECORD_PID"
	wait_for '[ -e run.signal-1.mscope ]'
	puppet alloc 7000
	wait_for 'puppet churn 500; sleep 0.2; [ -e run.mscope.ring/000008.mscope ]'
	kill -USR1 "$RECORD_PID"
	wait_for '[ -e run.signal-2.mscope ]'
	puppet_end
	record_wait
	# Without its oldest segments, which the first one has.
	mkdir segments
	dump_reader --split segments run.signal-2.mscope
	rm segments/00000[01].mscope
	cat segments/*.mscope > later.mscope
	end=$(dump_reader --blocks run.signal-1.mscope | awk '$3 == 5 { print $4 }')
	dump_reader --blocks later.mscope | awk -v end="$end" '$4 == end { found = $3 < 5 } END { exit !found }'
	dump_reader --events run.signal-2.mscope > want.txt
	"$MEMSCOPE" report -f json run.signal-2.mscope > want.json
	cat run.signal-1.mscope later.mscope > both.mscope
	for files in "run.signal-1.mscope later.mscope" "later.mscope run.signal-1.mscope" both.mscope; do
		# shellcheck disable=SC2086 # two words
		dump_reader --events $files > got.txt
		cmp want.txt got.txt
		# shellcheck disable=SC2086 # two words
		assert_equal "$(dump_reader --ends $files)" "$(dump_reader --ends run.signal-2.mscope)"
		# shellcheck disable=SC2086 # two words
		"$MEMSCOPE" report -f json $files > got.json
		diff -u <(jq "$same" want.json) <(jq "$same" got.json)
	done
	[[ "$(dump_reader --ends later.mscope run.signal-1.mscope)" == *" blocks, 0 missing, asked-for" ]]
	# It goes on behind the END of the first one, whose number nothing else has, and then is cut off.
	for file in segments/*; do
		! dump_reader --blocks "$file" | grep -q " $end\$" || rm "$file"
	done
	rm "$(printf '%s\n' segments/* | tail -n 1)"
	cat segments/*.mscope > cut.mscope
	dump_reader --blocks cut.mscope | awk -v end="$end" '$4 > end { found = 1 } END { exit !found }'
	[[ "$(dump_reader --ends run.signal-1.mscope cut.mscope)" =~ \ [1-9][0-9]*\ missing,\ no\ end$ ]]
	assert_equal "$("$MEMSCOPE" report -f json run.signal-1.mscope cut.mscope |
		jq .recordings[0].lost.ended_properly)" false
	# The records are those that the tool reads.
	assert_equal "$(grep -c "call cuMemAlloc_v2" got.txt)" \
		"$(jq '.recordings[0].processes[0].spaces[0].allocs' got.json)"
}

# Whether the process handles SIGUSR1, $1 is its pid. The shell that becomes the tool does, too.
handles_signal() {
	local caught

	[ "/proc/$1/exe" -ef "$MEMSCOPE" ] || return 1
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
	for ((i = 0; i < 20000; i++)); do
		! handles_signal "$RECORD_PID" || break
	done
	[ "$i" -lt 20000 ]
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
	for ((i = 0; i < 10; i++)); do
		echo "alloc 600000" >&8
		read -r -t 20 answer <&9
		sleep 0.05
	done
	assert_equal "$(ls | grep -c oom)" 1
	assert_whole run.oom-1.mscope
	"$DUMPCAT" run.oom-1.mscope > dump.jsonl
	assert_equal "$(jq -c 'select(.op == "alloc") | [.size_bytes, .result, .live_bytes]' dump.jsonl | xargs)" \
		"[700000,0,700000] [600000,2,700000]"
	assert_equal "$(tail -n 1 dump.jsonl | jq -c '[.has_end, .reason]')" '[true,"oom"]'
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
	# It had not got it when it ended: that has a bundle, too.
	puppet_end
	record_wait
	assert_equal "$(ls | grep -c mscope)" 3
	assert_equal "$(grep -oE 'oom-[0-9].mscope: .*written because of oom .*' record.err |
		sed -E 's/\.mscope.*\(/ (/' | xargs)" "oom-1 (open) oom-2 (open) oom-3 (handled)"
}

@test "--on-oom: a failure that a retry makes good is known to be one, at once" {
	local answer

	export SIMCUDA_MEMORY=1M
	puppet_start
	exhaust
	read -r -t 20 answer <&9
	puppet free 0
	puppet alloc 600000
	wait_for 'grep -qE "run.oom-1.mscope: .*, written because of oom \(recovered\)" record.err'
	"$MEMSCOPE" report -f json run.oom-1.mscope > report.json
	assert_equal "$(jq -c '.recordings[0].out_of_memory[0] | [.outcome, .requested_bytes, .granted_bytes,
		.freed_bytes, .own.bytes]' report.json)" '["recovered",600000,600000,700000,700000]'
	puppet_end
	record_wait
	assert_equal "$(ls | grep -c mscope)" 1
}

@test "--on-oom: at most as many bundles an hour as asked for, half of them for what ended well" {
	local answer i

	export SIMCUDA_MEMORY=1M
	puppet_start
	exhaust --bundles=2/h
	read -r -t 20 answer <&9
	puppet free 0
	puppet alloc 600000
	wait_for '[ -e run.oom-1.mscope ]'
	# It has had its share of those that ended well.
	echo "alloc 700000" >&8
	read -r -t 20 answer <&9
	puppet free 0
	puppet alloc 700000
	sleep 2.5
	assert_equal "$(ls | grep -c oom)" 1
	echo "alloc 800000" >&8
	read -r -t 20 answer <&9
	puppet_end
	record_wait
	assert_equal "$(ls | grep -c mscope)" 2
	grep -qE 'run.oom-2.mscope: .*, written because of oom \(gave-up\)' record.err
	grep -q "1 more bundles would have been written" record.err
	grep -qE "process [0-9]+ has had [0-9]+ bundles? within an hour: its further failures that end well have none" record.err
}

@test "--on-oom: eight bundles are kept; the oldest that ended well makes way, if it is still there" {
	local answer i

	export SIMCUDA_MEMORY=1M
	puppet_start
	exhaust --bundles=60/h
	read -r -t 20 answer <&9
	for ((i = 1; i <= 9; i++)); do
		puppet free 0
		puppet alloc 600000
		wait_for "[ -e run.oom-$i.mscope ]"
		[ "$i" != 1 ] || mv run.oom-1.mscope precious.mscope
		[ "$i" != 9 ] || break
		echo "alloc 600000" >&8
		read -r -t 20 answer <&9
	done
	assert_equal "$(echo run.oom-*)" "$(echo run.oom-{2..9}.mscope)"
	echo "alloc 600000" >&8
	read -r -t 20 answer <&9
	puppet_end
	record_wait
	assert_equal "$(echo run.oom-* | tr ' ' '\n' | sort -V | xargs)" "$(echo run.oom-{3..10}.mscope)"
	grep -q 'run.oom-2.mscope: removed (recovered), as there are newer ones' record.err
	assert_whole precious.mscope
}

@test "a bundle that cannot be written: the ring stays, and the exit code says so" {
	local answer

	export SIMCUDA_MEMORY=1M
	small_disk 4K
	puppet_start
	exhaust --stacks=off -o small/run.mscope
	read -r -t 20 answer <&9
	puppet_end
	record_wait 1
	# It is tried again in the end, at the latest.
	assert_equal "$(grep -c "cannot write the bundle: No space left" record.err)" 1
	grep -q "warning: small/run.mscope.ring: the ring stays there" record.err
	grep -qE 'recorded [0-9]+ events in .*; the newest, .*, are in small/run.mscope.ring' record.err
	! grep -q "nothing" record.err || false
	assert_equal "$("$DUMPCAT" small/run.mscope.ring/* | jq -c 'select(.op == "alloc" and .result == 2) | .size_bytes')" 600000
	rm -r small/run.mscope.ring puppet.in puppet.out
	puppet_with_cuda
	record_start --stacks=off --on-exit -o small/run.mscope -p "$PUPPET_PID"
	puppet alloc 1000
	puppet_end
	record_wait 1
	grep -q "the ring stays there" record.err
	! grep -q "nothing" record.err || false
	assert_equal "$("$DUMPCAT" small/run.mscope.ring/* | jq -c 'select(.op == "alloc") | .size_bytes')" 1000
}

@test "a disk that was full all the time: no bundle is made of an empty ring" {
	small_disk 4K
	head -c 4096 /dev/zero > small/full
	run -1 --separate-stderr "$MEMSCOPE" record $MASK --on-exit -o small/run.mscope -- "$WORKLOADS/calls" 3
	[[ $stderr == *"cannot write the bundle: nothing could be written into the ring"* ]]
	[[ $stderr != *"written because of"* ]]
	assert_equal "$(find small -type f -size +0)" small/full
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
	exhaust --stacks=off -o small/run.mscope
	read -r -t 20 answer <&9
	wait_for 'grep -q "cannot write the bundle: No space left" record.err'
	rm small/rest
	wait_for '[ -e small/run.oom-1.mscope ]'
	puppet_end
	record_wait
	assert_whole small/run.oom-1.mscope
	assert_equal "$(echo small/*)" "small/run.oom-1.mscope small/run.oom-2.mscope"
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
