# SPDX-License-Identifier: BSD-2-Clause
#
# With -c, launches are counted in the kernel: the summary must be as if each were recorded.

load helpers.bash

bats_require_minimum_version 1.5.0

# The workloads print what they expect themselves.
eval "with_log_$(declare -f setup)"
setup() {
	with_log_setup
	unset SIMCUDA_LOG
}

# The summary's kernels, as the workload prints them.
kernels() {
	jq -r 'select(.type == "summary") | .processes[].kernels[] | "\(.launches) \(.kernel)"' \
		counted.jsonl | sort
}

counted() {
	jq -r "select(.type == \"summary\") | $1" counted.jsonl
}

assert_account() {
	assert_equal "$(counted '.events | .seen == .shown + .filtered and .lost == 0')" true
}

# Runs the workload, and again and again, should its handles not have been given out anew.
@test "handles that come to mean another kernel" {
	local mask

	for mask in mmap_events uprobe_multi uprobe_session; do
		trace -q -c --json --without=$mask -o counted.jsonl -- "$WORKLOADS/launches" 200 > out
		[ "$(awk '/^reused/ { print $2 }' out)" -gt 50 ]
		diff -u <(grep -v ^reused out | sort) <(kernels)
		assert_equal "$(counted '.processes[0].failures[] | "\(.api) \(.count)"')" \
			"cuLaunchKernel 7"
		assert_equal "$(counted '.processes[0].launches')" \
			"$(awk '!/^reused/ { n += $1 } END { print n }' out)"
		# None of them came through the ring.
		assert_equal "$(counted .cost.highest_bulk_bytes)" 0
		assert_account
	done
}

@test "a program that executes itself, with the same handles" {
	trace -q -c --json -o counted.jsonl -- "$WORKLOADS/launches" 30 again > out
	# Both runs in one process: kernels of one name are one.
	diff -u <(awk '!/^reused/ { n[$2] += $1 } END { for (k in n) print n[k], k }' out | sort) \
		<(kernels)
	assert_account
}

@test "more kernels than there is room to count: the others are recorded" {
	trace -q -c --json -o counted.jsonl -- "$WORKLOADS/launches" many 17000 > out
	diff <(sort out) <(kernels)
	[ "$(counted .cost.highest_bulk_bytes)" -gt 0 ]
	assert_account
	# Without results, kernels have no names.
	trace -q -c --no-return --json -o counted.jsonl -- "$WORKLOADS/launches" many 17000 > out
	assert_equal "$(counted '.processes[0].kernels | length, all(.launches == 2)' | xargs)" \
		"$(wc -l < out) true"
	[ "$(counted .cost.highest_bulk_bytes)" -gt 0 ]
	assert_account
}

@test "what is over takes no room: handles renamed, programs executed" {
	# 21,000 names of eight handles, in turn: more than there is room for.
	trace -q -c --json -o counted.jsonl -- "$WORKLOADS/launches" renamed 24000 > out
	[ "$(awk '/^reused/ { print $2 }' out)" -gt 20000 ]
	diff <(awk '!/^reused/ && $1 { n[$2] += $1 } END { for (k in n) print n[k], k }' out | sort) \
		<(kernels)
	assert_equal "$(counted .cost.highest_bulk_bytes)" 0
	assert_account
	# 100 kernels and 200 executions.
	trace -q -c -f --json -o counted.jsonl -- "$WORKLOADS/launches" among 200 > out
	diff <(sort out) <(kernels)
	assert_equal "$(counted .cost.highest_bulk_bytes)" 0
	assert_account
}

@test "-c has the numbers of the summary with events, function by function" {
	local program numbers='.processes[0] | .launches, .graph_launches,
		([.kernels[] | [.kernel, .launches]] | sort), (.failures | sort)'

	export SIMCUDA_DEVICES=2
	for program in rows_driver rows_runtime-shared rows_runtime-static-ptds; do
		trace -q -c --json -o counted.jsonl -- "$WORKLOADS/$program" > /dev/null
		trace -q --json -o recorded.jsonl -- "$WORKLOADS/$program" > /dev/null
		diff -u <(jq -c "select(.type == \"summary\") | $numbers" recorded.jsonl) \
			<(jq -c "select(.type == \"summary\") | $numbers" counted.jsonl)
	done
}

@test "--api and -e choose among counted launches" {
	export SIMCUDA_DEVICES=2
	trace -q -c --json --api Ex -o counted.jsonl -- "$WORKLOADS/rows_driver" > /dev/null
	trace -q --json --api Ex -o recorded.jsonl -- "$WORKLOADS/rows_driver" > /dev/null
	assert_equal "$(counted '.events | "\(.seen) \(.shown) \(.filtered)"')" \
		"$(jq -r 'select(.type == "summary").events | "\(.seen) \(.shown) \(.filtered)"' \
			recorded.jsonl)"
	assert_account
	trace -q -c --json -e alloc -o counted.jsonl -- "$WORKLOADS/rows_driver" > /dev/null
	assert_equal "$(counted '.processes[0].launches')" null
}

# From which function so many launches came: what was estimated, its error, and the samples.
launch_sites() {
	"$MEMSCOPE" report -f json -o report.json run.mscope
	valid report report.json
	jq -r '.recordings[0].launch_samples.sites | group_by(.frames[1].function)[] |
		"\(.[0].frames[1].function) \(map(.estimated_launches) | add) \(map(.error_launches) | add) \(
			map(.taken) | add)"' report.json
}

@test "--launch-stacks: how many launches come from where, with the error of the estimate" {
	local site estimate error taken launched n

	# Of each, it is exact. Of one in N, it is not off by more than five standard deviations.
	for n in 1 2 20; do
		# shellcheck disable=SC2086 # may be empty
		"$MEMSCOPE" record -q $MASK --stacks=off --launch-stacks=1/$n --stack-frames=python -o run.mscope -- \
			"$ROOT/tests/e2e/launch_sites_program" 8000 > out
		launch_sites > sites
		assert_equal "$(wc -l < sites)" 2
		while read -r site estimate error taken; do
			launched=$(awk -v site="$site" '$1 == site { print $2 }' out)
			[ "$estimate" -eq $((taken * n)) ]
			if [ $n = 1 ]; then
				assert_equal "$error $estimate" "0 $launched"
			else
				[ "$error" -gt 0 ]
				[ $((estimate - launched)) -le $((error * 5 / 2)) ]
				[ $((launched - estimate)) -le $((error * 5 / 2)) ]
			fi
		done < sites
		assert_equal "$(jq -c '.recordings[0].launch_samples | [.one_in, .lost, .without_stack,
			.taken - ([.sites[].taken] | add)]' report.json)" "[$n,0,0,0]"
		# What is counted stays as it is: nothing of it is estimated, and launches are no calls with a time.
		assert_equal "$(jq -c '.recordings[0] | [.processes[0].launches, .call_sites]' report.json)" "[32000,[]]"
		rm run.mscope
	done
}

@test "--launch-stacks: a launch through the runtime is one, and the report says that it estimates" {
	export SIMCUDA_DEVICES=2
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record -q $MASK --layer=both --launch-stacks=1/1 -o run.mscope -- "$WORKLOADS/rows_runtime-shared" > /dev/null
	"$MEMSCOPE" report -f json -o report.json run.mscope
	assert_equal "$(jq '.recordings[0].launch_samples.taken' report.json)" \
		"$(jq '.recordings[0] | ([.processes[].launches] | add) +
			([.processes[].failures[] | select(.api | test("Launch.*Kernel")) | .count] | add // 0)' report.json)"
	rm run.mscope
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record -q $MASK --launch-stacks=1/10 --stack-frames=python -o run.mscope -- \
		"$ROOT/tests/e2e/launch_sites_program" 4000 > out
	"$MEMSCOPE" report -o report.md run.mscope
	grep -qF "the call stack of one launch in 10 was taken, by chance. The numbers are estimates," report.md
	grep -qE '^\| launch \(launch_sites_program:21\) .* backward .*\| cuLaunchKernel \| [0-9,]+ \| [0-9,]+ \|$' report.md
	"$MEMSCOPE" report -f html -o report.html run.mscope
	grep -q 'the call stack of one launch in 10 was taken, by chance. The numbers are estimates,' report.html
	# Without the option, there is nothing of it.
	# shellcheck disable=SC2086 # may be empty
	"$MEMSCOPE" record -q $MASK --stack-frames=python -o none.mscope -- "$ROOT/tests/e2e/launch_sites_program" 100 > out
	"$MEMSCOPE" report -f json none.mscope | jq -e '.recordings[0].launch_samples == null'
	run ! grep -q "Launches by call stack" <("$MEMSCOPE" report none.mscope)
}

@test "--launch-stacks: what is not 1/N, or not of launches that are counted, is refused" {
	local part

	for part in 1/0 0/5 1/-3 1/1000001 1/99999999999999999999 1/ 100 "" 1/5x 1/0x10 "1/ 5" 2/5; do
		run -2 "$MEMSCOPE" record --launch-stacks="$part" -o run.mscope -- true
		[[ $output == *"\"$part\" is not a part of the launches; write 1/100 "* ]]
	done
	run -2 "$MEMSCOPE" record --launch-stacks=1/5 --launches=off -o run.mscope -- true
	[[ $output == *"of launches that are summed up, and here there are none"* ]]
	run -2 "$MEMSCOPE" record --launch-stacks=1/5 --stacks=all -o run.mscope -- true
	[[ $output == *"each is recorded: leave it out, or write --launches=summary and --stacks=waits"* ]]
	run -2 "$MEMSCOPE" record --launch-stacks=1/5 --gpu-time -o run.mscope -- true
	[[ $output == *"each is recorded: leave it out, or write --launches=summary"* ]]
	[ ! -e run.mscope ]
}

# What a graph allocates, it allocates when it is launched.
@test "whatever is shown or recorded of launches, the memory of graphs is in the account" {
	local program graphs='.processes[0] | .graph_launches, (.spaces[] |
		select(.space == "graph") | .allocs, .frees, .implicit_frees, .peak_bytes, .exit_bytes)'

	export SIMCUDA_DEVICES=2
	for program in rows_driver rows_runtime-shared; do
		trace -q -c --json -o counted.jsonl -- "$WORKLOADS/$program" > /dev/null
		counted "$graphs" > all
		assert_equal "$(wc -l < all)" 6
		trace -q -c --json -e alloc,free -o counted.jsonl -- "$WORKLOADS/$program" > /dev/null
		counted "$graphs" | diff all -
		assert_account
		# Each launch that allocates is an event, as other allocations are.
		trace -q --json -e alloc -o shown.jsonl -- "$WORKLOADS/$program" > /dev/null
		assert_equal "$(jq -s 'map(.made // [] | .[].allocations) | add' shown.jsonl)" "$(sed -n 2p all)"
		"$MEMSCOPE" record $MASK -q --launches=off -o "$program.mscope" -- "$WORKLOADS/$program" > /dev/null
		"$MEMSCOPE" report -f json "$program.mscope" | jq ".recordings[0] | ${graphs%, .exit_bytes)})" |
			diff <(sed '$d' all) -
	done
	trace -q -c -e alloc,free -o out.txt -- "$WORKLOADS/rows_driver" > /dev/null
	grep -q "^ *16  launches of graphs" out.txt
	grep -q "not captured, .* launch (except graphs)" out.txt
}

@test "copies for which there is no room take none from the launch of a graph, which allocates" {
	puppet_with_cuda
	puppet alloc 4096
	trace_start --buffer 4K -p "$PUPPET_PID"
	kill -STOP "$TRACE_PID"
	puppet copies 100000
	puppet graph 70001
	kill -CONT "$TRACE_PID"
	puppet_end
	trace_wait
	[ "$(summary .events.lost_by_op.copy)" -gt 0 ]
	assert_equal "$(summary '[.events.lost_by_op.memory, .processes[0].graph_launches]')" "[0,1]"
	assert_equal "$(events 'select(.api == "cuGraphLaunch") | .made[0].bytes')" 70001
}

@test "processes that come and go: each one's launches are its own" {
	# Attaching takes a few milliseconds; a real cuInit takes longer than that.
	SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms
	export SIMCUDA_DELAY
	# The summary names processes in the order in which they were seen.
	trace -q -c -f --json -o counted.jsonl -- \
		sh -c "for i in 1 2 3 4 5; do '$WORKLOADS/launches' many \$i; done" > out
	assert_equal "$(counted '[.processes[].launches | select(. > 0)] | map(tostring) | join(" ")')" \
		"2 4 6 8 10"
	assert_account
}

lengths() {
	events 'select(.type == "call" and .kernel).kernel | length' | xargs
}

# BPF reads 511 bytes of a name, as far as they are in memory; the tool reads the rest, to 8191.
@test "long names are whole as long as their process has them" {
	local length known=

	puppet_with_cuda
	trace_start -p "$PUPPET_PID"
	for length in 510 511 512 3000 8190 8191 9000; do
		puppet launch "$length"
		known+=${known:+ }$((length < 8191 ? length : 8191))
		wait_for "[ \"\$(lengths)\" = '$known' ]" || fail "not $known: $(lengths)"
	done
	trace_stop
	puppet_end
}

# ---- kernels whose handles a process had before it was attached to

# stubs_start PROGRAM
stubs_start() {
	rm -f stubs.in
	mkfifo stubs.in
	"$1" < stubs.in > stubs.out 3>&- 7>&- 8>&- &
	OTHER_PID=$!
	exec 7> stubs.in
	wait_for 'grep -q ready stubs.out'
}

# FILE: messages of the tool. Launches each kernel once more, and ends once one of these has its name.
stubs_end() {
	echo go >&7
	[ -n "${STUBS:-}" ] || wait_for '[ "$(grep -c "named by its memory" '"$1"')" -ge 2 ]'
	exec 7>&-
	wait "$OTHER_PID"
	OTHER_PID=
}

# late OPTION...: what is launched by a program that was attached to when it had launched already
late() {
	stubs_start "${STUBS:-$WORKLOADS/stubs}"
	tool_start trace TRACE_PID --json -o counted.jsonl "$@" -p $OTHER_PID
	[ -n "${STUBS:-}" ] || wait_for 'grep -q "named by its memory" trace.err'
	stubs_end trace.err
	trace_wait
}

@test "a process attached to late: kernels have the names that they would have had" {
	local mode

	echo go | trace -q --layer=both --json -o counted.jsonl -- "$WORKLOADS/stubs"
	kernels | sed 's/^2/1/' | sort > early
	assert_equal "$(cut -d ' ' -f 2 early | xargs)" \
		"_Z3addPfi _Z5laterPf _Z5olderPf _Z6copiedPf _Z6hiddenPf _ZN2ns4workIfEEvPT_ plain"
	for mode in "--layer=both" "--layer=both -c"; do
		# shellcheck disable=SC2086
		late $mode
		diff -u early <(kernels)
	done
	# One by one, and without the one that is launched by the address of its host function.
	late -e launch
	jq -r 'select(.type == "call") | "1 \(.kernel)"' counted.jsonl | sort |
		diff -u <(sed 's/_Z5olderPf/null/' early | sort) -
	stubs_start "$WORKLOADS/stubs"
	record_start -o run.mscope -p $OTHER_PID
	wait_for 'grep -q "named by its memory" record.err'
	stubs_end record.err
	record_wait
	assert_equal "$("$MEMSCOPE" export -q -f ndjson run.mscope | tail -n 1 |
		jq -r '.processes[0].kernels[].kernel // empty' | sort | xargs)" \
		"_Z3addPfi _Z5laterPf _Z6copiedPf _Z6hiddenPf _ZN2ns4workIfEEvPT_ plain"
}

@test "a process attached to late, without symbols: handles, but for what was asked for later" {
	strip -o stripped "$WORKLOADS/stubs"
	STUBS=./stripped late -c
	assert_equal "$(counted '.processes[0].kernels | [length, (map(.kernel | strings) | @csv)] | @csv')" \
		'7,"""_Z5laterPf"""'
}
