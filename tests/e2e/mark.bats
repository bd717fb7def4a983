# SPDX-License-Identifier: BSD-2-Clause
#
# What is marked from outside of the traced programs, by root and by others.

load reading

# A file of its own: captures of other tests, which may run at the same time, do not hear it.
eval "with_the_tool_of_all_$(declare -f setup)"
setup() {
	with_the_tool_of_all_setup
	cp "$MEMSCOPE" memscope-bpf
	MEMSCOPE=$PWD/memscope-bpf
	chmod 755 .
}

# as USER COMMAND...
as() {
	env -u SIMCUDA_LOG setpriv "--reuid=$1" "--regid=$1" --clear-groups "${@:2}"
}

# A program that holds memory and waits, as user $2 (default: root), in the variable $1; ends with
# the descriptor 8.
waiting() {
	local user=()
	local -n waiting_pid=$1

	[ -z "${2:-}" ] || user=(env -u SIMCUDA_LOG setpriv "--reuid=$2" "--regid=$2" --clear-groups)
	if [ -n "${2:-}" ] && ! as "$2" test -x "$WORKLOADS/markers"; then
		skip "other users cannot run programs in $WORKLOADS"
	fi
	mkfifo in
	"${user[@]}" "$WORKLOADS/markers" wait 500 < in > did 3>&- &
	waiting_pid=$!
	MARKED=$waiting_pid
	exec 8> in
	wait_for 'grep -q waiting did'
}

finish() {
	echo >&8
	exec 8>&-
	wait "$OTHER_PID"
	OTHER_PID=''
}

mark() {
	"$MEMSCOPE" mark "$@" 8>&-
}

# Of the recording run.mscope: times, name and kind of each phase that is marked from outside.
marked() {
	"$MEMSCOPE" report -f json run.mscope > report.json
	jq -c '.recordings[0].phases.list[]? | select(.source == "command") | [.path[-1], .kind, .times]' report.json
}

@test "a trace shows what is marked, while it is marked" {
	waiting OTHER_PID
	tool_start trace TRACE_PID -o trace.txt -p "$OTHER_PID" 8>&-
	mark 'deployed 1.4.2'
	mark --begin load
	mark --end load
	mark --pid "$OTHER_PID" $'bad \e[31m name'
	mark --pid 1 'of another process'
	finish
	tool_wait trace TRACE_PID
	grep -q 'marker: mark deployed 1.4.2, command$' trace.txt
	grep -q 'marker: begins range load 0x[0-9a-f]*, command$' trace.txt
	grep -q 'marker: ends range load 0x[0-9a-f]*, command$' trace.txt
	grep -q 'marker: mark bad .*31m name, command$' trace.txt
	run ! grep -q $'\e' trace.txt
	run ! grep -q 'of another process' trace.txt
}

@test "recordings and reports have the phases, with what happened in them; so have exports" {
	waiting OTHER_PID
	tool_start record RECORD_PID -o run.mscope --launches=all --copies=all -p "$OTHER_PID" 8>&-
	mark before
	mark --begin 'all of it'
	finish
	tool_wait record RECORD_PID
	assert_equal "$(marked | sort)" $'["all of it","range",1]\n["before","instant",1]'
	jq -e '.recordings[0].phases.list[] | select(.path[-1] == "all of it") | .allocs > 0 and .launches > 0' report.json
	valid report report.json
	"$MEMSCOPE" export -j run.mscope | jq -c 'select(.source? == "command") | [.action, .name]' > marks
	assert_equal "$(cat marks)" $'["instant","before"]\n["start","all of it"]'
	"$MEMSCOPE" export -f chrome -o run.chrome run.mscope
	grep -q '"name":"all of it"' run.chrome
	grep -q 'marks from outside' run.chrome
}

@test "a mark has its times in reports, and its process the name that other tables have" {
	local row

	cat > waits.py <<-'PYTHON'
		import ctypes, sys
		ctypes.CDLL("libcuda.so.1").cuInit(0)
		print("waiting", flush=True)
		sys.stdin.readline()
	PYTHON
	mkfifo in
	python3 waits.py < in > did 3>&- &
	OTHER_PID=$!
	exec 8> in
	wait_for 'grep -q waiting did'
	tool_start record RECORD_PID -o run.mscope -p "$OTHER_PID" 8>&-
	mark deployed
	mark other
	mark deployed
	echo >&8
	exec 8>&-
	wait "$OTHER_PID"
	tool_wait record RECORD_PID
	"$MEMSCOPE" report -f json run.mscope > report.json
	jq -e '.recordings[0].phases.list | map(select(.path == ["deployed"]))[0] | .times == 2 and .first_ts_ns < .last_ts_ns' report.json
	jq -e '.recordings[0].phases.list | map(select(.path == ["other"]))[0] | .first_ts_ns == .last_ts_ns' report.json
	"$MEMSCOPE" report -f md run.mscope > report.md
	row="| deployed (instant) | python3 waits.py ($OTHER_PID) | 2 | 20..-..-..T..:..:..\....Z | 20..-..-..T..:..:..\....Z |"
	grep -q "^$row" report.md || fail "$(grep deployed report.md)"
}

# allocations OPTION...: of the recording, in the part that the options choose
allocations() {
	"$MEMSCOPE" report -f json "$@" run.mscope 2> report.err | jq '[.recordings[0].processes[].spaces[].allocs] | add // 0'
}

@test "a part of a recording begins and ends at marks" {
	puppet_with_cuda
	tool_start record RECORD_PID -o run.mscope -p "$PUPPET_PID" 8>&-
	puppet alloc 1000
	mark deployed
	puppet alloc 2000
	puppet alloc 3000
	mark --begin load
	puppet alloc 4000
	puppet alloc 5000
	puppet alloc 6000
	mark --end load
	puppet alloc 7000
	mark deployed
	puppet alloc 8000
	puppet_end
	tool_wait record RECORD_PID
	assert_equal "$(allocations)" 8
	assert_equal "$(allocations --from mark:load --to mark:load)" 3
	[ ! -s report.err ]
	assert_equal "$(allocations --from mark:deployed)" 7
	grep -q 'run.mscope: 2 marks are called "deployed"; the first is taken$' report.err
	assert_equal "$(allocations --from mark:deployed --to mark:deployed)" 6
	grep -q '"deployed"; the last is taken$' report.err
	assert_equal "$(allocations --to mark:load)" 6
	run -5 "$MEMSCOPE" report --from mark:nothing run.mscope
	[[ $output == *'run.mscope: no mark is called "nothing"; there are: deployed, load' ]]
	run -2 "$MEMSCOPE" report --from mark: run.mscope
	[[ $output == *"--from: which mark? mark:NAME"* ]]
	run -5 "$MEMSCOPE" diff --from mark:load run.mscope "$ROOT/tests/golden/dump-1.2.mscope"
	[[ $output == *'dump-1.2.mscope: no mark is called "load": there are none'* ]]
	"$MEMSCOPE" export -j --from mark:load --to mark:load run.mscope > marks
	assert_equal "$(jq -s 'map(select(.op? == "alloc")) | length' marks)" 3
	# Those that have it are reported.
	"$MEMSCOPE" report -f json --from mark:load run.mscope "$ROOT/tests/golden/dump-1.2.mscope" > report.json 2> report.err
	assert_equal "$(jq '.recordings | length' report.json)" 1
	grep -q 'dump-1.2.mscope: it is left out' report.err
	run -1 grep error: report.err
}

@test "an agent that traces all has it in its ring, of a process that it finds by itself" {
	waiting OTHER_PID
	in_background_tracing RECORD_PID agent.err "$MEMSCOPE" agent -v $MASK --state-dir "$PWD/state" --ring=8M --budget=off \
		--listen=off --socket=off 8>&-
	mark deployed
	finish
	kill -TERM "$RECORD_PID"
	tool_wait agent RECORD_PID
	"$MEMSCOPE" report -f json state/ring/*.mscope > report.json
	jq -e --argjson pid "$MARKED" '.recordings[0].phases.list | map(select(.source == "command" and .pid == $pid).path) == [["deployed"]]' report.json
}

@test "with no capture that listens, it says so, and nothing is marked" {
	run -5 mark before
	[[ $output == *'nothing is marked: no trace, record or agent of this memscope-bpf runs'* ]]
	run -2 mark
	run -2 mark ''
	run -2 mark two words
	run -2 mark --begin --end both
	run -2 mark "$(printf 'x%.0s' $(seq 256))"
}

@test "users mark their own processes, and no others; root marks all" {
	waiting OTHER_PID 12345
	tool_start record RECORD_PID -o run.mscope -p "$OTHER_PID" 8>&-
	as 12345 "$MEMSCOPE" mark own 8>&-
	as 23456 "$MEMSCOPE" mark "another's" 8>&-
	mark "root's"
	# Of a container: its root is not ours.
	unshare --pid --fork "$MEMSCOPE" mark "a container's" 8>&-
	wait_for "grep -q 'user 23456 marked something, but may mark none of the traced processes' record.err"
	finish
	tool_wait record RECORD_PID
	assert_equal "$(marked | sort)" $'["own","instant",1]\n["root\'s","instant",1]'
}

@test "one user cannot fill the rings: more than a hundred a second are ignored, but not of root" {
	local i begin most

	waiting OTHER_PID 12345
	tool_start record RECORD_PID -o run.mscope -p "$OTHER_PID" 8>&-
	begin=$EPOCHSECONDS
	# shellcheck disable=SC2016 # of the shell in there
	as 12345 bash -c \
		'for i in {1..400}; do "$1" mark many & ((i % 20)) || wait; done; wait' bash "$MEMSCOPE" 8>&-
	# Each second that has been begun has a hundred of its own.
	most=$((100 * (EPOCHSECONDS - begin + 2)))
	for i in {1..150}; do
		mark all
	done
	finish
	tool_wait record RECORD_PID
	assert_equal "$(marked | grep all)" '["all","instant",150]'
	jq -e --argjson most "$most" '[.recordings[0].phases.list[] | select(.path[-1] == "many") | .times][0] <= $most' report.json
	assert_equal "$(jq .recordings[0].phases.lost report.json)" 0
}
