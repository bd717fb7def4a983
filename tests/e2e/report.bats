# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf report`: real recordings of real programs, and what may have become of them.

load reading

report() {
	"$MEMSCOPE" report "$@"
}

# The report on some files, in report.json; arguments as for report.
report_json() {
	report -f json -o report.json "$@"
}

in_report() {
	jq -c "$1" report.json
}

# How it exits, and the one line that it says why.
assert_refused() {
	local expected=$1 message=$2
	shift 2

	run report "$@"
	assert_equal "$status" "$expected"
	[[ $output == *$message* ]] || fail "expected: $message" "got:      $output"
}

@test "the numbers are those that a trace of the same run has" {
	puppet_start
	puppet load
	# Both see the same calls if both are attached: until then, there are none.
	trace_start -p "$PUPPET_PID"
	record_start -o run.mscope -p "$PUPPET_PID"
	puppet init
	puppet alloc 100000
	puppet alloc 3000
	puppet churn 50
	puppet copy 1000
	puppet free
	puppet alloc 777
	puppet exit 3 || true
	trace_wait
	record_wait
	report_json run.mscope
	assert_equal "$(in_report '.recordings[0].processes[0].spaces | map(
			[.space, .live_bytes, .live_allocations, .peak_bytes, .allocs,
			.alloc_bytes, .frees, .free_bytes, .implicit_frees])')" \
		"$(summary '.processes[0].spaces | map(
			[.space, .exit_bytes, .exit_allocations, .peak_bytes, .allocs,
			.alloc_bytes, .frees, .free_bytes, .implicit_frees])')"
	assert_equal "$(in_report '.recordings[0].processes[0].copies | map([.direction, .count, .bytes])')" \
		"$(summary '.processes[0].copies | map([.direction, .count, .bytes])')"
	assert_equal "$(in_report '.recordings[0].processes[0].largest | map([.addr, .size_bytes])')" \
		"$(summary '.processes[0].largest | map([.addr, .size_bytes])')"
	assert_equal "$(in_report '.recordings[0].processes[0] | [.exit_code, .failures]')" \
		"$(summary '.processes[0] | [.exit_code, .failures]')"
	# And they are not nothing.
	assert_equal "$(in_report '.recordings[0].processes[0].spaces[0] | [.allocs, .frees, .live_bytes]')" \
		'[53,51,100777]'
	# It ran before: whether it held anything then, nobody knows.
	assert_equal "$(in_report '.recordings[0].lost | [.records, .live_is_exact, .ended_properly]')" \
		'[0,false,true]'
}

@test "ffmpeg: what the program did, in every section, and valid by the schema" {
	record -o run.mscope -- $(ffmpeg_command)
	report_json run.mscope
	valid report report.json
	assert_equal "$(in_report '.recordings[0].processes[0] | [.comm, .exit_code, .launches,
		(.spaces[] | .space, .allocs, .frees, .live_bytes)]')" '["ffmpeg",0,40,"device",3,3,0]'
	assert_equal "$(in_report '.recordings[0].processes[0].by_api | map([.api, .allocs, .frees])')" \
		'[["cuMemAlloc_v2",3,3]]'
	# The peak is made of all three.
	assert_equal "$(in_report '.recordings[0].processes[0] |
		.spaces[0].peak_bytes == .by_api[0].bytes_in_peak and .by_api[0].allocations_in_peak == 3')" true
	assert_equal "$(in_report '.recordings[0].timeline.processes[0] | [(.allocs | add), (.frees | add),
		(.launches | add), (.live[0].max_bytes | max)]')" \
		"$(in_report '.recordings[0].processes[0] | [3, 3, 40, .spaces[0].peak_bytes]')"
	assert_equal "$(in_report '[.recordings[0].findings, .recordings[0].suggestions]')" '[[],[]]'
	report run.mscope > report.md
	local section
	for section in "1. What this covers" "2. Who holds memory" "3. Timeline" "4. Leaks, and what else is kept" \
		"5. Out of memory" "6. Temporary" "7. Bottlenecks" "8. Suggestions"; do
		grep -q "^### $section" report.md || fail "no section $section"
	done
	# All formats show the same numbers.
	grep -q "^| device | 0 B | 0 | 1.08 MiB | .* | 3 | 1.08 MiB | 3 | 0 |$" report.md
}

@test "neither root nor a GPU nor BPF is needed" {
	local place

	record -o run.mscope -- "$WORKLOADS/calls" 3
	place=$(mktemp -d)
	chmod 755 "$place"
	cp "$MEMSCOPE" run.mscope "$place"
	chmod 755 "$place"/*
	cd "$place"
	run setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs ./memscope-bpf report run.mscope
	cd /
	rm -r "$place"
	assert_equal "$status" 0
	[[ $output == *"cudaMalloc | device"* ]]
}

@test "--fail-on: 8 for what was found, 0 for what was not" {
	puppet_start
	puppet load
	record_start -o run.mscope -p "$PUPPET_PID"
	puppet init
	puppet alloc 5
	puppet churn 100
	puppet alloc 1000000
	puppet exit 0 || true
	record_wait
	report --fail-on oom,loss,growth=1000001 --warmup 1allocs run.mscope > /dev/null
	run report --fail-on growth=1000000 --warmup 1allocs run.mscope
	assert_equal "$status" 8
	run report --fail-on growth=1000000,growth=1G --warmup 1allocs run.mscope
	assert_equal "$status" 8
	run report -f json --fail-on oom,growth=1 --warmup 1allocs run.mscope
	assert_equal "$status" 8
	[[ $output == *"--fail-on growth=1: puppet ("*") holds 977 KiB more device memory than after its initialisation: 5 B then"* ]]
	# What is missing counts as a loss, and the report is written all the same.
	head -c $(($(stat -c %s run.mscope) - 10)) run.mscope > cut.mscope
	run report --fail-on loss -o out.md cut.mscope
	assert_equal "$status" 8
	grep -q "the last block is not whole" out.md
}

@test "--fail-on inexact: only the runtime was recorded" {
	"$MEMSCOPE" record $MASK -q --layer=runtime -o run.mscope -- "$WORKLOADS/calls" 2
	run report -f md --fail-on inexact run.mscope
	assert_equal "$status" 8
	[[ $output == *"only calls of the runtime were recorded (--layer=runtime)"* ]]
	report -f json run.mscope | jq -e '.recordings[0] | .runtime_alone and (.lost.live_is_exact | not)'
}

@test "--fail-on inexact: what was held before, and what was lost" {
	puppet_start
	record_start -o run.mscope -p "$PUPPET_PID"
	puppet load
	puppet init
	puppet alloc 1000
	record_stop
	report --fail-on loss,inexact run.mscope > first.md
	record_start -o late.mscope -p "$PUPPET_PID"
	puppet alloc 2000
	record_stop
	run -8 --separate-stderr report --fail-on loss,inexact late.mscope
	[[ $stderr == *"--fail-on inexact: the numbers are not exact"* ]]
	[[ $stderr != *"lacks"* ]]
	run -0 "$MEMSCOPE" diff --fail-on loss,inexact run.mscope run.mscope
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on loss,inexact run.mscope late.mscope
	[[ $stderr == *"--fail-on inexact: the numbers of B are not exact"* ]]
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on loss,inexact late.mscope run.mscope
	[[ $stderr == *"--fail-on inexact: the numbers of A are not exact"* ]]
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on loss,inexact late.mscope late.mscope
	[[ $stderr == *"--fail-on inexact: the numbers of both are not exact"* ]]
	"$MEMSCOPE" export -f openmetrics run.mscope > run.txt
	grep 'memscope_process_gpu_memory_inexact{.*comm="puppet".*} 0 ' run.txt
	"$MEMSCOPE" export -f csv run.mscope | tr -d '\r' | grep ',attach,.*,false,*$'
	"$MEMSCOPE" export -f csv late.mscope | tr -d '\r' > late.csv
	head -n 1 late.csv | grep ',was_running,unread_path,unread_error,object_action,'
	grep ',attach,.*,true,*$' late.csv
	"$MEMSCOPE" export -f sqlite -o late.sqlite late.mscope
	assert_equal "$(sqlite3 late.sqlite 'SELECT is_exact FROM memscope_processes')" 0
	"$MEMSCOPE" export -f sqlite -o run.sqlite run.mscope
	assert_equal "$(sqlite3 run.sqlite 'SELECT is_exact, (SELECT is_exact FROM memscope_peak) FROM memscope_processes')" '1|1'
	"$MEMSCOPE" report -f html late.mscope | grep '<section class="verdict warn"'
	"$MEMSCOPE" report -f html run.mscope | grep '<section class="verdict good"'
	"$MEMSCOPE" export -f openmetrics late.mscope > late.txt
	grep 'memscope_process_gpu_memory_inexact{.*comm="puppet".*} 1 ' late.txt
	head -c $(($(stat -c %s run.mscope) - 10)) run.mscope > cut.mscope
	run -8 report --fail-on inexact cut.mscope
	# A file that is no recording, too.
	head -c 100 cut.mscope > damaged.mscope
	run -8 --separate-stderr report --fail-on loss run.mscope damaged.mscope
	[[ $stderr == *"--fail-on loss: a file could not be used"* ]]
	"$MEMSCOPE" export -f openmetrics cut.mscope > cut.txt
	grep 'memscope_process_gpu_memory_inexact{.*comm="puppet".*} 1 ' cut.txt
}

@test "a recording without a call: it is said, and --fail-on empty finds it" {
	"$MEMSCOPE" record $MASK -q -o run.mscope -- true 2> record.err
	grep -q "mapped a CUDA library, so no call was seen; use -f to trace child processes, too" record.err
	run -9 --separate-stderr report --fail-on leak,oom,loss,growth=1 run.mscope
	[[ $output == *"No call was recorded, so nothing wrong could be found."* ]]
	[[ $stderr == *"--fail-on leak: leak-growth could not be looked for: no call was recorded"* ]]
	[[ $stderr == *"--fail-on oom: oom could not be looked for: no call was recorded"* ]]
	run -0 report --fail-on leak,oom,loss,growth=1,unknown=pass run.mscope
	run -8 report --fail-on empty run.mscope
	run -0 --separate-stderr report --to +0.001 "$ROOT/tests/golden/dump-1.2.mscope"
	[[ $output == *"No call was recorded in that time."* ]]
	# Another process made calls; this one was there.
	run -8 report --fail-on empty --pid 6000 "$ROOT/tests/golden/dump-1.2.mscope"
	# One call is enough.
	record -o calls.mscope -- "$WORKLOADS/calls" 3
	run -0 --separate-stderr report --fail-on empty calls.mscope run.mscope
	[[ $output != *"No call was recorded"* && $stderr == *": --fail-on: nothing was found; checked "* ]]
}

@test "an allocation that failed is in the report, and --fail-on oom says so" {
	SIMCUDA_MEMORY=512K run record -o run.mscope -- $(ffmpeg_command)
	[ "$status" -ne 0 ]
	run report --fail-on oom -f json -o report.json run.mscope
	assert_equal "$status" 8
	valid report report.json
	assert_equal "$(in_report '.recordings[0].out_of_memory[0] | [.comm, .api, .space, .processes[0].comm]')" \
		'["ffmpeg","cuMemAlloc_v2","device","ffmpeg"]'
	assert_equal "$(in_report '.recordings[0].out_of_memory[0] | .live.bytes == .own.bytes and
		.largest[0].size_bytes <= .live.bytes and .requested_bytes > 0')" true
	report run.mscope > report.md
	grep -q "Out of memory: .* failed at .*when ffmpeg .* held" report.md
	grep -q "^\*\*Failure 1\*\* at .*: ffmpeg (.*cuMemAlloc" report.md
}

@test "several recordings are one report, and kept apart" {
	record -o a.mscope -- "$WORKLOADS/calls" 3
	record -o b.mscope -- "$WORKLOADS/calls" 4
	record -o c.mscope -- $(ffmpeg_command 2)
	report_json a.mscope b.mscope c.mscope
	valid report report.json
	assert_equal "$(in_report '[.recordings[] | .processes[0] | .comm, .spaces[0].allocs]')" \
		'["calls",3,"calls",4,"ffmpeg",3]'
	report a.mscope b.mscope c.mscope > report.md
	grep -q "^## Fleet: 3 recordings" report.md
	assert_equal "$(grep -c "^## Recording " report.md)" 3
}

# record_visible FILE COMMAND VALUE...: at the same time, for each value, a process with
# CUDA_VISIBLE_DEVICES set to it ("-": not set), which on its device 0 obeys the puppet's command,
# if there is one, and then allocates 3,000 bytes.
record_visible() {
	local file=$1 command=$2 wait

	wait=$(time_to_attach 1)
	shift 2
	cat > visible.sh <<-SCRIPT
		for value; do
			case \$value in
			-) unset CUDA_VISIBLE_DEVICES ;;
			*) export CUDA_VISIBLE_DEVICES=\$value ;;
			esac
			(
				echo load
				sleep $wait
				echo init
				${command:+echo $command}
				echo alloc 3000
				sleep 1
			) | "$WORKLOADS/puppet" > /dev/null &
		done
		wait
	SCRIPT
	SIMCUDA_DEVICES=2 record -f -o "$file" -- sh visible.sh "$@"
}

@test "which device: two numbers 0 are two devices, as far as is known, and one UUID is one" {
	record_visible apart.mscope "" 0 1
	report_json apart.mscope
	valid report report.json
	assert_equal "$(in_report '[.recordings[0].devices[] | .device, .peak_bytes, .uuid]')" \
		'[0,3000,null,0,3000,null]'
	assert_equal "$(in_report .recordings[0].device_numbers_are_own)" true
	report -f md apart.mscope | grep -q "^Device numbers are each process's own"
	report -f html apart.mscope | grep -q "Device numbers are each process&#39;s own"
	"$MEMSCOPE" export -f openmetrics apart.mscope > apart.txt
	assert_equal "$(grep -c '^memscope_gpu_memory_explained_peak_bytes.* 3000 ' apart.txt)" 2

	record_visible known.mscope uuid 0 1
	report_json known.mscope
	valid report report.json
	assert_equal "$(in_report '[.recordings[0].devices[] | .device, .peak_bytes, .uuid] | sort')" \
		'[0,0,3000,3000,"GPU-73696d75-6c61-7465-6420-475055200000","GPU-73696d75-6c61-7465-6420-475055200001"]'
	assert_equal "$(in_report .recordings[0].device_numbers_are_own)" false
	"$MEMSCOPE" export -f openmetrics known.mscope > known.txt
	assert_equal "$(grep -c '^memscope_gpu_memory_explained_peak_bytes.*UUID="GPU-.* 3000 ' known.txt)" 2
	"$MEMSCOPE" export -f sqlite -o known.sqlite known.mscope
	assert_equal "$(/usr/bin/python3 -c "
import sqlite3
print(sqlite3.connect('known.sqlite').execute(
	'SELECT count(DISTINCT uuid), sum(peak_bytes) FROM memscope_devices').fetchone())")" "(2, 6000)"

	# The second one of two devices is the first one of one.
	record_visible one.mscope uuid 1,0 1
	report_json one.mscope
	assert_equal "$(in_report '[.recordings[0].devices[] | .device, .peak_bytes]')" '[0,6000]'
	record_visible same.mscope "" - -
	report_json same.mscope
	assert_equal "$(in_report '[.recordings[0].devices[] | .device, .peak_bytes]')" '[0,6000]'
}

@test "a directory of files is what is in it" {
	mkdir ring
	record -o whole.mscope -- $(ffmpeg_command 5)
	# Twice the same recording is the same recording.
	cp whole.mscope ring/1.mscope
	cp whole.mscope ring/2.mscope
	echo something else > ring/notes.txt
	report_json ring
	assert_equal "$(in_report '[(.recordings | length), .recordings[0].processes[0].spaces[0].allocs,
		(.recordings[0].files | length)]')" '[1,3,2]'
	report_json whole.mscope
	assert_equal "$(in_report .recordings[0].processes[0].spaces[0].allocs)" 3
}

@test "a part of the time, of the processes, of the devices" {
	record -o run.mscope -- "$WORKLOADS/calls" 50
	report_json run.mscope
	local middle
	middle=$(in_report '.recordings[0].timeline.processes[0].allocs | add')
	assert_equal "$middle" 50
	report_json --to +0.000001 run.mscope
	assert_equal "$(in_report '[.recordings[0].processes[].spaces[]?.allocs] | add')" null
	report_json --from +0.000001 run.mscope
	assert_equal "$(in_report '.recordings[0].processes[0].spaces[0].allocs')" 50
	report_json --from 2000-01-01T00:00:00Z --to 2200-01-01T00:00:00+01:00 run.mscope
	assert_equal "$(in_report '.recordings[0].processes[0].spaces[0].allocs')" 50
}

@test "what cannot be in the recording is no empty report" {
	record -o run.mscope -- $(ffmpeg_command)
	assert_refused 5 "process 1 is not in the recording" --pid 1 --fail-on leak run.mscope
	assert_refused 5 "device 7 is not in the recording" --device 7 run.mscope
	assert_refused 2 "that is before the recording began; the recording is from 20" --from 2000-01-01T00:00:00Z \
		--to 2001-01-01T00:00:00Z run.mscope
	assert_refused 2 "had ended by then" --from 2h run.mscope
	assert_refused 2 "--to is not later than --from" --from 0.002 --to 0.001 run.mscope
	assert_refused 2 "must be in ascending order" --leak-window 0.1,0.05,0.2 run.mscope
}

@test "a recording is not written over by its report" {
	record -o run.mscope -- true
	cp run.mscope before.mscope
	ln run.mscope link.mscope
	ln -s run.mscope symlink.mscope
	assert_refused 2 "the output would replace it" -o run.mscope run.mscope
	assert_refused 2 "the output would replace it" -o link.mscope run.mscope
	assert_refused 2 "the output would replace it" -o symlink.mscope .
	cmp run.mscope before.mscope
	# Nor is another recording, not even what is left of one.
	head -c 40 run.mscope > other
	ln -s other symlink
	cp other before
	assert_refused 2 "other: is a recording, and the output would replace it" -o other run.mscope
	assert_refused 2 "symlink: is a recording" -o symlink --format json run.mscope
	cmp other before
	# Something else may be.
	echo MSC > report.md
	report -o report.md run.mscope
	grep -q "^# GPU memory report" report.md
	# What is no plain file is written to as it is.
	mkfifo fifo
	cat fifo > through &
	report -o fifo run.mscope
	wait $!
	cmp through report.md
	[ -p fifo ]
}

@test "what was there stays if the report cannot be written whole" {
	record -o run.mscope -- true
	mkdir small
	run -1 --separate-stderr unshare -m bash -c "mount -t tmpfs -o size=16K tmpfs small
		echo precious > small/page.html
		\"$MEMSCOPE\" report -f html -o small/page.html run.mscope
		code=\$?
		ls -A small && cat small/page.html
		exit \$code"
	[[ $stderr == *"No space left on device"* ]]
	assert_equal "$output" $'page.html\nprecious'
}

@test "what could not be looked for is said" {
	puppet_start
	puppet load
	record_start -o run.mscope -p "$PUPPET_PID"
	puppet init
	puppet alloc 1000
	puppet copy 1000
	puppet exit 0 || true
	record_wait
	report_json run.mscope
	valid report report.json
	assert_equal "$(in_report '[.recordings[0].not_looked_for[] | select(.rule == "redundant-copies") | .why]')" \
		'["copies were summed up: record with --copies=all"]'
}

@test "a recording of nothing" {
	record -o run.mscope -- true
	report_json run.mscope
	valid report report.json
	assert_equal "$(in_report '[.recordings[0].findings, .recordings[0].devices]')" '[[],[]]'
	report run.mscope > report.md
	grep -q "No allocation on a device was recorded" report.md
}

@test "what is no dump, or has nothing whole in it is refused with 7" {
	record -o run.mscope -- "$WORKLOADS/calls" 3
	: > empty.mscope
	head -c 100000 /dev/urandom > noise.mscope
	head -c 70 run.mscope > short.mscope
	assert_refused 7 "empty.mscope: empty" empty.mscope
	assert_refused 7 "noise.mscope: not a recording" noise.mscope
	assert_refused 7 "short.mscope: not a recording" short.mscope
	assert_refused 1 "absent.mscope: cannot open" absent.mscope
	assert_refused 7 "standard input: empty" - < <(true)
	assert_refused 1 "/dev/stdin: a recording can be read from a regular file only" /dev/stdin < <(true)
	mkdir none
	assert_refused 7 "no file in it ends in .mscope" none
	assert_refused 2 "needs a file"
	# Beside one that is whole, it is told and left out.
	run report run.mscope noise.mscope
	assert_equal "$status" 0
	[[ $output == *"1 of the files could not be used"* ]]
	report -q -f html run.mscope noise.mscope > page.html
	grep -q '<h1 id="verdict-h">Nothing wrong in the files that could be read</h1>' page.html
}

@test "a damaged dump is reported, with its damage first" {
	local place

	record -o run.mscope --segment 4K -- $(ffmpeg_command 200)
	for place in 5 3 2; do
		damage run.mscope "$place"
		report_json damaged.mscope
		valid report report.json
		assert_equal "$(in_report '.recordings[0].lost | .damaged_places + .missing_blocks > 0')" true
		report damaged.mscope > report.md
		grep -q "damaged place" report.md
		grep -q "The recording lacks something" report.md
		# Nobody is told that all is well.
		report -f html damaged.mscope > page.html
		grep -q 'class="verdict \(warn\|bad\)"' page.html
		assert_equal "$(grep -c "Nothing wrong found" page.html)" 0
	done
	# Cut anywhere, it is still a report on what there is.
	for place in 90 50 20; do
		cut_short run.mscope "$place"
		report_json cut.mscope
		valid report report.json
		assert_equal "$(in_report .recordings[0].lost.ended_properly)" false
		# On a busy machine the host is what ffmpeg waits for.
		report -f html --threshold bound-least=3600s cut.mscope > page.html
		grep -q '<h1 id="verdict-h">Nothing wrong was found, but something is missing</h1>' page.html
	done
}

@test "standard error says that a recording is not whole, whatever the format" {
	local format

	record -o run.mscope --segment 4K -- $(ffmpeg_command 200)
	damage run.mscope 2
	cut_short run.mscope 50
	for format in md json html; do
		run --separate-stderr report -f $format run.mscope
		assert_equal "$stderr" ""
		run --separate-stderr report -f $format cut.mscope
		assert_equal "$stderr" "memscope-bpf: warning: cut.mscope: not whole (no end): what came after its last whole block is missing in the output"
		run --separate-stderr report -f $format -o out -q damaged.mscope
		[[ $stderr =~ ^"memscope-bpf: warning: damaged.mscope: not whole (1 damaged place, 1 missing block): what"[^$'\n']*$ ]] ||
			fail "$stderr"
	done
	run --separate-stderr "$MEMSCOPE" diff run.mscope damaged.mscope
	assert_equal "$(grep -c "damaged.mscope: not whole" <<< "$stderr")" 1
	[[ $stderr != *run.mscope* ]]
}

@test "wrong options" {
	: > x.mscope
	assert_refused 2 "md, text, json, html, junit or github" -f docx x.mscope
	assert_refused 2 "there is no PDF" -f pdf x.mscope
	assert_refused 2 "write --format json" -f yaml x.mscope
	assert_refused 2 "not a process ID" --pid 0 x.mscope
	assert_refused 2 "not the number of a device" --device -1 x.mscope
	assert_refused 2 "not a time" --from never x.mscope
	assert_refused 2 "is not a number from 1" --top 0 x.mscope
	assert_refused 2 "\"fire\" is not one of growth=SIZE, leak," --fail-on fire x.mscope
	assert_refused 2 '"x" is not a size; write 4096, 64K, 1.5M or 2G' --fail-on growth=x x.mscope
	assert_refused 2 "three times" --leak-window 1,2 x.mscope
	assert_refused 2 "there is no threshold" --threshold speed=1 x.mscope
	assert_refused 2 "is not a value for leak-size" --threshold leak-size=much x.mscope
}

@test "aligned text on a terminal, as wide as that; Markdown in a pipe and in a file" {
	local columns
	export LC_ALL=C.UTF-8
	unset COLUMNS NO_COLOR

	record -o run.mscope -- $(ffmpeg_command)
	for columns in 60 80 132; do
		NO_COLOR=1 on_terminal $columns "$MEMSCOPE" report run.mscope > text
		sed -n '1,2p' text | diff - <(printf '%s\n' "GPU memory report" "=================")
		! grep -nE "^.{$((columns + 1))}" text || fail "wider than $columns"
		! grep -n '[|]--\|\*\*\|'$'\033' text || fail "Markdown, or more than text"
		grep -qE '^  FAILED|^  SPACE +LIVE AT EXIT|^ +LIVE$' text
		grep -qE '^  device +0 B +0 +1.08 MiB  \+[0-9.]+ s( |$)' text
	done
	# As asked for, wherever it goes.
	COLUMNS=132 "$MEMSCOPE" report -f text run.mscope | diff text -
	COLUMNS=132 "$MEMSCOPE" report -f text -o file run.mscope
	diff text file
	"$MEMSCOPE" report run.mscope > report.md
	grep -q "^# GPU memory report" report.md
	on_terminal 80 "$MEMSCOPE" report -f md run.mscope | diff report.md -
	on_terminal 80 "$MEMSCOPE" report -q -o file run.mscope
	diff report.md file
	# Bold where there is colour, and never where there is not.
	TERM=xterm on_terminal 80 "$MEMSCOPE" report run.mscope > colour
	grep -q $'^\033\\[1mGPU memory report' colour
	TERM=dumb on_terminal 80 "$MEMSCOPE" report run.mscope > dumb
	TERM=xterm NO_COLOR=1 on_terminal 80 "$MEMSCOPE" report run.mscope | diff dumb -
	sed $'s/\033\\[[0-9]*m//g' colour | diff dumb -
	# A terminal that can show nothing else.
	LC_ALL=C TERM=dumb on_terminal 80 "$MEMSCOPE" report run.mscope > ascii
	! LC_ALL=C grep -n '[^ -~]' ascii || fail "not ASCII"
}

@test "a name cannot do anything to a terminal" {
	record --cmdline --launches=all -o run.mscope -- "$ROOT/tests/e2e/gpu_program" 20 hostile \
		$'\033[2J\033]0;owned\007' $'\u202e\x9b2J\r' "$(printf '%010240d' 0)"
	LC_ALL=C.UTF-8 TERM=dumb on_terminal 80 "$MEMSCOPE" report run.mscope > text
	! LC_ALL=C grep -n $'[\001-\010\013-\037\177]\|\xc2[\x80-\x9f]\|\xe2\x80' text ||
		fail "it is sent to the terminal"
	grep -q "2J" text
}

@test "thresholds are set and printed" {
	record -o run.mscope -- "$WORKLOADS/calls" 3
	report run.mscope > report.md
	! grep "Thresholds" report.md || fail "none was set"
	report --threshold leak-size=3M run.mscope > report.md
	assert_equal "$(sed -n '/^## Thresholds/,$p' report.md | tail -n +5)" \
		"| leak-size | 3 MiB | 1 MiB | less than this is no leak |"
	report -v -f text run.mscope 2> /dev/null > report.txt
	[ "$(sed -n '/^Thresholds/,$p' report.txt | grep -c '^  [a-z-]* ')" -gt 20 ]
	report_json --threshold leak-size=3M,leak-time=1.5s,sync-time=77 run.mscope
	assert_equal "$(in_report '.thresholds | map(select(.value != .default) | [.name, .value])')" \
		'[["leak-size",3145728],["leak-time",1500000000],["sync-time",77]]'
}

@test "who held memory, by user, container, pod, job or name: the sums are those of the processes" {
	local by

	record -o one.mscope -- "$WORKLOADS/calls" 3
	for by in user container pod job comm; do
		"$MEMSCOPE" report -q -f json --by "$by" -o report.json one.mscope
		valid report report.json
		jq -e --arg by "$by" '.options.by == $by and (.recordings[0] | .groups.by == $by and
			([.groups.list[].processes] | add) == (.processes | length) and
			([.groups.list[].left_bytes] | add) ==
				([.processes[].spaces[] | select(.space == "device" or .space == "pool" or .space == "managed" or
					.space == "array" or .space == "graph" or .space == "physical").live.bytes] | add // 0))' report.json
	done
	"$MEMSCOPE" report -q -f json one.mscope | jq -e '.options.by == null and .recordings[0].groups == null'
	"$MEMSCOPE" report --by user one.mscope > report.md
	grep -q "^| $(id -un) | 1 | 0 | 0 B | " report.md
	"$MEMSCOPE" report -q --by comm -f html one.mscope | grep -q 'id="r1-groups"\|Device and managed memory by'
	"$MEMSCOPE" report -q --by comm -f text one.mscope | tr -s ' ' | grep -q '^ *calls 1 0 0 B'
}
