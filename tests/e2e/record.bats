# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf record`: what is in the dump, and what becomes of it when something goes wrong.
# `make stress` runs it with many more kills.

load recordings

# Events without what differs between two tools that look at the same call.
comparable() {
	jq -cS 'select(.type == "call" or .type == "exec" or .type == "exit") |
		del(.ts_ns, .wall_ns, .duration_ns, .running_ns, .runnable_ns, .blocked_ns, .age_ns)' "$@"
}

# ffmpeg, traced and recorded, with these options, from its first instruction on.
trace_and_record() {
	mkfifo go
	sh -c 'read -r _ < go; exec "$@"' sh $(ffmpeg_command 5) 3>&- &
	OTHER_PID=$!
	trace_start -p $OTHER_PID
	record_start -o run.mscope "$@" -p $OTHER_PID
	echo > go
	wait $OTHER_PID
	OTHER_PID=
	trace_wait
	record_wait
}

@test "a recording and a trace of the same run have the same events" {
	trace_and_record --launches=all --copies=all
	"$DUMPCAT" run.mscope > dump.jsonl
	comparable events.jsonl > want
	comparable dump.jsonl > got
	[ "$(jq -r .op want | sort -u | xargs)" = "alloc context copy free launch memory null sync" ]
	diff -u want got
	assert_whole run.mscope
	assert_equal "$(dump_line run.mscope '[.has_end, .cut_short, .reason, .lost]')" \
		'[true,false,"targets-gone","0"]'
}

@test "without -o, another recording of the process gets another name, and the first one stays" {
	local before

	puppet_with_cuda
	"$MEMSCOPE" record $MASK -q -d 0.1 -p "$PUPPET_PID"
	before=$(sha256sum ./*.mscope)
	"$MEMSCOPE" record $MASK -q -d 0.1 -p "$PUPPET_PID"
	sha256sum -c --quiet <<< "$before"
	assert_equal "$(find . -name "memscope.*.$PUPPET_PID.mscope" | wc -l)" 1
	assert_equal "$(find . -name "memscope.*.$PUPPET_PID.20*T*.mscope" | wc -l)" 1
	run ! "$MEMSCOPE" record $MASK -d 0.1 -p "$PUPPET_PID" -o "memscope.%h.%p.mscope"
	[[ $output == *"File exists; remove it, or choose another name with -o"* ]]
	puppet_end
}

@test "by default, launches and copies are sums that amount to the same" {
	local totals='.processes[0] | [.spaces, .copies, .memsets, .syncs, .launches, .failures,
		(.kernels | sort_by(.kernel))] | del(.. | .duration_ns?, .host_ns?, .bytes_per_second?, .peak_ts_ns?)'

	trace_and_record
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
		"alloc context free memory sync"
	assert_equal "$(dump_line off.mscope .ops)" '"alloc,free,sync,memory,context"'
	# What was not captured is unknown, and not none.
	"$MEMSCOPE" report -f md off.mscope > report.md
	sed -n '/^### 3/,/^### 4/p' report.md | grep -qE "^\| \+0\.[0-9]+ s \|[^?]*\| \? \| \? \| \? \| \? \| \? \| [0-9.]+ [num]?s \| 0 \|$"
	"$MEMSCOPE" report -f json off.mscope > report.json
	assert_equal "$(jq -c '.recordings[0].timeline.processes[0] | [.launches, .copies, (.blocked_ns | type)]' report.json)" \
		'[null,null,"array"]'
	"$MEMSCOPE" report -f html off.mscope > report.html
	sed -n '/On devices at its end/,$p' report.html | tr '\n' ' ' |
		grep -qE '<td class="n">\?</td><td class="n">\?</td><td class="n" data-v="[0-9]+"[^>]*>[0-9.]+ [num]?s</td>'
	record -q --launches=all --copies=off -o all.mscope -- $(ffmpeg_command 2)
	assert_equal "$("$DUMPCAT" all.mscope | jq -r 'select(.op == "launch" or .op == "copy") |
		[.type, .op, .kernel] | @csv' | sort | uniq -c | awk '{ print $1, $2 }' | xargs)" \
		"2 call,launch,Subsample_Bicubic_nv12_nv12 2 call,launch,Subsample_Bicubic_nv12_nv12_uv"
}

@test "a full disk: counted, told once, and exact again as soon as there is room" {
	small_disk 256K
	puppet_with_cuda
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
	dump_reader --index small/run.mscope
	# With the block whose record was not written, and without those whose frees were not.
	assert_equal "$(dump_summary small/run.mscope '.processes[0].spaces[0] |
		[.allocs, .exit_allocations, .exit_bytes]')" '[20003,3,6000]'
}

@test "a segment that is begun and does not fit leaves nothing, in the index neither" {
	local i answer

	small_disk 256K
	puppet_with_cuda
	record_start -o small/run.mscope -p "$PUPPET_PID"
	for ((i = 1; i <= 1000; i++)); do
		echo "alloc $((i * 7919 % 100003))"
	done >&8
	for ((i = 1; i <= 1000; i++)); do
		read -r -t 20 answer <&9
		assert_equal "$answer" ok
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
	dump_reader --index small/run.mscope
}

@test "a file that is removed is made anew, with all that was in it" {
	puppet_with_cuda
	record_start -o run.mscope -p "$PUPPET_PID"
	puppet alloc 1000
	wait_for 'dump_line run.mscope .events | grep -qvx 0'
	sleep 0.4
	rm run.mscope
	wait_for '[ -e run.mscope ]'
	puppet alloc 2000
	puppet_end
	record_wait
	grep -q "it has been removed; it was created again" record.err
	assert_whole run.mscope
	assert_equal "$("$DUMPCAT" run.mscope | jq -c 'select(.op == "alloc") | .size_bytes' | xargs)" "1000 2000"
	assert_equal "$(stat -c %a run.mscope)" 600
}

@test "a file that cannot be made anew is told once, and the exit code says so" {
	mkdir sub
	puppet_with_cuda
	record_start -o sub/run.mscope -p "$PUPPET_PID"
	rm -r sub
	wait_for 'grep -q "cannot be created again" record.err'
	sleep 2
	puppet_end
	record_wait 1
	assert_equal "$(grep -c "cannot be created again" record.err)" 1
}

# ---- what others do to the file meanwhile

# Sizes of allocations in the files, in their order.
allocations() {
	"$DUMPCAT" "$@" | jq -c 'select(.op == "alloc") | .size_bytes' | xargs
}

# A recording with an allocation of 1000 bytes written, and the recorder stopped. $1: where, then
# options.
record_and_stop() {
	local where=$1

	shift
	puppet_with_cuda
	record_start -o "$where" "$@" -p "$PUPPET_PID"
	puppet alloc 1000
	wait_for "have 1000 $where"
	recorder_stopped
}

# Goes on with an allocation of 2000 bytes that is the first thing to be read, and with one of 3000 as
# soon as the command $1 succeeds, until the end. $2: the exit code.
go_on() {
	puppet alloc 2000
	kill -CONT "$RECORD_PID"
	wait_for "$1" || fail "$(cat record.err)"
	puppet alloc 3000
	puppet_end
	record_wait "${@:2}"
}

# Whether the files have these allocations; $1: those that are expected.
have() {
	[ "$(allocations "${@:2}" 2> /dev/null)" = "$1" ]
}

# Whether a segment has been begun, in a file that had none any more.
is_begun() {
	dump_line run.mscope .anchors_used 2> /dev/null | grep -qx 1
}

# The file can be read by itself, says that something is missing, and what is live in spite of that.
assert_begun_anew() {
	assert_equal "$(dump_line run.mscope '[.damaged_bytes, .refused, .unknown, .anchors_used, .has_end]')" \
		'[0,0,0,1,true]'
	assert_equal "$(dump_summary run.mscope '.processes[0].spaces[0] | [.allocs, .exit_allocations, .exit_bytes]')" \
		'[3,3,6000]'
	dump_reader --index run.mscope
	"$MEMSCOPE" report -q -f json run.mscope > report.json
	assert_equal "$(jq -c '.recordings[0].lost | [.live_is_exact, .unwritten_blocks > 0,
		.unwritten_records > 0]' report.json)" '[false,true,true]'
	assert_equal "$(grep -c "it was truncated, or written over" record.err)" 1
	grep -qE "warning: [0-9]+ records could not be written, or are no longer in the file" record.err
}

@test "a file that is truncated: a new segment is begun in it at the next block" {
	record_and_stop run.mscope
	: > run.mscope
	go_on is_begun 1
	assert_begun_anew
	# What came before the new segment is in the sums alone.
	assert_equal "$(allocations run.mscope)" 3000
}

@test "a file that is truncated and has as many bytes again, of a hole or of something else" {
	local size file

	for file in /dev/zero "$ROOT/tests/golden/dump-1.0.mscope"; do
		record_and_stop run.mscope
		size=$(stat -c %s run.mscope)
		head -c "$size" "$file" > over
		cp over run.mscope
		truncate -s "$size" run.mscope
		go_on is_begun 1
		assert_begun_anew
		rm run.mscope puppet.in puppet.out
	done
}

@test "a file that is copied and truncated: the two together lack one block" {
	record_and_stop run.mscope
	cp run.mscope old.mscope
	: > run.mscope
	go_on is_begun 1
	assert_begun_anew
	assert_equal "$(allocations old.mscope run.mscope)" "1000 3000"
	assert_equal "$("$DUMPCAT" -s old.mscope run.mscope | jq -c 'select(.type == "dump") | .missing_blocks')" 1
	"$MEMSCOPE" report -q -f json old.mscope run.mscope > report.json
	assert_equal "$(jq -c '.recordings[0].lost | [.live_is_exact, .has_beginning, .missing_blocks]' report.json)" \
		'[false,true,1]'
}

@test "a file that is truncated within a block keeps those before it" {
	local size

	record_and_stop run.mscope
	size=$(stat -c %s run.mscope)
	truncate -s $((size - 10)) run.mscope
	go_on 'dump_line run.mscope .segments | grep -qx 2' 1
	assert_equal "$(dump_line run.mscope '[.damaged_bytes, .refused, .anchors_used, .segments, .has_end,
		.missing_blocks > 0]')" '[0,0,2,2,true,true]'
	assert_equal "$(dump_summary run.mscope '.processes[0].spaces[0] | [.allocs, .exit_bytes]')" '[3,6000]'
	dump_reader --index run.mscope
}

@test "standard output that is truncated: the same" {
	puppet_with_cuda
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing RECORD_PID record.err "$MEMSCOPE" record $MASK -v -o - -p "$PUPPET_PID" > run.mscope
	puppet alloc 1000
	wait_for 'have 1000 run.mscope'
	recorder_stopped
	: > run.mscope
	go_on is_begun 1
	assert_begun_anew
}

@test "a file that is renamed: a new one goes on where it ends, and nothing is missing" {
	local how

	for how in true "install -m 600 /dev/null run.mscope"; do
		record_and_stop run.mscope
		mv run.mscope old.mscope
		$how
		go_on is_begun
		grep -q "it was renamed, to .*old.mscope; recording goes on in a new file" record.err
		assert_equal "$(stat -c %a run.mscope)" 600
		assert_equal "$(allocations run.mscope)" 3000
		assert_equal "$(allocations old.mscope run.mscope)" "1000 2000 3000"
		assert_whole run.mscope
		dump_reader --index run.mscope
		"$MEMSCOPE" report -q -f json old.mscope run.mscope > report.json
		assert_equal "$(jq -c '.recordings[0].lost | [.missing_blocks, .unwritten_records, .ended_properly]' report.json)" \
			'[0,0,true]'
		rm ./*.mscope puppet.in puppet.out
	done
}

@test "a file that is renamed and whose name is taken: it goes on, and what is there is left alone" {
	local mode

	for mode in 600 644; do
		record_and_stop run.mscope
		mv run.mscope old.mscope
		install -m $mode /dev/null run.mscope
		[ $mode = 644 ] || echo precious > run.mscope
		go_on 'have "1000 2000" old.mscope'
		assert_equal "$(grep -c "it was renamed, and a new file cannot be created: File exists; recording goes on in .*old.mscope" record.err)" 1
		assert_equal "$(cat run.mscope)" "$([ $mode = 644 ] || echo precious)"
		assert_whole old.mscope
		assert_equal "$(allocations old.mscope)" "1000 2000 3000"
		rm ./*.mscope puppet.in puppet.out
	done
}

@test "a file whose directory is renamed goes on there" {
	mkdir sub
	record_and_stop sub/run.mscope
	mv sub other
	go_on 'have "1000 2000" other/run.mscope'
	grep -q "a new file cannot be created: No such file or directory; recording goes on in .*other/run.mscope" record.err
	assert_whole other/run.mscope
	assert_equal "$(allocations other/run.mscope)" "1000 2000 3000"
}

@test "a file whose file system is unmounted is made anew, with all that was in it" {
	small_disk 1M
	record_and_stop small/run.mscope
	umount -l small
	go_on 'have "1000 2000" small/run.mscope'
	grep -q "can no longer be reached, .*; it was created again, with everything that was in it" record.err
	assert_whole small/run.mscope
	assert_equal "$(allocations small/run.mscope)" "1000 2000 3000"
	assert_equal "$(stat -c %a small/run.mscope)" 600
}

@test "a file whose file system is unmounted, and that cannot be made anew: told, and exit code 1" {
	mkdir sub
	small_disk 1M
	mount --move small sub 2> /dev/null || mount --bind small sub
	record_and_stop sub/run.mscope
	umount -l sub
	echo precious > sub/run.mscope
	go_on 'grep -q "can no longer be reached" record.err' 1
	assert_equal "$(grep -c "can no longer be reached, .*, and it cannot be created again: File exists" record.err)" 1
	assert_equal "$(cat sub/run.mscope)" precious
}

# ---- a limit of a file's size

@test "a command gets SIGXFSZ as it would without the recorder" {
	run record -q -o run.mscope -- sh -c 'kill -XFSZ $$'
	assert_equal "$status" 153
}

@test "-o -: what the command writes does not get into the recording" {
	record --stdout -- sh -c "echo its own output; exec '$WORKLOADS/calls' 20" > run.mscope 2> said
	assert_whole run.mscope
	assert_equal "$(dump_line run.mscope '[.has_end, .events > 0]')" '[true,true]'
	grep -qx "its own output" said
	grep -q "sh: its standard output goes to standard error" said
	! grep -q "its own output" run.mscope || false
}

@test "an idle pipe whose reader has gone is noticed" {
	puppet_start
	puppet load
	mkfifo pipe
	head -c 10 < pipe > /dev/null 3>&- 8>&- 9<&- &
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK -o - -p "$PUPPET_PID" > pipe 2> record.err 3>&- 8>&- 9<&- &
	RECORD_PID=$!
	record_wait 1
	grep -q "the reader has closed the pipe" record.err
	puppet init
	puppet churn 10
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
		--segment=0
		--ring 0
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
	local lines=3 # one of them says that no CUDA library was seen

	# Single uprobes take so long to go that it is said.
	case $MASK in
	*uprobe_multi*) lines=4 ;;
	esac
	script -qec "'$MEMSCOPE' record -o run.mscope -- sh -c 'sleep 2.5'" /dev/null > out
	grep -q $'\r\033\\[K1\\.[0-9]* s: 0 events, .* written, 0 B of device memory live, 0 lost' out
	grep -qE 'run.mscope: 0 events in 2\.[0-9]+ s, .*, 0 lost' out
	record -o again.mscope -- sh -c 'sleep 1.5' 2> record.err
	assert_equal "$(wc -l < record.err)" $lines
	! grep -q $'\r' record.err || false
}

@test "a signal without a trigger is ignored, with a message" {
	puppet_with_cuda
	record_start -o run.mscope -p "$PUPPET_PID"
	kill -USR1 "$RECORD_PID"
	wait_for 'grep -q "SIGUSR1 is ignored: without --on-signal USR1" record.err'
	kill -USR2 "$RECORD_PID"
	wait_for 'grep -q "SIGUSR2 is ignored" record.err'
	puppet alloc 4096
	record_stop
	assert_equal "$(dump_summary run.mscope '.processes[0].spaces[0].allocs')" 1
	puppet_end
}
