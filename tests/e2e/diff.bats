# SPDX-License-Identifier: BSD-2-Clause
#
# `memscope-bpf diff`: real recordings of real programs, before and after something was changed.

load reading

diff_json() {
	"$MEMSCOPE" diff -f json -o diff.json "$@"
}

in_diff() {
	jq -c "$1" diff.json
}

# Everything that differs, however little.
ALL="--min-bytes 0 --min-count 0 --min-share 0"

# The puppet does what the arguments say, in FILE.
record_puppet() {
	local file=$1
	shift

	printf '%s\n' load init "$@" 'exit 0' > script
	record --stacks=off -o "$file" -- "$WORKLOADS/puppet" < script > answers
	[ "$(sort -u answers)" = ok ]
}

@test "a seeded regression is found, with its owner and its bytes" {
	record_puppet a.mscope "alloc 3000000" "churn 40" "copy 1000000"
	record_puppet b.mscope "alloc 3000000" "churn 40" "copy 1000000" \
		"alloc 5000001" "alloc 5000001" "alloc 5000001"
	diff_json a.mscope b.mscope
	valid diff diff.json
	assert_equal "$(in_diff '.processes | map([.change, .a.comm, .b.comm, .compared_per, .a.pid == .b.pid])')" \
		'[["changed","puppet","puppet","run",false]]'
	assert_equal "$(in_diff '.growth | [.process, .of, .a, .b, .bytes, .uncertain]')" \
		'[0,"live",3000000,18000003,15000003,false]'
	assert_equal "$(in_diff '[.rows[] | select(.dimension == "space") | .space, .metrics.live_bytes.change,
		.metrics.live_allocations.change, .uncertain]')" '["device",15000003,3,false]'
	assert_equal "$(in_diff '[.rows[] | select(.dimension == "api") | .api, .space, .device,
		.metrics.live_bytes.change, .change]')" '["cuMemAlloc_v2","device",0,15000003,"changed"]'
	# In its size class there was nothing before.
	assert_equal "$(in_diff '[.rows[] | select(.dimension == "size") | .api, .size_class_bytes,
		.metrics.live_bytes.a, .metrics.live_bytes.b, .change]')" \
		'["cuMemAlloc_v2",4194304,0,15000003,"new"]'
	# Nothing else: neither copies nor the other allocations.
	assert_equal "$(in_diff '[.rows[].dimension] | unique')" '["api","device","size","space"]'
	# And the other way round it has gone.
	diff_json b.mscope a.mscope
	assert_equal "$(in_diff '[.growth, (.rows[] | select(.dimension == "space") | .metrics.live_bytes.change)]')" \
		'[null,-15000003]'
	"$MEMSCOPE" diff a.mscope b.mscope > diff.md
	grep -q "^puppet (.*) holds 14.3 MiB more device memory at the end: 2.86 MiB before, 17.2 MiB now.*by cuMemAlloc_v2 on device 0 .* in 3 blocks more).*the numbers are exact" diff.md
}

@test "aligned text on a terminal, Markdown in a pipe" {
	export LC_ALL=C.UTF-8 TERM=dumb
	unset COLUMNS

	record_puppet a.mscope "alloc 3000000"
	record_puppet b.mscope "alloc 3000000" "alloc 5000001"
	on_terminal 90 "$MEMSCOPE" diff a.mscope b.mscope > text
	head -n 1 text | grep -qx "GPU memory: what changed"
	! grep -nE '^.{91}|\*\*' text || fail "wider than the terminal, or Markdown"
	# What differs by more than noise has a star.
	grep -qE '^  puppet .* device +7.63 MiB +\*\+4.77 MiB ' text
	COLUMNS=90 "$MEMSCOPE" diff -f text a.mscope b.mscope | diff text -
	"$MEMSCOPE" diff a.mscope b.mscope | grep -q '^| puppet .*| device | 7.63 MiB | \*\*+4.77 MiB\*\* |'
}

@test "two runs of the same program do not differ" {
	record_puppet a.mscope "alloc 3000000" "churn 500" "copy 1000000" free
	record_puppet b.mscope "alloc 3000000" "churn 500" "copy 1000000" free
	# shellcheck disable=SC2086 # several options
	diff_json $ALL --fail-on growth=1,leak,oom,new,any,loss,unknown=pass a.mscope b.mscope
	valid diff diff.json
	assert_equal "$(in_diff '[.rows, .findings, .rows_below_noise, .growth]')" '[[],[],0,null]'
	record -o c.mscope -- $(ffmpeg_command)
	record -o d.mscope -- $(ffmpeg_command)
	# shellcheck disable=SC2086
	diff_json $ALL --fail-on growth=1,leak,oom,new,any,loss,unknown=pass c.mscope d.mscope
	assert_equal "$(in_diff '[.rows, .findings, .rows_below_noise, .growth]')" '[[],[],0,null]'
	# A busy machine may make one of them slower, which is said, and is no difference.
	assert_equal "$(in_diff '.verdict[0] == "Nothing differs." or .time_changes != []')" true
	# Twice as many frames are twice as many launches and copies, and no more memory.
	record -o e.mscope -- $(ffmpeg_command 40)
	diff_json c.mscope e.mscope
	valid diff diff.json
	assert_equal "$(in_diff '[.rows[] | [.dimension, .kernel, .metrics.calls.a, .metrics.calls.b]] |
		map(select(.[0] == "kernel") | .[2:]) | unique')" '[[20,40]]'
	assert_equal "$(in_diff '[.growth, ([.rows[].dimension] | unique)]')" '[null,["call","copy","kernel"]]'
}

@test "the same recording has no rows, whatever is lost in it" {
	record_puppet a.mscope "alloc 3000000" "churn 100"
	head -c $(($(stat -c %s a.mscope) - 10)) a.mscope > cut.mscope
	for file in a.mscope cut.mscope "$ROOT/tests/golden/dump-1.0.mscope"; do
		# shellcheck disable=SC2086
		diff_json $ALL --fail-on growth=1,leak,oom,new,any,unknown=pass "$file" "$file"
		valid diff diff.json
		assert_equal "$(in_diff '[.rows, .findings, .rows_below_noise, .growth]')" '[[],[],0,null]'
	done
	# Which is good news only of whole ones.
	"$MEMSCOPE" diff -f html a.mscope a.mscope | grep -q '<section class="verdict good"'
	"$MEMSCOPE" diff -f html cut.mscope cut.mscope | grep -q '<section class="verdict warn"'
}

@test "--fail-on: 8 exactly when it is asked for and found, and it says what" {
	record_puppet a.mscope "alloc 3000000" free
	record_puppet b.mscope "alloc 3000000" free "alloc 1000000"
	record_puppet c.mscope "alloc 9000000" free
	run -0 --separate-stderr "$MEMSCOPE" diff a.mscope b.mscope
	run -0 --separate-stderr "$MEMSCOPE" diff --fail-on growth=1000001,oom,loss a.mscope b.mscope
	[[ $stderr == *": --fail-on: nothing was found; checked "* ]]
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on growth=1000000,growth=1G a.mscope b.mscope
	[[ $stderr == *"puppet ("*"holds 977 KiB more device memory at the end (0 B before, 977 KiB now)"* ]]
	[[ $output == "# GPU memory: what changed"* ]]
	# Only the peak.
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on growth=1M -o out.md a.mscope c.mscope
	[[ $stderr == *"its peak of device memory is 5.72 MiB higher (2.86 MiB before, 8.58 MiB now)"* ]]
	grep -q "^# GPU memory: what changed" out.md
	# Less is no growth.
	run -0 --separate-stderr "$MEMSCOPE" diff --fail-on growth=1 c.mscope a.mscope
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on any c.mscope a.mscope
	[[ $stderr == *"something differs by more than noise"* ]]
	# A kind of memory that was not there.
	record -o d.mscope -- $(ffmpeg_command 10)
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on new a.mscope d.mscope
	run -0 --separate-stderr "$MEMSCOPE" diff --fail-on leak,oom,loss,unknown=pass a.mscope d.mscope
	# What is missing.
	head -c $(($(stat -c %s b.mscope) - 10)) b.mscope > cut.mscope
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on loss a.mscope cut.mscope
	[[ $output == *"B lacks something"* ]]
	SIMCUDA_MEMORY=512K run record -o oom.mscope -- $(ffmpeg_command 10)
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on oom d.mscope oom.mscope
	[[ $stderr == *"--fail-on oom: oom in ffmpeg ("*") by cuMemAlloc_v2 ("*"), which was not there before"* ]]
	[[ $output == *"New: oom in ffmpeg"* ]]
	run -0 --separate-stderr "$MEMSCOPE" diff --fail-on oom oom.mscope d.mscope
	[[ $output == *"Gone: oom in ffmpeg"* ]]
	record -o leak.mscope -- "$ROOT/tests/e2e/gpu_program" 100
	cat > leaks.py << 'PYTHON'
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
context, block = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
for step in range(120):
    assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(int(sys.argv[1]) << 20)) == 0
    time.sleep(0.015)
PYTHON
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on "leak>=low" a.mscope leak.mscope
	[[ $stderr == *"--fail-on leak>=low: leak-growth in python3"*" ("*") by cuMemAlloc_v2 ("*"), which was not there before"* ]]
	# A leak of A counts if it is at least twice as large in B, and not because B did more.
	record -o worse.mscope -- /usr/bin/python3 leaks.py 5
	record -o less.mscope -- /usr/bin/python3 leaks.py 1
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on "leak>=low" less.mscope worse.mscope
	[[ $stderr == *"--fail-on leak>=low: leak-growth in python3 leaks.py ("*") by cuMemAlloc_v2 (600 MiB), 120 MiB before: at least twice as much for its time and work"* ]]
	[[ $output == *"Worse: leak-growth in python3 leaks.py"* ]]
	run -0 --separate-stderr "$MEMSCOPE" diff --fail-on "leak>=low" worse.mscope less.mscope
	[[ $stderr == *" 600 MiB in A, 120 MiB in B"* ]]
	"$MEMSCOPE" diff -f json -o worse.json less.mscope worse.mscope
	valid diff worse.json
	assert_equal "$(jq -c '[.findings[] | select(.rule == "leak-growth") | [.worse, .bytes_a, .bytes_b]]' worse.json)" \
		"[[true,$((120 << 20)),$((600 << 20))]]"
	run -0 --separate-stderr "$MEMSCOPE" diff --fail-on "leak>=low" leak.mscope leak.mscope
	[[ $stderr == *'--fail-on leak>=low: what B has of this kind, A has, too, and B not twice as much (for the same time and launches), so it is not counted: '*' in A, '*' in B; write growth=10M '* ]]
}

@test "one new kernel, one new failure: no threshold hides what is new" {
	cat > launch.py << 'PYTHON'
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, module = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuModuleLoadData(ctypes.byref(module), b"any kernel" + bytes(54)) == 0
for name in sys.argv[1:]:
    kernel = ctypes.c_void_p()
    assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, name.encode()) == 0
    assert cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
PYTHON
	record --launches=all -o a.mscope -- /usr/bin/python3 launch.py old old
	record --launches=all -o b.mscope -- /usr/bin/python3 launch.py old old old
	record --launches=all -o c.mscope -- /usr/bin/python3 launch.py old old new
	SIMCUDA_FAIL='cuMemFree_v2:1=700' record -o d.mscope -- $(ffmpeg_command 10)
	record -o e.mscope -- $(ffmpeg_command 10)
	# Once more of what is there already.
	run -0 --separate-stderr "$MEMSCOPE" diff --fail-on new,any a.mscope b.mscope
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on new a.mscope c.mscope
	diff_json a.mscope c.mscope
	assert_equal "$(in_diff '[.rows[] | .dimension, .change, .kernel, .metrics.calls.b]')" '["kernel","new","new",1]'
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on any c.mscope a.mscope
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on new e.mscope d.mscope
	diff_json e.mscope d.mscope
	valid diff diff.json
	assert_equal "$(in_diff '[.rows[] | select(.dimension == "failure") | .change, .api, .result, .metrics.calls.b]')" \
		'["new","cuMemFree_v2",700,1]'
	run -0 --separate-stderr "$MEMSCOPE" diff --fail-on new d.mscope e.mscope
	run -8 --separate-stderr "$MEMSCOPE" diff --fail-on any d.mscope e.mscope
}

@test "a process that is new, and one that is gone" {
	record_puppet a.mscope "alloc 3000000"
	record -o b.mscope -- $(ffmpeg_command 5)
	diff_json a.mscope b.mscope
	valid diff diff.json
	assert_equal "$(in_diff '[.processes[] | [.change, .a.comm, .b.comm]] | sort')" \
		'[["gone","puppet",null],["new",null,"ffmpeg"]]'
	"$MEMSCOPE" diff a.mscope b.mscope > diff.md
	grep -q "ffmpeg ([0-9]*) is new. puppet ([0-9]*) is not there any more." diff.md
}

@test "of parts of a run, what was done is compared per launch, and not per second" {
	local recorder

	puppet_with_cuda
	for part in a b; do
		tool_start record recorder -o $part.mscope -p "$PUPPET_PID"
		puppet churn 100
		[ $part = a ] || puppet churn 200
		[ $part = a ] || puppet alloc 2000000
		kill -INT "$recorder"
		wait "$recorder"
	done
	diff_json a.mscope b.mscope
	valid diff diff.json
	# It is the same process, of which nobody knows what it held before.
	assert_equal "$(in_diff '[.processes[0] | .compared_per, .uncertain, .a.pid == .b.pid]')" '["second",true,true]'
	assert_equal "$(in_diff '[.rows[] | select(.dimension == "space") | .uncertain, .metrics.live_bytes.change,
		.metrics.allocs.change, .metrics.allocs.beyond_noise]')" '[true,2000000,201,false]'
	diff_json --per run a.mscope b.mscope
	assert_equal "$(in_diff '[.rows[] | select(.dimension == "space") | .metrics.allocs.beyond_noise]')" '[true]'
	puppet_end
}

@test "neither root nor a GPU nor BPF is needed" {
	local place

	record_puppet a.mscope "alloc 3000000"
	place=$(mktemp -d)
	cp "$MEMSCOPE" a.mscope "$place"
	chmod 755 "$place" "$place"/*
	cd "$place"
	run setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs ./memscope-bpf diff a.mscope a.mscope
	cd /
	rm -r "$place"
	assert_equal "$status" 0
	[[ $output == *"Nothing differs."* ]]
}

@test "a directory is a side" {
	mkdir before after
	record_puppet before/1.mscope "alloc 3000000"
	record -o before/2.mscope -- $(ffmpeg_command 5)
	record_puppet after/1.mscope "alloc 3000000"
	record -o after/2.mscope -- $(ffmpeg_command 5)
	# shellcheck disable=SC2086
	diff_json $ALL before after
	valid diff diff.json
	assert_equal "$(in_diff '[(.a.recordings | length), .rows, .devices_are_compared]')" '[2,[],false]'
	assert_equal "$(in_diff '[.processes[].b.comm] | sort')" '["ffmpeg","puppet"]'
}

@test "html: the tables in a browser, with names that would rather be something else" {
	local program="$ROOT/tests/e2e/gpu_program"

	record --launches=all -o a.mscope -- "$program" 60
	record --launches=all -o b.mscope -- "$program" 90 hostile '</script><img src=x onerror=window.owned=1>'
	"$MEMSCOPE" diff -f html -o page.html a.mscope b.mscope
	# The same numbers as in the JSON.
	diff_json a.mscope b.mscope
	valid diff diff.json
	/usr/bin/python3 - << 'PYTHON'
import json, re
page = open("page.html", encoding="utf-8").read()
table = page[page.index('id="r0-kernel-table"'):]
table = table[:table.index("</table>")]
shown = [[int(value) for value in re.findall(r'data-v="(-?[0-9]+)"', row)] for row in table.split("<tr>")[2:]]
rows = [row["metrics"]["calls"] for row in json.load(open("diff.json"))["rows"] if row["dimension"] == "kernel"]
assert shown == [[row["b"], row["change"]] for row in rows] and len(rows) > 5, (shown, rows)
assert "<img" not in page and page.count("<script") == 4
PYTHON
	command -v chromedriver > /dev/null && /usr/bin/python3 -c 'import selenium' 2> /dev/null ||
		skip "no Chromium, chromedriver or python3-selenium"
	/usr/bin/python3 "$ROOT/tests/e2e/browse" page.html changes
}

@test "wrong arguments, and files that are no recordings" {
	record_puppet a.mscope "alloc 3000000"
	: > empty.mscope
	local refused

	refused() {
		local status=$1 message=$2
		shift 2

		run "-$status" --separate-stderr "$MEMSCOPE" diff "$@"
		[[ $stderr == *$message* ]] || fail "expected: $message" "got:      $stderr"
		[ -z "$output" ]
	}
	refused 2 "two recordings"
	refused 2 "two recordings" a.mscope
	refused 2 "two recordings" a.mscope a.mscope a.mscope
	refused 2 "md, text, json, html, junit or github" -f docx a.mscope a.mscope
	refused 2 "there is no PDF" -f pdf a.mscope a.mscope
	refused 2 "a number from 1 to 10000" --top 0 a.mscope a.mscope
	refused 2 "a number from 0 to 100" --min-share 101 a.mscope a.mscope
	refused 2 "is not a size" --min-bytes x a.mscope a.mscope
	refused 2 "auto, run, second or launch" --per step a.mscope a.mscope
	refused 2 "write growth=10M" --fail-on growth a.mscope a.mscope
	refused 2 '"x" is not a size' --fail-on growth=x a.mscope a.mscope
	refused 2 "write growth=1 (B has so much more)" --fail-on leak=1 a.mscope a.mscope
	refused 2 "times are not judged" --fail-on slow=10% a.mscope a.mscope
	refused 2 "growth=SIZE, leak" --fail-on fire a.mscope a.mscope
	refused 2 "growth=SIZE, leak" --fail-on l a.mscope a.mscope
	refused 2 "had ended by then" --from 2h a.mscope a.mscope
	refused 7 "empty.mscope: empty" a.mscope empty.mscope
	refused 1 "absent.mscope: cannot open" absent.mscope a.mscope
	cp a.mscope before.mscope
	cp a.mscope other.mscope
	refused 2 "the output would replace it" -o a.mscope before.mscope a.mscope
	refused 2 "the output would replace it" -o a.mscope a.mscope before.mscope
	refused 2 "other.mscope: is a recording" -o other.mscope a.mscope before.mscope
	cmp a.mscope before.mscope
	cmp a.mscope other.mscope
}

@test "of a function's lines, a row shows the one that keeps memory" {
	local n

	for n in 1 65; do
		# shellcheck disable=SC2086 # may be empty
		"$MEMSCOPE" record -q $MASK --stacks=alloc --stack-frames=python -o "$n.mscope" -- \
			/usr/bin/python3 "$ROOT/tests/e2e/two_lines" "$n"
	done
	"$MEMSCOPE" diff -f json 1.mscope 65.mscope > diff.json
	assert_equal "$(jq -r '[.. | objects | select(.frames?)][0].frames[] | select(.function == "work").line' diff.json)" 15
}

@test "devices at the recordings' end, and processes at their own, are told apart; so are missing stacks" {
	record_puppet a.mscope "alloc 3000000" free
	record_puppet b.mscope "alloc 9000000"
	"$MEMSCOPE" diff a.mscope b.mscope > diff.md
	grep -q 'What processes of B held when they ended is not on a device any more' diff.md
	grep -q 'Call stacks are not compared: neither side has any' diff.md
	"$MEMSCOPE" diff b.mscope a.mscope | grep -q 'What processes of A held when they ended'
	record_puppet c.mscope "alloc 12000000"
	"$MEMSCOPE" diff b.mscope c.mscope | grep -q 'What processes of both sides held when they ended'
	# Nothing was left: there is nothing to explain.
	record_puppet d.mscope "alloc 12000000" free
	run ! grep -q 'held when they ended' <("$MEMSCOPE" diff a.mscope d.mscope)
}
