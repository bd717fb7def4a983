# SPDX-License-Identifier: BSD-2-Clause
#
# Whatever a user or a machine does wrong gets a message that says what to do, the documented exit
# code, and leaves the target unharmed.

load helpers

# expect CODE TEXT COMMAND...: runs it, checks the exit code and that the messages contain the text.
expect() {
	local code=$1 text=$2 got=0

	shift 2
	"$@" > out.txt 2> err.txt || got=$?
	[ "$got" -eq "$code" ] || fail "exit code $got, not $code" "$(cat err.txt)"
	grep -qF -- "$text" err.txt || fail "no \"$text\" in:" "$(cat err.txt)"
}

@test "unknown commands, options and values" {
	local option command

	expect 2 'there is no command "trac"; did you mean trace?' "$MEMSCOPE" trac
	assert_equal "$(wc -l < err.txt)" 1
	expect 2 "Commands:" "$MEMSCOPE"
	expect 2 "trace has no option --frobnicate" "$MEMSCOPE" trace --frobnicate
	expect 2 "trace has no option --fllow; did you mean --follow?" "$MEMSCOPE" trace --fllow=1
	assert_equal "$(wc -l < err.txt)" 1
	expect 2 "--m is ambiguous: it can be --markers or --max-loss" "$MEMSCOPE" trace --m 1
	expect 2 "trace has no option -K" "$MEMSCOPE" trace -K
	expect 2 "did you mean --json?" "$MEMSCOPE" trace -json -p 1
	expect 2 "needs a value" "$MEMSCOPE" trace -p
	expect 2 "trace has no option -K" "$MEMSCOPE" trace --buffer=4K -Kq -p 1
	expect 2 "--json takes no value" "$MEMSCOPE" trace --json=1 -p 1
	expect 2 "--output: the name is empty" "$MEMSCOPE" trace -o '' -p 1
	expect 2 'there are no "frees" events' "$MEMSCOPE" trace -e frees -p 1
	expect 2 '"1X" is not a size' "$MEMSCOPE" trace --min-size 1X -p 1
	expect 2 '"soon" is not a time above 0; write 90, 90s, 1m30s' "$MEMSCOPE" trace -d soon -p 1
	expect 2 '"x" is not a process ID' "$MEMSCOPE" trace -p 1,x
	expect 2 '"0" is not a process ID' "$MEMSCOPE" trace -p 0
	expect 2 'there is no feature "kprobes"' "$MEMSCOPE" trace --without kprobes -p 1
	expect 2 'between 4K and 1G' "$MEMSCOPE" trace --buffer 1 -p 1
	expect 2 '--api: "(": ' "$MEMSCOPE" trace --api '(' -p 1
	expect 2 "is not a time above 0" "$MEMSCOPE" trace -d 1e-12 -p 1
	expect 2 "is not a time above 0" "$MEMSCOPE" trace -d 0 -p 1
	expect 2 "write -p 4711 or -p 4711,4712" "$MEMSCOPE" trace -p x
	expect 2 "the list is empty" "$MEMSCOPE" trace -p ""
	expect 2 "an empty expression" "$MEMSCOPE" trace --api '' -p 1
	expect 2 "there is nothing to trace" "$MEMSCOPE" trace
	expect 2 "not several" "$MEMSCOPE" trace -p 1 -- true
	for command in record trace top who; do
		expect 2 "there is no cgroup x/y: looked for /sys/fs/cgroup/x/y" "$MEMSCOPE" $command --cgroup x/y
		expect 2 "is not a cgroup" "$MEMSCOPE" $command --cgroup ./x
		expect 2 "is not a cgroup" "$MEMSCOPE" $command --cgroup /x/../y
	done
	expect 2 "for all processes, -a" "$MEMSCOPE" trace -d 0.1 --cgroup /sys/fs/cgroup
	expect 2 "there is no cgroup" "$MEMSCOPE" trace --cgroup /sys/fs/cgroup/nothing/here
	for option in user comm container pod namespace; do
		for command in record trace report export who top; do
			expect 2 "--$option: only one can be given: a or b" \
				"$MEMSCOPE" $command --$option a --$option=b
			assert_equal "$(wc -l < err.txt)" 1
		done
	done
	for command in who top; do
		expect 2 '--pod: only one can be given, and "a,b" is a list; for several: run it once for each' \
			"$MEMSCOPE" $command --pod a,b
	done
	expect 2 'is a list; for several: record -a, and report --by user, container or pod' \
		"$MEMSCOPE" record --user a,b -o new.mscope -- true
	expect 2 "there is no cgroup" "$MEMSCOPE" trace --cgroup /sys/fs/cgroup/cgroup.procs
	expect 2 "there is no cgroup /nowhere/at/all" "$MEMSCOPE" trace --cgroup /nowhere/at/all
	expect 2 'check takes no argument "x"; for a process, write check -p PID' "$MEMSCOPE" check x
	expect 2 '--version takes no "trace"' "$MEMSCOPE" --version trace
	expect 2 '-V takes no "-v"' "$MEMSCOPE" -V -v
	expect 2 'help takes no "record"' "$MEMSCOPE" help trace record
	expect 2 '--segment: 0 is less than 4K' "$MEMSCOPE" record --segment=0 -- true
	expect 2 '--ring: 0 is less than 1M' "$MEMSCOPE" record --ring=0 -- true
	expect 2 'growth by 0 is none' "$MEMSCOPE" report --fail-on oom,growth=0 x
	expect 2 'growth by 0 is none' "$MEMSCOPE" diff --fail-on growth=0 x y
}

@test "a recording is no device or pipe" {
	local file

	"$MEMSCOPE" record -q -o whole.mscope -- true
	mkfifo pipe
	for file in /dev/null /dev/full pipe; do
		expect 1 "$file: a recording needs a regular file; choose another name with -o, or standard output: -o - > $file" \
			"$MEMSCOPE" record -o $file -- true
		expect 1 "$file: a recording needs a regular file; choose another name with -o" \
			"$MEMSCOPE" record --ring 1M -o $file -- true
		expect 1 "$file: a recording needs a regular file; choose another name" \
			"$MEMSCOPE" verify --repair $file whole.mscope
	done
	ln -s /dev/null link
	expect 1 "link: a recording needs a regular file" "$MEMSCOPE" record -o link -- true
	expect 1 "standard output: -o - > /dev/stdout" "$MEMSCOPE" record -o /dev/stdout -- true
	ln -s whole.mscope whole
	expect 1 "File exists; remove it" "$MEMSCOPE" record -o whole -- true
}

@test "a process that does not exist" {
	expect 5 "there is no process 4194304" "$MEMSCOPE" trace -p 4194304
	expect 5 "there is no process 4194304" "$MEMSCOPE" check -p 4194304
	! grep -q "Tracing works here.$" out.txt || fail "nothing is said of the process"
}

@test "a zombie, a kernel thread, a thread" {
	local zombie thread kthread

	coproc ZOMBIE { exec /usr/bin/python3 -c '
import os, time
child = os.fork()
if child == 0:
	os._exit(0)
print(child, flush=True)
time.sleep(30)' 3>&- 8>&- 9<&-; }
	read -r zombie <&"${ZOMBIE[0]}"
	wait_for "grep -q '^State:.Z' /proc/$zombie/status"
	expect 5 "has exited already (it is a zombie)" "$MEMSCOPE" trace -p "$zombie"
	kill "$ZOMBIE_PID"

	kthread=$(ps -eo pid=,ppid= | awk '$2 == 2 { print $1; exit }')
	[ -z "$kthread" ] || expect 5 "is a kernel thread" "$MEMSCOPE" trace -p "$kthread"

	coproc THREAD { exec /usr/bin/python3 -c '
import threading, time
thread = threading.Thread(target=time.sleep, args=(30,), daemon=True)
thread.start()
print(thread.native_id, flush=True)
time.sleep(30)' 3>&- 8>&- 9<&-; }
	read -r thread <&"${THREAD[0]}"
	expect 5 "is a thread of process $THREAD_PID: use -p $THREAD_PID" "$MEMSCOPE" trace -p "$thread"
	kill "$THREAD_PID"
}

@test "a process that dies while it is being attached to" {
	local i code
	for i in $(seq 20); do
		sleep 0.0$((i % 5)) 3>&- 8>&- 9<&- &
		code=0
		"$MEMSCOPE" trace -p $! > out.txt 2> err.txt || code=$?
		[ $code -eq 0 ] || [ $code -eq 5 ] || fail "exit code $code" "$(cat err.txt)"
	done
}

@test "a process without CUDA: it says so and waits for it" {
	sleep 100 3>&- 8>&- 9<&- &
	PUPPET_PID=$!
	in_background TRACE_PID err.txt "$MEMSCOPE" trace -p $PUPPET_PID > out.txt
	wait_for 'grep -qs "has no CUDA library mapped yet: waiting for one" err.txt'
	kill $PUPPET_PID
	wait $TRACE_PID
}

@test "no privilege: the missing capabilities are named" {
	expect 3 "missing CAP_BPF" setpriv --reuid=65534 --regid=65534 --clear-groups \
		--bounding-set=-all "$MEMSCOPE" trace -p 1
	expect 3 "missing CAP_SYS_PTRACE:" setpriv --bounding-set=-sys_ptrace \
		--inh-caps=-all "$MEMSCOPE" trace -p 1
}

@test "no privilege: check and top say what to type, in words of the program's own" {
	local ordinary=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all)

	run -3 --separate-stderr "${ordinary[@]}" "$MEMSCOPE" check
	assert_equal "$stderr" ""
	assert_equal "${lines[0]}" "Tracing does not work here without privileges: run it with sudo (sudo memscope-bpf check), or give the program these capabilities (setcap)."
	expect 3 "; without privileges, --agent SOCKET shows what an agent traces" \
		"${ordinary[@]}" "$MEMSCOPE" top -a
}

@test "a kernel without BTF" {
	expect 4 "missing: type information of the kernel" "$MEMSCOPE" trace --without=btf -p 1
}

@test "a PID namespace of its own" {
	expect 4 "running in the initial PID namespace" unshare --pid --fork --mount-proc \
		"$MEMSCOPE" trace -p 1
}

@test "no attach strategy works" {
	expect 4 "this kernel cannot attach uprobes" \
		"$MEMSCOPE" trace --without=uprobe_session,uprobe_multi,uprobe_single -p 1
}

@test "a full disk: it says so, stops with 1, and the command is not harmed" {
	expect 1 "/dev/full: cannot write: No space left on device" \
		"$MEMSCOPE" trace -o /dev/full -- $(ffmpeg_command)
	! grep "no call could be seen" err.txt || false
	# The simulator logged every call of ffmpeg: it ran to its end.
	assert_equal "$(grep -c cuLaunchKernel oracle.log)" 40
}

@test "output that cannot be created" {
	expect 1 "/nonexistent/out: cannot create: No such file or directory" \
		"$MEMSCOPE" trace -o /nonexistent/out -p $$
}

@test "a closed pipe ends quietly" {
	puppet_with_cuda
	("$MEMSCOPE" trace -q -p "$PUPPET_PID" 2> err.txt | head -n 3 > out.txt) 3>&- 8>&- 9<&- &
	OTHER_PID=$!
	# Until it notices, however long it takes to begin.
	for _ in $(seq 500); do
		puppet spin 100
		kill -0 "$OTHER_PID" 2> /dev/null || break
	done
	if kill -0 "$OTHER_PID" 2> /dev/null; then fail "it goes on"; fi
	OTHER_PID=
	assert_equal "$(wc -l < out.txt)" 3
	assert_equal "$(cat err.txt)" ""
	puppet spin 1
}

@test "the exit code stays what was found out, also if nobody reads the output" {
	head -c 300 /dev/urandom > damaged.mscope
	local arguments code
	for arguments in "verify damaged.mscope" "--version" "help" "help trace" "trace --help" "check -v"; do
		# shellcheck disable=SC2086,SC2016 # several words; expanded there
		"$MEMSCOPE" $arguments > out.txt && code=0 || code=$?
		echo 0 > code
		# shellcheck disable=SC2086 # several words
		(sleep 0.1; "$MEMSCOPE" $arguments || echo $? > code) 2> err.txt | true
		assert_equal "$arguments: $(cat code)" "$arguments: $code"
	done
}

@test "a command that cannot be found or executed" {
	expect 127 'cannot execute "no-such-program": No such file or directory' \
		"$MEMSCOPE" trace -- no-such-program
	expect 127 'cannot execute "": No such file' "$MEMSCOPE" trace -- ''
	expect 127 'cannot execute "./nothing": No such file' "$MEMSCOPE" record -o x.mscope -- ./nothing
	touch not-executable
	expect 126 "Permission denied" "$MEMSCOPE" trace -- ./not-executable
}

@test "target memory that cannot be read" {
	trace --json -e all -o events.jsonl -- "$WORKLOADS/unreadable"
	# The launch whose configuration cannot be read is there, its dimensions unknown.
	assert_equal "$(events 'select(.op == "launch") | [.result, .grid, .block, .shared_bytes]|tojson')" \
		'[1,null,null,null]'
	assert_equal "$(events 'select(.op == "copy") | [.result, .size_bytes, .src, .direction] | tojson')" \
		'[1,null,null,null]'
}

@test "what cannot be traced is told before the kernel is asked for anything" {
	asks_nothing() {
		strace -f -e trace=bpf,perf_event_open -o calls.txt "$MEMSCOPE" "$@" 2> err.txt && return 1
		grep -Eq "there is no process|cannot execute" err.txt || fail "$*: $(cat err.txt)"
		! grep -E "bpf|perf_event_open" calls.txt || fail "$*: asked the kernel"
	}
	asks_nothing trace -- ""
	asks_nothing record -o x.mscope -- ""
	asks_nothing trace -p 4194304
	asks_nothing check -p 4194304
}

@test "a process ID without -p" {
	expect 127 "a running process is -p 4194304" "$MEMSCOPE" trace 4194304
	[ ! -s out.txt ] || fail "nothing was traced, but it says: $(cat out.txt)"
}

@test "none of several processes exists" {
	expect 5 "there is none of the processes of -p" "$MEMSCOPE" trace -p 4194303,4194304
	[ ! -s out.txt ] || fail "nothing was traced, but it says: $(cat out.txt)"
}

@test "standard output that is closed is not taken for another file" {
	expect_closed() {
		"$@" >&-
	}
	expect 1 "standard output: cannot write: Bad file descriptor" expect_closed \
		"$MEMSCOPE" trace -- true
	expect 1 "standard output: cannot write: No space left" sh -c '"$1" --version > /dev/full' sh "$MEMSCOPE"
}

@test "check without privileges says so, and not that the kernel lacks anything" {
	local code=0

	setpriv --reuid 65534 --regid 65534 --clear-groups "$MEMSCOPE" check -p $$ > out.txt 2> err.txt ||
		code=$?
	assert_equal "$code" 3
	grep -q "CAP_SYS_PTRACE (run with sudo)" err.txt
	grep -q "^  untried ring_buffer" out.txt
	! grep -q "^  MISSING ring_buffer" out.txt || false
}

@test "a trace that saw no CUDA library: it is said, after the summary" {
	local seen="warning: no traced process has mapped a CUDA library, so no call was seen"

	expect 0 "$seen; use -f to trace child processes, too" "$MEMSCOPE" trace $MASK -c -- true
	expect 0 "$seen" "$MEMSCOPE" trace $MASK -f -- true
	"$MEMSCOPE" trace $MASK -f -- sh -c "'$WORKLOADS/calls' 1" > out.txt 2> err.txt
	grep -q "events seen" out.txt
	! grep "$seen" err.txt || false
	# It is gone before its mappings are looked at, but the probes were there.
	"$MEMSCOPE" trace $MASK --without=mmap_events -- "$WORKLOADS/calls" 1 > out.txt 2> err.txt
	grep -q "[1-9][0-9]* events seen" out.txt
	! grep "$seen" err.txt || false
}

@test "a directory is no output file" {
	expect 1 "/tmp: cannot create: Is a directory" "$MEMSCOPE" record $MASK -o /tmp -- true
	expect 1 "/tmp: cannot create: Is a directory" "$MEMSCOPE" trace $MASK -o /tmp -- true
}

@test "a trace that never began leaves what its output file had" {
	{ yes padding | head -n 1000; echo old; } > old.txt
	expect 5 "there is no process 99999" "$MEMSCOPE" trace -o old.txt -p 99999
	assert_equal "$(wc -l < old.txt) $(tail -n 1 old.txt)" "1001 old"
	"$MEMSCOPE" trace $MASK -q -o old.txt -- true
	! grep -q old old.txt || false
}
