# SPDX-License-Identifier: BSD-2-Clause
#
# Children that have the driver from their parents, and processes that live for milliseconds.

load helpers

# Starts the workload with these arguments; it waits for children_run, with the driver mapped.
children_start() {
	mkfifo children.in
	"$WORKLOADS/short_lives" "$@" < children.in > children.out 3>&- 8>&- &
	OTHER_PID=$!
	exec 8> children.in
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
}

# Until all that it starts have ended.
children_run() {
	echo >&8
	exec 8>&-
	wait "$OTHER_PID"
	OTHER_PID=
}

# How often the processes named $1 allocated and freed, in the summary.
sums() {
	summary "[.processes[] | select(.comm == \"$1\").spaces[]?] | [(map(.allocs) | add), (map(.frees) | add)]"
}

# Where probes can be in files, also if processes are beside that are not traced ($1: "beside").
needs_files() {
	[[ -z ${1:-} || $MASK != *uprobe_session* ]] || skip "returns of other processes would be probed"
	[ "$(stat -fc %T "$BUILT")" != overlayfs ] || skip "the driver is on overlayfs"
}

# In a cgroup of its own, if it can be made: $GROUP.
cgroup_enter() {
	local hierarchy=/sys/fs/cgroup/pids

	[ -d $hierarchy ] || hierarchy=/sys/fs/cgroup
	GROUP=$hierarchy/memscope-short-$$-$RANDOM
	mkdir "$GROUP" || skip "cgroups cannot be made here"
	echo "$1" > "$GROUP/cgroup.procs"
}

@test "-a: a child that has the driver from its parent is traced" {
	children_start fork 2 20 4096 "$(time_to_attach 400)"
	trace_start -a
	children_run
	trace_stop
	assert_equal "$(sums short_lives)" "[2,1]"
}

@test "--cgroup: a child that has the driver from its parent is traced" {
	children_start fork 2 20 4096 "$(time_to_attach 400)"
	cgroup_enter "$OTHER_PID"
	trace_start --cgroup "$GROUP"
	children_run
	trace_stop
	rmdir "$GROUP"
	assert_equal "$(sums short_lives)" "[2,1]"
}

@test "-a: the worker that a Python program has forked is traced" {
	cat > worker.py <<- 'PYTHON'
		import ctypes, multiprocessing, sys, time
		driver = ctypes.CDLL("libcuda.so.1")
		def work():
		    block, context = ctypes.c_uint64(), ctypes.c_void_p()
		    time.sleep(float(sys.argv[1]))
		    driver.cuInit(0)
		    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
		    driver.cuCtxSetCurrent(context)
		    for _ in range(20):
		        driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 20))
		if __name__ == "__main__":
		    sys.stdin.readline()
		    worker = multiprocessing.get_context("fork").Process(target=work)
		    worker.start()
		    worker.join()
	PYTHON
	mkfifo children.in
	ln -s /usr/bin/python3 own_python # other tests run python3, too
	./own_python worker.py "$(time_to_attach 1)" < children.in 3>&- 8>&- &
	OTHER_PID=$!
	exec 8> children.in
	wait_for 'grep -q libcuda "/proc/$OTHER_PID/maps"'
	trace_start -a
	children_run
	trace_stop
	assert_equal "$(sums own_python)" "[20,0]"
}

# ---- from the first call on

# record -f of the workload with arguments $2..., options $1; its report is in report.json.
record_children() {
	# shellcheck disable=SC2086 # several words, or none
	echo | "$MEMSCOPE" record $MASK -v -f $1 -o a.mscope -- "$WORKLOADS/short_lives" "${@:2}" 2> record.err
	"$MEMSCOPE" report -f json a.mscope > report.json
}

# [allocations, frees, processes missed] of all processes in the report.
whole() {
	jq -c '.recordings[0] | [.processes[], .more_processes // {} | .spaces[]?] as $all |
		[($all | map(.allocs) | add), ($all | map(.frees) | add), .lost.missed_processes]' report.json
}

@test "-f: every call of children that allocate at once, however they are started" {
	local way count

	needs_files beside
	count=$(times 500 40)
	for way in fork exec vfork spawn clone; do
		rm -f a.mscope
		record_children "" "$way" "$count" 5
		assert_equal "$way $(whole)" "$way [$count,$((count / 2)),0]"
		"$MEMSCOPE" report --fail-on inexact a.mscope > report.md
	done
}

# How many allocations and frees of the workload are among the events.
calls_seen() {
	events -s -c '[.[] | select(.comm == "short_lives")] |
		[(map(select(.op == "alloc")) | length), (map(select(.op == "free")) | length)]'
}

@test "-a: every call of 150 processes that start at once" {
	local way count

	needs_files
	count=$(times 1000 150)
	trace_start -a
	# When a process began is known to 10 ms: else the first may have begun before the probes were there.
	sleep 0.02
	for way in fork exec vfork spawn clone; do
		rm -f children.in
		children_start "$way" "$count" 20
		children_run
	done
	trace_stop
	assert_equal "$(calls_seen)" "[$((5 * count)),$((5 * (count / 2)))]"
	# From their beginnings.
	assert_equal "$(events -s '[.[] | select(.type == "attach" and .comm == "short_lives" and .was_running)] | length')" 0
}

@test "--cgroup: every call of those in it, none of others, and the account is exact" {
	local hierarchy=/sys/fs/cgroup/unified way

	needs_files beside
	[ -d $hierarchy ] || hierarchy=/sys/fs/cgroup
	GROUP=$hierarchy/memscope-short-$$-$RANDOM
	[ "$(stat -fc %T $hierarchy)" = cgroup2fs ] && mkdir "$GROUP" || skip "needs a cgroup of version 2"
	record_start -o a.mscope --cgroup "$GROUP"
	for way in fork clone spawn; do
		echo | "$WORKLOADS/short_lives" "$way" 20 5
		# shellcheck disable=SC2016 # expanded there
		sh -c 'echo $$ > "$0/cgroup.procs"; echo | "$@"' "$GROUP" "$WORKLOADS/short_lives" "$way" 20 5
	done
	record_stop
	rmdir "$GROUP"
	"$MEMSCOPE" report -f json a.mscope > report.json
	assert_equal "$(whole)" "[60,30,0]"
	"$MEMSCOPE" report --fail-on inexact a.mscope > report.md
}

@test "--attach=process: what is missed of children is said, and nothing is called exact" {
	local way

	needs_links
	for way in fork exec clone; do
		rm -f a.mscope
		record_children --attach=process "$way" 30 5
		[ "$(jq '.recordings[0] | [.processes[], .more_processes // {} | .spaces[]?.allocs] | add // 0' \
			report.json)" -eq 30 ] || fails_inexact "$way"
	done
}

fails_inexact() {
	local code=0

	"$MEMSCOPE" report --fail-on inexact a.mscope > report.md || code=$?
	assert_equal "$1 $code" "$1 8"
}

@test "a forked child that allocates at once, and calls nothing after that, is seen or said to be missed" {
	needs_files beside
	record_children "" fork 1 300
	assert_equal "$(whole)" "[1,0,0]"
	"$MEMSCOPE" report --fail-on inexact a.mscope > report.md
	rm a.mscope
	record_children --attach=process fork 1 "$(time_to_attach 300)"
	[[ "$(whole)" == "[1,"* ]] || fails_inexact child
}

# ---- who they were, though nothing is read of them before they have ended

# Of those that allocated, how often each is, and the number of tables of devices.
identities_whole() {
	"$MEMSCOPE" report -q --comm short_lives -f json -o report.json a.mscope
	jq -c '.recordings[0] | [.processes[] | select(.spaces != []) |
		[.identity.exe, .identity.user, .identity.cgroup]] | group_by(.) | map([.[0][], length])' report.json
	jq -c '.recordings[0].devices | length' report.json
}

# The same if all are of the workload, $1 of them.
identities_of() {
	local group

	# Where this process is, as the others are.
	rm -f own.mscope
	group=$("$MEMSCOPE" record -q $MASK -o own.mscope -- "$WORKLOADS/short_lives" one 1 50 &&
		"$MEMSCOPE" report -q -f json own.mscope | jq '.recordings[0].processes[0].identity.cgroup')
	printf '[["%s","%s",%s,%s]]\n1\n' "$(readlink -f "$WORKLOADS/short_lives")" "$(id -un)" "$group" "$1"
}

# The recorder stands still while they run, as one that gets no CPU does. Its child makes tables, not records.
while_stopped() {
	kill -STOP "$RECORD_PID"
	"$@"
	kill -CONT "$RECORD_PID"
}

@test "-a: who was there is known of processes that have ended before they are looked at" {
	local way

	needs_files
	for way in fork exec vfork spawn clone; do
		rm -f a.mscope children.in
		children_start "$way" 20 0
		record_start -o a.mscope -a
		while_stopped children_run
		record_stop
		assert_equal "$way $(identities_whole)" "$way $(identities_of 20)"
	done
}

@test "-a: a process that calls, and ends, while it is being attached to has its name" {
	needs_files
	command -v strace > /dev/null || skip "strace is not installed"
	mkfifo puppet.in
	"$WORKLOADS/puppet" < puppet.in > puppet.out 3>&- 8>&- &
	OTHER_PID=$!
	exec 8> puppet.in
	record_start -v -o a.mscope -a
	# When it has told the kernel side of the process, it stands still for longer than that lives.
	strace -qq -p "$RECORD_PID" -P "/proc/$OTHER_PID/maps" -e inject=openat:delay_enter=3000000 \
		-o strace.txt 3>&- 8>&- 9>&- &
	STRACE_PID=$!
	wait_for 'grep -q "^TracerPid:.*$STRACE_PID" "/proc/$RECORD_PID/status"'
	echo load >&8
	wait_for 'grep -qsw "Pid:.*$OTHER_PID" /proc/$RECORD_PID/fdinfo/*'
	sleep 0.3
	printf 'init\nalloc 1000000000\nalloc 1000000000\nexit 0\n' >&8
	wait "$OTHER_PID"
	exec 8>&-
	wait_for 'grep -q "process $OTHER_PID" record.err'
	kill "$STRACE_PID"
	wait "$STRACE_PID" || true
	record_stop
	"$MEMSCOPE" report -q -p "$OTHER_PID" -f json -o report.json a.mscope
	assert_equal "$(jq -c ".recordings[0].processes[] | select(.pid == $OTHER_PID) |
		[.comm, .spaces[0].allocs, .identity.exe, .identity.user]" report.json)" \
		"[\"puppet\",2,\"$(readlink -f "$WORKLOADS/puppet")\",\"$(id -un)\"]"
	OTHER_PID=
}

# Until the command, by that name, has ended, which nothing waits for by now.
command_run() {
	echo >&8
	exec 8>&-
	wait_for 'ps -o stat= -o comm= --ppid "$RECORD_PID" | grep -q "^Z.*$COMMAND"'
}

@test "-f: who was there is known of processes that have ended before they are looked at" {
	local way

	needs_files beside
	for way in fork exec vfork spawn clone; do
		rm -f a.mscope children.in
		mkfifo children.in
		exec 8<> children.in
		# shellcheck disable=SC2016 # expanded there
		record_start -o a.mscope -f -- sh -c 'exec "$0" "$@" < children.in' "$WORKLOADS/short_lives" "$way" 20 0
		COMMAND=short_lives while_stopped command_run
		record_wait
		assert_equal "$way $(identities_whole)" "$way $(identities_of 20)"
	done
}

@test "-f: who was there is known after programs that executed others, too" {
	needs_files beside
	mkfifo children.in
	exec 8<> children.in
	# shellcheck disable=SC2016 # expanded there
	record_start -o a.mscope -f -- sh -c 'read -r line < children.in
		for i in 1 2 3; do env RANK=$i "$0" one 1 0; done' "$WORKLOADS/short_lives"
	COMMAND=sh while_stopped command_run
	record_wait
	identities_whole
	assert_equal "$(jq -c '[.recordings[0].processes[] | select(.spaces != []) |
		[.identity.exe, .identity.environment.RANK]] | sort | [.[][0]], [.[][1]]' report.json | xargs)" \
		"$(exe=$(readlink -f "$WORKLOADS/short_lives"); echo "[$exe,$exe,$exe]" "[1,2,3]")"
}

# ---- what probes in files do to others

# Whether the process's code of the driver differs from the file's.
is_probed() {
	/usr/bin/python3 - "$1" "$BUILT/simcuda/libcuda.so.1" <<- 'END'
		import sys
		code = open(sys.argv[2], "rb").read()
		for line in open(f"/proc/{sys.argv[1]}/maps"):
		    field = line.split()
		    if "x" in field[1] and "libcuda" in line:
		        start, end = (int(x, 16) for x in field[0].split("-"))
		        offset = int(field[2], 16)
		        with open(f"/proc/{sys.argv[1]}/mem", "rb") as memory:
		            memory.seek(start)
		            bytes = memory.read(end - start)
		        size = min(len(bytes), len(code) - offset)
		        sys.exit(bytes[:size] == code[offset:offset + size])
	END
}

# Five bytes of the process's cuMemGetInfo_v2, after they have been changed to $2 (hexadecimal), if given.
function_bytes() {
	/usr/bin/python3 - "$1" "$(nm -D "$BUILT/simcuda/libcuda.so.1" | awk '$3 == "cuMemGetInfo_v2" { print $1 }')" \
		"${2:-}" <<- 'END'
		import sys
		base = next(line for line in open(f"/proc/{sys.argv[1]}/maps") if "libcuda" in line).split("-")[0]
		with open(f"/proc/{sys.argv[1]}/mem", "r+b", buffering=0) as memory:
		    memory.seek(int(base, 16) + int(sys.argv[2], 16))
		    if sys.argv[3]:
		        memory.write(bytes.fromhex(sys.argv[3]))
		    else:
		        print(memory.read(5).hex())
	END
}

@test "who calls a lot and is not traced is relieved of the probes; who is traced keeps its own" {
	local turns

	needs_files beside
	puppet_with_cuda
	trace_start -f -p "$PUPPET_PID"
	puppet alloc 4096
	flood_start 2
	# It goes on calling while the probes of all are replaced by its own.
	while [ ! -e relieved ] && puppet churn 20; do
		echo
	done > turns 3>&- 7>&- &
	turns=$!
	wait_for 'grep -q "warning: processes that are not traced make more than" trace.err'
	grep -q "processes that are not traced call probed functions.*; --attach=process avoids this" trace.err
	wait_for '! is_probed "$FLOOD_PID"'
	touch relieved
	wait "$turns"
	flood_end
	puppet free
	trace_stop
	turns=$((20 * $(grep -c "" turns) + 1))
	assert_equal "$(summary '[.processes[] | [.pid, .spaces[0].allocs, .spaces[0].frees]]')" \
		"[[$PUPPET_PID,$turns,$turns]]"
}

@test "a library that is overwritten in place has no probes by then" {
	needs_files beside
	mkdir own
	cp "$LD_LIBRARY_PATH/libcuda.so.1" own
	export LD_LIBRARY_PATH=$PWD/own:$LD_LIBRARY_PATH
	puppet_with_cuda
	record_start -f -o a.mscope -p "$PUPPET_PID"
	is_probed "$PUPPET_PID"
	puppet alloc 4096
	# The same bytes: the process goes on with them.
	dd if="$BUILT/simcuda/libcuda.so.1" of=own/libcuda.so.1 conv=notrunc bs=1M status=none
	! is_probed "$PUPPET_PID" || fail "still probed"
	puppet free
	grep "own/libcuda.so.1 is about to be overwritten: its probes are removed, and its calls are no longer seen" record.err
	record_stop
	"$MEMSCOPE" report -f json a.mscope > report.json
	assert_equal "$(whole)" "[1,0,1]"
	fails_inexact overwritten
}

@test "two mounts of one file below on overlayfs: each call is seen once" {
	needs_files
	mkdir lower tmpfs
	cp "$LD_LIBRARY_PATH/libcuda.so.1" lower
	cat > run.sh <<- 'SHELL'
		mount -t tmpfs none tmpfs && mkdir -p tmpfs/{1,2}/{upper,work,merged} || exit 77
		for i in 1 2; do
			mount -t overlay overlay -o "lowerdir=lower,upperdir=tmpfs/$i/upper,workdir=tmpfs/$i/work" \
				"tmpfs/$i/merged" || exit 77
		done
		echo mounted
		read -r _
		for i in 1 2; do
			echo | LD_LIBRARY_PATH=$PWD/tmpfs/$i/merged "$1" fork 2 20 4096 "$2" &
		done
		wait
	SHELL
	mkfifo children.in
	unshare --mount bash run.sh "$WORKLOADS/short_lives" "$(time_to_attach 500)" < children.in > children.out \
		3>&- 8>&- &
	OTHER_PID=$!
	exec 8> children.in
	wait_for 'grep -q mounted children.out' 100 || skip "no overlayfs here"
	trace_start -a
	children_run
	trace_stop
	assert_equal "$(calls_seen)" "[4,2]"
}

@test "a function that a process has changed keeps its change, though all processes are traced" {
	needs_files
	puppet_with_cuda
	function_bytes "$PUPPET_PID" e900000000
	trace_start -a
	is_probed "$PUPPET_PID"
	assert_equal "$(function_bytes "$PUPPET_PID")" e900000000
	trace_stop
	assert_equal "$(function_bytes "$PUPPET_PID")" e900000000
}

@test "SIGKILL of the tool with probes in files: nothing is left in any process" {
	local mode

	needs_links
	for mode in "-a" "-f"; do
		flood_start 2
		[ "$mode" = -a ] || mode="-f -p $FLOOD_PID"
		# shellcheck disable=SC2086 # several words
		tool_start trace TRACE_PID -c -o out.txt $mode
		is_probed "$FLOOD_PID"
		kill -9 "$TRACE_PID"
		"$WORKLOADS/residue" "$FLOOD_PID" "$BUILT/simcuda/libcuda.so.1"
		wait "$TRACE_PID" || true
		TRACE_PID=
		leaves_nothing
		flood_end
	done
}

# ---- a clean start

@test "attached to in the middle of a flood: no free is seen before all probes are in place" {
	local threads=4

	# A copy: single uprobes are in it for long (single.bash), and no probe of another test is to wait for them.
	mkdir own
	cp "$BUILT/simcuda/libcuda.so.1" own
	export LD_LIBRARY_PATH=$PWD/own
	# One after the other, the frees before the allocations.
	flood_start $threads
	trace_start --without=uprobe_session,uprobe_multi -e alloc,free -p "$FLOOD_PID"
	wait_for '[ "$(head -n 1000 events.jsonl | wc -l)" -eq 1000 ]'
	kill -INT "$TRACE_PID"
	flood_end
	# The account is there by then. If many probes are left, the helper removes them.
	wait_for 'grep -q detaching trace.err || ! kill -0 "$TRACE_PID" 2> /dev/null'
	if grep -q detaching trace.err; then
		kill "$TRACE_PID"
		trace_wait 143
	else
		trace_wait
	fi
	[ "$(summary '.processes[0].pre_attach_frees')" -le $threads ]
}

@test "-a: who was there is known of processes that are found by what they map, and end at once" {
	local i name=found$$

	[ "$(nproc)" -gt 1 ] || skip "needs two processors"
	cp "$WORKLOADS/puppet" "$name"
	record_start -o a.mscope --stacks=off -a
	printf 'load\ninit\n' | { cat; wait_for 'grep -q "libcuda.so.1: attached to [0-9]* functions in" record.err'; } | "./$name" > out
	# The tool comes late: it has a part of a processor.
	taskset -acp 0 "$RECORD_PID" > out
	for ((i = 0; i < 4; i++)); do
		taskset -c 0 sh -c 'while :; do :; done' 3>&- &
		OTHER_PID="${OTHER_PID:-} $!"
	done
	for ((i = 0; i < 200; i++)); do
		printf 'load\ninit\nalloc 4096\nexit 0\n' | taskset -c 1 "./$name" > out
	done
	# shellcheck disable=SC2086 # several
	kill $OTHER_PID
	record_stop
	"$MEMSCOPE" export -q -f openmetrics -o - a.mscope |
		sed -n "s/^memscope_allocations_total{.*comm=\"$name\",\(.*\)kind=\"device\"} .*/\1/p" > found
	# One series: the user of each is known.
	assert_equal "$(cat found)" 'user="root",'
}
