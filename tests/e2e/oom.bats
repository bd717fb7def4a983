# SPDX-License-Identifier: BSD-2-Clause
#
# Programs that run out of memory, and what becomes of that: in a recording, its report and its
# bundle.

bats_require_minimum_version 1.5.0
load helpers

export SIMCUDA_MEMORY=1G

# exhausted HOW CODE OPTION...: records a program that runs out of memory and exits with CODE; the
# first request that failed in `failed`, the report's first sentences in `verdict`
exhausted() {
	local how=$1 code=$2

	shift 2
	run -"$code" --separate-stderr "$MEMSCOPE" record $MASK -o run.mscope "$@" -- "$WORKLOADS/exhaust" "$how"
	[ -e run.mscope ] || return 0
	"$MEMSCOPE" report -f json -o report.json run.mscope
	jq -c '.recordings[0].out_of_memory[0]' report.json > failed
	jq -r '.verdict[0]' report.json > verdict
}

# Lines of the program's source are another matter (stacks.bats).
without_lines() {
	sed 's/ (exhaust\.c:[0-9]*)//g'
}

failed() {
	jq -c "$1" failed
}

@test "a program that frees what it kept and is granted it: recovered, and no failure" {
	exhausted evict 0
	assert_equal "$(failed '[.outcome, .api, .requested_bytes, .granted_bytes, .failures]')" \
		'["recovered","cuMemAlloc_v2",314572800,314572800,1]'
	assert_equal "$(failed '[.own.bytes, .freed_bytes, .freed_allocations]')" '[943718400,419430400,4]'
	assert_equal "$(failed '[.cause, .told, .told_after.free_bytes, .told_after.freed_before_bytes]')" \
		"[\"cached\",null,$((124 << 20)),0]"
	assert_equal "$(failed '.would_have_fit | map([.if, .bytes])')" \
		"[[\"cache-given-back\",419430400],[\"less\",$((176 << 20))]]"
	"$MEMSCOPE" report --fail-on oom run.mscope > /dev/null
	"$MEMSCOPE" report -f html run.mscope | grep -q 'recovered: 300 MiB was granted'
}

@test "where the call was made that failed, and where what was held had been allocated" {
	local functions='[.frames[].function // "?"] | .[:(index("main") // 0) + 1]'

	# Its files are known before it is done.
	SIMCUDA_DELAY=cuInit=$(time_to_attach 300)ms exhausted evict 0 --stacks=alloc
	assert_equal "$(failed ".failed_in | $functions")" '["evict","main"]'
	assert_equal "$(failed ".by_site | map([(. | $functions), .live])")" \
		'[[["fill","evict","main"],{"bytes":943718400,"allocations":9}]]'
	"$MEMSCOPE" report -f text run.mscope | without_lines > report.txt
	grep -q 'The call was made in evict < main\.' report.txt
	tr -s ' \n' ' ' < report.txt | grep -qE 'fill < evict < (main 900 MiB 9|900 MiB 9 main) '
	"$MEMSCOPE" report -f html run.mscope | without_lines | grep -q 'The call was made in evict &lt; main'
	# Without stacks nothing is said of them.
	rm run.mscope
	exhausted evict 0 --stacks=off
	assert_equal "$(failed '[.failed_in, .by_site]')" '[null,[]]'
	run ! grep -q 'made in' <("$MEMSCOPE" report run.mscope)
}

@test "a program that asks for less and less: backed off" {
	exhausted halve 0
	assert_equal "$(failed '[.outcome, .first_requested_bytes, .requested_bytes, .granted_bytes, .failures]')" \
		"[\"backed-off\",$((4096 << 20)),$((1024 << 20)),$((512 << 20)),3]"
	"$MEMSCOPE" report --fail-on oom run.mscope > /dev/null
	"$MEMSCOPE" report -f text run.mscope | tr -s ' \n' ' ' | grep -q 'It backed off: 512 MiB was granted'
}

@test "a program that cannot go on: fatal, and --fail-on oom says so" {
	exhausted stop 3
	assert_equal "$(failed '[.outcome, .exit_status, .cause, .granted_bytes]')" '["fatal",768,"full",null]'
	grep -q 'It was fatal: nothing was granted after that; the process exited with 3' verdict
	"$MEMSCOPE" report --comm exhaust run.mscope > only.md
	grep -q '^| Only | 1 of 1 process: ' only.md
	run -8 "$MEMSCOPE" report --fail-on oom run.mscope
	[[ $output == *"How it ended: fatal: nothing was granted after that; the process exited with 3"* ]]
}

@test "a program that does its work without it: handled, with what says so" {
	exhausted without 0
	assert_equal "$(failed '[.outcome, .exit_status, .cause, .allocations_since, .work_since]')" '["handled",0,"full",5,5]'
	grep -q 'It was handled: 5 allocations and 0 launches or copies succeeded after it; the process exited with 0' verdict
	grep -q 'Cause: full (the process itself needs more than there is: it held 900 MiB' verdict
	run -8 "$MEMSCOPE" report --fail-on oom run.mscope
}

@test "memory that is made in pieces: the request is all of them, and what was held is what was before" {
	exhausted pieces 0
	assert_equal "$(failed '[.outcome, .api, .requested_bytes, .requested_at_least, .piece_bytes]')" \
		"[\"recovered\",\"cuMemCreate\",$((600 << 20)),false,$((20 << 20))]"
	assert_equal "$(failed '[.own.bytes, .freed_bytes]')" "[$((600 << 20)),$((400 << 20))]"
}

@test "a launch that fails: out of memory, although launches are only counted" {
	export SIMCUDA_FAIL=cuLaunchKernel:50=2
	exhausted launch 4
	assert_equal "$(failed '[.outcome, .api, .requested_bytes, .space, .own.bytes]')" \
		"[\"fatal\",\"cuLaunchKernel\",null,null,$((64 << 20))]"
	assert_equal "$(failed '[.tid > 0, .cause]')" '[true,"unknown"]'
	run -8 "$MEMSCOPE" report --fail-on oom run.mscope
	rm run.mscope
	exhausted launch 4 --on-oom
	"$MEMSCOPE" report -f json run.oom-1.mscope > report.json
	assert_equal "$(jq -c '.recordings[0] | [.end_reason, .out_of_memory[0].outcome]' report.json)" \
		'["oom","fatal"]'
}

@test "diff: what grew, by call stack; none of it where one side has no stacks" {
	local functions='[.stack.frames[].function // "?"] | .[:(index("main") // 0) + 1]'

	export SIMCUDA_DELAY
	SIMCUDA_DELAY=cuInit=$(time_to_attach 300)ms
	SIMCUDA_MEMORY=1G exhausted evict 0 --stacks=alloc
	mv run.mscope after.mscope
	SIMCUDA_MEMORY=2G exhausted evict 1 --stacks=alloc
	"$MEMSCOPE" diff -f json -o diff.json run.mscope after.mscope
	valid diff diff.json
	# With twice the memory it is granted at once, and the program gives up; else it frees four buffers first.
	assert_equal "$(jq -c "[.rows[] | select(.dimension == \"site\") |
		[($functions), .metrics.live_bytes.a, .metrics.live_bytes.b]]" diff.json)" \
		"[[[\"fill\",\"evict\",\"main\"],$((900 << 20)),$((500 << 20))]]"
	"$MEMSCOPE" diff -f text run.mscope after.mscope > diff.txt
	grep -q 'Memory by call stack' diff.txt
	tr -s ' \n' ' ' < diff.txt | without_lines | grep -q 'all of it was allocated in fill < evict < main (-400 MiB)'
	run ! grep -q 'Call stacks are not compared' diff.txt
	"$MEMSCOPE" diff -f html run.mscope after.mscope | without_lines | grep -q 'fill &lt; evict &lt; main'
	rm run.mscope
	exhausted evict 0 --stacks=off
	"$MEMSCOPE" diff -f json -o diff.json run.mscope after.mscope
	assert_equal "$(jq '[.rows[] | select(.dimension == "site")] | length' diff.json)" 0
	"$MEMSCOPE" diff -f text run.mscope after.mscope | tr -s ' \n' ' ' > diff.txt
	grep -q 'Call stacks are not compared: A has none; |*record --stacks=alloc|* on both sides' diff.txt
}

# explained OPTION...: bytes that allocations explain on the device at the end of what is reported
explained() {
	"$MEMSCOPE" report -f json "$@" run.mscope | jq '.recordings[0].devices[0].explained_bytes'
}

@test "--at oom and --at peak: what was held then, without a time to be copied" {
	exhausted stop 3
	assert_equal "$(explained --at oom)" "$(failed .own.bytes)"
	assert_equal "$(explained --to oom:1)" "$(failed .own.bytes)"
	# What came of it is later: the recording goes on.
	"$MEMSCOPE" report --at oom run.mscope > at.md
	grep -q "It has an end that is not shown here: the report ends before it; without --at and --to, it says what came of it" at.md
	run ! grep -q "still running when the recording ended" at.md
	assert_equal "$(explained --at peak)" "$(jq '.recordings[0].devices[0].peak_bytes' report.json)"
	assert_equal "$("$MEMSCOPE" export -j --from oom run.mscope | jq -s 'map(select(.op? == "alloc" and .result == 0)) | length')" 0
	# The command that the report prints can be pasted.
	command=$("$MEMSCOPE" report run.mscope | grep -o 'memscope-bpf report --at .* run.mscope')
	assert_equal "$(explained --at "$(cut -d ' ' -f 4 <<< "$command")")" "$(failed .own.bytes)"
	run -5 "$MEMSCOPE" report --at oom:2 run.mscope
	[[ $output == *'run.mscope: memory ran out 1 time, not 2'* ]]
	run -2 "$MEMSCOPE" report --at oom:x run.mscope
	[[ $output == *'--at: "oom:x" is no failure; write oom:1 for the first, or oom'* ]]
	"$MEMSCOPE" record -q $MASK -o none.mscope -- true
	run -5 "$MEMSCOPE" report --at oom none.mscope
	[[ $output == *'none.mscope: memory never ran out'* ]]
	run -5 "$MEMSCOPE" report --at peak none.mscope
	[[ $output == *'none.mscope: no memory of a device was allocated, so there is no peak'* ]]
	# One of several that has no such moment is no error: the report is about the others.
	"$MEMSCOPE" report -q -f json --at oom run.mscope none.mscope > both.json 2> said
	assert_equal "$(jq '.recordings | length' both.json)" 1
	grep -q 'warning: none.mscope: memory never ran out' said
	run -1 grep error: said
	# A bundle has what the recorder's last life has left of the one before, too.
	cat none.mscope run.mscope > lives.mscope
	"$MEMSCOPE" report -q -f json --at oom lives.mscope > lives.json 2> said
	assert_equal "$(jq '.recordings[].devices[0].explained_bytes' lives.json)" "$(failed .own.bytes)"
	grep -q 'lives.mscope: memory never ran out' said
	"$MEMSCOPE" export -j --from oom lives.mscope | grep -v '"summary"' > from-lives.jsonl
	"$MEMSCOPE" export -j --from oom run.mscope | grep -v '"summary"' | diff - from-lives.jsonl
	cat none.mscope none.mscope > none-twice.mscope
	run -5 "$MEMSCOPE" report --at oom none-twice.mscope
	"$MEMSCOPE" record -q $MASK -o other.mscope -- true
	run -5 "$MEMSCOPE" report --at oom none.mscope other.mscope
	[[ $output == *'error: none of these recordings has what is asked for' ]]
}

# The report, of a program whose growth is not called a leak, however slow the machine is.
short() {
	"$MEMSCOPE" report --threshold leak-time=1h "$@" run.mscope
}

@test "memory that runs out within a second, from one line: the report says which, and to look there first" {
	# Its files are known before it is done.
	SIMCUDA_DELAY=cuInit=$(time_to_attach 300)ms exhausted creep 5 --stacks=alloc
	short -f json -o report.json
	valid report report.json
	jq -c '.recordings[0].out_of_memory[0]' report.json > failed
	assert_equal "$(failed '[.cause, .confidence, .lowered_by]')" \
		'["steady-growth","medium","it was seen for a short time: all of it may be needed"]'
	assert_equal "$(failed '.series | [.api, .live.bytes, .live.allocations, .block_bytes, .frees, .launched]')" \
		"[\"cuMemAlloc_v2\",$((1 << 30)),128,$((8 << 20)),0,true]"
	assert_equal "$(failed '.series.made_in.frames | map(.function) | .[:3]')" '["step","creep","main"]'
	short -f text | tr -s ' \n' ' ' | without_lines > report.txt
	grep -q 'Cause: steady-growth (most of what was in use came from one place, block by block until it failed' report.txt
	grep -qE 'failed: it held 1 GiB, and all of that came from step < creep < main in 128 blocks of 8 MiB each, made within [0-9.]+ m?s, and none of these was freed[;)]' report.txt
	grep -q 'What to do: Look first at where these blocks are made, and nothing is freed' report.txt
	run ! grep -q 'make batches or buffers smaller' report.txt
	short -f html | without_lines > report.html
	grep -q 'It held 1 GiB, and all of that came from step &lt; creep &lt; main in 128 blocks of 8 MiB each' report.html
	# Without stacks it is the function.
	rm run.mscope
	exhausted creep 5 --stacks=off
	short -f json | jq -c '.recordings[0].out_of_memory[0]' > failed
	assert_equal "$(failed '[.cause, .series.made_in]')" '["steady-growth",null]'
	short -f text | tr -s ' \n' ' ' | grep -q 'all of that came from cuMemAlloc_v2 in 128 blocks of 8 MiB each'
}

@test "a model that was loaded, layer by layer, and then worked with: no growth" {
	SIMCUDA_DELAY=cuInit=$(time_to_attach 300)ms exhausted model 6
	assert_equal "$(failed '[.cause, .series.live.allocations, .series.frees]')" '["full",28,0]'
	"$MEMSCOPE" report -f text run.mscope > report.txt
	run ! grep -qE 'steady-growth|Look first at where' report.txt
	tr -s ' \n' ' ' < report.txt | grep -qE 'itself needs more than there is: it held 896 MiB, and all of that came from .* in 28 blocks of 32 MiB each'
	run ! grep -q 'leak-growth' <(jq -r '.recordings[0].findings[].rule' report.json)
}
