# SPDX-License-Identifier: BSD-2-Clause
#
# Attaching at every moment of a process's life, by every strategy, and leaving without a trace.

load helpers

@test "attached before libcuda is mapped: not one call is missed" {
	puppet_start
	trace_start -p "$PUPPET_PID"
	grep -q "has no CUDA library mapped yet: waiting" trace.err
	puppet load
	puppet init
	puppet alloc 4096
	puppet copy 512
	puppet free
	trace_stop
	puppet_end
	"$COMPARE" events.jsonl oracle.log
	assert_equal "$(summary '.processes[0].was_running')" false
}

@test "attached while blocks are live: their frees are counted as pre-attach" {
	puppet_with_cuda
	puppet alloc 1000
	puppet alloc 2000
	trace_start -p "$PUPPET_PID"
	puppet alloc 3000
	puppet free
	puppet free
	puppet free
	trace_stop
	assert_equal "$(summary '.processes[0] | [.was_running, .pre_attach_frees, .unknown_frees,
		.spaces[0].allocs, .spaces[0].frees, .spaces[0].live_bytes]')" '[true,2,0,1,1,0]'
	assert_equal "$(events 'select(.op == "free") | .freed' | xargs)" "known pre_attach pre_attach"
}

@test "who executes another program then: what the one before held is in no peak and no total" {
	puppet_with_cuda
	puppet alloc 100000
	tool_start record RECORD_PID -o a.mscope -p "$PUPPET_PID"
	trace_start -p "$PUPPET_PID"
	echo exec >&8
	wait_for '! grep -q libcuda "/proc/$PUPPET_PID/maps"'
	puppet load
	puppet init
	puppet alloc 1000
	puppet free
	trace_stop
	assert_equal "$(summary '.processes[0] | [.was_running, .was_running_earlier, .unknown_frees,
		.spaces[0].allocs, .spaces[0].frees]')" '[false,true,0,1,1]'
	kill -INT "$RECORD_PID"
	tool_wait record RECORD_PID
	"$MEMSCOPE" report -f json a.mscope > report.json
	assert_equal "$(jq -c '.recordings[0] | [.lost.live_is_exact,
		.processes[0].unknown.was_running_earlier]' report.json)" '[false,true]'
}

@test "attached while the process allocates at full speed: the account stays exact" {
	puppet_with_cuda
	# Until it is killed.
	echo "spin 3600000" >&8
	trace_start -p "$PUPPET_PID"
	wait_for '[ "$(grep -c cuMemAlloc events.jsonl)" -gt 100 ]'
	trace_stop
	assert_equal "$(summary '.events | .seen == .shown + .filtered + .lost')" true
	# The last block is freed, live, or its free has begun and nobody saw it end.
	assert_equal "$(summary '.processes[0] | .spaces[0].allocs > 100 and .missed_frees == 0 and
		.unknown_frees == 0 and .spaces[0].live_allocations <= 1 and
		(.spaces[0].allocs - .spaces[0].frees | . == 0 or . == 1)')" true
	# Frees are watched before allocations: those of blocks that nobody saw lie at the beginning.
	assert_equal "$(jq -nc '[inputs | select(.op == "alloc" or .op == "free") | .freed == "pre_attach"]
		| (index(false) // 0) as $first | .[$first:] | any' events.jsonl)" false
	assert_equal "$(summary '.processes[0].pre_attach_frees')" \
		"$(jq -nc '[inputs | select(.freed == "pre_attach")] | length' events.jsonl)"
}

@test "links of each kind attach, see the same, and leave nothing behind" {
	local without

	# single.bats has the third kind.
	for without in mmap_events uprobe_session; do
		rm -f events.jsonl puppet.in puppet.out oracle.log
		two_threads_of_a_puppet --without=$without
	done
}

@test "a file that was deleted and a file in another place are traced" {
	mkdir elsewhere
	cp "$BUILT/simcuda/libcuda.so.1" elsewhere/
	LD_LIBRARY_PATH=$PWD/elsewhere
	puppet_with_cuda
	rm elsewhere/libcuda.so.1
	trace_start -p "$PUPPET_PID"
	puppet alloc 4096
	trace_stop
	assert_equal "$(summary '.processes[0].spaces[0].allocs')" 1
}

@test "SIGKILL of the tool: everything is gone from the kernel, the target goes on" {
	local before

	puppet_with_cuda
	before=$(our_programs)
	trace_start -p "$PUPPET_PID"
	puppet alloc 4096
	[ "$(our_programs)" != "$before" ]
	kill -9 "$TRACE_PID"
	wait "$TRACE_PID" || true
	TRACE_PID=
	leaves_nothing
	puppet churn 1000
	puppet free
}

@test "the last probe to go is one that nobody calls" {
	last_probe_is_cold 2
}

@test "the last probe to go is one that nobody calls, also if the tool is killed" {
	last_probe_is_cold 9
}

@test "without a function that is called rarely, no allocation is probed before its free" {
	printf 'int cuMemAlloc_v2(void **p, unsigned long n) { *p = p; return n == 0; }
		int cuMemFree_v2(void *p) { return p == 0; }\n' | cc -shared -fPIC -o libcuda.so.1 -x c -
	printf 'int cuMemAlloc_v2(void **, unsigned long), cuMemFree_v2(void *);
		int main(void) { void *p; return cuMemAlloc_v2(&p, 1) || cuMemFree_v2(p); }\n' |
		cc -o small -x c - -x none libcuda.so.1 -Wl,-rpath,"$PWD"
	unset LD_LIBRARY_PATH
	trace -v --json -o events.jsonl -- ./small 2> trace.err
	grep -q "debug: libcuda.so.1: probes cuMemFree_v2 first" trace.err
	assert_equal "$(summary '.processes[0].spaces[0] | [.allocs, .frees]')" '[1,1]'
}

@test "who asks for the end twice gets the summary, too" {
	puppet_with_cuda
	trace_start -p "$PUPPET_PID"
	puppet alloc 4096
	# The second one waits until the first one has been done.
	kill -STOP "$TRACE_PID"
	kill -INT "$TRACE_PID"
	kill -TERM "$TRACE_PID"
	kill -CONT "$TRACE_PID"
	trace_wait
	assert_equal "$(summary '.processes[0].spaces[0].allocs')" 1
}

@test "Ctrl-C ends with the summary, and so does the end of the target" {
	puppet_with_cuda
	tool_start trace TRACE_PID -p "$PUPPET_PID" > out.txt
	puppet alloc 12345
	sleep 0.3
	trace_stop
	grep -q "^1 event seen = 1 shown + 0 filtered + 0 lost, " out.txt
	grep -q "LARGEST LIVE" out.txt
}

# Attaching to the first library takes longer than the program lives, and then there are ten more
# mappings to look at, of a process that is gone.
@test "a target whose end is noticed by what it mapped ends the trace, too" {
	local i

	cp "$BUILT/simcuda/libcuda.so.1" odd.so
	for ((i = 0; i < 6; i++)); do
		rm -f puppet.in puppet.out
		puppet_start
		trace_start -p "$PUPPET_PID"
		{
			echo map odd.so
			yes map /bin/true | head
			echo exit
		} >&8
		exec 8>&-
		wait "$PUPPET_PID" || true
		PUPPET_PID=
		wait_for '! kill -0 "$TRACE_PID"' || fail "still running"
		trace_wait
	done
}

@test "children are followed with -f, and not without it" {
	puppet_with_cuda
	trace_start -f -p "$PUPPET_PID"
	puppet fork
	trace_stop
	assert_equal "$(summary '[.processes[] | [.pid, (.spaces[0].allocs // 0)]] | sort')" \
		"[[$PUPPET_PID,0],[$PUPPET_CHILD,1]]"
	assert_equal "$(summary .missed_processes)" 0

	rm events.jsonl
	trace_start -p "$PUPPET_PID"
	puppet fork
	trace_stop
	assert_equal "$(summary '[.processes[].pid]')" "[$PUPPET_PID]"
}

@test "a child without a program of its own has nothing of its parent's, and so nothing unknown" {
	puppet_with_cuda
	puppet alloc 4096
	trace_start -f -p "$PUPPET_PID"
	puppet idle
	trace_stop
	assert_equal "$(summary '[.processes[] | [.pid, .was_running]] | sort')" \
		"[[$PUPPET_PID,true],[$PUPPET_CHILD,false]]"
}

@test "a driver that nobody could foresee, attached to when it had been used: more may be held" {
	mkdir own
	cp "$LD_LIBRARY_PATH/libcuda.so.1" own
	puppet_start
	trace_start --without=mmap_events -p "$PUPPET_PID"
	# It looks once a second, which may be now.
	kill -STOP "$TRACE_PID"
	puppet load "$PWD/own/libcuda.so.1"
	puppet init
	puppet alloc 1000
	kill -CONT "$TRACE_PID"
	wait_for 'grep -q "(puppet) had mapped the driver" trace.err'
	puppet alloc 2000
	puppet free
	puppet free
	trace_stop
	assert_equal "$(summary '.processes[0] | [.was_running, .pre_attach_frees, .spaces[0].allocs]')" '[true,1,1]'
	assert_equal "$(events 'select(.type == "attach").was_running' | xargs)" "false true"
}

@test "the same of one that makes a context again, and of one whose driver is not asked for" {
	mkdir own
	cp "$LD_LIBRARY_PATH/libcuda.so.1" own
	puppet_start
	trace_start -p "$PUPPET_PID"
	kill -STOP "$TRACE_PID"
	puppet load "$PWD/own/libcuda.so.1"
	puppet init
	puppet alloc 1000
	kill -CONT "$TRACE_PID"
	wait_for 'grep -q "(puppet) had mapped the driver" trace.err'
	puppet init
	puppet alloc 2000
	trace_stop
	assert_equal "$(summary '.processes[0] | [.was_running, .spaces[0].allocs]')" '[true,1]'

	trace_start --layer=runtime -p "$PUPPET_PID"
	trace_stop
	assert_equal "$(summary '.processes[0].was_running')" true
}

@test "--layer=runtime: a driver without probes, mapped by a program that was executed, was not late" {
	puppet_start
	trace_start --layer=runtime -p "$PUPPET_PID"
	kill -STOP "$TRACE_PID"
	echo exec >&8
	wait_for '[ "$(cat "/proc/$PUPPET_PID/comm")" = exe ]'
	puppet load
	kill -CONT "$TRACE_PID"
	wait_for 'grep -q "exec" events.jsonl'
	sleep 0.2
	trace_stop
	assert_equal "$(summary '.processes[0] | [.was_running, .was_running_earlier]')" '[false,false]'
}

# Records a puppet that loads the driver at $1 and allocates, while the recorder is stopped until $2 has
# been done.
record_hidden() {
	puppet_start
	tool_start record RECORD_PID -o a.mscope -p "$PUPPET_PID"
	kill -STOP "$RECORD_PID"
	puppet load $1
	puppet init
	puppet alloc 100000
	$2
	kill -CONT "$RECORD_PID"
}

become_another() {
	echo exec >&8
	wait_for '! grep -q libcuda "/proc/$PUPPET_PID/maps"'
}

is_missed() {
	grep "at least 1 process with a CUDA library ended, or executed another program, before" record.err
	assert_equal "$("$MEMSCOPE" report -f json a.mscope | jq '.recordings[0].lost.missed_processes')" 1
	run "$MEMSCOPE" report --fail-on inexact a.mscope
	assert_equal "$status" 8
}

@test "a driver that nobody could foresee, of a process that has ended: calls may be missing" {
	mkdir own
	cp "$LD_LIBRARY_PATH/libcuda.so.1" own
	record_hidden "$PWD/own/libcuda.so.1" puppet_end
	tool_wait record RECORD_PID
	is_missed
	assert_equal "$("$MEMSCOPE" export -f ndjson a.mscope | jq -s '[.[] | select(.op == "alloc")] | length')" 0
}

@test "the same of a process that has executed another program, though it loads the driver again" {
	mkdir own
	cp "$LD_LIBRARY_PATH/libcuda.so.1" own
	record_hidden "$PWD/own/libcuda.so.1" become_another
	puppet load
	puppet init
	puppet alloc 400
	kill -INT "$RECORD_PID"
	tool_wait record RECORD_PID
	is_missed
	assert_equal "$("$MEMSCOPE" report -f json a.mscope | jq '.recordings[0].processes[0].spaces[0].allocs')" 1
}

@test "a driver that was foreseen: no call is missing, however late its mapping is noticed" {
	record_hidden "" puppet_end
	tool_wait record RECORD_PID
	! grep "calls may be missing" record.err || false
	"$MEMSCOPE" report --fail-on inexact a.mscope > report.md
	rm a.mscope puppet.in puppet.out
	record_hidden "" become_another
	puppet load
	puppet init
	puppet alloc 400
	kill -INT "$RECORD_PID"
	tool_wait record RECORD_PID
	! grep "calls may be missing" record.err || false
	"$MEMSCOPE" report --fail-on inexact a.mscope > report.md
	assert_equal "$("$MEMSCOPE" report -f json a.mscope | jq '.recordings[0].processes[0].spaces[0].allocs')" 2
}

# trace or record and its arguments, of a process that starts two others: they are over before
# anything can be attached.
start_too_late() {
	local parent command=$1

	shift
	mkfifo go
	# shellcheck disable=SC2016 # expanded there
	sh -c 'read -r _ < go; "$1" 1; "$1" 1; true' sh "$WORKLOADS/calls" 3>&- &
	parent=$!
	tool_start "$command" TRACE_PID -f --attach=process -p "$parent" "$@"
	kill -STOP "$TRACE_PID"
	echo > go
	wait "$parent"
	kill -CONT "$TRACE_PID"
	tool_wait "$command" TRACE_PID
}

@test "children that end before they can be attached to are counted" {
	start_too_late trace --json -o events.jsonl
	assert_equal "$(summary '[.events.seen, .missed_processes]')" "[0,2]"
	grep "at least 2 processes with a CUDA library ended, or executed another program, before they could be attached to" trace.err
	! grep "nothing that was traced has mapped a CUDA library" trace.err || false
}

# Records a process whose child becomes a puppet, which loads the driver, initialises it and allocates.
# $1: when the child is attached to; "between": before it executes the puppet, of whose own driver that
# is too early. $2: how many of the three the puppet has done by the time that it is attached to late.
record_child() {
	local attached=$1 done=$2 driver=$LD_LIBRARY_PATH parent

	needs_links
	mkfifo go run in
	exec 8<> in
	printf '%s\n' load init "alloc 4096" > calls
	if [ "$attached" = between ]; then
		mkdir own
		cp "$driver/libcuda.so.1" own
		driver=$PWD/own
	fi
	# shellcheck disable=SC2016 # expanded there
	sh -c 'read -r _ < go; (read -r _ < run; LD_LIBRARY_PATH=$2 exec "$1" < in > out); true' sh \
		"$WORKLOADS/puppet" "$driver" 3>&- 8>&- &
	parent=$!
	tool_start record TRACE_PID -f --attach=process -o a.mscope -p "$parent"
	[ "$attached" != late ] || kill -STOP "$TRACE_PID"
	echo > go
	[ "$attached" = late ] ||
		wait_for '[ "$(grep -c "process [0-9]*: its calls are recorded" record.err)" -eq 2 ]'
	[ "$attached" != between ] || kill -STOP "$TRACE_PID"
	echo > run
	head -n "$done" calls >&8
	wait_for '[ "$(grep -c ok out)" -eq "$done" ]'
	kill -CONT "$TRACE_PID"
	[ "$attached" = early ] || wait_for 'grep -q "(puppet) had mapped the driver" record.err'
	tail -n +$((done + 1)) calls >&8
	echo "exit 0" >&8
	wait "$parent"
	tool_wait record TRACE_PID
	"$MEMSCOPE" report -f json a.mscope > report.json
}

# One ends before it can be attached to, another one is attached to late.
@test "what to type about children that were attached to late is said once" {
	mkfifo go in
	exec 8<> in
	# shellcheck disable=SC2016 # expanded there
	sh -c 'read -r _ < go; "$1" 1; "$2" < in > out; true' sh "$WORKLOADS/calls" "$WORKLOADS/puppet" 3>&- 8>&- &
	local parent=$!
	tool_start record TRACE_PID -f --attach=process -o a.mscope -p "$parent"
	kill -STOP "$TRACE_PID"
	echo > go
	printf '%s\n' load init "alloc 4096" >&8
	wait_for '[ "$(grep -cs ok out)" = 3 ]'
	kill -CONT "$TRACE_PID"
	wait_for 'grep -q "(puppet) had mapped the driver" record.err'
	echo "exit 0" >&8
	wait "$parent"
	tool_wait record TRACE_PID
	grep -q "its first calls are missing" record.err
	grep -q "before it could be attached to" record.err
	assert_equal "$(grep -c "a script sets LD_LIBRARY_PATH" record.err)" 1
}

puppet_was_running() {
	jq -c '.recordings[0].processes[] | select(.comm == "puppet").unknown.was_running' report.json
}

@test "a child that allocates before it can be attached to: it is said that more may be held" {
	local code=0

	record_child late 3
	assert_equal "$(puppet_was_running)" true
	# It says so when it records, too, and what to type.
	grep -q "warning: process [0-9]* (puppet) had CUDA loaded before it was attached to: its first calls are missing; if a script sets LD_LIBRARY_PATH, write that before memscope-bpf, too" \
		record.err
	"$MEMSCOPE" report -q --fail-on peak=1G a.mscope 2> gate.err || code=$?
	assert_equal "$code" 9
	grep -q "no call was recorded; record the program while it uses CUDA, and its children, too, if -f was not given; if a script sets LD_LIBRARY_PATH, " gate.err
}

@test "the same of a child that was attached to, and has executed another program since" {
	record_child between 3
	assert_equal "$(puppet_was_running)" true
}

@test "a child that is attached to before it executes a program is known from its beginning" {
	record_child early 3
	! grep "first calls are missing" record.err || false
	assert_equal "$(puppet_was_running)" false
}

@test "a child that is attached to late, but before it makes a context, is known from its beginning" {
	record_child late 1
	assert_equal "$(puppet_was_running)" false
	assert_equal "$(jq '.recordings[0].processes[] | select(.comm == "puppet").spaces[0].allocs' report.json)" 1
}

@test "a recording says that children ended before they could be attached to" {
	start_too_late record -o a.mscope
	"$MEMSCOPE" report -f md a.mscope > report.md
	grep "calls may be missing, as at least 2 processes could not be attached to in time" report.md
	"$MEMSCOPE" report -f html a.mscope > report.html
	grep -q '<h1 id="verdict-h">Nothing wrong was found, but something is missing</h1>' report.html
	"$MEMSCOPE" report -f json a.mscope > report.json
	valid report report.json
	"$MEMSCOPE" export -f ndjson a.mscope > events.jsonl
	assert_equal "$(summary .missed_processes)" 2
	"$MEMSCOPE" export -f openmetrics a.mscope > out.om
	grep -q '^memscope_missed_processes_total{.*} 2 ' out.om
	"$MEMSCOPE" export -f sqlite -o out.sqlite a.mscope
	assert_equal "$(sqlite3 out.sqlite "SELECT missed_processes FROM memscope_recordings")" 2
	"$MEMSCOPE" export -f folded a.mscope 2>&1 |
		grep "calls may be missing of processes that could not be attached to in time: at least 2"
	"$MEMSCOPE" diff -f json -o diff.json a.mscope a.mscope
	valid diff diff.json
	assert_equal "$(jq -c '[.a, .b | .recordings[].missed_processes]' diff.json)" '[2,2]'
	"$MEMSCOPE" diff a.mscope a.mscope > diff.md
	assert_equal "$(grep -c "| nothing; at least 2 processes |" diff.md)" 2
}

@test "exec starts a new account in the same process" {
	puppet_with_cuda
	trace_start -p "$PUPPET_PID"
	puppet alloc 4096
	echo exec >&8
	# Or the old program reads what is meant for the new one.
	wait_for '[ "$(cat "/proc/$PUPPET_PID/comm")" = exe ]'
	puppet load
	puppet init
	puppet alloc 8192
	trace_stop
	assert_equal "$(events 'select(.type == "exec") | .live[0].bytes')" 4096
	assert_equal "$(summary '[.processes[0].spaces[0] | .live_bytes, .implicit_frees]')" '[8192,1]'
}

@test "a context's end frees what was allocated in it" {
	puppet_start
	trace_start -p "$PUPPET_PID"
	puppet load
	puppet init
	puppet alloc 1000
	puppet alloc 2000
	puppet destroy
	trace_stop
	assert_equal "$(summary '[.processes[0].spaces[0] | .live_bytes, .implicit_frees,
		.implicit_free_bytes]')" '[0,2,3000]'
}

@test "what is live at exit is reported" {
	puppet_start
	trace_start -p "$PUPPET_PID"
	puppet load
	puppet init
	puppet alloc 1000
	puppet alloc 2000
	echo "exit 3" >&8
	trace_wait
	assert_equal "$(events 'select(.type == "exit") | [.exit_code, .live[0].bytes] | @csv')" 3,3000
	assert_equal "$(summary '[.processes[0] | .exited, .exit_code, .spaces[0].exit_bytes,
		.largest[0].size_bytes]')" '[true,3,3000,2000]'
}

@test "two instances on one process both see everything" {
	puppet_with_cuda
	in_background_tracing other other.err "$MEMSCOPE" trace $MASK -v --json -o other.jsonl -p "$PUPPET_PID"
	trace_start -p "$PUPPET_PID"
	puppet churn 100
	trace_stop
	kill -INT "$other"
	wait "$other"
	assert_equal "$(summary '.processes[0].spaces[0].allocs')" 100
	assert_equal "$(summary '.processes[0].spaces[0].allocs' other.jsonl)" 100
}
