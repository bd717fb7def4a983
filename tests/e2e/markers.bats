# SPDX-License-Identifier: BSD-2-Clause
#
# What programs mark of their work, and what is added up between the markers, held against what the
# programs say themselves.

load reading

# The phases of a recording, in the form in which the program says them.
seen() {
	"$MEMSCOPE" report -f json "$1" > report.json
	jq -r '.recordings[0].phases.list[] | [(.path | join("/")), .times, .held_bytes.total,
		.held_bytes.max, .peak_bytes, .allocs, .alloc_bytes, .frees, .free_bytes, .copies,
		.copy_bytes, .launches, .waits] | @tsv' report.json | sort
}

# lacking: what is not in the numbers
lacking() {
	jq -c '.recordings[0].phases | [.lost, .unmatched_ends, .left, .dropped, .ambiguous_ends]' \
		report.json
}

all="--launches=all --copies=all"

@test "four levels deep in eight threads, and ranges across them: every number is the program's" {
	# shellcheck disable=SC2086
	record $all -o run.mscope -- "$WORKLOADS/markers" tree 8 1500 > did
	sort did | diff - <(seen run.mscope)
	[ "$(cut -f 1 did | tr -cd '/\n' | sort -u | tail -1)" = /// ]
	assert_equal "$(lacking)" "[0,0,0,0,0]"
	valid report report.json
}

@test "timelines draw what is marked, each from its beginning to its end" {
	local format

	# shellcheck disable=SC2086
	record $all -o run.mscope -- "$WORKLOADS/markers" tree 4 300 > did
	"$MEMSCOPE" report -f json -o report.json run.mscope
	"$MEMSCOPE" export -j -o run.ndjson run.mscope
	for format in perfetto chrome; do
		"$MEMSCOPE" export -f $format -o run.$format run.mscope
		run -0 "$ROOT/tests/e2e/export_reader.py" $format run.$format report.json run.ndjson
		assert_equal "${lines[0]}" "$(grep -cE '"action":"(push|start)"' run.ndjson) marks"
	done
	[ "$(grep -c '"ph":"B"' run.chrome)" -gt 100 ]
}

@test "attached to in the middle" {
	mkfifo in
	"$WORKLOADS/markers" wait 500 < in > did 3>&- &
	OTHER_PID=$!
	exec 8> in
	wait_for 'grep -q waiting did'
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record $MASK $all -o run.mscope -p "$OTHER_PID" 2> messages 3>&- 8>&- &
	RECORD_PID=$!
	wait_for 'grep -q "recording; Ctrl-C" messages'
	echo >&8
	wait "$OTHER_PID" && wait "$RECORD_PID"
	OTHER_PID='' RECORD_PID=''
	sed 1d did | sort | diff - <(seen run.mscope)
	assert_equal "$(lacking)" "[0,0,0,0,0]"
}

@test "any pair of functions, by the name of the file or its path" {
	local file

	for file in markers "$WORKLOADS/markers"; do
		rm -f run.mscope
		record --markers=off --marker "$file:marked_outer" --marker "$file:marked_inner" \
			-o run.mscope -- "$WORKLOADS/markers" functions 50
		assert_equal "$(seen run.mscope | cut -f 1,2,6,8)" \
			"$(printf 'marked_outer\t50\t100\t50\nmarked_outer/marked_inner\t100\t100\t0')"
		jq -e '.recordings[0].phases.list | all(.source == "function" and .unfinished == 0)' \
			report.json
	done
	run "$MEMSCOPE" record --marker nothing -o run.mscope -- true
	assert_equal "$status" 2
	assert_equal "$output" 'memscope-bpf: error: --marker: "nothing" is not LIBRARY:FUNCTION, usdt:LIBRARY:PROVIDER:NAME[,END] or py:[FILE:]FUNCTION'
}

@test "a marker that no process has is said, and a function that is traced anyway is refused" {
	"$MEMSCOPE" record $MASK --marker markers:marked_outer --marker markers:marked_outre \
		--marker usdt:markers:markers:begin,edn --marker usdt:markres:markers:instant \
		-o run.mscope -- "$WORKLOADS/markers" functions 5 > did 2> messages
	diff - <(grep -e --marker messages) <<-'EOF'
		memscope-bpf: warning: --marker markers:marked_outre: no traced process has this function
		memscope-bpf: warning: --marker usdt:markers:markers:edn: no traced process has this probe
		memscope-bpf: warning: --marker usdt:markres:markers:instant: no traced process has this probe
	EOF
	assert_equal "$(seen run.mscope | cut -f 1,2)" "$(printf 'marked_outer\t5')"
	run "$MEMSCOPE" record --marker libcuda:cuMemAlloc_v2 -o refused.mscope -- true
	assert_equal "$status" 2
	assert_equal "$output" 'memscope-bpf: error: --marker libcuda:cuMemAlloc_v2: this CUDA function is traced anyway, and cannot also be a marker; name the function that calls it'
	[ ! -e refused.mscope ]
}

@test "static probes, also those that a program passes only if they are looked at" {
	record --marker usdt:markers:markers:begin,end --marker usdt:markers:markers:instant \
		--marker usdt:markers:markers:gated -o run.mscope -- "$WORKLOADS/markers" probes 50 > did
	grep -qx 'gated 50' did
	assert_equal "$(seen run.mscope | cut -f 1,2,6,8)" "$(printf \
		'markers:begin,end\t50\t50\t0\nmarkers:gated\t50\t0\t0\nmarkers:instant\t50\t0\t0')"
	record --markers=off -o off.mscope -- "$WORKLOADS/markers" probes 50 > did
	grep -qx 'gated 0' did
	for wrong in usdt: usdt:a usdt:a:b usdt:a:b: usdt::b:c usdt:a::c usdt:a:b:,c usdt:a:b:c,; do
		run "$MEMSCOPE" record --marker $wrong -o run.mscope -- true
		assert_equal "$status" 2
	done
}

@test "NVTX 3, by our library in a command: every number is the program's, and its output as without" {
	# shellcheck disable=SC2086
	record $all --markers=inject -o run.mscope -- "$WORKLOADS/markers3" tree 8 1500 > did
	sort did | diff - <(seen run.mscope)
	assert_equal "$(lacking)" "[0,0,0,0,0]"
	jq -e '.recordings[0].phases.list | all(.source == "injected")' report.json
	rm run.mscope
	record -o run.mscope -- "$WORKLOADS/markers3" tree 1 100 > did
	"$MEMSCOPE" report -f json run.mscope | jq -e '.recordings[0].phases == null'
	"$WORKLOADS/markers3" tree 1 100 | diff did -
	record --markers=inject -o names.mscope -- "$WORKLOADS/markers3" names > /dev/null
	seen names.mscope > seen
	valid report report.json
	jq -e '.recordings[0].phases | .unmatched_ends == 2 and .dropped == 36 and
		any(.list[]; .path == ["libnvtx/registered"]) and
		any(.list[]; .path == ["libnvtx/in a domain", "outer"])' report.json
}

@test "NVTX 3, by our library: a push and a pop return their level, of each domain" {
	record --markers=inject -o run.mscope -- "$WORKLOADS/markers3" levels > did
	assert_equal "$(cat did)" "-2 0 1 0 2 0 -2 2 1 0 -2 0"
	assert_equal "$("$WORKLOADS/markers3" levels)" "-2 -2 -2 -2 -2 -2 -2 -2 -2 -2 -2 -2"
}

@test "NVTX 3 that cannot be seen, and why" {
	NVTX_INJECTION64_PATH=/nowhere.so run "$MEMSCOPE" record --markers=inject -o run.mscope \
		-- "$WORKLOADS/markers3" tree 1 50
	assert_equal "$status" 0
	grep -q 'is already set, to /nowhere.so' <<< "$output"
	run "$MEMSCOPE" record --markers=inject -o run.mscope -p $$
	assert_equal "$status" 2
	grep -q 'needs a command to start' <<< "$output"
	# What a command starts is not traced, and not recorded, unless -f is given.
	rm run.mscope
	record --markers=inject -o run.mscope -- sh -c '"$0" tree 1 50; exit 0' "$WORKLOADS/markers3"
	"$MEMSCOPE" report -f json run.mscope | jq -e '.recordings[0].phases == null'
	record -f --markers=inject -o followed.mscope -- sh -c '"$0" tree 1 50; exit 0' "$WORKLOADS/markers3" > did
	cut -f 1,2 did | sort | diff - <(seen followed.mscope | cut -f 1,2)
}

@test "names can be anything, and as many as a program likes" {
	record -o run.mscope -- "$WORKLOADS/markers" names
	seen run.mscope > seen
	valid report report.json
	jq -e '.recordings[0].phases | .unmatched_ends == 2 and .dropped == 36 and
		(.list | length) == 257 and ([.list[] | .times] | add) == 12 + 64 + 1000 and
		(.list[] | select(.kind == "others") | .times > 700) and
		any(.list[]; .path == ["\u001b[31mred\u0007\r\nline | `tick` <b>&amp;"]) and
		any(.list[]; .path[-1] == "x" * 255 and .kind == "thread") and
		any(.list[]; .path[-1] == null) and any(.list[]; .path == ["in a domain", "outer"]) and
		any(.list[]; .path == ["never ended"] and .unfinished == 1)' report.json
	for format in md text html; do
		"$MEMSCOPE" report -f $format run.mscope > "report.$format"
		run ! grep -qP '\x1b|\x07|\xff' "report.$format"
	done
	run ! grep -q '<b>&amp;' report.html
	grep -q 'all others' report.html
	"$MEMSCOPE" export -j run.mscope > events
	jq -es 'map(select(.type == "marker" and .name_is_cut)) | length == 1 and
		(.[0].name | length) == 255' events
}

@test "ranges without numbers, as they are without a tool in the program" {
	NVTX_NO_NUMBERS=1 record -o run.mscope -- "$WORKLOADS/markers" tree 1 2000 > did
	grep '^range' did | cut -f 1-9 | sort | diff - <(seen run.mscope | grep '^range' | cut -f 1-9)
	assert_equal "$(lacking)" "[0,0,0,0,0]"
}

@test "as fast as they can be set, none is lost" {
	record -o run.mscope -- "$WORKLOADS/markers" rate 100000
	seen run.mscope | cut -f 1,2 | diff <(printf 'fast\t100000\n') -
	assert_equal "$(lacking)" "[0,0,0,0,0]"
}

@test "only if it is asked for, but in recordings" {
	record --markers=off -o run.mscope -- "$WORKLOADS/markers" tree 1 50
	"$MEMSCOPE" report -f json run.mscope | jq -e '.recordings[0].phases == null'
	trace -o traced -- "$WORKLOADS/markers" tree 1 50
	run ! grep -q ') marker: ' traced
	trace --markers nvtx -o traced -- "$WORKLOADS/markers" tree 1 50 > did
	assert_equal "$(grep -E '\) marker: begins .*, thread [0-9]+, nvtx$' traced | grep -vc 'begins range')" \
		"$(grep -v ^range did | cut -f 2 | awk '{ sum += $1 } END { print sum }')"
}

@test "by single uprobes, which have no session" {
	# shellcheck disable=SC2086
	record $all --without=uprobe_multi -o run.mscope -- "$WORKLOADS/markers" tree 2 200 > did
	sort did | diff - <(seen run.mscope)
}

@test "Python functions, by the stacks of their calls: every number is the program's" {
	local markers="--marker py:Trainer.train_step --marker py:forward --marker py:phases_program:evaluate --marker py:neither"

	# shellcheck disable=SC2086
	record $markers -o run.mscope -- /usr/bin/python3 "$ROOT/tests/e2e/phases_program" 4 30 2> said | sort > did
	grep -qF -- '--marker py:neither: no traced CUDA call was made in this function' said
	assert_equal "$(grep -c 'no traced CUDA call' said)" 1
	seen run.mscope | cut -f 1,2,7,12,13 | sed 's/Trainer\.//' | sort > saw
	diff <(awk -v OFS='\t' '{ print $1, $2, $5, $3, $4 }' did) saw
	assert_equal "$(lacking)" "[0,0,0,0,0]"
	jq -e '.recordings[0].phases.list | all(.source == "python" and .unfinished == 0)' report.json
	valid report report.json
	# From the first call to the last one.
	jq -r '.recordings[0].phases.list[] | [(.path | join("/") | sub("Trainer."; "")), .time_ns.total] | @tsv' report.json |
		sort | paste - did | awk '$1 != $3 || $2 < $8 || $2 > $9 { print; bad = 1 } END { exit bad }'
	"$MEMSCOPE" report -f md run.mscope | grep -qF 'A Python function is seen at its CUDA calls alone'
	# What the user has asked for of stacks stays as it is.
	rm run.mscope
	# shellcheck disable=SC2086
	record $markers --stacks=alloc -o run.mscope -- /usr/bin/python3 "$ROOT/tests/e2e/phases_program" 1 10 > did
	seen run.mscope | cut -f 1,7 | diff <(printf 'Trainer.train_step\t10485760\n') -
	trace --marker py:train_step -o traced -- /usr/bin/python3 "$ROOT/tests/e2e/phases_program" 2 5 > did
	assert_equal "$(grep -c ') marker: begins train_step, thread [0-9]*, python$' traced)" 10
	assert_equal "$(grep -c ') marker: ends, thread [0-9]*, python$' traced)" 10
	run ! grep -q '^ > ' traced
	run -2 "$MEMSCOPE" trace --marker py: -- true
	[[ $output == *"py:[FILE:]FUNCTION"* ]]
	run -2 "$MEMSCOPE" record --marker py:step --stacks=alloc --stack-frames=native -- true
	[[ $output == *"leave --stack-frames=native out"* ]]
	run -2 "$MEMSCOPE" record --marker py:step --stacks=off -- true
	[[ $output == *"--marker py: finds functions in the stacks of calls: leave --stacks=off out"* ]]
}

@test "a Python function that is open when the capture ends: its phase ends with its last call" {
	cat > program <<- 'END'
		import ctypes
		import sys

		cuda = ctypes.CDLL("libcuda.so.1")


		def step():
		    address = ctypes.c_uint64()
		    for _ in range(3):
		        assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20)) == 0
		    print("called", flush=True)
		    sys.stdin.readline()


		context = ctypes.c_void_p()
		assert cuda.cuInit(0) == 0
		assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
		print("waiting", flush=True)
		sys.stdin.readline()
		step()
	END
	mkfifo in
	/usr/bin/python3 program < in > did 3>&- &
	OTHER_PID=$!
	exec 8> in
	wait_for 'grep -q waiting did'
	record_start --marker py:step -o run.mscope -p "$OTHER_PID"
	echo >&8
	wait_for 'grep -q called did'
	record_stop
	echo >&8
	wait "$OTHER_PID"
	OTHER_PID=''
	"$MEMSCOPE" report -f json run.mscope > report.json
	assert_equal "$(jq -c '.recordings[0].phases.list | map([.path[0], .times, .unfinished])' report.json)" '[["step",1,0]]'
}
