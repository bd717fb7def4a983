# SPDX-License-Identifier: BSD-2-Clause
#
# Processes that are moved into a cgroup, or out of it, while those in it are traced.

load helpers
load cgroups

bats_require_minimum_version 1.5.0

# The puppet, with CUDA in it; sets MOVED, as the other forgets who it was.
moved_start() {
	puppet_with_cuda
	MOVED=$PUPPET_PID
}

is_traced() {
	wait_for 'grep -q "process $MOVED: its calls are recorded" trace.err'
}

# All that it has done is in the output.
end_is_seen() {
	wait_for 'grep -q "\"type\":\"exit\".*\"pid\":$MOVED," events.jsonl'
}

of_puppet() {
	summary "[.processes[] | select(.pid == $MOVED) | .was_running, .spaces[0].allocs, .spaces[0].frees]"
}

@test "--cgroup: a process that is moved there is traced from then on, as one that was running" {
	local hierarchy

	for hierarchy in $(hierarchies); do
		group_make "${hierarchy#/}" || continue
		moved_start
		puppet alloc 4096
		trace_start -v --cgroup "$GROUP"
		puppet alloc 4096
		move "$MOVED" "$GROUP"
		is_traced
		puppet alloc 4096
		puppet free
		puppet_end
		end_is_seen
		trace_stop
		assert_equal "$(of_puppet)" "[true,1,1]"
		assert_equal "$(summary .left_cgroup)" '{"processes":0,"pids":[]}'
		rm events.jsonl trace.err puppet.in puppet.out
	done
	[ -n "$GROUP" ] || skip "cgroups cannot be made here"
}

# The probes are in the driver since before the process began, which calls it before it is moved, and at once
# afterwards: the kernel side lets it in.
@test "--cgroup: what a process called before it was moved there is not taken for nothing" {
	sees_first_calls || skip "no probes in files here"
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then group_make ""; else group_make unified; fi ||
		skip "there are no cgroups of version 2 here"
	trace_start --cgroup "$GROUP"
	sh -c "echo \$\$ > $GROUP/cgroup.procs; exec '$WORKLOADS/calls' 1"
	moved_start
	puppet alloc 4096
	kill -STOP "$TRACE_PID"
	move "$MOVED" "$GROUP"
	puppet alloc 4096
	kill -CONT "$TRACE_PID"
	puppet_end
	end_is_seen
	trace_stop
	assert_equal "$(of_puppet)" "[true,1,0]"
}

# A context is what a program begins with; one that has run for long can make another at any time.
@test "--cgroup: one that makes a context as soon as it is moved there was running before" {
	sees_first_calls || skip "no probes in files here"
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then group_make ""; else group_make unified; fi ||
		skip "there are no cgroups of version 2 here"
	moved_start
	puppet alloc 4096
	trace_start -v --cgroup "$GROUP"
	sh -c "echo \$\$ > $GROUP/cgroup.procs; exec '$WORKLOADS/calls' 1"
	wait_for 'grep -q "libcuda.so.*attached to .* functions in all processes" trace.err'
	kill -STOP "$TRACE_PID"
	move "$MOVED" "$GROUP"
	puppet init
	puppet alloc 4096
	kill -CONT "$TRACE_PID"
	# It is looked at while it is there.
	wait_for 'grep -q "\"type\":\"attach\".*\"pid\":$MOVED,.*\"was_running\":true" events.jsonl'
	puppet_end
	end_is_seen
	trace_stop
	assert_equal "$(of_puppet)" "[true,1,0]"
}

@test "--cgroup: one that only executes there was not running before" {
	sees_first_calls || skip "no probes in files here"
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then group_make ""; else group_make unified; fi ||
		skip "there are no cgroups of version 2 here"
	trace_start --cgroup "$GROUP"
	for _ in 1 2; do
		sh -c "echo \$\$ > $GROUP/cgroup.procs; exec '$WORKLOADS/calls' 3"
	done
	# It calls outside, and executes another program before it is moved; one that ends there is nobody's.
	printf '#!/bin/sh\necho $$ > %s/cgroup.procs\nexec "%s" 4\n' "$GROUP" "$WORKLOADS/calls" > script
	chmod +x script
	moved_start
	puppet alloc 4096
	echo "exec $PWD/script" >&8
	wait "$MOVED"
	# What its next program has called there counts.
	rm puppet.in puppet.out
	moved_start
	puppet alloc 4096
	echo exec >&8
	wait_for '! grep -q libcuda "/proc/$MOVED/maps"'
	puppet load
	puppet init
	puppet alloc 4096
	move "$MOVED" "$GROUP"
	is_traced
	puppet alloc 4096
	puppet_end
	"$WORKLOADS/calls" 5
	sleep 0.3
	trace_stop
	assert_equal "$(summary '[.processes[] | .was_running, .spaces[0].allocs]')" "[false,3,false,3,false,4,true,1]"
}

@test "--cgroup: a process that leaves it is traced on, and that is said" {
	local hierarchy

	for hierarchy in $(hierarchies); do
		group_make "${hierarchy#/}" || continue
		puppet_start
		MOVED=$PUPPET_PID
		move "$MOVED" "$GROUP"
		puppet load
		puppet init
		trace_start --cgroup "$GROUP"
		tool_start record RECORD_PID -o a.mscope --cgroup "$GROUP"
		puppet alloc 4096
		move "$MOVED" "$OUTSIDE"
		puppet alloc 4096
		puppet free
		kill -INT "$RECORD_PID"
		tool_wait record RECORD_PID
		trace_stop
		puppet_end
		assert_equal "$(of_puppet)" "[true,2,1]"
		assert_equal "$(summary .left_cgroup)" "{\"processes\":1,\"pids\":[$MOVED]}"
		summary . > event.json
		valid event event.json
		grep "warning: 1 process left the cgroup while it was traced, and was traced on all the same (pid $MOVED)" \
			trace.err record.err > said
		assert_equal "$(wc -l < said)" 2
		"$MEMSCOPE" report -q --json a.mscope > report.json
		valid report report.json
		assert_equal "$(jq -c '.recordings[0].lost.left_cgroup' report.json)" "{\"processes\":1,\"pids\":[$MOVED]}"
		"$MEMSCOPE" report -f md a.mscope > report.txt
		grep -q "since when puppet ($MOVED) was outside of what was chosen: left while recorded" report.txt
		"$MEMSCOPE" export -q -f ndjson -o lines a.mscope
		assert_equal "$(tail -n 1 lines | jq '.left_cgroup.processes')" 1
		rm events.jsonl trace.err a.mscope lines puppet.in puppet.out
	done
	[ -n "$GROUP" ] || skip "cgroups cannot be made here"
}

# More than are remembered one by one, while the tool cannot look: they are found.
many_are_moved() {
	local i

	kill -STOP "$TRACE_PID"
	sleepers_start 80
	for i in $SLEEPERS "$MOVED"; do
		move "$i" "$GROUP"
	done
	kill -CONT "$TRACE_PID"
	is_traced
	puppet alloc 4096
	puppet_end
	sleepers_end
	end_is_seen
	trace_stop
	assert_equal "$(of_puppet)" "[true,1,0]"
}

@test "--cgroup: many that are moved while the tool cannot look are found" {
	group_make_any || skip "cgroups cannot be made here"
	moved_start
	trace_start -v --cgroup "$GROUP"
	many_are_moved
}

of_recorded() {
	"$MEMSCOPE" report -q --json a.mscope > report.json
	valid report report.json
	jq -c "[.recordings[0].processes[] | select(.pid == $MOVED) | .unknown.was_running, .spaces[0].allocs, .spaces[0].frees]" report.json
}

@test "record --container: a process that is moved there is recorded from then on, as one that was running" {
	container_make || skip "cgroups cannot be made here"
	moved_start
	puppet alloc 4096
	tool_start record RECORD_PID -o a.mscope --container "$ID"
	# It is refused at first: nothing is to be left of that.
	puppet alloc 4096
	wait_for 'grep -q "process $MOVED is not traced" record.err'
	move "$MOVED" "$GROUP"
	wait_for 'grep -q "process $MOVED: its calls are recorded" record.err'
	puppet alloc 4096
	puppet free
	puppet_end
	sleep 0.3
	kill -INT "$RECORD_PID"
	tool_wait record RECORD_PID
	assert_equal "$(of_recorded)" "[true,1,1]"
	assert_equal "$(jq -c '.recordings[0].lost.left_cgroup' report.json)" '{"processes":0,"pids":[]}'
}

@test "record --container: a process that leaves it is recorded on, and that is said" {
	container_make || skip "cgroups cannot be made here"
	puppet_start
	MOVED=$PUPPET_PID
	move "$MOVED" "$GROUP"
	puppet load
	puppet init
	tool_start record RECORD_PID -o a.mscope --container "$ID"
	wait_for 'grep -q "process $MOVED: its calls are recorded" record.err'
	puppet alloc 4096
	move "$MOVED" "$OUTSIDE"
	puppet alloc 4096
	puppet free
	kill -INT "$RECORD_PID"
	tool_wait record RECORD_PID
	puppet_end
	assert_equal "$(of_recorded)" "[true,2,1]"
	assert_equal "$(jq -c '.recordings[0].lost.left_cgroup' report.json)" "{\"processes\":1,\"pids\":[$MOVED]}"
	grep "warning: 1 process left what was chosen while it was traced, and was traced on all the same (pid $MOVED)" \
		record.err
	"$MEMSCOPE" report -f md a.mscope > report.txt
	grep -q "since when puppet ($MOVED) was outside of what was chosen: left while recorded" report.txt
}

@test "trace --container: many that are moved while the tool cannot look are found" {
	container_make || skip "cgroups cannot be made here"
	moved_start
	trace_start --container "$ID"
	puppet alloc 4096
	wait_for 'grep -q "process $MOVED is not traced" trace.err'
	many_are_moved
}
