# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf report -f html`: the page's numbers are those of the JSON, it is inert whatever names
# there are, and somebody with mouse or keyboard can use it in a real browser.

load helpers

PYTHON=/usr/bin/python3
HERE=$ROOT/tests/e2e

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	export LD_LIBRARY_PATH=$BUILT/simcuda
	cd "$BATS_FILE_TMPDIR" || exit 1
	# A program that leaks until there is no memory left.
	SIMCUDA_MEMORY=160M "$MEMSCOPE" record -q $MASK --launches=all --copies=all -o run.mscope -- \
		"$HERE/gpu_program" 400 || true
	make_page run run.mscope
}

# Both reports on some files: NAME.html and NAME.json.
make_page() {
	local name=$1
	shift

	"$MEMSCOPE" report -q -f html -o "$name.html" "$@"
	"$MEMSCOPE" report -q -f json -o "$name.json" "$@"
}

run_page() {
	echo "$BATS_FILE_TMPDIR/run.html"
}

needs_browser() {
	command -v chromedriver > /dev/null && "$PYTHON" -c 'import selenium' 2> /dev/null ||
		skip "no Chromium, chromedriver or python3-selenium"
}

browse() {
	"$PYTHON" "$HERE/browse" "$@"
}

@test "numbers, links, policy and data of the page" {
	"$PYTHON" "$HERE/check_page" "$BATS_FILE_TMPDIR/run.html" "$BATS_FILE_TMPDIR/run.json"
	# It has what it is about.
	grep -q '<h1 id="verdict-h">Out of memory' "$BATS_FILE_TMPDIR/run.html"
	[ "$(jq '.recordings[0].findings | length' "$BATS_FILE_TMPDIR/run.json")" -ge 2 ]
	# What is live follows the verdict; a moment has both clocks.
	[ "$(grep -o 'id="\(verdict\|r1-timeline\|r1-coverage\|r1-findings\)"' "$BATS_FILE_TMPDIR/run.html" | tr '\n' ' ')" = \
		'id="verdict" id="r1-timeline" id="r1-coverage" id="r1-findings" ' ]
	grep -qE '<h4>Failure 1 at \+[0-9.]+ s \(20[0-9-]+T[0-9:.]+Z\)</h4>' "$BATS_FILE_TMPDIR/run.html"
	grep -qE ' title="20[0-9-]+T[0-9:.]+Z">\+[0-9.]+ s <span class="clock">[0-9:.]+</span></td>' "$BATS_FILE_TMPDIR/run.html"
	# All that the process held when memory ran out was made by its functions.
	jq -e '.recordings[0].out_of_memory[0].processes[0] | .live.bytes > 0 and .live.bytes == ([.by_api[].live.bytes] | add)' "$BATS_FILE_TMPDIR/run.json"
	"$MEMSCOPE" report "$BATS_FILE_TMPDIR/run.mscope" > run.txt
	at=$(grep -o 'memscope-bpf report --at 20[0-9T:.-]*Z' run.txt | cut -d ' ' -f 4)
	"$MEMSCOPE" report -q --at "$at" -f json -o at.json "$BATS_FILE_TMPDIR/run.mscope"
	assert_equal "$(jq '[.recordings[0].processes[0].by_api[] | select(.space == "device" or .space == "pool").live_bytes] | add' at.json)" \
		"$(jq '.recordings[0].out_of_memory[] | select(.outcome == "fatal") | .processes[0] | [.by_api[] | select(.space == "device" or .space == "pool").live.bytes] | add' "$BATS_FILE_TMPDIR/run.json")"
	# Small, but for the data.
	[ "$("$MEMSCOPE" report -f html "$ROOT/tests/golden/dump-1.0.mscope" | wc -c)" -lt 400000 ]
}

@test "old recordings, lost and damaged ones, many and none" {
	cp "$ROOT/tests/golden/dump-1.0.mscope" golden.mscope
	make_page golden golden.mscope
	"$PYTHON" "$HERE/check_page" golden.html golden.json
	grep -q 'class="lost some"' golden.html
	"$MEMSCOPE" record -q $MASK -o empty.mscope -- true
	make_page empty empty.mscope
	"$PYTHON" "$HERE/check_page" empty.html empty.json
	grep -q 'class="verdict warn"' empty.html
	grep -q "No call was recorded" empty.html
	make_page fleet empty.mscope "$BATS_FILE_TMPDIR/run.mscope" golden.mscope
	"$PYTHON" "$HERE/check_page" fleet.html fleet.json
	needs_browser
	browse fleet.html fleet
}

@test "mouse and keys: tables, charts, lanes, owners, addresses; the Tab key reaches everything" {
	needs_browser
	browse "$(run_page)" tables charts lanes owners tabs
}

@test "three leaks are found by their lines" {
	needs_browser
	"$MEMSCOPE" record -q $MASK --stacks=alloc --stack-frames=python -o leaks.mscope -- "$HERE/three_leaks"
	make_page leaks leaks.mscope
	"$PYTHON" "$HERE/check_page" leaks.html leaks.json
	browse leaks.html sites tabs
	# Too short to look for growth: then nothing is said of memory that is kept.
	"$MEMSCOPE" report -q -f md leaks.mscope > leaks.md
	grep -q "Not looked for: leak-growth" leaks.md
	! grep "no memory kept" leaks.md || false
	grep -qF 'allocate (three_leaks:12) \< Cache.remember (three_leaks:18) \< step (three_leaks:35)' leaks.md
}

@test "the line that a program waits in stands out" {
	needs_browser
	SIMCUDA_DELAY=cuCtxSynchronize=16ms,cuMemcpyHtoD_v2=4ms \
		"$MEMSCOPE" record -q $MASK --stacks=waits --stack-frames=python -o waits.mscope -- "$HERE/waits_program" 80
	make_page waits waits.mscope
	"$PYTHON" "$HERE/check_page" waits.html waits.json
	browse waits.html waits
}

@test "three stalls, told apart by the lanes of GPUs, threads and phases" {
	# Captures of other tests do not hear its marks.
	cp "$MEMSCOPE" "$(dirname "$MEMSCOPE")/libmemscope-cupti.so" .
	LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simcupti SIMCUPTI=slow=work_1:60ms SIMCUDA_DELAY=cuMemsetD8Async=20ms \
		in_background OTHER_PID messages "./${MEMSCOPE##*/}" record -v $MASK --gpu-time=10m -o run.mscope -- \
		"$WORKLOADS/gpu_work" 1 30
	wait_for 'grep -qs "debug: tracing" messages'
	"./${MEMSCOPE##*/}" mark --begin late
	"./${MEMSCOPE##*/}" mark --end late
	wait "$OTHER_PID"
	OTHER_PID=''
	"$MEMSCOPE" report -q -f html -o run.html run.mscope
	"$MEMSCOPE" report -q -f json -o run.json run.mscope
	"$PYTHON" "$HERE/check_page" run.html run.json
	needs_browser
	browse run.html stalls
}

# Processes that another is to share its CPU with: not longer than it takes.
RIVALS=()
end_rivals() {
	[ ${#RIVALS[@]} -eq 0 ] || kill "${RIVALS[@]}" || true
	RIVALS=()
}

eval "without_rivals_$(declare -f teardown)"
teardown() {
	end_rivals
	without_rivals_teardown
}

# stalled RULE PROGRAM_ARGUMENT: records what is held up so, and has its reason found on the page.
stalled() {
	rm -f run.mscope
	# shellcheck disable=SC2086 # may be empty
	LD_LIBRARY_PATH=$BUILT/simcuda:$BUILT/simcupti "$MEMSCOPE" record -q $MASK --gpu-time --host=500ms -o run.mscope -- \
		"${@:3}" "$HERE/stalls_program" "$2" 40
	end_rivals
	make_page run run.mscope
	"$PYTHON" "$HERE/check_page" run.html run.json
	browse run.html "explains=$1"
}

@test "a new user finds why a program is held up, from the verdict to the lanes" {
	local i

	needs_browser
	export SIMCUPTI=kernel=300us
	stalled gpu-idle input
	SIMCUDA_DELAY=cuMemcpyHtoD_v2=30ms stalled pageable-copies pageable
	SIMCUDA_DELAY=cuCtxSynchronize=4ms stalled sync-bound sync
	for i in 1 2; do
		taskset -c 0 timeout 60 sh -c 'while :; do :; done' 3>&- &
		RIVALS+=("$!")
	done
	SIMCUDA_SPIN=cuCtxSynchronize=30ms stalled cpu-contention none taskset -c 0
}

@test "a process has one colour in all charts" {
	needs_browser
	# shellcheck disable=SC2016 # of the shell in there
	"$MEMSCOPE" record -q $MASK -f -o two.mscope -- sh -c '"$0/three_leaks"; "$0/gpu_program" 20' "$HERE"
	make_page two two.mscope
	browse two.html processes
}

@test "segments as rows of blocks: those that the program left in each" {
	SIMCUDA_MEMORY=1G PROBED=1 "$MEMSCOPE" record -q $MASK --tensors=all --stacks=alloc -o pinned.mscope -- \
		"$WORKLOADS/tensors" "$WORKLOADS/libc10.so" pinned > did
	make_page pinned pinned.mscope
	"$PYTHON" "$HERE/check_page" pinned.html pinned.json
	# When memory ran out, and at the peak: 48 rows each, a block of 512 B in the middle of each, in the
	# colour of its call stack: of the whole one, or of that which is cut short until there are tables.
	assert_equal "$(grep -c '<h4>Segments of PyTorch' pinned.html)" 2
	assert_equal "$(grep -c '<path class="t[0-9] s1" d="M64 0h1v1H64z"/></svg> <span>512 B of 20 MiB in use, by 1 block<' pinned.html)" 96
	[ "$(grep -o '<path class="t[0-9] s1" d="M64 0h1v1H64z"/>' pinned.html | sort | uniq -c | sort -rn |
		awk 'NR <= 2 { sum += $1 } END { print sum }')" -ge 88 ]
	grep -q "Shown are the 48 of $(awk '$1 == "alloc" && $3 == 512' did | wc -l) with most free memory" pinned.html
	needs_browser
	browse pinned.html segments
}

@test "light, dark, narrow, on paper, without scripts" {
	needs_browser
	browse "$(run_page)" colours scripts_off
}

@test "hostile names are inert" {
	"$MEMSCOPE" record -q --cmdline $MASK --launches=all -o hostile.mscope -- "$HERE/gpu_program" 20 hostile \
		'</script><img src=x onerror=window.owned=1>' $'\u202e\x1b[2J\xff' "$(printf '%010240d' 0)"
	make_page hostile hostile.mscope
	grep -q 'script>' hostile.json
	"$PYTHON" "$HERE/check_page" hostile.html hostile.json
	needs_browser
	browse hostile.html hostile
}

@test "100,000 spans" {
	needs_browser
	browse "$(run_page)" many >&3
}

@test "axe-core finds nothing" {
	needs_browser
	local package=$BUILT/axe-core.tgz

	# From the npm registry, if that can be reached.
	[ -s "$package" ] || { mkdir -p axe && cd axe && timeout 60 npm pack axe-core@4 > /dev/null 2>&1 &&
		cp axe-core-*.tgz "$package" && cd ..; } || skip "axe-core cannot be had here"
	tar -xzf "$package" package/axe.min.js
	browse "$(run_page)" axe=package/axe.min.js
}
