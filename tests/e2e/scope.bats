# SPDX-License-Identifier: BSD-2-Clause
#
# Processes that nobody names: all of the machine, those in a cgroup, those in other namespaces.

load helpers

bats_require_minimum_version 1.5.0

# A program that allocates, copies and frees N times, half a second after it has initialised.
SIMCUDA_DELAY=cuInit=$(time_to_attach 500)ms
export SIMCUDA_DELAY

# A copy under a name that nobody has who runs beside.
eval "helpers_$(declare -f setup)"
setup() {
	helpers_setup
	cp "$WORKLOADS/calls" scoped
}

# Makes one of its own, and prints where.
cgroup_new() {
	local hierarchy=/sys/fs/cgroup/pids group

	[ -d $hierarchy ] || hierarchy=/sys/fs/cgroup
	group=$hierarchy/memscope-test-$$-$RANDOM
	mkdir "$group" && echo "$group"
}

# The processes of that name in the summary, and what each of them was seen to do.
seen() {
	summary '[.processes[] | select(.comm == "scoped") | .spaces[0] | [.allocs, .frees, .live_bytes]]'
}

# Runs the command while the tool, process $1, is stopped: not longer than needed, or else what all other
# processes map meanwhile, on a busy machine, leaves no room for the kernel to tell of this one.
unnoticed() {
	kill -STOP "$1"
	env -u SIMCUDA_DELAY "${@:2}"
	kill -CONT "$1"
	sleep 1
}

# One that has the driver, and goes on when the tool has attached, started with options $1...
trace_start_beside() {
	SIMCUDA_DELAY=cuInit=$(time_to_attach 2500)ms ./scoped 7 3>&- 8>&- 9<&- &
	BESIDE_PID=$!
	wait_for 'grep -q libcuda "/proc/$BESIDE_PID/maps"'
	kill -STOP "$BESIDE_PID"
	trace_start "$@"
	kill -CONT "$BESIDE_PID"
}

@test "-a --attach=process: processes that run already, and those that start later" {
	trace_start_beside -a --attach=process
	./scoped 9
	./scoped 9
	wait "$BESIDE_PID"
	sleep 0.3
	unnoticed "$TRACE_PID" ./scoped 9
	trace_stop
	# Of the whole machine: others may be missed as well.
	grep -E "at least [1-9][0-9]* process(es)? with a CUDA library ended, or executed another program, before (it|they) could be attached to" trace.err
	assert_equal "$(seen)" "[[7,7,0],[9,9,0],[9,9,0]]"
	# Of what has the driver already, nobody knows what it holds. (The others may map it just before
	# it has probes.)
	assert_equal "$(summary '[.processes[] | select(.comm == "scoped").was_running][0]')" true
	assert_equal "$(summary '.events.lost')" 0
}

@test "-a: processes that run already, and those that start later, also if they end unnoticed" {
	[[ $(stat -fc %T "$BUILT") != overlayfs ]] || skip "the driver is on overlayfs"
	trace_start_beside -a
	./scoped 9
	wait "$BESIDE_PID"
	unnoticed "$TRACE_PID" ./scoped 8
	trace_stop
	assert_equal "$(seen)" "[[7,7,0],[9,9,0],[8,8,0]]"
	assert_equal "$(summary '[.processes[] | select(.comm == "scoped").was_running]')" "[true,false,false]"
	assert_equal "$(summary '.events.lost')" 0
}

@test "-a: a process that has ended before its driver, which was never read, was looked at" {
	mkdir own
	cp "$LD_LIBRARY_PATH/libcuda.so.1" own
	tool_start record RECORD_PID -a -o a.mscope
	LD_LIBRARY_PATH=$PWD/own:$LD_LIBRARY_PATH unnoticed "$RECORD_PID" ./scoped 9
	kill -INT "$RECORD_PID"
	tool_wait record RECORD_PID
	# Of the whole machine: others may be missed as well.
	grep -E "at least [1-9][0-9]* process(es)? with a CUDA library ended" record.err
	! grep "nothing that was traced has mapped a CUDA library" record.err || false
}

@test "-a without notice of mappings: looks once a second" {
	trace_start -a --without=mmap_events
	SIMCUDA_DELAY=cuInit=$(time_to_attach 2500)ms ./scoped 9
	sleep 0.3
	trace_stop
	assert_equal "$(seen)" "[[9,9,0]]"
}

@test "--cgroup: those in it and below, and no others" {
	local group

	group=$(cgroup_new) && mkdir "$group/below" || skip "cgroups cannot be made here"
	run -2 "$MEMSCOPE" trace --cgroup "$group" --cgroup "$group/below"
	[[ $output == *"--cgroup: only one can be given: "*" or $group/below" ]]
	trace_start --cgroup "$group"
	./scoped 5
	sh -c "echo \$\$ > $group/cgroup.procs; exec '$PWD/scoped' 6"
	sh -c "echo \$\$ > $group/below/cgroup.procs; exec '$PWD/scoped' 7"
	sleep 0.3
	trace_stop
	rmdir "$group/below" "$group"
	assert_equal "$(seen)" "[[6,6,0],[7,7,0]]"
}

# Makes one in each of two hierarchies of version 1, both of the path $GROUP.
cgroups_of_one_path() {
	local hierarchy

	GROUP=/memscope-test-$$-$RANDOM
	for hierarchy in pids freezer; do
		mkdir "/sys/fs/cgroup/$hierarchy$GROUP" || skip "there are no cgroups of version 1 here"
	done
}

# The workload, N = $1, in a cgroup.
scoped_in() {
	sh -c "echo \$\$ > $2/cgroup.procs; exec '$PWD/scoped' $1"
}

@test "--cgroup: a directory is of one hierarchy, a path of any" {
	local path

	cgroups_of_one_path
	for path in /sys/fs/cgroup/freezer$GROUP $GROUP; do
		trace_start --cgroup "$path"
		scoped_in 5 "/sys/fs/cgroup/pids$GROUP"
		scoped_in 6 "/sys/fs/cgroup/freezer$GROUP"
		sleep 0.3
		trace_stop
		seen >> seen.txt
	done
	rmdir "/sys/fs/cgroup/pids$GROUP" "/sys/fs/cgroup/freezer$GROUP"
	assert_equal "$(cat seen.txt)" "[[6,6,0]]"$'\n'"[[5,5,0],[6,6,0]]"
}

@test "--cgroup: beside version 1, each path of a process that a report shows can be asked for" {
	local path

	cgroups_of_one_path
	rmdir "/sys/fs/cgroup/freezer$GROUP"
	mkdir "/sys/fs/cgroup/freezer$GROUP-other"
	tool_start record RECORD_PID -o a.mscope -a
	# In one of each hierarchy.
	sh -c "echo \$\$ > /sys/fs/cgroup/pids$GROUP/cgroup.procs
		echo \$\$ > /sys/fs/cgroup/freezer$GROUP-other/cgroup.procs; exec '$PWD/scoped' 5"
	sleep 0.3
	kill -INT "$RECORD_PID"
	tool_wait record RECORD_PID
	rmdir "/sys/fs/cgroup/pids$GROUP" "/sys/fs/cgroup/freezer$GROUP-other"
	for path in "$GROUP" "$GROUP-other"; do
		"$MEMSCOPE" report -f md --cgroup "$path" a.mscope > out.md
		grep -q "cgroup $GROUP" out.md && grep "in other hierarchies [^ ]*$GROUP" out.md
		"$MEMSCOPE" report --json --cgroup "$path" a.mscope > report.json
		valid report report.json
		jq -c '[.recordings[0].processes[].comm]' report.json >> seen.txt
	done
	assert_equal "$(xargs < seen.txt)" '[scoped] [scoped]'
}

@test "--cgroup: without the first slash, below its slice, and with -a" {
	local hierarchy=/sys/fs/cgroup/pids unit=memscope-test-$$-$RANDOM.service path made=

	[ -d $hierarchy ] || hierarchy=/sys/fs/cgroup
	[ -d $hierarchy/system.slice ] || made=$hierarchy/system.slice
	mkdir -p "$hierarchy/system.slice/$unit" || skip "cgroups cannot be made here"
	for path in "system.slice/$unit" "${hierarchy#/}/system.slice/$unit"; do
		trace_start -a --cgroup "$path"
		./scoped 5
		scoped_in 6 "$hierarchy/system.slice/$unit"
		sleep 0.3
		trace_stop
		seen >> seen.txt
	done
	tool_start record RECORD_PID -o a.mscope --cgroup "system.slice/$unit"
	scoped_in 7 "$hierarchy/system.slice/$unit"
	sleep 0.3
	kill -INT "$RECORD_PID"
	tool_wait record RECORD_PID
	"$MEMSCOPE" report --json --cgroup "system.slice/$unit" a.mscope | jq -c '[.recordings[0].processes[].comm]' >> seen.txt
	run -2 "$MEMSCOPE" trace --cgroup "$unit"
	[[ $output == *"there is no cgroup $unit; write system.slice/$unit" ]] || fail "$output"
	run "$MEMSCOPE" who --cgroup "$unit"
	[[ $output == *"there is no cgroup $unit; write system.slice/$unit" ]] || fail "$output"
	rmdir "$hierarchy/system.slice/$unit"
	# Others may use it by now.
	[ -z "$made" ] || rmdir "$made" || true
	assert_equal "$(xargs < seen.txt)" "[[6,6,0]] [[6,6,0]] [scoped]"
}

@test "--cgroup: record and report understand the same words" {
	local path

	cgroups_of_one_path
	mkdir "/sys/fs/cgroup/freezer$GROUP-other"
	for path in /sys/fs/cgroup/freezer$GROUP-other/ "$GROUP-other" /sys/fs/cgroup/pids$GROUP "$GROUP"; do
		rm -f a.mscope
		tool_start record RECORD_PID -o a.mscope --cgroup "$path"
		# In one of each hierarchy.
		sh -c "echo \$\$ > /sys/fs/cgroup/pids$GROUP/cgroup.procs
			echo \$\$ > /sys/fs/cgroup/freezer$GROUP-other/cgroup.procs; exec '$PWD/scoped' 5"
		sleep 0.3
		kill -INT "$RECORD_PID"
		tool_wait record RECORD_PID
		"$MEMSCOPE" report --json --cgroup "$path" a.mscope | jq -c '[.recordings[0].processes[].comm]' >> seen.txt
	done
	rmdir /sys/fs/cgroup/*"$GROUP" "/sys/fs/cgroup/freezer$GROUP-other"
	assert_equal "$(sort seen.txt | uniq -c | xargs)" '4 [scoped]'
}

# $2 processes that begin at once in a cgroup of their own, $3...: environment of the tool, $1: its option.
# Each is seen, or counted as one that was missed.
starts_at_once() {
	local group

	group=$(cgroup_new) || skip "cgroups cannot be made here"
	# shellcheck disable=SC2086 # may be empty
	in_background_tracing TRACE_PID trace.err env "${@:3}" "$MEMSCOPE" trace $MASK -v "$1" --json -o events.jsonl \
		--cgroup "$group"
	(
		unset SIMCUDA_LOG
		echo $BASHPID > "$group/cgroup.procs"
		for ((i = 0; i < $2; i++)); do
			SIMCUDA_DELAY=cuInit=2000ms ./scoped 2 3>&- &
		done
		wait
	)
	sleep 0.3
	trace_stop
	rmdir "$group"
	[ "$(summary '[(.processes | length), .more_processes.count // 0, .missed_processes] | add')" -ge "$2" ]
}

@test "--cgroup: more processes at once than can be attached to are counted" {
	needs_links
	starts_at_once --attach=process 16 ASAN_OPTIONS=verify_asan_link_order=0 LACKING=speed LD_PRELOAD="$WORKLOADS/lacking.so"
	[ "$(summary .missed_processes)" -gt 0 ]
	grep "processes with a CUDA library ended" trace.err
}

@test "--cgroup: hundreds of processes at once are seen or counted" {
	local i

	needs_links
	for ((i = 0; i < $(times 10 1); i++)); do
		starts_at_once --attach=auto "$(times 300 100)"
		[ -z "${STRESS:-}" ] || starts_at_once --attach=process 600
	done
}

@test "a process in its own mount and PID namespaces, whose driver has been deleted" {
	local pid

	cp "$BUILT"/simcuda/libcuda.so.1 .
	unshare --mount --pid --fork --mount-proc sh -c "mount -t tmpfs none /mnt
		cp $PWD/libcuda.so.1 /mnt/; export LD_LIBRARY_PATH=/mnt:$BUILT/simcuda
		'$PWD/scoped' 1 ; : > ready; SIMCUDA_DELAY=cuInit=$(time_to_attach 2000)ms '$PWD/scoped' 11" 3>&- 8>&- 9<&- &
	wait_for '[ -e ready ]'
	wait_for 'pid=$(pgrep -nx scoped) && grep -q /mnt/libcuda /proc/$pid/maps'
	nsenter --target "$pid" --mount rm /mnt/libcuda.so.1
	grep -q '/mnt/libcuda.so.1 (deleted)' "/proc/$pid/maps"
	trace_start -p "$pid"
	wait %1
	trace_wait
	assert_equal "$(seen)" "[[11,11,0]]"
	assert_equal "$(events 'select(.api == "cuMemAlloc_v2" or .driver_api == "cuMemAlloc_v2") | .pid' |
		sort -u)" "$pid"
}

# Starts a shell, $PARENT, with a child that starts the puppet once it is told to.
grandparent_start() {
	mkfifo go
	mkfifo in
	exec 8<> in
	# shellcheck disable=SC2016 # expanded there
	sh -c 'sh -c "read -r _ < go; \"\$0\" < in > out; true" "$1"; true' sh "$WORKLOADS/puppet" 3>&- 8>&- 9>&- &
	PARENT=$!
}

@test "a descendant that is not traced is told of when it maps the driver, and when tracing begins" {
	grandparent_start
	tool_start trace TRACE_PID -c -o out.txt -p "$PARENT"
	echo > go
	echo load >&8
	wait_for 'grep -q "has mapped the CUDA driver" trace.err'
	local puppet
	puppet=$(pgrep -P "$(pgrep -P "$PARENT")")
	grep -qx "memscope-bpf: warning: process $puppet (puppet), a descendant of a traced one, has mapped the CUDA driver and is not traced: use -f to trace child processes, too" trace.err
	kill -INT "$TRACE_PID"
	tool_wait trace TRACE_PID

	# -f is for what is started from now on.
	tool_start trace TRACE_PID -c -f -o out.txt -p "$PARENT"
	grep -qx "memscope-bpf: warning: 1 descendant of these processes has the CUDA driver mapped and will not be traced; with it: -p $PARENT,$puppet" trace.err
	kill -INT "$TRACE_PID"
	tool_wait trace TRACE_PID
	tool_start trace TRACE_PID -c -o out.txt -p "$PARENT,$puppet"
	! grep descendant trace.err || false
	echo "exit 0" >&8
	wait "$PARENT"
	tool_wait trace TRACE_PID
}

@test "-p: what cannot be looked into keeps no other from being traced, and is no cure" {
	! head -c 1 /proc/1/maps > first.txt 2> /dev/null || skip "process 1 can be looked into here"
	puppet_with_cuda
	"$MEMSCOPE" trace -p "1,$PUPPET_PID" -d 0.1 > out.txt 2> err.txt
	grep -q "cannot read the mappings of process 1: .*and cannot be traced from here" err.txt
	grep -q "1 of the 2 processes of -p cannot be traced; going on with the other$" err.txt
	grep -q "^process $PUPPET_PID (puppet)" out.txt
	"$MEMSCOPE" trace -p 1 -d 0.1 2> err.txt && fail "it was traced"
	grep -qE "not be traced; with (it|them): -p [0-9]" err.txt
	! grep -E "not be traced; with (it|them): -p 1(,|$)" err.txt || fail "it is its own cure"
	puppet_end
}

@test "a fork that has the driver from its parent alone is not told of" {
	puppet_start
	puppet load
	echo idle >&8
	read -r _ PUPPET_CHILD <&9
	kill -STOP "$PUPPET_CHILD"
	tool_start trace TRACE_PID -c -o out.txt -p "$PUPPET_PID"
	kill -CONT "$PUPPET_CHILD"
	puppet_end
	tool_wait trace TRACE_PID
	! grep descendant trace.err || false
}

# One that executed another program, and one from before the trace, are not among them.
@test "forks with the driver that are not traced are told of once, at the end" {
	puppet_start
	puppet load
	puppet keep
	record_start -o a.mscope -p "$PUPPET_PID"
	puppet keep
	local first=$PUPPET_CHILD
	puppet keep /usr/bin/sleep
	local child=$PUPPET_CHILD
	wait_for '[ "$(readlink "/proc/$child/exe")" = "$(readlink -f /usr/bin/sleep)" ]'
	puppet keep
	sleep 0.2
	record_stop
	assert_equal "$(grep -c "whether they called CUDA is not known" record.err)" 1
	grep -qx "memscope-bpf: warning: at least 2 children that process $PUPPET_PID forked while it was traced had the CUDA driver mapped and were not traced (pids $first, $PUPPET_CHILD); whether they called CUDA is not known: use -f to trace child processes, too" record.err
	"$MEMSCOPE" report -q -f json -o report.json a.mscope
	valid report report.json
	assert_equal "$(jq -c '.recordings[0].lost.untraced_forks' report.json)" "[{\"pid\":$PUPPET_PID,\"children\":2,\"children_pids\":[$first,$PUPPET_CHILD]}]"
	"$MEMSCOPE" report a.mscope | grep -q "whether at least 2 children of puppet ($PUPPET_PID) used CUDA"
	run "$MEMSCOPE" report -q --fail-on inexact -o report.md a.mscope
	assert_equal "$status" 8
	"$MEMSCOPE" export -q -f ndjson -o lines a.mscope
	tail -n 1 lines > event.json
	valid event event.json
	assert_equal "$(tail -n 1 lines | jq '.untraced_forks[0].children')" 2

	trace_start -p "$PUPPET_PID"
	puppet keep
	sleep 0.2
	trace_stop
	assert_equal "$(summary .untraced_forks)" "[{\"pid\":$PUPPET_PID,\"children\":1,\"children_pids\":[$PUPPET_CHILD]}]"

	tool_start trace TRACE_PID -c -o out.txt -p "$PUPPET_PID"
	puppet keep
	sleep 0.2
	kill -INT "$TRACE_PID"
	tool_wait trace TRACE_PID
	grep -qx "  not traced: at least 1 child that was forked with the driver mapped; whether it used CUDA is not known (-f traces children, too)" out.txt

	tool_start trace TRACE_PID -c -f -o out.txt -p "$PUPPET_PID"
	puppet keep
	sleep 0.2
	kill -INT "$TRACE_PID"
	tool_wait trace TRACE_PID
	! grep "is not known" trace.err || false
	puppet_end
}

@test "nor is one that has ended by the time it is heard of" {
	mkfifo go
	exec 8<> go
	# shellcheck disable=SC2016 # expanded there
	sh -c 'read -r _; printf "load\nexit 0\n" | "$0" > out & read -r _; wait' "$WORKLOADS/puppet" <&8 3>&- 8>&- &
	PARENT=$!
	tool_start trace TRACE_PID -c -o out.txt -p "$PARENT"
	kill -STOP "$TRACE_PID"
	echo >&8
	wait_for 'grep -q ok out && grep -q "^State:.*Z" "/proc/$(pgrep -P "$PARENT" puppet)/status"'
	kill -CONT "$TRACE_PID"
	echo >&8
	wait "$PARENT"
	tool_wait trace TRACE_PID
	! grep descendant trace.err || false
}

@test "each descendant that is not traced is told of, and once" {
	mkfifo go end
	exec 8<> go 9<> end
	# shellcheck disable=SC2016 # expanded there
	sh -c 'read -r _; for i in 1 2; do
			sh -c "(printf \"load\nmap $1\n\"; read -r _; echo exit 0) | \"\$0\" > out.\$1" "$0" $i <&9 &
		done; wait' "$WORKLOADS/puppet" "$LD_LIBRARY_PATH/libcuda.so.1" <&8 3>&- 8>&- &
	PARENT=$!
	tool_start trace TRACE_PID -c -o out.txt -p "$PARENT"
	echo >&8
	wait_for '[ "$(grep -c "has mapped the CUDA driver" trace.err)" -ge 2 ]'
	wait_for '[ "$(cat out.1 out.2 | grep -c ok)" -eq 4 ]'
	printf '\n\n' >&9
	wait "$PARENT"
	tool_wait trace TRACE_PID
	assert_equal "$(grep -o "process [0-9]* (puppet), a descendant" trace.err | sort -u | wc -l)" 2
	assert_equal "$(grep -c "a descendant" trace.err)" 2
}

@test "a recording says that descendants used CUDA and are not in it" {
	grandparent_start
	record_start -o a.mscope -p "$PARENT"
	echo > go
	echo load >&8
	wait_for 'grep -q "has mapped the CUDA driver" record.err'
	record_stop
	"$MEMSCOPE" report -q -f md -o report.md a.mscope
	grep -q "Nothing was lost; at least 1 descendant of the recorded processes used CUDA and was not recorded\." report.md
	run -8 "$MEMSCOPE" report -q --fail-on inexact a.mscope
	"$MEMSCOPE" report -q -f json -o report.json a.mscope
	valid report report.json
	assert_equal "$(jq '.recordings[0].lost.untraced_descendants' report.json)" 1

	# It has the driver by now.
	record_start -o b.mscope -p "$PARENT"
	record_stop
	assert_equal "$("$MEMSCOPE" report -q --json b.mscope | jq '.recordings[0].lost.untraced_descendants')" 1
	record_start -o c.mscope -p "$PARENT,$(pgrep -P "$(pgrep -P "$PARENT")")"
	record_stop
	assert_equal "$("$MEMSCOPE" report -q --json c.mscope | jq '.recordings[0].lost.untraced_descendants')" 0
	echo "exit 0" >&8
	wait "$PARENT"
}
