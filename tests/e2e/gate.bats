# SPDX-License-Identifier: BSD-2-Clause
#
# `--fail-on`, `--suppress` and the formats for CI: exit codes, and texts that others can read.

load reading

report() {
	"$MEMSCOPE" report "$@"
}

# What an XML parser that is not ours finds at a path of its language; one line each.
in_xml() {
	/usr/bin/python3 - "$@" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
for found in root.iterfind(sys.argv[2]):
    print(found.get(sys.argv[3]) if len(sys.argv) > 3 else found.text or "")
PYTHON
}

# The puppet does what the arguments say, in FILE.
record_puppet() {
	local file=$1
	shift

	printf '%s\n' load init "$@" 'exit 0' > script
	record --stacks=off -o "$file" -- "$WORKLOADS/puppet" < script > answers
	[ "$(sort -u answers)" = ok ]
}

@test "a program that leaks: each way to ask, and the exit code" {
	record -o leak.mscope -- "$ROOT/tests/e2e/gpu_program" 100
	report -f json leak.mscope | jq -e '.recordings[0].findings[0] | .rule == "leak-growth"'
	# Two sums of it in one paragraph: the second one is of more.
	report leak.mscope | grep -q " leaves [0-9.]* MiB behind: .* MiB had not been freed, that growth included)"
	run -8 --separate-stderr report --fail-on "leak-growth>=low" -o out.md leak.mscope
	[[ $stderr == *"--fail-on leak-growth>=low: python3"*" ("*" (leak-growth, cuMemAlloc_v2, "*" confidence)"* ]]
	run -8 --separate-stderr report --fail-on "leak>=low" -o out.md leak.mscope
	# In a second or two, nothing is sure.
	run -9 --separate-stderr report --fail-on "leak-growth>=high" -o out.md leak.mscope
	[[ $stderr == *"leak-growth could not be looked for: calls were made for less than ten times leak-time ("*"; leak-time is 1 s); add unknown=pass to let this pass, let the program work for longer (more steps), or ask for left=SIZE or peak=SIZE"* ]]
	[[ ${stderr##*$'\n'} == *": --fail-on: nothing with enough confidence was found, but not everything could be checked; the exit code is 9, and not 8"* ]]
	# What is found counts more.
	run -8 --separate-stderr report --fail-on "leak-growth>=high,leak-growth>=low" -o out.md leak.mscope
	[[ $stderr == *"could not be looked for"* && $stderr != *"nothing was found"* ]]
	run -9 "$MEMSCOPE" diff --fail-on "leak-growth>=high" leak.mscope leak.mscope
	[[ $output == *"could not be looked for in B"*"; add unknown=pass to let this pass"*"--fail-on: nothing with enough confidence was found"* ]]
	run -0 --separate-stderr report --fail-on "leak-growth>=high,unknown=pass" -o out.md leak.mscope
	[[ $stderr == *"could not be looked for"*"(unknown=pass)"*"--fail-on: nothing with enough confidence was found; no condition could be checked in "* ]]
	run -0 --separate-stderr report --fail-on "leak-growth>=high,oom,unknown=pass" -o out.md leak.mscope
	[[ ${stderr##*$'\n'} == *"--fail-on: nothing with enough confidence was found; checked oom in "* ]]
	run -0 --separate-stderr report --fail-on oom,loss,inexact,empty -o out.md leak.mscope
	[[ $stderr == *": --fail-on: nothing was found; checked oom, loss, inexact, empty in "*" calls of 1 process, "* ]]
	[ "$(wc -l <<< "$stderr")" -eq 1 ]
	run -0 --separate-stderr report -q --fail-on oom -o out.md leak.mscope
	[ -z "$stderr" ]
	# As grep -q: the exit code, and what it is for.
	run -0 --separate-stderr report -q --fail-on oom leak.mscope
	[ -z "$output$stderr" ]
	run -0 --separate-stderr report -q --fail-on oom --json leak.mscope
	[[ $output == *memscope-bpf/report* ]]
	run -8 --separate-stderr report -q --fail-on left=1 leak.mscope
	[ -z "$output" ]
	[[ $stderr == *"--fail-on left=1: "*" held "* ]]
	# It is known.
	echo "leak-growth python? cuMemAlloc* # of old" > known
	run -0 --separate-stderr report --fail-on "leak>=low" --suppress known leak.mscope
	[[ $stderr == *": --fail-on: nothing but what is suppressed was found; checked leak>=low in "* ]]
	[[ $output == *" 1 finding is suppressed."* ]]
	report -f json --suppress known leak.mscope > report.json
	valid report report.json
	jq -e '.recordings[0] | .findings_suppressed == 1 and ([.findings[] | select(.rule == "leak-growth")] == [])' report.json
	echo "oom decoder" >> known
	run -0 --separate-stderr report --suppress known -o out.md leak.mscope
	[[ $stderr == *"known: line 2 suppresses nothing: oom decoder"* ]]
	grep -q '^| 2 | oom | decoder | .* | 0 |$' out.md
}

@test "growth is counted from the first allocation, or from where --warmup says" {
	record_puppet run.mscope "alloc 3000000" "churn 50" "alloc 1000000"
	run -8 --separate-stderr report --fail-on growth=1000000 --warmup 1allocs run.mscope
	[[ $stderr == *"--fail-on growth=1000000: puppet ("*") holds 977 KiB more device memory than after its initialisation: 2.86 MiB then, 3.81 MiB at the end (growth; high confidence)"* ]]
	[[ $output == *"**F1 growth**: puppet ("*"Confidence: high"* ]]
	run -0 report --fail-on growth=1000001 --warmup 51allocs run.mscope
	run -0 report --fail-on growth=1 --warmup 52allocs run.mscope
	run -9 --separate-stderr report --fail-on growth=1 --warmup 53allocs run.mscope
	[[ $stderr == *"growth could not be looked for: no process went on for long enough after its initialisation (at most 52 allocations in a process, "*"; --warmup is 53 allocations); record for longer, say with --warmup"* ]]
	run -9 --separate-stderr report --fail-on growth=1 --warmup 1h run.mscope
	run -0 report --fail-on growth=1,unknown=pass --warmup 1h run.mscope
	report -f json --fail-on growth=1 --warmup 1allocs run.mscope > report.json || [ $? -eq 8 ]
	valid report report.json
}

@test "peak=SIZE: to record from the start is advised where that is what lacks, and not of other losses" {
	puppet_with_cuda
	puppet alloc 1000000
	record_start -o late.mscope -p "$PUPPET_PID"
	puppet alloc 1000
	record_stop
	puppet_end
	run -9 --separate-stderr report --fail-on peak=1G late.mscope
	[[ $stderr == *"what processes held before they were attached to is not known, and it may have been more; record the program from its start (record -f -- COMMAND"* ]]
	run -9 --separate-stderr report --pid 4242 --fail-on peak=1T "$ROOT/tests/golden/dump-1.4.mscope"
	[[ $stderr == *"the numbers are not exact, and it may have been more"* ]]
	[[ $stderr != *"from its start"* ]]
}

@test "what a short run leaves: left=SIZE, with its line; leak-at-exit says that it is too short" {
	record_puppet left.mscope "alloc 40000000"
	run -8 --separate-stderr report --fail-on left=38M left.mscope
	[[ $stderr == *"--fail-on left=38M: puppet ("*") held 38.1 MiB of device memory when it ended"* ]]
	run -0 --separate-stderr report --fail-on left=39M left.mscope
	[[ $stderr == *"--fail-on: nothing was found; checked left=39M in "*" of 1 process, "* ]]
	report -f junit -o out.xml --fail-on left=38M left.mscope || [ $? -eq 8 ]
	run -8 --separate-stderr report --fail-on peak=38M left.mscope
	[[ $stderr == *"--fail-on peak=38M: 38.1 MiB were held on device 0"*"; the process with the highest peak is puppet ("* ]]
	run -0 --separate-stderr report --fail-on peak=1G left.mscope
	[[ $(in_xml out.xml .//failure message) == "puppet ("*" held 38.1 MiB of device memory when it ended"* ]]
	run -9 --separate-stderr report --fail-on leak-at-exit left.mscope
	[[ $stderr == *"leak-at-exit could not be looked for: calls were made for less than leak-time by each process that left memory ("*"; leak-time is 1 s)"* ]]
	# However long it sleeps.
	mkfifo script.pipe
	{ printf '%s\n' load init "alloc 20000000" "alloc 20000000"; sleep 1.3; } > script.pipe &
	record --stacks=off -o slept.mscope -- "$WORKLOADS/puppet" < script.pipe > answers
	run -9 --separate-stderr report --fail-on leak,leak-at-exit slept.mscope
	[[ $stderr == *"leak-at-exit could not be looked for: calls were made for less than leak-time by each process that left memory ("* ]]
	# Where that is looked at, "nothing" is not said alone.
	run -0 --separate-stderr report --fail-on leak --threshold leak-time=1ns slept.mscope
	[[ $stderr == *"--fail-on: nothing was found; checked leak in "*"; 38.1 MiB had not been freed when processes ended, which no rule that was asked for calls a leak: report --fail-on left=SIZE fails for that" ]]
	# All is given back: there is nothing to judge.
	record_puppet none.mscope "alloc 40000000" free
	run -0 report --fail-on left,leak-at-exit none.mscope
	record -o nothing.mscope -- true
	run -9 --separate-stderr report --fail-on left nothing.mscope
	[[ $stderr == *"what processes left at their end could not be looked for: no call was recorded"* ]]
	# Killed while it holds memory, it did not end by itself.
	printf '%s\n' load init "alloc 40000000" > script
	mkfifo lines
	: > answers
	cat > killed <<- 'SH'
		{
			exec 3> lines
			cat script >&3
			while kill -0 $$ && [ "$(wc -l < answers)" -lt 3 ]; do sleep 0.02; done
			kill -9 $$
		} &
		exec "$0" < lines > answers
	SH
	record -o killed.mscope -- sh -c "$(cat killed)" "$WORKLOADS/puppet" || [ $? -eq 137 ]
	[ "$(sort -u answers)" = ok ]
	run -9 --separate-stderr report --fail-on left killed.mscope
	[[ $stderr == *"what processes left at their end could not be looked for: no process that allocated memory ended by itself in that time"* ]]
}

@test "JUnit XML: suites, tests, failures and errors, and what is said of them" {
	record_puppet run.mscope "alloc 3000000" "churn 50" "alloc 1000000"
	SIMCUDA_MEMORY=512K run record -o oom.mscope -- $(ffmpeg_command)
	run -8 report -f junit -o out.xml --fail-on oom,loss,growth=1,leak --warmup 1allocs run.mscope oom.mscope
	assert_equal "$(in_xml out.xml testsuite/testcase name | xargs)" \
		"oom loss growth=1 leak oom loss growth=1 leak"
	assert_equal "$(in_xml out.xml testsuite tests | xargs)" "4 4"
	[[ $(in_xml out.xml testsuite/testcase/failure message) == *"puppet ("*") holds 977 KiB more"* ]]
	[[ $(in_xml out.xml testsuite/testcase/failure message) == *"ffmpeg ("*") ran out of memory when it asked for "*" (oom, cuMemAlloc_v2"* ]]
	[[ $(in_xml out.xml testsuite/testcase/failure) == *"bytes asked for: "* ]]
	[[ $(in_xml out.xml testsuite/testcase/error message) == *"leak-growth could not be looked for: calls were made for less than leak-time"* ]]
	assert_equal "$(in_xml out.xml . failures)" 2
	# What may be unknown is skipped; without conditions, it is leaks and failures.
	run -0 report -f junit -o out.xml --fail-on leak,unknown=pass run.mscope
	[ "$(in_xml out.xml testsuite skipped)" = 1 ]
	run -0 report -f junit -o out.xml oom.mscope
	assert_equal "$(in_xml out.xml testsuite/testcase name | xargs)" "leak oom"
	[ "$(in_xml out.xml testsuite failures)" = 1 ]
	# A file that is none is a failure of its own.
	echo nothing > none.mscope
	run -8 report -f junit -o out.xml --fail-on loss run.mscope none.mscope
	[[ $(in_xml out.xml testsuite/testcase/failure message) == *"a file could not be used"* ]]
}

@test "annotations of a workflow: what fails comes first, one line each" {
	record_puppet run.mscope "alloc 3000000" "churn 50" "alloc 1000000"
	run -8 --separate-stderr report -f github --fail-on leak,growth=1 --warmup 1allocs run.mscope
	[[ ${lines[0]} == "::error title=memscope-bpf%3A growth::puppet ("*") holds 977 KiB more"*"%0Adevice memory held after the initialisation: 2.86 MiB%0A"* ]]
	[[ ${lines[1]} == "::error title=memscope-bpf%3A leak::leak-growth could not be looked for: "* ]]
	[[ ${lines[-1]} == "::notice title=memscope-bpf%3A report::"* ]]
	run -0 --separate-stderr report -f github --fail-on leak,unknown=pass run.mscope
	[[ ${lines[0]} == "::warning title=memscope-bpf%3A leak::leak-growth could not be looked for: "* ]]
	SIMCUDA_MEMORY=512K run record -o oom.mscope -- $(ffmpeg_command)
	run -8 --separate-stderr "$MEMSCOPE" diff -f github --fail-on oom,growth=1G run.mscope oom.mscope
	[[ ${lines[0]} == "::error title=memscope-bpf diff%3A oom::oom in ffmpeg ("*"which was not there before" ]]
	run -8 "$MEMSCOPE" diff -f junit -o out.xml --fail-on oom,growth=1G,any run.mscope oom.mscope
	assert_equal "$(in_xml out.xml testsuite/testcase name | xargs)" "oom growth=1G any"
	[ "$(in_xml out.xml testsuite failures)" = 2 ]
}

@test "an annotation stands beside the line that memory comes from" {
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record -q $MASK --stacks=alloc --stack-frames=python -o run.mscope -- "$ROOT/tests/e2e/three_leaks"
	# Plain messages name it, too.
	run -8 --separate-stderr report --fail-on growth=1M,left --warmup 1allocs -o out.md run.mscope
	[[ $stderr == *"--fail-on growth=1M: "*" allocated in allocate (three_leaks:12) < "* ]]
	[[ $stderr == *"--fail-on left: "*" held "*" of device memory when it ended; "*" of it was allocated in allocate (three_leaks:12) < "* ]]
	GITHUB_WORKSPACE=$ROOT run -8 --separate-stderr report -f github --fail-on left=1M run.mscope
	[[ ${lines[0]} == "::error file=tests/e2e/three_leaks,line=12,title=memscope-bpf%3A left=1M::"*" held "* ]]
	# What fails is no finding here.
	[[ $output != *"Nothing wrong"* ]]
	GITHUB_WORKSPACE=$ROOT run -8 --separate-stderr report -f github --fail-on growth=1M --warmup 1allocs run.mscope
	[[ ${lines[0]} == "::error file=tests/e2e/three_leaks,line=12,title=memscope-bpf%3A growth::"*" allocated in allocate (three_leaks:12) < "* ]]
}

@test "names that try to break out are text in both formats" {
	hostile_files=("$ROOT"/tests/golden/*.mscope)
	"$WORKLOADS/hostile_dump" hostile.mscope
	for file in hostile.mscope "${hostile_files[@]}"; do
		run report -f junit --fail-on leak,oom,loss,inexact -o out.xml "$file"
		[ "$status" -eq 8 ] || [ "$status" -eq 0 ]
		in_xml out.xml testsuite tests > /dev/null
		run --separate-stderr report -f github --fail-on leak,oom,loss,inexact "$file"
		[ "$status" -eq 8 ] || [ "$status" -eq 0 ]
		! grep -vE '^::(error|warning|notice) title=[^:]+::' <<< "$output" || fail "a line that is no annotation"
		! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' <<< "$output" || fail "a control character"
	done
}

@test "mistakes in conditions and files are named" {
	: > x.mscope
	refused() {
		local message=$1
		shift
		run -2 --separate-stderr report "$@" x.mscope
		[[ $stderr == *"$message"* ]] || fail "expected: $message" "got:      $stderr"
	}
	refused '"fire" is not one of growth=SIZE, leak, oom' --fail-on fire
	refused 'write leak,oom,loss' --fail-on any
	refused 'write peak=1G' --fail-on 'peak>1G'
	refused '"x" is not a size' --fail-on peak=x
	refused '"90%" is a percentage, and peak takes bytes; write peak=64M' --fail-on peak=90%
	refused '"5%" is a percentage, and left takes bytes; write left=64M' --fail-on left=5%
	refused 'there is no condition "leaks"; did you mean leak (a finding that it leaks, which takes leak-time), or left=SIZE (so much was held at the end, leak or not)?' --fail-on leaks
	refused 'there is no condition "leak-at-exti"; did you mean leak-at-exit?' --fail-on leak-at-exti
	refused '"x" is not a size; write 4096, 64K, 1.5M or 2G, or left for anything' --fail-on left=x
	refused '"sure" is not low, medium or high' --fail-on 'leak>=sure'
	refused '"x" is not a size; write 4096' --fail-on growth=x
	refused '--warmup goes with --fail-on growth=SIZE' --warmup 10s
	refused '"ten" is not a time, as in 30s, nor a number of allocations' --fail-on growth=1 --warmup ten
	refused '"0allocs" is not a time' --fail-on growth=1 --warmup 0allocs
	refused 'none: No such file or directory' --suppress none
	printf 'oom\n# fine\nleek-growth python3\n' > known
	refused 'known: line 3: there is no rule "leek-growth"' --suppress known
	printf 'oom a b c d\n' > known
	refused 'known: line 1: it takes a rule, a process, a function and a frame, not also "d"' --suppress known
	head -c 100 /dev/urandom > known
	run -2 report --suppress known x.mscope
}
